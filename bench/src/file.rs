//! How long nobody leads when a leading *process* is killed or resigns, on the file backend, beside one fsync and `flock`(1).

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use tenure::backend::FileBackend;
use tenure::{BootClock, Clock, Election};

use crate::Failure;
use crate::distribution::Distribution;

const LEASE: Duration = Duration::from_secs(10);
/// In this time a candidate that has just started stands, subscribes and looks once more.
const TO_ARM: Duration = Duration::from_millis(150);

pub(crate) fn run(rounds: usize) -> Result<(), Failure> {
    println!(
        "From the death or the resignation of a leading process to the next one's campaign() returning: file backend, lease 10 s\n"
    );
    let folder = Folder::new()?;
    let (killed, mut syncs) = kills(&folder, rounds)?;
    let (resigned, more) = resignations(&folder, rounds)?;
    syncs.extend(more);
    let limit = flocks(&folder, rounds)?;
    let (killed, resigned) = (Distribution::new(killed, "ms"), Distribution::new(resigned, "ms"));
    let (syncs, limit) = (Distribution::new(syncs, "ms"), Distribution::new(limit, "ms"));
    println!("  one fsync of a page here           {syncs}");
    println!("  flock(1): killed, another has it   {limit}");
    println!("  killed, another leads              {killed}");
    println!("  resigned, another leads            {resigned}\n");
    println!(
        "  resigned, at p99, as a multiple of one fsync: {:.1} × its p50, {:.1} × its p99",
        resigned.quantile(0.99) / syncs.median(),
        resigned.quantile(0.99) / syncs.quantile(0.99)
    );
    println!(
        "  killed, of which contenders wait by rule: {:.0} ms; beyond that at p50 {:.1} ms, flock(1) {:.1} ms",
        wait_by_rule(),
        killed.median() - wait_by_rule(),
        limit.median()
    );
    Ok(())
}

fn wait_by_rule() -> f64 {
    tenure::backend::file::WorkEnds::OF_A_PROCESS.as_secs_f64() * 1e3
}

type Samples = Result<(Vec<f64>, Vec<f64>), Failure>;

fn kills(folder: &Folder, rounds: usize) -> Samples {
    let (mut samples, mut syncs) = (Vec::new(), Vec::new());
    let mut leader = Candidate::start(folder)?;
    leader.leads()?;
    for _ in 0..rounds {
        let mut next = Candidate::start(folder)?;
        std::thread::sleep(TO_ARM);
        syncs.push(folder.sync()?);
        let start = BootClock.now().as_nanos();
        leader.child.kill()?;
        samples.push((next.leads()? - start) as f64 / 1e6);
        leader.child.wait()?;
        leader = next;
    }
    leader.child.kill()?;
    leader.child.wait()?;
    Ok((samples, syncs))
}

fn resignations(folder: &Folder, rounds: usize) -> Samples {
    let (mut samples, mut syncs) = (Vec::new(), Vec::new());
    let mut leader = Candidate::start(folder)?;
    leader.leads()?;
    let mut next = Candidate::start(folder)?;
    for _ in 0..rounds {
        std::thread::sleep(TO_ARM);
        syncs.push(folder.sync()?);
        leader.tell("resign")?;
        let start = leader.said("resigns ")?;
        samples.push((next.leads()? - start) as f64 / 1e6);
        // A new campaign does not sit out as one that goes on would, so it waits to be told.
        leader.tell("run again")?;
        std::mem::swap(&mut leader, &mut next);
    }
    for mut candidate in [leader, next] {
        candidate.child.kill()?;
        candidate.child.wait()?;
    }
    Ok((samples, syncs))
}

/// What the kernel alone needs: one `flock`(1) has the lock and is killed, another waits for it.
fn flocks(folder: &Folder, rounds: usize) -> Result<Vec<f64>, Failure> {
    let path = folder.path.join("flock");
    File::create(&path)?;
    let mut samples = Vec::new();
    for _ in 0..rounds {
        let mut holder = Command::new("flock").arg("--no-fork").arg(&path).args(["sleep", "60"]).spawn()?;
        while File::open(&path)?.try_lock().is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut waiter = Command::new("flock");
        let mut waiter = waiter.arg("--no-fork").arg(&path).args(["echo", "has it"]).stdout(Stdio::piped()).spawn()?;
        std::thread::sleep(Duration::from_millis(10));
        let mut output = BufReader::new(waiter.stdout.take().ok_or("its output is piped")?);
        let start = Instant::now();
        holder.kill()?;
        output.read_line(&mut String::new())?;
        samples.push(start.elapsed().as_secs_f64() * 1e3);
        holder.wait()?;
        waiter.wait()?;
    }
    Ok(samples)
}

/// A candidate in a process of its own: this program again.
struct Candidate {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Candidate {
    fn start(folder: &Folder) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("file-candidate").arg(&folder.path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let input = child.stdin.take().ok_or("its input is piped")?;
        let output = BufReader::new(child.stdout.take().ok_or("its output is piped")?);
        let mut candidate = Candidate { child, input, output };
        candidate.said("runs ")?;
        Ok(candidate)
    }

    /// When it began to lead.
    fn leads(&mut self) -> Result<u64, Failure> {
        self.said("leads ")
    }

    fn said(&mut self, what: &str) -> Result<u64, Failure> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let rest = line.trim().strip_prefix(what).ok_or_else(|| format!("{line:?} instead of {what:?}"))?;
        Ok(rest.parse()?)
    }

    fn tell(&mut self, what: &str) -> Result<(), Failure> {
        Ok(writeln!(self.input, "{what}")?)
    }
}

/// The process's part: leads, resigns when it is told to, and runs again.
pub(crate) fn candidate(directory: &str) -> Result<(), Failure> {
    let election = Election::new(FileBackend::new(directory)?, "office")?;
    let name = std::process::id().to_string();
    let candidate = election.candidate(&name).lease(LEASE).work_ends_with_process().build()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let say = |what: &str| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "{what} {}", BootClock.now().as_nanos()).and_then(|()| out.flush())
    };
    say("runs")?;
    let mut lines = std::io::stdin().lock().lines();
    loop {
        let tenure = runtime.block_on(candidate.campaign())?;
        say("leads")?;
        if lines.next().is_none() {
            return Ok(());
        }
        say("resigns")?;
        runtime.block_on(tenure.resign())?;
        if lines.next().is_none() {
            return Ok(());
        }
    }
}

/// A directory that goes with the measurement.
struct Folder {
    path: PathBuf,
    page: File,
}

impl Folder {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("tenure-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        let page = page(&path)?;
        Ok(Folder { path, page })
    }

    /// How long it takes to have one page on disk, in milliseconds.
    fn sync(&self) -> Result<f64, Failure> {
        let start = Instant::now();
        self.page.write_all_at(&[b'x'; 4096], 0)?;
        self.page.sync_data()?;
        Ok(start.elapsed().as_secs_f64() * 1e3)
    }
}

fn page(folder: &Path) -> Result<File, Failure> {
    let page = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(folder.join("page"))?;
    page.write_all_at(&[b'x'; 4096], 0)?;
    page.sync_all()?;
    Ok(page)
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
