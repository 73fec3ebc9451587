//! Lease files that are not what they should be: a clear error each, and nothing lost. Those that need another user or a disk of
//! their own are in `tests/file_processes/hazards.rs`.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::{ErrorKind, ForeignPeers};

/// Every call fails with this kind and these words, and the file is as it was.
async fn assert_refused(rig: &Rig, kind: ErrorKind, words: &str) {
    let before = fs::read(rig.lease()).ok();
    let bid = Candidate::new("b", 2).bid(1);
    let version = Version::text("0000000000000000");
    let calls = [
        ("stand", rig.stand(&bid).await.map(drop)),
        ("renew", rig.renew(&bid, &version).await.map(drop)),
        ("withdraw", rig.backend.withdraw(&bid).await),
        ("inspect", rig.backend.inspect(&seat()).await.map(drop)),
        ("list", rig.backend.administer().unwrap().list("").await.map(drop)),
        ("evict", rig.backend.administer().unwrap().evict(&seat()).await.map(drop)),
    ];
    for (call, answer) in calls {
        let Err(error) = answer else { panic!("{call} was to fail: {words}") };
        assert_eq!(error.kind(), kind, "{call}: {error}");
        assert!(error.to_string().contains(words), "{call}: {error}");
        assert!(error.to_string().contains("office"), "{call}: it says where: {error}");
        assert!(!error.is_indeterminate(), "{call}: {error:?}");
    }
    assert_eq!(fs::read(rig.lease()).ok(), before, "nothing was written");
}

/// A directory in which somebody holds the office.
async fn held() -> (Rig, Bid, Grant) {
    let rig = Rig::new();
    let bid = Candidate::new("a", 1).bid(1);
    let grant = rig.wins(&bid).await;
    (rig, bid, grant)
}

