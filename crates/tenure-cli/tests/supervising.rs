//! Commands that do not want to end, and everything that can be done to those who watch over them, at every level of containment.
//!
//! Each test is one scene at one level. Where a level cannot be had, the test is that tenure says so and refuses.

mod common;

use std::path::{Path, PathBuf};
use std::time::Duration;

use common::child::{self, no_two_at_once, spans};
use common::run::{LONG_LEASE, Run, TIMING, TTL};
use common::{LONG, SECOND, Scene, eventually};
use libtest_mimic::{Arguments, Failed, Trial};
use rustix::process::{Pid, Signal, kill_process};

const LEVELS: [&str; 4] = ["pid-namespace", "cgroup", "subreaper", "process-group"];

type Case = fn(&str);

/// What is done at every level.
const CASES: &[(&str, Case)] = &[
    ("a_steady_command_of_a_killed_supervisor_is_ended", |level| supervisor_killed(level, "steady")),
    ("a_stubborn_command_of_a_killed_supervisor_is_ended", |level| supervisor_killed(level, "stubborn")),
    ("a_forking_command_of_a_killed_supervisor_is_ended", |level| supervisor_killed(level, "forking")),
    ("a_frozen_command_of_a_killed_supervisor_is_ended", |level| supervisor_killed(level, "frozen")),
    ("a_frozen_and_stubborn_command_of_a_killed_supervisor_is_ended", |level| {
        supervisor_killed(level, "frozen-stubborn")
    }),
    ("a_flooding_command_of_a_killed_supervisor_is_ended", |level| supervisor_killed(level, "flooding")),
    ("a_killed_supervisor_takes_a_wild_tree_with_it", |level| supervisor_killed(level, "wild")),
    ("a_frozen_supervisor_loses_its_wild_tree_before_expiry", |level| supervisor_frozen(level, "wild")),
    ("a_killed_guardian_takes_a_wild_tree_with_it", guardian_killed),
    ("a_frozen_guardian_is_acted_for", guardian_frozen),
    ("a_frozen_guardian_hides_no_exit", guardian_frozen_at_exit),
    ("a_command_that_asks_for_nothing_better_is_handed_over_on_request", resigned),
    ("a_tree_that_outlives_its_command_keeps_the_office", outlived),
    ("the_exit_status_is_the_commands_own", exit_statuses),
    ("a_command_that_ends_at_once_is_told_of", told_of),
    ("a_command_that_closes_its_streams_is_watched_over", closed_streams),
    ("a_minimum_hold_outlives_its_supervisor", |level| held_on(level, "sleep 60", Signal::KILL)),
    ("a_minimum_hold_outlives_its_supervisor_also_without_a_command", |level| held_on(level, "", Signal::KILL)),
    ("a_minimum_hold_outlives_a_signal_to_its_supervisor", |level| held_on(level, "", Signal::TERM)),
    ("a_minimum_hold_does_not_bind_one_who_is_asked_to_go", asked_to_go),
    ("an_ignored_death_hides_no_exit", deaths_ignored),
    ("a_killed_guardian_spares_whoever_was_there_before", strangers_spared),
];

/// What is done wherever a command cannot leave its tree.
const DAEMONS: &[(&str, Case)] = &[
    ("a_daemonising_command_of_a_killed_supervisor_is_ended", |level| supervisor_killed(level, "daemonising")),
    ("a_killed_supervisor_takes_wild_daemons_with_it", |level| supervisor_killed(level, "wild-daemons")),
    ("a_frozen_supervisor_loses_its_wild_daemons_before_expiry", |level| supervisor_frozen(level, "wild-daemons")),
    ("a_daemon_is_ended_when_its_command_is_over", daemon_left),
];

