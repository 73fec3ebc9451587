//! Passwords, and where they are had from.

use std::fmt;
use std::path::PathBuf;

use tenure::{Error, ErrorKind};

/// A password: given in code, or read from a file or the environment whenever a connection is made, so that a new one is taken up without a
/// restart.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Source);

#[derive(Clone, PartialEq, Eq)]
enum Source {
    Text(String),
    File(PathBuf),
    Environment(String),
}

impl Secret {
    /// This very password.
    pub fn text(password: impl Into<String>) -> Self {
        Secret(Source::Text(password.into()))
    }

    /// The first line of this file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Secret(Source::File(path.into()))
    }

    /// What this environment variable holds.
    pub fn environment(variable: impl Into<String>) -> Self {
        Secret(Source::Environment(variable.into()))
    }

    /// The environment variable that it is read from, if it is.
    pub(crate) fn variable(&self) -> Option<&str> {
        match &self.0 {
            Source::Environment(variable) => Some(variable),
            Source::Text(_) | Source::File(_) => None,
        }
    }

    /// The password as it is now.
    pub(crate) fn reveal(&self) -> Result<String, Error> {
        let missing = |message: String| Error::new(ErrorKind::InvalidConfig, message).transient(true);
        match &self.0 {
            Source::Text(password) => Ok(password.clone()),
            Source::File(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| {
                    missing(format!("the password file {} cannot be read: {error}", path.display()))
                })?;
                match text.lines().next().filter(|line| !line.is_empty()) {
                    Some(line) => Ok(line.to_owned()),
                    None => Err(missing(format!("the password file {} is empty", path.display()))),
                }
            }
            Source::Environment(variable) => std::env::var(variable).map_err(|_| {
                missing(format!("the environment variable {variable} is not set; put the password there"))
            }),
        }
    }
}

/// Says where it comes from, and never what it is.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Text(_) => f.write_str("Secret(given)"),
            Source::File(path) => write!(f, "Secret(file {})", path.display()),
            Source::Environment(variable) => write!(f, "Secret(environment {variable})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_read_anew_and_never_shown() {
        let path = std::env::temp_dir().join(format!("tenure-redis-secret-{}", std::process::id()));
        let secret = Secret::file(&path);
        assert!(secret.reveal().unwrap_err().to_string().contains("cannot be read"));
        for password in ["first", "second"] {
            std::fs::write(&path, format!("{password}\n")).unwrap();
            assert_eq!(secret.reveal().unwrap(), password);
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(format!("{:?}", Secret::text("s3cret")), "Secret(given)");
        let unset = Secret::environment("TENURE_TEST_UNSET_PASSWORD").reveal().unwrap_err();
        assert!(unset.to_string().contains("TENURE_TEST_UNSET_PASSWORD is not set"), "{unset}");
    }
}
