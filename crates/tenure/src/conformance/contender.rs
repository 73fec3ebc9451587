//! A candidate at the seam, without machine or driver: it makes the calls that a case tells it to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::bench::Bench;
use crate::backend::{
    Administer, Attempt, AttemptId, Beat, Bid, Cover, Due, Grant, Held, Hint, Renewal, SessionId, Sight, Standing,
    TenureId, Version, Watch,
};
use crate::machine::Plan;
use crate::{Backend, CandidateName, Error, Moment, Seat, TimingBuilder};

/// So often a call that fails for the moment is made.
const TRIES: usize = 3;

/// One process that runs for offices: a client, a name, and the nonce of one incarnation.
pub(super) struct Contender {
    bench: Bench,
    client: usize,
    backend: Arc<dyn Backend>,
    name: CandidateName,
    nonce: u64,
    lease: Duration,
    advertise: Arc<[u8]>,
    count: AtomicU64,
}

/// An office that a contender was elected to.
#[derive(Clone, Debug)]
pub(super) struct Office {
    pub(super) bid: Bid,
    pub(super) grant: Grant,
    /// The clock before the last call that extended it was made.
    pub(super) sent: Moment,
}

impl Office {
    /// Until when the store surely keeps it, if nobody extends it.
    pub(super) fn kept_until(&self) -> Moment {
        match self.grant.cover {
            Cover::Own { ttl } => self.sent.after(ttl),
            Cover::Shared { from, ttl, .. } => from.after(ttl),
        }
    }

    pub(super) fn ttl(&self) -> Duration {
        match self.grant.cover {
            Cover::Own { ttl } | Cover::Shared { ttl, .. } => ttl,
        }
    }

    #[track_caller]
    pub(super) fn token(&self) -> u64 {
        self.grant.token.expect("a backend that has tokens grants one with every tenure")
    }

    #[track_caller]
    pub(super) fn session(&self) -> SessionId {
        match self.grant.cover {
            Cover::Shared { session, .. } => session,
            Cover::Own { .. } => panic!("a backend that shares sessions covers its records by one"),
        }
    }
}

impl Contender {
    pub(super) fn new(bench: &Bench, name: &str, lease: Duration) -> Self {
        let (client, backend) = bench.client();
        Contender {
            client,
            backend,
            name: CandidateName::new(name).expect("the suite's own names are legal"),
            nonce: fastrand::u64(1..),
            lease,
            advertise: Arc::default(),
            count: AtomicU64::new(0),
            bench: bench.clone(),
        }
    }

    pub(super) fn advertising(mut self, bytes: &[u8]) -> Self {
        self.advertise = bytes.into();
        self
    }

