//! An election with the habits of the Go library for NATS key-value buckets: its limits, a win that is announced late, callbacks for won and
//! lost, a backoff and a splay.
//!
//! `cargo run --example nats-election`

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use tenure::backend::memory::{Faults, MemoryBackend};
use tenure::{Backoff, Campaign, CandidateBuilder, Change, Election, Error, Event, Events, Limits, RateBound, State};

const SECOND: Duration = Duration::from_secs(1);

/// What is common to all members.
fn habits(candidate: CandidateBuilder) -> CandidateBuilder {
    candidate
        // Leadership begins one interval and one good renewal after the win: a former leader that notices late has stood down by then.
        .announce_late()
        // A fleet that starts together does not stand together.
        .splay(SECOND / 4)
        // Those who do not win try ever more rarely. Where the store pushes, as here, they hear of a vacancy all the same.
        .backoff(Backoff::exponential(SECOND / 4, SECOND))
}

struct Member {
    name: &'static str,
    campaign: Campaign,
    changes: Receiver<Change>,
    events: Events,
    cable: Faults,
}

impl Member {
    fn start(name: &'static str, store: &MemoryBackend) -> Result<Self, Error> {
        let client = store.client();
        let cable = client.faults();
        // The shortest lease within those limits is 30 s. Without them it can be shorter, and this program is soon over.
        let candidate = Election::new(client, "election")?.candidate(name).lease(SECOND * 3);
        let candidate = habits(candidate).renew_at_percent(50).call_timeout(SECOND / 3).build()?;
        let (told, changes) = channel();
        // The callback has a thread of its own and may take its time. Nobody may be there to hear it when this program ends.
        let campaign = candidate.start_with(move |change| told.send(change).unwrap_or_default())?;
        Ok(Member { name, events: campaign.events(), campaign, changes, cable })
    }

    /// What its callback is told next.
    fn heard(&self) -> String {
        match self.changes.recv().expect("the campaign is still there") {
            Change::Gained { token: Some(token) } => format!("{} won, with token {token}", self.name),
            Change::Gained { token: None } => format!("{} won", self.name),
            Change::Lost { ending } => format!("{} lost: {ending}", self.name),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let store = MemoryBackend::new();
    limits(&Election::new(store.client(), "election")?)?;

    let start = Instant::now();
    let say = |what: &str| println!("{:>4.1} s  {what}", start.elapsed().as_secs_f64());
    let mut members = Vec::new();
    for name in ["member 1", "member 2", "member 3"] {
        members.push(Member::start(name, &store)?);
    }

    let winner = until(&members, |campaign| campaign.state() == State::Settling).await;
    say(&format!("{} holds the office, and says nothing yet", members[winner].name));
    let first = members.remove(until(&members, Campaign::is_leader).await);
    say(&first.heard());

    // Given up in due form: nobody has to wait for a former leader, so the next one is announced at once.
    first.campaign.stop().await?;
    say(&first.heard());
    let second = members.remove(until(&members, Campaign::is_leader).await);
    say(&second.heard());

    // Cut off: it stands down by its own clock; the next one waits for the lease, and then for the announcement.
    second.cable.sever();
    say(&format!("{} is cut off", second.name));
    say(&second.heard());
    let mut third = members.remove(until(&members, Campaign::is_leader).await);
    say(&third.heard());

    // What happened is also a stream, from the state at the beginning to the end; each attempt says from which state it was made.
    third.campaign.stop().await?;
    let mut attempts = Vec::new();
    while let Some(event) = third.events.next().await {
        if let Event::Attempted { was } = event {
            attempts.push(was);
        }
    }
    println!("\n{} stood {} times; before each it was {:?}.", third.name, attempts.len(), attempts[0]);
    Ok(())
}

/// The limits, with the numbers that go with them.
fn limits(election: &Election) -> Result<(), Error> {
    let usual = election.candidate("member").limits(Limits::NATS_ELECTION).lease(SECOND * 30).renew_at_percent(75);
    // That library renews at 75 % of the lease. It leaves little, and with what is usual elsewhere too little.
    let refused = habits(usual.clone()).build().expect_err("a holder would step down before it renews");
    println!("Refused: {refused}.");
    // It can be had by those who have better clocks, stop sooner and answer sooner.
    let better = RateBound::percent(8).expect("it is below one half");
    let taken = habits(usual).clock_rate_bound(better).grace(SECOND / 2).call_timeout(SECOND).build()?;
    let deadline = taken.timing().deadline_after(SECOND * 30).expect("it was just taken");
    println!("Taken: renew every {:?}, step down after {deadline:.1?}.\n", taken.timing().renew_interval());
    Ok(())
}

/// Waits until this is so for one of them.
async fn until(members: &[Member], is_so: impl Fn(&Campaign) -> bool) -> usize {
    loop {
        match members.iter().position(|member| is_so(&member.campaign)) {
            Some(one) => return one,
            None => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}
