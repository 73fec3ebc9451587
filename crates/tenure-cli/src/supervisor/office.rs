//! Running for an office, and holding it.

use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use serde_json::json;
use tenure::{BootClock, Campaign, Candidate, Clock, Error, Event, Leadership, Moment, Seat, State, Tenure};

use super::config::Patience;
use crate::exit::{Exit, Origin};
use crate::report::{Report, Tone};
use crate::{duration, incumbent};

/// An office that was won.
#[derive(Debug)]
pub(crate) struct Office {
    pub(crate) seat: Seat,
    pub(crate) leadership: Leadership,
    pub(crate) since: Moment,
    hold: Hold,
}

#[derive(Debug)]
enum Hold {
    Campaign(Rc<Campaign>),
    Tenure(Tenure),
}

impl Office {
    /// Runs for the first free of these until it is won, or patience is over. Dropping the future gives the campaign up.
    pub(crate) async fn win(candidates: &[Candidate], patience: Patience, report: &Report) -> Result<Office, Exit> {
        match patience {
            Patience::None => Office::tried(candidates).await,
            Patience::Endless => Office::campaigned(candidates, None, report).await,
            Patience::For(span) => Office::campaigned(candidates, Some(span), report).await,
        }
    }

    /// Gives it up: nothing of it runs any more. Returns when the store has confirmed it and the minimum hold is over.
    pub(crate) async fn give_up(self) -> Result<(), Error> {
        match self.hold {
            Hold::Campaign(campaign) => campaign.stop().await,
            Hold::Tenure(tenure) => tenure.resign().await,
        }
    }

    async fn tried(candidates: &[Candidate]) -> Result<Office, Exit> {
        let mut failure = None;
        for candidate in candidates {
            match candidate.try_campaign().await {
                Ok(Some(tenure)) => return Ok(Office::of_tenure(candidate, tenure)),
                Ok(None) => {}
                Err(error) => failure = Some(error),
            }
        }
        if let Some(error) = failure {
            return Err(error.into());
        }
        let what = match candidates {
            [one] => format!("another holds {}", one.election()),
            several => format!("all {} offices are held", several.len()),
        };
        Err(Exit::new(Origin::Held, format!("{what}, and --no-wait was given")))
    }

    async fn campaigned(candidates: &[Candidate], patience: Option<Duration>, report: &Report) -> Result<Office, Exit> {
        let mut campaigns = Vec::new();
        let search = search(candidates, &mut campaigns, report);
        let found = match patience {
            None => Some(search.await),
            Some(span) => tokio::time::timeout(span, search).await.ok(),
        };
        let Some(found) = found else {
            return Err(given_up(candidates, &campaigns, patience.unwrap_or_default()).await);
        };
        let (slot, leadership) = found?;
        // The others end when they are dropped: what one of them won meanwhile it gives back.
        let hold = Hold::Campaign(campaigns.swap_remove(slot));
        Ok(Office { since: BootClock.now(), seat: candidates[slot].election().clone(), leadership, hold })
    }

    fn of_tenure(candidate: &Candidate, tenure: Tenure) -> Office {
        let leadership = Leadership::clone(&tenure);
        Office { since: BootClock.now(), seat: candidate.election().clone(), leadership, hold: Hold::Tenure(tenure) }
    }
}

/// Runs for these one after another, each as soon as the one before has answered, and returns the first that is won. A silent store is not
/// knocked at through N doors. The campaigns stay with the caller, whatever becomes of this.
async fn search(
    candidates: &[Candidate],
    campaigns: &mut Vec<Rc<Campaign>>,
    report: &Report,
) -> Result<(usize, Leadership), Exit> {
    let mut running = Vec::new();
    for candidate in candidates {
        let campaign = Rc::new(candidate.start()?);
        campaigns.push(campaign.clone());
        running.push(Some(Box::pin(won(campaign.clone(), candidate, report))));
        tokio::select! {
            biased;
            first = first(&mut running) => return first,
            () = answered(&campaign) => {}
        }
    }
    first(&mut running).await
}

