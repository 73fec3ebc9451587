//! The short lock: who has it, who waits, and for how long.

use std::time::Instant;

use super::*;
use crate::ErrorKind;

#[tokio::test]
async fn waiting_for_the_lock_obeys_its_timeout_and_says_who_has_it() {
    // SEEDS 56
    let rig = Rig::new();
    let bid = Candidate::new("a", 1).bid(1);
    let grant = rig.wins(&bid).await;
    let locked = fs::File::open(rig.lease()).unwrap();
    locked.lock().unwrap();
    let start = Instant::now();
    let waited = tokio::time::timeout(Duration::from_secs(5), rig.renew(&bid, &grant.version));
    let error = waited.await.expect("a lock is not waited for without end").unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.is_transient() && !error.is_indeterminate(), "{error:?}");
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    assert!(error.to_string().contains("office.json"), "{error}");
    // Nobody needs it to look, nor to be told that another holds the office.
    assert!(rig.sees().await.is_of(bid.tenure()));
    rig.loses(&Candidate::new("b", 2).bid(1)).await;
    drop(locked);
    rig.renews(&bid, &grant.version).await;
}

#[tokio::test]
async fn a_file_that_was_replaced_while_its_lock_was_waited_for_is_not_written() {
    // Security: the path's inode is compared again after locking.
    use super::super::folder::{Folder, Opening};
    use rustix::fs::FlockOperation;
    let rig = Rig::new();
    rig.wins(&Candidate::new("a", 1).bid(1)).await;
    let folder = Folder::open(&rig.path).unwrap();
    let opened = folder.write("office.json", false).unwrap().unwrap();
    fs::rename(rig.lease(), rig.file("elsewhere")).unwrap();
    write_own(&rig.lease(), fs::read(rig.file("elsewhere")).unwrap());
    let locked = folder.lock("office.json", opened, FlockOperation::NonBlockingLockExclusive).unwrap();
    assert!(matches!(locked, Opening::Busy(_)), "{locked:?}");
    let opened = folder.write("office.json", false).unwrap().unwrap();
    fs::remove_file(rig.lease()).unwrap();
    let locked = folder.lock("office.json", opened, FlockOperation::NonBlockingLockExclusive).unwrap();
    assert!(matches!(locked, Opening::Busy(_)), "{locked:?}");
}

#[tokio::test]
async fn a_read_and_the_write_that_follows_it_are_one_step() {
    // SEEDS 1: of many who displace one version one wins, and none is lost in between.
    let rig = Rig::new();
    for round in 0..10 {
        let silent = Candidate::new("silent", 99).bid(round + 1);
        let grant = rig.wins(&silent).await;
        let tasks = (1..=8).map(|nonce| {
            let backend = FileBackend::new(&rig.path).unwrap();
            let bid = Candidate::new("b", nonce).displacing(round + 1, Some(grant.version.clone()));
            tokio::spawn(async move { (backend.stand(&bid, attempt()).await, bid) })
        });
        let mut elected = Vec::new();
        for task in tasks.collect::<Vec<_>>() {
            if let (Ok(Standing::Elected(_)), bid) = task.await.unwrap() {
                elected.push(bid);
            }
        }
        assert_eq!(elected.len(), 1, "exactly one wins");
        rig.withdraws(&elected[0]).await;
    }
}

#[tokio::test]
async fn a_leftover_of_a_first_record_that_was_never_named_is_used_again() {
    let rig = Rig::new();
    write_own(&rig.file("office@new"), r#"{"holder":"half"#);
    let bid = Candidate::new("a", 1).bid(1);
    rig.wins(&bid).await;
    assert!(rig.sees().await.is_of(bid.tenure()));
    assert!(!rig.file("office@new").exists());
}

#[tokio::test]
async fn a_process_that_was_forked_in_between_does_not_keep_the_lock() {
    use super::super::folder::{Folder, Opening};
    let rig = Rig::new();
    rig.wins(&Candidate::new("a", 1).bid(1)).await;
    let folder = Folder::open(&rig.path).unwrap();
    let Ok(Opening::Done(locked)) = folder.locked("office.json", false) else { panic!("nobody has the lock") };
    // What a fork leaves behind: another descriptor of the same open file.
    let _forked = locked.file().try_clone().unwrap();
    assert!(matches!(folder.locked("office.json", false), Ok(Opening::Busy(_))));
    drop(locked);
    assert!(matches!(folder.locked("office.json", false), Ok(Opening::Done(_))));
}
