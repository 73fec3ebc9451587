//! At a terminal: the command can use it, a key reaches the command once, and a shell's job control works.

mod common;

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::{LONG, MARK, Scene, TENURE, eventually};
use libtest_mimic::{Arguments, Trial};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// The first argument that makes this program whoever sits at a terminal.
const ROLE: &str = "__at_terminal";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|role| role == ROLE) {
        sit_down(&arguments[2], &arguments[3..]);
    }
    let cases: &[(&str, fn())] = &[
        ("a_key_reaches_the_command_once", a_key_reaches_the_command_once),
        ("a_command_that_ends_at_once_has_left_nothing", a_command_that_ends_at_once_has_left_nothing),
        ("a_shell_under_tenure_has_a_usable_terminal", a_shell_under_tenure_has_a_usable_terminal),
        ("a_job_is_stopped_and_goes_on", a_job_is_stopped_and_goes_on),
        ("a_job_in_the_background_does_not_take_the_terminal", a_job_in_the_background_does_not_take_the_terminal),
        (
            "a_pipe_keeps_the_terminal_and_keys_still_reach_the_command",
            a_pipe_keeps_the_terminal_and_keys_still_reach_the_command,
        ),
        ("the_terminal_is_given_back", the_terminal_is_given_back),
        ("a_terminal_that_is_closed_ends_the_run", a_terminal_that_is_closed_ends_the_run),
        ("the_demo_shows_who_leads_and_obeys_keys", the_demo_shows_who_leads_and_obeys_keys),
    ];
    let trial = |(name, case): &(&str, fn())| {
        let case = *case;
        Trial::test(*name, move || {
            case();
            Ok(())
        })
    };
    let trials = cases.iter().map(trial).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Becomes a session of its own with this terminal, and then the program.
fn sit_down(terminal: &str, program: &[String]) -> ! {
    rustix::process::setsid().expect("no group leader");
    // The first terminal that a session's leader opens is its own.
    let terminal = OpenOptions::new().read(true).write(true).open(terminal).expect("a terminal");
    rustix::stdio::dup2_stdin(&terminal).expect("it can be put in place");
    rustix::stdio::dup2_stdout(&terminal).expect("it can be put in place");
    rustix::stdio::dup2_stderr(&terminal).expect("it can be put in place");
    drop(terminal);
    let error = Command::new(&program[0]).args(&program[1..]).exec();
    panic!("{program:?} cannot be executed: {error}");
}

/// A terminal, a program at it, and what the screen showed so far.
struct Screen {
    keys: File,
    shown: Arc<Mutex<String>>,
    process: Child,
    scene: Scene,
}

