//! The text of a lease file: the seed's three fields, and tenure's own beside them.
//!
//! ```json
//! {"holder":"pod-1 00000000000000010000000000000001","renewTime":"2026-01-02T03:04:05.6Z","leaseDuration":"10s",
//!  "format":1,"election":"nightly","candidate":"pod-1","tenure":"…","token":1767323045600000,"version":"…",
//!  "since":"…","boot":"…","seal":"…"}
//! ```
//! The seal is a check sum of everything before it. It tells a whole record of tenure's from one that was torn, and from one in which a
//! foreign program wrote over the first three fields and kept the others.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use serde_json::{Deserializer, Map, Value};

use super::record::{Content, Foreign, Holder, Record, WorkEnd};
use super::span;
use crate::backend::{TenureId, Version};
use crate::mutant::{Mutant, planted};
use crate::{FencingToken, Seat};

/// The format that this version of tenure writes, and the only one that it reads.
pub(super) const FORMAT: u64 = 1;
/// No lease file is longer.
pub(super) const LONGEST: usize = 16 * 1024;
/// Files are filled up to a multiple of this, so that a record that grows a little or shrinks needs no other length.
const UNIT: usize = 1024;

const SEAL: &str = ",\"seal\":\"";

/// Why a text is no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// There is nothing in it.
    Empty,
    /// It cannot be understood.
    Corrupt(String),
    /// Another version of tenure wrote it.
    OtherFormat(String),
    /// It is a record of another election.
    OtherElection(String),
}

/// The text of a record, filled up with blanks to at least `length` bytes: what stood there before is gone with one write, and nothing has to be
/// cut off.
pub(super) fn write(seat: &Seat, record: &Record, length: usize) -> Vec<u8> {
    let mut fields = Fields::new();
    match &record.holder {
        // SAFETY 11: a foreign peer compares this field with its own name, so it carries what no other process has.
        Some(holder) if !planted(Mutant::FileHolderWithoutNonce) => {
            fields.text("holder", &format!("{} {}", holder.candidate, holder.tenure));
        }
        Some(holder) => fields.text("holder", &holder.candidate),
        None => fields.text("holder", ""),
    }
    fields.seed(record.renewed, record.lease);
    fields.number("format", FORMAT);
    fields.text("election", seat.as_str());
    if let Some(holder) = &record.holder {
        fields.text("candidate", &holder.candidate);
        fields.text("tenure", &holder.tenure.to_string());
        fields.text("since", &write_time(holder.since));
        match std::str::from_utf8(&holder.advertise) {
            Ok("") => {}
            Ok(text) if !text.contains(char::is_control) => fields.text("advertise", text),
            _ => fields.text("advertiseHex", &hex(&holder.advertise)),
        }
        if holder.asked_to_resign {
            fields.raw("askedToResign", "true");
        }
        if let Some(work) = &holder.work {
            fields.text("liveness", &work.liveness.to_string());
            fields.text("workEndsWithin", &span::write(work.within));
        }
    }
    if let Some(tenure) = record.released_by {
        fields.text("releasedBy", &tenure.to_string());
    }
    fields.number("token", record.token);
    fields.text("version", &format!("{:016x}", record.version));
    fields.text("boot", &record.boot);
    filled(sealed(fields.0), length)
}

/// A JSON object that lacks its end, with its seal and its end.
pub(super) fn sealed(mut text: String) -> String {
    let seal = digest(text.as_bytes());
    text.push_str(&format!("{SEAL}{seal:016x}\"}}"));
    text
}

/// The text of a record that a foreign program could have written.
pub(super) fn write_foreign(foreign: &Foreign, length: usize) -> Vec<u8> {
    let mut fields = Fields::new();
    fields.text("holder", &foreign.holder);
    fields.seed(foreign.renewed, foreign.lease);
    filled(fields.0 + "}", length)
}

