//! What a server that is owned can be made to do, and that nothing of it outlives its owner.
//!
//! The server is this program again, in another role: it answers every line with all lines that it was ever sent.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testbed::{Failure, Folder, Place, Program, Server, Trials};

const ROLE: &str = "TENURE_TESTBED_ROLE";

fn main() {
    match std::env::var(ROLE).as_deref() {
        Ok("remember") => remember(),
        Ok("own") => own(),
        _ => Trials::new()
            .test("a_killed_server_starts_again_at_the_same_place", a_killed_server_starts_again_at_the_same_place)
            .test("a_frozen_server_accepts_and_does_not_answer", a_frozen_server_accepts_and_does_not_answer)
            .test("a_wiped_server_forgets_and_a_restored_one_remembers", wiped_and_restored)
            .test("a_server_that_fails_shows_its_log", a_server_that_fails_shows_its_log)
            .test("a_port_that_was_taken_meanwhile_is_replaced", a_port_that_was_taken_meanwhile_is_replaced)
            .test("nothing_is_left_after_a_drop", nothing_is_left_after_a_drop)
            .test("nothing_is_left_after_a_panic", nothing_is_left_after_a_panic)
            .test("nothing_is_left_after_the_owner_was_killed", || nothing_is_left_after("KILL"))
            .test("nothing_is_left_after_ctrl_c", || nothing_is_left_after("INT"))
            .main(),
    }
}

/// The server: its port and the file that it remembers in are its arguments. It has a child, as servers do.
fn remember() {
    let arguments: Vec<_> = std::env::args().collect();
    let _child = Command::new("sleep").arg("600").spawn();
    let listener = match TcpListener::bind(("127.0.0.1", arguments[1].parse().unwrap())) {
        Ok(listener) => listener,
        Err(error) => return println!("it failed: {error}"),
    };
    println!("listening");
    for client in listener.incoming().flatten() {
        let mut answers = client.try_clone().unwrap();
        for line in BufReader::new(client).lines().map_while(Result::ok) {
            let mut file = OpenOptions::new().create(true).append(true).read(true).open(&arguments[2]).unwrap();
            file.write_all(format!("{line} ").as_bytes()).unwrap();
            let all = std::fs::read_to_string(&arguments[2]).unwrap();
            let _ = writeln!(answers, "{all}");
        }
    }
}

/// An owner that says what it has, and waits to be ended.
fn own() {
    let (one, other) = (start(), start());
    other.freeze().unwrap();
    let folder = Folder::new("other").unwrap();
    for server in [&one, &other] {
        println!("{} {}", server.pid().unwrap(), server.place().folder().display());
    }
    println!("0 {}", folder.path().display());
    println!("that is all");
    std::thread::sleep(Duration::from_secs(600));
}

struct Memory {
    /// Listens on the port of the first start before the server can.
    in_the_way: std::sync::Mutex<Option<TcpListener>>,
    blocked: bool,
}

impl Program for Memory {
    fn name(&self) -> &str {
        "memory"
    }

    fn prepare(&self, place: &Place) -> Result<(), Failure> {
        let mut in_the_way = self.in_the_way.lock().unwrap();
        if self.blocked && in_the_way.is_none() {
            *in_the_way = Some(TcpListener::bind(place.address(0))?);
        }
        Ok(())
    }

    fn command(&self, place: &Place) -> Result<Command, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env(ROLE, "remember").arg(place.port(0).to_string()).arg(place.data().join("lines"));
        Ok(command)
    }

    /// Not by connecting: somebody else may listen there.
    fn is_ready(&self, place: &Place) -> bool {
        place.log().contains("listening")
    }
}

fn start() -> Server {
    Server::start(Memory { in_the_way: Default::default(), blocked: false }).expect("it starts")
}

fn say(server: &Server, line: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(server.address())?;
    stream.set_read_timeout(Some(Duration::from_millis(300)))?;
    writeln!(stream, "{line}")?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}

fn a_killed_server_starts_again_at_the_same_place() {
    let mut server = start();
    let address = server.address();
    assert_eq!(say(&server, "a").unwrap(), "a");
    server.kill();
    assert!(!server.is_running() && server.pid().is_none());
    assert!(say(&server, "lost").is_err());
    assert!(server.freeze().unwrap_err().to_string().contains("memory is down"));
    server.restart().unwrap();
    assert_eq!(server.address(), address);
    assert_eq!(say(&server, "b").unwrap(), "a b");
    server.stop().unwrap();
    assert!(!server.is_running());
    server.restart().unwrap();
    assert_eq!(say(&server, "c").unwrap(), "a b c");
}

