//! Reading the queue of an election. The first in it by create revision leads.

use std::time::Duration;

use tenure::backend::{Sight, Vacancy};
use tenure::mutant::{Mutant, planted};
use tenure::{Error, Seat};

use crate::keys::{self, Keys};
use crate::record::Place;
use crate::wire::message::{
    ASCEND, BY_CREATION, Compare, DESCEND, KeyValue, RangeRequest, RangeResponse, Request, Response, ResponseHeader,
    TxnRequest, TxnResponse,
};
use crate::wire::{Effect, Link, Refusal};

/// The queue of one election, and how to ask for it. Every read is linearizable (SAFETY 16).
#[derive(Clone, Copy)]
pub(crate) struct Queue<'a> {
    pub(crate) link: &'a Link,
    pub(crate) keys: &'a Keys,
    pub(crate) seat: &'a Seat,
    pub(crate) within: Duration,
}

/// What was read, and of when.
#[derive(Debug)]
pub(crate) struct Read<T> {
    pub(crate) header: ResponseHeader,
    pub(crate) found: T,
}

impl Queue<'_> {
    /// A page when all of a queue is read. Proposals of foreign programs may be as large as etcd takes, which is a megabyte and a half as it comes,
    /// and a page has to fit into an answer.
    const PAGE: i64 = 10;
    /// So often something else is read than was there a moment ago.
    const LOOKS: usize = 5;

    /// Asks for the first in the queue.
    pub(crate) fn first_request(&self) -> RangeRequest {
        let key = self.keys.queue(self.seat);
        let sort_target = if planted(Mutant::EtcdFirstByKey) { 0 } else { BY_CREATION };
        RangeRequest {
            range_end: keys::end_of(&key),
            key,
            limit: 1,
            sort_order: ASCEND,
            sort_target,
            ..RangeRequest::default()
        }
    }

    pub(crate) async fn first(&self) -> Result<Read<Option<Place>>, Refusal> {
        let answer = self.link.range(self.first_request(), self.within).await?;
        let header = header(answer.header)?;
        let found = self.first_of(answer.kvs).await?;
        Ok(Read { header, found })
    }

    /// The first place, given the first key. Almost always that is one; below a name that others go on from, or where settings are kept beside
    /// the queue, it is looked for.
    pub(crate) async fn first_of(&self, kvs: Vec<KeyValue>) -> Result<Option<Place>, Refusal> {
        let queue = self.keys.queue(self.seat).len();
        match kvs.into_iter().next() {
            None => Ok(None),
            Some(kv) if keys::is_place(&kv, queue) || planted(Mutant::EtcdNestedNameCounts) => {
                Ok(Some(Place::read(kv)))
            }
            Some(_) => self.searched(RangeRequest { limit: 0, keys_only: true, ..self.first_request() }).await,
        }
    }

    /// Whoever is next before the place that this revision created; `None` when nobody is.
    pub(crate) async fn ahead_of(&self, created: i64) -> Result<Read<Option<Place>>, Refusal> {
        let request = RangeRequest {
            sort_order: DESCEND,
            sort_target: BY_CREATION,
            max_create_revision: created - 1,
            ..self.first_request()
        };
        let answer = self.link.range(request.clone(), self.within).await?;
        let header = header(answer.header)?;
        let queue = self.keys.queue(self.seat).len();
        let found = match answer.kvs.into_iter().next() {
            None => None,
            Some(kv) if keys::is_place(&kv, queue) => Some(Place::read(kv)),
            Some(_) => self.searched(RangeRequest { limit: 0, keys_only: true, ..request }).await?,
        };
        Ok(Read { header, found })
    }

    /// One place by its key.
    pub(crate) async fn place(&self, key: &[u8]) -> Result<Read<Option<Place>>, Refusal> {
        let answer = self.link.range(RangeRequest { key: key.into(), ..RangeRequest::default() }, self.within).await?;
        Ok(Read { header: header(answer.header)?, found: answer.kvs.into_iter().next().map(Place::read) })
    }

    /// Everybody in it, in no order.
    pub(crate) async fn all(&self) -> Result<Vec<Place>, Refusal> {
        let mut key = self.keys.queue(self.seat);
        let (queue, range_end) = (key.len(), keys::end_of(&key));
        let mut places = Vec::new();
        loop {
            let request =
                RangeRequest { key, range_end: range_end.clone(), limit: Self::PAGE, ..RangeRequest::default() };
            let RangeResponse { kvs, more, .. } = self.link.range(request, self.within).await?;
            let last = kvs.last().map(|kv| kv.key.clone());
            places.extend(kvs.into_iter().filter(|kv| keys::is_place(kv, queue)).map(Place::read));
            match last.filter(|_| more) {
                Some(last) => key = [&last[..], &[0]].concat(),
                None => return Ok(places),
            }
        }
    }

    /// Removes a place if nobody has written it since; says whether it is gone.
    pub(crate) async fn remove(&self, place: &Place) -> Result<bool, Refusal> {
        let key = place.kv.key.clone();
        let unchanged = Compare::written(key.clone(), place.kv.mod_revision);
        Ok(self.delete_if(vec![unchanged], key).await?.succeeded)
    }

    pub(crate) async fn delete_if(&self, compare: Vec<Compare>, key: Vec<u8>) -> Result<TxnResponse, Refusal> {
        let delete = Request::DeleteRange(crate::wire::message::DeleteRangeRequest { key: key.clone() });
        let look = Request::Range(RangeRequest { key, ..RangeRequest::default() });
        let compare = if planted(Mutant::EtcdUnconditionalRelease) { Vec::new() } else { compare };
        let txn = TxnRequest { compare, success: vec![delete.into()], failure: vec![look.into()] };
        self.link.txn(txn, Effect::Writes, self.within).await
    }

    /// The first place among many keys; its value is read by its key.
    async fn searched(&self, request: RangeRequest) -> Result<Option<Place>, Refusal> {
        let queue = self.keys.queue(self.seat).len();
        for _ in 0..Self::LOOKS {
            let keys = self.link.range(request.clone(), self.within).await?.kvs;
            let Some(first) = keys.into_iter().find(|kv| keys::is_place(kv, queue)) else { return Ok(None) };
            let found = self.place(&first.key).await?.found;
            if let Some(place) = found.filter(|place| place.kv.create_revision == first.create_revision) {
                return Ok(Some(place));
            }
        }
        Err(Refusal::from(Error::unavailable("the queue changed at every look")))
    }
}

/// What the office looks like with this place first in its queue.
pub(crate) fn sight(first: Option<&Place>) -> Sight {
    first.map_or(Sight::Vacant(Vacancy::Free), |place| Sight::Held(place.seen()))
}

/// Every answer has one.
pub(crate) fn header(header: Option<ResponseHeader>) -> Result<ResponseHeader, Refusal> {
    header.ok_or_else(|| Refusal::from(Error::unknown_outcome("etcd gave an answer without a header")))
}

/// The keys that the `number`-th part of a transaction found.
pub(crate) fn ranged(txn: &mut TxnResponse, number: usize) -> Vec<KeyValue> {
    match txn.responses.get_mut(number).and_then(|part| part.response.take()) {
        Some(Response::Range(found)) => found.kvs,
        _ => Vec::new(),
    }
}
