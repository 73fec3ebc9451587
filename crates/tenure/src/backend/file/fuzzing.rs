//! What must be true of every parser of this backend, whatever it is given; see [`crate::fuzzing`].

use std::str;
use std::time::Duration;

use serde_json::Value;

use super::copy::Copy;
use super::json::{self, Flaw};
use super::names::Names;
use super::record::{Content, Foreign, Record};
use super::span;
use crate::Seat;
use crate::backend::{Expiry, Sight, TenureId};

fn office() -> Seat {
    Seat::new("office").expect("it is a name")
}

pub(crate) fn lease_file(bytes: &[u8]) {
    match json::read(bytes, &office(), "changed") {
        Ok(content) => {
            understood(&content);
            // SEEDS 56: what is not clearly vacant is not free.
            assert!(content.is_held() || says_vacant(bytes), "{content:?} is free by mistake");
        }
        Err(flaw) => refused(&flaw),
    }
}

/// The same bytes as a record of tenure's own: nobody finds the seal by chance.
pub(crate) fn sealed_lease_file(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let text = text.trim_end().strip_suffix('}').unwrap_or(text);
    lease_file(json::sealed(text.to_owned()).as_bytes());
}

pub(crate) fn side_copy(bytes: &[u8]) {
    let copy = Copy::parse(bytes, &office());
    let tokens: Vec<u64> = copy.records().map(|record| record.token).collect();
    assert_eq!(copy.token(), tokens.iter().copied().max().unwrap_or(0));
    assert!(tokens.iter().all(|token| is_token(*token)), "{tokens:?}");
}

pub(crate) fn duration(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let Some(read) = span::read(text) else { return };
    assert!(read <= span::LONGEST);
    assert_eq!(span::read(&span::write(read)), Some(read));
    // Durations are sums of their parts.
    if !text.starts_with('+') && text != "0" {
        let longer = read.checked_add(Duration::from_secs(1)).filter(|longer| *longer <= span::LONGEST);
        assert_eq!(span::read(&format!("1s{text}")), longer);
    }
}

pub(crate) fn time(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let Some(read) = json::read_time(text) else { return };
    assert_eq!(json::read_time(&json::write_time(read)), Some(read));
}

pub(crate) fn file_name(bytes: &[u8]) {
    let Ok(name) = str::from_utf8(bytes) else { return };
    // No file has a name with a slash.
    if let Some(seat) = Names::election(name).filter(|_| !name.contains('/')) {
        assert_eq!(Names::of(&seat).lease(), name);
    }
}

#[cfg(target_os = "linux")]
pub(crate) fn lock_table(bytes: &[u8]) {
    let Ok(line) = str::from_utf8(bytes) else { return };
    if let Some(pid) = super::blame::holder(line, rustix::fs::makedev(0xfd, 1), 77) {
        assert!(line.contains("FLOCK") && line.contains(&pid.to_string()));
    }
}

/// What was read can be acted on, and what is then written can be read.
fn understood(content: &Content) {
    let sight = content.sight(|content| Expiry::Observe { recorded: content.lease() });
    assert_eq!(matches!(sight, Sight::Held(_)), content.is_held());
    match content {
        Content::Ours(record) => {
            assert!(is_token(record.token), "{}", record.token);
            reads_back(record);
            reads_back(&record.extended(Duration::from_secs(1)));
            reads_back(&record.asked());
            assert_eq!(record.barred().holder.is_some(), content.is_held(), "a bar keeps everybody out");
            reads_back(&record.barred());
            reads_back(&record.released_by(TenureId::new(1, 1)));
        }
        Content::Foreign(foreign) if content.is_held() => {
            assert!(!foreign.lease.is_zero(), "a lease that is over before it began is a free office");
            let bar = foreign.barred();
            let read = json::read(&json::write_foreign(&bar, 0), &office(), "changed");
            let Ok(Content::Foreign(read)) = read else { panic!("a bar is foreign: {read:?}") };
            assert_eq!(Foreign { version: bar.version.clone(), ..read }, bar);
        }
        Content::Foreign(_) => {}
    }
}

fn reads_back(record: &Record) {
    let written = json::write(&office(), record, 0);
    // Only a record that was sealed by hand has a name so long.
    if written.len() <= json::LONGEST {
        assert_eq!(json::read(&written, &office(), ""), Ok(Content::Ours(record.clone())));
    }
}

fn is_token(number: u64) -> bool {
    (1..=i64::MAX as u64).contains(&number)
}

/// Whether somebody who reads the text would say that nobody holds the office.
fn says_vacant(bytes: &[u8]) -> bool {
    let first = serde_json::Deserializer::from_slice(bytes).into_iter().next();
    let Some(Ok(Value::Object(fields))) = first else { return false };
    match fields.get("holder") {
        Some(Value::String(holder)) => holder.is_empty(),
        Some(Value::Null) => true,
        // It was dropped, and not lost: there is nothing else that could have been it.
        None => fields.len() == 2 && fields.contains_key("renewTime") && fields.contains_key("leaseDuration"),
        Some(_) => false,
    }
}

fn refused(flaw: &Flaw) {
    let (Flaw::Corrupt(why) | Flaw::OtherFormat(why) | Flaw::OtherElection(why)) = flaw else { return };
    assert!(why.len() < 700 && !why.contains(char::is_control), "{why:?}");
    assert!(!why.is_empty() || matches!(flaw, Flaw::OtherElection(_)), "{flaw:?} says nothing");
}
