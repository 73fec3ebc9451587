//! The conformance suite over real servers: every client has a proxy of its own to each of them, and breaks only that.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure::conformance::{Harness, Hook, Hooked};
use tenure::{Backend, Seat};

use crate::{Failure, Proxy};

/// A store on servers of its own, as one backend has it.
pub trait Store: Send + Sized + 'static {
    /// Starts it, empty; it answers when this returns.
    fn start() -> Result<Self, Failure>;

    /// Where its servers are.
    fn servers(&self) -> Vec<SocketAddr>;

    /// A client of its own that reaches the servers, in their order, at these addresses.
    fn client(&self, servers: &[SocketAddr]) -> Arc<dyn Backend>;

    /// Kills it and starts it again on the same data.
    fn restart(&mut self) -> Result<(), Failure>;

    /// Loses everything.
    fn wipe(&mut self) -> Result<(), Failure>;

    /// Removes the record of an office by hand.
    fn remove(&self, seat: &Seat) -> Result<(), Failure>;

    /// Writes over it, as a foreign program that holds it for so long would.
    fn overwrite(&self, seat: &Seat, lease: Duration) -> Result<(), Failure>;

    /// The lease that cases ask for: long enough for a busy machine.
    fn lease() -> Duration {
        Duration::from_millis(1_500)
    }

    /// How much later than the lease says a silent holder's office can be had, and how late a push may come.
    fn stretch() -> Duration {
        Duration::from_secs(2)
    }
}

/// Stores that are started and that no case uses.
type Idle<S> = Arc<Mutex<Vec<S>>>;

/// A harness for it: a store that no other case uses meanwhile.
#[derive(Debug)]
pub struct Proxied<S: Store> {
    store: Mutex<Loan<S>>,
    clients: Mutex<Vec<Vec<Proxy>>>,
}

impl<S: Store> Proxied<S> {
    /// Gives a harness to each case. Starting a store takes longer than most cases do, and the suite names offices anew in each: so a store
    /// serves one case after the other, until one of them has killed or wiped it. What cannot be started fails the case.
    pub fn each() -> impl Fn() -> Self + Send + Sync + 'static {
        let idle = Idle::default();
        move || Proxied { store: Mutex::new(Loan::from(&idle)), clients: Mutex::default() }
    }

    fn store(&self) -> MutexGuard<'_, Loan<S>> {
        lock(&self.store)
    }

    fn each_proxy(&self, client: usize, turn: impl Fn(&Proxy)) {
        lock(&self.clients)[client].iter().for_each(turn);
    }
}

/// A store for one case; goes back when it is dropped, unless it was disturbed.
#[derive(Debug)]
struct Loan<S> {
    store: Option<S>,
    is_disturbed: bool,
    idle: Idle<S>,
}

impl<S: Store> Loan<S> {
    fn from(idle: &Idle<S>) -> Self {
        let started = lock(idle).pop();
        let store = started.map_or_else(S::start, Ok).unwrap_or_else(|failure| panic!("{failure}"));
        Loan { store: Some(store), is_disturbed: false, idle: idle.clone() }
    }
}

impl<S> Loan<S> {
    /// The store, for what the next case would notice.
    fn disturbed(&mut self) -> &mut S {
        self.is_disturbed = true;
        self.store.as_mut().expect(LENT)
    }
}

impl<S> Deref for Loan<S> {
    type Target = S;

    fn deref(&self) -> &S {
        self.store.as_ref().expect(LENT)
    }
}

impl<S> Drop for Loan<S> {
    fn drop(&mut self) {
        let store = self.store.take();
        if !self.is_disturbed {
            lock(&self.idle).extend(store);
        }
    }
}

const LENT: &str = "it is there until the loan ends";

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<S: Store> Harness for Proxied<S> {
    fn hooks() -> &'static [Hook] {
        Hook::ALL
    }

    fn client(&self, number: usize) -> Arc<dyn Backend> {
        let mut clients = lock(&self.clients);
        assert_eq!(clients.len(), number, "clients are asked for one after the other");
        let store = self.store();
        let proxies = store.servers().into_iter().map(Proxy::to).collect::<Result<Vec<_>, _>>();
        let proxies = proxies.unwrap_or_else(|failure| panic!("{failure}"));
        let addresses: Vec<_> = proxies.iter().map(Proxy::address).collect();
        clients.push(proxies);
        store.client(&addresses)
    }

    fn lease(&self) -> Duration {
        S::lease()
    }

    fn stretch(&self) -> Duration {
        S::stretch()
    }

    async fn sever(&self, client: usize) -> Hooked {
        self.each_proxy(client, Proxy::cut);
        Ok(())
    }

    async fn freeze(&self, client: usize) -> Hooked {
        self.each_proxy(client, Proxy::stall);
        Ok(())
    }

    async fn mute(&self, client: usize) -> Hooked {
        self.each_proxy(client, Proxy::mute);
        Ok(())
    }

    async fn heal(&self, client: usize) -> Hooked {
        self.each_proxy(client, Proxy::heal);
        Ok(())
    }

    async fn restart(&self) -> Hooked {
        Ok(self.store().disturbed().restart()?)
    }

    async fn remove(&self, seat: &Seat) -> Hooked {
        Ok(self.store().remove(seat)?)
    }

    async fn overwrite(&self, seat: &Seat) -> Hooked {
        Ok(self.store().overwrite(seat, S::lease())?)
    }

    async fn wipe(&self) -> Hooked {
        Ok(self.store().disturbed().wipe()?)
    }
}
