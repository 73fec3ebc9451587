//! A URL, taken apart.

use std::fmt;

use super::{Host, Secret};
use crate::{Error, ErrorKind};

/// How the addresses of a store look: every refusal ends with it.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// What is reached, as in `an address of etcd`.
    pub store: &'static str,
    /// As in `etcd://HOST:PORT/PREFIX`.
    pub looks: &'static str,
}

impl Form {
    /// Why an address is not taken, and what would be. What it says must be no part of the address, which may hold a password.
    pub fn refusal(&self, why: &str) -> Error {
        let Form { store, looks } = self;
        Error::new(ErrorKind::InvalidConfig, format!("{why}; an address of {store} looks like {looks}"))
    }

    /// The refusal of an address that is another store's, or none.
    pub fn refusal_of_another(&self) -> Error {
        self.refusal(&format!("this is no address of {}", self.store))
    }
}

/// `SCHEME://[USER[:PASSWORD]@][HOST[:PORT][,HOST[:PORT]…]][/PATH][?OPTION=VALUE[&OPTION=VALUE…]]`, decoded. What is empty is the same as none.
#[derive(Clone)]
pub struct Address {
    /// In small letters.
    pub scheme: String,
    /// Before the colon.
    pub user: Option<String>,
    /// After it.
    pub password: Option<Secret>,
    /// The segments of the path; none where there is no path.
    pub path: Vec<String>,
    /// In their order.
    pub options: Vec<(String, String)>,
    hosts: String,
    form: Form,
}

/// Without the hosts: where one was forgotten, a password stands in their place.
impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address").field("scheme", &self.scheme).field("path", &self.path).finish_non_exhaustive()
    }
}

impl Address {
    /// Takes an address apart, or says what it should look like.
    pub fn parse(text: &str, form: Form) -> Result<Self, Error> {
        let (scheme, rest) = text.split_once("://").ok_or_else(|| form.refusal_of_another())?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // A slash or a question mark in a password would make a host of its first part, which errors name, and a path of the other.
        if path.contains('@') || query.contains('@') {
            return Err(
                form.refusal("a `@` after the hosts is written %40; in a password, `/` is written %2F and `?` %3F")
            );
        }
        let (user_info, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
        let text =
            |encoded: &str| decoded(encoded).ok_or_else(|| form.refusal("a part of it is not percent-encoded UTF-8"));
        let given = |encoded: &str| Ok::<_, Error>(Some(text(encoded)?).filter(|text| !text.is_empty()));
        let path = match path {
            "" => Vec::new(),
            path => path.split('/').map(text).collect::<Result<_, _>>()?,
        };
        let mut options = Vec::new();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').ok_or_else(|| form.refusal("an option has no value"))?;
            options.push((text(name)?, text(value)?));
        }
        Ok(Address {
            scheme: scheme.to_ascii_lowercase(),
            user: given(user)?,
            password: given(password)?.map(Secret::text),
            path,
            options,
            hosts: hosts.to_owned(),
            form,
        })
    }

    /// The servers, at this port where they name none.
    pub fn hosts(&self, default_port: u16) -> Result<Vec<Host>, Error> {
        let hosts: Option<_> = self.hosts.split(',').map(|host| Host::parse(host, default_port)).collect();
        hosts.ok_or_else(|| self.form.refusal("a host or a port cannot be understood"))
    }

    /// Whether it names any server.
    pub fn has_hosts(&self) -> bool {
        !self.hosts.is_empty()
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
    use proptest::prelude::*;

    use super::*;

    const FORM: Form = Form { store: "a shelf", looks: "shelf://HOST:PORT/ROOM" };

    fn address(text: &str) -> Address {
        Address::parse(text, FORM).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn refused(text: &str) -> String {
        let refused = Address::parse(text, FORM).and_then(|address| address.hosts(1)).expect_err(text);
        assert_eq!(refused.kind(), ErrorKind::InvalidConfig);
        assert!(
            refused.to_string().ends_with("; an address of a shelf looks like shelf://HOST:PORT/ROOM"),
            "{refused}"
        );
        refused.to_string()
    }

    #[test]
    fn every_part_of_an_address_is_understood() {
        let whole = address("SHELF://ada%40home:p%3Aw@a,b:1,[::1]:2/room/x%2Fy?ca=%2Fetc%2Fca.pem&b=");
        assert_eq!(whole.scheme, "shelf");
        assert_eq!((whole.user.as_deref(), &whole.password), (Some("ada@home"), &Some(Secret::text("p:w"))));
        let hosts: Vec<_> = whole.hosts(7).unwrap().iter().map(Host::to_string).collect();
        assert_eq!(hosts, ["a:7", "b:1", "[::1]:2"]);
        assert_eq!(whole.path, ["room", "x/y"]);
        assert_eq!(whole.options, [("ca".into(), "/etc/ca.pem".into()), ("b".into(), String::new())]);
        for plain in ["shelf://h", "shelf://h/", "shelf://@h?", "shelf://:@h"] {
            let plain = address(plain);
            assert!(plain.has_hosts() && plain.path.is_empty() && plain.options.is_empty());
            assert!(plain.user.is_none() && plain.password.is_none());
        }
        assert!(!address("shelf://").has_hosts());
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_can() {
        assert!(refused("h:1").starts_with("this is no address of a shelf"));
        assert!(refused("shelf://h?a").starts_with("an option has no value"));
        for text in ["shelf://u%zz@h", "shelf://h/%zz", "shelf://h?a=%f", "shelf://h/%ff"] {
            assert!(refused(text).starts_with("a part of it is not percent-encoded UTF-8"));
        }
        for text in ["shelf://", "shelf://a,,b", "shelf://h:0", "shelf://h:x", "shelf://[x]"] {
            assert!(refused(text).starts_with("a host or a port cannot be understood"));
        }
    }

    #[test]
    fn no_part_of_a_password_stands_in_an_error_or_is_shown() {
        for text in ["ada:s3/cret@h", "ada:s3?cret@h", "ada:33/33@h", "ada:s3/a?b@h"] {
            let error = refused(&format!("shelf://{text}"));
            assert!(error.contains("%2F") && !error.contains("s3") && !error.contains("33"), "{error}");
        }
        // Whoever forgets the host.
        assert!(!refused("shelf://ada:s3cret").contains("s3cret"));
        assert!(!format!("{:?}", address("shelf://ada:s3cret")).contains("s3cret"));
        assert!(!format!("{:?}", address("shelf://ada:s3cret@h")).contains("s3cret"));
    }

    proptest! {
        #[test]
        fn any_text_is_taken_apart_or_refused(text in r"(shelf://)?[a-z:@/?&=%,\[\]0-9]*|.*") {
            let _ = Address::parse(&text, FORM).and_then(|address| address.hosts(1));
        }

        #[test]
        fn what_was_encoded_comes_back(user in ".+", password in ".+", segment in ".*", name in ".*", value in ".*") {
            let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
            let parts = [&user, &password, &segment, &name, &value].map(|part| encoded(part));
            let [user_text, password_text, segment_text, name_text, value_text] = &parts;
            let address =
                address(&format!("shelf://{user_text}:{password_text}@h/x/{segment_text}?{name_text}={value_text}"));
            prop_assert_eq!((address.user, address.password), (Some(user), Some(Secret::text(password))));
            prop_assert_eq!(address.path, ["x".to_owned(), segment]);
            prop_assert_eq!(address.options, [(name, value)]);
        }
    }
}