fn main() {
    child::perhaps(&[]);
    let mut arguments = Arguments::from_args();
    // Most of their time they wait.
    arguments.test_threads = arguments.test_threads.or(Some(4));
    let mut trials = Vec::new();
    for level in LEVELS {
        for (name, case) in CASES {
            trials.push(trial(level, name, *case));
        }
        for (name, case) in DAEMONS.iter().filter(|_| level != "process-group") {
            trials.push(trial(level, name, *case));
        }
        trials.push(trial(level, "both_killed_at_once_leaves_what_the_page_says", both_killed));
    }
    trials.push(trial("cgroup", "no_control_group_is_left_behind", no_group_left));
    trials.push(trial("pid-namespace", "a_namespace_that_dies_while_waiting_is_replaced", namespace_killed));
    trials.push(trial("pid-namespace", "a_frozen_first_process_hides_no_exit", init_frozen_at_exit));
    for level in ["pid-namespace", "subreaper"] {
        let name = "a_guardian_that_was_frozen_at_an_exit_leaves_the_rest_its_grace";
        trials.push(trial(level, name, guardian_thawed_after_exit));
    }
    trials.push(trial("process-group", "a_daemon_that_left_the_group_is_told_of", escaped));
    trials.push(trial("pid-namespace", "both_frozen_at_once_overlap_until_thawed", both_frozen));
    trials.push(trial("subreaper", "both_frozen_at_once_overlap_until_thawed", both_frozen));
    libtest_mimic::run(&arguments, trials).exit();
}

fn trial(level: &'static str, name: &str, case: Case) -> Trial {
    Trial::test(format!("{level}::{name}"), move || {
        if is_offered(level)? {
            case(level);
        }
        Ok(())
    })
}

/// Whether this machine has the level; where it has not, it is refused in so many words.
fn is_offered(level: &str) -> Result<bool, Failed> {
    let scene = Scene::new();
    let mut run = Run::start(&scene, "probe", &["--containment", level], &["true"]);
    let status = run.ended();
    if status.success() {
        return Ok(true);
    }
    let exit = run.told("exit");
    let refused =
        status.code() == Some(64) && exit["message"].as_str().is_some_and(|why| why.contains("cannot be had"));
    if refused { Ok(false) } else { Err(format!("{level} is neither offered nor refused: {exit}").into()) }
}

/// One leads with such a command, another waits with a steady one.
fn two(scene: &Scene, level: &str, behaviour: &str) -> (Run, Run) {
    two_with(scene, level, behaviour, &TIMING)
}

fn two_with(scene: &Scene, level: &str, behaviour: &str, timing: &[&str]) -> (Run, Run) {
    let command = child::command(behaviour);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let flags = [&["--containment", level], timing].concat();
    let leader = Run::start(scene, "leader", &flags, &command);
    leader.told("command-started");
    eventually("a sign of life", LONG, || (!spans(scene).is_empty()).then_some(()));
    let steady = child::command("steady");
    let waiting = Run::start(scene, "waiting", &flags, &steady.iter().map(String::as_str).collect::<Vec<_>>());
    waiting.told("waiting");
    // A tree needs a moment to grow.
    std::thread::sleep(Duration::from_millis(150));
    child::let_end(scene);
    (leader, waiting)
}

/// The one who waited leads, nothing of the first tree lives any more, and never did both.
#[track_caller]
fn succeeded(scene: &Scene, successor: &mut Run) {
    successor.told("command-started");
    eventually("a sign of life of the successor", LONG, || (spans(scene).len() == 2).then_some(()));
    std::thread::sleep(Duration::from_millis(100));
    no_two_at_once(scene);
    assert_eq!(scene.left_running().len(), 1, "only the successor's command runs");
    successor.signal(Signal::TERM);
    successor.ends_with(143, "command");
    assert!(scene.left_running().is_empty(), "nothing is left");
}

fn supervisor_killed(level: &str, behaviour: &str) {
    let scene = Scene::new();
    let (mut leader, mut waiting) = two_with(&scene, level, behaviour, &LONG_LEASE);
    let begin = std::time::Instant::now();
    leader.signal(Signal::KILL);
    leader.ended();
    waiting.told("elected");
    // The guardian gave the office up at once; nobody waited for a deadline, let alone a lease.
    assert!(begin.elapsed() < SECOND * 4, "it took {:?}", begin.elapsed());
    succeeded(&scene, &mut waiting);
}

