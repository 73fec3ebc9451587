//! The scripts, each of which is one call, and what they answer.

use std::sync::LazyLock;
use std::time::Duration;

use redis::{Cmd, Script, Value};
use tenure::mutant::{Mutant, planted};
use tenure::{Error, ErrorKind};

use crate::record::{Holding, Record, Seen};

/// One step of a call: a script, which is atomic and writes once at most.
#[derive(Debug)]
pub(crate) struct Step {
    script: &'static LazyLock<Source>,
    keys: Vec<String>,
    arguments: Vec<Vec<u8>>,
    /// Whether the call is done without it.
    is_optional: bool,
}

/// The text of a script, and the digest by which a server knows it.
#[derive(Debug)]
pub(crate) struct Source {
    text: String,
    digest: String,
}

macro_rules! script {
    ($name:ident, $file:literal) => {
        pub(crate) static $name: LazyLock<Source> = LazyLock::new(|| {
            let source = concat!(include_str!("scripts/common.lua"), "\n", include_str!(concat!("scripts/", $file)));
            let text = mutated(source);
            let digest = Script::new(&text).get_hash().to_owned();
            Source { text, digest }
        });
    };
}

script!(DRAW, "draw.lua");
script!(STAND, "stand.lua");
script!(RENEW, "renew.lua");
script!(WITHDRAW, "withdraw.lua");
script!(INSPECT, "inspect.lua");
script!(AMEND, "amend.lua");
script!(TELL, "tell.lua");

impl Step {
    pub(crate) fn new(script: &'static LazyLock<Source>, keys: impl IntoIterator<Item = String>) -> Self {
        Step { script, keys: keys.into_iter().collect(), arguments: Vec::new(), is_optional: false }
    }

    pub(crate) fn arg(mut self, argument: impl ToString) -> Self {
        self.arguments.push(argument.to_string().into_bytes());
        self
    }

    pub(crate) fn bytes(mut self, argument: Vec<u8>) -> Self {
        self.arguments.push(argument);
        self
    }

    /// What comes of it changes nothing of what the call has done.
    pub(crate) fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }

    pub(crate) fn is_optional(&self) -> bool {
        self.is_optional
    }

    /// By the digest of the script, which the server knows from earlier calls.
    pub(crate) fn by_digest(&self) -> Cmd {
        self.command("EVALSHA", &self.script.digest)
    }

    /// With the script itself, which the server then knows.
    pub(crate) fn in_full(&self) -> Cmd {
        self.command("EVAL", &self.script.text)
    }

    fn command(&self, name: &str, script: &str) -> Cmd {
        let mut command = redis::cmd(name);
        command.arg(script).arg(self.keys.len()).arg(&self.keys);
        for argument in &self.arguments {
            command.arg(argument);
        }
        command
    }
}

/// What a script answers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// The record is the caller's, and was written.
    Ours(Record),
    /// The record was written over for somebody else.
    Amended,
    /// Nothing of the caller's is there any more.
    Left,
    /// This is there, and nothing was written.
    Held(Seen),
    /// Nothing is there, or nothing was won of it.
    Vacant,
    /// A step was done that answers nothing.
    Done,
}

impl Reply {
    /// Reads an answer about this key.
    pub(crate) fn read(value: &Value, key: &str) -> Result<Self, Error> {
        let parts = match value {
            Value::Array(parts) => parts.as_slice(),
            _ => &[],
        };
        let bytes = |index: usize| match parts.get(index) {
            Some(Value::BulkString(bytes)) => Some(bytes.as_slice()),
            _ => None,
        };
        match (bytes(0), bytes(1), bytes(2), parts.get(3)) {
            (Some(b"ours"), Some(value), ..) => match Holding::decode(value, "", key)? {
                Holding::Ours(record) => Ok(Reply::Ours(record)),
                Holding::Foreign { .. } => Err(strange(key)),
            },
            (Some(b"amended"), ..) => Ok(Reply::Amended),
            (Some(b"left"), ..) => Ok(Reply::Left),
            (Some(b"drawn" | b"told"), ..) => Ok(Reply::Done),
            (Some(b"vacant"), ..) => Ok(Reply::Vacant),
            (Some(b"held"), Some(version), Some(value), Some(Value::Int(ttl))) => {
                let version = std::str::from_utf8(version).map_err(|_| strange(key))?;
                let holding = Holding::decode(value, version, key)?;
                let remaining = u64::try_from(*ttl).ok().map(Duration::from_millis);
                Ok(Reply::Held(Seen { holding, remaining }))
            }
            _ => Err(strange(key)),
        }
    }

