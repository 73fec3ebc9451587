//! What very many elections cost a process that leads them all and does nothing else: memory each, and processor time for renewals.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure::backend::memory::{MemoryBackend, Operation};
use tenure::backend::{Attempt, AttemptId, Backend, Bid, Due, Standing, TenureId};
use tenure::driver::{Called, Command};
use tenure::machine::{Action, Machine, Plan};
use tenure::{BootClock, Campaign, Candidate, CandidateName, Clock, Election, Seat, Timing};
use tokio::runtime::Builder;

use crate::heap::{self, Snapshot};
use crate::{Failure, process};

pub(crate) fn run(elections: usize, seconds: u64) -> Result<(), Failure> {
    let timing = Timing::default();
    println!(
        "{elections} elections in one process, each led by a campaign in the background: lease {:?}, renewed every {:?}\n",
        timing.lease(),
        timing.renew_interval()
    );
    let seats = (0..elections).map(|number| Seat::new(&name(number))).collect::<Result<Vec<_>, _>>()?;
    let store = Grown::by(elections, || records(&seats))?;
    let backend = Arc::new(MemoryBackend::new());
    let led = Grown::by(elections, || {
        let campaigns = lead(&backend, elections)?;
        // Two rounds of renewals: buffers and timers have the size that they keep.
        std::thread::sleep(timing.renew_interval() * 2);
        Ok(campaigns)
    })?;
    let kept = Grown::by(elections, || candidates(&backend, elections).collect::<Result<Vec<_>, _>>())?;
    println!("  bytes an election                       resident    allocated");
    row("the store's records alone", store.resident, store.allocated);
    row("the store and the campaigns", led.resident, led.allocated);
    row("a campaign", led.resident - store.resident, led.allocated - store.allocated);
    row("a candidate, where it is kept as well", kept.resident, kept.allocated);
    println!("\n  blocks that a store alone has         {}", store.blocks);
    println!("  blocks with campaigns                 {}\n", led.blocks);
    drop(kept);
    heap::stop_counting();
    renewals(&backend, &led.what, seconds);
    sizes();
    // All this was alive until now.
    drop(store);
    Ok(())
}

fn row(what: &str, resident: f64, allocated: f64) {
    println!("  {what:<37} {resident:>10.0}   {allocated:>10.0}");
}

/// Something made, and how much memory each of its parts took.
struct Grown<T> {
    what: T,
    resident: f64,
    allocated: f64,
    blocks: String,
}

impl<T> Grown<T> {
    fn by(parts: usize, make: impl FnOnce() -> Result<T, Failure>) -> Result<Self, Failure> {
        let (resident, heap) = (process::resident()?, Snapshot::take());
        let what = make()?;
        let (resident, after) = (process::resident()? - resident, Snapshot::take());
        let blocks = after.blocks_since(&heap, parts as i64 / 10);
        let shown = blocks.iter().map(|(size, more)| format!("{:.1} × ≤{size}", *more as f64 / parts as f64));
        Ok(Grown {
            what,
            resident: resident as f64 / parts as f64,
            allocated: after.bytes_since(&heap) as f64 / parts as f64,
            blocks: shown.collect::<Vec<_>>().join(", "),
        })
    }
}

/// A store with the same records, written through the seam. Their names are kept elsewhere: those count for the campaigns.
fn records(seats: &[Seat]) -> Result<MemoryBackend, Failure> {
    let store = MemoryBackend::new();
    let (name, timing) = (CandidateName::new("bench")?, Arc::new(Timing::default()));
    let attempt = Attempt { id: AttemptId(1), sent: BootClock.now() };
    let runtime = Builder::new_current_thread().build()?;
    for (number, seat) in (0..).zip(seats) {
        let plan = Plan::new(seat.clone(), name.clone(), number, timing.clone(), store.traits());
        let bid = Bid::new(Arc::new(plan), TenureId::new(number, 1), None);
        let Standing::Elected(_) = runtime.block_on(store.stand(&bid, attempt))? else {
            return Err("the store is not empty".into());
        };
    }
    Ok(store)
}

fn lead(backend: &Arc<MemoryBackend>, elections: usize) -> Result<Vec<Campaign>, Failure> {
    let began = Instant::now();
    let mut campaigns = Vec::with_capacity(elections);
    for candidate in candidates(backend, elections) {
        campaigns.push(candidate?.start()?);
    }
    let started = began.elapsed();
    let runtime = Builder::new_current_thread().build()?;
    for campaign in &campaigns {
        runtime.block_on(campaign.wait_for_leadership())?;
    }
    println!("  all started after {started:.2?}, all elected after {:.2?}\n", began.elapsed());
    Ok(campaigns)
}

fn candidates(backend: &Arc<MemoryBackend>, elections: usize) -> impl Iterator<Item = Result<Candidate, Failure>> {
    (0..elections).map(|number| {
        let election = Election::over(backend.clone(), name(number).as_str())?;
        Ok(election.candidate("bench").build()?)
    })
}

fn name(number: usize) -> String {
    format!("bench/idle/{number:06}")
}

fn renewals(backend: &MemoryBackend, campaigns: &[Campaign], seconds: u64) {
    let (wall, cpu, calls) = (Instant::now(), process::cpu(), backend.calls());
    std::thread::sleep(Duration::from_secs(seconds));
    let (wall, cpu, after) = (wall.elapsed(), process::cpu() - cpu, backend.calls());
    let renewed = (after.of(Operation::Renew) - calls.of(Operation::Renew)) as f64;
    let batches = (after.batches() - calls.batches()) as f64;
    let leaders = campaigns.iter().filter(|campaign| campaign.is_leader()).count();
    println!(
        "  over {wall:.1?}: {:.0} renewals a second, in batches of {:.0}",
        renewed / wall.as_secs_f64(),
        renewed / batches
    );
    println!("  processor time a renewal, the store's part included: {:.2} µs", cpu.as_nanos() as f64 / 1e3 / renewed);
    println!("  processor time, all threads: {:.2} % of one core", 100.0 * cpu.as_secs_f64() / wall.as_secs_f64());
    println!("  still leading: {leaders} of {}\n", campaigns.len());
}

fn sizes() {
    println!(
        "  size_of: Machine {}, Plan {}, Campaign {}",
        size_of::<Machine>(),
        size_of::<Plan>(),
        size_of::<Campaign>()
    );
    println!(
        "  in passing: Action {}, Command {}, Called {}, Due {}",
        size_of::<Action>(),
        size_of::<Command>(),
        size_of::<Called>(),
        size_of::<Due>()
    );
}
