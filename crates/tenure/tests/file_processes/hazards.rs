//! Another user's file, a file system that is read-only, full, unknown or gone: as another user and on disks of their own.

use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use futures_util::StreamExt;
use tenure::backend::{Backend, FileBackend, Hint, Renewal, Standing, TenureId, Version};
use tenure::{Error, ErrorKind, Seat};

use crate::file_tools::Scratch;
use crate::world::{Process, attempt, bid, heard, say, seat, sees, var, wait, wins};

const LEASE: Duration = Duration::from_secs(10);
const NOBODY: u32 = 65534;

/// Does what it is told, a line each, and says what came of it.
pub(crate) fn probe() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let backend = match FileBackend::new(var("DIRECTORY")) {
        Ok(backend) => backend,
        Err(error) => return refused(&error),
    };
    let backend = backend.lock_timeout(Duration::from_millis(300));
    let traits = backend.traits();
    say(format!("ready {} {:?} {}", traits.promise, traits.vacancies, traits.has_tokens));
    let declared = var("DECLARED") == "yes";
    let (mut count, mut version) = (0, Version::text(""));
    let mut watch = None;
    loop {
        let command = heard();
        if command != "renew" && command != "withdraw" {
            count += 1;
        }
        let claim = bid("probe", TenureId::new(7, count), LEASE, None, declared);
        let answer = runtime.block_on(async {
            Ok::<_, Error>(match command.as_str() {
                "stand" => match backend.stand(&claim, attempt()).await? {
                    Standing::Elected(grant) => {
                        version = grant.version;
                        format!("elected {:?}", grant.token)
                    }
                    other => format!("{other:?}"),
                },
                "elsewhere" => another(&backend).await?,
                "renew" => match backend.renew(&claim, &version, attempt()).await? {
                    Renewal::Extended(grant) => {
                        version = grant.version;
                        "extended".to_owned()
                    }
                    other => format!("{other:?}"),
                },
                "withdraw" => backend.withdraw(&claim).await.map(|()| "withdrawn".to_owned())?,
                "liveness" => format!("{}", backend.liveness(&seat(), TenureId::new(7, count - 1)).is_ok()),
                "watch" => {
                    let hints = watch.insert(backend.watch(&seat(), None).await?);
                    format!("{:?}", hints.next().await)
                }
                "hint" => format!("{:?}", watch.as_mut().expect("it watches").next().await == Some(Hint::Lagged)),
                other => panic!("no command {other}"),
            })
        });
        match answer {
            Ok(answer) => say(format!("ok {answer}")),
            Err(error) => refused(&error),
        }
    }
}

/// A win of another office, which needs files that are not there yet.
async fn another(backend: &FileBackend) -> Result<String, Error> {
    use tenure::machine::Plan;
    use tenure::{CandidateName, Promise, TimingBuilder};
    let timing = std::sync::Arc::new(TimingBuilder::default().build()?);
    let (seat, name) = (Seat::new("elsewhere")?, CandidateName::new("probe")?);
    let plan = Plan::new(seat, name, 7, timing, tenure::backend::Traits::new(Promise::Fenced));
    let claim = tenure::backend::Bid::new(std::sync::Arc::new(plan), TenureId::new(7, 1000), None);
    backend.stand(&claim, attempt()).await.map(|standing| match standing {
        Standing::Elected(_) => "elected elsewhere".to_owned(),
        other => format!("{other:?}"),
    })
}

fn refused(error: &Error) {
    say(format!("err {:?} {} {}", error.kind(), error.is_transient(), error.to_string().replace('\n', " ")));
}

impl Process {
    fn asked(&mut self, command: &str) -> String {
        self.tell(command);
        self.line().expect("it answers")
    }

    #[track_caller]
    fn assert_ok(&mut self, command: &str, start: &str) -> String {
        let said = self.asked(command);
        assert!(said.starts_with(&format!("ok {start}")), "{command}: {said}");
        said
    }

