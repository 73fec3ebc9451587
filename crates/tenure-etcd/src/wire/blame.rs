//! What went wrong, in words that help, and what it means for what was asked.

use tenure::{Error, ErrorKind};
use tonic::{Code, Status};

use super::call::Effect;
use super::tls;

/// An answer that is none.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) why: Why,
    pub(crate) error: Error,
}

/// What of a refusal somebody acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The store knows no such lease; nothing was written.
    NoSuchLease,
    /// The token of our login is over; nothing was written.
    LoggedOut,
    /// Another endpoint may answer.
    Endpoint,
    Other,
}

impl Refusal {
    /// It was sent, and no answer came in time.
    pub(super) fn unanswered(host: &str, effect: Effect) -> Self {
        let message =
            format!("{host} did not answer in time; it may be down, cut off from the other members, or very slow");
        Refusal { why: Why::Endpoint, error: effect.unknown(Error::unavailable(message)) }
    }

    pub(super) fn of(status: &Status, host: &str, user: Option<&str>, effect: Effect) -> Self {
        let said = status.message();
        let says = |words: &str| said.contains(words);
        let refused = |kind, message: String| Error::new(kind, message);
        let (why, error) = match status.code() {
            _ if says("requested lease not found") => {
                (Why::NoSuchLease, refused(ErrorKind::Unavailable, format!("{host} knows no such lease any more")))
            }
            _ if says("invalid auth token") || says("revision of auth store is old") => (
                Why::LoggedOut,
                refused(ErrorKind::Denied, format!("{host} no longer accepts our login")).transient(true),
            ),
            _ if says("user name is empty") => (
                Why::Other,
                refused(
                    ErrorKind::Denied,
                    format!(
                        "{host} wants a user and a password; name the user in the address and the password in a file"
                    ),
                ),
            ),
            _ if says("authentication failed") => (
                Why::Other,
                refused(
                    ErrorKind::Denied,
                    format!("{host} does not accept the password of {}; correct it, or the name", named(user)),
                ),
            ),
            _ if says("authentication is not enabled") => (
                Why::Other,
                refused(
                    ErrorKind::Denied,
                    format!("{host} has no users switched on; leave the user out, or run `etcdctl auth enable`"),
                ),
            ),
            Code::PermissionDenied => (
                Why::Other,
                refused(
                    ErrorKind::Denied,
                    format!(
                        "{} may not do this on {host}; grant its role the prefix: `etcdctl role grant-permission ROLE --prefix=true readwrite PREFIX`",
                        named(user)
                    ),
                ),
            ),
            Code::Unauthenticated => {
                (Why::LoggedOut, refused(ErrorKind::Denied, format!("{host} does not know us: {said}")).transient(true))
            }
            _ if says("no leader") => (
                Why::Endpoint,
                Error::unavailable(format!(
                    "{host} has no leader: fewer than half of the members reach one another; see `etcdctl endpoint status --cluster`"
                )),
            ),
            _ if says("database space exceeded") => (
                Why::Other,
                // etcd says so also of the very write that filled it up, which it has done.
                effect.unknown(Error::unavailable(format!(
                    "{host} takes no more writes, its database is full; compact and defragment it, then `etcdctl alarm disarm`"
                ))),
            ),
            Code::ResourceExhausted => (Why::Other, Error::unavailable(format!("{host} has too much to do: {said}"))),
            Code::Unavailable if status_is_from_server(status) => {
                (Why::Endpoint, effect.unknown(Error::unavailable(format!("{host} could not do it now: {said}"))))
            }
            // The client library says it too, of an answer that is larger than it takes: what was asked for is done then.
            Code::OutOfRange => {
                (Why::Other, effect.unknown(refused(ErrorKind::Unsupported, format!("{host} refuses: {said}"))))
            }
            Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::NotFound
            | Code::Unimplemented => (Why::Other, refused(ErrorKind::Unsupported, format!("{host} refuses: {said}"))),
            _ => match tls::sentence(status, host) {
                // It is the server that ended the handshake: whatever we sent was not read.
                Some(sentence) => (Why::Endpoint, refused(ErrorKind::Denied, sentence)),
                None => (
                    Why::Endpoint,
                    effect.unknown(
                        Error::unavailable(format!("the connection with {host} was lost")).because(said.to_owned()),
                    ),
                ),
            },
        };
        Refusal { why, error }
    }
}

/// A status that the client library made up has the error beneath it.
fn status_is_from_server(status: &Status) -> bool {
    std::error::Error::source(status).is_none()
}

fn named(user: Option<&str>) -> String {
    user.map_or("whoever is named by our certificate, or nobody,".to_owned(), |user| format!("the user {user}"))
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        refusal.error
    }
}

/// Something else than an answer of etcd's went wrong.
impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Refusal { why: Why::Other, error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_may_have_been_done_is_never_called_undone() {
        // SAFETY 9
        let of = |code, said: &str, effect| Refusal::of(&Status::new(code, said), "h", None, effect).error;
        for (code, said) in [
            (Code::Unavailable, "etcdserver: request timed out"),
            (Code::Unavailable, "etcdserver: request timed out, possibly due to previous leader failure"),
            (Code::Unavailable, "etcdserver: leader changed"),
            (Code::ResourceExhausted, "etcdserver: mvcc: database space exceeded"),
            (Code::OutOfRange, "Error, decoded message length too large"),
            (Code::DeadlineExceeded, "context deadline exceeded"),
            (Code::Cancelled, "operation was canceled"),
            (Code::Unknown, "transport error"),
            (Code::Internal, "protocol error"),
        ] {
            assert!(of(code, said, Effect::Writes).is_indeterminate(), "{code:?}: {said}");
            assert!(!of(code, said, Effect::Reads).is_indeterminate(), "{code:?}: {said}");
        }
        for (code, said) in [
            (Code::NotFound, "etcdserver: requested lease not found"),
            (Code::Unauthenticated, "etcdserver: invalid auth token"),
            (Code::PermissionDenied, "etcdserver: permission denied"),
            (Code::ResourceExhausted, "etcdserver: too many requests"),
        ] {
            assert!(!of(code, said, Effect::Writes).is_indeterminate(), "{code:?}: {said}");
        }
    }
}
