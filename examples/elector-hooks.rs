//! The reconciliation loop: a source says what the election makes of this process, handlers start and stop the leader's work, and the loop
//! keeps the two in step.
//!
//! The source here is a script. In a program it is an election, or a person at a console.
//!
//! `cargo run --example elector-hooks`

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tenure::reconcile::{Handler, HandlerFuture, Outcome, Policy, Reconcile, Source, SourceFuture, State};
use tokio::sync::mpsc::{Receiver, channel};

/// Starts and stops a timer. The first attempt to start it fails, so that one can see what happens then.
#[derive(Default)]
struct Timer {
    attempts: AtomicU32,
}

impl Handler for Timer {
    fn begin(&self) -> HandlerFuture<'_> {
        Box::pin(async {
            if self.attempts.fetch_add(1, Ordering::Relaxed) == 0 {
                println!("  begin: the timer does not start");
                return Err("no such timer".into());
            }
            println!("  begin: the timer runs");
            Ok(())
        })
    }

    fn end(&self) -> HandlerFuture<'_> {
        Box::pin(async {
            println!("  end: the timer stands still");
            Ok(())
        })
    }

    fn error(&self) -> HandlerFuture<'_> {
        Box::pin(async {
            println!("  error: somebody is told");
            Ok(())
        })
    }
}

/// A channel of states that says when the office is given up and run for again.
struct Script(Receiver<State>);

impl Source for Script {
    fn next(&mut self) -> SourceFuture<'_, Option<State>> {
        Box::pin(async {
            let state = self.0.recv().await;
            if let Some(state) = state {
                println!("the election says: {state:?}");
            }
            Ok(state)
        })
    }

    fn relinquish(&mut self) -> SourceFuture<'_, ()> {
        Box::pin(async {
            println!("  the office is given up");
            Ok(())
        })
    }

    fn resume(&mut self) {
        println!("  running for the office again");
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (election, script) = channel(8);
    // After an error a process sits out for 30 s unless set.
    let policy = Policy::default().with_error_timeout(Duration::from_millis(200))?;
    let mut reconcile = Reconcile::new(Script(script), Timer::default(), policy);

    tokio::spawn(async move {
        // A pause between two messages: of those that come while a handler runs only the last one counts.
        let pause = || tokio::time::sleep(Duration::from_millis(50));
        // begin fails: the office is given up, and run for again after the error timeout.
        election.send(State::Leader).await.expect("the loop hears");
        tokio::time::sleep(Duration::from_millis(400)).await;
        // It succeeds; saying it twice changes nothing.
        for state in [State::Leader, State::Leader, State::NotLeader, State::Leader] {
            election.send(state).await.expect("the loop hears");
            pause().await;
        }
        // The script is over while this process leads: end runs before the loop is over.
    });

    let outcome = reconcile.run().await?;
    assert_eq!(outcome, Outcome::SourceEnded);
    println!("the election says no more; the run ended well");
    let again = reconcile.run().await.expect_err("it can be run once");
    println!("a second run: {again}");
    Ok(())
}
