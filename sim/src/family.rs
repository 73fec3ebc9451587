//! The families of stores: which model, which client, who else takes part.

use std::sync::Arc;
use std::time::Duration;

use tenure::Backend;
use tenure::backend::{Promise, Traits, Vacancies};

use crate::client::{self, Wire};
use crate::faults::Faults;
use crate::history::Fact;
use crate::store::{Bucket, ClaimStore, FileStore, Masters, RedisStore, RegisterStore, SessionStore, Store};

/// A kind of store, named for the best known of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Scripts on keys with a TTL, several of them a call.
    Redis,
    /// The same, shared with programs that lock it by `SET NX PX`.
    RedisShared,
    /// Keys whose TTL the bucket decides, numbered by their stream.
    Nats,
    /// Three functions on a TTL store; the library's adapter does the rest. Nothing is pushed.
    TtlStore,
    /// Sessions and a queue.
    Etcd,
    /// Sessions and a queue; the server negotiates the session.
    ZooKeeper,
    /// Conditional writes, pushed; the library's adapter does the rest.
    Kubernetes,
    /// The same, shared with client-go.
    KubernetesShared,
    /// Conditional writes with a version number, polled; the library's adapter does the rest.
    DynamoDb,
    /// Conditional writes whose versions are digests of the content, polled.
    ObjectStore,
    /// A locked file on one host, with a lock that dies with its process.
    File,
    /// Five independent masters.
    Redlock,
}

/// Foreign programs that take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peers {
    /// None.
    None,
    /// `SET NX PX` lockers.
    Lockers,
    /// client-go.
    ClientGo,
}

impl Family {
    /// How far the clocks of replicas lie apart that judge expiry in turn (SAFETY 3).
    pub const SKEW: Duration = Duration::from_secs(2);

