//! Liveness locks, within one process. What becomes of them when a process dies is shown in `tests/file_processes/death.rs`.

use super::*;
use crate::backend::Expiry;
use crate::backend::file::{WorkEnds, names::Names};

fn alive(bid: &Bid) -> String {
    Names::of(&seat()).liveness(bid.tenure())
}

async fn expiry(rig: &Rig) -> Expiry {
    match rig.sees().await {
        Sight::Held(held) => held.expiry,
        vacant => panic!("it is held: {vacant:?}"),
    }
}

#[tokio::test]
async fn a_liveness_lock_is_had_only_where_it_was_declared() {
    // SAFETY 4, Security: a lock that is free allows a takeover only where the record says that work ends with it.
    let rig = Rig::new();
    let bid = Candidate::new("a", 1).bid(1);
    rig.wins(&bid).await;
    assert!(!rig.file(&alive(&bid)).exists());
    assert!(rig.json().get("liveness").is_none());
    assert!(rig.backend.liveness(&seat(), bid.tenure()).is_err());
    assert_eq!(expiry(&rig).await, Expiry::Observe { recorded: LEASE });
}

#[tokio::test]
async fn a_free_lock_allows_a_takeover_after_the_time_that_the_record_names() {
    // Security: only after κ, and by the holder's word, not the contender's.
    let rig = Rig::with(|backend| backend.work_ends(WorkEnds::WithTree { within: Duration::from_secs(1) }));
    let bid = Candidate::new("a", 1).work_ends().bid(1);
    rig.wins(&bid).await;
    assert_eq!(expiry(&rig).await, Expiry::Observe { recorded: LEASE }, "it lives");
    let guardian = rig.backend.liveness(&seat(), bid.tenure()).unwrap();
    let contender = FileBackend::new(&rig.path).unwrap();
    let seen = async || match contender.inspect(&seat()).await.unwrap() {
        Sight::Held(held) => held.expiry,
        vacant => panic!("it is held: {vacant:?}"),
    };
    rig.backend.locks.forget_all();
    assert_eq!(seen().await, Expiry::Observe { recorded: LEASE }, "a descriptor that was handed on keeps it");
    drop(guardian);
    assert_eq!(seen().await, Expiry::Dead { after: Duration::from_secs(1) });
}

#[tokio::test]
async fn a_liveness_file_that_is_missing_or_tampered_with_proves_nothing() {
    let rig = Rig::new();
    let bid = Candidate::new("a", 1).work_ends().bid(1);
    rig.wins(&bid).await;
    let path = rig.file(&alive(&bid));
    fs::remove_file(&path).unwrap();
    assert_eq!(expiry(&rig).await, Expiry::Observe { recorded: LEASE }, "missing");
    write_own(&path, "");
    assert_eq!(expiry(&rig).await, Expiry::Observe { recorded: LEASE }, "made anew, and empty");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(rig.lease(), &path).unwrap();
    assert_eq!(expiry(&rig).await, Expiry::Observe { recorded: LEASE }, "a link");
}

#[tokio::test]
async fn a_copy_of_a_liveness_file_proves_nothing() {
    // A directory that is restored from a backup, or swapped for a copy of it, while its holder leads: nobody ever locked the copy.
    let rig = Rig::new();
    let bid = Candidate::new("a", 1).work_ends().bid(1);
    rig.wins(&bid).await;
    let (path, copy) = (rig.file(&alive(&bid)), rig.file("copy"));
    fs::copy(&path, &copy).unwrap();
    fs::rename(&copy, &path).unwrap();
    assert_eq!(expiry(&rig).await, Expiry::Observe { recorded: LEASE });
}

#[tokio::test]
async fn liveness_files_go_with_their_tenures() {
    let rig = Rig::new();
    let (one, two) = (Candidate::new("a", 1).work_ends(), Candidate::new("b", 2).work_ends());
    rig.wins(&one.bid(1)).await;
    assert!(rig.file(&alive(&one.bid(1))).exists());
    rig.withdraws(&one.bid(1)).await;
    assert_eq!(rig.names(), ["office.json", "office@copy"], "given up");
    let grant = rig.wins(&one.bid(2)).await;
    rig.wins(&two.displacing(1, Some(grant.version))).await;
    assert!(!rig.file(&alive(&one.bid(2))).exists(), "displaced");
    assert!(rig.file(&alive(&two.bid(1))).exists());
}

#[tokio::test]
async fn whoever_wins_lets_go_of_what_its_process_held_before() {
    let rig = Rig::new();
    let candidate = Candidate::new("a", 1).work_ends();
    let grant = rig.wins(&candidate.bid(1)).await;
    rig.wins(&candidate.displacing(2, Some(grant.version))).await;
    assert!(rig.backend.liveness(&seat(), candidate.bid(1).tenure()).is_err());
    assert!(rig.backend.liveness(&seat(), candidate.bid(2).tenure()).is_ok());
}

#[tokio::test]
async fn a_dead_holder_is_never_waited_for_longer_than_its_lease() {
    for within in [Duration::from_secs(3600), Duration::MAX] {
        let rig = Rig::with(|backend| backend.work_ends(WorkEnds::WithTree { within }));
        let bid = Candidate::new("a", 1).work_ends().bid(1);
        let grant = rig.wins(&bid).await;
        rig.renews(&bid, &grant.version).await;
        rig.backend.locks.forget_all();
        assert_eq!(expiry(&rig).await, Expiry::Dead { after: LEASE });
    }
}

#[tokio::test]
async fn a_displaced_holder_lets_go_of_its_lock_when_it_hears_of_it() {
    let rig = Rig::new();
    let (one, two) = (Candidate::new("a", 1).work_ends().bid(1), Candidate::new("b", 2));
    let grant = rig.wins(&one).await;
    let other = FileBackend::new(&rig.path).unwrap();
    other.stand(&two.displacing(1, Some(grant.version.clone())), attempt()).await.unwrap();
    assert!(rig.backend.liveness(&seat(), one.tenure()).is_ok(), "a frozen holder keeps its own");
    assert!(matches!(rig.renew(&one, &grant.version).await, Ok(Renewal::Mismatch(_))));
    assert!(rig.backend.liveness(&seat(), one.tenure()).is_err());
}
