//! What must hold of every run: one file an invariant, each with its reason.
//!
//! I9 is about the commands that the command line supervises, and is checked there.

mod belief_before_giveaway;
mod fenced_updates;
mod late_writes;
mod leader_in_the_end;
pub(crate) mod linearizable;
mod nothing_after_the_deadline;
mod observed_tokens;
mod one_leader;
mod one_tenure_a_bid;
mod tokens_rise;

use tenure::Moment;
use tenure_sim::Violation;

use crate::record::Record;

/// An invariant: its number and a word, and what finds it broken, at which moment.
type Invariant = (&'static str, fn(&Record) -> Result<(), Broken>);

/// When it broke, and what was seen.
pub(crate) type Broken = (Moment, String);

const ALL: &[Invariant] = &[
    ("I1 one leader", one_leader::check),
    ("I2 tokens rise", tokens_rise::check),
    ("I3 fenced updates", fenced_updates::check),
    ("I4 belief before giveaway", belief_before_giveaway::check),
    ("I5 nothing after the deadline", nothing_after_the_deadline::check),
    ("I6 late writes", late_writes::check),
    ("I7 one tenure a bid", one_tenure_a_bid::check),
    ("I8 a leader in the end", leader_in_the_end::check),
    ("I10 observed tokens", observed_tokens::check),
    ("I11 linearizable", linearizable::check),
];

/// Everything that is wrong with a run. Times are those since its start.
pub(crate) fn judge(record: &Record) -> Vec<Violation> {
    let broken = ALL.iter().filter_map(|(invariant, check)| {
        let (at, what) = check(record).err()?;
        Some(Violation { invariant, time: at.since(record.start).as_nanos() as u64, what })
    });
    broken.collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::diary::parse;
    use crate::record::Strike;
    use crate::registers::Register;
    use crate::subject::Breaks;

    /// A record of lives as their diaries have them, with a lease of 1000 ns that starts at 0; all is well from 10,000 on.
    pub(crate) fn record(lives: &[(usize, &str)], looks: &str) -> Record {
        let read = |text: &str| text.lines().map(|line| format!("{}\n", line.trim())).collect::<String>();
        let lives = lives.iter().map(|(who, text)| parse(*who, read(text.trim()).as_str()).expect("a diary"));
        let lives = lives.collect();
        Record {
            lease: Duration::from_nanos(1000),
            stretch: Duration::from_nanos(500),
            contenders_judge: false,
            has_tokens: true,
            start: Moment::ZERO,
            peace: Moment::from_nanos(10_000),
            end: Moment::from_nanos(20_000),
            lives,
            looks: parse(9, &read(looks.trim())).expect("a diary").calls,
            strikes: Vec::new(),
            fenced: Register::default(),
            unfenced: Register::default(),
        }
    }

    pub(crate) fn strike(name: &'static str, who: Option<usize>, from: u64, to: u64, breaks: Breaks) -> Strike {
        Strike { name, who, from: Moment::from_nanos(from), to: Moment::from_nanos(to), breaks }
    }

    /// The id of the tenure with this number.
    pub(crate) fn id(number: u64) -> String {
        tenure::backend::TenureId::new(number, 1).to_string()
    }

    #[test]
    fn every_invariant_has_its_number_once() {
        let numbers: Vec<_> = ALL.iter().filter_map(|(name, _)| name.split(' ').next()).collect();
        assert_eq!(numbers, ["I1", "I2", "I3", "I4", "I5", "I6", "I7", "I8", "I10", "I11"]);
    }
}
