//! The backend: what each call asks of the server, and what its answers mean.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use redis::{RedisResult, Value};
use tenure::adapter::ttl_in_millis;
use tenure::backend::network::Host;
use tenure::backend::{
    Administer, Answer, Answers, Attempt, Backend, Bid, Cover, Due, Grant, Renewal, Sight, Standing, Traits, Vacancies,
    Vacancy, Version, Watch,
};
use tenure::mutant::{Mutant, planted};
use tenure::{Error, ForeignPeers, Promise, Seat};

use crate::blame;
use crate::builder::RedisBuilder;
use crate::keys::{Keys, Prefix};
use crate::link::Link;
use crate::record::{Details, Record, Seen, sight};
use crate::script::{self, Reply, Step};
use crate::servers::{Redirect, Servers};
use crate::settings::Examination;
use crate::subscriptions::Subscription;
use crate::watch;

/// Counts the bids of this process.
static DRAWS: AtomicU64 = AtomicU64::new(0);

/// Elections on a Redis or Valkey server; see the [crate](crate).
///
/// Cheap to clone; clones share their connections. Nothing is connected before the first call.
#[derive(Clone)]
pub struct RedisBackend(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) place: String,
    pub(crate) servers: Servers,
    pub(crate) prefix: Prefix,
    pub(crate) database: i64,
    pub(crate) peers: Option<ForeignPeers>,
    pub(crate) skew: Duration,
    pub(crate) call_timeout: Duration,
}

impl RedisBackend {
    /// The counter of an election that nobody ran for in so long is forgotten; the clock alone is then above it.
    const COUNTER_LIFE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
    /// How often a call follows a cluster that sends it elsewhere.
    const HOPS: usize = 5;

    /// Elections on the server at this address: `redis://host:port/database`, `rediss://…` with TLS, `redis+sentinel://host,host/primary` or
    /// `redis+cluster://host,host`. Settings can follow as parameters; they are those of [`RedisBuilder`].
    pub fn new(url: &str) -> Result<Self, Error> {
        RedisBackend::builder(url)?.build()
    }

    /// The same, with more to say.
    pub fn builder(url: &str) -> Result<RedisBuilder, Error> {
        RedisBuilder::new(url)
    }

    pub(crate) fn over(inner: Inner) -> Self {
        RedisBackend(Arc::new(inner))
    }

    /// Looks at the servers as they are now, by connections of its own, and promises what they show: from then on by
    /// [`traits`](Backend::traits), and a server that shows less is refused.
    ///
    /// Without it the promise is what was [declared](RedisBuilder::declare), or the least.
    pub async fn examine(&self) -> Result<Examination, Error> {
        let look = async {
            let links = self.0.servers.examined().await?;
            let declared = self.0.servers.pinned();
            let examined = links.iter().map(|link| link.settings().examined(self.0.servers.topology(), declared));
            Ok(examined.min_by_key(|examined| examined.promise))
        };
        let bound = tokio::time::timeout(self.0.call_timeout, look).await;
        let examined: Result<_, Error> = bound.unwrap_or_else(|_| Err(self.silent()));
        let mut examined =
            examined.and_then(|found| found.ok_or_else(|| self.silent())).map_err(|error| error.during("examine"))?;
        self.0.servers.pin(examined.promise);
        if self.0.peers.is_some() && examined.promise > Promise::LeaseOnly {
            examined.promise = Promise::LeaseOnly;
            examined.reasons.push("the seat is shared with programs that show no token".to_owned());
        }
        Ok(examined)
    }

    pub(crate) fn prefix(&self) -> &Prefix {
        &self.0.prefix
    }

    pub(crate) fn servers(&self) -> &Servers {
        &self.0.servers
    }

    pub(crate) fn keys(&self, seat: &Seat) -> Keys {
        Keys::of(&self.0.prefix, seat, self.0.database)
    }

    /// Who holds the office now.
    pub(crate) async fn look(&self, seat: &Seat) -> Result<Option<Seen>, Error> {
        let keys = self.keys(seat);
        let look = Step::new(&script::INSPECT, [keys.record.clone()]);
        match self.call(&keys, &[look], self.0.call_timeout).await? {
            Reply::Held(seen) => Ok(Some(seen)),
            _ => Ok(None),
        }
    }

    /// Puts another record in the place of one that still has this version, for the rest of its life.
    pub(crate) async fn amend(&self, seat: &Seat, version: &Version, record: &Record) -> Result<Reply, Error> {
        let keys = self.keys(seat);
        let amend = Step::new(&script::AMEND, [keys.record.clone()])
            .arg(version.as_text().unwrap_or_default())
            .arg(record.tenure)
            .arg(record.token)
            .arg(if record.asked_to_resign { 'a' } else { '-' })
            .bytes(record.details.encode());
        self.call(&keys, &[amend, tell(&keys, "")], self.0.call_timeout).await
    }

