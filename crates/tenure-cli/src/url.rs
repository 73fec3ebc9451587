//! Where a backend is: a URL that may hold a secret, and is never shown with one.

use std::fmt;

/// The address of a backend as it was given.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct BackendUrl(String);

/// Parameters that hold secrets with one store or another.
const SECRET_PARAMETERS: [&str; 8] =
    ["password", "passwd", "pass", "secret", "token", "auth_token", "sslpassword", "access_key"];

impl BackendUrl {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        BackendUrl(text.into())
    }

    /// The whole of it, secrets too: for whoever opens the backend.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands before the first colon, if that can be a scheme.
    pub(crate) fn scheme(&self) -> Option<&str> {
        let (scheme, _) = self.0.split_once(':')?;
        let well_formed = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
        well_formed.then_some(scheme)
    }

    /// What follows the scheme's colon.
    pub(crate) fn rest(&self) -> &str {
        self.0.split_once(':').map_or("", |(_, rest)| rest)
    }

    /// Whether a secret stands in it: a password before the host, or a parameter that is named like one.
    pub(crate) fn has_secret(&self) -> bool {
        let password = self.user_info().is_some_and(|user| user.contains(':'));
        let parameters = self.0.split_once('?').map_or("", |(_, parameters)| parameters).split(['&', ';']);
        let mut names = parameters.filter_map(|parameter| Some(parameter.split_once('=')?.0.to_ascii_lowercase()));
        password || names.any(|name| SECRET_PARAMETERS.contains(&name.as_str()))
    }

    /// Everything between `//` and the `@` before the host.
    fn user_info(&self) -> Option<&str> {
        let authority = self.rest().strip_prefix("//")?;
        let authority = authority.split(['/', '?', '#']).next()?;
        Some(authority.rsplit_once('@')?.0)
    }
}

/// Without user info and parameters: names alone can be secrets with some stores.
impl fmt::Display for BackendUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = match self.user_info() {
            Some(user) => self.0.replacen(&format!("{user}@"), "", 1),
            None => self.0.clone(),
        };
        let shown =
            if self.rest().starts_with("//") { shown.split(['?', '#']).next().unwrap_or_default() } else { &shown };
        f.write_str(shown)
    }
}

impl fmt::Debug for BackendUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_noticed_and_never_shown() {
        for (text, shown) in [
            ("redis://ada:s3cret@host:6379/0", "redis://host:6379/0"),
            ("redis://:s3cret@host", "redis://host"),
            ("rediss://ada:s3c@ret@host/1", "rediss://host/1"),
            ("postgres://host/db?user=ada&password=s3cret", "postgres://host/db"),
            ("nats://host?TOKEN=s3cret", "nats://host"),
        ] {
            let url = BackendUrl::new(text);
            assert!(url.has_secret(), "{text}");
            assert_eq!(url.to_string(), shown);
            assert!(!format!("{url:?}").contains("s3c"));
        }
        for harmless in ["redis://ada@host:6379", "file:/var/lib/tenure", "file:a@b:c", "etcd://a:2379,b:2379/x?tls=on"]
        {
            assert!(!BackendUrl::new(harmless).has_secret(), "{harmless}");
        }
        assert_eq!(BackendUrl::new("file:a@b:c?d").to_string(), "file:a@b:c?d", "a path is a path");
    }

    #[test]
    fn schemes_are_told_from_paths() {
        assert_eq!(BackendUrl::new("file:x").scheme(), Some("file"));
        assert_eq!(BackendUrl::new("./a:b").scheme(), None);
        assert_eq!(BackendUrl::new("nothing").scheme(), None);
    }
}