fn a_frozen_server_accepts_and_does_not_answer() {
    let mut server = start();
    server.freeze().unwrap();
    let refused = say(&server, "a").unwrap_err().kind();
    assert!(matches!(refused, std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut), "{refused}");
    assert!(server.is_running());
    server.thaw().unwrap();
    assert!(say(&server, "b").unwrap().contains('b'));
    server.freeze().unwrap();
    server.stop().expect("a frozen one can be stopped too");
}

fn wiped_and_restored() {
    let mut server = start();
    say(&server, "a").unwrap();
    let backup = server.save().unwrap();
    say(&server, "b").unwrap();
    assert!(server.restore(&backup).is_err(), "it has to be down");
    server.kill();
    server.restore(&backup).unwrap();
    server.restart().unwrap();
    assert_eq!(say(&server, "c").unwrap(), "a c");
    assert!(server.wipe().is_err(), "it has to be down");
    server.kill();
    server.wipe().unwrap();
    server.restart().unwrap();
    assert_eq!(say(&server, "d").unwrap(), "d");
}

struct Broken;

impl Program for Broken {
    fn name(&self) -> &str {
        "broken"
    }

    fn command(&self, _: &Place) -> Result<Command, Failure> {
        let mut command = Command::new("sh");
        command.args(["-c", "echo the disk is full; exit 3"]);
        Ok(command)
    }

    fn is_ready(&self, _: &Place) -> bool {
        false
    }
}

fn a_server_that_fails_shows_its_log() {
    let failure = Server::start(Broken).unwrap_err().to_string();
    assert!(failure.contains("broken ended by itself") && failure.contains("the disk is full"), "{failure}");
}

fn a_port_that_was_taken_meanwhile_is_replaced() {
    let server = Server::start(Memory { in_the_way: Default::default(), blocked: true }).expect("on another port");
    assert_eq!(say(&server, "a").unwrap(), "a");
}

fn nothing_is_left_after_a_drop() {
    let server = start();
    let owned = Owned { pid: server.pid().unwrap(), folder: server.place().folder().to_owned() };
    assert!(owned.is_there());
    drop(server);
    assert!(!owned.is_there());
}

fn nothing_is_left_after_a_panic() {
    let (tell, told) = std::sync::mpsc::channel();
    let panicked = std::thread::spawn(move || {
        let server = start();
        tell.send(Owned { pid: server.pid().unwrap(), folder: server.place().folder().to_owned() }).unwrap();
        std::panic::resume_unwind(Box::new("a test fails"));
    });
    let owned = told.recv().unwrap();
    assert!(panicked.join().is_err());
    assert!(!owned.is_there());
}

/// The owner gets a signal that it cannot, or does not, handle.
fn nothing_is_left_after(signal: &str) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut owner = Owner(command.env(ROLE, "own").stdout(Stdio::piped()).spawn().unwrap());
    let lines = BufReader::new(owner.0.stdout.take().unwrap()).lines().map(Result::unwrap);
    let owned: Vec<_> = lines.take_while(|line| line != "that is all").map(|line| Owned::read(&line)).collect();
    assert_eq!(owned.len(), 3);
    assert!(owned.iter().all(Owned::is_there));
    Command::new("kill").args([&format!("-{signal}"), &owner.0.id().to_string()]).status().unwrap();
    owner.0.wait().unwrap();
    let start = Instant::now();
    while let Some(left) = owned.iter().find(|owned| owned.is_there()) {
        assert!(start.elapsed() < Duration::from_secs(20), "left after SIG{signal}: {left:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

struct Owner(Child);

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What an owner has: a server, with all of its session, and a folder.
#[derive(Debug)]
struct Owned {
    pid: u32,
    folder: PathBuf,
}

impl Owned {
    fn read(line: &str) -> Self {
        let (pid, folder) = line.split_once(' ').unwrap();
        Owned { pid: pid.parse().unwrap(), folder: folder.into() }
    }

    fn is_there(&self) -> bool {
        self.folder.exists() || self.pid != 0 && session(self.pid) > 0
    }
}

/// How many processes of a session live.
fn session(leader: u32) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let of_it = |path: &Path| {
        let mut status = String::new();
        let read = std::fs::File::open(path.join("stat")).and_then(|mut file| file.read_to_string(&mut status));
        // After the name: state, parent, group, session.
        let fields: Vec<_> = status.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').collect();
        read.is_ok() && fields.len() > 3 && fields[0] != "Z" && fields[3] == leader.to_string()
    };
    processes.filter(|entry| of_it(&entry.path())).count()
}
