//! Which releases of etcd can be relied on.

use tenure::mutant::{Mutant, planted};
use tenure::{Error, ErrorKind};

/// SAFETY 8: before these, etcd answered keepalives of leases that were revoked with success.
const REPAIRED: [(u64, u64, u64); 3] = [(3, 4, 38), (3, 5, 23), (3, 6, 5)];

/// Refuses a server whose word on leases cannot be believed.
pub(super) fn admit(version: &str, host: &str) -> Result<(), Error> {
    let refused = |message: String| Err(Error::new(ErrorKind::Unsupported, message));
    let Some((major, minor, patch)) = parse(version) else {
        return refused(format!("{host} calls its version `{version}`, which is none of etcd's"));
    };
    let repaired = match REPAIRED.iter().find(|(a, b, _)| (*a, *b) == (major, minor)) {
        Some((.., since)) => patch >= *since,
        None => (major, minor) > (3, 6),
    };
    if repaired || planted(Mutant::EtcdFlawedReleaseAdmitted) {
        return Ok(());
    }
    refused(format!(
        "{host} runs etcd {version}, which may call a lease extended that it has revoked; upgrade it to 3.4.38, 3.5.23, 3.6.5 or later"
    ))
}

fn parse(version: &str) -> Option<(u64, u64, u64)> {
    let plain = version.split(['-', '+']).next()?;
    let mut parts = plain.split('.').map(|part| part.parse().ok());
    let found = (parts.next()??, parts.next()??, parts.next()??);
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_that_extend_revoked_leases_are_refused() {
        // SAFETY 8
        for repaired in ["3.4.38", "3.5.23", "3.5.35", "3.6.5", "3.6.16", "3.7.0", "3.7.0-rc.0", "4.0.0"] {
            assert!(admit(repaired, "h").is_ok(), "{repaired}");
        }
        for old in ["3.3.27", "3.4.23", "3.4.37", "3.5.1", "3.5.22", "3.6.0", "3.6.4", "2.3.8"] {
            let error = admit(old, "h:2379").expect_err(old);
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains("upgrade it to"), "{error}");
        }
        for strange in ["", "3", "3.5", "3.5.x", "3.5.23.1", "not one"] {
            assert!(admit(strange, "h").is_err(), "{strange}");
        }
    }
}
