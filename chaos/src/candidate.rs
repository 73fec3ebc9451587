//! A candidate in a process of its own: leads when it can, counts up, and writes down what it believes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tenure::{BootClock, Clock, Election, Leadership};
use tokio::runtime::Runtime;

use crate::diary::Diary;
use crate::recorded::Recorded;
use crate::registers::Client;
use crate::subject::Subject;

/// The office that all run for.
pub const OFFICE: &str = "chaos/office";

/// What a candidate is told, by variables of these names.
pub(crate) const SUBJECT: &str = "TENURE_CHAOS_CANDIDATE";
pub(crate) const NAME: &str = "TENURE_CHAOS_NAME";
pub(crate) const PLACE: &str = "TENURE_CHAOS_PLACE";
pub(crate) const DIARY: &str = "TENURE_CHAOS_DIARY";
pub(crate) const REGISTERS: &str = "TENURE_CHAOS_REGISTERS";

/// What it says once it runs.
pub(crate) const READY: &str = "the candidate runs";

/// Runs until it is killed.
pub(crate) fn run(subject: &dyn Subject) -> Result<(), Box<dyn std::error::Error>> {
    let diary = Diary::open(&PathBuf::from(told(DIARY)?))?;
    let mut registers = Client::connect(&PathBuf::from(told(REGISTERS)?))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let backend = {
        let _inside = runtime.enter();
        Recorded::new(subject.backend(&told(PLACE)?)?, diary.clone())
    };
    let election = Election::over(Arc::new(backend), OFFICE)?;
    let candidate = subject.settings(election.candidate(&told(NAME)?).lease(subject.lease())).build()?;
    observe(&runtime, &election, &diary)?;
    watch_the_wall(diary.clone());
    println!("{READY}");
    loop {
        match runtime.block_on(candidate.campaign()) {
            Ok(tenure) => {
                lead(&tenure, &diary, &mut registers)?;
                let leadership: Leadership = (*tenure).clone();
                // Its work has stopped here; by the time that it hears of its resignation, another may lead.
                let (stopped, held) = (BootClock.now(), tenure.is_held());
                let _ = runtime.block_on(tenure.resign());
                diary.ends(stopped, leadership.ending().filter(|_| held));
            }
            Err(error) => {
                eprintln!("{error}");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

fn told(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|_| format!("{name} is not set: whoever starts a candidate sets it"))
}

fn lead(tenure: &Leadership, diary: &Diary, registers: &mut Client) -> std::io::Result<()> {
    diary.begins(tenure);
    diary.counts_on(tenure);
    let stay = BootClock.now().after(Duration::from_millis(fastrand::u64(500..6000)));
    let token = tenure.token().map_or(0, |token| token.get());
    registers.raise(token)?;
    while tenure.is_held() && BootClock.now() < stay {
        diary.counts_on(tenure);
        registers.count_up(token, || std::thread::sleep(Duration::from_millis(fastrand::u64(1..15))))?;
    }
    diary.counts_on(tenure);
    Ok(())
}

/// Writes down what an observation of the office shows.
fn observe(runtime: &Runtime, election: &Election, diary: &Diary) -> Result<(), tenure::Error> {
    let (mut observation, diary) = (election.observe_every(Duration::from_millis(300))?, diary.clone());
    runtime.spawn(async move {
        while let Some(seen) = observation.next().await {
            if let Some(incumbent) = seen {
                diary.shows(incumbent.tenure(), incumbent.token().map(|token| token.get()));
            }
        }
    });
    Ok(())
}

/// Writes down when the wall clock jumps: that a step of it was really there.
fn watch_the_wall(diary: Diary) {
    let offset = || {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        wall.as_secs() as i64 - (BootClock.now().as_nanos() / 1_000_000_000) as i64
    };
    std::thread::spawn(move || {
        let mut last = offset();
        loop {
            std::thread::sleep(Duration::from_millis(50));
            let new = offset();
            if (new - last).abs() > 60 {
                diary.wall(new - last);
                last = new;
            }
        }
    });
}
