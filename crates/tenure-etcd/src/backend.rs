//! Elections in etcd.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure::backend::{
    Administer, Answer, Attempt, Backend, Beat, Bid, Cover, ForeignPeers, Grant, Incarnation, Promise, Renewal,
    SessionId, Sight, Standing, TenureId, Traits, Vacancies, Vacancy, Version, Watch,
};
use tenure::mutant::{Mutant, planted};
use tenure::{Clock, Error, ErrorKind, Seat};

use crate::builder::EtcdBuilder;
use crate::keys::Keys;
use crate::queue::{self, Queue};
use crate::record::{Place, Record};
use crate::sessions::{self, Claim, Debt, Sessions};
use crate::watching;
use crate::wire::message::{
    Compare, KeyValue, LeaseResponse, PutRequest, RangeRequest, Request, ResponseHeader, TxnRequest,
};
use crate::wire::{Effect, Link, Refusal, Why};

/// etcd as a place for elections.
///
/// One value and its clones share leases: one keepalive serves up to 1,000 elections. Candidates wait in etcd's own queue; whoever has the lowest
/// create revision leads, and that revision is the fencing token. Nothing is sent before the first call.
#[derive(Clone)]
pub struct EtcdBackend {
    store: Arc<Store>,
}

/// What one backend value has of a cluster.
pub(crate) struct Store {
    pub(crate) link: Link,
    pub(crate) keys: Keys,
    pub(crate) sessions: Sessions,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) place: String,
    pub(crate) peers: Option<ForeignPeers>,
    /// For calls of which nobody says how long they may take.
    pub(crate) patience: Duration,
}

/// What became of a bid.
enum Joined {
    /// It has the place that this revision created; this one is first.
    At(i64, Option<Place>, ResponseHeader),
    /// It came late: a newer bid of the same candidate has the place.
    Late(Option<Place>),
    /// What was in its way is gone: again.
    Again,
}

impl EtcdBackend {
    /// The cluster at this address: `etcd://HOST:PORT,HOST:PORT/PREFIX`, or `etcds://…` with TLS. See the crate's front page for options.
    pub fn new(url: &str) -> Result<Self, Error> {
        EtcdBuilder::from_url(url)?.build()
    }

    /// A cluster with these members, each `HOST`, `HOST:PORT` or `[IPV6]:PORT`.
    pub fn builder<H: AsRef<str>>(members: impl IntoIterator<Item = H>) -> EtcdBuilder {
        EtcdBuilder::new(members)
    }

    pub(crate) fn of(store: Store) -> Self {
        EtcdBackend { store: Arc::new(store) }
    }
}

impl Store {
    /// A bid whose queue changes under it is made anew so often.
    const TRIES: usize = 5;
    /// No call is given up sooner: a busy disk takes its time.
    const LEAST_PATIENCE: Duration = Duration::from_secs(1);
    /// Between two tries of what fails at once.
    const BREATH: Duration = Duration::from_millis(50);
    /// So long a bid whose outcome is unknown may still land: a kernel keeps sending for a quarter of an hour what a partition holds up, also after the
    /// connection was closed. To look costs one read a keepalive.
    const LATEST_LANDING: Duration = Duration::from_secs(15 * 60);

    pub(crate) fn queue<'a>(&'a self, seat: &'a Seat, within: Duration) -> Queue<'a> {
        Queue { link: &self.link, keys: &self.keys, seat, within }
    }

    fn queue_for<'a>(&'a self, bid: &'a Bid) -> Queue<'a> {
        self.queue(bid.seat(), bid.call_timeout().max(Self::LEAST_PATIENCE))
    }

    async fn stand(&self, bid: &Bid, attempt: Attempt) -> Result<Standing, Error> {
        let mut landed = false;
        let stood = self.stand_noting(bid, attempt, &mut landed).await;
        // SAFETY 9: a bid that has had its place may have it still, whatever went wrong after that.
        let landed = landed && !planted(Mutant::EtcdLandedCalledUndone);
        stood.map_err(|error| if landed { error.indeterminate() } else { error })
    }

