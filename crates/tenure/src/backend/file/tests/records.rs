//! What standing, renewing, withdrawing and evicting write.

use super::*;
use crate::backend::{Administer, Evicted, Expiry};
use crate::{ErrorKind, ForeignPeers, Promise};

#[tokio::test]
async fn a_record_has_the_three_fields_of_the_go_package_and_more() {
    // SEEDS 55
    let rig = Rig::new();
    let grant = rig.wins(&Candidate::new("pod-1", 1).bid(1)).await;
    let json = rig.json();
    assert!(json["holder"].as_str().unwrap().starts_with("pod-1 "), "{json}");
    assert_eq!(json["leaseDuration"], "10s");
    json["renewTime"].as_str().unwrap().parse::<jiff::Timestamp>().expect("RFC 3339");
    assert_eq!(json["format"], 1);
    assert_eq!(json["election"], "office");
    assert_eq!(json["token"].as_u64(), grant.token);
    use std::os::unix::fs::PermissionsExt;
    for name in rig.names() {
        let mode = fs::metadata(rig.file(&name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert_eq!(rig.names(), ["office.json", "office@copy"], "nothing else is left");
}

#[tokio::test]
async fn a_foreign_peer_of_the_same_name_is_another() {
    // SAFETY 11: a Go peer compares the field with its own identity; ours must never be equal to it.
    let rig = Rig::new();
    let (one, other) = (Candidate::new("pod-1", 1).bid(1), Candidate::new("pod-1", 2).bid(1));
    rig.wins(&one).await;
    let first = rig.json()["holder"].as_str().unwrap().to_owned();
    assert_ne!(first, "pod-1");
    rig.withdraws(&one).await;
    rig.wins(&other).await;
    assert_ne!(rig.json()["holder"], *first, "two incarnations of one name are told apart too");
}

#[tokio::test]
async fn no_two_writes_of_a_file_have_one_version() {
    // SAFETY 10
    let rig = Rig::new();
    let bid = Candidate::new("a", 1).bid(1);
    let mut grant = rig.wins(&bid).await;
    let mut versions = vec![grant.version.clone()];
    for _ in 0..5 {
        grant = rig.renews(&bid, &grant.version).await;
        assert!(!versions.contains(&grant.version));
        versions.push(grant.version.clone());
    }
}

#[tokio::test]
async fn a_renewal_writes_the_wall_time_and_nothing_else_of_the_holder() {
    let rig = Rig::new();
    let mut candidate = Candidate::new("a", 1);
    candidate.advertise = b"10.0.0.7:8080".as_slice().into();
    let bid = candidate.bid(1);
    let grant = rig.wins(&bid).await;
    let before = rig.json();
    tokio::time::sleep(Duration::from_millis(5)).await;
    rig.renews(&bid, &grant.version).await;
    let after = rig.json();
    assert!(before["renewTime"].as_str() < after["renewTime"].as_str(), "{before} {after}");
    for same in ["holder", "leaseDuration", "candidate", "tenure", "token", "since", "advertise"] {
        assert_eq!(before[same], after[same], "{same}");
    }
    assert_eq!(after["advertise"], "10.0.0.7:8080");
}

#[tokio::test]
async fn a_renewal_in_a_past_version_leaves_the_file_alone() {
    // SAFETY 9
    let rig = Rig::new();
    let bid = Candidate::new("a", 1).bid(1);
    let first = rig.wins(&bid).await;
    let second = rig.renews(&bid, &first.version).await;
    let content = rig.content();
    assert!(matches!(rig.renew(&bid, &first.version).await, Ok(Renewal::Mismatch(sight)) if sight.is_of(bid.tenure())));
    assert_eq!(rig.content(), content);
    rig.renews(&bid, &second.version).await;
}

#[tokio::test]
async fn a_renewal_of_a_removed_file_makes_none() {
    // SAFETY 9
    let rig = Rig::new();
    let bid = Candidate::new("a", 1).bid(1);
    let grant = rig.wins(&bid).await;
    fs::remove_file(rig.lease()).unwrap();
    let renewal = rig.renew(&bid, &grant.version).await.unwrap();
    assert_eq!(renewal, Renewal::Mismatch(Sight::Vacant(Vacancy::Removed)));
    assert!(!rig.lease().exists());
}

#[tokio::test]
async fn a_withdrawal_leaves_the_file_of_another_tenure_alone() {
    // SAFETY 9, I6
    let rig = Rig::new();
    let (one, two) = (Candidate::new("a", 1).bid(1), Candidate::new("b", 2).bid(1));
    rig.wins(&one).await;
    let content = rig.content();
    rig.withdraws(&two).await;
    rig.withdraws(&Candidate::new("a", 1).bid(2)).await;
    assert_eq!(rig.content(), content);
    rig.withdraws(&one).await;
    assert_eq!(vacant(&rig.sees().await), Vacancy::Released { by: one.tenure() });
    let released = rig.json();
    assert_eq!(released["holder"], "", "as a Go peer gives it up");
    assert!(released["token"].as_u64().is_some(), "the number stays");
}

#[tokio::test]
async fn a_withdrawal_needs_the_tenure_id_alone_in_whichever_process() {
    let rig = Rig::new();
    let bid = Candidate::new("a", 1).work_ends().bid(1);
    let grant = rig.wins(&bid).await;
    rig.renews(&bid, &grant.version).await;
    let other = FileBackend::new(&rig.path).unwrap();
    // Another name, another lease, nothing but the id in common.
    other.withdraw(&Bid::new(Arc::new(plan_of_another()), bid.tenure(), None)).await.unwrap();
    assert_eq!(vacant(&rig.sees().await), Vacancy::Released { by: bid.tenure() });
}

fn plan_of_another() -> Plan {
    let timing = TimingBuilder::default().build().unwrap();
    let traits = crate::backend::Traits::new(Promise::Fenced);
    Plan::new(seat(), CandidateName::new("guardian").unwrap(), 9, Arc::new(timing), traits)
}

#[tokio::test]
async fn only_the_version_that_the_bid_names_is_displaced() {
    // SAFETY 4
    let rig = Rig::new();
    let (one, two) = (Candidate::new("a", 1).bid(1), Candidate::new("b", 2));
    let first = rig.wins(&one).await;
    let second = rig.renews(&one, &first.version).await;
    rig.loses(&two.bid(1)).await;
    rig.loses(&two.displacing(1, Some(first.version))).await;
    let grant = rig.wins(&two.displacing(1, Some(second.version))).await;
    assert_eq!(grant.over, Vacancy::Free, "nobody gave it up");
}

#[tokio::test]
async fn a_foreign_record_is_seen_waited_for_and_displaced_in_its_exact_write() {
    // SEEDS 55, SAFETY 4, 10
    let rig = Rig::new();
    let record = r#"{"holder": "go-1", "renewTime": "2026-01-02T03:04:05+02:00", "leaseDuration": 10000000000}"#;
    rig.write(record);
    let bid = Candidate::new("a", 1);
    let seen = rig.loses(&bid.bid(1)).await;
    assert_eq!((&*seen.holder, seen.tenure, seen.token), ("go-1", None, None));
    assert_eq!(seen.expiry, Expiry::Observe { recorded: LEASE });
    // The same bytes again are another write.
    tokio::time::sleep(Duration::from_millis(30)).await;
    rig.write(record);
    let again = rig.loses(&bid.displacing(1, Some(seen.version.clone()))).await;
    assert_ne!(again.version, seen.version);
    rig.wins(&bid.displacing(1, Some(again.version))).await;
}

#[tokio::test]
async fn what_a_foreign_program_gave_up_is_free_and_no_release() {
    // SAFETY 14: it names no tenure.
    for text in [
        r#"{"holder": "", "renewTime": "2026-01-02T03:04:05Z", "leaseDuration": "10s"}"#,
        r#"{"holder": ""}"#,
        r#"{"holder": null, "renewTime": "2026-01-02T03:04:05Z", "leaseDuration": "10s"}"#,
        r#"{"renewTime": "2026-01-02T03:04:05Z", "leaseDuration": "10s"}"#,
        r#"{"holder": "", "renewTime": "0001-01-01T00:00:00Z", "leaseDuration": "0s"}"#,
    ] {
        let rig = Rig::new();
        rig.write(text);
        assert_eq!(vacant(&rig.sees().await), Vacancy::Free, "{text}");
        assert_eq!(rig.wins(&Candidate::new("a", 1).bid(1)).await.over, Vacancy::Free);
    }
}

#[tokio::test]
async fn a_program_that_keeps_our_fields_and_writes_its_own_is_still_foreign() {
    // SAFETY 11: the tenure id that it kept is not its own.
    let rig = Rig::new();
    let bid = Candidate::new("a", 1).bid(1);
    let grant = rig.wins(&bid).await;
    let mut json = rig.json();
    json["holder"] = "go-1".into();
    rig.write(json.to_string());
    let Sight::Held(held) = rig.sees().await else { panic!("it is held") };
    assert_eq!((&*held.holder, held.tenure), ("go-1", None));
    assert!(matches!(rig.renew(&bid, &grant.version).await, Ok(Renewal::Mismatch(_))));
    rig.withdraws(&bid).await;
    assert_eq!(rig.json()["holder"], "go-1", "and nothing of it is touched");
}

#[tokio::test]
async fn an_evicted_holder_bars_the_file_for_its_lease() {
    // DESIGN: two never lead; SAFETY 4: a foreign holder stays foreign.
    let rig = Rig::new();
    let (holder, next) = (Candidate::new("a", 1).bid(1), Candidate::new("b", 2));
    let grant = rig.wins(&holder).await;
    let evicted = rig.backend.evict(&seat()).await.unwrap();
    assert_eq!(evicted, Evicted::Barred { remaining: LEASE });
    let bar = rig.loses(&next.displacing(1, Some(grant.version.clone()))).await;
    assert_eq!(&*bar.holder, "nobody (a was evicted)");
    assert_eq!((bar.token, bar.expiry), (grant.token, Expiry::Observe { recorded: LEASE }));
    assert!(matches!(rig.renew(&holder, &grant.version).await, Ok(Renewal::Mismatch(_))));
    let content = rig.content();
    rig.withdraws(&holder).await;
    rig.backend.evict(&seat()).await.unwrap();
    assert_eq!(rig.content(), content, "to evict nobody again starts no new wait");
    rig.wins(&next.displacing(1, Some(bar.version))).await;

    rig.write(r#"{"holder": "go-1", "renewTime": "2026-01-02T03:04:05Z", "leaseDuration": "10s"}"#);
    rig.backend.evict(&seat()).await.unwrap();
    let bar = rig.loses(&next.bid(2)).await;
    assert_eq!((&*bar.holder, bar.tenure), ("nobody (go-1 was evicted)", None));
    let asked = rig.backend.ask_to_resign(&seat()).await.unwrap_err();
    assert_eq!(asked.kind(), ErrorKind::Unsupported, "{asked}");
}

#[tokio::test]
async fn a_barred_office_is_free_once_the_evicted_work_has_stopped() {
    // I1: the evicted one hears of it at its next renewal, and its work may run on for the grace.
    let rig = Rig::new();
    let holder = Candidate::new("a", 1).work_ends().bid(1);
    let grant = rig.wins(&holder).await;
    rig.backend.evict(&seat()).await.unwrap();
    let expiry = async || rig.sees().await.held().map(|held| held.expiry);
    assert_eq!(expiry().await, Some(Expiry::Observe { recorded: LEASE }), "it lives");
    assert!(matches!(rig.renew(&holder, &grant.version).await, Ok(Renewal::Mismatch(_))));
    assert_eq!(expiry().await, Some(Expiry::Observe { recorded: LEASE }), "it only knows by now");
    rig.backend.locks.forget_all();
    assert!(matches!(expiry().await, Some(Expiry::Dead { .. })), "its process is gone");
}

#[tokio::test]
async fn the_recorded_wall_time_counts_only_where_it_is_trusted() {
    // SAFETY 3, 4
    let record = |age: i64| {
        let then = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(age);
        format!(r#"{{"holder": "go-1", "renewTime": "{then}", "leaseDuration": "10s"}}"#)
    };
    let expiry = async |rig: &Rig| rig.loses(&Candidate::new("a", 1).bid(1)).await.expiry;
    let rig = Rig::new();
    rig.write(record(3600));
    assert_eq!(expiry(&rig).await, Expiry::Observe { recorded: LEASE }, "an hour old by the wall clock");
    let trusting = Rig::with(FileBackend::trusting_recorded_wall_time);
    trusting.write(record(3600));
    assert_eq!(expiry(&trusting).await, Expiry::Dead { after: Duration::ZERO });
    trusting.write(record(4));
    let Expiry::Dead { after } = expiry(&trusting).await else { panic!("it is trusted") };
    assert!(after > Duration::from_secs(4) && after <= Duration::from_secs(6), "{after:?}");
    trusting.write(record(-3600));
    assert_eq!(expiry(&trusting).await, Expiry::Dead { after: LEASE }, "from the future: never more than the lease");
}

#[tokio::test]
async fn sharing_with_foreign_peers_promises_a_lease_and_no_more() {
    // SAFETY 20
    assert_eq!(Rig::new().backend.traits().promise, Promise::Fenced);
    let shared = Rig::with(|backend| backend.shared_with(ForeignPeers::StepDownInTime));
    assert_eq!(shared.backend.traits().promise, Promise::LeaseOnly);
    assert!(shared.backend.place().starts_with("file:/"));
}
