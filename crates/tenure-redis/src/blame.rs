//! What went wrong, and what to do about it.

use redis::{ErrorKind as Theirs, RedisError, ServerErrorKind};
use tenure::backend::network::Host;
use tenure::{Error, ErrorKind};

/// An error in place of an answer to something that was sent.
///
/// Where the server answered a script with an error, that script has written nothing: it writes once, and last. What no server of this kind says may
/// come from something in between, which need not know what became of the call.
pub(crate) fn answer(error: &RedisError, address: &Host) -> Error {
    match error.code() {
        Some(code) => {
            let words = words(error);
            match in_script(&words) {
                Some((command, code, words)) => {
                    let words = format!("{command}: {words}");
                    refusal(code, &words, address).unwrap_or_else(|| refused(code, &words, address))
                }
                None => {
                    refusal(code, &words, address).unwrap_or_else(|| refused(code, &words, address).indeterminate())
                }
            }
        }
        None => Error::unknown_outcome(format!("the connection to {address} broke before the answer came"))
            .because(words(error)),
    }
}

/// An error while a connection was set up: nothing was asked yet.
pub(crate) fn greeting(error: &RedisError, address: &Host) -> Error {
    match (error.code(), error.kind()) {
        // Servers say it in more than one way, and some say the password with it.
        (Some("ERR"), _) if words(error).starts_with("unknown command") => too_old(address),
        (Some(code), _) => {
            let words = words(error);
            refusal(code, &words, address).unwrap_or_else(|| refused(code, &words, address))
        }
        (None, Theirs::AuthenticationFailed) => wrong_password(&words(error), address),
        (None, Theirs::RESP3NotSupported) => too_old(address),
        (None, Theirs::Parse) => denied(format!(
            "{address} does not speak the protocol of Redis; is it another server, or does it want rediss://?"
        )),
        _ => Error::unavailable(format!("{address} ended the connection when it was greeted; does it want rediss://?"))
            .because(words(error)),
    }
}

/// What the server says instead of an answer, if it is known what that means.
fn refusal(code: &str, words: &str, address: &Host) -> Option<Error> {
    Some(match code {
        "WRONGPASS" => wrong_password(words, address),
        "NOAUTH" => {
            denied(format!("{address} wants a password; give a user and a password, by a file or the environment"))
        }
        "NOPERM" => denied(format!(
            "the user may not do that on {address}: {words}; grant it the rule that the page on Redis has under \"Least privilege\""
        )),
        "READONLY" => {
            denied(format!("{address} is a replica; name its primary, or use redis+sentinel:// or redis+cluster://"))
                .transient(true)
        }
        "MOVED" | "ASK" => denied(format!(
            "{address} is one server of a cluster; use redis+cluster:// with it, so that others are found"
        )),
        "CROSSSLOT" => denied(format!(
            "{address} keeps the record and its counter in different slots; use a prefix with one hash tag or none"
        )),
        "WRONGTYPE" => {
            Error::new(ErrorKind::Corrupt, format!("the key on {address} holds something else than a lock: {words}"))
        }
        "TENURECOUNTER" => Error::new(ErrorKind::Corrupt, format!("{address}: {words}; delete that key")),
        "OOM" => {
            denied(format!("{address} has no memory left for a record; give it more, or empty it")).transient(true)
        }
        "MISCONF" => denied(format!("{address} does not write, because it cannot save: {words}")).transient(true),
        "NOREPLICAS" => denied(format!("{address} does not write while too few replicas follow it")).transient(true),
        "LOADING" | "BUSY" | "CLUSTERDOWN" | "TRYAGAIN" | "MASTERDOWN" => {
            Error::unavailable(format!("{address} cannot answer at the moment: {code} {words}"))
        }
        "ERR" if words.starts_with("max number of clients") => {
            Error::unavailable(format!("{address} has as many clients as it takes; raise maxclients there"))
        }
        _ => return None,
    })
}

fn refused(code: &str, words: &str, address: &Host) -> Error {
    denied(format!("{address} refused: {code} {words}"))
}

fn too_old(address: &Host) -> Error {
    denied(format!("{address} knows no HELLO: it is older than Redis 6 or hides it, and cannot push; use a newer one"))
}

/// Whether the connection leads to a server that does not do, or no longer does, what is asked of it; or to none.
pub(crate) fn is_elsewhere(error: &RedisError) -> bool {
    let Some(code) = error.code() else { return true };
    let words = words(error);
    let code = in_script(&words).map_or(code, |(_, code, _)| code);
    matches!(code, "READONLY" | "CLUSTERDOWN" | "MASTERDOWN")
}

/// Whether the server does not know the script, and has not run it.
pub(crate) fn is_unknown_script(error: &RedisError) -> bool {
    matches!(error.kind(), Theirs::Server(ServerErrorKind::NoScript))
}

/// Which command of a script failed, and what the server said to it.
fn in_script(words: &str) -> Option<(&str, &str, &str)> {
    let (_, rest) = words.split_once("TENURE<")?;
    let (inside, _) = rest.rsplit_once('>')?;
    let (command, said) = inside.split_once('|')?;
    let (code, rest) = said.trim_start_matches('-').split_once(' ')?;
    // What a script may not do is called by no code of its own.
    let denied = code == "NOPERM" || rest.contains("can't run this command") || rest.contains("can't access");
    Some((command, if denied { "NOPERM" } else { code }, rest))
}

fn wrong_password(words: &str, address: &Host) -> Error {
    denied(format!("{address} does not accept the user and password: {words}; see `ACL LIST` and `requirepass` there"))
}

fn denied(message: String) -> Error {
    Error::new(ErrorKind::Denied, message)
}

/// What the server said, but for what it repeats of what it was sent: that may be a password.
fn words(error: &RedisError) -> String {
    let said = error.detail().map_or_else(|| error.to_string(), str::to_owned);
    match said.split_once(", with args beginning with") {
        Some((said, _)) => said.to_owned(),
        None => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_failed_in_a_script_is_named() {
        let said = "user_script:17: TENURE<GET|ERR The user executing the script can't run this command or subcommand> script: 9085, on @user_script:17.";
        assert_eq!(in_script(said).map(|(command, code, _)| (command, code)), Some(("GET", "NOPERM")));
        let said = "TENURE<SET|OOM command not allowed when used memory > 'maxmemory'.>";
        assert_eq!(in_script(said).map(|(command, code, _)| (command, code)), Some(("SET", "OOM")));
        assert_eq!(in_script("unknown command"), None);
    }
}