/// Reads a lease file. `changed` is what tells two writes of a foreign program apart that look the same (SAFETY 10).
pub(super) fn read(text: &[u8], seat: &Seat, changed: &str) -> Result<Content, Flaw> {
    if text.len() > LONGEST {
        return Err(Flaw::Corrupt(format!("it has more than {LONGEST} bytes, and no lease file has")));
    }
    if text.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0) {
        return Err(Flaw::Empty);
    }
    let mut values = Deserializer::from_slice(text).into_iter::<Value>();
    let fields = match values.next() {
        Some(Ok(Value::Object(fields))) => fields,
        Some(Ok(_)) => return Err(corrupt("it is not a JSON object")),
        Some(Err(error)) => return Err(corrupt(format!("it is not JSON: {error}"))),
        None => return Err(Flaw::Empty),
    };
    let (own, rest) = text.split_at(values.byte_offset().min(text.len()));
    if let Some(format) = fields.get("format")
        && format.as_u64() != Some(FORMAT)
    {
        return Err(Flaw::OtherFormat(shown(format)));
    }
    // What follows a whole record of ours is left over from something longer.
    if is_sealed(own) || (planted(Mutant::FileSealIgnored) && fields.contains_key("seal")) {
        return record(&fields, seat).map(Content::Ours);
    }
    if !rest.iter().all(u8::is_ascii_whitespace) {
        return Err(corrupt("something follows the record"));
    }
    foreign(&fields, text, changed).map(Content::Foreign)
}

fn record(fields: &Map<String, Value>, seat: &Seat) -> Result<Record, Flaw> {
    let election = text(fields, "election")?;
    if election != seat.as_str() {
        return Err(Flaw::OtherElection(shorten(election)));
    }
    let holder = match fields.contains_key("tenure") {
        true => Some(holder(fields)?),
        false => None,
    };
    if holder.is_some() == text(fields, "holder")?.is_empty() {
        return Err(corrupt("\"holder\" and \"tenure\" contradict each other"));
    }
    let token = fields.get("token").and_then(Value::as_u64).and_then(FencingToken::new);
    Ok(Record {
        holder,
        lease: lease(fields)?,
        renewed: time(fields, "renewTime")?,
        token: token.ok_or_else(|| corrupt("\"token\" is not a fencing token"))?.get(),
        version: u64::from_str_radix(text(fields, "version")?, 16).map_err(|_| corrupt("\"version\" is not one"))?,
        released_by: optional(fields, "releasedBy", tenure)?,
        boot: text(fields, "boot")?.into(),
    })
}

fn holder(fields: &Map<String, Value>) -> Result<Holder, Flaw> {
    let advertise = match (fields.get("advertise"), fields.get("advertiseHex")) {
        (None, None) => Arc::default(),
        (Some(Value::String(text)), None) => text.as_bytes().into(),
        (None, Some(Value::String(hex))) => unhex(hex).ok_or_else(|| corrupt("\"advertiseHex\" is not hex"))?.into(),
        _ => return Err(corrupt("what is advertised is no text")),
    };
    let work = optional(fields, "liveness", |fields, key| {
        let within = span::read(text(fields, "workEndsWithin")?);
        let within = within.ok_or_else(|| corrupt("\"workEndsWithin\" is not a duration"))?;
        Ok(WorkEnd { liveness: tenure(fields, key)?, within })
    })?;
    Ok(Holder {
        candidate: text(fields, "candidate")?.into(),
        tenure: tenure(fields, "tenure")?,
        since: time(fields, "since")?,
        advertise,
        asked_to_resign: fields.get("askedToResign") == Some(&Value::Bool(true)),
        work,
    })
}

fn foreign(fields: &Map<String, Value>, content: &[u8], changed: &str) -> Result<Foreign, Flaw> {
    let (renewed, lease) = (time(fields, "renewTime"), lease(fields));
    let others = renewed.is_ok() && lease.is_ok();
    let holder = match fields.get("holder") {
        Some(Value::Null) if others => "",
        // Whoever clears the field may as well drop it. Beside anything but the other two it may have been lost: one wrong bit in its name
        // must not free an office (SEEDS 56).
        None if others && (fields.len() == 2 || planted(Mutant::FileLostHolderIsFree)) => "",
        _ => text(fields, "holder")?,
    };
    let vacant = holder.is_empty();
    Ok(Foreign {
        holder: holder.into(),
        // Of an office that was given up they say nothing.
        renewed: renewed.or_else(|flaw| if vacant { Ok(SystemTime::UNIX_EPOCH) } else { Err(flaw) })?,
        lease: lease.or_else(|flaw| if vacant { Ok(Duration::ZERO) } else { Err(flaw) })?,
        version: Version::text(format!("foreign.{:016x}.{changed}", digest(content))),
    })
}

