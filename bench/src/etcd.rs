//! How long nobody leads when a leader on etcd resigns or dies, beside Go's `concurrency.Election` and what etcd itself needs.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use tenure::{BootClock, Clock, Election};
use tenure_etcd::EtcdBackend;
use testbed::etcd::Etcd;
use testbed::tools;

use crate::Failure;
use crate::distribution::Distribution;

/// The shortest that etcd grants with its usual timing.
const LEASE: Duration = Duration::from_secs(2);
/// In this time a candidate that has just started stands, subscribes and looks once more.
const TO_ARM: Duration = Duration::from_millis(250);
/// Crashes take a lease each.
const CRASHES: usize = 20;

pub(crate) fn run(rounds: usize) -> Result<(), Failure> {
    println!(
        "From a resignation to the next one's election being announced: processes of their own on one etcd that waits for its disk\n"
    );
    let etcd = Etcd::with().durable().start()?;
    let limit = Distribution::new(commit_and_push(&etcd, rounds)?, "ms");
    let go = Distribution::new(handovers(rounds, || Peer::go(&etcd))?, "ms");
    let ours = Distribution::new(handovers(rounds, || Peer::ours(&etcd))?, "ms");
    let go_again = Distribution::new(handovers(rounds, || Peer::go(&etcd))?, "ms");
    println!("  one commit and its push             {limit}");
    println!("  Go's concurrency.Election           {go}");
    println!("  tenure                              {ours}");
    println!("  Go's concurrency.Election again     {go_again}\n");
    for (name, one) in [("tenure", &ours), ("Go", &go)] {
        println!(
            "  {name}: {:.1} × the limit at p50, {:.1} × at p99",
            one.median() / limit.median(),
            one.quantile(0.99) / limit.quantile(0.99)
        );
    }
    println!("\nFrom SIGKILL of the leading process to the next one's election, lease {LEASE:?}, {CRASHES} times\n");
    println!("  Go's concurrency.Election           {}", Distribution::new(crashes(|| Peer::go(&etcd))?, "s"));
    println!("  tenure                              {}", Distribution::new(crashes(|| Peer::ours(&etcd))?, "s"));
    Ok(())
}

/// What nobody can do without: a deletion is committed, and another process that watches the key is told.
fn commit_and_push(etcd: &Etcd, rounds: usize) -> Result<Vec<f64>, Failure> {
    let (mut watcher, mut deleter) = (Peer::start(peer(etcd, "one")?, "watch")?, Peer::start(peer(etcd, "two")?, "")?);
    let mut samples = Vec::new();
    for _ in 0..rounds {
        watcher.runs()?;
        watcher.said("armed ")?;
        std::thread::sleep(TO_ARM);
        deleter.tell("delete")?;
        let start = deleter.said("deletes ")?;
        samples.push(watcher.said("pushed ")?.saturating_sub(start) as f64 / 1e6);
    }
    Ok(samples)
}

fn handovers(rounds: usize, start: impl Fn() -> Result<Peer, Failure>) -> Result<Vec<f64>, Failure> {
    let mut samples = Vec::new();
    let (mut leader, mut next) = (start()?, start()?);
    leader.runs()?;
    leader.said("elected ")?;
    for _ in 0..rounds {
        next.runs()?;
        std::thread::sleep(TO_ARM);
        leader.tell("resign")?;
        let start = leader.said("resigns ")?;
        samples.push(next.said("elected ")?.saturating_sub(start) as f64 / 1e6);
        leader.said("resigned ")?;
        std::mem::swap(&mut leader, &mut next);
    }
    Ok(samples)
}

fn crashes(start: impl Fn() -> Result<Peer, Failure>) -> Result<Vec<f64>, Failure> {
    let mut samples = Vec::new();
    let mut leader = start()?;
    leader.runs()?;
    leader.said("elected ")?;
    for _ in 0..CRASHES {
        let mut next = start()?;
        next.runs()?;
        std::thread::sleep(TO_ARM + LEASE / 4);
        let killed = Instant::now();
        leader.process.kill()?;
        next.said("elected ")?;
        samples.push(killed.elapsed().as_secs_f64());
        leader = next;
    }
    Ok(samples)
}

fn peer(etcd: &Etcd, name: &str) -> Result<Command, Failure> {
    let mut command = Command::new(tools::ETCD_PEER.find("peer")?);
    command.args([&etcd.address().to_string(), "bench-go", name, &LEASE.as_secs().to_string()]);
    Ok(command)
}

/// A candidate in a process of its own. What it says ends with the boot clock in ns, or a time in ns.
struct Peer {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    campaign: &'static str,
}

impl Peer {
    fn go(etcd: &Etcd) -> Result<Self, Failure> {
        Peer::start(peer(etcd, "one")?, "campaign")
    }

    fn ours(etcd: &Etcd) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["etcd-candidate", &etcd.url()]);
        Peer::start(command, "campaign")
    }

    fn start(mut command: Command, campaign: &'static str) -> Result<Self, Failure> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = process.stdin.take().ok_or("its input is piped")?;
        let output = BufReader::new(process.stdout.take().ok_or("its output is piped")?);
        Ok(Peer { process, input, output, campaign })
    }

    fn runs(&mut self) -> Result<(), Failure> {
        self.tell(self.campaign)
    }

    fn tell(&mut self, word: &str) -> Result<(), Failure> {
        Ok(writeln!(self.input, "{word}")?)
    }

    /// Waits for this, and returns the number at the end of the line.
    fn said(&mut self, what: &str) -> Result<u64, Failure> {
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err(format!("a candidate ended before it said `{what}`").into());
            }
            if let Some(rest) = line.strip_prefix(what) {
                return Ok(rest.split_whitespace().last().unwrap_or_default().parse()?);
            }
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A candidate of ours, told what to do line by line.
pub(crate) fn candidate(url: &str) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let election = Election::new(EtcdBackend::new(url)?, "bench-ours")?;
    let say = |word: &str| println!("{word} {}", BootClock.now().as_nanos());
    let mut tenure = None;
    for line in std::io::stdin().lock().lines() {
        match line?.as_str() {
            "campaign" => {
                let candidate = election.candidate("one").lease(LEASE).build()?;
                tenure = Some(runtime.block_on(candidate.campaign())?);
                say("elected");
            }
            "resign" => {
                let tenure = tenure.take().ok_or("it does not lead")?;
                say("resigns");
                runtime.block_on(tenure.resign())?;
                say("resigned");
            }
            other => return Err(format!("unknown word `{other}`").into()),
        }
    }
    Ok(())
}
