//! Five supervisors, one office, and somebody who kills and freezes at random: never do two commands live at once, and no fenced write is lost.
//!
//! A slice of it runs with the other tests. All of it, from a seed of one's own:
//! `TENURE_CHAOS_SECONDS=60 TENURE_CHAOS_SEED=7 cargo test -p tenure-cli --test chaos -- --nocapture`

mod common;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use common::child::{self, Trail, no_two_at_once, spans};
use common::run::{Run, TIMING};
use common::{MARK, SECOND, Scene};
use fastrand::Rng;
use libtest_mimic::{Arguments, Trial};
use rustix::process::{Pid, Signal, kill_process};
use tenure::{Fence, FencingToken};

const SUPERVISORS: usize = 5;
const LEVELS: [&str; 4] = ["pid-namespace", "cgroup", "subreaper", "process-group"];

fn main() {
    child::perhaps(&[("registers", registers)]);
    let arguments = Arguments::from_args();
    let seconds = number("TENURE_CHAOS_SECONDS").unwrap_or(20);
    let seed = number("TENURE_CHAOS_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    let trial = Trial::test("two_never_live_at_once_whatever_is_killed_or_frozen", move || {
        chaos(Duration::from_secs(seconds), seed);
        Ok(())
    });
    libtest_mimic::run(&arguments, vec![trial]).exit();
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// One of the five, and who of it is frozen until when.
struct Post {
    run: Option<Run>,
    level: &'static str,
    back_at: Instant,
    frozen: Vec<(Pid, Instant)>,
}

fn chaos(span: Duration, seed: u64) {
    println!("chaos: {span:?} from seed {seed}; repeat it with TENURE_CHAOS_SEED={seed}");
    let scene = Scene::new();
    let mut random = Rng::with_seed(seed);
    let begin = Instant::now();
    let mut posts: Vec<Post> = (0..SUPERVISORS)
        .map(|number| Post { run: None, level: LEVELS[number % LEVELS.len()], back_at: begin, frozen: Vec::new() })
        .collect();
    let mut deeds: BTreeMap<&str, u32> = BTreeMap::new();
    while begin.elapsed() < span {
        for (number, post) in posts.iter_mut().enumerate() {
            post.keep(&scene, number);
        }
        // Half of it strikes whoever leads: there is more to break.
        let leader = posts.iter().position(|post| post.command(&scene).is_some());
        let number = leader.filter(|_| random.bool()).unwrap_or_else(|| random.usize(..SUPERVISORS));
        if let Some(deed) = posts[number].suffer(&scene, &mut random) {
            *deeds.entry(deed).or_default() += 1;
        }
        std::thread::sleep(Duration::from_millis(random.u64(20..250)));
    }
    for post in &mut posts {
        post.thaw(None);
    }
    for post in posts.iter_mut().filter_map(|post| post.run.as_mut()) {
        post.signal(Signal::TERM);
    }
    for mut run in posts.into_iter().filter_map(|post| post.run) {
        run.ended();
    }
    let tenures = spans(&scene);
    println!("chaos: {deeds:?}; {} tenures had a command that ran", tenures.len());
    let mut gaps: Vec<u64> =
        tenures.windows(2).map(|pair| pair[1].first.saturating_sub(pair[0].last) / 1_000_000).collect();
    gaps.sort_unstable();
    println!("chaos: nobody ran for {} ms in all; between two commands {gaps:?} ms", gaps.iter().sum::<u64>());
    no_two_at_once(&scene);
    assert!(scene.left_running().is_empty(), "nothing is left");
    let (fenced, lost) = register(&scene.path("fenced"));
    assert_eq!(lost, 0, "of {fenced} fenced writes");
    let (unfenced, unfenced_lost) = register(&scene.path("unfenced"));
    println!("chaos: {fenced} fenced writes, none lost; {unfenced} unfenced ones, {unfenced_lost} lost");
    // The fault must have bitten, and the office must have moved.
    assert!(deeds.values().sum::<u32>() >= 10, "{deeds:?}");
    assert!(tenures.len() as u64 >= span.as_secs() / 6, "{} tenures", tenures.len());
    assert!(fenced > 100, "{fenced} writes");
}

