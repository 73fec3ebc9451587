//! The first free of several offices.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::select_all;

use crate::candidate::{Candidate, refusal};
use crate::driver::{Published, TenureState};
use crate::machine::{Goal, Input};
use crate::tenure::Tenure;
use crate::{Error, ErrorKind};

/// Runs for several offices and takes the first that is free (SEEDS 25): N workers for M shards, N licences for M hosts.
///
/// The offices are tried one after another, in the order given; one that is held is kept under watch while the next is tried. As soon as one is
/// won the candidacies for the others end. The answer is the office's place in `candidates`, and the tenure. After `patience` without a win
/// it is [`ErrorKind::TimedOut`]; where none of the offices was seen to be held, it says what the store failed with.
pub async fn first_free(candidates: &[Candidate], patience: Option<Duration>) -> Result<(usize, Tenure), Error> {
    let Some(first) = candidates.first() else {
        return Err(Error::new(ErrorKind::InvalidConfig, "no office was named; give at least one candidate"));
    };
    let mut running = Running(Vec::new());
    let found = match patience {
        None => search(&mut running, candidates, None).await.map(Some),
        Some(span) => tokio::select! {
            biased;
            won = search(&mut running, candidates, patience) => won.map(Some),
            () = first.out_of(span) => Ok(None),
        },
    };
    match found {
        Ok(Some(won)) => Ok(running.keep(won)),
        Ok(None) => Err(running.out_of_time()),
        Err(error) if error.kind() == ErrorKind::TimedOut => Err(running.out_of_time()),
        Err(error) => Err(error),
    }
}

async fn search(
    running: &mut Running,
    candidates: &[Candidate],
    patience: Option<Duration>,
) -> Result<(usize, Arc<TenureState>), Error> {
    for (slot, candidate) in candidates.iter().enumerate() {
        running.0.push(Some(candidate.run(Goal::OneTenure, patience, Vec::new())?));
        let published = running.0[slot].clone().expect("it was just started");
        // One answer decides whether the next office is tried: held, or an error. A silent store is not knocked at through N doors.
        let answered = published.until(|published| {
            let answered = published.incumbent().is_some() || published.last_error().is_some();
            (answered || published.leading().is_some() || published.finish().is_some()).then_some(())
        });
        answered.await;
        if let Some(won) = running.won() {
            return Ok(won);
        }
    }
    loop {
        if let Some(won) = running.won() {
            return Ok(won);
        }
        let live: Vec<_> = running.0.iter().flatten().cloned().collect();
        let over = live.iter().filter_map(|published| published.finish().map(|finish| refusal(published, finish)));
        if let Some(error) =
            over.reduce(|_, last| last).filter(|_| live.iter().all(|published| published.finish().is_some()))
        {
            return Err(error);
        }
        let news = live.iter().filter(|published| published.finish().is_none()).map(|published| {
            Box::pin(
                published
                    .until(|published| (published.leading().is_some() || published.finish().is_some()).then_some(())),
            )
        });
        select_all(news).await;
    }
}

/// Campaigns of which one is to be kept; the others stop when this is dropped, also when the caller goes away.
struct Running(Vec<Option<Arc<Published>>>);

impl Running {
    fn won(&self) -> Option<(usize, Arc<TenureState>)> {
        let all = self.0.iter().enumerate();
        all.filter_map(|(slot, published)| Some((slot, published.as_ref()?.leading()?))).next()
    }

    /// A store that fails is not an office that is held.
    fn out_of_time(&self) -> Error {
        let all = || self.0.iter().flatten();
        let failure = all().find_map(|published| published.last_error());
        match failure.filter(|_| all().all(|published| published.incumbent().is_none())) {
            Some(error) => Error::new(ErrorKind::TimedOut, format!("no office was won in the time given: {error}")),
            None => Error::new(ErrorKind::TimedOut, "none of the offices was free in the time given"),
        }
    }

    fn keep(&mut self, (slot, tenure): (usize, Arc<TenureState>)) -> (usize, Tenure) {
        let published = self.0[slot].take().expect("a winner is kept once");
        (slot, Tenure::new(published, tenure))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for published in self.0.iter().flatten() {
            published.tell(Input::Stop);
        }
    }
}
