//! Where a cluster is, as a URL says it.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use tenure::{Error, ErrorKind};

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Host {
    name: String,
    port: u16,
}

impl Host {
    const PORT: u16 = 2379;

    /// `host`, `host:port` or `[ipv6]:port`.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let wrong = || {
            let message = format!("`{text}` is no member of etcd; write HOST, HOST:PORT or [IPV6]:PORT");
            Error::new(ErrorKind::InvalidConfig, message)
        };
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (name, port) = rest.split_once(']').ok_or_else(wrong)?;
                name.parse::<Ipv6Addr>().map_err(|_| wrong())?;
                (name, if port.is_empty() { "" } else { port.strip_prefix(':').ok_or_else(wrong)? })
            }
            None => text.split_once(':').unwrap_or((text, "")),
        };
        let port = match port {
            "" => Self::PORT,
            port => port.parse().ok().filter(|port| *port != 0).ok_or_else(wrong)?,
        };
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        if name.is_empty() || !name.chars().all(legal) {
            return Err(wrong());
        }
        Ok(Host { name: name.to_owned(), port })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Whether what is sent there stays on this host.
    pub(crate) fn is_loopback(&self) -> bool {
        match self.name.parse::<IpAddr>() {
            Ok(ip) => ip.is_loopback(),
            Err(_) => self.name.eq_ignore_ascii_case("localhost"),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.contains(':') {
            write!(f, "[{}]:{}", self.name, self.port)
        } else {
            write!(f, "{}:{}", self.name, self.port)
        }
    }
}

/// A URL, taken apart.
pub(crate) struct Address {
    pub(crate) hosts: Vec<Host>,
    pub(crate) secured: bool,
    pub(crate) prefix: String,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) options: Vec<(String, String)>,
}

impl Address {
    /// How URLs look.
    pub(crate) const FORM: &str = "etcd://HOST:PORT,HOST:PORT/PREFIX (with TLS: etcds://…)";

    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        // The text itself may hold a password.
        let wrong = |why: &str| {
            Error::new(ErrorKind::InvalidConfig, format!("{why}; an address of etcd looks like {}", Self::FORM))
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong("this is no address of etcd"))?;
        let secured = match scheme.to_ascii_lowercase().as_str() {
            "etcd" => false,
            "etcds" => true,
            _ => return Err(wrong("this is no address of etcd")),
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // A slash or a question mark in a password would make a host of its first part, which errors name, and a prefix of the other.
        if path.contains('@') || query.contains('@') {
            return Err(wrong("a `@` after the hosts is written %40; in a password, `/` is written %2F and `?` %3F"));
        }
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(user), hosts),
            None => (None, authority),
        };
        let text = |encoded: &str| decoded(encoded).ok_or_else(|| wrong("a part of it is not percent-encoded UTF-8"));
        let (user, password) = match user.map(|user| user.split_once(':').map_or((user, None), |(a, b)| (a, Some(b)))) {
            Some((user, password)) => (Some(text(user)?), password.map(text).transpose()?),
            None => (None, None),
        };
        let hosts = hosts.split(',').map(Host::parse).collect::<Result<Vec<_>, _>>()?;
        let mut options = Vec::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').ok_or_else(|| wrong("an option has no value"))?;
            options.push((text(name)?, text(value)?));
        }
        let user = user.filter(|user| !user.is_empty());
        Ok(Address { hosts, secured, prefix: text(path)?, user, password, options })
    }
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

    #[test]
    fn every_part_of_an_address_is_understood() {
        let address =
            Address::parse("ETCDS://ada%40home:p%3Aw@a,b:1,[::1]:2/services/x?ca=%2Fetc%2Fca.pem&plaintext=allow")
                .expect("it is one");
        let hosts: Vec<_> = address.hosts.iter().map(Host::to_string).collect();
        assert_eq!(hosts, ["a:2379", "b:1", "[::1]:2"]);
        assert!(address.secured);
        assert_eq!(address.prefix, "services/x");
        assert_eq!((address.user.as_deref(), address.password.as_deref()), (Some("ada@home"), Some("p:w")));
        assert_eq!(address.options[0], ("ca".to_owned(), "/etc/ca.pem".to_owned()));
        let plain = Address::parse("etcd://localhost").expect("it is one");
        assert!(!plain.secured && plain.prefix.is_empty() && plain.user.is_none());
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_can() {
        for text in [
            "host:2379",
            "http://host",
            "etcd://",
            "etcd://a,,b",
            "etcd://h:0",
            "etcd://h:x",
            "etcd://[x]",
            "etcd://h?a",
            "etcd://h/%zz",
        ] {
            let error = Address::parse(text).err().unwrap_or_else(|| panic!("{text} is taken"));
            assert_eq!(error.kind(), ErrorKind::InvalidConfig);
            assert!(error.to_string().contains("HOST"), "{error}");
        }
    }

    #[test]
    fn no_part_of_a_password_stands_in_an_error() {
        for text in ["etcd://ada:s3/cret@h", "etcd://ada:s3?cret@h", "etcd://ada:33/33@h", "etcd://ada:s3/a?b@h"] {
            let error = Address::parse(text).err().unwrap_or_else(|| panic!("{text} is taken")).to_string();
            assert!(error.contains("%2F") && !error.contains("s3") && !error.contains("33"), "{error}");
        }
        assert_eq!(Address::parse("etcd://h/a%40b").expect("it is one").prefix, "a@b");
    }

    #[test]
    fn loopback_is_told_from_everywhere_else() {
        let is = |text| Host::parse(text).expect("it is one").is_loopback();
        assert!(is("localhost") && is("127.0.0.1:1") && is("[::1]:3"));
        assert!(!is("10.0.0.1") && !is("etcd.example") && !is("0.0.0.0"));
    }
}