    async fn stand_noting(&self, bid: &Bid, attempt: Attempt, landed: &mut bool) -> Result<Standing, Error> {
        let queue = self.queue_for(bid);
        if let Some(standing) = self.stand_again(bid, &queue).await? {
            return Ok(standing);
        }
        for _ in 0..Self::TRIES {
            let lease = self.session_for(bid, attempt, queue.within).await?;
            if let Some(newer) = self.leave_former_place(bid, lease, &queue).await? {
                return Ok(newer);
            }
            match self.join(bid, lease, &queue).await? {
                Joined::Again => {}
                Joined::Late(first) => return Ok(Standing::Held(queue::sight(first.as_ref()))),
                Joined::At(created, first, header) => {
                    *landed = true;
                    self.sessions.confirmed(bid.seat(), bid.tenure(), created);
                    self.sessions.settled(bid.seat(), bid.tenure());
                    let first = match bid.displace() {
                        Some(version) => self.displace(version, first, &queue, bid).await?,
                        None => first,
                    };
                    if let Some(standing) = self.standing(bid, lease, first, header) {
                        return Ok(standing);
                    }
                }
            }
        }
        Err(Error::unavailable("the queue, or the lease in it, changed at every try"))
    }

    /// A bid that has its place already asks who is first, and writes nothing.
    async fn stand_again(&self, bid: &Bid, queue: &Queue<'_>) -> Result<Option<Standing>, Error> {
        let Some(Claim { lease, created: Some(created), .. }) =
            self.sessions.claim(bid.seat()).filter(|claim| claim.tenure == bid.tenure())
        else {
            return Ok(None);
        };
        if self.sessions.cover(lease, self.clock.now()).is_none() {
            return Ok(None);
        }
        let key = self.keys.place(bid.seat(), lease);
        let txn = TxnRequest {
            compare: vec![Compare::created(key, created)],
            success: vec![Request::Range(queue.first_request()).into()],
            failure: Vec::new(),
        };
        let mut answer = self.link.txn(txn, Effect::Reads, queue.within).await?;
        if !answer.succeeded {
            return Ok(None);
        }
        let header = queue::header(answer.header)?;
        let first = queue.first_of(queue::ranged(&mut answer, 0)).await?;
        let first = match bid.displace() {
            // It has its place, whatever becomes of this.
            Some(version) => self.displace(version, first, queue, bid).await.map_err(Error::indeterminate)?,
            None => first,
        };
        Ok(self.standing(bid, lease, first, header))
    }

    /// What a bid that has a place under this lease is told; `None` when the lease's time is over meanwhile.
    fn standing(&self, bid: &Bid, lease: i64, first: Option<Place>, header: ResponseHeader) -> Option<Standing> {
        let cover = self.sessions.cover(lease, self.clock.now())?;
        let own = self.keys.place(bid.seat(), lease);
        let leads = first.as_ref().is_some_and(|first| first.kv.key == own && first.is_of(bid.tenure()));
        Some(match first {
            Some(first) if leads => Standing::Elected(grant(bid.tenure(), &first, header, cover)),
            first => Standing::Queued(queue::sight(first.as_ref()), Some(cover)),
        })
    }

