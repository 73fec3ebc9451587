//! Three candidates, one office. The leader loses its network and the next one resigns; each time the office moves on by itself, and
//! the guarded resource refuses whoever led before.
//!
//! `cargo run --example three-candidates`

use std::time::{Duration, Instant};

use tenure::backend::memory::{Faults, MemoryBackend};
use tenure::{Campaign, Election, Error, Fence, FencingToken, Observation};

/// One of three processes: its campaign, and the cable to the store that can be pulled.
struct Process {
    name: &'static str,
    campaign: Campaign,
    cable: Faults,
}

impl Process {
    fn start(name: &'static str, store: &MemoryBackend) -> Result<Self, Error> {
        // A client is a connection of its own, so that one process can be cut off while the others are not.
        let client = store.client();
        let cable = client.faults();
        let candidate = Election::new(client, "nightly-report")?.candidate(name);
        // Two seconds, so that this program is soon over; fifteen are usual. Everything else follows the lease.
        let candidate = candidate.lease(Duration::from_secs(2)).advertise(format!("{name}.example:8080")).build()?;
        Ok(Process { name, campaign: candidate.start()?, cable })
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let store = MemoryBackend::new();
    // The resource that only the leader may write to. It remembers the highest token it has seen.
    let report = Fence::in_memory();
    // Whoever wants to know who leads, without running for it: a load balancer, a page for people.
    let mut office = Election::new(store.client(), "nightly-report")?.observe()?;
    let mut processes = Vec::new();
    for name in ["ada", "bob", "eve"] {
        processes.push(Process::start(name, &store)?);
    }

    let (first, first_token) = elected(&mut office, &processes, &report).await?;

    let killed = processes.swap_remove(first);
    println!("\nThe network cable of {} is pulled.", killed.name);
    let pulled = Instant::now();
    let leadership = killed.campaign.wait_for_leadership().await?;
    killed.cable.sever();
    // It cannot ask anybody, and need not: its own clock ends its leadership before the store gives the office away.
    let ending = leadership.ended().await;
    println!("{} stopped leading by itself after {:.1?}: {ending}.", killed.name, pulled.elapsed());
    let old = killed.name;
    // Now it is killed, too. To the others that looks the same: nobody hears of it any more.
    drop(killed);

    let (second, second_token) = elected(&mut office, &processes, &report).await?;
    println!("That was {:.1?} after the cable was pulled; the lease is 2 s.", pulled.elapsed());
    late_write(old, first_token, &report);

    println!("\n{} resigns.", processes[second].name);
    let resigned = Instant::now();
    processes[second].campaign.resign().await?;
    let (third, _) = elected(&mut office, &processes, &report).await?;
    println!("The office changed hands in {:.1?}: nobody had to wait for a lease.", resigned.elapsed());
    late_write(processes[second].name, second_token, &report);

    let incumbent = Election::new(store.client(), "nightly-report")?.incumbent().await?;
    let address = incumbent.as_ref().and_then(|incumbent| incumbent.address()).unwrap_or("nowhere");
    println!("\nAnybody can ask where the leader is: {address}.");
    assert!(address.starts_with(processes[third].name));
    for process in processes {
        process.campaign.stop().await?;
    }
    println!("All stopped, and the office is vacant.");
    Ok(())
}

/// Waits until one of them leads, and does what a new leader does first.
async fn elected(
    office: &mut Observation,
    processes: &[Process],
    report: &Fence,
) -> Result<(usize, FencingToken), Error> {
    loop {
        let Some(Some(incumbent)) = office.next().await else { continue };
        let Some(index) = processes.iter().position(|process| process.name == incumbent.name()) else { continue };
        // What an observer sees is what the store says; whether a process leads it alone knows.
        let leadership = processes[index].campaign.wait_for_leadership().await?;
        let token = leadership.token().expect("the memory store has tokens");
        println!("{} leads with token {token}.", processes[index].name);
        // From here on the resource refuses every former leader, however late it comes. Before, nobody could tell that it is late.
        report.raise(token)?;
        return Ok((index, token));
    }
}

/// What a process does that was frozen between its check and its write.
fn late_write(name: &str, token: FencingToken, report: &Fence) {
    match report.admit(token, || ()) {
        Ok(()) => println!("The late write of {name} was let through: that must not happen."),
        Err(refusal) => println!("The late write of {name} is refused: {refusal}."),
    }
}
