//! How long nobody runs the command when the leading `tenure run` is killed or asked to resign, beside `flock`(1); how long it takes to start, and
//! what it weighs.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tenure::{BootClock, Clock};

use crate::Failure;
use crate::distribution::Distribution;

const PATIENCE: Duration = Duration::from_secs(30);
const LEASE: &str = "10s";

pub(crate) fn run(rounds: usize) -> Result<(), Failure> {
    println!("tenure run on the file backend, lease {LEASE}; the command dies of SIGTERM\n");
    let folder = Folder::new()?;
    let limit = Distribution::new(flocks(&folder, rounds)?, "ms");
    println!("  flock(1): killed, another's command runs       {limit}");
    let killed = Distribution::new(kills(&folder, rounds)?, "ms");
    println!("  supervisor killed, another's command runs      {killed}");
    let resigned = Distribution::new(resignations(&folder, rounds)?, "ms");
    println!("  tenure resign, another's command runs          {resigned}");
    let (stands, stood) = starts(&folder, rounds)?;
    println!("  started, first attempt begins                  {}", Distribution::new(stands, "ms"));
    println!("  started, first attempt is in the store         {}\n", Distribution::new(stood, "ms"));
    println!(
        "  beyond flock(1), at p50: killed {:.1} ms, resigned {:.1} ms",
        killed.median() - limit.median(),
        resigned.median() - limit.median()
    );
    weight(&folder)
}

/// What the measured command does: it says when it began, and sleeps.
pub(crate) fn child(starts: &str) -> Result<(), Failure> {
    let now = BootClock.now().as_nanos();
    let mut file = OpenOptions::new().create(true).append(true).open(starts)?;
    file.write_all(format!("{now}\n").as_bytes())?;
    thread::sleep(Duration::from_secs(600));
    Ok(())
}

fn kills(folder: &Folder, rounds: usize) -> Result<Vec<f64>, Failure> {
    let place = folder.fresh("kills")?;
    let mut leader = Supervisor::start(&place, "leader")?;
    leader.until("command-started")?;
    let mut samples = Vec::new();
    for round in 0..rounds {
        let next = Supervisor::start(&place, &format!("next-{round}"))?;
        next.until("waiting")?;
        let command = leader.command()?;
        let known = place.starts();
        let begin = BootClock.now().as_nanos();
        leader.process.kill()?;
        let started = place.started_after(known)?;
        if Path::new(&format!("/proc/{command}/cwd")).read_link().is_ok() {
            return Err(format!("the command {command} of the killed supervisor still runs").into());
        }
        samples.push((started - begin) as f64 / 1e6);
        next.until("command-started")?;
        leader = next;
    }
    Ok(samples)
}

fn resignations(folder: &Folder, rounds: usize) -> Result<Vec<f64>, Failure> {
    let place = folder.fresh("resignations")?;
    let both = [Supervisor::start(&place, "one")?, Supervisor::start(&place, "other")?];
    place.started_after(0)?;
    let mut samples = Vec::new();
    for _ in 0..rounds {
        // Whoever resigned sits out before it runs again.
        thread::sleep(Duration::from_millis(150));
        let known = place.starts();
        let begin = BootClock.now().as_nanos();
        let mut resign = Command::new(tenure()?);
        let asked = resign.args(["resign", "--backend", &place.backend(), "office"]).stdout(Stdio::null()).status()?;
        if !asked.success() {
            return Err("tenure resign failed".into());
        }
        samples.push((place.started_after(known)? - begin) as f64 / 1e6);
    }
    drop(both);
    Ok(samples)
}

fn flocks(folder: &Folder, rounds: usize) -> Result<Vec<f64>, Failure> {
    let place = folder.fresh("flock")?;
    let start = || -> Result<Child, Failure> {
        let mut flock = Command::new("flock");
        // Without a child of its own, so that killing it is enough.
        flock.args(["--no-fork".as_ref(), place.folder.join("lock").as_os_str()]);
        flock.arg(std::env::current_exe()?).arg("run-child").arg(place.folder.join("starts"));
        Ok(flock.spawn()?)
    };
    let mut holder = start()?;
    place.started_after(0)?;
    let mut samples = Vec::new();
    for _ in 0..rounds {
        let next = start()?;
        thread::sleep(Duration::from_millis(20));
        let known = place.starts();
        let begin = BootClock.now().as_nanos();
        holder.kill()?;
        samples.push((place.started_after(known)? - begin) as f64 / 1e6);
        holder.wait()?;
        holder = next;
    }
    holder.kill()?;
    holder.wait()?;
    Ok(samples)
}