fn supervisor_frozen(level: &str, behaviour: &str) {
    let scene = Scene::new();
    let (mut leader, mut waiting) = two(&scene, level, behaviour);
    leader.signal(Signal::STOP);
    succeeded(&scene, &mut waiting);
    leader.signal(Signal::CONT);
    leader.ends_with(75, "leadership-lost");
}

fn guardian_killed(level: &str) {
    let scene = Scene::new();
    let (mut leader, mut waiting) = two(&scene, level, "wild");
    kill_process(leader.guardian(), Signal::KILL).expect("it is there");
    leader.ends_with(70, "internal");
    succeeded(&scene, &mut waiting);
}

/// A command must not run outside of the namespace that was announced for it.
fn namespace_killed(level: &str) {
    let scene = Scene::new();
    let flags = [&["--containment", level], &TIMING[..]].concat();
    let mut leader = Run::start(&scene, "leader", &flags, &["sleep", "60"]);
    leader.told("command-started");
    let script = "[ $$ -lt 10 ]";
    let mut waiting = Run::start(&scene, "waiting", &flags, &["sh", "-c", script]);
    waiting.told("waiting");
    let first = waiting.guardian();
    let init = waiting.below(first).expect("the first process of the namespace");
    kill_process(init, Signal::KILL).expect("it is there");
    eventually("another guardian", LONG, || waiting.guardian_now().filter(|pid| *pid != first));
    leader.signal(Signal::TERM);
    leader.ends_with(143, "command");
    waiting.ends_with(0, "command");
}

fn guardian_frozen(level: &str) {
    let scene = Scene::new();
    let (mut leader, mut waiting) = two(&scene, level, "wild");
    kill_process(leader.guardian(), Signal::STOP).expect("it is there");
    ask_to_resign(&scene);
    leader.ends_with(75, "leadership-lost");
    succeeded(&scene, &mut waiting);
}

fn guardian_frozen_at_exit(level: &str) {
    let scene = Scene::new();
    let flags = [&["--containment", level], &TIMING[..]].concat();
    let mut run = Run::start(&scene, "leader", &flags, &["sh", "-c", "sleep 0.5; exit 5"]);
    run.told("command-started");
    kill_process(run.guardian(), Signal::STOP).expect("it is there");
    // In a namespace only its first process knows the status, and that tells it to the guardian.
    if level == "pid-namespace" {
        run.ends_with(70, "internal")
    } else {
        run.ends_with(5, "command")
    }
    assert!(scene.left_running().is_empty());
}

/// What a command left behind has its grace also if the guardian was frozen, for less than it takes to be given up as such.
fn guardian_thawed_after_exit(level: &str) {
    let spared = || {
        let scene = Scene::new();
        let ready = scene.path("ready");
        let left = "trap 'sleep 3; echo > $WARD_FOLDER/ready; exit' TERM; while :; do sleep 0.05; done";
        let command = format!("({left}) & sleep 0.5; exit 5");
        let flags = ["--containment", level, "--ttl", "40s", "--grace", "10s"];
        let mut run = Run::start(&scene, "leader", &flags, &["sh", "-c", &command]);
        run.told("command-started");
        let guardian = run.guardian();
        let commanded = run.told("command-started")["pid"].as_i64().expect("a number");
        kill_process(guardian, Signal::STOP).expect("it is there");
        let stat = format!("/proc/{commanded}/stat");
        eventually("its end", LONG, || {
            let stat = std::fs::read_to_string(&stat).unwrap_or_default();
            (stat.is_empty() || stat.contains(") Z ")).then_some(())
        });
        // The supervisor looks once a second, and waits two for the guardian then.
        std::thread::sleep(Duration::from_millis(1300));
        let is_thawed = kill_process(guardian, Signal::CONT).is_ok();
        run.ended();
        is_thawed && ready.exists()
    };
    // On a busy machine it may be thawed too late, and is killed before.
    assert!((0..5).any(|_| spared()), "what is left is killed, whatever its grace");
}

