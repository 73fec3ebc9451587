//! The text of a lease file: golden files, and anything at all.

use std::time::{SystemTime, UNIX_EPOCH};

use proptest::prelude::*;

use super::super::copy::Copy;
use super::super::json::{self, Flaw};
use super::super::record::{Content, Foreign, Holder, Record, WorkEnd};
use super::*;
use crate::arbitrary::{Damage, runs};

/// 2026-01-02T03:04:05.678901234Z
fn then() -> SystemTime {
    UNIX_EPOCH + Duration::new(1_767_323_045, 678_901_234)
}

fn held() -> Record {
    Record {
        holder: Some(Holder {
            candidate: "pod-1".into(),
            tenure: TenureId::new(0xfeed, 7),
            since: then(),
            advertise: b"10.0.0.7:8080".as_slice().into(),
            asked_to_resign: false,
            work: None,
        }),
        lease: Duration::from_secs(10),
        renewed: then(),
        token: 1_767_323_045_678_901,
        version: 0xabcd,
        released_by: None,
        boot: "f2d9b8c1-0000-4000-8000-000000000000".into(),
    }
}

fn everything() -> Record {
    let mut record = held();
    let holder = record.holder.as_mut().unwrap();
    holder.candidate = "pod \"ä\" \\".into();
    holder.advertise = [0, 1, 254, 255].as_slice().into();
    holder.asked_to_resign = true;
    holder.work = Some(WorkEnd { liveness: TenureId::new(0xfeed, 7), within: Duration::from_millis(25) });
    record.lease = Duration::from_millis(1500);
    record
}

fn released() -> Record {
    Record { holder: None, released_by: Some(TenureId::new(0xfeed, 7)), ..held() }
}