    /// A lease of ours with room, or a new one.
    async fn session_for(&self, bid: &Bid, attempt: Attempt, within: Duration) -> Result<i64, Error> {
        let asked = whole_seconds(bid.lease());
        if let Some(lease) = self.sessions.usable(bid.seat(), asked, self.clock.now()) {
            return Ok(lease);
        }
        let _opening = self.sessions.opening.lock().await;
        // Whoever waited may find that another has opened one.
        let now = self.clock.now();
        if let Some(lease) = self.sessions.usable(bid.seat(), asked, now) {
            return Ok(lease);
        }
        // SAFETY 1: what a lease is worth counts from before it was asked for. A bid that waited long for its turn counts from now, still before.
        let stale = now >= attempt.sent.after(within);
        let from = if stale { now } else { attempt.sent };
        // One that was granted unheard carries nothing and expires: nothing of ours has landed.
        let granted = self.link.grant(asked, within).await;
        let granted = granted.map_err(|refusal| as_if_read(refusal.into()))?;
        if granted.id == 0 || granted.ttl <= 0 {
            return Err(Error::unavailable("etcd granted no lease").because(granted.error));
        }
        let ttl = Duration::from_secs(granted.ttl.unsigned_abs());
        self.sessions.opened(granted.id, asked, from, ttl);
        Ok(granted.id)
    }

    /// A place of this candidate under a lease that is dead to us is none, and must not stand in the queue before the new one. That of a newer bid
    /// stays, for it may lead: a bid that comes after it hears who does.
    async fn leave_former_place(&self, bid: &Bid, lease: i64, queue: &Queue<'_>) -> Result<Option<Standing>, Error> {
        if let Some(former) = self.sessions.claim(bid.seat()).filter(|claim| claim.lease != lease)
            && former.tenure.nonce() == bid.tenure().nonce()
        {
            if bid.tenure().is_earlier_than(former.tenure) && !planted(Mutant::EtcdLateBidReplaces) {
                return Ok(Some(Standing::Held(queue::sight(queue.first().await?.found.as_ref()))));
            }
            self.clear(bid.seat(), former.tenure, former.lease, queue).await?;
            self.sessions.released(bid.seat(), former.tenure);
        }
        Ok(None)
    }

    /// Takes the place under this lease, or finds what is there.
    async fn join(&self, bid: &Bid, lease: i64, queue: &Queue<'_>) -> Result<Joined, Error> {
        let key = self.keys.place(bid.seat(), lease);
        self.sessions.claims(bid.seat(), bid.tenure(), lease);
        let put = PutRequest { key: key.clone(), value: Record::of(bid).encode(lease), lease, ignore_lease: false };
        let own = RangeRequest { key: key.clone(), ..RangeRequest::default() };
        let txn = TxnRequest {
            compare: vec![Compare::created(key, 0)],
            success: vec![Request::Put(put).into(), Request::Range(queue.first_request()).into()],
            failure: vec![Request::Range(own).into(), Request::Range(queue.first_request()).into()],
        };
        let mut answer = match self.link.txn(txn, Effect::Writes, queue.within).await {
            Ok(answer) => answer,
            Err(Refusal { why: Why::NoSuchLease, .. }) => {
                self.sessions.lost(lease);
                self.sessions.released(bid.seat(), bid.tenure());
                return Ok(Joined::Again);
            }
            Err(refusal) => {
                let error = Error::from(refusal);
                if error.is_indeterminate() {
                    let until = self.clock.now().after(Self::LATEST_LANDING);
                    self.sessions.owes(Debt { seat: bid.seat().clone(), tenure: bid.tenure(), lease, until });
                } else {
                    self.sessions.released(bid.seat(), bid.tenure());
                }
                return Err(error);
            }
        };
        let header = queue::header(answer.header)?;
        let first = queue::ranged(&mut answer, 1);
        if answer.succeeded {
            return Ok(Joined::At(header.revision, first_of_joined(queue, first).await?, header));
        }
        let Some(found) = queue::ranged(&mut answer, 0).into_iter().next().map(Place::read) else {
            return Ok(Joined::Again);
        };
        match found.tenure() {
            Some(tenure) if tenure == bid.tenure() => {
                Ok(Joined::At(found.kv.create_revision, first_of_joined(queue, first).await?, header))
            }
            // A bid that was given up and comes late must not take the place of a newer one: that one may lead by now.
            Some(tenure) if bid.tenure().is_earlier_than(tenure) && !planted(Mutant::EtcdLateBidReplaces) => {
                self.sessions.claims(bid.seat(), tenure, lease);
                self.sessions.confirmed(bid.seat(), tenure, found.kv.create_revision);
                Ok(Joined::Late(queue.first_of(first).await?))
            }
            // SAFETY 21: it would be one key with two leaders.
            Some(tenure) if tenure.nonce() != bid.tenure().nonce() && !self.sessions.is_owed(tenure) => {
                self.sessions.claims(bid.seat(), tenure, lease);
                self.sessions.confirmed(bid.seat(), tenure, found.kv.create_revision);
                Err(already_running())
            }
            // An earlier bid of ours, or what somebody made of our key. No two tenures share a create revision: it goes, and the bid queues anew.
            _ => {
                queue.remove(&found).await.map_err(Error::from)?;
                Ok(Joined::Again)
            }
        }
    }