/// A first process of a namespace that is frozen: it alone can wait for the command.
fn init_frozen_at_exit(level: &str) {
    let scene = Scene::new();
    let flags = [&["--containment", level], &TIMING[..]].concat();
    let mut run = Run::start(&scene, "leader", &flags, &["sh", "-c", "sleep 0.5; exit 5"]);
    run.told("command-started");
    let init = run.below(run.guardian()).expect("the first process of the namespace");
    kill_process(init, Signal::STOP).expect("it is there");
    run.ends_with(70, "internal");
    assert!(scene.left_running().is_empty());
}

/// A shell that has started something already, and then becomes tenure.
fn strangers_spared(level: &str) {
    let scene = Scene::new();
    let orphan = scene.path("orphan");
    // A child with a child of its own, and one that leaves an orphan behind, which falls to tenure.
    let script =
        format!("(sleep 61; true) & (sleep 1; sh -c 'sleep 62 & echo $! > {}') & exec \"$@\"", orphan.display());
    let flags = [&["--containment", level], &TIMING[..]].concat();
    let mut run = Run::start_from(&scene, "one", &script, &flags, &["sh", "-c", "sleep 63"]);
    run.told("command-started");
    let orphan = eventually("an orphan", LONG, || std::fs::read_to_string(&orphan).ok()?.trim().parse::<i32>().ok());
    let is_ours = || {
        let stat = std::fs::read_to_string(format!("/proc/{orphan}/stat")).ok()?;
        (stat.rsplit_once(") ")?.1.split(' ').nth(1)? == run.pid().to_string()).then_some(())
    };
    eventually("the orphan falls to tenure", LONG, is_ours);
    // It looks around once a second.
    std::thread::sleep(SECOND * 2);
    kill_process(run.guardian(), Signal::KILL).expect("it is there");
    run.ends_with(70, "internal");
    let names: Vec<String> = scene.left_running().into_iter().filter_map(command_line).collect();
    let has = |seconds: &str| names.iter().any(|name| *name == format!("sleep {seconds}"));
    assert!(has("61") && has("62") && !has("63"), "{names:?}");
}

fn command_line(pid: Pid) -> Option<String> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
    Some(line.trim_end_matches('\0').replace('\0', " "))
}

fn resigned(level: &str) {
    let scene = Scene::new();
    let (mut leader, mut waiting) = two(&scene, level, "steady");
    ask_to_resign(&scene);
    leader.ends_with(75, "leadership-lost");
    succeeded(&scene, &mut waiting);
}

/// The office is held for its minimum, and then handed over: neither after the kill margin nor after the lease.
fn held_on(level: &str, command: &str, signal: Signal) {
    const MINIMUM: Duration = Duration::from_secs(4);
    let scene = Scene::new();
    let flags = [&["--containment", level], &LONG_LEASE[..]].concat();
    let before = std::time::Instant::now();
    let leader_flags = [&flags[..], &["--at-least", "4s"]].concat();
    let mut leader = Run::start(&scene, "leader", &leader_flags, &["sh", "-c", command]);
    leader.told(if command.is_empty() { "holding" } else { "command-started" });
    let waiting = Run::start(&scene, "waiting", &flags, &["true"]);
    waiting.told("waiting");
    leader.signal(signal);
    leader.ended();
    assert!(leader.event("resigned").is_none(), "nobody waits for the minimum who was told to go");
    waiting.told("elected");
    let took = before.elapsed();
    assert!(took >= MINIMUM && took < MINIMUM * 4, "it took {took:?}");
}