/// What earlier versions of tenure wrote, and must be able to read of this one.
type Golden = (&'static str, fn() -> Record);
const GOLDEN: [Golden; 3] = [
    (include_str!("golden/held.json"), held),
    (include_str!("golden/everything.json"), everything),
    (include_str!("golden/released.json"), released),
];

#[test]
fn golden_files_are_read_and_written_as_they_are() {
    for (golden, record) in GOLDEN {
        let record = record();
        assert_eq!(json::read(golden.as_bytes(), &seat(), ""), Ok(Content::Ours(record.clone())), "{golden}");
        let written = String::from_utf8(json::write(&seat(), &record, 0)).unwrap();
        assert_eq!(written.trim_end(), golden.trim_end());
        assert_eq!(written.len() % 1024, 0, "filled up, so that no later record needs the file cut off");
        let length = json::write(&seat(), &record, 5000).len();
        assert_eq!(length, 5000, "and never shorter than what it is written over");
    }
}

#[test]
fn golden_files_of_foreign_programs_are_read() {
    // SEEDS 55
    for (golden, holder, lease) in [
        (include_str!("golden/foreign.json"), "go-1", Duration::from_secs(10)),
        (include_str!("golden/foreign-nanoseconds.json"), "go-2", Duration::from_millis(1500)),
        (include_str!("golden/foreign-released.json"), "", Duration::from_secs(15)),
    ] {
        let read = json::read(golden.as_bytes(), &seat(), "c");
        let Ok(Content::Foreign(foreign)) = read else { panic!("{read:?}") };
        assert_eq!((&*foreign.holder, foreign.lease), (holder, lease));
        assert_eq!(foreign.renewed.duration_since(UNIX_EPOCH).unwrap().as_secs(), 1_767_323_045, "with any offset");
    }
}

#[test]
fn a_golden_file_of_the_next_format_is_refused() {
    let golden = include_str!("golden/format-2.json");
    assert_eq!(json::read(golden.as_bytes(), &seat(), ""), Err(Flaw::OtherFormat("2".into())));
}

#[test]
fn what_is_left_over_after_a_whole_record_says_nothing() {
    let mut bytes = json::write(&seat(), &held(), 0);
    bytes.extend_from_slice(br#"ation":"10s"}"#);
    assert_eq!(json::read(&bytes, &seat(), ""), Ok(Content::Ours(held())));
}

#[test]
fn the_longest_record_fits_into_a_page() {
    let mut record = everything();
    let holder = record.holder.as_mut().unwrap();
    holder.candidate = "\"".repeat(CandidateName::MAX_BYTES).into();
    holder.advertise = vec![0; 1024].into();
    let seat = Seat::new(&"s".repeat(Seat::MAX_BYTES)).unwrap();
    assert!(json::write(&seat, &record, 0).len() <= 4096, "one page is written in one go");
    record.holder.as_mut().unwrap().advertise = "\"".repeat(1024).into_bytes().into();
    assert!(json::write(&seat, &record, 0).len() <= 4096);
}

fn times() -> impl Strategy<Value = SystemTime> {
    (0..4_000_000_000_u64, 0..1_000_000_000_u32).prop_map(|(secs, nanos)| UNIX_EPOCH + Duration::new(secs, nanos))
}

fn tenures() -> impl Strategy<Value = TenureId> {
    (any::<u64>(), any::<u64>()).prop_map(|(nonce, count)| TenureId::new(nonce, count))
}

fn spans() -> impl Strategy<Value = Duration> {
    (1..i64::MAX as u64).prop_map(Duration::from_nanos)
}

prop_compose! {
    fn holders()(
        candidate in "\\PC{1,60}", tenure in tenures(), since in times(), advertise in proptest::collection::vec(any::<u8>(), 0..1024),
        asked_to_resign in any::<bool>(), work in proptest::option::of((tenures(), spans())),
    ) -> Holder {
        let work = work.map(|(liveness, within)| WorkEnd { liveness, within });
        Holder { candidate: candidate.into(), tenure, since, advertise: advertise.into(), asked_to_resign, work }
    }
}

prop_compose! {
    fn records()(
        holder in proptest::option::of(holders()), lease in spans(), renewed in times(), token in 1..=i64::MAX as u64,
        version in any::<u64>(), released_by in proptest::option::of(tenures()), boot in "[0-9a-f-]{0,36}",
    ) -> Record {
        Record { holder, lease, renewed, token, version, released_by, boot: boot.into() }
    }
}

proptest! {
    #![proptest_config(runs(500))]

    #[test]
    fn every_record_is_read_back_as_it_was_written(record in records(), length in 0..8192_usize) {
        let written = json::write(&seat(), &record, length);
        prop_assert_eq!(json::read(&written, &seat(), ""), Ok(Content::Ours(record)));
    }

    #[test]
    fn no_bytes_make_it_panic_or_a_free_office(bytes in proptest::collection::vec(any::<u8>(), 0..2048)) {
        prop_assert!(json::read(&bytes, &seat(), "").is_err());
    }

    #[test]
    fn no_cut_of_a_held_record_is_a_free_office(record in records(), cut in any::<prop::sample::Index>()) {
        prop_assume!(record.holder.is_some());
        let written = json::write(&seat(), &record, 0);
        let cut = &written[..cut.index(written.len())];
        prop_assert!(json::read(cut, &seat(), "").map_or(true, |content| content.is_held()));
    }

    #[test]
    fn no_record_of_two_that_were_torn_is_taken_for_whole(
        one in records(), other in records(), at in any::<prop::sample::Index>(),
    ) {
        let (one, other) = (json::write(&seat(), &one, 4096), json::write(&seat(), &other, 4096));
        prop_assume!(one.len() == other.len());
        let at = at.index(one.len());
        let torn = [&one[..at], &other[at..]].concat();
        let read = json::read(&torn, &seat(), "");
        // A sealed record is one of the two: a mixture may at most pass for a foreign program's, which is held until it was waited out.
        if let Ok(content @ Content::Ours(_)) = &read {
            let whole = [&one, &other].map(|bytes| json::read(bytes, &seat(), "").unwrap());
            prop_assert!(whole.contains(content));
        }
    }

    #[test]
    fn no_flipped_bit_makes_another_record_of_ours(record in records(), at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        let mut written = json::write(&seat(), &record, 0);
        let at = at.index(written.len());
        written[at] ^= 1 << bit;
        if let Ok(content @ Content::Ours(_)) = json::read(&written, &seat(), "") {
            prop_assert_eq!(content, Content::Ours(record));
        }
    }

    #[test]
    fn foreign_json_of_any_form_is_read_or_refused(
        holder in "\\PC{0,20}", renew in "[0-9T:Z+.-]{0,30}", lease in "[0-9a-z.]{0,10}",
    ) {
        let text = serde_json::json!({"holder": holder, "renewTime": renew, "leaseDuration": lease}).to_string();
        if let Ok(content) = json::read(text.as_bytes(), &seat(), "") {
            prop_assert_eq!(content.is_held(), !holder.is_empty());
        }
    }

    #[test]
    fn no_damage_to_a_held_record_of_ours_is_a_free_office(
        record in records(), damage in Damage::any(), length in 0..4096_usize,
    ) {
        // SEEDS 56: whatever a record lost, somebody held the office, and may hold it still.
        prop_assume!(record.holder.is_some());
        let mut bytes = json::write(&seat(), &record, length);
        damage.done_to(&mut bytes);
        let read = json::read(&bytes, &seat(), "");
        prop_assert!(read.as_ref().map_or(true, Content::is_held), "{read:?} after {damage:?}");
    }

    #[test]
    fn no_flipped_bit_of_a_held_foreign_record_is_a_free_office(
        holder in "[a-z0-9-]{2,30}", at in any::<prop::sample::Index>(), bit in 0..8_u8,
    ) {
        let record = serde_json::json!({"holder": holder, "renewTime": "2026-01-02T03:04:05Z", "leaseDuration": "10s"});
        let mut bytes = record.to_string().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let read = json::read(&bytes, &seat(), "");
        prop_assert!(read.as_ref().map_or(true, Content::is_held), "{read:?}");
    }

    #[test]
    fn a_bar_over_any_foreign_holder_can_be_read(
        name in "\\PC{1,10}", times_over in 1..1600_usize, renewed in times(), lease in spans(),
    ) {
        let holder = name.repeat(times_over);
        let foreign = Foreign { holder: holder.into(), renewed, lease, version: Version::text("v") };
        let mut bar = foreign.clone();
        // Whoever is evicted again and again is still one holder.
        for _ in 0..3 {
            bar = bar.barred();
        }
        let Ok(Content::Foreign(read)) = json::read(&json::write_foreign(&bar, 0), &seat(), "") else {
            return Err(TestCaseError::fail("it cannot be read"));
        };
        prop_assert_eq!((read.holder, read.lease), (bar.holder, lease));
    }

    #[test]
    fn a_time_is_one_instant_in_every_offset(time in times(), hours in -23..=23_i32, minutes in 0..60_i32) {
        // SEEDS 55: a Go program writes the offset of its machine.
        let offset = jiff::tz::Offset::from_seconds((hours * 60 + minutes * hours.signum()) * 60).unwrap();
        let instant = jiff::Timestamp::try_from(time).unwrap();
        let text = instant.display_with_offset(offset).to_string();
        prop_assert_eq!(json::read_time(&text), Some(time), "{}", text);
        prop_assert_eq!(json::read_time(&json::write_time(time)), Some(time));
    }

    #[test]
    fn whatever_becomes_of_one_slot_of_the_side_copy_the_other_counts(
        one in records(), other in records(), damage in prop::collection::vec(Damage::any(), 1..4), first in any::<bool>(),
    ) {
        // I2: the slot that is written is never the one with the highest token.
        let [mut torn, whole] = [&one, &other].map(|record| json::write(&seat(), record, 4096));
        prop_assume!(torn.len() == 4096 && whole.len() == 4096);
        damage.iter().for_each(|damage| damage.done_to(&mut torn));
        torn.resize(4096, 0);
        let bytes = if first { [torn, whole].concat() } else { [whole, torn].concat() };
        let token = Copy::parse(&bytes, &seat()).token();
        prop_assert!(token == other.token || token == one.token.max(other.token), "{token}");
    }
}

#[test]
fn a_record_that_lost_its_holder_is_no_free_office() {
    // SEEDS 56: one flipped bit in a name of a field.
    let lost = include_str!("golden/held.json").replace("\"holder\"", "\"iolder\"");
    let foreign = include_str!("golden/foreign.json").replace("\"holder\"", "\"holdes\"");
    for text in [lost, foreign] {
        let read = json::read(text.as_bytes(), &seat(), "");
        assert!(matches!(&read, Err(Flaw::Corrupt(why)) if why.contains("holder")), "{read:?}");
    }
}

#[test]
fn a_record_without_a_token_is_corrupt() {
    // SAFETY 18
    for token in [0, i64::MAX as u64 + 1] {
        let written = json::write(&seat(), &Record { token, ..held() }, 0);
        let read = json::read(&written, &seat(), "");
        assert!(matches!(&read, Err(Flaw::Corrupt(why)) if why.contains("token")), "{read:?}");
    }
}

#[test]
fn the_longest_time_that_work_can_be_said_to_take_can_be_read() {
    let mut record = everything();
    record.holder.as_mut().unwrap().work.as_mut().unwrap().within = Duration::MAX;
    let read = json::read(&json::write(&seat(), &record, 0), &seat(), "").unwrap();
    assert!(read.work().unwrap().within > Duration::from_secs(100 * 365 * 24 * 3600), "it is cut, but not to nothing");
}
