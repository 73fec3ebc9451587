//! Where the servers are, as a URL says it.

use std::fmt;
use std::net::IpAddr;

use tenure::{Error, ErrorKind};

/// One server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Address {
    /// Whether what is sent there stays on this host.
    pub(crate) fn is_loopback(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(ip) => ip.is_loopback(),
            Err(_) => self.host.eq_ignore_ascii_case("localhost"),
        }
    }

    /// `host`, `host:port` or `[ipv6]:port`.
    pub(crate) fn parse(text: &str, default_port: u16) -> Option<Self> {
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']')?;
                host.parse::<std::net::Ipv6Addr>().ok()?;
                (host, port.strip_prefix(':').or(port.is_empty().then_some(""))?)
            }
            None => text.split_once(':').unwrap_or((text, "")),
        };
        let port = if port.is_empty() { default_port } else { port.parse().ok().filter(|port| *port != 0)? };
        let named = !host.is_empty() && !host.contains(['/', '@', '[', ']', ' ', '%']);
        named.then(|| Address { host: host.to_owned(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// How servers are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Topology {
    /// This one server.
    One(Address),
    /// The primary of this name, as these sentinels know it.
    Sentinel { sentinels: Vec<Address>, primary: String },
    /// A cluster of which these are some.
    Cluster(Vec<Address>),
}

impl Topology {
    pub(crate) fn addresses(&self) -> &[Address] {
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
    pub(crate) password: Option<String>,
    pub(crate) parameters: Vec<(String, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    One,
    Sentinel,
    Cluster,
}

impl Url {
    /// How URLs look.
    pub(crate) const FORMS: &str = "redis://HOST:PORT/DATABASE, redis+sentinel://HOST:PORT,HOST:PORT/PRIMARY or \
                                    redis+cluster://HOST:PORT,HOST:PORT (with TLS: rediss…)";

    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        // The text itself may hold a password.
        let wrong = |why: &str| {
            Err(Error::new(ErrorKind::InvalidConfig, format!("{why}; an address looks like {}", Self::FORMS)))
        };
        let Some((scheme, rest)) = text.split_once("://") else { return wrong("this is no address of a Redis server") };
        let (tls, kind) = match scheme.to_ascii_lowercase().as_str() {
            "redis" | "valkey" => (false, Kind::One),
            "rediss" | "valkeys" => (true, Kind::One),
            "redis+sentinel" => (false, Kind::Sentinel),
            "rediss+sentinel" => (true, Kind::Sentinel),
            "redis+cluster" => (false, Kind::Cluster),
            "rediss+cluster" => (true, Kind::Cluster),
            _ => return wrong("this is no address of a Redis server"),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (user_info, hosts) = match authority.rsplit_once('@') {
            Some((user_info, hosts)) => (Some(user_info), hosts),
            None => (None, authority),
        };
        let (username, password) = match user_info.map(|user_info| user_info.split_once(':').unwrap_or((user_info, "")))
        {
            Some((username, password)) => (decoded(username), decoded(password)),
            None => (Some(String::new()), Some(String::new())),
        };
        let (Some(username), Some(password)) = (username, password) else {
            return wrong("the user or the password is not percent-encoded UTF-8");
        };
        let default_port = if kind == Kind::Sentinel { 26_379 } else { 6_379 };
        let hosts = if hosts.is_empty() && kind == Kind::One { "localhost" } else { hosts };
        let addresses: Option<Vec<_>> = hosts.split(',').map(|host| Address::parse(host, default_port)).collect();
        let Some(mut addresses) = addresses else { return wrong("a host or a port cannot be understood") };
        let mut path = path.split('/');
        let topology = match kind {
            Kind::One if addresses.len() > 1 => return wrong("one server was expected, and several are named"),
            Kind::One => Topology::One(addresses.remove(0)),
            Kind::Cluster => Topology::Cluster(addresses),
            Kind::Sentinel => match path.next().and_then(decoded).filter(|name| !name.is_empty()) {
                Some(primary) => Topology::Sentinel { sentinels: addresses, primary },
                None => return wrong("the name of the primary that the sentinels watch is missing"),
            },
        };
        let database = match path.next().unwrap_or_default() {
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
        let parameters: Option<Vec<_>> =
            query.split('&').filter(|parameter| !parameter.is_empty()).map(parameter).collect();
        let Some(parameters) = parameters else {
            return wrong("a parameter has no value, or is not percent-encoded UTF-8");
        };
        let given = |text: String| Some(text).filter(|text| !text.is_empty());
        Ok(Url { topology, tls, database, username: given(username), password: given(password), parameters })
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

fn parameter(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    Some((decoded(name)?, decoded(value)?))
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        bytes.push((digit()? * 16 + digit()?) as u8);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
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
        assert_eq!((url.username.as_deref(), url.password.as_deref()), (Some("ada@home"), Some("p@ss:word")));
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

    #[test]
    fn loopback_is_told_from_everywhere_else() {
        let address = |host: &str| Address { host: host.into(), port: 1 };
        assert!(["localhost", "127.0.0.1", "127.8.9.1", "::1"].iter().all(|host| address(host).is_loopback()));
        assert!(!["10.0.0.1", "redis.example", "0.0.0.0", "::"].iter().any(|host| address(host).is_loopback()));
    }
}
