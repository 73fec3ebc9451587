//! What has to be known of a cluster, and what is refused.

use std::sync::Arc;
use std::time::Duration;

use tenure::backend::network::{Address, Form, Host, Secret};
use tenure::{BootClock, Clock, Error, ErrorKind, ForeignPeers};

use crate::backend::{EtcdBackend, Store};
use crate::keys::Keys;
use crate::sessions::Sessions;
use crate::wire::{Link, Login, Tls};

/// Makes an [`EtcdBackend`]. Nothing is connected before its first call.
#[derive(Clone, Debug)]
pub struct EtcdBuilder {
    members: Vec<String>,
    prefix: String,
    tls: Option<Tls>,
    user: Option<String>,
    password: Option<Secret>,
    plaintext: bool,
    peers: Option<ForeignPeers>,
    patience: Duration,
    clock: Arc<dyn Clock>,
}

impl EtcdBuilder {
    /// How long a call may take that nobody sets a limit for: a look, a list.
    pub const PATIENCE: Duration = Duration::from_secs(5);

    const FORM: Form = Form { store: "etcd", looks: "etcd://HOST:PORT,HOST:PORT/PREFIX (with TLS: etcds://…)" };
    /// Unless an address names one.
    const PORT: u16 = 2379;

    /// A cluster with these members, each `HOST`, `HOST:PORT` or `[IPV6]:PORT`.
    pub fn new<H: AsRef<str>>(members: impl IntoIterator<Item = H>) -> Self {
        EtcdBuilder {
            members: members.into_iter().map(|member| member.as_ref().to_owned()).collect(),
            prefix: String::new(),
            tls: None,
            user: None,
            password: None,
            plaintext: false,
            peers: None,
            patience: Self::PATIENCE,
            clock: Arc::new(BootClock),
        }
    }

    /// What this address says. Without a password in it, that is read from its `password-file`, or from the environment variable
    /// `TENURE_ETCD_PASSWORD`.
    pub fn from_url(url: &str) -> Result<Self, Error> {
        let address = Address::parse(url, Self::FORM)?;
        let secured = match address.scheme.as_str() {
            "etcd" => false,
            "etcds" => true,
            _ => return Err(Self::FORM.refusal_of_another()),
        };
        let mut builder = EtcdBuilder::new(address.hosts(Self::PORT)?.iter().map(Host::to_string));
        builder.prefix = address.path.join("/");
        builder.password = address.password;
        if address.user.is_some() && builder.password.is_none() {
            builder.password = Some(Secret::environment("TENURE_ETCD_PASSWORD"));
        }
        builder.user = address.user;
        let mut tls = secured.then(Tls::new);
        let (mut certificate, mut key) = (None, None);
        for (name, value) in address.options {
            let wrong = |message: &str| Err(Error::new(ErrorKind::InvalidConfig, format!("`{name}` {message}")));
            match (name.as_str(), value.as_str()) {
                ("password-file", _) => builder.password = Some(Secret::file(value)),
                ("plaintext", "allow") => builder.plaintext = true,
                ("plaintext", _) => {
                    return wrong("can only be `allow`: a password then goes over the network unencrypted");
                }
                // They count their lease from the answer, and nothing but their own will ends their work.
                ("peers", "elections") => builder.peers = Some(ForeignPeers::MayLinger),
                ("peers", _) => {
                    return wrong(
                        "can only be `elections`: etcdctl elect, or Go's concurrency.Election, runs there too",
                    );
                }
                ("ca" | "server-name" | "cert" | "key", _) if tls.is_none() => {
                    return wrong("is for TLS; write etcds://");
                }
                ("ca", _) => tls = tls.map(|tls| tls.authority(value)),
                ("server-name", _) => tls = tls.map(|tls| tls.server_name(value)),
                ("cert", _) => certificate = Some(value),
                ("key", _) => key = Some(value),
                _ => {
                    return wrong(
                        "is no option of etcd; there are ca, cert, key, server-name, password-file, plaintext and peers",
                    );
                }
            }
        }
        builder.tls = match (tls, certificate, key) {
            (Some(tls), Some(certificate), Some(key)) => Some(tls.identity(certificate, key)),
            (tls, None, None) => tls,
            _ => {
                return Err(Error::new(
                    ErrorKind::InvalidConfig,
                    "a client certificate needs both: cert=FILE and key=FILE",
                ));
            }
        };
        Ok(builder)
    }

    /// Holds elections below this prefix, `services/` for `services/nightly-report/…`. Unless set there is none.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Encrypts connections.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Logs in as this user.
    #[must_use]
    pub fn user(mut self, user: impl Into<String>, password: Secret) -> Self {
        (self.user, self.password) = (Some(user.into()), Some(password));
        self
    }

