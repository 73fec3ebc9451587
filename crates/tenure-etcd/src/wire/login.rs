//! Who we are to etcd.

use std::fmt;
use std::path::PathBuf;

use tenure::{Error, ErrorKind};

use super::message::AuthenticateRequest;

/// A password: given in code, or read from a file or the environment whenever it is needed, so that a new one is taken up without a restart.
#[derive(Clone)]
pub struct Secret(Source);

#[derive(Clone)]
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

    /// The password as it is now.
    async fn reveal(&self) -> Result<String, Error> {
        let missing = |message: String| Error::new(ErrorKind::InvalidConfig, message).transient(true);
        match &self.0 {
            Source::Text(password) => Ok(password.clone()),
            Source::Environment(variable) => std::env::var(variable).map_err(|_| {
                missing(format!("the environment variable {variable} is not set; put the password of etcd there"))
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

/// A user of etcd and its password.
#[derive(Clone, Debug)]
pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: Secret,
}

impl Login {
    pub(super) async fn request(&self) -> Result<AuthenticateRequest, Error> {
        Ok(AuthenticateRequest { name: self.user.clone(), password: self.password.reveal().await? })
    }
}
