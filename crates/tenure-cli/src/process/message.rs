//! The messages between supervisor, guardian and shim, and how they look in a packet.

use std::time::Duration;

use tenure::Moment;

use super::containment::Level;

/// Until when the child may run, on the boot clock that both processes read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    /// From here on the child is asked to stop.
    pub(crate) deadline: Moment,
    /// By then it has to be gone.
    pub(crate) expiry: Moment,
}

/// What a child is started for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Office {
    /// The election, as the child sees it in `TENURE_ELECTION`.
    pub(crate) election: String,
    /// The candidate, as the child sees it in `TENURE_ID`.
    pub(crate) id: String,
    /// The fencing token in decimal, as the child sees it in `TENURE_TOKEN`; empty where the backend has none.
    pub(crate) token: String,
    /// The tenure, by which a guardian gives the office up that is left alone.
    pub(crate) tenure: String,
    /// The office is not given up before then, whoever lives.
    pub(crate) keep_until: Moment,
    /// How long the store keeps it at most, once nobody renews it.
    pub(crate) lease: Duration,
}

/// Whom a forwarded signal reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The command itself.
    Command,
    /// The command's process group, as a terminal does it.
    Group,
}

/// Everything that is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    // ---- supervisor to guardian
    /// Start the command, with the standard input that comes along; and with an ear for the keys of the terminal, if so wished.
    Start { term: Term, office: Office, foreground: bool, ear: bool },
    /// The office was extended.
    Extend(Term),
    /// Ask the tree to stop now, and kill what is left of it after this long.
    Stop { grace: Duration },
    /// Pass a signal on.
    Signal { signal: i32, reach: Reach },
    /// The supervisor knows that the tree is empty and sees to the office; the guardian can go. From that to its ear: the command is over.
    Farewell,

    // ---- guardian to supervisor
    /// Ready, and this is how a child will be held; with why it is no better, and the path of the control group where it is one.
    Contained { level: Level, because: String, cgroup: Vec<u8> },
    /// What was asked for cannot be had.
    Uncontained { because: String },
    /// The command runs; descriptors of it and, where there is one, of the first process of its namespace come along.
    Started { pid: i32, init: i32 },
    /// The tree was asked to stop.
    Stopping,
    /// The deadline passed without an extension, and so the tree is ended.
    Overdue,
    /// Nothing is left that can be reached, but something of the tree left its process group and still runs.
    Escaped,

    // ---- ear to guardian, and on to the supervisor
    /// A key of the terminal sent this signal to the command's process group.
    Key { signal: i32 },

    // ---- guardian to shim
    /// Become the command, with the standard input that comes along.
    Go { deadline: Moment, office: Office, foreground: bool, cgroup: Vec<u8> },
    /// Make the command a child of this namespace; its shim's channel comes along.
    Spawn,

    // ---- shim to guardian, and on to the supervisor
    /// The shim is there and prepared; for one that is about to become the command, a descriptor of it comes along.
    Here,
    /// It cannot be done, with the operating system's number where it gave one.
    Failed { errno: i32, because: String },
    /// The deadline has passed, and nothing was started.
    TooLate,
    /// The command was stopped by a job-control signal.
    Suspended { signal: i32 },
    /// The command ended, with this wait status.
    Exited { status: i32 },
    /// Nothing of the tree is left.
    Empty,
}

impl Message {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut packet = Packet::default();
        match self {
            Message::Start { term, office, foreground, ear } => {
                packet.kind(1).term(*term).office(office).flag(*foreground).flag(*ear);
            }
            Message::Extend(term) => drop(packet.kind(2).term(*term)),
            Message::Stop { grace } => drop(packet.kind(3).number(grace.as_nanos() as u64)),
            Message::Signal { signal, reach } => {
                packet.kind(4).number(*signal as u64).flag(*reach == Reach::Group);
            }
            Message::Farewell => drop(packet.kind(5)),
            Message::Contained { level, because, cgroup } => {
                packet.kind(6).number(*level as u64).bytes(because.as_bytes()).bytes(cgroup);
            }
            Message::Uncontained { because } => drop(packet.kind(7).bytes(because.as_bytes())),
            Message::Started { pid, init } => drop(packet.kind(8).number(*pid as u64).number(*init as u64)),
            Message::Stopping => drop(packet.kind(9)),
            Message::Go { deadline, office, foreground, cgroup } => {
                packet.kind(10).moment(*deadline).office(office).flag(*foreground).bytes(cgroup);
            }
            Message::Spawn => drop(packet.kind(11)),
            Message::Here => drop(packet.kind(12)),
            Message::Failed { errno, because } => {
                packet.kind(13).number(*errno as u64).bytes(because.as_bytes());
            }
            Message::TooLate => drop(packet.kind(14)),
            Message::Suspended { signal } => drop(packet.kind(15).number(*signal as u64)),
            Message::Exited { status } => drop(packet.kind(16).number(*status as u64)),
            Message::Empty => drop(packet.kind(17)),
            Message::Escaped => drop(packet.kind(18)),
            Message::Overdue => drop(packet.kind(19)),
            Message::Key { signal } => drop(packet.kind(20).number(*signal as u64)),
        }
        packet.0
    }

    /// Nothing when it is no message: both sides are one binary, so that is a fault or a stranger.
    pub(crate) fn decode(packet: &[u8]) -> Option<Message> {
        let (kind, rest) = packet.split_first()?;
        let mut rest = Reader(rest);
        let message = match kind {
            1 => Message::Start {
                term: rest.term()?,
                office: rest.office()?,
                foreground: rest.flag()?,
                ear: rest.flag()?,
            },
            2 => Message::Extend(rest.term()?),
            3 => Message::Stop { grace: Duration::from_nanos(rest.number()?) },
            4 => Message::Signal {
                signal: rest.number()? as i32,
                reach: if rest.flag()? { Reach::Group } else { Reach::Command },
            },
            5 => Message::Farewell,
            6 => Message::Contained {
                level: Level::from_number(rest.number()?)?,
                because: rest.text()?,
                cgroup: rest.bytes()?,
            },
            7 => Message::Uncontained { because: rest.text()? },
            8 => Message::Started { pid: rest.number()? as i32, init: rest.number()? as i32 },
            9 => Message::Stopping,
            10 => Message::Go {
                deadline: rest.moment()?,
                office: rest.office()?,
                foreground: rest.flag()?,
                cgroup: rest.bytes()?,
            },
            11 => Message::Spawn,
            12 => Message::Here,
            13 => Message::Failed { errno: rest.number()? as i32, because: rest.text()? },
            14 => Message::TooLate,
            15 => Message::Suspended { signal: rest.number()? as i32 },
            16 => Message::Exited { status: rest.number()? as i32 },
            17 => Message::Empty,
            18 => Message::Escaped,
            19 => Message::Overdue,
            20 => Message::Key { signal: rest.number()? as i32 },
            _ => return None,
        };
        rest.0.is_empty().then_some(message)
    }
}

