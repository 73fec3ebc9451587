//! What a server shows of itself, and what can be promised on it.

use std::fmt;

use redis::Value;
use tenure::backend::network::Host;
use tenure::mutant::{Mutant, planted};
use tenure::{Error, ErrorKind, Promise};

use crate::url::Topology;

/// What was found out about a server; `None` for what it does not show this user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) software: String,
    pub(crate) is_replica: bool,
    pub(crate) is_clustered: bool,
    appendonly: Option<String>,
    appendfsync: Option<String>,
    /// Whether nothing is synced while a child saves or rewrites, whatever `appendfsync` says.
    no_appendfsync_on_rewrite: Option<String>,
    maxmemory: Option<String>,
    maxmemory_policy: Option<String>,
    replicas: Option<u64>,
    /// Whether it was a replica before, and took over.
    took_over: bool,
}

/// What a server can be relied on for, and why not for more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Examination {
    /// The server: its software and version.
    pub server: String,
    /// What is promised on it, by its own settings where it shows them, by the operator's word where it does not.
    pub promise: Promise,
    /// What keeps it from promising more, or what could not be seen; each says what to change.
    pub reasons: Vec<String>,
}

impl fmt::Display for Examination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} promises {}", self.server, self.promise)?;
        if self.reasons.is_empty() { Ok(()) } else { write!(f, ": {}", self.reasons.join("; ")) }
    }
}

/// Whether a server may throw records away to make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Eviction {
    Refused,
    Accepted,
}

impl Settings {
    /// What to ask a server once it is connected: the first is always allowed, the others may be refused.
    pub(crate) fn questions() -> redis::Pipeline {
        let mut questions = redis::pipe();
        questions.cmd("HELLO");
        questions.cmd("CONFIG").arg("GET").arg("*append*");
        questions.cmd("CONFIG").arg("GET").arg("maxmemory*");
        questions.cmd("INFO").arg("replication");
        questions
    }

    pub(crate) fn read(answers: &[Value]) -> Self {
        let [hello, append, memory, replication] = answers else { return Settings::default() };
        let text = |key: &str| entry(hello, key).unwrap_or_default();
        let info = text_of(replication).unwrap_or_default();
        let replicas = info.lines().find_map(|line| line.strip_prefix("connected_slaves:"));
        let took_over = info.lines().find_map(|line| line.strip_prefix("second_repl_offset:"));
        let software = match text("server").as_str() {
            "" => "an unknown server".to_owned(),
            server => format!("{}{} {}", server[..1].to_uppercase(), &server[1..], text("version")),
        };
        Settings {
            software,
            is_replica: matches!(text("role").as_str(), "replica" | "slave"),
            is_clustered: text("mode") == "cluster",
            appendonly: entry(append, "appendonly"),
            appendfsync: entry(append, "appendfsync"),
            no_appendfsync_on_rewrite: entry(append, "no-appendfsync-on-rewrite"),
            maxmemory: entry(memory, "maxmemory"),
            maxmemory_policy: entry(memory, "maxmemory-policy"),
            replicas: replicas.and_then(|count| count.trim().parse().ok()),
            took_over: took_over.is_some_and(|offset| offset.trim() != "-1"),
        }
    }

