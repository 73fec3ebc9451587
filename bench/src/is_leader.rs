//! What asking "do I lead?" costs, measured against the one clock read that it cannot do without.

use std::hint::black_box;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tenure::backend::memory::{MemoryBackend, Operation};
use tenure::{Campaign, Election};

use crate::Failure;
use crate::distribution::Distribution;

const SAMPLES: usize = 4_000;
const CALLS: u32 = 500;

/// The clock that `is_leader` reads.
#[cfg(not(target_vendor = "apple"))]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(target_vendor = "apple")]
const CLOCK: ClockId = ClockId::Monotonic;

pub(crate) fn run() -> Result<(), Failure> {
    println!("Campaign::is_leader() as a multiple of one read of the boot clock, per call\n");
    let store = MemoryBackend::new();
    let calm = campaign(&store, "calm", |builder| builder)?;
    let one = measure(&calm, 1);
    report("one thread", &one);
    let two = measure(&calm, 2);
    report("two threads at once", &two);
    // A renewal every few milliseconds: each rewrites the deadline that is read here.
    let busy = campaign(&store, "busy", |builder| {
        builder.lease(Duration::from_secs(1)).renew_every(Duration::from_millis(2))
    })?;
    let (began, before) = (Instant::now(), store.calls_of_all().of(Operation::Renew));
    let written = measure(&busy, 1);
    let renewals = store.calls_of_all().of(Operation::Renew) - before;
    report("one thread, while renewals rewrite it", &written);
    println!("    {:.0} renewals a second meanwhile\n", renewals as f64 / began.elapsed().as_secs_f64());
    let (asked_by_one, asked_by_two) = (one.asked.median(), two.asked.median());
    println!("  is_leader() with two threads as a multiple of one thread:  {:.2} ×", asked_by_two / asked_by_one);
    println!(
        "  the same for the clock read alone:                         {:.2} ×",
        two.read.median() / one.read.median()
    );
    Ok(())
}

/// The same loop over both questions, taken in turns.
struct Measured {
    read: Distribution,
    asked: Distribution,
    ratio: Distribution,
}

fn report(what: &str, measured: &Measured) {
    println!("  {what}");
    println!("    clock read   {}", measured.read);
    println!("    is_leader    {}", measured.asked);
    println!("    ratio        {}\n", measured.ratio);
}

fn measure(campaign: &Campaign, threads: usize) -> Measured {
    let barrier = Barrier::new(threads);
    let pairs: Vec<(f64, f64)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(|| pairs(campaign, &barrier))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("it only reads")).collect()
    });
    Measured {
        read: Distribution::new(pairs.iter().map(|(read, _)| *read).collect(), "ns"),
        asked: Distribution::new(pairs.iter().map(|(_, asked)| *asked).collect(), "ns"),
        ratio: Distribution::of_ratios(pairs.iter().map(|(read, asked)| (*asked, *read))),
    }
}

fn pairs(campaign: &Campaign, barrier: &Barrier) -> Vec<(f64, f64)> {
    let sample = || {
        let read = time(|| _ = black_box(clock_gettime(CLOCK)));
        let asked = time(|| assert!(black_box(campaign.is_leader()), "leadership was lost while it was measured"));
        (read, asked)
    };
    (0..SAMPLES / 10).for_each(|_| _ = black_box(sample()));
    barrier.wait();
    (0..SAMPLES).map(|_| sample()).collect()
}

/// Nanoseconds a call.
fn time(mut call: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..CALLS {
        call();
    }
    start.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

fn campaign(
    store: &MemoryBackend,
    election: &str,
    timing: impl FnOnce(tenure::CandidateBuilder) -> tenure::CandidateBuilder,
) -> Result<Campaign, Failure> {
    let election = Election::new(store.client(), election)?;
    let campaign = timing(election.candidate("bench")).build()?.start()?;
    while !campaign.is_leader() {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(campaign)
}
