//! What a backend brings to be tested: a store, clients of it, and ways to break it.

use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::{Backend, Clock, Seat};

/// A way to break or tamper with a store that a [`Harness`] may have.
///
/// A case that needs one that is missing did not run, and is reported by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hook {
    /// [`Harness::sever`], and [`Harness::heal`] with it.
    Sever,
    /// [`Harness::freeze`], and [`Harness::heal`] with it.
    Freeze,
    /// [`Harness::mute`], and [`Harness::heal`] with it.
    Mute,
    /// [`Harness::restart`].
    Restart,
    /// [`Harness::remove`].
    Remove,
    /// [`Harness::overwrite`].
    Overwrite,
    /// [`Harness::wipe`].
    Wipe,
}

impl Hook {
    /// All of them.
    pub const ALL: &'static [Hook] =
        &[Hook::Sever, Hook::Freeze, Hook::Mute, Hook::Restart, Hook::Remove, Hook::Overwrite, Hook::Wipe];
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Hook::Sever => "sever",
            Hook::Freeze => "freeze",
            Hook::Mute => "mute",
            Hook::Restart => "restart",
            Hook::Remove => "remove",
            Hook::Overwrite => "overwrite",
            Hook::Wipe => "wipe",
        })
    }
}

/// A hook that a harness names in [`Harness::hooks`] and does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoHook(
    /// The hook.
    pub Hook,
);

impl fmt::Display for NoHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the harness has no hook `{}`", self.0)
    }
}

impl StdError for NoHook {}

/// What a hook answers; an error fails the case that pulled it.
pub type Hooked = Result<(), Box<dyn StdError + Send + Sync>>;