    /// Refuses a server on which elections cannot be held, or not as they were promised.
    pub(crate) fn admit(
        &self,
        address: &Host,
        topology: &Topology,
        eviction: Eviction,
        pinned: Option<Promise>,
    ) -> Result<(), Error> {
        let denied = |message: String| Err(Error::new(ErrorKind::Denied, message));
        // SAFETY 16: a replica answers, and answers the past.
        if self.is_replica && !planted(Mutant::RedisReplicaRead) {
            let error =
                format!("{address} is a replica; name its primary, or use redis+sentinel:// or redis+cluster://");
            // After a failover it is a matter of time.
            return Err(Error::new(ErrorKind::Denied, error).transient(!matches!(topology, Topology::One(_))));
        }
        match (self.is_clustered, topology) {
            (true, Topology::One(_) | Topology::Sentinel { .. }) => {
                return denied(format!("{address} is one server of a cluster; use redis+cluster:// with it"));
            }
            (false, Topology::Cluster(_)) => {
                return denied(format!("{address} is no server of a cluster; use redis:// with it"));
            }
            _ => {}
        }
        if let (Some(policy), Eviction::Refused) = (self.evicts(), eviction) {
            return denied(format!(
                "{address} evicts keys when its memory is full (maxmemory-policy {policy}), so that an office can fall vacant under its holder; \
                 set maxmemory-policy noeviction there, or accept it in so many words with eviction=accept"
            ));
        }
        if let Some(pinned) = pinned {
            let found = self.shown(topology);
            if found.promise.is_some_and(|promise| promise < pinned) {
                let message = format!(
                    "{pinned} was promised, and {address} cannot keep that: {}; change the server, or promise less",
                    found.reasons.join("; ")
                );
                return Err(Error::new(ErrorKind::PromiseTooWeak, message));
            }
        }
        Ok(())
    }

    /// What can be promised: as the server shows it, else as the operator declares it, else the least.
    pub(crate) fn examined(&self, topology: &Topology, declared: Option<Promise>) -> Examination {
        let Shown { promise, reasons } = self.shown(topology);
        let promise = promise.or(declared).unwrap_or(Promise::BestEffort);
        Examination { server: self.software.clone(), promise, reasons }
    }

    fn evicts(&self) -> Option<&str> {
        let limited = self.maxmemory.as_deref() != Some("0");
        self.maxmemory_policy.as_deref().filter(|policy| limited && *policy != "noeviction")
    }

    /// Acknowledged writes have to survive whatever is normal, or two can lead and tokens can go back: then a lease is no better kept than a
    /// token is.
    fn shown(&self, topology: &Topology) -> Shown {
        let mut reasons = Vec::new();
        if matches!(topology, Topology::Sentinel { .. }) || self.replicas.is_some_and(|count| count > 0) {
            reasons.push("replication is asynchronous, so that a failover can lose what was acknowledged".to_owned());
        } else if self.took_over {
            reasons.push("it took over from another server, which loses what was acknowledged; restart it when no other can again".to_owned());
        }
        if self.appendonly.as_deref().is_some_and(|value| value != "yes") {
            reasons.push("a restart loses records and counters; set appendonly yes and appendfsync always".to_owned());
        } else if let Some(fsync) = self.appendfsync.as_deref().filter(|value| *value != "always") {
            reasons
                .push(format!("a crash can lose what was acknowledged (appendfsync {fsync}); set appendfsync always"));
        } else if self.no_appendfsync_on_rewrite.as_deref().is_some_and(|value| value != "no") {
            reasons.push(
                "a crash while it saves can lose what was acknowledged; set no-appendfsync-on-rewrite no".to_owned(),
            );
        }
        if let Some(policy) = self.evicts() {
            reasons
                .push(format!("records can be evicted (maxmemory-policy {policy}); set maxmemory-policy noeviction"));
        }
        if !reasons.is_empty() && !planted(Mutant::RedisPromiseUnchecked) {
            return Shown { promise: Some(Promise::BestEffort), reasons };
        }
        let visible = self.appendonly.is_some()
            && self.appendfsync.is_some()
            && self.no_appendfsync_on_rewrite.is_some()
            && self.maxmemory_policy.is_some()
            && self.replicas.is_some();
        match visible {
            true => Shown { promise: Some(Promise::Fenced), reasons },
            false => {
                let hidden =
                    "its settings cannot be seen; allow the user INFO and CONFIG GET, or declare what it promises";
                Shown { promise: None, reasons: vec![hidden.to_owned()] }
            }
        }
    }
}

struct Shown {
    /// `None` where too little is shown to say.
    promise: Option<Promise>,
    reasons: Vec<String>,
}

