//! The store: one record, in a file so that it outlives a kill.
//!
//! | line | answer |
//! | --- | --- |
//! | `stand <tenure> <name> <ms>` | `granted <version> <token>`, or what `inspect` says |
//! | `renew <tenure> <version> <ms>` | the same; with the version `any` for whatever is there |
//! | `withdraw <tenure>` | `done`; with the tenure `any` for whatever is there |
//! | `inspect` | `vacant`, or `held <tenure> <version> <token> <name> <ms left>` |

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::{BootClock, Clock, Moment};

pub(crate) const ROLE: &str = "TENURE_CHAOS_STORE";

#[derive(Clone, Debug)]
struct Record {
    tenure: String,
    name: String,
    version: u64,
    token: u64,
    expiry: Moment,
}

impl Record {
    fn read(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok()?;
        let words: Vec<_> = text.split_whitespace().collect();
        let number = |index: usize| words.get(index)?.parse::<u64>().ok();
        Some(Record {
            tenure: (*words.first()?).to_owned(),
            name: (*words.get(1)?).to_owned(),
            version: number(2)?,
            token: number(3)?,
            expiry: Moment::from_nanos(number(4)?),
        })
    }

    /// Whole or not at all.
    fn write(&self, path: &Path) {
        let Record { tenure, name, version, token, expiry } = self;
        let text = format!("{tenure} {name} {version} {token} {}", expiry.as_nanos());
        let new = path.with_extension("new");
        std::fs::write(&new, text).and_then(|()| std::fs::rename(new, path)).expect("there is room");
    }
}

pub(crate) fn serve() {
    let port = std::env::var(ROLE).expect("whoever starts it says so").parse().expect("a port");
    let path = PathBuf::from(std::env::args().nth(1).expect("a file"));
    let listener = match TcpListener::bind(("127.0.0.1", port)) {
        Ok(listener) => listener,
        Err(error) => return println!("{error}"),
    };
    println!("listening");
    let record = Arc::new(Mutex::new(Record::read(&path)));
    for client in listener.incoming().flatten() {
        let (record, path) = (Arc::clone(&record), path.clone());
        std::thread::spawn(move || {
            let mut answers = client.try_clone().expect("a descriptor");
            for line in BufReader::new(client).lines().map_while(Result::ok) {
                let answer = answer(&line, &mut record.lock().expect("nobody panics"), &path);
                if writeln!(answers, "{answer}").is_err() {
                    return;
                }
            }
        });
    }
}

fn answer(line: &str, record: &mut Option<Record>, path: &Path) -> String {
    let words: Vec<_> = line.split(' ').collect();
    let now = BootClock.now();
    let after = |ms: &str| now.after(Duration::from_millis(ms.parse().expect("milliseconds")));
    let held = record.clone().filter(|record| now < record.expiry);
    let last = record.as_ref().map_or((0, 0), |record| (record.version, record.token));
    let new = match words.as_slice() {
        ["stand", tenure, name, ms] if held.as_ref().is_none_or(|held| held.tenure == *tenure) => {
            let token = held.map_or_else(|| (last.1 + 1).max(micros()), |held| held.token);
            let version = (last.0 + 1).max(micros());
            Record { tenure: (*tenure).into(), name: (*name).into(), version, token, expiry: after(ms) }
        }
        ["renew", tenure, version, ms]
            if held.as_ref().is_some_and(|held| held.tenure == *tenure && held.version.to_string() == *version)
                || *version == "any" =>
        {
            let name = held.as_ref().map_or_else(|| "nobody".to_owned(), |held| held.name.clone());
            Record { tenure: (*tenure).into(), name, version: last.0 + 1, token: last.1, expiry: after(ms) }
        }
        ["withdraw", tenure] => {
            if let Some(mut held) = held.filter(|held| held.tenure == *tenure || *tenure == "any") {
                held.expiry = Moment::ZERO;
                held.write(path);
                *record = Some(held);
            }
            return "done".to_owned();
        }
        ["delete"] => {
            *record = None;
            let _ = std::fs::remove_file(path);
            return "done".to_owned();
        }
        _ => {
            return held.map_or_else(
                || "vacant".to_owned(),
                |Record { tenure, version, token, name, expiry }| {
                    format!("held {tenure} {version} {token} {name} {}", expiry.since(now).as_millis())
                },
            );
        }
    };
    new.write(path);
    let answer = format!("granted {} {}", new.version, new.token);
    *record = Some(new);
    answer
}

/// Numbers follow the clock, so that they rise also when the data is lost.
fn micros() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}

/// Deletes the record by hand.
pub(crate) fn delete(address: SocketAddr) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"delete\n")?;
    BufReader::new(stream).read_line(&mut String::new()).map(drop)
}
