//! Eight processes contend for one office while they are killed and stopped at random. Seven are candidates; one is a Go program that knows
//! only the document of its package. What they believed they write down, and the histories are judged afterwards.
//!
//! `TENURE_CONTEST_SECONDS` (15) says for how long, `TENURE_CONTEST_SEED` repeats a choice of faults.

mod history;
mod register;
mod worker;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tenure::backend::{Backend, FileBackend, Sight, TenureId, Vacancy};
use tenure::{BootClock, Clock};

use self::history::Histories;
use self::register::Registers;
pub(crate) use self::worker::contestant;
use crate::file_tools::Scratch;
use crate::world::{ROLE, eventually, seat};

const CANDIDATES: usize = 7;
const LEASE: Duration = Duration::from_millis(1000);

/// The Go program, built once; nothing where there is no Go.
pub(crate) fn go() -> Option<()> {
    Command::new("go").arg("version").output().ok().filter(|output| output.status.success()).map(drop)
}

pub(crate) fn eight_processes_contend_under_kill_and_stop() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let seed = number("TENURE_CONTEST_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    let span = Duration::from_secs(number("TENURE_CONTEST_SECONDS").unwrap_or(15));
    println!("contest: TENURE_CONTEST_SEED={seed} TENURE_CONTEST_SECONDS={}", span.as_secs());
    let mut arena = Arena::new(seed);
    arena.trouble(span);
    arena.peace();
    arena.judge(span);
}

/// The directory, the processes in it, and who looks on.
struct Arena {
    scratch: Scratch,
    peer: PathBuf,
    registers: Registers,
    fighters: Vec<Fighter>,
    histories: Histories,
    chance: fastrand::Rng,
    looking: Arc<AtomicBool>,
    seen: Arc<Mutex<Vec<Sight>>>,
    looker: Option<std::thread::JoinHandle<()>>,
}

/// One of the eight, in its present life.
struct Fighter {
    child: Child,
    stopped_until: Option<Instant>,
    /// It was killed, and comes back then.
    dead_until: Option<Instant>,
}

impl Arena {
    fn new(seed: u64) -> Self {
        let scratch = Scratch::default();
        let peer = built(&scratch);
        let office = scratch.path().join("office");
        std::fs::create_dir(&office).expect("a directory");
        let (looking, seen) = (Arc::new(AtomicBool::new(true)), Arc::default());
        let looker = Some(look_on(&office, looking.clone(), Arc::clone(&seen)));
        let registers = Registers::serve(&scratch.path().join("registers"));
        let chance = fastrand::Rng::with_seed(seed);
        let histories = Histories::default();
        let fighters = Vec::new();
        let mut arena = Arena { scratch, peer, registers, fighters, histories, chance, looking, seen, looker };
        // The peer comes first, so that it leads at least once.
        let peer = arena.start(CANDIDATES);
        eventually(Duration::from_secs(10), "the peer leads", || arena.leader());
        arena.fighters = (0..CANDIDATES).map(|index| arena.start(index)).collect();
        arena.fighters.push(peer);
        arena
    }

    fn start(&mut self, index: usize) -> Fighter {
        let office = self.scratch.path().join("office");
        let history = self.histories.of(self.scratch.path(), index, index == CANDIDATES);
        let mut command = if index == CANDIDATES {
            let mut command = Command::new(&self.peer);
            // As a pod's, its name is that of one life.
            let name = format!("go-{}", self.histories.kills);
            command.arg(office.join("office.json")).args([&name, "1s", "300ms", "5ms"]).arg(&history);
            command
        } else {
            let mut command = Command::new(std::env::current_exe().expect("a file"));
            command.env(ROLE, "contestant").env("DIRECTORY", &office).env("NAME", format!("w{index}"));
            command.env("HISTORY", &history).env("REGISTERS", self.scratch.path().join("registers"));
            command.env("DECLARED", if index.is_multiple_of(2) { "yes" } else { "no" });
            command
        };
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it can be started");
        Fighter { child, stopped_until: None, dead_until: None }
    }