impl Post {
    /// Starts it again when it has ended and its pause is over, and thaws whoever has been frozen for long enough.
    fn keep(&mut self, scene: &Scene, number: usize) {
        self.thaw(Some(Instant::now()));
        if let Some(status) = self.run.as_mut().and_then(Run::has_ended) {
            self.run = None;
            if status.code() == Some(64) {
                // This machine does not offer it.
                self.level = "auto";
            }
        }
        if self.run.is_none() && Instant::now() >= self.back_at {
            let command = child::command("registers");
            // Two keep the office when their command has ended, and one for a while in any case: then a guardian outlives its tree.
            let on_exit = if number.is_multiple_of(2) { "campaign" } else { "restart" };
            let at_least = if number == 2 { "1s" } else { "0s" };
            let further = ["--after-loss", "campaign", "--on-exit", on_exit, "--at-least", at_least];
            let flags = [&["--containment", self.level][..], &further, &TIMING];
            let command: Vec<&str> = command.iter().map(String::as_str).collect();
            self.run = Some(Run::start(scene, &format!("post-{number}"), &flags.concat(), &command));
        }
    }

    fn command(&self, scene: &Scene) -> Option<Pid> {
        let run = self.run.as_ref()?;
        run.command_of(run.guardian_now()?, scene)
    }

    fn thaw(&mut self, before: Option<Instant>) {
        self.frozen.retain(|(pid, until)| {
            let over = before.is_none_or(|now| now >= *until);
            if over {
                // It may have been killed meanwhile, as it should be.
                let _ = kill_process(*pid, Signal::CONT);
            }
            !over
        });
    }

    /// Does one thing to it. Of supervisor and guardian only one is ever out of action: what happens otherwise is written on the page, and no
    /// invariant of this test.
    fn suffer(&mut self, scene: &Scene, random: &mut Rng) -> Option<&'static str> {
        let run = self.run.as_ref()?;
        let (supervisor, guardian) = (run.pid(), run.guardian_now()?);
        let command = run.command_of(guardian, scene);
        let is_frozen = |pid: Pid| self.frozen.iter().any(|(frozen, _)| *frozen == pid);
        let whole = !is_frozen(supervisor) && !is_frozen(guardian);
        let until = Instant::now() + Duration::from_millis(random.u64(50..6_000));
        match random.u8(..8) {
            0 | 1 if whole => {
                let _ = kill_process(supervisor, Signal::KILL);
                self.back_at = Instant::now() + Duration::from_millis(random.u64(..800));
                Some("supervisor killed")
            }
            2 if whole => {
                let _ = kill_process(guardian, Signal::KILL);
                Some("guardian killed")
            }
            3 | 4 if whole => self.freeze(supervisor, until, "supervisor frozen"),
            5 if whole => self.freeze(guardian, until, "guardian frozen"),
            6 => {
                let _ = kill_process(command?, Signal::KILL);
                Some("command killed")
            }
            7 => self.freeze(command?, until, "command frozen"),
            _ => None,
        }
    }

    fn freeze(&mut self, pid: Pid, until: Instant, deed: &'static str) -> Option<&'static str> {
        kill_process(pid, Signal::STOP).ok()?;
        self.frozen.push((pid, until));
        Some(deed)
    }
}

/// How many writes a register saw, and how many of them overwrote another: each says what it makes of what was read.
fn register(path: &Path) -> (usize, usize) {
    let text = fs::read_to_string(path).unwrap_or_default();
    let values: Vec<u64> = text.lines().filter_map(|line| line.split(' ').nth(1)?.parse().ok()).collect();
    let mut distinct = values.clone();
    distinct.sort_unstable();
    distinct.dedup();
    (values.len(), values.len() - distinct.len())
}

/// The command: reads both registers, takes a while, and writes one more than it read; the fenced one only as long as nobody newer was there.
fn registers() {
    let folder = std::env::var(MARK).expect("a child has a folder");
    let folder = Path::new(&folder);
    let token: FencingToken = std::env::var("TENURE_TOKEN").expect("a token").parse().expect("a number");
    let fence = Fence::in_file(folder.join("fence")).expect("a fence");
    if fence.raise(token).is_err() {
        return;
    }
    let mut trail = Trail::new();
    let (fenced, unfenced) = (folder.join("fenced"), folder.join("unfenced"));
    let begin = Instant::now();
    while begin.elapsed() < SECOND * 120 {
        trail.beat();
        let (one, other) = (value(&fenced), value(&unfenced));
        std::thread::sleep(Duration::from_millis(fastrand::u64(1..8)));
        if fence.admit(token, || append(&fenced, token, one + 1)).is_err() {
            return;
        }
        append(&unfenced, token, other + 1);
    }
}

fn value(register: &Path) -> u64 {
    let text = fs::read_to_string(register).unwrap_or_default();
    text.lines().last().and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap_or(0)
}

fn append(register: &Path, token: FencingToken, value: u64) {
    let file = OpenOptions::new().create(true).append(true).open(register);
    // In one write, so that a kill leaves a whole line or none.
    file.and_then(|mut file| file.write_all(format!("{token} {value}\n").as_bytes()))
        .expect("a register can be written");
}
