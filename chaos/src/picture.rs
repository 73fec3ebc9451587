//! A run as a timeline.

use tenure::Moment;
use tenure_sim::Violation;
use tenure_sim::tale::{Span, Tale};

use crate::record::Record;

/// Draws it as SVG, with what broke first.
pub(crate) fn svg(title: &str, record: &Record, violation: Option<&Violation>) -> String {
    tenure_sim::picture::svg(title, &tale(record), violation)
}

fn tale(record: &Record) -> Tale {
    let candidates = record.lives.iter().map(|life| life.who + 1).max().unwrap_or(0);
    let mut lanes: Vec<_> = (0..candidates).map(|number| format!("c{number}")).collect();
    lanes.push("servers".to_owned());
    let mut tale = Tale::new(lanes);
    let time = |moment: Moment| moment.since(record.start).as_nanos() as u64;
    for belief in record.beliefs() {
        tale.spans.push((belief.who, Span::Believes, time(belief.from), time(belief.until)));
    }
    for strike in &record.strikes {
        let (lane, from, to) = (strike.who.unwrap_or(candidates), time(strike.from), time(strike.to));
        match strike.name {
            name if name.contains("frozen") => tale.spans.push((lane, Span::Frozen, from, to)),
            name if name.contains("killed") => tale.spans.push((lane, Span::Down, from, to)),
            name => tale.lost.push((from, lane, lane, format!("{name} for {:?}", strike.to.since(strike.from)))),
        }
    }
    tale.say(time(record.end), candidates, "the end");
    tale
}
