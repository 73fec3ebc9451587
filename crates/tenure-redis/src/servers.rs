//! Which server an election is on, and the connections to all of them.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use redis::{RedisError, ServerErrorKind, Value};
use tenure::backend::network::Host;
use tenure::{Error, ErrorKind, Promise};
use tokio::sync::Mutex as AsyncMutex;

use crate::blame;
use crate::dial::{Credentials, Dialer};
use crate::link::Link;
use crate::settings::Eviction;
use crate::url::Topology;

/// The servers of a backend: found when they are needed, connected to when they are called.
#[derive(Debug)]
pub(crate) struct Servers {
    topology: Topology,
    dialer: Dialer,
    /// Sentinels have users of their own.
    sentinels: Dialer,
    eviction: Eviction,
    pinned: Mutex<Option<Promise>>,
    links: Mutex<HashMap<Host, Slot>>,
    map: Mutex<Map>,
}

/// The one connection to a server; whoever makes it keeps the others waiting, so that they share it.
type Slot = Arc<AsyncMutex<Option<Arc<Link>>>>;

/// Where the slots of a cluster are, or where sentinels say that the primary is.
#[derive(Debug, Default)]
struct Map {
    primary: Option<Host>,
    ranges: Vec<(u16, u16, Host)>,
}

impl Map {
    fn of(&self, slot: u16) -> Option<Host> {
        let range = self.ranges.iter().find(|(first, last, _)| (*first..=*last).contains(&slot));
        range.map(|(_, _, address)| address.clone())
    }
}

/// Where a server sends those who asked the wrong one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Redirect {
    /// It is there for good.
    Moved(Host),
    /// It is on its way: this once.
    Ask(Host),
}

impl Servers {
    pub(crate) fn new(
        topology: Topology,
        dialer: Dialer,
        sentinels: Credentials,
        eviction: Eviction,
        declared: Option<Promise>,
    ) -> Self {
        let sentinels = Dialer { credentials: sentinels, database: 0, ..dialer.clone() };
        Servers {
            topology,
            dialer,
            sentinels,
            eviction,
            pinned: Mutex::new(declared),
            links: Mutex::default(),
            map: Mutex::default(),
        }
    }

    pub(crate) fn topology(&self) -> &Topology {
        &self.topology
    }

    pub(crate) fn pinned(&self) -> Option<Promise> {
        *lock(&self.pinned)
    }

    /// From now on every server has to keep this promise, as far as it shows.
    pub(crate) fn pin(&self, promise: Promise) {
        *lock(&self.pinned) = Some(promise);
    }

    /// The connection to the server that has this slot.
    pub(crate) async fn link(&self, slot: u16) -> Result<Arc<Link>, Error> {
        let address = self.address(slot).await?;
        let link = self.link_to(&address).await;
        if link.is_err() {
            self.forget_where();
        }
        link
    }

    pub(crate) async fn link_to(&self, address: &Host) -> Result<Arc<Link>, Error> {
        let slot = lock(&self.links).entry(address.clone()).or_default().clone();
        let mut kept = slot.lock().await;
        if let Some(link) = kept.as_ref().filter(|link| link.is_usable()) {
            return Ok(link.clone());
        }
        *kept = None;
        let link = Link::open(&self.dialer, address).await?;
        link.admit(&self.topology, self.eviction, self.pinned())?;
        let link = Arc::new(link);
        *kept = Some(link.clone());
        Ok(link)
    }

    /// Every server that holds records, each by a connection that is not kept.
    pub(crate) async fn examined(&self) -> Result<Vec<Link>, Error> {
        let mut links = Vec::new();
        for address in self.primaries().await? {
            let link = Link::open(&self.dialer, &address).await?;
            link.admit(&self.topology, self.eviction, self.pinned())?;
            links.push(link);
        }
        Ok(links)
    }

    pub(crate) async fn primaries(&self) -> Result<Vec<Host>, Error> {
        if let Topology::Cluster(_) = self.topology {
            self.address(0).await?;
            let mut all: Vec<_> = lock(&self.map).ranges.iter().map(|(_, _, address)| address.clone()).collect();
            all.sort_by_key(Host::to_string);
            all.dedup();
            return Ok(all);
        }
        Ok(vec![self.address(0).await?])
    }

    /// A server was not where it was thought to be, or does not answer: ask again.
    pub(crate) fn forget_where(&self) {
        *lock(&self.map) = Map::default();
    }

    /// Where an error says that the answer is, if it says so and there is a cluster.
    pub(crate) fn redirect(&self, error: &RedisError, asked: &Host) -> Option<Redirect> {
        if !matches!(self.topology, Topology::Cluster(_)) {
            return None;
        }
        let (place, _) = error.redirect_node()?;
        // IPv6 stands there without brackets, and no host at all means: the one that was asked.
        let (host, port) = place.rsplit_once(':')?;
        let host = if host.is_empty() { asked.name().to_owned() } else { host.to_owned() };
        let address = Host::new(host, port.parse().ok()?);
        match error.kind() {
            redis::ErrorKind::Server(ServerErrorKind::Ask) => Some(Redirect::Ask(address)),
            _ => Some(Redirect::Moved(address)),
        }
    }

