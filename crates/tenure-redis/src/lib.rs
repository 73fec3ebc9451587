//! Leader election on Redis and Valkey with [tenure](https://docs.rs/tenure): one packet a call, a fencing token on every tenure, and pushes
//! instead of polling.
//!
//! ```no_run
//! use tenure::Election;
//! use tenure_redis::RedisBackend;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tenure::Error> {
//! let election = Election::new(RedisBackend::new("redis://localhost")?, "nightly-report")?;
//! let tenure = election.candidate("pod-1").build()?.campaign().await?; // returns when elected
//! println!("leading with token {:?}", tenure.token());
//! tenure.resign().await?; // the next candidate leads some round trips later
//! # Ok(())
//! # }
//! ```
//!
//! # What it does not promise
//! **Redis acknowledges writes that it can lose**: with its default settings when it crashes, and with replicas whenever one takes over. Then two can
//! lead, and a token can come twice if the clock of the new server is behind. So the promise is [`BestEffort`](tenure::Promise::BestEffort)
//! unless the server's own settings show more ([`RedisBackend::examine`]), or the operator declares it where they cannot be seen
//! ([`RedisBuilder::declare`]): one server with `appendonly yes`, `appendfsync always` and no eviction is
//! [`Fenced`](tenure::Promise::Fenced). Keys expire by the wall clock of the server: if that is set forward, offices end too soon (SAFETY 17).
//!
//! # What it writes
//! | key | type | what it is |
//! | --- | --- | --- |
//! | `tenure:<election>` | string, expires with the lease | the record. A plain `SET NX PX` of the same key contends for the same office |
//! | `{tenure:<election>}:token` | string, expires 30 days after the last win | the last fencing token: max(the last + 1, the server's time in µs) |
//!
//! Both lie in one slot of a cluster. Word of wins and releases goes to the channel `tenure:<election>:told`; where `notify-keyspace-events` has
//! `Kgx`, the server tells of everything else, and a follower sends nothing while nothing changes. `tenure:` is the
//! [prefix](RedisBuilder::prefix).
#![forbid(unsafe_code)]

mod administer;
mod backend;
mod blame;
mod builder;
mod dial;
mod keys;
mod link;
mod record;
mod script;
mod servers;
mod settings;
mod subscriptions;
mod tls;
mod url;
mod watch;

pub use backend::RedisBackend;
pub use builder::RedisBuilder;
pub use settings::Examination;
pub use tenure::backend::network::Secret;
