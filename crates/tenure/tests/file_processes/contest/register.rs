//! Two numbers that leaders count up: one refuses former leaders, and its twin does not.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A number, and what became of the writes to it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Register {
    value: u64,
    written: u64,
    pub(super) refused: u64,
    highest: u64,
}

impl Register {
    /// Each write counts up by one what its writer had read.
    pub(super) fn lost(&self) -> u64 {
        self.written - self.value
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} writes, {} refused, {} lost", self.written, self.refused, self.lost())
    }
}

/// The resource: in the process of the test, asked over a socket.
#[derive(Debug)]
pub(super) struct Registers {
    both: Arc<Mutex<[Register; 2]>>,
}

impl Registers {
    pub(super) fn serve(path: &Path) -> Self {
        let listener = UnixListener::bind(path).expect("a socket");
        let both = Arc::new(Mutex::new([Register::default(); 2]));
        let shared = both.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let both = shared.clone();
                std::thread::spawn(move || serve(client, &both));
            }
        });
        Registers { both }
    }

    pub(super) fn fenced(&self) -> Register {
        self.both.lock().unwrap()[0]
    }

    pub(super) fn unfenced(&self) -> Register {
        self.both.lock().unwrap()[1]
    }
}

/// `raise <token>`, `read <register>`, `write <register> <token> <value>`.
fn serve(client: UnixStream, both: &Mutex<[Register; 2]>) {
    let mut answers = client.try_clone().expect("a descriptor");
    for line in BufReader::new(client).lines() {
        let Ok(line) = line else { return };
        let words: Vec<_> = line.split(' ').collect();
        let number = |index: usize| words[index].parse::<u64>().expect("a number");
        let mut both = both.lock().unwrap();
        let answer = match words[0] {
            "raise" => {
                both[0].highest = both[0].highest.max(number(1));
                0
            }
            "read" => both[number(1) as usize].value,
            "write" => {
                let fenced = number(1) == 0;
                let register = &mut both[number(1) as usize];
                if fenced && number(2) < register.highest {
                    register.refused += 1;
                } else {
                    register.highest = register.highest.max(number(2));
                    register.value = number(3);
                    register.written += 1;
                }
                0
            }
            other => panic!("no command {other}"),
        };
        drop(both);
        if writeln!(answers, "{answer}").is_err() {
            return;
        }
    }
}

/// The other end of the socket.
pub(super) struct Client {
    stream: UnixStream,
    answers: BufReader<UnixStream>,
}

impl Client {
    pub(super) fn new(path: &str) -> Self {
        let stream = UnixStream::connect(path).expect("the test listens");
        let answers = BufReader::new(stream.try_clone().expect("a descriptor"));
        Client { stream, answers }
    }

    pub(super) fn ask(&mut self, line: &str) -> u64 {
        let mut answer = String::new();
        let asked = writeln!(self.stream, "{line}").and_then(|()| self.answers.read_line(&mut answer));
        match asked {
            Ok(read) if read > 0 => answer.trim().parse().expect("a number"),
            // The test is over.
            _ => std::process::exit(0),
        }
    }
}