    /// Removes the record that a bid may displace, if it is first in exactly this version; says who is first then.
    async fn displace(
        &self,
        version: &Version,
        first: Option<Place>,
        queue: &Queue<'_>,
        bid: &Bid,
    ) -> Result<Option<Place>, Error> {
        match first {
            Some(place) if place.has_version(version) && !place.is_of(bid.tenure()) && !place.is_bar() => {
                queue.remove(&place).await?;
                Ok(queue.first().await?.found)
            }
            first => Ok(first),
        }
    }

    async fn renew(&self, bid: &Bid, version: &Version, attempt: Attempt) -> Result<Renewal, Error> {
        let queue = self.queue_for(bid);
        let read = queue.first().await?;
        let ours = |place: &&Place| place.is_of(bid.tenure()) && place.has_version(version);
        let Some(place) = read.found.as_ref().filter(ours) else {
            return Ok(Renewal::Mismatch(queue::sight(read.found.as_ref())));
        };
        let lease = place.kv.lease;
        match self.heartbeat(sessions::id_of(lease), attempt).await? {
            Beat::Extended { ttl } => {
                let cover = Cover::Shared { session: sessions::id_of(lease), from: attempt.sent, ttl };
                Ok(Renewal::Extended(grant(bid.tenure(), place, read.header, cover)))
            }
            Beat::Lost => Ok(Renewal::Mismatch(queue.first().await.map(|read| queue::sight(read.found.as_ref()))?)),
        }
    }

    async fn withdraw(&self, bid: &Bid) -> Result<(), Error> {
        let queue = self.queue_for(bid);
        let claim = self.sessions.claim(bid.seat()).filter(|claim| claim.tenure == bid.tenure());
        let withdrawn = match claim {
            Some(claim) => self.clear(bid.seat(), claim.tenure, claim.lease, &queue).await,
            None => self.clear_wherever(bid, &queue).await,
        };
        match (withdrawn, claim) {
            (Err(error), Some(Claim { lease, tenure, .. })) => {
                // The lease may live on for other elections, and the place with it: it is looked for again. So it may go yet, whatever was
                // refused now.
                let until = self.clock.now().after(Self::LATEST_LANDING);
                self.sessions.owes(Debt { seat: bid.seat().clone(), tenure, lease, until });
                Err(if planted(Mutant::EtcdOwedCalledUndone) { error } else { error.indeterminate() })
            }
            (withdrawn, _) => {
                self.sessions.released(bid.seat(), bid.tenure());
                withdrawn
            }
        }
    }

