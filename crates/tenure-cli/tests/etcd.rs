//! `tenure run` over a store on a network, on a real etcd.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testbed::Trials;
use testbed::etcd::{Etcd, missing};

fn main() {
    let name = "a_supervisor_that_is_killed_hands_over_before_its_lease_ends";
    let secret = "a_password_comes_by_the_environment_or_a_file";
    Trials::new()
        .needing(missing(), name, a_supervisor_that_is_killed_hands_over_before_its_lease_ends)
        .needing(missing(), secret, a_password_comes_by_the_environment_or_a_file)
        .main()
}

/// Long, so that whoever waited for its end is told from whoever did not, on a busy machine too.
const LEASE: Duration = Duration::from_secs(60);

struct Supervisor {
    process: Child,
    lines: Receiver<String>,
}

impl Supervisor {
    fn start(url: &str, name: &str) -> Self {
        let mut process = tenure(url)
            .args(["run", "nightly", "--id", name, "--ttl", "60s", "--", "sh", "-c", "echo leading; exec sleep 1000"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("it can be started");
        let lines = lines(process.stdout.take().expect("it is piped"));
        Supervisor { process, lines }
    }

    fn leads_within(&self, patience: Duration) -> bool {
        self.lines.recv_timeout(patience).is_ok_and(|line| line == "leading")
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.process.id().cast_signed()), Signal::SIGTERM);
        let _ = self.process.wait();
    }
}

fn tenure(url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tenure"));
    command.env("TENURE_BACKEND", url).stdin(Stdio::null());
    command
}

fn lines(output: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        BufReader::new(output).lines().map_while(Result::ok).all(|line| sender.send(line).is_ok())
    });
    receiver
}

/// DESIGN: the guardian that is left alone ends the tree, and gives the office up by the tenure's id alone.
fn a_supervisor_that_is_killed_hands_over_before_its_lease_ends() {
    let etcd = Etcd::start().expect("etcd starts");
    let url = format!("{}/services", etcd.url());
    let first = Supervisor::start(&url, "first");
    assert!(first.leads_within(Duration::from_secs(30)), "the first leads");
    let second = Supervisor::start(&url, "second");
    assert!(!second.leads_within(Duration::from_secs(2)), "the office is held");
    let killed = Instant::now();
    kill(Pid::from_raw(first.process.id().cast_signed()), Signal::SIGKILL).expect("it runs");
    assert!(second.leads_within(LEASE / 2), "nobody gave the office up");
    assert!(killed.elapsed() < LEASE / 2);
}

/// SAFETY security: a secret stands on no command line.
fn a_password_comes_by_the_environment_or_a_file() {
    let mut etcd = Etcd::start().expect("etcd starts");
    etcd.admit_only("candidate", "s3cret", "services/").expect("users can be switched on");
    let host = etcd.address();
    let status = |url: &str, password: Option<&str>| {
        let mut command = tenure(url);
        if let Some(password) = password {
            command.env("TENURE_ETCD_PASSWORD", password);
        }
        let output = command.args(["status", "nightly"]).output().expect("it can be started");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let url = format!("etcd://candidate@{host}/services");
    let (_, said) = status(&url, None);
    assert!(said.contains("TENURE_ETCD_PASSWORD is not set"), "{said}");
    let (refused, said) = status(&url, Some("wrong"));
    assert!(said.contains("does not accept the password"), "{said}");
    let (vacant, said) = status(&url, Some("s3cret"));
    assert_ne!(vacant, refused, "{said}");
    let file = etcd.place().folder().join("password");
    std::fs::write(&file, "s3cret\n").expect("it can be written");
    assert_eq!(status(&format!("{url}?password-file={}", file.display()), None).0, vacant);
    let (elsewhere, said) = status(&format!("etcd://candidate@{host}/other"), Some("s3cret"));
    assert_eq!(elsewhere, refused);
    assert!(said.contains("grant its role the prefix"), "{said}");
}
