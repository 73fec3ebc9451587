//! How long nobody leads when a leader resigns, measured against waking another thread and being woken by it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tenure::backend::memory::{MemoryBackend, Operation};
use tenure::{Candidate, Election, Error, Tenure};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

use crate::Failure;
use crate::distribution::Distribution;

const WARM_UP: usize = 50;

pub(crate) fn run(rounds: usize) -> Result<(), Failure> {
    println!("From a leader's resign() to the next candidate's campaign() returning, on the memory backend\n");
    let store = MemoryBackend::new();
    let election = Election::new(store.client(), "handover")?;
    let runtime = runtime()?;
    let echo = Echo::start()?;
    let next = Successor::start()?;
    let (mut wakes, mut handovers, mut returns) = (Vec::new(), Vec::new(), Vec::new());
    let mut candidate = election.candidate("0").build()?;
    let mut tenure = runtime.block_on(candidate.campaign())?;
    for round in 0..WARM_UP + rounds {
        candidate = election.candidate(["1", "0"][round % 2]).build()?;
        next.run(candidate, &store);
        let wake = runtime.block_on(echo.round_trip());
        let (resigned, returned) = runtime.block_on(async {
            let start = Instant::now();
            tenure.resign().await.map(|()| (start, start.elapsed()))
        })?;
        let (elected, won) = next.elected()?;
        if round >= WARM_UP {
            wakes.push(wake.as_nanos() as f64 / 1e3);
            handovers.push(elected.duration_since(resigned).as_nanos() as f64 / 1e3);
            returns.push(returned.as_nanos() as f64 / 1e3);
        }
        tenure = won;
    }
    runtime.block_on(tenure.resign())?;
    let ratio = Distribution::of_ratios(handovers.iter().copied().zip(wakes.iter().copied()));
    let (wakes, handovers) = (Distribution::new(wakes, "µs"), Distribution::new(handovers, "µs"));
    println!("  another thread, there and back   {wakes}");
    println!("  handover                         {handovers}");
    println!("  resign() returns after           {}", Distribution::new(returns, "µs"));
    println!("  ratio, round by round            {ratio}\n");
    println!(
        "  handover as a multiple of there and back: at p50 {:.1} ×, at p99 {:.1} ×",
        handovers.median() / wakes.median(),
        handovers.quantile(0.99) / wakes.quantile(0.99)
    );
    Ok(())
}

/// Threads here sleep as the driver's does: in the reactor.
fn runtime() -> Result<Runtime, Failure> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// A thread that answers every notification by one.
struct Echo {
    call: Arc<Notify>,
    answer: Arc<Notify>,
}

impl Echo {
    fn start() -> Result<Self, Failure> {
        let echo = Echo { call: Arc::default(), answer: Arc::default() };
        let (call, answer, runtime) = (echo.call.clone(), echo.answer.clone(), runtime()?);
        std::thread::spawn(move || {
            runtime.block_on(async {
                loop {
                    call.notified().await;
                    answer.notify_one();
                }
            });
        });
        Ok(echo)
    }

    async fn round_trip(&self) -> Duration {
        let start = Instant::now();
        self.call.notify_one();
        self.answer.notified().await;
        start.elapsed()
    }
}

type Elected = Result<(Instant, Tenure), Error>;

/// A thread on which the next candidate waits for the office.
struct Successor {
    candidates: Sender<Candidate>,
    elected: Receiver<Elected>,
    _thread: JoinHandle<()>,
}

impl Successor {
    fn start() -> Result<Self, Failure> {
        let (candidates, waiting) = channel::<Candidate>();
        let (winners, elected) = channel();
        let runtime = runtime()?;
        let thread = std::thread::spawn(move || {
            for candidate in waiting {
                let won = runtime.block_on(candidate.campaign());
                let at = Instant::now();
                let _ = winners.send(won.map(|tenure| (at, tenure)));
            }
        });
        Ok(Successor { candidates, elected, _thread: thread })
    }

    /// Lets a candidate run, and returns when it has stood, watches, and has looked once more since.
    fn run(&self, candidate: Candidate, store: &MemoryBackend) {
        let stood = || store.calls_of_all().of(Operation::Stand);
        let before = stood();
        let _ = self.candidates.send(candidate);
        while stood() < before + 2 {
            std::thread::sleep(Duration::from_micros(50));
        }
        std::thread::sleep(Duration::from_micros(500));
    }

    fn elected(&self) -> Result<(Instant, Tenure), Failure> {
        Ok(self.elected.recv()??)
    }
}
