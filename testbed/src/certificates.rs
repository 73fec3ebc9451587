//! Certificates for servers and clients, made on the spot.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, SanType,
};
use time::{Duration, OffsetDateTime};

use crate::failure::While;
use crate::{Failure, Folder};

/// A certificate and its key, as files in PEM.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// One who signs certificates for the loopback address, in a folder that goes with it.
pub struct Authority {
    folder: Folder,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Authority {
    /// A new one, which nobody trusts yet.
    pub fn new() -> Result<Self, Failure> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "tenure testbed");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().when("no key could be made")?;
        let issuer = CertifiedIssuer::self_signed(params, key).when("no authority could be made")?;
        let authority = Authority { folder: Folder::new("certificates")?, issuer };
        write(&authority.certificate(), &authority.issuer.pem())?;
        Ok(authority)
    }

    /// Its own certificate, in PEM: what clients and servers have to trust.
    pub fn certificate(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }

    /// Where all its files are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// For a server at `localhost`, 127.0.0.1 and ::1.
    pub fn server(&self, name: &str) -> Result<Certificate, Failure> {
        self.issue(name, ExtendedKeyUsagePurpose::ServerAuth, Valid::Now)
    }

    /// For a client of this name, which stands as the certificate's common name.
    pub fn client(&self, name: &str) -> Result<Certificate, Failure> {
        self.issue(name, ExtendedKeyUsagePurpose::ClientAuth, Valid::Now)
    }

    /// For a server; its time was over yesterday.
    pub fn expired_server(&self, name: &str) -> Result<Certificate, Failure> {
        self.issue(name, ExtendedKeyUsagePurpose::ServerAuth, Valid::UntilYesterday)
    }

    /// For a client; its time was over yesterday.
    pub fn expired_client(&self, name: &str) -> Result<Certificate, Failure> {
        self.issue(name, ExtendedKeyUsagePurpose::ClientAuth, Valid::UntilYesterday)
    }

    fn issue(&self, name: &str, usage: ExtendedKeyUsagePurpose, valid: Valid) -> Result<Certificate, Failure> {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).when(name)?;
        for address in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(std::net::Ipv6Addr::LOCALHOST)] {
            params.subject_alt_names.push(SanType::IpAddress(address));
        }
        params.distinguished_name.push(DnType::CommonName, name);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        let today = OffsetDateTime::now_utc();
        (params.not_before, params.not_after) = match valid {
            Valid::Now => (today - Duration::DAY, today + Duration::weeks(52)),
            Valid::UntilYesterday => (today - Duration::weeks(52), today - Duration::DAY),
        };
        let key = KeyPair::generate().when("no key could be made")?;
        let signed = params.signed_by(&key, &self.issuer).when(name)?;
        let file = |end: &str| self.folder.path().join(format!("{name}{end}"));
        let files = Certificate { certificate: file(".pem"), key: file(".key") };
        write(&files.certificate, &signed.pem())?;
        write(&files.key, &key.serialize_pem())?;
        Ok(files)
    }
}

enum Valid {
    Now,
    UntilYesterday,
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).when(path.display())
}
