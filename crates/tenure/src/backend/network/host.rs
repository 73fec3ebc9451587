//! One server.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

/// A server: the name or the number of its host, and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    name: String,
    port: u16,
}

impl Host {
    /// This one, as a server names it: nothing is checked.
    pub fn new(name: impl Into<String>, port: u16) -> Self {
        Host { name: name.into(), port }
    }

    /// `HOST`, `HOST:PORT` or `[IPV6]:PORT`.
    pub fn parse(text: &str, default_port: u16) -> Option<Self> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (name, port) = rest.split_once(']')?;
                name.parse::<Ipv6Addr>().ok()?;
                (name, if port.is_empty() { "" } else { port.strip_prefix(':')? })
            }
            None => text.split_once(':').unwrap_or((text, "")),
        };
        let port = if port.is_empty() { default_port } else { port.parse().ok().filter(|port| *port != 0)? };
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        (!name.is_empty() && name.chars().all(legal)).then(|| Host::new(name, port))
    }

    /// Its name or number, an IPv6 one without brackets.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether what is sent there stays on this host.
    pub fn is_loopback(&self) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_from_what_is_none() {
        for (text, shown) in
            [("a", "a:7"), ("a.b-c_d:1", "a.b-c_d:1"), ("a:", "a:7"), ("[::1]", "[::1]:7"), ("[::1]:2", "[::1]:2")]
        {
            assert_eq!(Host::parse(text, 7).expect(text).to_string(), shown);
        }
        for text in ["", ":1", "a:0", "a:x", "a:65536", "a b", "a/b", "a@b", "a%20b", "[::1", "[x]", "[::1]2", "::1"] {
            assert_eq!(Host::parse(text, 7), None, "{text}");
        }
    }

    #[test]
    fn loopback_is_told_from_everywhere_else() {
        let is = |text| Host::new(text, 1).is_loopback();
        assert!(is("localhost") && is("127.0.0.1") && is("127.8.9.1") && is("::1"));
        assert!(!is("10.0.0.1") && !is("server.example") && !is("0.0.0.0") && !is("::"));
    }
}