    pub(super) fn asking_for(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// The number of its client.
    pub(super) fn client(&self) -> usize {
        self.client
    }

    pub(super) fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    pub(super) fn administer(&self) -> &dyn Administer {
        self.backend.administer().expect("the case was chosen by it")
    }

    /// A bid for a new tenure.
    pub(super) fn bid(&self, seat: &Seat) -> Bid {
        self.bid_displacing(seat, None)
    }

    pub(super) fn bid_displacing(&self, seat: &Seat, version: Option<Version>) -> Bid {
        let count = 1 + self.count.fetch_add(1, Ordering::Relaxed);
        Bid::new(self.plan(seat), TenureId::new(self.nonce, count), version)
    }

    /// The same tenure, with leave to displace.
    pub(super) fn displacing(&self, bid: &Bid, version: &Version) -> Bid {
        Bid::new(self.plan(bid.seat()), bid.tenure(), Some(version.clone()))
    }

    fn plan(&self, seat: &Seat) -> Arc<Plan> {
        let timing = TimingBuilder { lease: Some(self.lease), ..TimingBuilder::default() }.build();
        let timing = Arc::new(timing.expect("every lease has a safe timing"));
        let plan = Plan::new(seat.clone(), self.name.clone(), self.nonce, timing, self.bench.kind().traits);
        Arc::new(plan.advertising(self.advertise.clone()))
    }

    pub(super) fn attempt(&self) -> Attempt {
        let id = AttemptId(1 + self.count.fetch_add(1, Ordering::Relaxed));
        Attempt { id, sent: self.bench.now() }
    }

    pub(super) async fn try_stand(&self, bid: &Bid) -> Result<(Standing, Moment), Error> {
        let attempt = self.attempt();
        let standing = self.answered("stand", self.backend.stand(bid, attempt)).await?;
        Ok((standing, attempt.sent))
    }

    /// As a candidate does: what fails for the moment is tried again. The same bid may be made twice.
    async fn stand_patiently(&self, bid: &Bid) -> (Standing, Moment) {
        let mut outcome = self.try_stand(bid).await;
        for _ in 1..TRIES {
            if outcome.as_ref().is_err_and(Error::is_transient) {
                outcome = self.try_stand(bid).await;
            }
        }
        outcome.unwrap_or_else(|error| panic!("{} could not stand: {error:?}", self.name))
    }

    pub(super) async fn stand(&self, bid: &Bid) -> Standing {
        self.stand_patiently(bid).await.0
    }

    /// Stands; the office, if elected.
    pub(super) async fn runs(&self, bid: &Bid) -> Option<Office> {
        let (standing, sent) = self.stand_patiently(bid).await;
        match standing {
            Standing::Elected(grant) => {
                assert_eq!(grant.tenure, bid.tenure(), "a grant is for the tenure that was bid for");
                Some(Office { bid: bid.clone(), grant, sent })
            }
            Standing::Held(_) => None,
            Standing::Queued(..) => {
                assert!(self.bench.kind().queues(), "{} was queued by a store that says it has no queues", self.name);
                None
            }
        }
    }

    /// Stands for a new tenure, and must win it.
    pub(super) async fn wins(&self, seat: &Seat) -> Office {
        let bid = self.bid(seat);
        self.wins_with(&bid).await
    }

    pub(super) async fn wins_with(&self, bid: &Bid) -> Office {
        match self.runs(bid).await {
            Some(office) => office,
            None => {
                panic!("{} was not elected to an office that is free: {:?}", self.name, self.sees(bid.seat()).await)
            }
        }
    }

    /// Stands for a new tenure, and must not win it; says what it was shown. Nothing of the bid stays in a queue.
    pub(super) async fn is_refused(&self, seat: &Seat) -> Sight {
        self.is_refused_with(&self.bid(seat)).await
    }

    pub(super) async fn is_refused_with(&self, bid: &Bid) -> Sight {
        match self.stand(bid).await {
            Standing::Held(sight) => sight,
            Standing::Queued(sight, _) => {
                self.withdraw(bid).await;
                sight
            }
            Standing::Elected(grant) => panic!("{} was elected to an office that another holds: {grant:?}", self.name),
        }
    }

    /// Stands for a new tenure, and must be put into the queue.
    pub(super) async fn is_queued(&self, seat: &Seat) -> Bid {
        let bid = self.bid(seat);
        self.is_still_queued(&bid).await;
        bid
    }

    pub(super) async fn is_still_queued(&self, bid: &Bid) {
        match self.stand(bid).await {
            Standing::Queued(..) => {}
            other => panic!("{} was to wait in the queue: {other:?}", self.name),
        }
    }

    pub(super) async fn try_renew(&self, office: &Office) -> Result<Renewal, Error> {
        self.try_renew_at(&office.bid, &office.grant.version, self.attempt()).await
    }

    async fn try_renew_at(&self, bid: &Bid, version: &Version, attempt: Attempt) -> Result<Renewal, Error> {
        self.answered("renew", self.backend.renew(bid, version, attempt)).await
    }

    /// Renews, and must succeed.
    pub(super) async fn renews(&self, office: &Office) -> Office {
        let attempt = self.attempt();
        match self.try_renew_at(&office.bid, &office.grant.version, attempt).await {
            Ok(Renewal::Extended(grant)) => {
                assert_eq!(grant.tenure, office.bid.tenure(), "a renewal is of the tenure that it was asked for");
                Office { bid: office.bid.clone(), grant, sent: attempt.sent }
            }
            other => panic!("{} could not renew what it holds: {other:?}", self.name),
        }
    }

    /// Renews, and must be told that the record has another version.
    pub(super) async fn cannot_renew(&self, bid: &Bid, version: &Version) -> Sight {
        match self.try_renew_at(bid, version, self.attempt()).await {
            Ok(Renewal::Mismatch(sight)) => sight,
            other => panic!("{} renewed what it does not hold in this version: {other:?}", self.name),
        }
    }

    /// Extends an office as the driver would: by a heartbeat where a session covers it, by a renewal elsewhere.
    pub(super) async fn keeps(&self, office: &Office) -> Office {
        let Cover::Shared { session, .. } = office.grant.cover else {
            return self.renews(office).await;
        };
        let from = self.bench.now();
        match self.beat(session).await {
            Beat::Extended { ttl } => {
                let cover = Cover::Shared { session, from, ttl };
                Office { grant: Grant { cover, ..office.grant.clone() }, sent: from, ..office.clone() }
            }
            Beat::Lost => panic!("{} lost a session whose time was not over", self.name),
        }
    }

    /// As a heart does: what fails for the moment is tried again.
    pub(super) async fn beat(&self, session: SessionId) -> Beat {
        let mut outcome = self.try_beat(session).await;
        for _ in 1..TRIES {
            if outcome.as_ref().is_err_and(Error::is_transient) {
                outcome = self.try_beat(session).await;
            }
        }
        outcome.unwrap_or_else(|error| panic!("{} could not beat: {error:?}", self.name))
    }

    async fn try_beat(&self, session: SessionId) -> Result<Beat, Error> {
        self.answered("heartbeat", self.backend.heartbeat(session, self.attempt())).await
    }

    pub(super) async fn renew_many(&self, offices: &[&Office]) -> Vec<Renewal> {
        let due = |office: &&Office| Due {
            bid: office.bid.clone(),
            version: office.grant.version.clone(),
            attempt: self.attempt(),
        };
        let due: Vec<_> = offices.iter().map(due).collect();
        let answers = self.answered("renew_many", self.backend.renew_many(&due)).await;
        answers.into_iter().map(|answer| answer.expect("the store was not disturbed")).collect()
    }

    pub(super) async fn try_withdraw(&self, bid: &Bid) -> Result<(), Error> {
        self.answered("withdraw", self.backend.withdraw(bid)).await
    }

    pub(super) async fn withdraw(&self, bid: &Bid) {
        self.try_withdraw(bid).await.unwrap_or_else(|error| panic!("{} could not withdraw: {error:?}", self.name));
    }

    pub(super) async fn try_inspect(&self, seat: &Seat) -> Result<Sight, Error> {
        self.answered("inspect", self.backend.inspect(seat)).await
    }

    pub(super) async fn sees(&self, seat: &Seat) -> Sight {
        self.try_inspect(seat).await.unwrap_or_else(|error| panic!("{} could not look: {error:?}", self.name))
    }

    /// Looks, and must see a holder.
    pub(super) async fn sees_holder(&self, seat: &Seat) -> Held {
        match self.sees(seat).await {
            Sight::Held(held) => held,
            Sight::Vacant(why) => panic!("{} saw nobody in an office that is held: {why:?}", self.name),
        }
    }

    /// Looks, and must see nobody.
    pub(super) async fn sees_nobody(&self, seat: &Seat) {
        if let Sight::Held(held) = self.sees(seat).await {
            panic!("{} saw a holder in an office that is vacant: {held:?}", self.name);
        }
    }

    /// Looks, and must see this tenure in this very version.
    pub(super) async fn sees_unchanged(&self, office: &Office) {
        let held = self.sees_holder(office.bid.seat()).await;
        assert_eq!(held.tenure, Some(office.bid.tenure()), "another holds the office");
        assert_eq!(held.version, office.grant.version, "the record was written");
    }

    /// A watch that is armed.
    pub(super) async fn watches(&self, seat: &Seat, bid: Option<&Bid>) -> Watch {
        let mut watch = self.subscribes(seat, bid).await;
        let first = self.bench.hint(&mut watch, self.bench.stretch()).await;
        assert_eq!(first, Some(Some(Hint::Armed)), "the first hint says that the subscription stands");
        watch
    }

    pub(super) async fn subscribes(&self, seat: &Seat, bid: Option<&Bid>) -> Watch {
        let watch = self.answered("watch", self.backend.watch(seat, bid)).await;
        watch.unwrap_or_else(|error| panic!("{} could not watch: {error:?}", self.name))
    }

    /// Comes into the office of a holder that is silent from now on, as soon as the store allows it; says when that was.
    pub(super) async fn succeeds(&self, office: &Office) -> (Office, Moment) {
        let seat = office.bid.seat();
        if self.bench.kind().contenders_judge() {
            let bid = self.bid_displacing(seat, Some(self.sees_holder(seat).await.version));
            return (self.wins_with(&bid).await, self.bench.now());
        }
        let bid = self.bid(seat);
        let deadline = office.ttl() + self.bench.stretch();
        let what = format!("{} succeeds a silent holder", self.name);
        let succession = self.bench.eventually(deadline, what, || async {
            let elected = self.runs(&bid).await?;
            Some((elected, self.bench.now()))
        });
        succession.await
    }

    async fn answered<T>(&self, call: &str, answer: impl Future<Output = T>) -> T {
        let patience = self.bench.patience();
        match tokio::time::timeout(patience, answer).await {
            Ok(answer) => answer,
            Err(_) => panic!("{call} of {} was not answered within {patience:?}", self.name),
        }
    }
}
