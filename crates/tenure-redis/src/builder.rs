//! What can be set before a backend is used.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use tenure::backend::network::{Host, Secret};
use tenure::{Error, ErrorKind, ForeignPeers, Promise};

use crate::backend::{Inner, RedisBackend};
use crate::dial::{Credentials, Dialer, Plaintext};
use crate::keys::Prefix;
use crate::servers::Servers;
use crate::settings::Eviction;
use crate::tls::Tls;
use crate::url::{Topology, Url};

/// A backend that is being set up. Everything can also stand in the URL, as the parameter that each method names.
#[derive(Clone, Debug)]
pub struct RedisBuilder {
    url: Url,
    credentials: Credentials,
    sentinels: Credentials,
    tls: Tls,
    plaintext: Plaintext,
    prefix: String,
    peers: Option<ForeignPeers>,
    declared: Option<Promise>,
    eviction: Eviction,
    skew: Option<Duration>,
    detours: HashMap<Host, Host>,
    call_timeout: Duration,
}

impl RedisBuilder {
    /// How far the clocks of servers may lie apart that take over from each other, unless set.
    const SKEW: Duration = Duration::from_millis(250);
    /// How long a look or an order from outside may take, unless set. Candidates have timeouts of their own.
    const CALL_TIMEOUT: Duration = Duration::from_secs(3);

    pub(crate) fn new(url: &str) -> Result<Self, Error> {
        let url = Url::parse(url)?;
        let password = url.password.clone();
        let credentials = Credentials { username: url.username.clone(), password };
        let parameters = url.parameters.clone();
        let mut builder = RedisBuilder {
            url,
            credentials,
            sentinels: Credentials::default(),
            tls: Tls::default(),
            plaintext: Plaintext::Refused,
            prefix: Prefix::DEFAULT.to_owned(),
            peers: None,
            declared: None,
            eviction: Eviction::Refused,
            skew: None,
            detours: HashMap::new(),
            call_timeout: Self::CALL_TIMEOUT,
        };
        for (name, value) in parameters {
            builder = builder.parameter(&name, value)?;
        }
        Ok(builder)
    }

    fn parameter(self, name: &str, value: String) -> Result<Self, Error> {
        let invalid = |message: String| Error::new(ErrorKind::InvalidConfig, message);
        let one_of = |known: &str| invalid(format!("{name}={value} cannot be understood; there is {known}"));
        Ok(match (name, value.as_str()) {
            ("username", _) => self.username(value),
            ("password-file", _) => self.password(Secret::file(value)),
            ("password-env", _) => self.password(Secret::environment(value)),
            ("sentinel-username", _) => self.sentinel_username(value),
            ("sentinel-password-file", _) => self.sentinel_password(Secret::file(value)),
            ("sentinel-password-env", _) => self.sentinel_password(Secret::environment(value)),
            ("plaintext", "allow") => self.allow_plaintext_password(),
            ("plaintext", _) => return Err(one_of("plaintext=allow")),
            ("ca", _) => self.authorities(value),
            ("cert", _) => {
                RedisBuilder { tls: Tls { identity: Some((value.into(), self.key_file())), ..self.tls }, ..self }
            }
            ("key", _) => {
                RedisBuilder { tls: Tls { identity: Some((self.cert_file(), value.into())), ..self.tls }, ..self }
            }
            ("server-name", _) => self.server_name(value),
            ("prefix", _) => self.prefix(value),
            // They count their lease from the answer, and nothing but their own will ends their work.
            ("peers", "lockers") => self.shared_with(ForeignPeers::MayLinger),
            ("peers", _) => return Err(one_of("peers=lockers")),
            ("declare", "fenced") => self.declare(Promise::Fenced),
            ("declare", "lease-only") => self.declare(Promise::LeaseOnly),
            ("declare", "best-effort") => self.declare(Promise::BestEffort),
            ("declare", _) => return Err(one_of("fenced, lease-only and best-effort")),
            ("eviction", "accept") => self.accept_eviction(),
            ("eviction", _) => return Err(one_of("eviction=accept")),
            ("skew-ms", _) => {
                let millis = value.parse().map_err(|_| one_of("a number of milliseconds"))?;
                self.skew(Duration::from_millis(millis))
            }
            ("reach", _) => {
                let (announced, at) = value.split_once('=').unwrap_or_default();
                self.reach(announced, at).map_err(|_| one_of("reach=HOST:PORT=HOST:PORT, announced and real"))?
            }
            _ => {
                let known = "username, password-file, password-env, sentinel-username, sentinel-password-file, \
                             sentinel-password-env, plaintext, ca, cert, key, server-name, prefix, peers, declare, eviction, skew-ms and reach";
                return Err(invalid(format!("there is no setting {name:?} of a Redis server; there is {known}")));
            }
        })
    }

