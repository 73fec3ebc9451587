//! The reconciliation loop of `elector`: it keeps what runs on this machine in step with an
//! election.
//!
//! A [`Source`] says what the election makes of this process ([`State`]), a [`Handler`] starts and
//! stops the leader's work, and [`Reconcile`] stands between the two: it runs `begin` once when
//! leadership comes, `end` when it goes, and `error` when something went wrong. The decisions are
//! those of [`Reconciler`], a pure state machine; the numbers are those of [`Policy`].
//!
//! ```
//! use tenure::reconcile::{Handler, HandlerFuture, Outcome, Policy, Reconcile, State};
//!
//! struct Cron;
//! impl Handler for Cron {
//!     fn begin(&self) -> HandlerFuture<'_> {
//!         Box::pin(async { Ok(println!("start the timer")) })
//!     }
//!     fn end(&self) -> HandlerFuture<'_> {
//!         Box::pin(async { Ok(println!("stop the timer")) })
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (election, source) = tokio::sync::mpsc::channel(8);
//! election.send(State::Leader).await?;
//! drop(election); // the end of the source is the end of the run, after `end` has run
//! let outcome = Reconcile::new(source, Cron, Policy::default()).run().await?;
//! assert_eq!(outcome, Outcome::SourceEnded);
//! # Ok(()) }
//! ```
//!
//! # What it does
//! | the source says | and this process | then |
//! | --- | --- | --- |
//! | `Leader` | does not lead | `begin`; this process leads only after it succeeded |
//! | `Leader` | leads | nothing |
//! | `NotLeader` | leads | `end`; if it fails, go on as for `Error` |
//! | `Error` | leads | `end`, up to 12 times 5 s apart, the office kept meanwhile; then `error`, then as below |
//! | `Error`, or `begin` failed | does not lead | `error`, give the office up, sit out 30 s, run for it again |
//!
//! Only one handler runs at a time. What the source says meanwhile is acted on when the handler is
//! done. Of several messages the last one counts, except that a loss is never forgotten: a
//! leadership lost and won again while `begin` ran is ended and begun again, since it is another
//! one.
//!
//! # What it does not promise
//! - **If `end` fails again and again, the local system may go on as leader** although another
//!   process leads. It is tried 12 times, then [`Reconcile::run`] returns
//!   [`Failure::EndKeptFailing`] *without* giving the office up; what `begin` started may outlive
//!   even the process. Only a fencing token, checked by the resource, helps then.
//! - `end` starts when the source says so. Whether there is time to run it before another leader
//!   begins is the source's doing.
//! - `begin` and `end` are not bounded in time, except when the run is to stop. A handler that can
//!   hang must bound itself.
//! - `begin` that failed may have started something. `end` is not run for it: clean up in `begin`
//!   itself or in `error`, which runs before the office is given up.

mod error;
mod handler;
mod outcome;
mod policy;
mod reconciler;
mod runner;
mod source;

pub use error::{BoxError, ReconcileError};
pub use handler::{Handler, HandlerFuture};
pub use outcome::{Failure, Outcome};
pub use policy::{Policy, PolicyError};
pub use reconciler::{Action, Hook, Input, Reconciler, State};
pub use runner::Reconcile;
pub use source::{Source, SourceFuture};
