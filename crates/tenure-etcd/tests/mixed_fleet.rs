//! One election among three kinds of candidates: ours, `etcdctl elect`, and a Go program on etcd's `concurrency.Election`. Fifty changes of
//! leadership, by resignations and by SIGKILL, and never two leaders at once.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use tenure::Election;
use tenure_etcd::EtcdBackend;
use testbed::Trials;
use testbed::etcd::{Etcd, missing};
use testbed::tools;

const CHANGES: usize = 50;
const ELECTION: &str = "mixed";
/// Short, so that whoever was killed is soon succeeded.
const LEASE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(90);
/// Set for a process that is to be a candidate of ours.
const ROLE: &str = "TENURE_MIXED_FLEET_URL";

fn main() {
    if let Ok(url) = std::env::var(ROLE) {
        return candidate(&url);
    }
    let missing = missing().or_else(|| tools::ETCD_PEER.missing());
    Trials::new().needing(missing, "fifty_changes_among_three_kinds_of_candidates_never_two_at_once", contest).main()
}

/// A candidate of ours in a process of its own: says when it leads and when no longer, and resigns when it is told.
fn candidate(url: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be had");
    runtime.block_on(async {
        let backend = EtcdBackend::new(url).expect("the testbed's own address");
        let election = Election::new(backend, ELECTION).expect("it is a name");
        let candidate = election.candidate("ours").lease(LEASE).build().expect("it is safe");
        let tenure = candidate.campaign().await.expect("it is elected some day");
        println!("elected {}", tenure.token().expect("etcd has tokens"));
        let told = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
        tokio::select! {
            _ = told => tenure.resign().await.expect("etcd confirms it"),
            () = tenure.cancellation().cancelled_owned() => println!("lost"),
        }
        println!("resigned");
    });
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Ours,
    Etcdctl,
    Go,
}

struct Candidate {
    kind: Kind,
    process: Child,
    input: ChildStdin,
}

/// What a candidate said, and when we heard it.
struct Said {
    number: usize,
    line: String,
    at: Instant,
}

fn start(kind: Kind, number: usize, etcd: &Etcd, said: &Sender<Said>) -> Candidate {
    let address = etcd.address().to_string();
    let mut command = match kind {
        Kind::Ours => {
            let mut command = Command::new(std::env::current_exe().expect("a test program has a path"));
            command.env(ROLE, etcd.url());
            command
        }
        Kind::Etcdctl => {
            let mut command = Command::new(tools::ETCD.find("etcdctl").expect("it is installed"));
            command.args(["--endpoints", &address, "elect", ELECTION, "by-etcdctl"]);
            command
        }
        Kind::Go => {
            let mut command = Command::new(tools::ETCD_PEER.find("peer").expect("it is installed"));
            command.args([&address, ELECTION, "by-go", &LEASE.as_secs().to_string()]);
            command
        }
    };
    let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it can be started");
    let mut input = process.stdin.take().expect("it is piped");
    if kind == Kind::Go {
        writeln!(input, "campaign").expect("it listens");
    }
    let (output, said) = (process.stdout.take().expect("it is piped"), said.clone());
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let _ = said.send(Said { number, line, at: Instant::now() });
        }
    });
    Candidate { kind, process, input }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

struct Fleet {
    etcd: Etcd,
    candidates: HashMap<usize, Candidate>,
    started: usize,
    said: Receiver<Said>,
    say: Sender<Said>,
}

impl Fleet {
    fn enlist(&mut self, kind: Kind) {
        let candidate = start(kind, self.started, &self.etcd, &self.say);
        self.candidates.insert(self.started, candidate);
        self.started += 1;
    }

    /// Waits for the next one that says that it leads, and when it did.
    fn next_leader(&self) -> (usize, u64, Instant) {
        loop {
            let Said { number, line, at } = self.said.recv_timeout(PATIENCE).expect("somebody leads in time");
            let Some(candidate) = self.candidates.get(&number) else { continue };
            match (candidate.kind, line.split_once(' ')) {
                (Kind::Ours | Kind::Go, Some(("elected", told))) => {
                    let token = told.split(' ').next().unwrap_or_default();
                    return (number, token.parse().expect("a number"), at);
                }
                // It prints the key that it leads by.
                (Kind::Etcdctl, None) if line.starts_with(&format!("{ELECTION}/")) => {
                    return (number, self.create_revision(&line), at);
                }
                _ => {}
            }
        }
    }

