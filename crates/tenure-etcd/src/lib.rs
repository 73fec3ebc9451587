//! Elections in etcd: a [`Backend`](tenure::Backend) for [`tenure`].
//!
//! Candidates wait in etcd's own queue of keys, so that `etcdctl elect` and programs on Go's `concurrency.Election` can take part. One lease covers
//! up to a thousand elections of a process and is kept alive by one keepalive. The create revision of the leader's key is the fencing token.
//!
//! What it does *not* promise: that two never lead after somebody deleted the leader's key or revoked its lease by hand, or with foreign peers
//! that were not declared ([`ForeignPeers`](tenure::ForeignPeers)). It does not work with releases of etcd that extend revoked leases
//! (before 3.4.38, 3.5.23, 3.6.5): those are refused.
//!
//! ```no_run
//! use tenure::Election;
//! use tenure_etcd::EtcdBackend;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), tenure::Error> {
//! let etcd = EtcdBackend::new("etcds://etcd-1,etcd-2,etcd-3/services?ca=/etc/etcd/ca.pem")?;
//! let election = Election::new(etcd.clone(), "nightly-report")?; // clones share leases
//! let tenure = election.candidate("pod-1").build()?.campaign().await?; // returns when elected
//! println!("leading with token {:?}", tenure.token());
//! tenure.resign().await?; // the next in the queue leads at once
//! # Ok(())
//! # }
//! ```
//!
//! # The address
//! `etcd://[USER@]HOST[:PORT][,HOST[:PORT]…][/PREFIX][?OPTION=VALUE…]`, and `etcds://…` for TLS.
//!
//! | option | |
//! | --- | --- |
//! | `ca=FILE` | the authority to trust, and no other; without it those that the host trusts |
//! | `cert=FILE`, `key=FILE` | our certificate and its key |
//! | `server-name=NAME` | the name in the server's certificate, where it is not the host's |
//! | `password-file=FILE` | the password, on its first line; without it the variable `TENURE_ETCD_PASSWORD` |
//! | `plaintext=allow` | allows a password over a network without TLS; otherwise that is refused |
//! | `peers=elections` | other programs run for the same elections: less is promised, and whoever wins settles for a lease |
//!
//! [`EtcdBackend::builder`] has the same, typed.
#![forbid(unsafe_code)]

mod administer;
mod backend;
mod builder;
mod keys;
mod queue;
mod record;
mod sessions;
mod watching;
mod wire;

pub use backend::EtcdBackend;
pub use builder::EtcdBuilder;
pub use tenure::backend::network::Secret;
pub use wire::Tls;
