//! Making a connection: TCP, TLS, greeting.

use std::collections::HashMap;
use std::time::Duration;

use redis::aio::{AsyncPushSender, MultiplexedConnection};
use redis::{AsyncConnectionConfig, ProtocolVersion, RedisConnectionInfo};
use socket2::{SockRef, TcpKeepalive};
use tenure::backend::network::{Host, Secret};
use tenure::{Error, ErrorKind};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::blame;
use crate::tls::Tls;

/// Who connects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credentials {
    pub(crate) username: Option<String>,
    pub(crate) password: Option<Secret>,
}

/// How servers are connected to.
#[derive(Clone, Debug)]
pub(crate) struct Dialer {
    pub(crate) tls: Option<Tls>,
    pub(crate) credentials: Credentials,
    pub(crate) database: i64,
    /// Whether a password may go over the network as it is.
    pub(crate) plaintext: Plaintext,
    /// Where servers are reached that cannot be reached where they say they are.
    pub(crate) detours: HashMap<Host, Host>,
}

/// Whether a password may be sent to another host without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plaintext {
    Refused,
    Allowed,
}

/// A connection, and the task that reads and writes it.
pub(crate) struct Dialled {
    pub(crate) connection: MultiplexedConnection,
    pub(crate) task: JoinHandle<()>,
}

impl Dialer {
    /// After so long without a word the kernel asks the peer whether it is still there, and gives up after some tries.
    const KEEPALIVE: Duration = Duration::from_secs(5);

    /// Refuses to send a password where others can read it (Security).
    pub(crate) fn admit(&self, address: &Host) -> Result<(), Error> {
        let address = self.detours.get(address).unwrap_or(address);
        let readable = self.tls.is_none() && self.credentials.password.is_some() && !address.is_loopback();
        if readable && self.plaintext == Plaintext::Allowed {
            tracing::warn!(%address, "a password goes to Redis unencrypted");
        } else if readable {
            let message = format!(
                "the password would go to {address} unencrypted; use rediss://, or allow it in so many words with plaintext=allow"
            );
            return Err(Error::new(ErrorKind::InvalidConfig, message));
        }
        Ok(())
    }

    pub(crate) async fn dial(&self, address: &Host, pushes: impl AsyncPushSender) -> Result<Dialled, Error> {
        self.admit(address)?;
        let mut info = RedisConnectionInfo::default()
            .set_protocol(ProtocolVersion::RESP3)
            .set_db(self.database)
            .set_skip_set_lib_name();
        if let Some(username) = &self.credentials.username {
            info = info.set_username(username);
        }
        if let Some(password) = &self.credentials.password {
            info = info.set_password(password.reveal().await?);
        }
        let stream = connected(self.detours.get(address).unwrap_or(address)).await?;
        // Every call has a bound of its own.
        let config = AsyncConnectionConfig::new().set_response_timeout(None).set_push_sender(pushes);
        match &self.tls {
            None => greeted(&info, stream, config, address).await,
            Some(tls) => greeted(&info, tls.wrap(stream, address).await?, config, address).await,
        }
    }
}

async fn connected(address: &Host) -> Result<TcpStream, Error> {
    let failed = |error: std::io::Error| Error::unavailable(format!("{address} cannot be reached")).because(error);
    let stream = TcpStream::connect((address.name(), address.port())).await.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    let keepalive = TcpKeepalive::new().with_time(Dialer::KEEPALIVE).with_interval(Dialer::KEEPALIVE);
    SockRef::from(&stream).set_tcp_keepalive(&keepalive).map_err(failed)?;
    Ok(stream)
}

async fn greeted<S>(
    info: &RedisConnectionInfo,
    stream: S,
    config: AsyncConnectionConfig,
    address: &Host,
) -> Result<Dialled, Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let opened = MultiplexedConnection::new_with_config(info, stream, config).await;
    let (connection, driver) = opened.map_err(|error| blame::greeting(&error, address))?;
    Ok(Dialled { connection, task: tokio::spawn(driver) })
}