impl Screen {
    fn with(program: &[&str]) -> Screen {
        let scene = Scene::new();
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&master).expect("it can be had");
        unlockpt(&master).expect("it can be had");
        let terminal = ptsname(&master, Vec::new()).expect("it has a name").into_string().expect("UTF-8");
        // A terminal's programs begin with every signal as it is by default, whatever this process was started to ignore.
        let mut process = Command::new("env");
        process.arg("--default-signal").arg(std::env::current_exe().expect("a path"));
        process.args([ROLE, &terminal]).args(program);
        process.env(MARK, &scene.folder).env("PS1", "ready> ").env("TENURE_BACKEND", scene.backend());
        process.env("TENURE", TENURE).env("TERM", "dumb").env("FOLDER", &scene.folder).env_remove("PROMPT_COMMAND");
        let process = process.stdin(Stdio::null()).spawn().expect("it starts");
        let keys = File::from(master);
        let mut screen = keys.try_clone().expect("a second descriptor");
        let shown: Arc<Mutex<String>> = Arc::default();
        let seen = shown.clone();
        thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut chunk) {
                seen.lock().unwrap().push_str(&String::from_utf8_lossy(&chunk[..length]));
            }
        });
        Screen { keys, shown, process, scene }
    }

    /// An interactive shell with job control.
    fn shell() -> Screen {
        let mut screen = Screen::with(&["bash", "--norc", "--noprofile", "-i"]);
        screen.shows("ready> ");
        screen.types("PS1='ok''> '\n");
        screen.shows("ok> ");
        screen
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("it takes keys");
    }

    /// Waits until the screen shows this, and forgets everything up to it.
    #[track_caller]
    fn shows(&mut self, text: &str) {
        let begin = std::time::Instant::now();
        loop {
            let mut shown = self.shown.lock().unwrap();
            if let Some(at) = shown.find(text) {
                shown.drain(..at + text.len());
                return;
            }
            assert!(begin.elapsed() < LONG, "`{text}` is never shown, only: {shown}");
            drop(shown);
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Whether somebody hears the keys along with the command: in another process group than its parent's.
    fn has_ear(&self) -> bool {
        let family = |pid: &str| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(1).map(str::to_owned);
            Some((fields.next()?, fields.next()?))
        };
        let mut ears =
            self.scene.marked().into_iter().filter(|pid| common::run::role(*pid).as_deref() == Some("__ear"));
        ears.any(|ear| {
            let group_of_parent = |(parent, group): (String, String)| Some((group, family(&parent)?.1));
            family(&ear.to_string()).and_then(group_of_parent).is_some_and(|(own, parents)| own != parents)
        })
    }

    #[track_caller]
    fn ends_with(&mut self, code: i32) {
        let status = eventually("its end", LONG, || self.process.try_wait().expect("it can be waited for"));
        assert_eq!(status.code(), Some(code), "{}", self.shown.lock().unwrap());
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn a_key_reaches_the_command_once() {
    let script =
        "trap 'echo heard INT' INT; echo waiting; n=0; while [ $n -lt 200 ]; do n=$((n+1)); sleep 0.02; done; exit 9";
    let mut screen = Screen::with(&[TENURE, "run", "office", "--", "bash", "-c", script]);
    screen.shows("waiting");
    screen.types("\u{3}");
    screen.shows("heard INT");
    thread::sleep(Duration::from_millis(300));
    assert!(!screen.shown.lock().unwrap().contains("heard"), "once");
    screen.ends_with(9);
    // One that does not handle it dies of it, and so does the run: as a shell would have it.
    let mut screen = Screen::with(&[TENURE, "run", "--on-exit", "restart", "office", "--", "sleep", "60"]);
    screen.shows("leading office");
    thread::sleep(Duration::from_millis(300));
    screen.types("\u{3}");
    screen.ends_with(130);
    assert!(screen.scene.left_running().is_empty());
    // One that handles it and ends as if of its own accord is not started again either.
    for level in ["pid-namespace", "cgroup", "subreaper", "process-group"] {
        let script = "trap 'exit 3' INT; echo runs; while :; do sleep 0.02; done";
        let mut screen = Screen::with(&[
            TENURE,
            "run",
            "--containment",
            level,
            "--on-exit",
            "restart",
            "office",
            "--",
            "sh",
            "-c",
            script,
        ]);
        let is_offered = eventually("it runs, or is refused", LONG, || {
            let shown = screen.shown.lock().unwrap();
            if shown.contains("cannot be had") { Some(false) } else { shown.contains("runs\r").then_some(true) }
        });
        if is_offered {
            eventually("an ear", LONG, || screen.has_ear().then_some(()));
            screen.types("\u{3}");
            screen.ends_with(3);
            assert!(screen.scene.marked().is_empty(), "nothing is left");
        }
    }
}

/// Whoever hears the keys for it must not be taken for something of the command that has left its process group.
fn a_command_that_ends_at_once_has_left_nothing() {
    let script = "echo run >> $FOLDER/runs";
    let flags = ["--containment", "process-group", "--on-exit", "campaign", "--retry", "50ms"];
    let program = [&[TENURE, "run"], &flags[..], &["office", "--", "sh", "-c", script]].concat();
    let mut screen = Screen::with(&program);
    eventually("thirty runs", LONG, || {
        let ended = screen.process.try_wait().expect("it can be waited for");
        assert!(ended.is_none(), "it has ended: {}", screen.shown.lock().unwrap());
        let runs = fs::read_to_string(screen.scene.path("runs")).unwrap_or_default();
        (runs.lines().count() >= 30).then_some(())
    });
}

fn a_shell_under_tenure_has_a_usable_terminal() {
    let mut screen = Screen::with(&[TENURE, "run", "office", "--", "bash", "--norc", "--noprofile", "-i"]);
    screen.shows("ready> ");
    // It reads lines, has job control, and can stop and resume a job of its own.
    screen.types("echo to''ken $TENURE_TOKEN; tty; sleep 60\n");
    screen.shows("token ");
    screen.shows("/dev/");
    thread::sleep(Duration::from_millis(300));
    screen.types("\u{1a}");
    screen.shows("Stopped");
    screen.types("kill %1; exit 4\n");
    thread::sleep(Duration::from_millis(100));
    screen.types("exit 4\n");
    screen.ends_with(4);
    assert!(!screen.shown.lock().unwrap().contains("no job control"));
}

fn a_job_is_stopped_and_goes_on() {
    let mut screen = Screen::shell();
    screen.types("$TENURE run office -- sh -c 'echo runs; read line; echo got $line; exit 5'; echo status $?\n");
    screen.shows("runs\r");
    screen.types("\u{1a}");
    screen.shows("Stopped");
    screen.shows("ok> ");
    // The shell has its terminal, and the job waits.
    screen.types("echo the shell is he''re\n");
    screen.shows("the shell is here");
    screen.types("fg\n");
    thread::sleep(Duration::from_millis(300));
    screen.types("hello\n");
    screen.shows("got hello");
    screen.shows("ok> ");
    screen.types("exit\n");
}

fn a_job_in_the_background_does_not_take_the_terminal() {
    let mut screen = Screen::shell();
    screen.types("$TENURE run office -- sh -c 'echo runs > $FOLDER/runs; sleep 60' &\n");
    let runs = screen.scene.path("runs");
    eventually("the job runs", LONG, || fs::exists(&runs).ok().filter(|there| *there));
    screen.types("echo still mi''ne\n");
    screen.shows("still mine");
    screen.types("kill %1; wait %1; echo sta''tus $?\n");
    screen.shows("status 143");
    screen.types("exit\n");
}

fn the_terminal_is_given_back() {
    let mut screen = Screen::shell();
    screen.types("$TENURE run office -- true; echo af''ter $?\n");
    screen.shows("after 0");
    // Also when the command was killed, and also when the supervisor was.
    screen.types("$TENURE run office -- sh -c 'kill -9 $$'; echo af''ter $?\n");
    screen.shows("after 137");
    let supervisor = "$(cut -d\" \" -f4 /proc/$PPID/stat)";
    screen.types(&format!("$TENURE run --containment subreaper office -- sh -c 'kill -9 {supervisor}; sleep 60'\n"));
    screen.shows("Killed");
    screen.shows("ok> ");
    screen.types("echo all mi''ne\n");
    screen.shows("all mine");
    screen.types("exit\n");
}

fn a_terminal_that_is_closed_ends_the_run() {
    let mut screen = Screen::shell();
    // It ends by itself, as daemons do; started again it would run on where nobody sees it.
    let script = "trap \"exit 0\" HUP; echo runs; while :; do sleep 0.02; done";
    screen.types(&format!("$TENURE run --on-exit restart office -- sh -c '{script}'\n"));
    screen.shows("runs\r");
    screen.process.kill().expect("the shell is there");
    eventually("nothing is left", LONG, || screen.scene.marked().is_empty().then_some(()));
}

fn a_pipe_keeps_the_terminal_and_keys_still_reach_the_command() {
    let mut screen = Screen::shell();
    // The other end of the pipe dies of the key too, so that the command tells a file.
    let script = "trap \"echo heard >> $FOLDER/heard; exit 6\" INT; echo runs; while :; do sleep 0.02; done";
    screen.types(&format!("$TENURE run office -- sh -c '{script}' | cat\n"));
    screen.shows("runs\r");
    screen.types("\u{3}");
    screen.shows("ok> ");
    let heard = screen.scene.path("heard");
    eventually("the key is heard", LONG, || fs::exists(&heard).ok().filter(|there| *there));
    assert_eq!(fs::read_to_string(heard).expect("it is there"), "heard\n", "once");
    screen.types("exit\n");
}

fn the_demo_shows_who_leads_and_obeys_keys() {
    let mut screen = Screen::with(&[TENURE, "demo"]);
    screen.shows("leading");
    screen.shows("until the deadline");
    screen.shows("█");
    thread::sleep(Duration::from_millis(500));
    screen.types("k");
    screen.shows("was killed");
    // With what fills its column: the deadline is something else. Only then can it be started again, and only a leader be frozen.
    screen.shows("dead ");
    screen.shows("leading");
    screen.types("s");
    screen.shows("started again");
    screen.types("f");
    screen.shows("is frozen");
    screen.shows("frozen ");
    screen.types("t");
    screen.shows("are thawed");
    screen.types("q");
    screen.ends_with(0);
    assert!(screen.scene.marked().is_empty(), "nothing is left running");
}