    /// Where a slot is.
    pub(crate) async fn address(&self, slot: u16) -> Result<Host, Error> {
        match &self.topology {
            Topology::One(address) => Ok(address.clone()),
            Topology::Sentinel { sentinels, primary } => {
                if let Some(known) = lock(&self.map).primary.clone() {
                    return Ok(known);
                }
                let found = self.ask_sentinels(sentinels, primary).await?;
                lock(&self.map).primary = Some(found.clone());
                Ok(found)
            }
            Topology::Cluster(seeds) => {
                if let Some(known) = lock(&self.map).of(slot) {
                    return Ok(known);
                }
                let ranges = self.ask_cluster(seeds).await?;
                let mut map = lock(&self.map);
                map.ranges = ranges;
                map.of(slot).ok_or_else(|| {
                    Error::unavailable(format!("no server of the cluster has slot {slot} at the moment"))
                })
            }
        }
    }

    async fn ask_sentinels(&self, sentinels: &[Host], primary: &str) -> Result<Host, Error> {
        let mut question = redis::cmd("SENTINEL");
        question.arg("GET-MASTER-ADDR-BY-NAME").arg(primary);
        let question = &question;
        first_answer(sentinels.to_vec(), |sentinel| async move {
            let link = Link::open(&self.sentinels, &sentinel).await?;
            let answer = link.ask(question).await.map_err(|error| blame::answer(&error, &sentinel))?;
            match texts(&answer).as_slice() {
                [host, port] => {
                    let port = port.parse().map_err(|_| Error::unavailable(format!("{sentinel} names no port")))?;
                    Ok(Host::new(host, port))
                }
                _ => {
                    let message = format!("{sentinel} knows no primary {primary}; see SENTINEL MASTERS there");
                    Err(Error::new(ErrorKind::Denied, message))
                }
            }
        })
        .await
    }

    async fn ask_cluster(&self, seeds: &[Host]) -> Result<Vec<(u16, u16, Host)>, Error> {
        let mut question = redis::cmd("CLUSTER");
        question.arg("SLOTS");
        let question = &question;
        let mut all = seeds.to_vec();
        all.extend(lock(&self.links).keys().filter(|known| !seeds.contains(known)).cloned());
        first_answer(all, |server| async move {
            let link = self.link_for_questions(&server).await?;
            let answer = link.ask(question).await.map_err(|error| blame::answer(&error, &server))?;
            match slots(&answer, &server) {
                ranges if ranges.is_empty() => {
                    Err(Error::unavailable(format!("{server} says that the cluster has no slots yet")))
                }
                ranges => Ok(ranges),
            }
        })
        .await
    }

    /// A server that may be a replica: any of them knows the map.
    async fn link_for_questions(&self, server: &Host) -> Result<Arc<Link>, Error> {
        let link = Link::open(&self.dialer, server).await?;
        if !link.settings().is_clustered {
            link.admit(&self.topology, self.eviction, None)?;
        }
        Ok(Arc::new(link))
    }
}

/// So long one server alone is waited for: a host that is gone says nothing, not even no.
const PATIENCE: Duration = Duration::from_millis(50);

/// Asks one after the other until one knows. Whoever is slow goes on being waited for, beside the next.
async fn first_answer<T, A: Future<Output = Result<T, Error>>>(
    servers: Vec<Host>,
    ask: impl Fn(Host) -> A,
) -> Result<T, Error> {
    let mut next = servers.into_iter().map(ask);
    let mut asked = FuturesUnordered::new();
    let mut last = Error::unavailable("no server is named");
    loop {
        asked.extend(next.next());
        match tokio::time::timeout(PATIENCE, asked.next()).await {
            Ok(Some(Ok(answer))) => return Ok(answer),
            Ok(Some(Err(error))) => last = error,
            Ok(None) => return Err(last),
            Err(_) => {}
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes.clone()).ok(),
        Value::SimpleString(text) => Some(text.clone()),
        _ => None,
    }
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(list) => list.iter().filter_map(text).collect(),
        _ => Vec::new(),
    }
}

/// `CLUSTER SLOTS`: for each range its first and last slot, then its primary, then replicas.
fn slots(value: &Value, asked: &Host) -> Vec<(u16, u16, Host)> {
    let Value::Array(ranges) = value else { return Vec::new() };
    let range = |range: &Value| {
        let Value::Array(parts) = range else { return None };
        let [Value::Int(first), Value::Int(last), Value::Array(primary), ..] = parts.as_slice() else { return None };
        let Some(Value::Int(port)) = primary.get(1) else { return None };
        let host = primary.first().and_then(text).filter(|host| !host.is_empty() && host != "?");
        let host = host.unwrap_or_else(|| asked.name().to_owned());
        Some((u16::try_from(*first).ok()?, u16::try_from(*last).ok()?, Host::new(host, u16::try_from(*port).ok()?)))
    };
    ranges.iter().filter_map(range).collect()
}