/// From the start of the process to the event that says that it runs for the office, and to a record in the store that is on disk.
fn starts(folder: &Folder, rounds: usize) -> Result<(Vec<f64>, Vec<f64>), Failure> {
    let (mut stands, mut stood) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let place = folder.fresh(&format!("start-{round}"))?;
        let begin = Instant::now();
        let supervisor = Supervisor::start(&place, "one")?;
        let told = || fs::metadata(&supervisor.events).is_ok_and(|file| file.len() > 0);
        stands.push(after(begin, told)?);
        stood.push(after(begin, || place.folder.join("backend/office.json").exists())?);
    }
    Ok((stands, stood))
}

/// The milliseconds since then until something holds.
fn after(begin: Instant, mut holds: impl FnMut() -> bool) -> Result<f64, Failure> {
    while !holds() {
        if begin.elapsed() > PATIENCE {
            return Err("no attempt was made".into());
        }
        thread::sleep(Duration::from_micros(50));
    }
    Ok(begin.elapsed().as_secs_f64() * 1e3)
}

/// The resident memory of a run that waits: what is its own (private), and what it shares with others of the same binary counted in part.
fn weight(folder: &Folder) -> Result<(), Failure> {
    let place = folder.fresh("weight")?;
    let leader = Supervisor::start(&place, "one")?;
    leader.until("command-started")?;
    let waiting = Supervisor::start(&place, "other")?;
    waiting.until("waiting")?;
    thread::sleep(Duration::from_millis(200));
    println!("\n  resident memory of a run that waits, in KiB      all   in part   own");
    let pid = Pid::from_child(&waiting.process);
    let mut list = vec![("supervisor", pid)];
    let guardian = children(pid).into_iter().next().ok_or("no guardian")?;
    list.push(("guardian", guardian));
    list.extend(children(guardian).into_iter().map(|init| ("first of the namespace", init)));
    for (name, pid) in list {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
        let field = |name: &str| -> u64 {
            let lines = rollup.lines().filter(|line| line.starts_with(name));
            lines.filter_map(|line| line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()).sum()
        };
        println!("    {name:<40} {:>9} {:>9} {:>5}", field("Rss:"), field("Pss:"), field("Private_"));
    }
    Ok(())
}

/// A folder that is removed with everything in it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self, Failure> {
        let path = std::env::temp_dir().join(format!("tenure-bench-run-{}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }

    fn fresh(&self, name: &str) -> Result<Place, Failure> {
        let folder = self.0.join(name);
        fs::create_dir_all(&folder)?;
        Ok(Place { folder })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A backend, and a file in which commands say when they began.
struct Place {
    folder: PathBuf,
}

impl Place {
    fn backend(&self) -> String {
        format!("file:{}", self.folder.join("backend").display())
    }

    fn starts(&self) -> usize {
        self.lines().len()
    }

    fn lines(&self) -> Vec<u64> {
        let text = fs::read_to_string(self.folder.join("starts")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// When the first command began that is not among those known.
    fn started_after(&self, known: usize) -> Result<u64, Failure> {
        let begin = Instant::now();
        loop {
            if let Some(started) = self.lines().get(known) {
                return Ok(*started);
            }
            if begin.elapsed() > PATIENCE {
                return Err("no command was started".into());
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// One `tenure run`; dropping it kills it, and its guardian sees to the rest.
struct Supervisor {
    process: Child,
    events: PathBuf,
}

impl Supervisor {
    fn start(place: &Place, id: &str) -> Result<Self, Failure> {
        let events = place.folder.join(format!("events-{id}"));
        let mut process = Command::new(tenure()?);
        process.args(["run", "--backend", &place.backend(), "--id", id, "--ttl", LEASE, "--retry", "100ms"]);
        process.args(["--after-loss", "campaign", "--die-with-parent"]).arg(format!("--json={}", events.display()));
        process.args(["office", "--"]).arg(std::env::current_exe()?).arg("run-child").arg(place.folder.join("starts"));
        process.stdin(Stdio::null()).stderr(Stdio::null());
        Ok(Supervisor { process: process.spawn()?, events })
    }

    fn until(&self, event: &str) -> Result<String, Failure> {
        let begin = Instant::now();
        loop {
            let text = fs::read_to_string(&self.events).unwrap_or_default();
            if let Some(line) = text.lines().rev().find(|line| line.contains(&format!("\"event\":\"{event}\""))) {
                return Ok(line.to_owned());
            }
            if begin.elapsed() > PATIENCE {
                return Err(format!("no `{event}` in: {text}").into());
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn command(&self) -> Result<Pid, Failure> {
        let line = self.until("command-started")?;
        let (_, rest) = line.split_once("\"pid\":").ok_or("no number")?;
        let pid: i32 = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default().parse()?;
        Pid::from_raw(pid).ok_or_else(|| "no number".into())
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.process), Signal::KILL);
        let _ = self.process.wait();
    }
}

fn children(of: Pid) -> Vec<Pid> {
    let list = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    list.split_ascii_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
}

fn tenure() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe()?.with_file_name("tenure");
    if program.exists() {
        Ok(program)
    } else {
        Err(format!("{} is missing: run `cargo build --release -p tenure-cli` first", program.display()).into())
    }
}
