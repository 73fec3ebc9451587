//! A candidate that leads when it can, counts up, and writes down what it believes.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::time::Duration;

use tenure::backend::FileBackend;
use tenure::{BootClock, Clock, Election, Ending, ForeignPeers, Leadership};

use super::LEASE;
use super::register::Client;
use crate::world::var;

pub(crate) fn contestant() {
    let backend = FileBackend::new(var("DIRECTORY")).expect("there is a directory");
    let backend = backend.shared_with(ForeignPeers::StepDownInTime);
    let election = Election::new(backend, "office").expect("a name");
    let mut candidate = election.candidate(&var("NAME")).lease(LEASE);
    if var("DECLARED") == "yes" {
        candidate = candidate.work_ends_with_process();
    }
    let candidate = candidate.build().expect("a safe timing");
    let mut registers = Client::new(&var("REGISTERS"));
    let mut history = History(OpenOptions::new().append(true).create(true).open(var("HISTORY")).expect("a file"));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    loop {
        let tenure = match runtime.block_on(candidate.campaign()) {
            Ok(tenure) => tenure,
            Err(_) => {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
        };
        let token = tenure.token().expect("a local disk has tokens").get();
        history.write(&format!("begins {} {} {token}", BootClock.now().as_nanos(), tenure.id()));
        let stay = BootClock.now().after(Duration::from_millis(fastrand::u64(300..3000)));
        // A new leader's first act.
        registers.ask(&format!("raise {token}"));
        while tenure.is_held() && BootClock.now() < stay {
            history.counts_on(&tenure);
            count_up(&mut registers, token);
        }
        history.counts_on(&tenure);
        let resigned = tenure.is_held();
        let leadership = tenure.clone();
        // Its work has stopped here; by the time that it hears of its resignation, another may lead.
        let stopped = BootClock.now();
        let _ = runtime.block_on(tenure.resign());
        let voluntary = resigned && leadership.ending() == Some(Ending::Resigned);
        history.write(&format!("ends {} {voluntary}", stopped.as_nanos()));
    }
}

/// Reads, takes its time, and writes: whoever is stopped in between writes what is long past.
fn count_up(registers: &mut Client, token: u64) {
    let values = [registers.ask("read 0"), registers.ask("read 1")];
    std::thread::sleep(Duration::from_millis(fastrand::u64(1..15)));
    for (register, value) in values.into_iter().enumerate() {
        registers.ask(&format!("write {register} {token} {}", value + 1));
    }
}

struct History(File);

impl History {
    /// One line, in one write: it is whole, or it is the last.
    fn write(&mut self, line: &str) {
        self.0.write_all(format!("{line}\n").as_bytes()).expect("it can be written");
    }

    /// Writes down until when this tenure counts on its office, the grace included.
    fn counts_on(&mut self, tenure: &Leadership) {
        let before = BootClock.now();
        // Given only while the tenure holds, so what is read after `before` is later than it.
        if let Some(deadline) = tenure.deadline()
            && before >= deadline
        {
            self.write(&format!("violated: held at {} after {}", before.as_nanos(), deadline.as_nanos()));
        }
        if let Some(expiry) = tenure.expiry() {
            self.write(&format!("counts-on {}", expiry.as_nanos()));
        }
    }
}
