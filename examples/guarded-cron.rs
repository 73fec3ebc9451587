//! One cron job on several hosts: it runs on one of them, once a round, and never goes on after leadership is lost.
//!
//! `cargo run --example guarded-cron`

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use tenure::backend::memory::MemoryBackend;
use tenure::{Candidate, Election, Error, KILLED_EXIT_STATUS};

const LEASE: Duration = Duration::from_secs(2);

fn host(store: MemoryBackend, name: &str) -> Result<Candidate, Error> {
    // The job takes a moment, and the crons of two hosts are never quite in step: the office is kept longer than they differ.
    Election::new(store, "cron/cleanup")?.candidate(name).lease(LEASE).at_least(Duration::from_secs(1)).build()
}

#[tokio::main]
async fn main() -> Result<ExitCode, Error> {
    if std::env::args().nth(1).as_deref() == Some("stuck") {
        return stuck().await;
    }
    let store = MemoryBackend::new();
    let (one, two) = (host(store.client(), "host-1")?, host(store.client(), "host-2")?);

    println!("The crons of two hosts go off, one a moment after the other.");
    let began = Instant::now();
    run_if_elected("host-1", &one).await?;
    tokio::time::sleep(Duration::from_millis(100)).await;
    run_if_elected("host-2", &two).await?;

    tokio::time::sleep(Duration::from_secs(2).saturating_sub(began.elapsed())).await;
    println!("\nThe next round, and host-2 is the first.");
    run_if_elected("host-2", &two).await?;
    run_if_elected("host-1", &one).await?;

    println!("\nA job that takes long, on a host that loses its network.");
    let client = store.client();
    let cable = client.faults();
    let tenure = Election::new(client, "cron/backup")?.candidate("host-1").lease(LEASE).build()?.campaign().await?;
    cable.sever();
    let mut steps = 0;
    let job = tenure.while_held(async {
        loop {
            steps += 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let lost: Result<(), Error> = job.await;
    println!("dropped after {steps} steps: {}", lost.expect_err("nobody renews"));

    println!("\nA job that does not listen, in a process of its own: the kill timer ends it.");
    let status = Command::new(std::env::current_exe().expect("this program has a path")).arg("stuck").status();
    let status = status.expect("this program can be started again").code();
    println!("it ended with status {}", status.map_or("none".into(), |code| code.to_string()));
    Ok(if status == Some(KILLED_EXIT_STATUS) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a crontab would call.
async fn run_if_elected(name: &str, host: &Candidate) -> Result<(), Error> {
    match host.try_campaign().await? {
        None => println!("{name}: another host has this round"),
        Some(tenure) => {
            let token = tenure.token().expect("the memory store has tokens");
            tenure.while_held(async { println!("{name}: cleaning up, with token {token}") }).await?;
            // Resigning would wait for the minimum hold; dropping the tenure leaves that to the background.
            drop(tenure);
        }
    }
    Ok(())
}

/// Loses leadership while its work holds a guard and hears nothing.
async fn stuck() -> Result<ExitCode, Error> {
    let store = MemoryBackend::new();
    let cable = store.faults();
    let candidate = Election::new(store, "cron/report")?.candidate("host-1").lease(Duration::from_millis(600));
    let tenure = candidate.kill_after(Duration::from_millis(200)).build()?.campaign().await?;
    let _work = tenure.guard().expect("it leads");
    cable.sever();
    // Blocks the thread: nothing that is asynchronous can stop it. The timer is not on this thread.
    std::thread::sleep(Duration::from_secs(20));
    Ok(ExitCode::FAILURE)
}