    /// Allows a password to go over a network unencrypted; whoever can read it there can hold every office.
    #[must_use]
    pub fn allow_plaintext_password(mut self) -> Self {
        self.plaintext = true;
        self
    }

    /// Declares that programs other than tenure run for the same elections, as `etcdctl elect` does or Go's `concurrency.Election`. They say
    /// nothing of their token, so that no more than [`Promise::LeaseOnly`](tenure::Promise::LeaseOnly) is promised (SAFETY 20). `peers=elections`
    /// is [`ForeignPeers::MayLinger`]: whoever wins settles for a lease.
    ///
    /// [`Election::shared_with`](tenure::Election::shared_with) declares the same of one election.
    #[must_use]
    pub fn shared_with(mut self, peers: ForeignPeers) -> Self {
        self.peers = Some(peers);
        self
    }

    /// How long a call may take that nobody sets a limit for; [`PATIENCE`](Self::PATIENCE) unless set.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The clock by which leases are believed; it has to be the candidates' own.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Refuses what cannot be meant.
    pub fn build(self) -> Result<EtcdBackend, Error> {
        let wrong = |message: String| Err(Error::new(ErrorKind::InvalidConfig, message));
        let parsed = self.members.iter().map(|member| Host::parse(member, Self::PORT).ok_or(member));
        let hosts = match parsed.collect::<Result<Vec<_>, _>>() {
            Ok(hosts) => hosts,
            Err(member) => {
                return wrong(format!("`{member}` is no member of etcd; write HOST, HOST:PORT or [IPV6]:PORT"));
            }
        };
        if hosts.is_empty() {
            return wrong("etcd has to have a member to connect with; name one, or better all".to_owned());
        }
        if self.prefix.chars().any(char::is_control) {
            return wrong("the prefix has a control character in it".to_owned());
        }
        let login = match (self.user, self.password) {
            (Some(user), Some(password)) => Some(Login { user, password }),
            (Some(user), None) => return wrong(format!("the user {user} has no password; name a file that has it")),
            (None, Some(_)) => {
                return wrong("there is a password and no user; put the user before the host".to_owned());
            }
            (None, None) => None,
        };
        let far = hosts.iter().find(|host| !host.is_loopback()).filter(|_| login.is_some() && self.tls.is_none());
        if let Some(host) = far {
            if !self.plaintext {
                return wrong(format!(
                    "the password would go to {host} unencrypted; use etcds://, or allow it in so many words with plaintext=allow"
                ));
            }
            tracing::warn!(%host, "a password goes to etcd unencrypted");
        }
        let scheme = if self.tls.is_some() { "etcds" } else { "etcd" };
        let keys = Keys::below(&self.prefix);
        let link = Link::new(hosts, self.tls, login);
        let place = format!("{scheme}://{}/{}", link.names(), keys.prefix());
        let (clock, peers, patience) = (self.clock, self.peers, self.patience);
        Ok(EtcdBackend::of(Store { link, keys, sessions: Sessions::default(), clock, place, peers, patience }))
    }
}

#[cfg(test)]
mod tests {
    use tenure::Backend;

    use super::*;

    fn refused(url: &str) -> String {
        let error = EtcdBackend::new(url).expect_err(url);
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        error.to_string()
    }

    #[test]
    fn a_place_is_shown_without_secrets() {
        let backend = EtcdBackend::new("etcds://ada:s3cret@a,b:1/services?ca=/etc/ca.pem").expect("it is one");
        assert_eq!(backend.place(), "etcds://a:2379,b:1/services/");
        assert!(!format!("{backend:?}").contains("s3cret"));
        let builder = EtcdBuilder::new(["a"]).user("ada", Secret::text("s3cret"));
        assert!(!format!("{builder:?}").contains("s3cret"));
    }

    #[test]
    fn unsafe_and_senseless_settings_are_refused() {
        assert!(refused("etcd://ada:pw@etcd.example").contains("unencrypted"));
        assert!(EtcdBackend::new("etcd://ada:pw@etcd.example?plaintext=allow").is_ok());
        assert!(EtcdBackend::new("etcd://ada:pw@localhost").is_ok(), "it does not leave this host");
        assert!(refused("etcd://h?ca=x").contains("etcds://"));
        assert!(refused("etcds://h?cert=x").contains("needs both"));
        assert!(refused("etcd://h?colour=x").contains("no option"));
        assert!(refused("etcd://h?plaintext=yes").contains("allow"));
        assert!(refused("etcd://h?password-file=x").contains("no user"));
        assert!(refused("etcd://h?peers=lockers").contains("`elections`"));
        assert!(refused("http://h").contains("no address of etcd"));
        assert!(EtcdBackend::builder([""; 0]).build().is_err());
        let member = EtcdBackend::builder(["h:x"]).build().expect_err("no port").to_string();
        assert!(member.contains("`h:x` is no member"), "{member}");
    }
}
