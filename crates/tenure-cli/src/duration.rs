//! Durations as people write them.

use std::time::Duration;

const UNITS: [(&str, f64); 6] = [("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];

/// Reads `15s`, `500ms`, `1.5s`, `2m`, `1h30m`.
pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a duration; write it like 15s, 500ms, 1.5s, 2m or 1h30m");
    let mut rest = text.trim();
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.parse::<f64>().is_ok() {
        return Err(format!("`{text}` has no unit; write {text}s for seconds or {text}ms for milliseconds"));
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(wrong)?;
        let (number, after) = rest.split_at(number);
        let unit = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let (_, seconds) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let part = Duration::try_from_secs_f64(number * seconds).map_err(|_| wrong())?;
        total = total.checked_add(part).ok_or_else(wrong)?;
        rest = after;
    }
    if text.trim().is_empty() { Err(wrong()) } else { Ok(total) }
}

/// Says it with as few digits as tell it well: `15s`, `2.46s`, `330ms`, `2m`.
pub(crate) fn shown(span: Duration) -> String {
    let millis = span.as_millis();
    if millis == 0 && !span.is_zero() {
        return format!("{}us", span.as_micros());
    }
    match millis {
        0 => "0s".into(),
        1..1000 => format!("{millis}ms"),
        _ if millis.is_multiple_of(3_600_000) => format!("{}h", millis / 3_600_000),
        _ if millis.is_multiple_of(60_000) => format!("{}m", millis / 60_000),
        _ => {
            let text = format!("{:.2}", span.as_secs_f64());
            format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, millis) in [
            ("15s", 15_000),
            ("500ms", 500),
            ("1.5s", 1_500),
            ("2m", 120_000),
            ("1h30m", 5_400_000),
            ("0", 0),
            ("0s", 0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for wrong in ["", "s", "15", "15 s", "15x", "-1s", "1.2.3s", "1e3s", "9999999999999999999999h", "ms5"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse("15").unwrap_err().contains("15s for seconds"));
    }

    #[test]
    fn durations_are_shown_short() {
        for (millis, text) in [
            (0, "0s"),
            (330, "330ms"),
            (15_000, "15s"),
            (2_454, "2.45s"),
            (90_000, "90s"),
            (120_000, "2m"),
            (3_600_000, "1h"),
        ] {
            assert_eq!(shown(Duration::from_millis(millis)), text);
        }
    }
}