    fn create_revision(&self, key: &str) -> u64 {
        let fields = self.etcd.ctl(&["get", key, "-w", "fields"]).expect("etcdctl works");
        let found = fields.lines().find_map(|line| line.strip_prefix("\"CreateRevision\" : "));
        found.unwrap_or_else(|| panic!("there is no {key}: {fields}")).parse().expect("a number")
    }

    /// The leader goes; from when on it does not lead.
    fn end(&mut self, number: usize, kill: bool) -> Instant {
        let mut leader = self.candidates.remove(&number).expect("it runs");
        let ended = Instant::now();
        match (leader.kind, kill) {
            (Kind::Etcdctl, true) => {
                // Its lease is a minute, and cannot be chosen: an operator ends it.
                let (_, key) = self.etcd_leader();
                leader.process.kill().expect("it runs");
                let _ = leader.process.wait();
                let lease = key.rsplit('/').next().unwrap_or_default().to_owned();
                self.etcd.ctl(&["lease", "revoke", &lease]).expect("etcdctl works");
            }
            (_, true) => leader.process.kill().expect("it runs"),
            (Kind::Etcdctl, false) => {
                let process = rustix::process::Pid::from_child(&leader.process);
                rustix::process::kill_process(process, rustix::process::Signal::INT).expect("it runs");
                let _ = leader.process.wait();
            }
            (Kind::Go, false) => writeln!(leader.input, "resign").expect("it listens"),
            (Kind::Ours, false) => writeln!(leader.input).expect("it listens"),
        }
        if !kill && leader.kind != Kind::Etcdctl {
            // Until it has said so it may end its work; then it goes.
            loop {
                let said = self.said.recv_timeout(PATIENCE).expect("it says so");
                match said {
                    Said { number: by, line, .. } if by == number && line.starts_with("resigned") => break,
                    // Its successor may be heard first.
                    other if other.number != number => {
                        self.say.send(other).expect("we listen");
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    _ => {}
                }
            }
        }
        ended
    }

    fn etcd_leader(&self) -> (String, String) {
        let first = ["get", "--prefix", "--sort-by=CREATE", "--order=ASCEND", "--limit=1", &format!("{ELECTION}/")];
        let found = self.etcd.ctl(&first).expect("etcdctl works");
        let (key, value) = found.split_once('\n').unwrap_or((&found, ""));
        (value.to_owned(), key.to_owned())
    }
}

/// The issue of it: I1 and I2 among programs that know nothing of each other.
fn contest() {
    let seed =
        std::env::var("TENURE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(|| fastrand::u64(..));
    println!("TENURE_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let (say, said) = mpsc::channel();
    let etcd = Etcd::start().expect("etcd starts");
    let mut fleet = Fleet { etcd, candidates: HashMap::new(), started: 0, said, say };
    for kind in [Kind::Ours, Kind::Etcdctl, Kind::Go, Kind::Ours, Kind::Etcdctl, Kind::Go] {
        fleet.enlist(kind);
    }
    let (mut ended, mut highest, mut kills) = (Instant::now(), 0, 0);
    let mut led: HashMap<Kind, usize> = HashMap::new();
    for change in 0..CHANGES {
        let (leader, token, at) = fleet.next_leader();
        let kind = fleet.candidates[&leader].kind;
        assert!(at >= ended, "change {change}: {kind:?} led before the last one had ended");
        assert!(token > highest, "change {change}: the token of {kind:?} went from {highest} to {token}");
        highest = token;
        *led.entry(kind).or_default() += 1;
        // While it leads nobody else does, and everybody who looks sees the same.
        let (value, key) = fleet.etcd_leader();
        assert_eq!(fleet.create_revision(&key), token, "change {change}: etcd knows another leader: {value}");
        std::thread::sleep(Duration::from_millis(random.u64(10..200)));
        if let Ok(second) = fleet.said.try_recv()
            && fleet.candidates.contains_key(&second.number)
            && (second.line.starts_with("elected") || second.line.starts_with(&format!("{ELECTION}/")))
        {
            panic!("change {change}: {} says `{}` while {leader} leads", second.number, second.line);
        }
        let kill = random.bool();
        kills += usize::from(kill);
        ended = fleet.end(leader, kill);
        fleet.enlist(kind);
    }
    println!("{CHANGES} changes, {kills} by SIGKILL: {led:?}");
    assert!(led.len() == 3, "one kind never led: {led:?}");
}
