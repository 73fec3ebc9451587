//! Two numbers that leaders count up: one refuses former leaders, and its twin does not.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use testbed::Failure;

/// A number, and what became of the writes to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Register {
    /// The number now.
    pub(crate) value: u64,
    /// Writes that were taken.
    pub(crate) written: u64,
    /// Writes that were refused.
    pub(crate) refused: u64,
    pub(crate) highest: u64,
}

impl Register {
    /// Each write counts up by one what its writer had read: where the number is lower, updates were lost.
    pub(crate) fn lost(&self) -> u64 {
        self.written.saturating_sub(self.value)
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} writes, {} refused, {} lost", self.written, self.refused, self.lost())
    }
}

/// The resource: in the process that looks on, asked over a socket.
#[derive(Debug)]
pub(crate) struct Registers(Arc<Mutex<[Register; 2]>>);

impl Registers {
    pub(crate) fn serve(path: &Path) -> Result<Self, Failure> {
        let listener = UnixListener::bind(path)?;
        let both = Arc::new(Mutex::new([Register::default(); 2]));
        let shared = Arc::clone(&both);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let both = Arc::clone(&shared);
                std::thread::spawn(move || serve(client, &both));
            }
        });
        Ok(Registers(both))
    }

    /// The fenced one and its twin.
    pub(crate) fn both(&self) -> [Register; 2] {
        *self.0.lock().expect("nobody panics with it")
    }
}

/// `raise <token>`, `read <register>`, `write <register> <token> <value>`; one number is the answer.
fn serve(client: UnixStream, both: &Mutex<[Register; 2]>) {
    let Ok(mut answers) = client.try_clone() else { return };
    for line in BufReader::new(client).lines().map_while(Result::ok) {
        let words: Vec<_> = line.split(' ').collect();
        let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok()).unwrap_or_default();
        let mut both = both.lock().expect("nobody panics with it");
        let register = &mut both[usize::from(number(1) != 0)];
        let answer = match words[0] {
            "raise" => {
                both[0].highest = both[0].highest.max(number(1));
                0
            }
            "read" => register.value,
            _ if number(1) == 0 && number(2) < register.highest => {
                register.refused += 1;
                0
            }
            _ => {
                register.highest = register.highest.max(number(2));
                register.value = number(3);
                register.written += 1;
                0
            }
        };
        drop(both);
        if writeln!(answers, "{answer}").is_err() {
            return;
        }
    }
}

/// The other end of the socket.
pub(crate) struct Client {
    stream: UnixStream,
    answers: BufReader<UnixStream>,
}

impl Client {
    pub(crate) fn connect(path: &Path) -> std::io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        let answers = BufReader::new(stream.try_clone()?);
        Ok(Client { stream, answers })
    }

    fn ask(&mut self, line: fmt::Arguments<'_>) -> std::io::Result<u64> {
        let mut answer = String::new();
        self.stream.write_all(format!("{line}\n").as_bytes())?;
        self.answers.read_line(&mut answer)?;
        answer.trim().parse().map_err(std::io::Error::other)
    }

    /// A new leader's first act.
    pub(crate) fn raise(&mut self, token: u64) -> std::io::Result<()> {
        self.ask(format_args!("raise {token}")).map(drop)
    }

    /// Reads both, takes its time, and writes: whoever is stopped in between writes what is long past.
    pub(crate) fn count_up(&mut self, token: u64, between: impl FnOnce()) -> std::io::Result<()> {
        let values = [self.ask(format_args!("read 0"))?, self.ask(format_args!("read 1"))?];
        between();
        for (register, value) in values.into_iter().enumerate() {
            self.ask(format_args!("write {register} {token} {}", value + 1))?;
        }
        Ok(())
    }
}
