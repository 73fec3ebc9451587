//! The certificates, as another program reads them.

use std::path::Path;
use std::process::Command;

use testbed::Trials;
use testbed::certificates::{Authority, Certificate};
use testbed::tools::OPENSSL;

fn main() {
    let needed = || OPENSSL.missing();
    Trials::new()
        .needing(needed(), "a_certificate_is_good_for_its_purpose_alone", a_certificate_is_good_for_its_purpose_alone)
        .needing(needed(), "an_expired_certificate_is_good_for_nothing", an_expired_certificate_is_good_for_nothing)
        .needing(needed(), "another_authority_is_not_trusted", another_authority_is_not_trusted)
        .main()
}

fn is_good(certificate: &Certificate, authority: &Path, more: &[&str]) -> bool {
    let mut command = Command::new("openssl");
    command.arg("verify").arg("-CAfile").arg(authority).args(more).arg(&certificate.certificate);
    command.output().expect("openssl is there").status.success()
}

fn a_certificate_is_good_for_its_purpose_alone() {
    let authority = Authority::new().unwrap();
    let trusted = authority.certificate();
    let (server, client) = (authority.server("server").unwrap(), authority.client("ada").unwrap());
    assert!(is_good(&server, &trusted, &["-purpose", "sslserver", "-verify_ip", "127.0.0.1"]));
    assert!(is_good(&server, &trusted, &["-purpose", "sslserver", "-verify_hostname", "localhost"]));
    assert!(!is_good(&server, &trusted, &["-purpose", "sslserver", "-verify_hostname", "elsewhere"]));
    assert!(!is_good(&server, &trusted, &["-purpose", "sslclient"]));
    assert!(is_good(&client, &trusted, &["-purpose", "sslclient"]));
    assert!(!is_good(&client, &trusted, &["-purpose", "sslserver"]));
}

fn an_expired_certificate_is_good_for_nothing() {
    let authority = Authority::new().unwrap();
    for certificate in [authority.expired_server("server").unwrap(), authority.expired_client("ada").unwrap()] {
        assert!(!is_good(&certificate, &authority.certificate(), &[]));
    }
}

fn another_authority_is_not_trusted() {
    let (authority, other) = (Authority::new().unwrap(), Authority::new().unwrap());
    assert!(!is_good(&authority.server("server").unwrap(), &other.certificate(), &[]));
}