    /// Removes the place of a tenure under a lease of ours: it touches that one key only (SAFETY 21).
    async fn clear(&self, seat: &Seat, tenure: TenureId, lease: i64, queue: &Queue<'_>) -> Result<(), Error> {
        let key = self.keys.place(seat, lease);
        let created = self.sessions.claim(seat).filter(|claim| (claim.tenure, claim.lease) == (tenure, lease));
        if let Some(created) = created.and_then(|claim| claim.created) {
            // Whoever was asked to resign has another version, and this create revision; whoever was evicted has it under another lease.
            let ours = vec![Compare::created(key.clone(), created), Compare::kept_by(key.clone(), lease)];
            queue.delete_if(ours, key).await?;
            return Ok(());
        }
        for _ in 0..Self::TRIES {
            match queue.place(&key).await?.found.filter(|place| place.is_of(tenure)) {
                None => return Ok(()),
                Some(place) if queue.remove(&place).await? => return Ok(()),
                Some(_) => {}
            }
        }
        Err(Error::unavailable("the record is written to again and again"))
    }

    /// Removes the places of a tenure of which nothing is known but its id, as a guardian does for a process that is gone.
    async fn clear_wherever(&self, bid: &Bid, queue: &Queue<'_>) -> Result<(), Error> {
        let mut removed = false;
        let cleared = self.clear_noting(bid, queue, &mut removed).await;
        cleared.map_err(|error| if removed { error.indeterminate() } else { error })
    }

    async fn clear_noting(&self, bid: &Bid, queue: &Queue<'_>, removed: &mut bool) -> Result<(), Error> {
        for _ in 0..Self::TRIES {
            let mut places = queue.all().await?;
            places.retain(|place| place.is_of(bid.tenure()));
            let mut gone = true;
            for place in &places {
                let done = queue.remove(place).await?;
                (gone, *removed) = (gone && done, *removed || done);
            }
            if gone {
                return Ok(());
            }
        }
        Err(Error::unavailable("the record is written to again and again"))
    }

    async fn inspect(&self, seat: &Seat) -> Result<Sight, Error> {
        let read = self.queue(seat, self.patience).first().await?;
        Ok(queue::sight(read.found.as_ref()))
    }

    async fn heartbeat(&self, session: SessionId, attempt: Attempt) -> Result<Beat, Error> {
        let lease = sessions::lease_of(session);
        let answer = self.keep_alive(lease).await;
        match answer {
            Ok(answer) if answer.ttl > 0 => {
                let (ttl, now) = (Duration::from_secs(answer.ttl.unsigned_abs()), self.clock.now());
                let sent = if planted(Mutant::EtcdReceiptCredited) { now } else { attempt.sent };
                self.sessions.extended(lease, sent, ttl, now);
                Ok(Beat::Extended { ttl })
            }
            Ok(_) | Err(Refusal { why: Why::NoSuchLease, .. }) => {
                self.sessions.lost(lease);
                Ok(Beat::Lost)
            }
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// To extend a lease twice is to extend it: a member that is frozen or cut off is left for another soon, and must not cost half of it.
    async fn keep_alive(&self, lease: i64) -> Result<LeaseResponse, Refusal> {
        let ttl = self.sessions.ttl(lease).unwrap_or(self.patience);
        let (within, until) = ((ttl / 20).max(Self::LEAST_PATIENCE / 2), self.clock.now().after(ttl / 5));
        loop {
            let answer = self.link.keep_alive(lease, within).await;
            let again = answer.as_ref().is_err_and(|refusal| refusal.error.is_transient());
            if !again || self.clock.now() >= until {
                return answer;
            }
            tokio::time::sleep(Self::BREATH).await;
        }
    }

    /// Looks for places under a lease that ought to be gone.
    async fn pay_debts(&self, session: SessionId) {
        for debt in self.sessions.debts(sessions::lease_of(session)) {
            let queue = self.queue(&debt.seat, self.patience);
            let key = self.keys.place(&debt.seat, debt.lease);
            let Ok(read) = queue.place(&key).await else { continue };
            let removed = match read.found.filter(|place| place.is_of(debt.tenure)) {
                Some(place) => match queue.remove(&place).await {
                    Ok(removed) => removed,
                    Err(_) => continue,
                },
                None => false,
            };
            self.sessions.looked_for(&debt, removed, self.clock.now());
        }
    }
}

impl Backend for EtcdBackend {
    fn traits(&self) -> Traits {
        let mut traits = Traits::new(Promise::Fenced).shared_with(self.store.peers);
        traits.vacancies = Vacancies::Pushed;
        traits.queues = true;
        traits.shares_sessions = true;
        traits.shortest_lease = Duration::from_secs(1);
        traits
    }

    fn place(&self) -> String {
        self.store.place.clone()
    }

    fn identity(&self) -> Option<usize> {
        Some(Arc::as_ptr(&self.store) as usize)
    }

    fn stand<'a>(&'a self, bid: &'a Bid, attempt: Attempt) -> Answer<'a, Standing> {
        Box::pin(self.store.stand(bid, attempt))
    }

    fn renew<'a>(&'a self, bid: &'a Bid, version: &'a Version, attempt: Attempt) -> Answer<'a, Renewal> {
        Box::pin(self.store.renew(bid, version, attempt))
    }

