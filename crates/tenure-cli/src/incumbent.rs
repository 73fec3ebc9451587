//! Who holds an office, as it is shown.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tenure::Incumbent;

use crate::{duration, wall};

/// `{"id", "token", "since", "address"?, "asked_to_resign"?, "tenure"?}`, or null.
pub(crate) fn as_json(incumbent: Option<&Incumbent>) -> Value {
    let Some(incumbent) = incumbent else { return Value::Null };
    let mut leader = json!({
        "id": incumbent.name(),
        "token": incumbent.token().map(|token| token.get()),
        "since": incumbent.since().map(wall::rfc3339),
    });
    if let Some(address) = incumbent.address() {
        leader["address"] = address.into();
    }
    if incumbent.is_asked_to_resign() {
        leader["asked_to_resign"] = true.into();
    }
    if let Some(tenure) = incumbent.tenure() {
        leader["tenure"] = tenure.to_string().into();
    }
    leader
}

/// `pod-1 leads since 3m, token 42`, or that nobody does. Names come from the store and are shown without control characters.
pub(crate) fn as_sentence(incumbent: Option<&Incumbent>) -> String {
    let Some(incumbent) = incumbent else { return "nobody leads".into() };
    let mut sentence = format!("{} leads", printable(incumbent.name()));
    if let Some(since) = incumbent.since() {
        let seconds = SystemTime::now().duration_since(since).unwrap_or_default().as_secs();
        sentence += &format!(" since {}", duration::shown(Duration::from_secs(seconds)));
    }
    if let Some(token) = incumbent.token() {
        sentence += &format!(", token {token}");
    }
    if let Some(address) = incumbent.address() {
        sentence += &format!(", at {}", printable(address));
    }
    if incumbent.is_asked_to_resign() {
        sentence += ", asked to resign";
    }
    sentence
}

/// Text from a store is untrusted: it must not speak to a terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}
