//! A world as a picture: who believed what when, who was frozen or dead, which messages were lost.

use std::fmt::Write as _;

use crate::history::Violation;
use crate::tale::{Span, Tale};

const LEFT: f64 = 130.0;
const WIDE: f64 = 1_400.0;
const LANE: f64 = 46.0;
const TOP: f64 = 70.0;

/// Draws it as SVG that any browser shows; every bar and mark has a title to hover over.
pub fn svg(title: &str, tale: &Tale, violation: Option<&Violation>) -> String {
    let end = tale.lines.last().map_or(1, |(time, ..)| *time).max(1_000_000_000);
    let x = |time: u64| LEFT + WIDE * time as f64 / end as f64;
    let y = |lane: usize| TOP + LANE * lane as f64;
    let (wide, high) = (LEFT + WIDE + 30.0, y(tale.lanes.len()) + 60.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"12\" y=\"26\" font-size=\"17\">{}</text>\n",
        escaped(title)
    );
    legend(&mut out);
    for second in (0..=end / 1_000_000_000).step_by(step(end)) {
        let at = x(second * 1_000_000_000);
        let bottom = y(tale.lanes.len());
        let _ = writeln!(
            out,
            "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{bottom}\" stroke=\"#e4e4e4\"/><text x=\"{at:.1}\" y=\"{:.1}\" \
             text-anchor=\"middle\" fill=\"#777\">{second} s</text>",
            bottom + 18.0
        );
    }
    for (lane, name) in tale.lanes.iter().enumerate() {
        let _ = writeln!(
            out,
            "<text x=\"12\" y=\"{:.1}\">{}</text><line x1=\"{LEFT}\" y1=\"{2:.1}\" x2=\"{3}\" y2=\"{2:.1}\" stroke=\"#ccc\"/>",
            y(lane) + 24.0,
            escaped(name),
            y(lane) + 34.0,
            LEFT + WIDE,
        );
    }
    for (lane, span, from, to) in &tale.spans {
        let (colour, word, inset) = look(*span);
        let _ = writeln!(
            out,
            "<rect x=\"{:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{:.1}\" fill=\"{colour}\" fill-opacity=\"0.75\"><title>{} {word}, {:.6} s to {:.6} s</title></rect>",
            x(*from),
            y(*lane) + inset,
            (x(*to) - x(*from)).max(1.0),
            34.0 - inset,
            escaped(&tale.lanes[*lane]),
            *from as f64 / 1e9,
            *to as f64 / 1e9,
        );
    }
    for (time, from, to, line) in &tale.lost {
        let (at, above, below) = (x(*time), y(*from) + 34.0, y(*to) + 34.0);
        let middle = above + (below - above) * 0.35;
        let _ = writeln!(
            out,
            "<g stroke=\"#c0392b\"><title>{:.6} s: {}</title><line x1=\"{at:.2}\" y1=\"{above:.1}\" x2=\"{at:.2}\" y2=\"{middle:.1}\" \
             stroke-opacity=\"0.35\"/><path d=\"M{:.2} {:.2}l6 6m0 -6l-6 6\" fill=\"none\"/></g>",
            *time as f64 / 1e9,
            escaped(line),
            at - 3.0,
            middle - 3.0,
        );
    }
    if let Some(Violation { invariant, time, what }) = violation {
        let at = x(*time);
        let _ = writeln!(
            out,
            "<line x1=\"{at:.2}\" y1=\"{TOP}\" x2=\"{at:.2}\" y2=\"{:.1}\" stroke=\"red\" stroke-width=\"2\"/>\
             <text x=\"12\" y=\"{:.1}\" fill=\"red\">{:.6} s: {} broken: {}</text>",
            y(tale.lanes.len()),
            high - 12.0,
            *time as f64 / 1e9,
            escaped(invariant),
            escaped(what),
        );
    }
    out.push_str("</svg>\n");
    out
}

fn look(span: Span) -> (&'static str, &'static str, f64) {
    match span {
        Span::Believes => ("#2e9e5b", "believes to lead", 6.0),
        Span::WindsDown => ("#e6a23c", "winds its work down", 6.0),
        Span::Frozen => ("#6fa8dc", "is frozen", 24.0),
        Span::Down => ("#555555", "is down", 24.0),
    }
}

fn legend(out: &mut String) {
    let mut at = LEFT;
    for span in [Span::Believes, Span::WindsDown, Span::Frozen, Span::Down] {
        let (colour, word, _) = look(span);
        let _ = writeln!(
            out,
            "<rect x=\"{at}\" y=\"40\" width=\"14\" height=\"14\" fill=\"{colour}\"/><text x=\"{}\" y=\"52\">{word}</text>",
            at + 20.0
        );
        at += 190.0;
    }
    let _ = writeln!(
        out,
        "<path d=\"M{at} 43l8 8m0 -8l-8 8\" stroke=\"#c0392b\"/><text x=\"{}\" y=\"52\">a message is lost</text>",
        at + 20.0
    );
}

/// A line every so many seconds, so that there are ten to twenty.
fn step(end: u64) -> usize {
    let seconds = end / 1_000_000_000;
    [1, 2, 5, 10, 20, 60].into_iter().find(|step| seconds / step <= 24).unwrap_or(60) as usize
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_messages_cannot_break_the_picture() {
        let mut tale = Tale::new(vec!["<node>".into(), "server".into()]);
        tale.begin(0, 0, Span::Believes);
        tale.say(5_000_000_000, 0, "a line");
        tale.lost.push((1_000_000_000, 0, 1, "a < b & c".into()));
        tale.close(5_000_000_000);
        let drawn = svg("<title>", &tale, None);
        assert!(drawn.contains("&lt;node&gt; believes to lead, 0.000000 s to 5.000000 s"));
        assert!(drawn.contains("a &lt; b &amp; c"));
        assert!(!drawn.contains("<node>"));
    }
}