#[tokio::test]
async fn a_corrupt_truncated_or_empty_file_is_an_error_and_not_a_free_office() {
    // SEEDS 56
    let (rig, bid, grant) = held().await;
    let whole = fs::read(rig.lease()).unwrap();
    let middle = whole.iter().position(|byte| *byte == b'}').unwrap() / 2;
    for (content, words) in [
        (&b"not a lease"[..], "is not a lease file"),
        (&whole[..middle], "is not a lease file"),
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (&[0; 4096], "is empty"),
        (b"[]", "not a JSON object"),
        (b"{}", "\"holder\""),
        (b"{\"holder\": 7}", "\"holder\""),
        (b"{\"holder\": \"x\"}", "\"renewTime\""),
        (br#"{"holder": "x", "renewTime": "yesterday", "leaseDuration": "10s"}"#, "RFC 3339"),
        (br#"{"holder": "x", "renewTime": "2026-01-02T03:04:05Z", "leaseDuration": "0s"}"#, "\"leaseDuration\""),
        (br#"{"holder": "x", "renewTime": "2026-01-02T03:04:05Z", "leaseDuration": -5}"#, "\"leaseDuration\""),
        (br#"{"holder": "x", "renewTime": "2026-01-02T03:04:05Z", "leaseDuration": "10s"}{}"#, "follows"),
        (b"\xff\xfe\x00", "is not a lease file"),
    ] {
        rig.write(content);
        assert_refused(&rig, ErrorKind::Corrupt, words).await;
    }
    // Nothing is lost: what was there before is as good as it was.
    rig.write(&whole);
    rig.renews(&bid, &grant.version).await;
}

#[tokio::test]
async fn sixty_four_kilobytes_of_json_are_an_error() {
    let (rig, ..) = held().await;
    let junk = "x".repeat(64 * 1024);
    rig.write(format!(
        r#"{{"holder": "x", "renewTime": "2026-01-02T03:04:05Z", "leaseDuration": "10s", "junk": "{junk}"}}"#
    ));
    assert_refused(&rig, ErrorKind::Corrupt, "more than 16384 bytes").await;
}

#[tokio::test]
async fn another_format_version_is_an_error_that_says_to_update() {
    let (rig, ..) = held().await;
    for format in ["2", "0", "\"1\"", "null", "1.5", "[]"] {
        let mut json = rig.json();
        json["format"] = serde_json::from_str(format).unwrap();
        let before = rig.content();
        rig.write(json.to_string());
        assert_refused(&rig, ErrorKind::Corrupt, "update tenure").await;
        rig.write(before);
    }
}

#[tokio::test]
async fn the_record_of_another_election_is_an_error() {
    let (rig, ..) = held().await;
    fs::copy(rig.lease(), rig.file("other.json")).unwrap();
    fs::set_permissions(rig.file("other.json"), fs::Permissions::from_mode(0o600)).unwrap();
    let error = rig.backend.inspect(&Seat::new("other").unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("the election \"office\""), "{error}");
}

#[tokio::test]
async fn a_link_is_not_followed_and_a_second_name_not_shared() {
    // Security
    let (rig, bid, grant) = held().await;
    let real = rig.file("real");
    fs::rename(rig.lease(), &real).unwrap();
    symlink(&real, rig.lease()).unwrap();
    assert_refused(&rig, ErrorKind::Denied, "symbolic link").await;
    fs::remove_file(rig.lease()).unwrap();
    symlink(rig.file("nowhere"), rig.lease()).unwrap();
    assert_refused(&rig, ErrorKind::Denied, "symbolic link").await;
    assert!(!rig.file("nowhere").exists(), "nor made through");
    fs::remove_file(rig.lease()).unwrap();
    fs::hard_link(&real, rig.lease()).unwrap();
    assert_refused(&rig, ErrorKind::Denied, "hard link").await;
    fs::remove_file(&real).unwrap();
    rig.renews(&bid, &grant.version).await;
}

#[tokio::test]
async fn a_file_that_others_may_write_or_its_owner_may_not_is_an_error() {
    let (rig, bid, grant) = held().await;
    for (mode, words) in
        [(0o666, "other users"), (0o620, "other users"), (0o400, "may not read"), (0o200, "may not read")]
    {
        fs::set_permissions(rig.lease(), fs::Permissions::from_mode(mode)).unwrap();
        let before = fs::metadata(rig.lease()).unwrap().len();
        let error = rig.renew(&bid, &grant.version).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied, "{mode:o}: {error}");
        // Whoever is not root hears it from the kernel.
        let told = error.to_string().contains(words) || error.to_string().contains("give this user the right");
        assert!(told, "{mode:o}: {error}");
        assert_eq!(fs::metadata(rig.lease()).unwrap().len(), before);
    }
    fs::set_permissions(rig.lease(), fs::Permissions::from_mode(0o644)).unwrap();
    rig.renews(&bid, &grant.version).await;
}

#[tokio::test]
async fn what_is_not_a_regular_file_is_an_error_and_hangs_nobody() {
    let rig = Rig::new();
    fs::create_dir(rig.lease()).unwrap();
    assert_refused(&rig, ErrorKind::Denied, "not a regular file").await;
    fs::remove_dir(rig.lease()).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        rig.lease(),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let bid = Candidate::new("a", 1).bid(1);
    let tried = tokio::time::timeout(Duration::from_secs(5), rig.stand(&bid));
    let error = tried.await.expect("a pipe without a reader hangs nobody").unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");
}

#[tokio::test]
async fn a_side_copy_that_cannot_be_used_keeps_the_holder_in_office_and_nobody_new_out_of_turn() {
    let (rig, bid, grant) = held().await;
    let copy = rig.file("office@copy");
    fs::remove_file(&copy).unwrap();
    symlink(rig.file("nowhere"), &copy).unwrap();
    let renewed = rig.renews(&bid, &grant.version).await;
    let next = Candidate::new("b", 2).displacing(1, Some(renewed.version.clone()));
    let error = rig.stand(&next).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Denied && error.to_string().contains("office@copy"), "{error}");
    assert!(!rig.file("nowhere").exists());
    fs::remove_file(&copy).unwrap();
    assert!(rig.wins(&next).await.token > grant.token, "the lease file knows the number too");
}

#[tokio::test]
async fn a_directory_that_vanishes_is_an_error_that_passes() {
    let (rig, bid, grant) = held().await;
    let aside = rig.path.with_extension("aside");
    fs::rename(&rig.path, &aside).unwrap();
    let error = rig.renew(&bid, &grant.version).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.is_transient() && error.to_string().contains("is not there"), "{error}");
    assert!(rig.stand(&Candidate::new("b", 2).bid(1)).await.is_err());
    assert!(!rig.path.exists(), "nobody makes it anew: its tokens would be lost");
    assert!(rig.backend.watch(&seat(), None).await.is_err());
    fs::rename(&aside, &rig.path).unwrap();
    rig.renews(&bid, &grant.version).await;
}

#[tokio::test]
async fn a_directory_in_which_anybody_may_replace_files_is_refused() {
    let (rig, bid, grant) = held().await;
    fs::set_permissions(&rig.path, fs::Permissions::from_mode(0o777)).unwrap();
    let error = rig.renew(&bid, &grant.version).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.to_string().contains("chmod o-w"), "{error}");
    fs::set_permissions(&rig.path, fs::Permissions::from_mode(0o1777)).unwrap();
    rig.renews(&bid, &grant.version).await;
}

