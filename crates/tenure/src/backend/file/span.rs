//! Durations as Go writes them: `"10s"`, `"1m30s"`, `"1.5s"`.

use std::time::Duration;

/// The longest that can be written in a file: Go counts nanoseconds in 63 bits.
pub(super) const LONGEST: Duration = Duration::from_nanos(i64::MAX as u64);

/// A duration in seconds, with as many decimals as it has; no longer than can be read.
pub(super) fn write(span: Duration) -> String {
    let span = span.min(LONGEST);
    let (seconds, nanos) = (span.as_secs(), span.subsec_nanos());
    if nanos == 0 {
        return format!("{seconds}s");
    }
    let decimals = format!("{nanos:09}");
    format!("{seconds}.{}s", decimals.trim_end_matches('0'))
}

/// Reads what Go's `time.ParseDuration` reads, apart from negative ones; what lies below a nanosecond is rounded up, so that no lease is
/// ever read shorter than it is.
pub(super) fn read(text: &str) -> Option<Duration> {
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    let mut nanos: u128 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (decimals, after) = after.strip_prefix('.').map_or(("", after), digits);
        if whole.is_empty() && decimals.is_empty() {
            return None;
        }
        let (unit, after) = unit(after)?;
        nanos = nanos.checked_add(whole.parse::<u128>().ok().or(whole.is_empty().then_some(0))?.checked_mul(unit)?)?;
        nanos = nanos.checked_add(part(decimals, unit))?;
        rest = after;
    }
    (nanos <= LONGEST.as_nanos()).then(|| Duration::from_nanos(nanos as u64))
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

fn unit(text: &str) -> Option<(u128, &str)> {
    UNITS.into_iter().find_map(|(name, nanos)| Some((nanos, text.strip_prefix(name)?)))
}

/// The part of a unit that these decimals are, rounded up.
fn part(decimals: &str, unit: u128) -> u128 {
    // More than eighteen decide nothing but whether there is a rest.
    let (counted, rest) = decimals.split_at(decimals.len().min(18));
    let scale = 10_u128.pow(counted.len() as u32);
    let product = counted.parse::<u128>().unwrap_or(0) * unit;
    let inexact = !product.is_multiple_of(scale) || rest.bytes().any(|digit| digit != b'0');
    product / scale + u128::from(inexact)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arbitrary::{runs, spans};

    #[test]
    fn durations_are_read_as_go_reads_them() {
        // SEEDS 55
        for (text, nanos) in [
            ("10s", 10_000_000_000),
            ("1.5s", 1_500_000_000),
            ("1m30s", 90_000_000_000),
            ("1h0m0.5s", 3_600_500_000_000),
            ("250ms", 250_000_000),
            ("3us", 3_000),
            ("3µs", 3_000),
            (".5s", 500_000_000),
            ("5.s", 5_000_000_000),
            ("+1s", 1_000_000_000),
            ("0", 0),
            ("0.0000000001s", 1),
            ("1.0000000000000000000000001ns", 2),
        ] {
            assert_eq!(read(text), Some(Duration::from_nanos(nanos)), "{text}");
        }
        for wrong in ["", "10", "s", ".s", "-1s", "1 s", "1x", "1s ", "10S", "9999999h", "1sx", "٣s"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(write(Duration::from_secs(10)), "10s");
        assert_eq!(write(Duration::from_millis(1500)), "1.5s");
    }

    proptest! {
        #![proptest_config(runs(1000))]

        #[test]
        fn what_is_written_is_read_back(nanos in 0..=i64::MAX as u64) {
            let span = Duration::from_nanos(nanos);
            prop_assert_eq!(read(&write(span)), Some(span));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[0-9.a-zµ+-]{0,40}") {
            let _ = read(&text);
        }

        #[test]
        fn every_duration_that_is_written_can_be_read(span in spans()) {
            prop_assert_eq!(read(&write(span)), Some(span.min(LONGEST)));
        }

        #[test]
        fn a_sum_of_parts_is_read_exactly_and_each_part_rounded_up(
            parts in prop::collection::vec((0..100_000_u64, "[0-9]{0,24}", prop::sample::select(UNITS.to_vec())), 1..5),
        ) {
            const SCALE: u128 = 10_u128.pow(24);
            let (mut text, mut nanos) = (String::new(), 0);
            for (whole, decimals, (name, unit)) in &parts {
                text += &format!("{whole}.{decimals}{name}");
                let decimals: u128 = format!("{decimals:0<24}").parse().unwrap();
                nanos += u128::from(*whole) * unit + (decimals * unit).div_ceil(SCALE);
            }
            prop_assert_eq!(read(&text).unwrap().as_nanos(), nanos, "{}", text);
        }
    }
}