    pub(crate) async fn subscribe(&self, seat: &Seat) -> Result<Subscription, Error> {
        let keys = self.keys(seat);
        let subscribing = async {
            let link = self.0.servers.link(keys.slot()).await?;
            let subscribed = link.subscriptions().subscribe(link.connection(), keys.clone()).await;
            subscribed.map_err(|error| blame::answer(&error, link.address()))
        };
        bounded(self.0.call_timeout, subscribing).await.unwrap_or_else(|| Err(self.silent()))
    }

    /// Makes one call, for no longer than `bound`: what was not answered by then may have been done.
    async fn call(&self, keys: &Keys, steps: &[Step], bound: Duration) -> Result<Reply, Error> {
        let sent = AtomicBool::new(false);
        match bounded(bound, self.follow(keys, steps, &sent)).await {
            Some(answer) => answer,
            None if sent.load(Ordering::Relaxed) && !planted(Mutant::RedisTimeoutHarmless) => {
                Err(self.silent().indeterminate())
            }
            None => Err(self.silent()),
        }
    }

    /// What landed is not called failed, whatever the other steps come to (SAFETY 9).
    async fn follow(&self, keys: &Keys, steps: &[Step], sent: &AtomicBool) -> Result<Reply, Error> {
        let mut landed = false;
        let answer = self.hop(keys, steps, sent, &mut landed).await;
        let landed = landed && !planted(Mutant::RedisLandedCallFailed);
        answer.map_err(|error| if landed { error.indeterminate() } else { error })
    }

    async fn hop(&self, keys: &Keys, steps: &[Step], sent: &AtomicBool, landed: &mut bool) -> Result<Reply, Error> {
        let mut link = self.0.servers.link(keys.slot()).await?;
        let mut asking = false;
        for _ in 0..Self::HOPS {
            sent.store(true, Ordering::Relaxed);
            let answers = awaited(&link, link.run(steps, asking)).await.map_err(|error| self.failed(&error, &link))?;
            let said = self.read(keys, &link, answers.iter().flatten())?;
            *landed |= said.has_landed();
            let mut needed = answers.iter().zip(steps).filter(|(_, step)| !step.is_optional());
            let Some(error) = needed.find_map(|(answer, _)| answer.as_ref().err()) else { return Ok(said) };
            // Whoever sends us elsewhere has not done that step.
            let (next, ask) = match self.0.servers.redirect(error, link.address()) {
                Some(Redirect::Moved(address)) => {
                    self.0.servers.forget_where();
                    (address, false)
                }
                Some(Redirect::Ask(address)) => (address, true),
                None => return Err(self.failed(error, &link)),
            };
            sent.store(*landed, Ordering::Relaxed);
            (link, asking) = (self.0.servers.link_to(&next).await?, ask);
        }
        Err(Error::unavailable("the servers of the cluster send us from one to the other"))
    }