    #[track_caller]
    fn assert_refused(&mut self, command: &str, kind: ErrorKind, words: &str) {
        let said = self.asked(command);
        assert!(said.starts_with(&format!("err {kind:?} ")) && said.contains(words), "{command}: {said}");
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}

pub(crate) fn a_file_of_another_user_is_refused() {
    let scratch = Scratch::default();
    let backend = FileBackend::new(scratch.path()).expect("a directory");
    let ours = bid("holder", TenureId::new(1, 1), LEASE, None, false);
    let grant = wins(&backend, &ours);
    let lease = scratch.lease(&seat());
    let before = std::fs::read(&lease).expect("it is there");
    for file in [lease.clone(), scratch.path().join("office@copy")] {
        chown(&file, Some(NOBODY), Some(NOBODY)).expect("root may");
        let error =
            wait(backend.stand(&bid("b", TenureId::new(2, 1), LEASE, Some(grant.version.clone()), false), attempt()));
        let error = error.expect_err("it is another's");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(error.to_string().contains("belongs to user 65534"), "{error}");
        chown(&file, Some(0), Some(0)).expect("root may");
    }
    assert_eq!(std::fs::read(&lease).expect("it is there"), before, "nothing was written");
    wait(backend.renew(&ours, &grant.version, attempt())).expect("it is ours again");
}

pub(crate) fn an_unreadable_file_or_directory_is_an_error() {
    let (programs, scratch) = (Scratch::default(), Scratch::default());
    // Where this program is another user may not be let in.
    let program = programs.path().join("probe");
    std::fs::copy(std::env::current_exe().expect("a file"), &program).expect("it can be copied");
    for path in [programs.path(), scratch.path()] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("root may");
    }
    chown(scratch.path(), Some(NOBODY), Some(NOBODY)).expect("root may");
    let mut command = Command::new(&program);
    command.uid(NOBODY).gid(NOBODY).current_dir("/");
    let mut probe = Process::run(command, "probe", &[("DIRECTORY", text(scratch.path())), ("DECLARED", "yes")]);
    probe.expect("ready");
    probe.assert_ok("stand", "elected");
    let lease = scratch.lease(&seat());
    for (path, mode) in
        [(lease.as_path(), 0o000), (lease.as_path(), 0o400), (scratch.path(), 0o000), (scratch.path(), 0o400)]
    {
        let before = std::fs::metadata(path).expect("it is there").permissions();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("root may");
        probe.assert_refused("renew", ErrorKind::Denied, "give this user the right");
        std::fs::set_permissions(path, before).expect("root may");
        probe.assert_ok("renew", "extended");
    }
    // What root may read it does not take for its own.
    let error = wait(FileBackend::new(scratch.path()).expect("a directory").inspect(&seat())).expect_err("another's");
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
}

/// Whether this process may have disks of its own.
pub(crate) fn can_mount() -> bool {
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", "mount -t tmpfs none /tmp"]);
    command.output().is_ok_and(|output| output.status.success())
}

/// A probe on a disk of its own, which nobody else sees.
struct Disk {
    probe: Process,
    directory: String,
}

impl Disk {
    fn new(scratch: &Scratch, kind: &str) -> (Self, String) {
        Disk::with(scratch, kind, "yes")
    }

    fn with(scratch: &Scratch, kind: &str, declared: &str) -> (Self, String) {
        let directory = text(scratch.path()).to_owned();
        let program = std::env::current_exe().expect("a file");
        let mut command = Command::new("unshare");
        let script = format!("mount {kind} none \"$DIRECTORY\" && exec \"$0\"");
        command.args(["--mount", "sh", "-c", &script]).arg(program);
        let mut probe = Process::run(command, "probe", &[("DIRECTORY", &directory), ("DECLARED", declared)]);
        let ready = probe.expect("ready");
        (Disk { probe, directory }, ready)
    }

    /// Runs a command in the probe's view of the disks.
    fn shell(&self, script: &str) -> bool {
        let pid = self.probe.child.id().to_string();
        let mut command = Command::new("nsenter");
        command.args(["--mount", "--target", &pid, "sh", "-c", script]).env("D", &self.directory);
        command.output().expect("nsenter").status.success()
    }
}

pub(crate) fn a_read_only_file_system_is_an_error() {
    let scratch = Scratch::default();
    // A disk on which a liveness file is open cannot be made read-only.
    let (mut disk, _) = Disk::with(&scratch, "-t tmpfs -o mode=700", "no");
    disk.probe.assert_ok("stand", "elected");
    assert!(disk.shell("mount -o remount,ro \"$D\""));
    disk.probe.assert_refused("renew", ErrorKind::Denied, "read-only");
    disk.probe.assert_refused("elsewhere", ErrorKind::Denied, "read-only");
    assert!(disk.shell("mount -o remount,rw \"$D\""));
    disk.probe.assert_ok("elsewhere", "elected");
}