/// The first of these that is won; an error only when all of them have ended in one.
async fn first<F: Future<Output = Result<Leadership, Exit>>>(
    running: &mut [Option<Pin<Box<F>>>],
) -> Result<(usize, Leadership), Exit> {
    std::future::poll_fn(|context| {
        let mut failure = None;
        for (slot, future) in running.iter_mut().enumerate() {
            match future.as_mut().map(|future| future.as_mut().poll(context)) {
                Some(Poll::Ready(Ok(leadership))) => return Poll::Ready(Ok((slot, leadership))),
                Some(Poll::Ready(Err(exit))) => (*future, failure) = (None, Some(exit)),
                Some(Poll::Pending) | None => {}
            }
        }
        match failure {
            Some(exit) if running.iter().all(Option::is_none) => Poll::Ready(Err(exit)),
            _ => Poll::Pending,
        }
    })
    .await
}

/// Waits until one campaign has won, and tells meanwhile what there is to tell.
async fn won(campaign: Rc<Campaign>, candidate: &Candidate, report: &Report) -> Result<Leadership, Exit> {
    tokio::select! {
        leadership = campaign.wait_for_leadership() => Ok(leadership?),
        never = narrated(&campaign, candidate, report) => match never {},
    }
}

/// Waits until the store has said anything about this office.
async fn answered(campaign: &Campaign) {
    let mut events = campaign.events();
    while campaign.incumbent().is_none() && campaign.last_error().is_none() && events.next().await.is_some() {}
}

/// Patience is over: were the offices held, or was there no store?
async fn given_up(candidates: &[Candidate], campaigns: &[Rc<Campaign>], span: Duration) -> Exit {
    let mut broken = campaigns.iter().filter(|campaign| campaign.incumbent().is_none());
    let error = broken.find_map(|campaign| campaign.last_error());
    let holder = campaigns.first().and_then(|campaign| campaign.incumbent());
    let stopped = async {
        for campaign in campaigns {
            let _ = campaign.stop().await;
        }
    };
    let _ = tokio::time::timeout(candidates[0].timing().call_timeout(), stopped).await;
    match (error, candidates) {
        (Some(error), _) => match Exit::from(error) {
            refused @ Exit { origin: Origin::BackendRefused, .. } => refused,
            other => Exit::new(Origin::BackendUnreachable, other.sentence),
        },
        (None, [one]) => waited(&format!("{}: {}", one.election(), incumbent::as_sentence(holder.as_ref())), span),
        (None, several) => waited(&format!("none of the {} offices was free", several.len()), span),
    }
}

fn waited(what: &str, span: Duration) -> Exit {
    Exit::new(Origin::WaitedTooLong, format!("{what}, and --max-wait {} is over", duration::shown(span)))
}

/// Tells for whom one waits, and what goes wrong meanwhile.
async fn narrated(campaign: &Campaign, candidate: &Candidate, report: &Report) -> std::convert::Infallible {
    let seat = candidate.election();
    let mut events = campaign.events();
    let mut last_failure = String::new();
    // One who leads already when the events begin is not told of again.
    let mut told = None;
    loop {
        let holder = campaign.incumbent().filter(|_| !campaign.is_leader());
        if holder.is_some() && holder != told {
            let sentence = format!("waiting for {seat}: {}", incumbent::as_sentence(holder.as_ref()));
            let leader = incumbent::as_json(holder.as_ref());
            report.tell("waiting", json!({ "election": seat.as_str(), "leader": leader }), Tone::Plain, &sentence);
            told = holder;
        }
        match events.next().await {
            Some(Event::Failed { message }) if *message != *last_failure => {
                let sentence = format!("{message}; trying again");
                report.tell("trying", json!({ "message": &*message }), Tone::Warning, &sentence);
                last_failure = message.to_string();
            }
            // It may have been won before anybody listened.
            Some(Event::Settled | Event::Currently { state: State::Settling, .. }) => {
                let settle = candidate.timing().settle();
                let shown = duration::shown(settle);
                let sentence =
                    format!("{seat} is won; leading begins when whoever led before has had {shown} to stop in");
                let fields = json!({ "election": seat.as_str(), "for": settle.as_secs_f64() });
                report.tell("settling", fields, Tone::Plain, &sentence);
            }
            Some(Event::Alarmed(alarm)) => report.alarm(&alarm),
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}
