//! Who we are to etcd.

use tenure::Error;
use tenure::backend::network::Secret;

use super::message::AuthenticateRequest;

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