/// The value of a key in a map, which an older protocol writes as a list.
fn entry(value: &Value, key: &str) -> Option<String> {
    match value {
        Value::Map(pairs) => {
            pairs.iter().find(|(name, _)| text_of(name).as_deref() == Some(key)).and_then(|(_, value)| text_of(value))
        }
        Value::Array(list) => {
            let pair = list.chunks_exact(2).find(|pair| text_of(&pair[0]).as_deref() == Some(key))?;
            text_of(&pair[1])
        }
        _ => None,
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::SimpleString(text) | Value::VerbatimString { text, .. } => Some(text.clone()),
        Value::Int(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sound() -> Settings {
        let shown = |text: &str| Some(text.to_owned());
        Settings {
            software: "Redis 7.0.15".into(),
            appendonly: shown("yes"),
            appendfsync: shown("always"),
            no_appendfsync_on_rewrite: shown("no"),
            maxmemory: shown("0"),
            maxmemory_policy: shown("allkeys-lru"),
            replicas: Some(0),
            ..Settings::default()
        }
    }

    fn one() -> Topology {
        Topology::One(Host::new("h", 1))
    }

    fn admitted(settings: &Settings, eviction: Eviction, pinned: Promise) -> Result<(), Error> {
        settings.admit(&Host::new("h", 1), &one(), eviction, Some(pinned))
    }

    #[test]
    fn only_a_server_that_loses_nothing_is_fenced() {
        // SAFETY 20
        assert_eq!(sound().examined(&one(), None).promise, Promise::Fenced);
        let shown = |text: &str| Some(text.to_owned());
        let weak = [
            Settings { appendonly: shown("no"), ..sound() },
            Settings { appendfsync: shown("everysec"), ..sound() },
            Settings { no_appendfsync_on_rewrite: shown("yes"), ..sound() },
            Settings { maxmemory: shown("1000000"), ..sound() },
            Settings { replicas: Some(1), ..sound() },
            Settings { took_over: true, ..sound() },
        ];
        for settings in weak {
            // What is seen counts for more than what is declared.
            let examined = settings.examined(&one(), Some(Promise::Fenced));
            assert_eq!(examined.promise, Promise::BestEffort, "{settings:?}");
            assert_eq!(examined.reasons.len(), 1);
            let refused = admitted(&settings, Eviction::Accepted, Promise::Fenced).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::PromiseTooWeak);
            assert!(refused.to_string().contains(&examined.reasons[0]), "{refused}");
            assert!(admitted(&settings, Eviction::Accepted, Promise::BestEffort).is_ok());
        }
        let sentinel = Topology::Sentinel { sentinels: Vec::new(), primary: "main".into() };
        assert_eq!(sound().examined(&sentinel, None).promise, Promise::BestEffort);
    }

    #[test]
    fn what_is_not_shown_is_declared_or_the_least() {
        let hidden = Settings { appendonly: None, ..sound() };
        assert_eq!(hidden.examined(&one(), None).promise, Promise::BestEffort);
        assert_eq!(hidden.examined(&one(), Some(Promise::Fenced)).promise, Promise::Fenced);
        assert!(admitted(&hidden, Eviction::Refused, Promise::Fenced).is_ok());
    }

    #[test]
    fn a_server_that_evicts_is_refused_unless_that_is_accepted() {
        let evicting = Settings { maxmemory: Some("1000".into()), ..sound() };
        let refused = admitted(&evicting, Eviction::Refused, Promise::BestEffort).unwrap_err();
        assert!(refused.to_string().contains("maxmemory-policy allkeys-lru"), "{refused}");
        assert!(admitted(&evicting, Eviction::Accepted, Promise::BestEffort).is_ok());
        assert!(
            admitted(&sound(), Eviction::Refused, Promise::BestEffort).is_ok(),
            "without a limit nothing is evicted"
        );
    }
}