    /// The user to connect as; `username=`.
    #[must_use]
    pub fn username(mut self, name: impl Into<String>) -> Self {
        self.credentials.username = Some(name.into());
        self
    }

    /// Its password; `password-file=` and `password-env=`.
    #[must_use]
    pub fn password(mut self, password: Secret) -> Self {
        self.credentials.password = Some(password);
        self
    }

    /// The user at the sentinels, where they have users; `sentinel-username=`.
    #[must_use]
    pub fn sentinel_username(mut self, name: impl Into<String>) -> Self {
        self.sentinels.username = Some(name.into());
        self
    }

    /// Its password; `sentinel-password-file=` and `sentinel-password-env=`.
    #[must_use]
    pub fn sentinel_password(mut self, password: Secret) -> Self {
        self.sentinels.password = Some(password);
        self
    }

    /// The environment variables that passwords are read from: whoever starts other programs keeps them from those.
    pub fn password_variables(&self) -> impl Iterator<Item = &str> {
        [&self.credentials, &self.sentinels].into_iter().filter_map(|who| who.password.as_ref()?.variable())
    }

    /// Lets the password go to another host unencrypted, **where everybody on the way can read it**; `plaintext=allow`. Refused unless set.
    #[must_use]
    pub fn allow_plaintext_password(mut self) -> Self {
        self.plaintext = Plaintext::Allowed;
        self
    }

    /// A PEM file with the authorities that sign servers' certificates, instead of the system's; `ca=`. Like every file it is read again for
    /// each connection.
    #[must_use]
    pub fn authorities(mut self, file: impl Into<PathBuf>) -> Self {
        self.tls.authorities = Some(file.into());
        self
    }

    /// PEM files with our own certificate and its key; `cert=` and `key=`.
    #[must_use]
    pub fn client_certificate(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.tls.identity = Some((certificate.into(), key.into()));
        self
    }

