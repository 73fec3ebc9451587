//! TLS: whom to trust, and who we are. Files are read again for every connection, so that new certificates are taken up without a restart.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tenure::backend::network::Host;
use tenure::{Error, ErrorKind};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore, crypto};

/// How a TLS connection is made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tls {
    /// Authorities to trust instead of the system's.
    pub(crate) authorities: Option<PathBuf>,
    /// Our certificate and its key.
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
    /// The name that the server's certificate has to have, if it is not the host's.
    pub(crate) server_name: Option<String>,
}

impl Tls {
    const HANDSHAKE: Duration = Duration::from_secs(2);

    pub(crate) async fn wrap(&self, stream: TcpStream, address: &Host) -> Result<TlsStream<TcpStream>, Error> {
        let name = self.server_name.as_deref().unwrap_or(address.name()).to_owned();
        let name = ServerName::try_from(name.clone())
            .map_err(|_| Error::new(ErrorKind::InvalidConfig, format!("{name} cannot be the name of a TLS server")))?;
        let connector = TlsConnector::from(Arc::new(self.config()?));
        // A server that does not speak TLS waits for the end of what it takes for a command.
        match tokio::time::timeout(Self::HANDSHAKE, connector.connect(name, stream)).await {
            Ok(connected) => connected.map_err(|error| untrusted(address, error)),
            Err(_) => Err(Error::unavailable(format!(
                "{address} did not answer the TLS handshake; if it does not speak TLS there, use redis://"
            ))),
        }
    }

    fn config(&self) -> Result<ClientConfig, Error> {
        // Named, not the process's default: a library must not depend on who installed one.
        let provider = Arc::new(crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::new(ErrorKind::Internal, "TLS cannot be set up").because(error))?
            .with_root_certificates(self.roots()?);
        match &self.identity {
            None => Ok(builder.with_no_client_auth()),
            Some((certificate, key)) => {
                let chain = certificates(certificate)?;
                let private = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, error))?;
                builder.with_client_auth_cert(chain, private).map_err(|error| {
                    let (certificate, key) = (certificate.display(), key.display());
                    let message = format!("the certificate {certificate} and the key {key} do not fit together");
                    Error::new(ErrorKind::InvalidConfig, message).because(error)
                })
            }
        }
    }

    fn roots(&self) -> Result<RootCertStore, Error> {
        let mut roots = RootCertStore::empty();
        match &self.authorities {
            Some(path) => {
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|error| unreadable(path, error))?;
                }
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                if roots.is_empty() {
                    let message = "this system has no certificates of authorities; install them, or name a file with the one to trust";
                    return Err(Error::new(ErrorKind::InvalidConfig, message));
                }
            }
        }
        Ok(roots)
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let read = CertificateDer::pem_file_iter(path).map_err(|error| unreadable(path, error))?;
    let read: Result<Vec<_>, _> = read.collect();
    match read {
        Ok(certificates) if certificates.is_empty() => Err(unreadable(path, "there is no certificate in it")),
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(unreadable(path, error)),
    }
}

/// Whoever renews certificates may be in the middle of it: another try can help.
fn unreadable(path: &Path, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    let message = format!("{} cannot be read as PEM", path.display());
    Error::new(ErrorKind::InvalidConfig, message).transient(true).because(error)
}

/// What a failed handshake means for whoever set it up.
fn untrusted(address: &Host, error: std::io::Error) -> Error {
    use rustls::Error as Tls;
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<Tls>());
    let denied = |message: String| Error::new(ErrorKind::Denied, message);
    match cause {
        Some(Tls::InvalidCertificate(_)) => denied(format!(
            "the certificate of {address} is not trusted; name the file of the authority that signed it, and connect by a name that stands \
             in it"
        )),
        Some(Tls::InvalidMessage(_)) => {
            denied(format!("{address} does not speak TLS; use redis:// there, or the port on which it does"))
        }
        Some(Tls::AlertReceived(_)) => denied(format!("{address} refused the TLS handshake; it may want a client certificate")),
        _ => Error::unavailable(format!("no TLS connection to {address} could be made")),
    }
    .because(error)
}