    /// Reads the one answer that says something.
    fn read<'a>(&self, keys: &Keys, link: &Link, answers: impl IntoIterator<Item = &'a Value>) -> Result<Reply, Error> {
        let mut said = Reply::Vacant;
        for answer in answers {
            match Reply::read(answer, &keys.record)? {
                Reply::Done => {}
                reply => said = reply,
            }
        }
        if let Reply::Held(seen) = &said {
            link.subscriptions().seen(keys, seen);
        }
        Ok(said)
    }

    fn failed(&self, error: &redis::RedisError, link: &Link) -> Error {
        if blame::is_elsewhere(error) {
            link.abandon();
            self.0.servers.forget_where();
        }
        blame::answer(error, link.address())
    }

    fn silent(&self) -> Error {
        self.0.servers.forget_where();
        Error::unavailable(format!("{} did not answer in time", self.0.place))
    }

    async fn run_for(&self, bid: &Bid) -> Result<Standing, Error> {
        let keys = self.keys(bid.seat());
        let displace = bid.displace().and_then(Version::as_text).unwrap_or_default();
        // Each bid draws for itself: a number that an earlier one drew is not used.
        let drawer = format!("{}.{}", bid.tenure(), DRAWS.fetch_add(1, Ordering::Relaxed));
        let both = [keys.record.clone(), keys.counter.clone()];
        let draw = Step::new(&script::DRAW, both.clone())
            .arg(bid.tenure())
            .arg(displace)
            .arg(&drawer)
            .arg(Self::COUNTER_LIFE.as_millis());
        let stand = Step::new(&script::STAND, both)
            .arg(bid.tenure())
            .arg(displace)
            .arg(&drawer)
            .arg(ttl_in_millis(bid.lease())?)
            .bytes(Details::of(bid)?.encode());
        // Who does not hear of it looks for itself; the office is won all the same.
        let tell = tell(&keys, &bid.tenure().to_string()).optional();
        match self.call(&keys, &[draw, stand, tell], bid.call_timeout()).await? {
            Reply::Ours(record) => Ok(Standing::Elected(grant(bid, &record))),
            other => Ok(Standing::Held(sight(held(&other)))),
        }
    }

    fn renewal(&self, bid: &Bid, version: &Version) -> Result<Step, Error> {
        Ok(Step::new(&script::RENEW, [self.keys(bid.seat()).record])
            .arg(bid.tenure())
            .arg(version.as_text().unwrap_or_default())
            .arg(ttl_in_millis(bid.lease())?))
    }

    async fn extend(&self, bid: &Bid, version: &Version) -> Result<Renewal, Error> {
        let renew = self.renewal(bid, version)?;
        Ok(renewed(bid, self.call(&self.keys(bid.seat()), &[renew], bid.call_timeout()).await?))
    }

    /// Renews what is on the server at this address, once there is a connection to it.
    async fn extend_there(&self, address: &Host, due: &[&Due]) -> Vec<Option<Result<Renewal, Error>>> {
        let bound = due.iter().map(|one| one.bid.call_timeout()).min().unwrap_or_default();
        let link = bounded(bound, self.0.servers.link_to(address)).await.unwrap_or_else(|| Err(self.silent()));
        match link {
            Ok(link) => self.extend_together(&link, due).await,
            Err(error) => {
                self.0.servers.forget_where();
                let same = |_: &&Due| Error::new(error.kind(), error.to_string()).transient(error.is_transient());
                due.iter().map(|one| Some(Err(same(one)))).collect()
            }
        }
    }

    /// Renews what is on one server in one go.
    async fn extend_together(&self, link: &Link, due: &[&Due]) -> Vec<Option<Result<Renewal, Error>>> {
        let bound = due.iter().map(|one| one.bid.call_timeout()).min().unwrap_or_default();
        let calls: Result<Vec<_>, Error> = due.iter().map(|one| self.renewal(&one.bid, &one.version)).collect();
        let Ok(calls) = calls else { return due.iter().map(|_| None).collect() };
        match bounded(bound, awaited(link, link.send(calls.iter().map(Step::by_digest), false))).await {
            None => due.iter().map(|_| Some(Err(self.silent().indeterminate()))).collect(),
            Some(Err(error)) => due.iter().map(|_| Some(Err(self.failed(&error, link)))).collect(),
            Some(Ok(answers)) => {
                let read = |(one, answer): (&&Due, RedisResult<Value>)| match answer {
                    Ok(value) => {
                        let reply = self.read(&self.keys(one.bid.seat()), link, [&value]);
                        Some(reply.map(|reply| renewed(&one.bid, reply)))
                    }
                    // Not done: the server is another, or does not know the script yet. By itself it finds its way.
                    Err(error) if blame::is_unknown_script(&error) => None,
                    Err(error) if self.0.servers.redirect(&error, link.address()).is_some() => None,
                    Err(error) => Some(Err(self.failed(&error, link))),
                };
                due.iter().zip(answers).map(read).collect()
            }
        }
    }

    async fn extend_all(&self, due: &[Due]) -> Vec<Result<Renewal, Error>> {
        let mut answers: Vec<Option<Result<Renewal, Error>>> = due.iter().map(|_| None).collect();
        let mut together: HashMap<Host, Vec<usize>> = HashMap::new();
        let mut nobody_answers = false;
        for (index, one) in due.iter().enumerate() {
            let slot = self.keys(one.bid.seat()).slot();
            let home = match nobody_answers {
                true => None,
                false => bounded(one.bid.call_timeout(), self.0.servers.address(slot)).await,
            };
            nobody_answers = home.is_none();
            match home.unwrap_or_else(|| Err(self.silent())) {
                Ok(address) => together.entry(address).or_default().push(index),
                Err(error) => answers[index] = Some(Err(error)),
            }
        }
        // A server that does not answer keeps nobody waiting but its own.
        let batches = together.into_iter().map(|(address, indices)| async move {
            let batch: Vec<_> = indices.iter().map(|index| &due[*index]).collect();
            let answers = self.extend_there(&address, &batch).await;
            indices.into_iter().zip(answers).collect::<Vec<_>>()
        });
        for (index, answer) in join_all(batches).await.into_iter().flatten() {
            answers[index] = answer;
        }
        let alone = due.iter().zip(answers).map(|(one, answer)| async move {
            match answer {
                Some(answer) => answer,
                None => self.extend(&one.bid, &one.version).await,
            }
        });
        join_all(alone).await
    }

    async fn leave(&self, bid: &Bid) -> Result<(), Error> {
        let keys = self.keys(bid.seat());
        let withdraw = Step::new(&script::WITHDRAW, [keys.record.clone()]).arg(bid.tenure());
        self.call(&keys, &[withdraw, tell(&keys, "")], bid.call_timeout()).await.map(drop)
    }
}