    /// The name that servers' certificates have, where it is not the name of the host; `server-name=`.
    #[must_use]
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.tls.server_name = Some(name.into());
        self
    }

    /// What stands before the names of elections to make keys; `prefix=`. It is `tenure:` unless set.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Declares that programs other than tenure lock the same keys, by `SET NX PX`. They show no token, so that no more than
    /// [`Promise::LeaseOnly`] is promised (SAFETY 20). `peers=lockers` is [`ForeignPeers::MayLinger`]: whoever wins settles for a lease.
    ///
    /// [`Election::shared_with`](tenure::Election::shared_with) declares the same of one election.
    #[must_use]
    pub fn shared_with(mut self, peers: ForeignPeers) -> Self {
        self.peers = Some(peers);
        self
    }

    /// Declares what the servers can be relied on for, where they do not show it; `declare=`. A server that shows less is refused.
    #[must_use]
    pub fn declare(mut self, promise: Promise) -> Self {
        self.declared = Some(promise);
        self
    }

    /// Takes servers that evict keys when their memory is full, so that **an office can fall vacant under its holder**; `eviction=accept`.
    /// Refused unless set, where it can be seen.
    #[must_use]
    pub fn accept_eviction(mut self) -> Self {
        self.eviction = Eviction::Accepted;
        self
    }

    /// How far the wall clocks of servers may lie apart of which one takes over from another (SAFETY 3); `skew-ms=`. It is taken off every
    /// lease: 250 ms with sentinels and in a cluster unless set, nothing on one server.
    #[must_use]
    pub fn skew(mut self, skew: Duration) -> Self {
        self.skew = Some(skew);
        self
    }

    /// Reaches a server elsewhere than where sentinels or a cluster say that it is, as through a tunnel or out of a container; `reach=`, once for
    /// each.
    pub fn reach(mut self, announced: &str, at: &str) -> Result<Self, Error> {
        let parsed = |text: &str| {
            let message = format!("{text:?} is no host and port");
            Host::parse(text, Url::PORT).ok_or_else(|| Error::new(ErrorKind::InvalidConfig, message))
        };
        self.detours.insert(parsed(announced)?, parsed(at)?);
        Ok(self)
    }

    /// How long a look or an order from outside may take; 3 s unless set. Candidates have timeouts of their own.
    #[must_use]
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = timeout;
        self
    }

    /// The backend. Nothing is connected yet; what cannot be or must not be is refused.
    pub fn build(self) -> Result<RedisBackend, Error> {
        let invalid = |message: &str| Err(Error::new(ErrorKind::InvalidConfig, message));
        if let Some((certificate, key)) = &self.tls.identity
            && (certificate.as_os_str().is_empty() || key.as_os_str().is_empty())
        {
            return invalid("a client certificate needs its key, and the other way round: name both files");
        }
        let has_tls_settings =
            self.tls.authorities.is_some() || self.tls.identity.is_some() || self.tls.server_name.is_some();
        if !self.url.tls && has_tls_settings {
            return invalid("certificates are named and the address is not encrypted; write rediss://");
        }
        if self.credentials.username.is_some() && self.credentials.password.is_none() {
            return invalid("a user is named without a password; give it by a file or the environment");
        }
        let prefix = Prefix::new(&self.prefix)?;
        let dialer = Dialer {
            tls: self.url.tls.then_some(self.tls),
            credentials: self.credentials,
            database: self.url.database,
            plaintext: self.plaintext,
            detours: self.detours,
        };
        if !matches!(self.url.topology, Topology::Sentinel { .. }) {
            self.url.topology.addresses().iter().try_for_each(|address| dialer.admit(address))?;
        }
        let skew = match self.url.topology {
            Topology::One(_) => Duration::ZERO,
            Topology::Sentinel { .. } | Topology::Cluster(_) => Self::SKEW,
        };
        Ok(RedisBackend::over(Inner {
            place: self.url.to_string(),
            database: self.url.database,
            servers: Servers::new(self.url.topology, dialer, self.sentinels, self.eviction, self.declared),
            prefix,
            peers: self.peers,
            skew: self.skew.unwrap_or(skew),
            call_timeout: self.call_timeout,
        }))
    }

    fn cert_file(&self) -> PathBuf {
        self.tls.identity.as_ref().map(|(certificate, _)| certificate.clone()).unwrap_or_default()
    }

    fn key_file(&self) -> PathBuf {
        self.tls.identity.as_ref().map(|(_, key)| key.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> String {
        let refused = RedisBackend::new(url).expect_err(url);
        assert_eq!(refused.kind(), ErrorKind::InvalidConfig, "{refused}");
        refused.to_string()
    }

    #[test]
    fn a_password_goes_unencrypted_to_this_host_alone() {
        assert!(refused("redis://ada:s3cret@redis.example").contains("use rediss://"));
        assert!(refused("redis+cluster://:s3cret@127.0.0.1:1,10.0.0.1:2").contains("10.0.0.1:2 unencrypted"));
        for taken in [
            "redis://ada:s3cret@localhost",
            "rediss://ada:s3cret@redis.example",
            "redis://ada:s3cret@redis.example?plaintext=allow",
            "redis://redis.example",
        ] {
            RedisBackend::new(taken).unwrap_or_else(|error| panic!("{taken}: {error}"));
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        assert!(refused("rediss://h?cert=/c.pem").contains("needs its key"));
        assert!(refused("redis://h?ca=/ca.pem").contains("write rediss://"));
        assert!(refused("redis://ada@localhost").contains("without a password"));
        assert!(refused("redis://h?prefix=a{").contains("hash tag"));
        assert!(refused("redis://h?declare=much").contains("fenced, lease-only and best-effort"));
        assert!(refused("redis://h?colour=red").contains("there is no setting \"colour\""));
        RedisBackend::new("rediss://h?key=/k.pem&cert=/c.pem&ca=/ca.pem&server-name=x").expect("in either order");
    }

    #[test]
    fn no_secret_is_ever_shown() {
        let builder = RedisBackend::builder("rediss://ada:s3cret@h").unwrap();
        let backend = builder.clone().build().unwrap();
        assert!(!format!("{builder:?} {backend:?}").contains("s3cret"));
    }
}