/// One fresh store, or one fresh namespace in a store, for one case.
///
/// Only [`client`](Harness::client) is required. Everything else has a default that fits a store on a real server without fault injection;
/// what it leaves out is reported as not run.
///
/// The methods are called inside a tokio runtime with I/O and time, which lives as long as the case. Cases that go through
/// [`Election`](crate::Election) call the client from the driver's runtime instead, and then only from there.
pub trait Harness: Send + Sync + 'static {
    /// The hooks that this harness has, known before any case runs.
    fn hooks() -> &'static [Hook] {
        &[]
    }

    /// Makes the store ready, before the first client is asked for.
    fn prepare(&self) -> impl Future<Output = Hooked> + Send {
        async { Ok(()) }
    }

    /// A client of its own, as another process would have it: nothing is shared with other clients but the store. Numbers count from 0, and
    /// each is asked for once; hooks name the client by it.
    fn client(&self, number: usize) -> Arc<dyn Backend>;

    /// The lease that cases ask for: short, so that waiting for its end is, and long enough for the store's round trips on a busy machine.
    fn lease(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// How much later than the lease says a silent holder's office can be had at the latest, and how late a push may come.
    fn stretch(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// Lets this much time pass, for the store and for its clients.
    fn pass(&self, span: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(span)
    }

    /// The clock that candidates are to use, if it is not the machine's own.
    fn clock(&self) -> Option<Arc<dyn Clock>> {
        None
    }

    /// Cuts the connection of a client: calls under way are not answered, later ones fail or are not answered either, watches end.
    fn sever(&self, client: usize) -> impl Future<Output = Hooked> + Send {
        let _ = client;
        missing(Hook::Sever)
    }

    /// Keeps the connection of a client open and lets nothing through: calls hang. It may hang other clients too.
    fn freeze(&self, client: usize) -> impl Future<Output = Hooked> + Send {
        let _ = client;
        missing(Hook::Freeze)
    }

    /// Lets the requests of a client through and none of the answers: what it asks is done, and it does not hear of it.
    fn mute(&self, client: usize) -> impl Future<Output = Hooked> + Send {
        let _ = client;
        missing(Hook::Mute)
    }

    /// Mends what [`sever`](Harness::sever), [`freeze`](Harness::freeze) and [`mute`](Harness::mute) did to a client.
    fn heal(&self, client: usize) -> impl Future<Output = Hooked> + Send {
        let _ = client;
        missing(Hook::Sever)
    }

    /// Stops the store as a crash would and starts it again on the same data; returns when it answers.
    fn restart(&self) -> impl Future<Output = Hooked> + Send {
        missing(Hook::Restart)
    }

    /// Removes the record of an office by hand: the holder is not asked.
    fn remove(&self, seat: &Seat) -> impl Future<Output = Hooked> + Send {
        let _ = seat;
        missing(Hook::Remove)
    }

    /// Writes over the record of an office by hand, as a foreign program that holds it for about one [`lease`](Harness::lease) would.
    fn overwrite(&self, seat: &Seat) -> impl Future<Output = Hooked> + Send {
        let _ = seat;
        missing(Hook::Overwrite)
    }

    /// Loses everything, as a store does that was made anew.
    fn wipe(&self) -> impl Future<Output = Hooked> + Send {
        missing(Hook::Wipe)
    }

    /// Tidies up after the case, also when it failed.
    fn clean_up(&self) -> impl Future<Output = ()> + Send {
        async {}
    }
}

async fn missing(hook: Hook) -> Hooked {
    Err(NoHook(hook).into())
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Any harness, so that the cases need not be compiled for each.
pub(super) trait AnyHarness: Send + Sync {
    fn prepare(&self) -> Boxed<'_, Hooked>;
    fn client(&self, number: usize) -> Arc<dyn Backend>;
    fn lease(&self) -> Duration;
    fn stretch(&self) -> Duration;
    fn pass(&self, span: Duration) -> Boxed<'_, ()>;
    fn clock(&self) -> Option<Arc<dyn Clock>>;
    fn sever(&self, client: usize) -> Boxed<'_, Hooked>;
    fn freeze(&self, client: usize) -> Boxed<'_, Hooked>;
    fn mute(&self, client: usize) -> Boxed<'_, Hooked>;
    fn heal(&self, client: usize) -> Boxed<'_, Hooked>;
    fn restart(&self) -> Boxed<'_, Hooked>;
    fn remove<'a>(&'a self, seat: &'a Seat) -> Boxed<'a, Hooked>;
    fn overwrite<'a>(&'a self, seat: &'a Seat) -> Boxed<'a, Hooked>;
    fn wipe(&self) -> Boxed<'_, Hooked>;
    fn clean_up(&self) -> Boxed<'_, ()>;
}

impl<H: Harness> AnyHarness for H {
    fn prepare(&self) -> Boxed<'_, Hooked> {
        Box::pin(Harness::prepare(self))
    }

    fn client(&self, number: usize) -> Arc<dyn Backend> {
        Harness::client(self, number)
    }

    fn lease(&self) -> Duration {
        Harness::lease(self)
    }

    fn stretch(&self) -> Duration {
        Harness::stretch(self)
    }

    fn pass(&self, span: Duration) -> Boxed<'_, ()> {
        Box::pin(Harness::pass(self, span))
    }

    fn clock(&self) -> Option<Arc<dyn Clock>> {
        Harness::clock(self)
    }

    fn sever(&self, client: usize) -> Boxed<'_, Hooked> {
        Box::pin(Harness::sever(self, client))
    }

    fn freeze(&self, client: usize) -> Boxed<'_, Hooked> {
        Box::pin(Harness::freeze(self, client))
    }

    fn mute(&self, client: usize) -> Boxed<'_, Hooked> {
        Box::pin(Harness::mute(self, client))
    }

    fn heal(&self, client: usize) -> Boxed<'_, Hooked> {
        Box::pin(Harness::heal(self, client))
    }

    fn restart(&self) -> Boxed<'_, Hooked> {
        Box::pin(Harness::restart(self))
    }

    fn remove<'a>(&'a self, seat: &'a Seat) -> Boxed<'a, Hooked> {
        Box::pin(Harness::remove(self, seat))
    }

    fn overwrite<'a>(&'a self, seat: &'a Seat) -> Boxed<'a, Hooked> {
        Box::pin(Harness::overwrite(self, seat))
    }

    fn wipe(&self) -> Boxed<'_, Hooked> {
        Box::pin(Harness::wipe(self))
    }

    fn clean_up(&self) -> Boxed<'_, ()> {
        Box::pin(Harness::clean_up(self))
    }
}
