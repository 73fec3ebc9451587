//! Where the servers are, as a URL says it.

use std::fmt;

use tenure::Error;
use tenure::backend::network::{Address, Form, Host, Secret};

/// How servers are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Topology {
    /// This one server.
    One(Host),
    /// The primary of this name, as these sentinels know it.
    Sentinel { sentinels: Vec<Host>, primary: String },
    /// A cluster of which these are some.
    Cluster(Vec<Host>),
}

impl Topology {
    pub(crate) fn addresses(&self) -> &[Host] {
        match self {
            Topology::One(address) => std::slice::from_ref(address),
            Topology::Sentinel { sentinels: addresses, .. } | Topology::Cluster(addresses) => addresses,
        }
    }
}

/// A URL, taken apart.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) topology: Topology,
    pub(crate) tls: bool,
    pub(crate) database: i64,
    pub(crate) username: Option<String>,
    pub(crate) password: Option<Secret>,
    pub(crate) parameters: Vec<(String, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    One,
    Sentinel,
    Cluster,
}

impl Url {
    /// Unless an address names one.
    pub(crate) const PORT: u16 = 6_379;
    const SENTINEL_PORT: u16 = 26_379;
    const FORM: Form = Form {
        store: "a Redis server",
        looks: "redis://HOST:PORT/DATABASE, redis+sentinel://HOST:PORT,HOST:PORT/PRIMARY or \
                redis+cluster://HOST:PORT,HOST:PORT (with TLS: rediss…)",
    };

    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let address = Address::parse(text, Self::FORM)?;
        let wrong = |why: &str| Err(Self::FORM.refusal(why));
        let (tls, kind) = match address.scheme.as_str() {
            "redis" | "valkey" => (false, Kind::One),
            "rediss" | "valkeys" => (true, Kind::One),
            "redis+sentinel" => (false, Kind::Sentinel),
            "rediss+sentinel" => (true, Kind::Sentinel),
            "redis+cluster" => (false, Kind::Cluster),
            "rediss+cluster" => (true, Kind::Cluster),
            _ => return Err(Self::FORM.refusal_of_another()),
        };
        let mut hosts = match kind {
            Kind::One if !address.has_hosts() => vec![Host::new("localhost", Self::PORT)],
            Kind::One | Kind::Cluster => address.hosts(Self::PORT)?,
            Kind::Sentinel => address.hosts(Self::SENTINEL_PORT)?,
        };
        let mut path = address.path.into_iter();
        let topology = match kind {
            Kind::One if hosts.len() > 1 => return wrong("one server was expected, and several are named"),
            Kind::One => Topology::One(hosts.remove(0)),
            Kind::Cluster => Topology::Cluster(hosts),
            Kind::Sentinel => match path.next().filter(|name| !name.is_empty()) {
                Some(primary) => Topology::Sentinel { sentinels: hosts, primary },
                None => return wrong("the name of the primary that the sentinels watch is missing"),
            },
        };
        let database = match path.next().unwrap_or_default().as_str() {
            "" => 0,
            number => match number.parse::<u16>() {
                Ok(0) => 0,
                Ok(_) if kind == Kind::Cluster => return wrong("a cluster has the database 0 and no other"),
                Ok(number) => i64::from(number),
                Err(_) => return wrong("the database is not a number"),
            },
        };
        if path.next().is_some() {
            return wrong("there is more after the database");
        }
        let (username, password, parameters) = (address.user, address.password, address.options);
        Ok(Url { topology, tls, database, username, password, parameters })
    }
}

/// Without user, password and parameters.
impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.tls { "rediss" } else { "redis" })?;
        f.write_str(match self.topology {
            Topology::One(_) => "://",
            Topology::Sentinel { .. } => "+sentinel://",
            Topology::Cluster(_) => "+cluster://",
        })?;
        for (number, address) in self.topology.addresses().iter().enumerate() {
            write!(f, "{}{address}", if number == 0 { "" } else { "," })?;
        }
        if let Topology::Sentinel { primary, .. } = &self.topology {
            write!(f, "/{primary}")?;
        }
        if self.database != 0 {
            write!(f, "/{}", self.database)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use tenure::ErrorKind;

    use super::*;

    fn shown(text: &str) -> String {
        Url::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).to_string()
    }

    #[test]
    fn every_form_is_understood_and_shown_without_secrets() {
        for (text, expected) in [
            ("redis://localhost", "redis://localhost:6379"),
            ("redis://", "redis://localhost:6379"),
            ("REDISS://ada:s3cret@host:1/3", "rediss://host:1/3"),
            ("valkey://[::1]:7/0?prefix=x:", "redis://[::1]:7"),
            ("redis+sentinel://a,b:2/main", "redis+sentinel://a:26379,b:2/main"),
            ("rediss+sentinel://ada@a/main/2", "rediss+sentinel://a:26379/main/2"),
            ("redis+cluster://a:1,b:2,[::1]:3/", "redis+cluster://a:1,b:2,[::1]:3"),
        ] {
            assert_eq!(shown(text), expected);
        }
        let url = Url::parse("redis://ada%40home:p%40ss%3Aword@host?prefix=a%26b:&declare=fenced").unwrap();
        assert_eq!((url.username.as_deref(), &url.password), (Some("ada@home"), &Some(Secret::text("p@ss:word"))));
        assert_eq!(url.parameters[0], ("prefix".into(), "a&b:".into()));
        assert!(!format!("{url:?}").contains("word"));
        assert_eq!(Url::parse("redis://:pw@host").unwrap().username, None);
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_can() {
        for text in [
            "host:6379",
            "mongodb://host",
            "redis://a,b",
            "redis://host:x",
            "redis://host:0",
            "redis://host/main",
            "redis://host/1/2",
            "redis+sentinel://a,b",
            "redis+cluster://a/1",
            "redis+cluster://",
            "redis://u%zz@host",
            "redis://host?prefix",
            "redis://[::1",
            "redis://[nonsense]:1",
        ] {
            let refused = Url::parse(text).expect_err(text);
            assert_eq!(refused.kind(), ErrorKind::InvalidConfig);
            assert!(refused.to_string().contains("redis+sentinel://"), "{refused}");
        }
    }
}
