//! Tokens that never go back.

use super::*;

fn token_of(grant: &Grant) -> u64 {
    grant.token.expect("a local file system has tokens")
}

#[tokio::test]
async fn the_token_rises_whatever_becomes_of_the_file() {
    // SAFETY 18, I2
    let rig = Rig::new();
    let mut last = 0;
    for (count, what) in ["nothing", "released", "removed", "all removed", "displaced"].into_iter().enumerate() {
        let candidate = Candidate::new("a", 1);
        match what {
            "released" => rig.withdraws(&candidate.bid(count as u64)).await,
            "removed" => fs::remove_file(rig.lease()).unwrap(),
            "all removed" => rig.names().iter().for_each(|name| fs::remove_file(rig.file(name)).unwrap()),
            _ => {}
        }
        let version = rig.sees().await.held().map(|held| held.version.clone());
        let token = token_of(&rig.wins(&candidate.displacing(count as u64 + 1, version)).await);
        assert!(token > last, "{what}: {token} after {last}");
        let clock = jiff::Timestamp::now().as_microsecond() as u64;
        assert!(token.abs_diff(clock) < 60_000_000, "{what}: {token} is not the clock's {clock}");
        last = token;
    }
}

#[tokio::test]
async fn a_token_outlives_a_foreign_holder_and_a_clock_that_went_back() {
    // SAFETY 18: the foreign program drops the number from the lease file, and the clock is not to be relied on.
    let rig = Rig::new();
    let candidate = Candidate::new("a", 1);
    rig.wins(&candidate.bid(1)).await;
    // As if the clock had been an hour ahead when the last number was drawn.
    let ahead = (jiff::Timestamp::now().as_microsecond() + 3_600_000_000) as u64;
    raise_copy(&rig, ahead).await;
    rig.write(r#"{"holder": "", "renewTime": "2026-01-02T03:04:05Z", "leaseDuration": "10s"}"#);
    let token = token_of(&rig.wins(&candidate.bid(2)).await);
    assert_eq!(token, ahead + 1);
    fs::remove_file(rig.lease()).unwrap();
    assert_eq!(
        token_of(&rig.wins(&candidate.bid(3)).await),
        ahead + 2,
        "nor does the removal of the lease file lose it"
    );
}

/// Puts a record with this token into the side copy, as a win would.
async fn raise_copy(rig: &Rig, token: u64) {
    use super::super::copy::Copy;
    use super::super::folder::Folder;
    use super::super::record::Record;
    let record = Record::taken_by(&Candidate::new("earlier", 7).bid(1), token, None);
    Copy::keep(&Folder::open(&rig.path).unwrap(), &seat(), &record).unwrap();
}

#[tokio::test]
async fn either_slot_of_the_side_copy_can_be_torn() {
    // I2: whichever write the power failed in, the number before it is known.
    for torn in [0..4096, 4096..8192] {
        let rig = Rig::new();
        let candidate = Candidate::new("a", 1);
        let mut last = 0;
        for count in 1..4 {
            last = token_of(&rig.wins(&candidate.bid(count)).await);
            rig.withdraws(&candidate.bid(count)).await;
        }
        let path = rig.file("office@copy");
        let mut bytes = fs::read(&path).unwrap();
        bytes[torn.start + 100..torn.start + 300].fill(0);
        write_own(&path, &bytes);
        let token = token_of(&rig.wins(&candidate.bid(4)).await);
        assert!(token > last);
        rig.withdraws(&candidate.bid(4)).await;
    }
}

#[tokio::test]
async fn a_renewal_draws_no_number_and_writes_no_side_copy() {
    let rig = Rig::new();
    let bid = Candidate::new("a", 1).bid(1);
    let grant = rig.wins(&bid).await;
    let copy = fs::read(rig.file("office@copy")).unwrap();
    let renewed = rig.renews(&bid, &grant.version).await;
    assert_eq!(renewed.token, grant.token);
    rig.withdraws(&bid).await;
    assert_eq!(fs::read(rig.file("office@copy")).unwrap(), copy, "only what raises a token is fsynced");
}

#[tokio::test]
async fn a_token_at_its_end_is_an_error_and_not_a_fresh_start() {
    let rig = Rig::new();
    raise_copy(&rig, i64::MAX as u64).await;
    let error = rig.stand(&Candidate::new("a", 1).bid(1)).await.unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::TokenWentBack, "{error}");
    assert!(!rig.lease().exists());
}