pub(crate) fn a_full_disk_loses_nothing() {
    let scratch = Scratch::default();
    let (mut disk, _) = Disk::new(&scratch, "-t tmpfs -o size=64k,mode=700");
    let first = disk.probe.assert_ok("stand", "elected");
    disk.probe.assert_ok("withdraw", "withdrawn");
    assert!(!disk.shell("dd if=/dev/zero of=\"$D/fill\" bs=4k count=100 2>/dev/null"), "the disk is full");
    // The number has no room in its slot, so the office is not won; and what was there is as it was.
    disk.probe.assert_refused("stand", ErrorKind::Unavailable, "make room");
    disk.probe.assert_refused("elsewhere", ErrorKind::Unavailable, "make room");
    assert!(disk.shell("grep -q releasedBy \"$D/office.json\""), "the release is still there");
    assert!(!disk.shell("test -s \"$D/elsewhere.json\""), "and nothing half written");
    assert!(disk.shell("rm \"$D/fill\""));
    let second = disk.probe.assert_ok("stand", "elected");
    assert!(second > first, "{first} {second}: tokens rise");
    // Who holds an office needs no room to keep it.
    assert!(!disk.shell("dd if=/dev/zero of=\"$D/fill\" bs=4k count=100 2>/dev/null"), "the disk is full");
    disk.probe.assert_ok("renew", "extended");
    disk.probe.assert_ok("withdraw", "withdrawn");
}

pub(crate) fn a_record_that_finds_no_room_to_grow_leaves_the_one_before_it() {
    // SEEDS 56: the bar is longer than the record that it replaces, and needs another kilobyte.
    let scratch = Scratch::default();
    let backend = FileBackend::new(scratch.path()).expect("a directory");
    let lease = scratch.lease(&seat());
    let length = |file: &Path| std::fs::read_to_string(file).expect("it is there").trim_end().len();
    let long = |quotes: usize| bid(&"\"".repeat(quotes), TenureId::new(1, 1), LEASE, None, false);
    wins(&backend, &long(1));
    let ours = long(1 + (1010 - length(&lease)) / 4);
    std::fs::remove_file(&lease).expect("it is there");
    let grant = wins(&backend, &ours);
    assert!((990..1024).contains(&length(&lease)), "{}", length(&lease));
    let mut command = Command::new("prlimit");
    command.arg("--fsize=1024").arg("--").arg(std::env::current_exe().expect("a file"));
    let mut limited = Process::run(command, "step", &[("DIRECTORY", text(scratch.path())), ("OPERATION", "evict")]);
    limited.expect("ready");
    limited.tell("go");
    assert_eq!(limited.line(), None, "the kernel kills it");
    wait(backend.renew(&ours, &grant.version, attempt())).expect("nothing is lost");
}

pub(crate) fn a_file_system_that_is_not_known_is_only_best_effort() {
    // SAFETY, Security: others are downgraded to observation; their numbers are no tokens.
    let scratch = Scratch::default();
    let (mut disk, ready) = Disk::new(&scratch, "-t ramfs -o mode=700");
    assert_eq!(ready, "best-effort Polled false");
    assert_eq!(disk.probe.asked("stand"), "ok elected None");
    assert_eq!(disk.probe.asked("liveness"), "ok false", "no lock is taken for a proof of life there");
    assert!(!disk.shell("grep -q liveness \"$D/office.json\""));
    let scratch = Scratch::default();
    let (_, ready) = Disk::new(&scratch, "-t tmpfs -o mode=700");
    assert_eq!(ready, "fenced Pushed true", "for comparison");
}

pub(crate) fn a_disk_that_is_mounted_over_the_directory_is_noticed() {
    // SAFETY 20: such as one of the network that is mounted after the service was started.
    let scratch = Scratch::default();
    let (mut disk, ready) = Disk::new(&scratch, "-t tmpfs -o mode=700");
    assert_eq!(ready, "fenced Pushed true");
    disk.probe.assert_ok("stand", "elected");
    assert!(disk.shell("mount -t ramfs -o mode=700 none \"$D\""));
    disk.probe.assert_refused("renew", ErrorKind::Denied, "another kind of file system");
    assert!(disk.shell("umount \"$D\""));
    disk.probe.assert_ok("renew", "extended");
}

pub(crate) fn a_disk_that_was_unmounted_ends_its_watches() {
    let scratch = Scratch::default();
    let (mut disk, _) = Disk::new(&scratch, "-t tmpfs -o mode=700");
    disk.probe.assert_ok("stand", "elected");
    disk.probe.assert_ok("withdraw", "withdrawn");
    disk.probe.assert_ok("watch", "Some(Armed)");
    assert!(disk.shell("umount \"$D\""));
    let mut said = disk.probe.asked("hint");
    // What the last writes told comes first.
    for _ in 0..10 {
        if said == "ok true" {
            break;
        }
        said = disk.probe.asked("hint");
    }
    assert_eq!(said, "ok true", "a watch never ends silently");
    let backend = FileBackend::new(scratch.path()).expect("a directory");
    assert!(sees(&backend).held().is_none());
}
