//! Who wants to hear what a connection pushes.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use redis::aio::MultiplexedConnection;
use redis::{PushInfo, PushKind, RedisResult, Value};
use tokio::sync::{RwLock, mpsc};

use crate::keys::Keys;
use crate::record::Seen;

/// Something that was heard of an office.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A script of ours said so, on the election's channel.
    Said(Vec<u8>),
    /// The server did this to the record.
    Event(String),
    /// A call of this process saw it held.
    Seen(Seen),
}

/// The watches of one connection.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    listeners: Mutex<Listeners>,
    /// Whoever unsubscribes is alone, so that it ends nobody else's subscription.
    order: RwLock<()>,
}

#[derive(Debug, Default)]
struct Listeners {
    channels: HashMap<String, Vec<Listener>>,
    next: u64,
    closed: bool,
}

#[derive(Debug)]
struct Listener {
    number: u64,
    sender: mpsc::Sender<Notice>,
}

/// One watch's share of a connection's pushes; they end with it.
#[derive(Debug)]
pub(crate) struct Subscription {
    subscriptions: Arc<Subscriptions>,
    connection: MultiplexedConnection,
    keys: Keys,
    number: u64,
    notices: mpsc::Receiver<Notice>,
}

impl Subscriptions {
    /// A watch that is further behind has to look for itself.
    const BACKLOG: usize = 64;

    /// Subscribes to everything about an election; when this returns, nothing is missed any more.
    pub(crate) async fn subscribe(
        self: &Arc<Self>,
        mut connection: MultiplexedConnection,
        keys: Keys,
    ) -> RedisResult<Subscription> {
        let (sender, notices) = mpsc::channel(Self::BACKLOG);
        let number = self.listen(&keys, &sender);
        let subscription = Subscription {
            subscriptions: self.clone(),
            connection: connection.clone(),
            keys: keys.clone(),
            number,
            notices,
        };
        let _order = self.order.read().await;
        connection.subscribe(&[&keys.channel, &keys.events]).await?;
        Ok(subscription)
    }

    /// Takes in what the connection pushes. It must not wait: answers come the same way.
    pub(crate) fn take(&self, push: PushInfo) -> Result<(), Infallible> {
        match (push.kind, push.data.as_slice()) {
            (PushKind::Message, [Value::BulkString(channel), Value::BulkString(said)]) => {
                let Ok(channel) = std::str::from_utf8(channel) else { return Ok(()) };
                let notice = match channel.starts_with("__keyspace@") {
                    true => Notice::Event(String::from_utf8_lossy(said).into_owned()),
                    false => Notice::Said(said.clone()),
                };
                self.hand_out(channel, &notice);
            }
            (PushKind::Disconnection, _) => self.close(),
            _ => {}
        }
        Ok(())
    }

    /// What a call of this process saw spares its watches a look.
    pub(crate) fn seen(&self, keys: &Keys, seen: &Seen) {
        self.hand_out(&keys.channel, &Notice::Seen(seen.clone()));
    }

    /// Ends every subscription.
    pub(crate) fn close(&self) {
        let mut listeners = self.lock();
        listeners.closed = true;
        listeners.channels.clear();
    }

    fn listen(&self, keys: &Keys, sender: &mpsc::Sender<Notice>) -> u64 {
        let mut listeners = self.lock();
        listeners.next += 1;
        let number = listeners.next;
        if !listeners.closed {
            for channel in [&keys.channel, &keys.events] {
                let listener = Listener { number, sender: sender.clone() };
                listeners.channels.entry(channel.clone()).or_default().push(listener);
            }
        }
        number
    }

    fn hand_out(&self, channel: &str, notice: &Notice) {
        let mut listeners = self.lock();
        let Some(listening) = listeners.channels.get_mut(channel) else { return };
        let full: Vec<_> = listening
            .iter()
            .filter(|listener| {
                matches!(listener.sender.try_send(notice.clone()), Err(mpsc::error::TrySendError::Full(_)))
            })
            .map(|listener| listener.number)
            .collect();
        if !full.is_empty() {
            listeners.channels.values_mut().for_each(|listening| listening.retain(|one| !full.contains(&one.number)));
        }
    }

    /// Whether nobody listens there any more.
    fn forget(&self, keys: &Keys, number: u64) -> bool {
        let mut listeners = self.lock();
        for channel in [&keys.channel, &keys.events] {
            if let Some(listening) = listeners.channels.get_mut(channel) {
                listening.retain(|listener| listener.number != number);
                if listening.is_empty() {
                    listeners.channels.remove(channel);
                }
            }
        }
        !listeners.closed && !listeners.channels.contains_key(&keys.channel)
    }

    fn is_idle(&self, keys: &Keys) -> bool {
        let listeners = self.lock();
        !listeners.closed && !listeners.channels.contains_key(&keys.channel)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscription {
    /// The next that is heard; `None` when the connection is gone, or this watch fell behind.
    pub(crate) async fn next(&mut self) -> Option<Notice> {
        self.notices.recv().await
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let idle = self.subscriptions.forget(&self.keys, self.number);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !idle {
            return;
        }
        let (subscriptions, keys) = (self.subscriptions.clone(), self.keys.clone());
        let mut connection = self.connection.clone();
        runtime.spawn(async move {
            let _order = subscriptions.order.write().await;
            // Somebody may have come meanwhile.
            if subscriptions.is_idle(&keys) {
                let _ = connection.unsubscribe(&[&keys.channel, &keys.events]).await;
            }
        });
    }
}