    /// Kills and stops, the leader as often as anybody else.
    fn trouble(&mut self, span: Duration) {
        let end = Instant::now() + span;
        while Instant::now() < end {
            std::thread::sleep(Duration::from_millis(self.chance.u64(20..250)));
            self.mend(Instant::now());
            let index = match self.leader().filter(|_| self.chance.bool()) {
                Some(leader) => leader,
                None => self.chance.usize(..=CANDIDATES),
            };
            let fighter = &mut self.fighters[index];
            if fighter.dead_until.is_some() || fighter.stopped_until.is_some() {
                continue;
            }
            // The document's peer knows no deadline: stopped, it would believe in its office for ever. It is waited for longer than it waits
            // for itself, so if it came back at once nobody else would ever lead.
            if index == CANDIDATES || self.chance.u8(..10) < 4 {
                let away = if index == CANDIDATES { 1200..2500 } else { 0..300 };
                self.fighters[index].dead_until = Some(Instant::now() + Duration::from_millis(self.chance.u64(away)));
                self.kill(index);
            } else {
                let span = Duration::from_millis(self.chance.u64(50..2500));
                self.fighters[index].stopped_until = Some(Instant::now() + span);
                self.signal(index, Signal::STOP);
                self.histories.stops += 1;
            }
        }
    }

    /// Faults end; a leader exists soon (I8).
    fn peace(&mut self) {
        for fighter in &mut self.fighters {
            fighter.stopped_until = fighter.stopped_until.map(|_| Instant::now());
            fighter.dead_until = fighter.dead_until.map(|_| Instant::now());
        }
        self.mend(Instant::now());
        let within = LEASE * 3 + Duration::from_secs(3);
        let backend = FileBackend::new(self.scratch.path().join("office")).expect("a directory");
        eventually(within, "somebody leads again", || {
            let sight = crate::world::wait(backend.inspect(&seat())).ok()?;
            sight.held().is_some().then_some(())
        });
        std::thread::sleep(LEASE);
        for index in 0..=CANDIDATES {
            self.kill(index);
        }
        self.histories.kills -= 1 + CANDIDATES;
        self.looking.store(false, Ordering::Relaxed);
        if let Some(looker) = self.looker.take() {
            looker.join().expect("it only looks");
        }
    }

    /// Those whose time it is go on, or live again.
    fn mend(&mut self, now: Instant) {
        for index in 0..self.fighters.len() {
            if self.fighters[index].dead_until.is_some_and(|until| until <= now) {
                self.fighters[index] = self.start(index);
            }
            if self.fighters[index].stopped_until.is_some_and(|until| until <= now) {
                self.fighters[index].stopped_until = None;
                self.signal(index, Signal::CONT);
            }
        }
    }

    fn kill(&mut self, index: usize) {
        // Read before the kill: whoever is waited for may be long dead by the time that this process runs again, and another may lead.
        let at = BootClock.now();
        let fighter = &mut self.fighters[index];
        let _ = fighter.child.kill();
        let _ = fighter.child.wait();
        fighter.stopped_until = None;
        self.histories.killed(index, at);
    }

    fn signal(&self, index: usize, signal: Signal) {
        let pid = Pid::from_raw(self.fighters[index].child.id() as i32).expect("a process has a number");
        let _ = kill_process(pid, signal);
    }

    /// Who was last seen to hold the office.
    fn leader(&self) -> Option<usize> {
        let seen = self.seen.lock().unwrap();
        let held = seen.last()?.held()?;
        match &*held.holder {
            name if name.starts_with("go-") => Some(CANDIDATES),
            name => name.strip_prefix('w')?.parse().ok(),
        }
    }

