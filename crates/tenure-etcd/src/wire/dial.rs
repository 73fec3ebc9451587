//! From an endpoint to a channel.

use std::future::{Ready, ready};
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::rt::TokioIo;
use tenure::backend::network::Host;
use tenure::{Error, ErrorKind};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tonic::transport::{Channel, Endpoint};
use tower_service::Service;

use super::noted::{Note, Noted};
use super::tls::{self, Tls};

/// A server that asks for less than this much between two pings hangs up.
const PING_EVERY: Duration = Duration::from_secs(10);
const PING_PATIENCE: Duration = Duration::from_secs(5);

/// Bytes that go both ways, encrypted or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Connects; nothing of etcd's API has been sent when this returns.
pub(super) async fn dial(host: &Host, secured: Option<&Tls>) -> Result<(Channel, Note), Error> {
    let connector = match secured {
        Some(tls) => Some((tls, tls.connector().await?)),
        None => None,
    };
    let unreachable = |error: io::Error| Error::unavailable(format!("{host} cannot be reached")).because(error);
    let tcp = TcpStream::connect((host.name(), host.port())).await.map_err(unreachable)?;
    tcp.set_nodelay(true).map_err(unreachable)?;
    let note = Note::default();
    let stream: Box<dyn Stream> = match connector {
        None => Box::new(tcp),
        Some((tls, connector)) => {
            let name = tls.expected_name(host.name()).to_owned();
            let name = ServerName::try_from(name).map_err(|error| {
                Error::new(ErrorKind::InvalidConfig, format!("{host} is no name that a certificate can be for"))
                    .because(error)
            })?;
            let secured = connector.connect(name, tcp).await;
            let stream = secured.map_err(|error| match tls::sentence(&error, &host.to_string()) {
                Some(sentence) => Error::new(ErrorKind::Denied, sentence),
                None if error.kind() == io::ErrorKind::UnexpectedEof => {
                    let message = format!("{host} hung up on TLS; it may not speak it: write etcd:// if that is meant");
                    Error::unavailable(message)
                }
                None => unreachable(error),
            })?;
            Box::new(Noted { stream, host: host.to_string(), note: note.clone() })
        }
    };
    let scheme = if secured.is_some() { "https" } else { "http" };
    let uri: Uri = format!("{scheme}://{host}").parse().map_err(|error: http::uri::InvalidUri| {
        Error::new(ErrorKind::InvalidConfig, format!("{host}")).because(error)
    })?;
    let endpoint = Endpoint::from(uri).http2_keep_alive_interval(PING_EVERY).keep_alive_timeout(PING_PATIENCE);
    let channel = endpoint.connect_with_connector(Once(Some(stream))).await;
    let channel = channel.map_err(|error| Error::unavailable(format!("{host} does not speak gRPC")).because(error))?;
    Ok((channel, note))
}

/// Hands out one stream. The channel would connect again by itself, out of our sight; a second connection is a second [`dial`].
struct Once(Option<Box<dyn Stream>>);

impl Service<Uri> for Once {
    type Response = TokioIo<Box<dyn Stream>>;
    type Error = io::Error;
    type Future = Ready<Result<Self::Response, io::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let closed = || io::Error::new(io::ErrorKind::ConnectionAborted, "the connection was lost");
        ready(self.0.take().map(TokioIo::new).ok_or_else(closed))
    }
}