fn asked_to_go(level: &str) {
    let scene = Scene::new();
    // With the next renewal, in a third of the lease; nobody waits for the whole of it.
    let flags = [&["--containment", level], &LONG_LEASE[..]].concat();
    let mut leader = Run::start(&scene, "leader", &[&flags[..], &["--at-least", "10m"]].concat(), &["sleep", "60"]);
    leader.told("command-started");
    let mut waiting = Run::start(&scene, "waiting", &flags, &["true"]);
    waiting.told("waiting");
    ask_to_resign(&scene);
    waiting.ends_with(0, "command");
    leader.ends_with(75, "leadership-lost");
}

/// A parent that ignores SIGCHLD hands that down, and then the kernel tells nobody how a child has ended.
fn deaths_ignored(level: &str) {
    let scene = Scene::new();
    let mut run =
        Run::start_by("--ignore-signal=CHLD", &scene, "one", &["--containment", level], &["sh", "-c", "exit 3"]);
    run.ends_with(3, "command");
}

fn outlived(level: &str) {
    let scene = Scene::new();
    let (mut leader, mut waiting) = two(&scene, level, "leaving-one");
    leader.ends_with(0, "command");
    succeeded(&scene, &mut waiting);
}

fn daemon_left(level: &str) {
    let scene = Scene::new();
    let (mut leader, mut waiting) = two(&scene, level, "daemon-only");
    leader.ends_with(0, "command");
    succeeded(&scene, &mut waiting);
}

/// What leaves its process group is beyond that level; the page says so, and so does tenure.
fn escaped(level: &str) {
    let scene = Scene::new();
    let (mut leader, waiting) = two(&scene, level, "daemon-only");
    leader.ends_with(0, "command");
    leader.told("escaped");
    let begin = std::time::Instant::now();
    waiting.told("command-started");
    assert!(begin.elapsed() > TTL / 2, "the office was not given up; its lease ran out");
    assert!(scene.left_running().len() > 1, "the daemon still runs");
}

/// The kernel ends a namespace with its guardian. Elsewhere only the command dies, and what it started lives on.
fn both_killed(level: &str) {
    let scene = Scene::new();
    // The kernel kills the namespace: no deadline has to come for that.
    let timing = if level == "pid-namespace" { &LONG_LEASE } else { &TIMING };
    let (mut leader, waiting) = two_with(&scene, level, "forking", timing);
    let guardian = leader.guardian();
    let begin = std::time::Instant::now();
    // Both stopped first, so that neither can act on the other's death.
    for pid in [leader.pid(), guardian] {
        kill_process(pid, Signal::STOP).expect("it is there");
    }
    for pid in [leader.pid(), guardian] {
        kill_process(pid, Signal::KILL).expect("it is there");
    }
    leader.ended();
    waiting.told("command-started");
    let took = begin.elapsed();
    if level == "pid-namespace" {
        eventually("the tree is dead", SECOND * 2, || (scene.left_running().len() == 1).then_some(()));
        no_two_at_once(&scene);
        // The liveness lock proves the death: only the time to die is waited for.
        assert!(took < SECOND * 4, "it took {took:?}");
    } else {
        assert!(took > TTL / 2, "the lease was waited for, and not {took:?}");
        assert!(scene.left_running().len() > 1, "what the command started lives on");
    }
    drop((waiting, scene));
    // Nobody is left to remove it.
    if let Some(group) = (level == "cgroup").then(|| group_of(guardian)).flatten() {
        eventually("it is empty", LONG, || std::fs::remove_dir(&group).ok());
    }
}

/// Nobody is left to act. The page says so; the token is what refuses the late one.
fn both_frozen(level: &str) {
    let scene = Scene::new();
    let (mut leader, waiting) = two(&scene, level, "steady");
    let guardian = leader.guardian();
    for pid in [leader.pid(), guardian] {
        kill_process(pid, Signal::STOP).expect("it is there");
    }
    waiting.told("command-started");
    eventually("both beat", LONG, || {
        let spans = spans(&scene);
        (spans.len() == 2 && spans[0].last > spans[1].first).then_some(())
    });
    let spans = spans(&scene);
    assert!(spans[0].token < spans[1].token, "the token tells the late one");
    kill_process(guardian, Signal::CONT).expect("it is there");
    eventually("the first command is dead", SECOND * 2, || (scene.left_running().len() == 1).then_some(()));
    leader.signal(Signal::CONT);
    leader.ends_with(75, "leadership-lost");
}

