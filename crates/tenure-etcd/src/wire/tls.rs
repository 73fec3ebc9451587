//! How a connection is encrypted, and whom each side believes.

use std::error::Error as StdError;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tenure::{Error, ErrorKind};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, AlertDescription, CertificateError, ClientConfig, RootCertStore};

/// Certificates for a connection to etcd. Files are read again for every connection, so that what is renewed on disk is used.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    authority: Option<PathBuf>,
    identity: Option<(PathBuf, PathBuf)>,
    server_name: Option<String>,
}

impl Tls {
    /// Trusts the authorities that this host trusts, and shows no certificate.
    pub fn new() -> Self {
        Tls::default()
    }

    /// Trusts the authorities in this PEM file, and no other.
    #[must_use]
    pub fn authority(mut self, file: impl Into<PathBuf>) -> Self {
        self.authority = Some(file.into());
        self
    }

    /// Shows this certificate (a PEM file, the chain with it) with this key (a PEM file).
    #[must_use]
    pub fn identity(mut self, certificate: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.identity = Some((certificate.into(), key.into()));
        self
    }

    /// Expects this name in the server's certificate, and not that of the endpoint.
    #[must_use]
    pub fn server_name(mut self, name: impl Into<String>) -> Self {
        self.server_name = Some(name.into());
        self
    }

    pub(super) fn expected_name<'a>(&'a self, host: &'a str) -> &'a str {
        self.server_name.as_deref().unwrap_or(host)
    }

    /// Reads the files, on a thread where that may block.
    pub(super) async fn connector(&self) -> Result<TlsConnector, Error> {
        let tls = self.clone();
        let read = tokio::task::spawn_blocking(move || tls.read());
        read.await.map_err(|error| Error::new(ErrorKind::Internal, "certificates could not be read").because(error))?
    }

    fn read(&self) -> Result<TlsConnector, Error> {
        let wrong = |error: rustls::Error| Error::new(ErrorKind::InvalidConfig, "TLS cannot be set up").because(error);
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(wrong)?
            .with_root_certificates(self.roots()?);
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let chain = certificates(certificate)?;
                let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, error))?;
                builder.with_client_auth_cert(chain, key).map_err(wrong)?
            }
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    }

    fn roots(&self) -> Result<RootCertStore, Error> {
        let mut roots = RootCertStore::empty();
        let trusted = match &self.authority {
            Some(file) => certificates(file)?,
            None => rustls_native_certs::load_native_certs().certs,
        };
        roots.add_parsable_certificates(trusted);
        if roots.is_empty() {
            let message = match &self.authority {
                Some(file) => format!("no certificate in {} can be used", file.display()),
                None => "this host trusts no certificate authority; name the one of etcd by ca=FILE".to_owned(),
            };
            return Err(Error::new(ErrorKind::InvalidConfig, message));
        }
        Ok(roots)
    }
}

fn certificates(file: &PathBuf) -> Result<Vec<CertificateDer<'static>>, Error> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_file_iter(file).and_then(Iterator::collect);
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(Error::new(ErrorKind::InvalidConfig, format!("there is no certificate in {}", file.display()))),
        Err(error) => Err(unreadable(file, error)),
    }
}

/// Worth another try: files are replaced now and then.
fn unreadable(file: &std::path::Path, error: pem::Error) -> Error {
    let message = format!("{} cannot be read as PEM", file.display());
    Error::new(ErrorKind::InvalidConfig, message).because(error.to_string()).transient(true)
}

/// What a failed handshake means to people, if it is in this chain of errors.
pub(super) fn sentence(error: &(dyn StdError + 'static), host: &str) -> Option<String> {
    let mut next = Some(error);
    while let Some(error) = next {
        let inner = error.downcast_ref::<io::Error>().and_then(|error| error.get_ref());
        let found = error.downcast_ref().or_else(|| inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()));
        if let Some(found) = found {
            return Some(explained(found, host));
        }
        next = error.source();
    }
    None
}

fn explained(error: &rustls::Error, host: &str) -> String {
    use {AlertDescription as Alert, CertificateError as Certificate};
    match error {
        rustls::Error::InvalidCertificate(Certificate::Expired | Certificate::ExpiredContext { .. }) => {
            format!("the certificate of {host} has expired; renew it, or set this host's clock if that is ahead")
        }
        rustls::Error::InvalidCertificate(Certificate::NotValidYet | Certificate::NotValidYetContext { .. }) => {
            format!(
                "the certificate of {host} is not valid yet; this host's clock is behind, or the certificate's maker's ahead"
            )
        }
        rustls::Error::InvalidCertificate(Certificate::UnknownIssuer | Certificate::BadSignature) => {
            format!("the certificate of {host} is signed by nobody who is trusted here; name its authority by ca=FILE")
        }
        rustls::Error::InvalidCertificate(
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. },
        ) => {
            format!("the certificate of {host} is for another name; connect by that, or give it as server-name=NAME")
        }
        rustls::Error::AlertReceived(Alert::CertificateRequired) => {
            format!("{host} wants a client certificate; name one by cert=FILE and key=FILE")
        }
        rustls::Error::AlertReceived(Alert::CertificateExpired) => {
            format!("{host} says that our certificate has expired; renew the file that cert= names")
        }
        rustls::Error::AlertReceived(Alert::BadCertificate | Alert::UnknownCA | Alert::CertificateUnknown) => {
            format!(
                "{host} refuses our certificate; its authority, its purpose or one of the two clocks is wrong ({error})"
            )
        }
        rustls::Error::InvalidMessage(_) => {
            format!("{host} does not speak TLS; write etcd:// if that is meant")
        }
        other => format!("no TLS connection with {host}: {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_off_and_a_certificate_that_is_over_are_told_from_each_other() {
        let said = |error| {
            let error = io::Error::new(io::ErrorKind::InvalidData, rustls::Error::InvalidCertificate(error));
            sentence(&error, "h:1").expect("it is one of TLS")
        };
        assert!(said(CertificateError::Expired).contains("has expired"));
        assert!(said(CertificateError::NotValidYet).contains("this host's clock is behind"));
        assert!(said(CertificateError::UnknownIssuer).contains("ca=FILE"));
        assert!(said(CertificateError::NotValidForName).contains("server-name=NAME"));
        assert_eq!(sentence(&io::Error::other("something else"), "h:1"), None);
    }
}
