//! Running for an office, and holding it.

use std::time::Duration;

use serde_json::json;
use tenure::{BootClock, Campaign, Candidate, Clock, Error, Event, Leadership, Moment, Seat, Tenure, first_free};

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
    Campaign(Campaign),
    Tenure(Tenure),
}

impl Office {
    /// Runs for the first free of these until it is won, or patience is over. Dropping the future gives the campaign up.
    pub(crate) async fn win(candidates: &[Candidate], patience: Patience, report: &Report) -> Result<Office, Exit> {
        match (candidates, patience) {
            (_, Patience::None) => Office::tried(candidates).await,
            ([candidate], Patience::Endless) => Office::campaigned(candidate, None, report).await,
            ([candidate], Patience::For(span)) => Office::campaigned(candidate, Some(span), report).await,
            (_, patience) => Office::searched(candidates, patience).await,
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
        for candidate in candidates {
            if let Some(tenure) = candidate.try_campaign().await? {
                return Ok(Office::of_tenure(candidate, tenure));
            }
        }
        let what = match candidates {
            [one] => format!("another holds {}", one.election()),
            several => format!("all {} offices are held", several.len()),
        };
        Err(Exit::new(Origin::Held, format!("{what}, and --no-wait was given")))
    }

    async fn searched(candidates: &[Candidate], patience: Patience) -> Result<Office, Exit> {
        let patience = if let Patience::For(span) = patience { Some(span) } else { None };
        let (slot, tenure) = first_free(candidates, patience).await.map_err(|error| {
            let exit = Exit::from(error);
            match (exit.origin, patience) {
                (Origin::WaitedTooLong, Some(span)) => waited("none of the offices was free", span),
                _ => exit,
            }
        })?;
        Ok(Office::of_tenure(&candidates[slot], tenure))
    }

    async fn campaigned(candidate: &Candidate, patience: Option<Duration>, report: &Report) -> Result<Office, Exit> {
        let campaign = candidate.start()?;
        let won = async {
            tokio::select! {
                leadership = campaign.wait_for_leadership() => leadership.map_err(Exit::from),
                never = narrated(&campaign, candidate.election(), report) => match never {},
            }
        };
        let leadership = match patience {
            None => won.await?,
            Some(span) => match tokio::time::timeout(span, won).await {
                Ok(won) => won?,
                Err(_) => return Err(given_up(&campaign, candidate, span).await),
            },
        };
        Ok(Office {
            since: BootClock.now(),
            seat: candidate.election().clone(),
            leadership,
            hold: Hold::Campaign(campaign),
        })
    }

    fn of_tenure(candidate: &Candidate, tenure: Tenure) -> Office {
        let leadership = Leadership::clone(&tenure);
        Office { since: BootClock.now(), seat: candidate.election().clone(), leadership, hold: Hold::Tenure(tenure) }
    }
}

/// Patience is over: was the office held, or was there no store?
async fn given_up(campaign: &Campaign, candidate: &Candidate, span: Duration) -> Exit {
    let (holder, error) = (campaign.incumbent(), campaign.last_error());
    let _ = tokio::time::timeout(candidate.timing().call_timeout(), campaign.stop()).await;
    match (holder, error) {
        (None, Some(error)) => Exit::new(Origin::BackendUnreachable, error.to_string()),
        (holder, _) => waited(&format!("{}: {}", candidate.election(), incumbent::as_sentence(holder.as_ref())), span),
    }
}

fn waited(what: &str, span: Duration) -> Exit {
    Exit::new(Origin::WaitedTooLong, format!("{what}, and --max-wait {} is over", duration::shown(span)))
}

/// Tells for whom one waits, and what goes wrong meanwhile.
async fn narrated(campaign: &Campaign, seat: &Seat, report: &Report) -> std::convert::Infallible {
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
            Some(Event::Alarmed(alarm)) => {
                report.tell("alarm", json!({ "message": alarm.to_string() }), Tone::Failure, &alarm.to_string());
            }
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}