/// SEEDS 55: a duration as text, or in whole nanoseconds. One that is zero would end the lease before it began.
fn lease(fields: &Map<String, Value>) -> Result<Duration, Flaw> {
    let span = match fields.get("leaseDuration") {
        Some(Value::String(text)) => span::read(text),
        Some(Value::Number(number)) => number.as_u64().map(Duration::from_nanos).filter(|span| *span <= span::LONGEST),
        _ => None,
    };
    span.filter(|span| !span.is_zero()).ok_or_else(|| corrupt("\"leaseDuration\" is not a duration above zero"))
}

fn time(fields: &Map<String, Value>, key: &str) -> Result<SystemTime, Flaw> {
    read_time(text(fields, key)?).ok_or_else(|| corrupt(format!("{key:?} is not an RFC 3339 time")))
}

pub(super) fn read_time(text: &str) -> Option<SystemTime> {
    text.parse::<Timestamp>().ok().map(SystemTime::from)
}

fn tenure(fields: &Map<String, Value>, key: &str) -> Result<TenureId, Flaw> {
    text(fields, key)?.parse().map_err(|_| corrupt(format!("{key:?} is not a tenure id")))
}

fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> Result<&'a str, Flaw> {
    fields.get(key).and_then(Value::as_str).ok_or_else(|| corrupt(format!("{key:?} is missing, or no text")))
}

fn optional<T>(
    fields: &Map<String, Value>,
    key: &str,
    read: impl FnOnce(&Map<String, Value>, &str) -> Result<T, Flaw>,
) -> Result<Option<T>, Flaw> {
    if fields.contains_key(key) { read(fields, key).map(Some) } else { Ok(None) }
}

fn corrupt(why: impl Into<String>) -> Flaw {
    Flaw::Corrupt(why.into())
}

/// Whether this JSON object ends with the check sum of what stands before it.
fn is_sealed(object: &[u8]) -> bool {
    let object = object.trim_ascii_start();
    let Some(body) = object.len().checked_sub(SEAL.len() + 18) else { return false };
    let (body, seal) = object.split_at(body);
    seal == format!("{SEAL}{:016x}\"}}", digest(body)).as_bytes()
}

/// FNV-1a: it has to notice torn writes and edits by hand, not to withstand anybody who can write the file.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn filled(text: String, length: usize) -> Vec<u8> {
    let mut bytes = text.into_bytes();
    let length = (bytes.len() + 1).next_multiple_of(UNIT).max(length);
    bytes.resize(length - 1, b' ');
    bytes.push(b'\n');
    bytes
}

pub(super) fn write_time(time: SystemTime) -> String {
    Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Text from a file as an error message can bear it.
fn shorten(text: &str) -> String {
    text.chars().take(60).flat_map(char::escape_debug).collect()
}

fn shown(value: &Value) -> String {
    shorten(&value.to_string())
}

/// A JSON object in the making.
struct Fields(String);

impl Fields {
    fn new() -> Self {
        Fields(String::with_capacity(UNIT))
    }

    fn seed(&mut self, renewed: SystemTime, lease: Duration) {
        self.text("renewTime", &write_time(renewed));
        self.text("leaseDuration", &span::write(lease));
    }

    fn text(&mut self, key: &str, value: &str) {
        self.raw(key, &Value::from(value).to_string());
    }

    fn number(&mut self, key: &str, value: u64) {
        self.raw(key, &value.to_string());
    }

    fn raw(&mut self, key: &str, value: &str) {
        let before = if self.0.is_empty() { '{' } else { ',' };
        self.0.push(before);
        self.0.push_str(&format!("\"{key}\":{value}"));
    }
}