    /// All of them.
    pub const ALL: [Family; 12] = [
        Family::Redis,
        Family::RedisShared,
        Family::Nats,
        Family::TtlStore,
        Family::Etcd,
        Family::ZooKeeper,
        Family::Kubernetes,
        Family::KubernetesShared,
        Family::DynamoDb,
        Family::ObjectStore,
        Family::File,
        Family::Redlock,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Family::Redis => "redis",
            Family::RedisShared => "redis-shared",
            Family::Nats => "nats",
            Family::TtlStore => "ttl-store",
            Family::Etcd => "etcd",
            Family::ZooKeeper => "zookeeper",
            Family::Kubernetes => "kubernetes",
            Family::KubernetesShared => "kubernetes-shared",
            Family::DynamoDb => "dynamodb",
            Family::ObjectStore => "object-store",
            Family::File => "file",
            Family::Redlock => "redlock",
        }
    }

    /// The family of a name.
    pub fn named(name: &str) -> Option<Family> {
        Family::ALL.into_iter().find(|family| family.name() == name)
    }

    /// A store without any record.
    pub fn store(self) -> Box<dyn Store> {
        match self {
            Family::Redis | Family::RedisShared => Box::new(RedisStore::default()),
            Family::Nats => Box::new(Bucket::new(Duration::from_secs(20))),
            Family::TtlStore => Box::new(ClaimStore::default()),
            Family::Etcd => Box::new(SessionStore::etcd()),
            Family::ZooKeeper => Box::new(SessionStore::zookeeper()),
            Family::Kubernetes | Family::KubernetesShared => Box::new(RegisterStore::pushing()),
            Family::DynamoDb => Box::new(RegisterStore::numbering()),
            Family::ObjectStore => Box::new(RegisterStore::digesting()),
            Family::File => Box::new(FileStore::default()),
            Family::Redlock => Box::new(Masters::new(self.servers())),
        }
    }

    /// A client of it.
    pub fn client(self, wire: Wire) -> Arc<dyn Backend> {
        match self {
            Family::Kubernetes | Family::KubernetesShared => client::register(wire, true),
            Family::DynamoDb | Family::ObjectStore => client::register(wire, false),
            Family::TtlStore => client::claims(wire),
            Family::Redlock => client::redlock(wire, self.servers()),
            Family::Redis | Family::RedisShared => client::redis(wire, self.traits()),
            _ => client::direct(wire, self.traits()),
        }
    }

    fn traits(self) -> Traits {
        let mut traits = Traits::new(Promise::Fenced);
        traits.vacancies = Vacancies::Pushed;
        if matches!(self, Family::Etcd | Family::ZooKeeper) {
            (traits.queues, traits.shares_sessions) = (true, true);
        }
        if self == Family::Nats {
            traits.store_skew = Self::SKEW;
        }
        if self == Family::File {
            (traits.contenders_judge, traits.names_releases) = (true, true);
        }
        traits
    }

    /// How many servers there are, each with a clock of its own.
    pub fn servers(self) -> usize {
        if self == Family::Redlock { 5 } else { 1 }
    }

    /// Who else takes part.
    pub fn peers(self) -> Peers {
        match self {
            Family::RedisShared => Peers::Lockers,
            Family::KubernetesShared => Peers::ClientGo,
            _ => Peers::None,
        }
    }

    /// Whether all of it is on one host, with one clock.
    pub fn is_one_host(self) -> bool {
        self == Family::File
    }

    /// Whether its tokens survive that all its data is lost, because they are never below its clock.
    pub fn tokens_survive_wipes(self) -> bool {
        matches!(self, Family::Redis | Family::RedisShared | Family::TtlStore | Family::File)
    }

    /// In so many worlds everything has happened that can.
    pub const ENOUGH: u64 = 1_000;

    /// What must be met in some of many worlds with these faults; else they prove nothing. Faults that were not asked for owe nothing.
    pub fn expects(self, faults: &Faults) -> Vec<Fact> {
        let mut facts = vec![];
        let mut when = |asked: bool, more: &[Fact]| {
            if asked {
                facts.extend_from_slice(more);
            }
        };
        let everything = faults.loss > 0 && faults.late > 0 && faults.between_pauses > 0 && faults.between_crashes > 0;
        let sessions = matches!(self, Family::Etcd | Family::ZooKeeper);
        when(faults.loss > 0, &[Fact::MessageLost, Fact::RenewalLostAfterCommit]);
        when(faults.loss > 0 && self != Family::Redlock, &[Fact::WinLostAfterCommit]);
        when(faults.duplication > 0, &[Fact::MessageDoubled]);
        when(faults.between_pauses > 0, &[Fact::Paused]);
        when(faults.between_partitions > 0, &[Fact::Partitioned]);
        when(faults.between_crashes > 0, &[Fact::Crashed, Fact::LeaderChanged]);
        when(faults.between_restarts > 0, &[Fact::ServerRestarted]);
        when(faults.between_deeds > 0, &[Fact::Resigned, Fact::Restarted, Fact::Unfit, Fact::Withdrawn, Fact::Settled]);
        when(faults.between_removals > 0, &[Fact::Removed]);
        when(faults.between_wipes > 0, &[Fact::Wiped]);
        when(faults.between_restores > 0, &[Fact::Restored]);
        when(faults.between_clock_faults > 0, &[Fact::ClockStepped, Fact::Overlapped]);
        when(faults.break_records(), &[Fact::Overlapped, Fact::Deposed]);
        when(faults.between_wipes > 0 && !self.tokens_survive_wipes(), &[Fact::TokenRefused]);
        when(everything, &[Fact::Expired, Fact::LateWrite, Fact::UnfencedUpdateLost, Fact::LateWriterRefused]);
        when(everything && !sessions, &[Fact::RenewalFailed]);
        when(everything && sessions, &[Fact::SessionLost]);
        let contenders_judge = matches!(
            self,
            Family::Kubernetes | Family::KubernetesShared | Family::DynamoDb | Family::ObjectStore | Family::File
        );
        when(everything && contenders_judge, &[Fact::Displaced]);
        when(faults.between_deeds > 0 && contenders_judge, &[Fact::SettleSkipped]);
        when(faults.between_crashes > 0 && self == Family::File, &[Fact::DeadDisplaced]);
        let scripts = matches!(self, Family::Redis | Family::RedisShared);
        when(scripts && faults.late > 0, &[Fact::BidInterleaved, Fact::BidOvertaken]);
        when(scripts && faults.loss > 0, &[Fact::BidCutShort, Fact::LandedUntold]);
        when(scripts && faults.between_restarts > 0, &[Fact::ServerDiedInBid, Fact::WritesLost, Fact::ScriptUnknown]);
        when(scripts && faults.refusal > 0, &[Fact::ScriptRefused, Fact::RefusedAfterLanding]);
        when(self.peers() != Peers::None, &[Fact::ForeignLed]);
        when(everything && self.peers() == Peers::Lockers, &[Fact::ForeignLingered]);
        facts
    }
}