/// Waits for an answer. Whoever stops waiting before it came gives the connection up, so that the next call finds another.
async fn awaited<T>(link: &Link, answer: impl Future<Output = T>) -> T {
    struct Doubt<'a>(Option<&'a Link>);
    impl Drop for Doubt<'_> {
        fn drop(&mut self) {
            if let Some(link) = self.0 {
                link.abandon();
            }
        }
    }
    let mut doubt = Doubt(Some(link));
    let answer = answer.await;
    doubt.0 = None;
    answer
}

/// Lets everybody who watches know what is there now; with a tenure, only if it is that.
fn tell(keys: &Keys, tenure: &str) -> Step {
    Step::new(&script::TELL, [keys.record.clone()]).arg(&keys.channel).arg(tenure)
}

async fn bounded<T>(bound: Duration, call: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(bound, call).await.ok()
}

fn held(reply: &Reply) -> Option<&Seen> {
    match reply {
        Reply::Held(seen) => Some(seen),
        _ => None,
    }
}

fn renewed(bid: &Bid, reply: Reply) -> Renewal {
    match reply {
        Reply::Ours(record) => Renewal::Extended(grant(bid, &record)),
        other => Renewal::Mismatch(sight(held(&other))),
    }
}

fn grant(bid: &Bid, record: &Record) -> Grant {
    Grant {
        tenure: record.tenure,
        version: record.version(),
        token: Some(record.token),
        // Numbers follow the clock, and count on in a server that was made anew (SAFETY 18).
        incarnation: None,
        cover: Cover::Own { ttl: bid.lease() },
        over: Vacancy::Free,
        asked_to_resign: record.asked_to_resign,
    }
}

fn told<T>(answer: Result<T, Error>, seat: &Seat, operation: &'static str) -> Result<T, Error> {
    answer.map_err(|error| error.of_election(seat).during(operation))
}

impl Backend for RedisBackend {
    fn traits(&self) -> Traits {
        let promise = self.0.servers.pinned().unwrap_or(Promise::BestEffort);
        let mut traits = Traits::new(promise).shared_with(self.0.peers);
        traits.vacancies = Vacancies::Pushed;
        traits.has_tokens = true;
        traits.store_skew = self.0.skew;
        traits
    }

    fn place(&self) -> String {
        self.0.place.clone()
    }

    fn stand<'a>(&'a self, bid: &'a Bid, _: Attempt) -> Answer<'a, Standing> {
        Box::pin(async move { told(self.run_for(bid).await, bid.seat(), "stand") })
    }

    fn renew<'a>(&'a self, bid: &'a Bid, version: &'a Version, _: Attempt) -> Answer<'a, Renewal> {
        Box::pin(async move { told(self.extend(bid, version).await, bid.seat(), "renew") })
    }

    fn withdraw<'a>(&'a self, bid: &'a Bid) -> Answer<'a, ()> {
        Box::pin(async move { told(self.leave(bid).await, bid.seat(), "withdraw") })
    }

    fn inspect<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Sight> {
        Box::pin(async move { told(self.look(seat).await, seat, "inspect").map(|seen| sight(seen.as_ref())) })
    }

    fn watch<'a>(&'a self, seat: &'a Seat, _: Option<&'a Bid>) -> Answer<'a, Watch> {
        Box::pin(async move { told(watch::begin(self, seat).await, seat, "watch") })
    }

    fn renew_many<'a>(&'a self, due: &'a [Due]) -> Answers<'a, Renewal> {
        Box::pin(async move {
            let answers = self.extend_all(due).await.into_iter().zip(due);
            answers.map(|(answer, one)| told(answer, one.bid.seat(), "renew")).collect()
        })
    }

    fn administer(&self) -> Option<&dyn Administer> {
        Some(self)
    }
}

/// By its place: the rest may hold secrets.
impl fmt::Debug for RedisBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisBackend({})", self.0.place)
    }
}