    fn judge(&mut self, span: Duration) {
        let tenures = self.histories.tenures();
        let seen = self.seen.lock().unwrap();
        assert_never_two(&tenures);
        assert_tokens_rise(&tenures);
        assert_records_succeed_each_other(&seen);
        self.histories.assert_nothing_else();
        let (fenced, unfenced) = (self.registers.fenced(), self.registers.unfenced());
        let of_go = tenures.iter().filter(|tenure| tenure.id.is_none()).count();
        println!(
            "contest: {} tenures ({of_go} of the Go peer), {} kills, {} stops; fenced: {fenced}; unfenced: {unfenced}",
            tenures.len(),
            self.histories.kills,
            self.histories.stops,
        );
        assert_eq!(fenced.lost(), 0, "I3: a fenced register loses nothing");
        // The faults have to bite, or nothing was shown.
        assert!(tenures.len() as u64 > span.as_secs() / 2, "hardly anybody led");
        if span >= Duration::from_secs(15) {
            assert!(unfenced.lost() > 0, "I3: the unfenced twin lost nothing, so the stops did not bite");
            assert!(fenced.refused > 0, "nobody came late");
            assert!(of_go > 0, "the Go peer never led");
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for fighter in &mut self.fighters {
            let _ = fighter.child.kill();
            let _ = fighter.child.wait();
        }
        self.looking.store(false, Ordering::Relaxed);
    }
}

/// Builds the Go program.
fn built(scratch: &Scratch) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/file-peer");
    let program = scratch.path().join("file-peer");
    let mut command = Command::new("go");
    command.args(["build", "-o"]).arg(&program).arg(".").current_dir(source);
    let built = command.output().expect("go can be run");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    program
}

/// An observer that writes down what it sees, whenever it is something else.
fn look_on(office: &Path, looking: Arc<AtomicBool>, seen: Arc<Mutex<Vec<Sight>>>) -> std::thread::JoinHandle<()> {
    let backend = FileBackend::new(office).expect("a directory").lock_timeout(Duration::from_millis(20));
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        while looking.load(Ordering::Relaxed) {
            if let Ok(sight) = runtime.block_on(backend.inspect(&seat())) {
                let mut seen = seen.lock().unwrap();
                if seen.last() != Some(&sight) {
                    seen.push(sight);
                }
            }
            std::thread::sleep(Duration::from_micros(500));
        }
    })
}

/// A tenure as its holder believed in it.
#[derive(Clone, Debug)]
pub(crate) struct Believed {
    who: String,
    /// None for the Go peer.
    id: Option<TenureId>,
    token: Option<u64>,
    from: u64,
    until: u64,
}

/// I1: beliefs, grace included, never overlap.
fn assert_never_two(tenures: &[Believed]) {
    for pair in tenures.windows(2) {
        let [one, other] = pair else { unreachable!("windows of two") };
        assert!(other.from >= one.until, "I1: {} and {} led at once: {pair:#?}", one.who, other.who);
    }
}

/// I2: tokens rise strictly and are never used twice. I7: no tenure begins twice.
fn assert_tokens_rise(tenures: &[Believed]) {
    let tokens: Vec<_> = tenures.iter().filter_map(|tenure| tenure.token).collect();
    assert!(tokens.windows(2).all(|pair| pair[0] < pair[1]), "I2: {tokens:?}");
    let mut ids: Vec<_> = tenures.iter().filter_map(|tenure| tenure.id).collect();
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all, "I7: a tenure began twice");
}

/// I6: a tenure that was succeeded is never seen again, and gives nothing up. I10: tokens never go back.
fn assert_records_succeed_each_other(seen: &[Sight]) {
    let mut past: Vec<TenureId> = Vec::new();
    let mut present: Option<TenureId> = None;
    let mut highest = 0;
    for sight in seen {
        match sight {
            Sight::Held(held) => {
                let token = held.token.unwrap_or(highest);
                assert!(token >= highest, "I10: {token} was seen after {highest}");
                highest = token;
                if held.tenure != present {
                    past.extend(present);
                    present = held.tenure;
                }
                assert!(held.tenure.is_none_or(|tenure| !past.contains(&tenure)), "I6: {held:?} came back");
            }
            Sight::Vacant(Vacancy::Released { by }) => {
                assert!(!past.contains(by), "I6: {by} gave up what was not its own any more");
            }
            Sight::Vacant(_) => {}
        }
    }
    assert!(seen.len() > 10, "hardly anything was seen");
}