#[derive(Default)]
struct Packet(Vec<u8>);

impl Packet {
    fn kind(&mut self, kind: u8) -> &mut Self {
        self.0.push(kind);
        self
    }

    fn number(&mut self, number: u64) -> &mut Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn moment(&mut self, moment: Moment) -> &mut Self {
        self.number(moment.as_nanos())
    }

    fn term(&mut self, term: Term) -> &mut Self {
        self.moment(term.deadline).moment(term.expiry)
    }

    fn flag(&mut self, flag: bool) -> &mut Self {
        self.number(u64::from(flag))
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.number(bytes.len() as u64).0.extend(bytes);
        self
    }

    fn office(&mut self, office: &Office) -> &mut Self {
        for text in [&office.election, &office.id, &office.token, &office.tenure] {
            self.bytes(text.as_bytes());
        }
        self.moment(office.keep_until).number(office.lease.as_nanos() as u64)
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn moment(&mut self) -> Option<Moment> {
        self.number().map(Moment::from_nanos)
    }

    fn term(&mut self) -> Option<Term> {
        Some(Term { deadline: self.moment()?, expiry: self.moment()? })
    }

    fn flag(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn bytes(&mut self) -> Option<Vec<u8>> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes.to_vec())
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?).ok()
    }

    fn office(&mut self) -> Option<Office> {
        Some(Office {
            election: self.text()?,
            id: self.text()?,
            token: self.text()?,
            tenure: self.text()?,
            keep_until: self.moment()?,
            lease: Duration::from_nanos(self.number()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_survives_its_packet() {
        let term = Term { deadline: Moment::from_nanos(7), expiry: Moment::NEVER };
        let office = Office {
            election: "nightly".into(),
            id: "pod 1".into(),
            token: "42".into(),
            tenure: "0".repeat(32),
            keep_until: Moment::from_nanos(9),
            lease: Duration::from_secs(15),
        };
        let messages = [
            Message::Start { term, office: office.clone(), foreground: true, ear: false },
            Message::Extend(term),
            Message::Stop { grace: Duration::from_millis(1500) },
            Message::Signal { signal: 15, reach: Reach::Group },
            Message::Signal { signal: 10, reach: Reach::Command },
            Message::Farewell,
            Message::Contained { level: Level::Cgroup, because: "no right".into(), cgroup: b"/sys/fs".to_vec() },
            Message::Uncontained { because: String::new() },
            Message::Started { pid: i32::MAX, init: 0 },
            Message::Stopping,
            Message::Go { deadline: term.deadline, office, foreground: false, cgroup: b"/sys/\xff".to_vec() },
            Message::Spawn,
            Message::Here,
            Message::Failed { errno: 2, because: "no such file".into() },
            Message::TooLate,
            Message::Suspended { signal: 20 },
            Message::Exited { status: 139 },
            Message::Empty,
            Message::Escaped,
            Message::Overdue,
            Message::Key { signal: 2 },
        ];
        for message in messages {
            let packet = message.encode();
            assert_eq!(Message::decode(&packet), Some(message.clone()));
            for cut in 1..packet.len() {
                assert_eq!(Message::decode(&packet[..cut]), None, "{message:?} cut at {cut}");
            }
        }
        assert_eq!(Message::decode(&[]), None);
        assert_eq!(Message::decode(&[99]), None);
    }
}