#[tokio::test]
async fn what_is_not_a_directory_is_named_as_such() {
    let (rig, ..) = held().await;
    let error = FileBackend::new(rig.lease()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidConfig, "{error}");
    assert!(error.to_string().contains("is not a directory"), "{error}");
    symlink(rig.file("nowhere"), rig.file("dangling")).unwrap();
    let error = FileBackend::new(rig.file("dangling")).unwrap_err();
    assert!(error.to_string().contains("is not there"), "{error}");
    assert!(!rig.file("nowhere").exists());
}

#[tokio::test]
async fn a_lease_file_torn_by_a_power_failure_is_mended_from_its_side_copy() {
    // SEEDS 56: only when the machine was started since; before that nothing can be torn by tenure itself.
    let (rig, bid, grant) = held().await;
    let whole = rig.content();
    rig.write(&whole[..whole.len() / 4]);
    assert_refused(&rig, ErrorKind::Corrupt, "is not a lease file").await;
    as_of_an_earlier_boot(&rig, &bid, &grant);
    assert_refused(&rig, ErrorKind::Corrupt, "is not a lease file").await;
    let written = fs::File::open(rig.lease()).unwrap();
    written.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();
    let shared = Rig { path: rig.path.clone(), backend: rig.backend.clone().shared_with(ForeignPeers::StepDownInTime) };
    assert_refused(&shared, ErrorKind::Corrupt, "is not a lease file").await;
    std::mem::forget(shared);
    let Sight::Held(seen) = rig.sees().await else { panic!("a torn record is not a free office") };
    assert_eq!((seen.tenure, seen.token), (Some(bid.tenure()), grant.token));
    let next = Candidate::new("b", 2);
    assert_eq!(rig.loses(&next.bid(1)).await.version, seen.version);
    let won = rig.wins(&next.displacing(1, Some(seen.version))).await;
    assert!(won.token > grant.token);
}

/// Writes the side copy as it would be had the machine been started since.
fn as_of_an_earlier_boot(rig: &Rig, bid: &Bid, grant: &Grant) {
    use super::super::json;
    use super::super::record::Record;
    let mut record = Record::taken_by(bid, grant.token.unwrap(), None);
    record.boot = "00000000-0000-0000-0000-000000000000".into();
    write_own(&rig.file("office@copy"), json::write(&seat(), &record, 4096));
}
