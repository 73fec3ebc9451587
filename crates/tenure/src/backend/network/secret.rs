//! Passwords, and where they are had from.

use std::fmt;
use std::path::PathBuf;

use crate::{Error, ErrorKind};

/// A password: given in code, or read from a file or the environment whenever it is needed, so that a new one is taken up without a restart.
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

    /// The environment variable that it is read from, if it is: whoever starts other programs keeps it from those.
    pub fn variable(&self) -> Option<&str> {
        match &self.0 {
            Source::Environment(variable) => Some(variable),
            Source::Text(_) | Source::File(_) => None,
        }
    }

    /// The password as it is now. A disk that hangs holds up nobody else: the file is read on a thread of its own.
    pub async fn reveal(&self) -> Result<String, Error> {
        let missing = |message: String| Error::new(ErrorKind::InvalidConfig, message).transient(true);
        match &self.0 {
            Source::Text(password) => Ok(password.clone()),
            Source::Environment(variable) => std::env::var(variable).map_err(|_| {
                missing(format!("the environment variable {variable} is not set; put the password there"))
            }),
            Source::File(path) => {
                let file = path.clone();
                let read = tokio::task::spawn_blocking(move || std::fs::read_to_string(file)).await;
                let text = read.unwrap_or_else(|error| Err(std::io::Error::other(error)));
                let text = text.map_err(|error| {
                    missing(format!("the password file {} cannot be read", path.display())).because(error)
                })?;
                let line = text.lines().next().filter(|line| !line.is_empty());
                line.map(str::to_owned).ok_or_else(|| missing(format!("the password file {} is empty", path.display())))
            }
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

    #[tokio::test]
    async fn a_password_is_read_anew_and_never_shown() {
        let path = std::env::temp_dir().join(format!("tenure-secret-{}", std::process::id()));
        let secret = Secret::file(&path);
        assert!(secret.reveal().await.unwrap_err().to_string().contains("cannot be read: No such file"));
        for password in ["first", "second"] {
            std::fs::write(&path, format!("{password}\nand more")).unwrap();
            assert_eq!(secret.reveal().await.unwrap(), password);
        }
        std::fs::write(&path, "\n").unwrap();
        let empty = secret.reveal().await.unwrap_err();
        assert!(empty.is_transient() && empty.to_string().contains("is empty"), "{empty}");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(format!("{:?}", Secret::text("s3cret")), "Secret(given)");
        let unset = Secret::environment("TENURE_TEST_UNSET_PASSWORD");
        assert_eq!(unset.variable(), Some("TENURE_TEST_UNSET_PASSWORD"));
        let unset = unset.reveal().await.unwrap_err();
        assert!(unset.to_string().contains("TENURE_TEST_UNSET_PASSWORD is not set"), "{unset}");
    }
}