    /// Whether the record is as the caller wanted it, whatever else failed of the call.
    pub(crate) fn has_landed(&self) -> bool {
        matches!(self, Reply::Ours(_) | Reply::Amended | Reply::Left)
    }
}

/// A server that answers like no script of ours: what it did is not known.
fn strange(key: &str) -> Error {
    let message = format!("the server answered something that no script of tenure answers, about the key {key}");
    Error::new(ErrorKind::Corrupt, message).indeterminate()
}

/// Each changes a script as if one rule were not there.
const FAULTS: [(Mutant, &str, &str); 12] = [
    (Mutant::RedisRenewsAnyVersion, " or record.version ~= ARGV[2] then\n  return seen", " then\n  return seen"),
    (Mutant::RedisRenewsAnyTenure, "record.tenure ~= ARGV[1] or record.version ~= ARGV[2]", "false"),
    (Mutant::RedisRenewCreates, "if not record or record.tenure ~= ARGV[1]", "if record and record.tenure ~= ARGV[1]"),
    (Mutant::RedisTokenKept, "above(math.max(counter, record and record.token or 0))", "math.max(counter, 1)"),
    (Mutant::RedisTokenWithoutClock, "return math.max(last + 1, now())", "return last + 1"),
    (Mutant::RedisTokenOvertaken, "if drawer ~= ARGV[3] then", "if not drawer then"),
    (
        Mutant::RedisWithdrawsByName,
        "if record and record.tenure == ARGV[1] then\n  call('DEL'",
        "if record then\n  call('DEL'",
    ),
    (Mutant::RedisTtlInSeconds, "value, 'PX', ARGV", "value, 'EX', ARGV"),
    (
        Mutant::RedisDisplacesAnyVersion,
        "record.version ~= ARGV[2] then\n  return seen(KEYS[1], record)\nend\n\n-- The last",
        "ARGV[2] == '' then\n  return seen(KEYS[1], record)\nend\n\n-- The last",
    ),
    (
        Mutant::RedisDisplacesAnyVersion,
        "(record.tenure == ARGV[1] or record.version ~= ARGV[2])",
        "(record.tenure == ARGV[1] or ARGV[2] == '')",
    ),
    (Mutant::RedisAmendsForEver, ", 'KEEPTTL'", ""),
    (Mutant::RedisReplicaRead, "insist_on_primary(KEYS[1], record)\n", ""),
];

/// The script with the planted fault in it, if one of Redis is planted: the same text in every ordinary build.
fn mutated(source: &str) -> String {
    let fault = FAULTS.iter().find(|(mutant, old, _)| planted(*mutant) && source.contains(old));
    fault.map_or_else(|| source.to_owned(), |(_, old, new)| source.replace(old, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_planted_in_some_script() {
        let scripts = [&DRAW, &STAND, &RENEW, &WITHDRAW, &INSPECT, &AMEND, &TELL];
        for (mutant, old, new) in FAULTS {
            assert!(scripts.iter().any(|script| script.text.contains(old)), "{mutant:?} changes nothing");
            assert_ne!(old, new);
        }
    }

    /// What the append-only file has to keep of a script is one command: see the scripts' common part.
    #[test]
    fn no_script_writes_more_than_once() {
        for script in [&DRAW, &STAND, &RENEW, &WITHDRAW, &INSPECT, &AMEND, &TELL] {
            let own = &script.text[include_str!("scripts/common.lua").len()..];
            // Of what stands in one block, or is returned from, only one is reached.
            let blocks = own.split("return").map(|block| {
                ["'SET'", "'DEL'", "'PUBLISH'"].map(|word| block.matches(word).count()).iter().sum::<usize>()
            });
            assert!(blocks.max() <= Some(1), "{own}");
        }
    }
}