    fn withdraw<'a>(&'a self, bid: &'a Bid) -> Answer<'a, ()> {
        Box::pin(self.store.withdraw(bid))
    }

    fn inspect<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Sight> {
        Box::pin(self.store.inspect(seat))
    }

    fn watch<'a>(&'a self, seat: &'a Seat, bid: Option<&'a Bid>) -> Answer<'a, Watch> {
        Box::pin(watching::watch(self.store.clone(), seat.clone(), bid.map(Bid::tenure)))
    }

    fn heartbeat<'a>(&'a self, session: SessionId, attempt: Attempt) -> Answer<'a, Beat> {
        Box::pin(async move {
            let beat = self.store.heartbeat(session, attempt).await?;
            if !self.store.sessions.debts(sessions::lease_of(session)).is_empty() {
                let store = self.store.clone();
                tokio::spawn(async move { store.pay_debts(session).await });
            }
            Ok(beat)
        })
    }

    fn administer(&self) -> Option<&dyn Administer> {
        Some(&*self.store)
    }
}

impl fmt::Debug for EtcdBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EtcdBackend").field(&self.store.place).finish()
    }
}

/// Who is first, for a bid that has its place: whatever goes wrong now, it landed (SAFETY 9).
async fn first_of_joined(queue: &Queue<'_>, first: Vec<KeyValue>) -> Result<Option<Place>, Error> {
    queue.first_of(first).await.map_err(|refusal| Error::from(refusal).indeterminate())
}

fn grant(tenure: TenureId, place: &Place, header: ResponseHeader, cover: Cover) -> Grant {
    Grant {
        tenure,
        version: place.version(),
        token: Some(place.token()),
        incarnation: Some(Incarnation::new(header.cluster_id)),
        cover,
        over: Vacancy::Free,
        asked_to_resign: place.asked_to_resign(),
    }
}

/// etcd knows whole seconds: a part of one is never cut (SAFETY 2a).
fn whole_seconds(lease: Duration) -> i64 {
    let round_up = lease.subsec_nanos() > 0 && !planted(Mutant::EtcdSecondsCut);
    i64::try_from(lease.as_secs()).unwrap_or(i64::MAX - 1) + i64::from(round_up)
}

/// The same failure of something that leaves no trace.
fn as_if_read(error: Error) -> Error {
    let plain = Error::new(error.kind(), error.to_string()).transient(error.is_transient());
    if error.is_indeterminate() { plain } else { error }
}

fn already_running() -> Error {
    Error::new(
        ErrorKind::AlreadyRunning,
        "another candidate runs for this election on the same lease already; give it a backend value of its own",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_second_is_rounded_up_for_etcd() {
        // SEEDS 6
        let whole = |millis| whole_seconds(Duration::from_millis(millis));
        assert_eq!([whole(1000), whole(1001), whole(1500), whole(2000)], [1, 2, 2, 2]);
    }
}