/// However short its life was, it is told that it began.
fn told_of(level: &str) {
    let scene = Scene::new();
    for _ in 0..40 {
        let mut run = Run::start(&scene, "one", &["--containment", level], &["true"]);
        run.ends_with(0, "command");
        let started = run.event("command-started");
        assert!(started.is_some_and(|event| event["pid"].as_i64() > Some(1)), "{:#?}", run.events());
    }
}

fn exit_statuses(level: &str) {
    let scene = Scene::new();
    for (script, code) in
        [("exit 0", 0), ("exit 3", 3), ("kill -TERM $$", 143), ("kill -KILL $$", 137), ("kill -SEGV $$", 139)]
    {
        let mut run = Run::start(&scene, "one", &["--containment", level], &["sh", "-c", script]);
        run.ends_with(code, "command");
    }
    assert!(scene.left_running().is_empty());
}

fn closed_streams(level: &str) {
    let scene = Scene::new();
    let program = child::command("steady");
    let script = format!("exec 0<&- 1>&- 2>&-; exec {} {} {}", program[0], program[1], program[2]);
    let flags = [&["--containment", level], &TIMING[..]].concat();
    let mut run = Run::start(&scene, "one", &flags, &["sh", "-c", &script]);
    eventually("a sign of life", LONG, || (!spans(&scene).is_empty()).then_some(()));
    // Longer than one lease: it is renewed.
    std::thread::sleep(TTL + Duration::from_millis(500));
    assert_eq!(scene.left_running().len(), 1);
    run.signal(Signal::TERM);
    run.ends_with(143, "command");
    assert!(scene.left_running().is_empty());
}

/// Groups are named after their guardian: none of ours may be there when that is gone.
fn no_group_left(level: &str) {
    let flags = [&["--containment", level], &TIMING[..]].concat();
    let left = |guardian: Pid| group_of(guardian).is_some();
    // After a command, after waiting in vain, and after the guardian was killed while there was nothing to guard.
    let scene = Scene::new();
    let mut leader = Run::start(&scene, "leader", &flags, &["sleep", "60"]);
    leader.told("command-started");
    let mut waiting = Run::start(&scene, "waiting", &flags, &["true"]);
    waiting.told("waiting");
    let (first, second) = (leader.guardian(), waiting.guardian());
    assert!(left(first) && left(second), "they are there while they are of use");
    kill_process(second, Signal::KILL).expect("it is there");
    let third = eventually("another guardian", LONG, || waiting.guardian_now().filter(|pid| *pid != second));
    eventually("another group", LONG, || left(third).then_some(()));
    waiting.signal(Signal::TERM);
    waiting.ends_with(143, "signal");
    leader.signal(Signal::TERM);
    leader.ends_with(143, "command");
    for guardian in [first, second, third] {
        eventually("its group is gone", LONG, || (!left(guardian)).then_some(()));
    }
}

fn group_of(guardian: Pid) -> Option<PathBuf> {
    fn below(folder: &Path, name: &str) -> Option<PathBuf> {
        let folders = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
        folders.into_iter().find_map(|path| {
            let is_it = path.file_name().is_some_and(|found| found.to_string_lossy().starts_with(name));
            if is_it { Some(path) } else { below(&path, name) }
        })
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("/proc is there");
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 ")).expect("the level is offered");
    below(Path::new(mount.split(' ').nth(4)?), &format!("tenure-{guardian}-"))
}

fn ask_to_resign(scene: &Scene) {
    let asked = std::process::Command::new(common::TENURE)
        .args(["resign", "--backend", &scene.backend(), "--max-wait", "10s", "office"])
        .output()
        .expect("tenure can be started");
    assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
}
