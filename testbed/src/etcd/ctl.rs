//! `etcdctl`, and what needs less than that.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::Settings;
use super::settings::Users;
use crate::Failure;

/// Runs `etcdctl` with all rights.
pub(super) fn run(settings: &Settings, members: &[SocketAddr], words: &[&str]) -> Result<String, Failure> {
    let endpoints: Vec<_> = members.iter().map(|member| format!("{}://{member}", settings.scheme())).collect();
    let tool = match settings.release {
        super::Release::Flawed => super::Release::Former,
        release => release,
    };
    let mut command = Command::new(tool.tool().find("etcdctl")?);
    command.args(["--endpoints", &endpoints.join(","), "--command-timeout", "10s"]).stdin(Stdio::null());
    if let Some(tls) = &settings.tls {
        command.arg("--cacert").arg(&tls.authority);
        if let Some(client) = &tls.client {
            command.arg("--cert").arg(&client.certificate).arg("--key").arg(&client.key);
        }
    }
    if let Some(users) = &settings.users {
        command.args(["--user", &format!("root:{}", users.root_password)]);
    }
    let output = command.args(words).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::new(format!("`etcdctl {}` failed: {said}", words.join(" "))))
}

/// Switches users on: `root`, and one that may read and write below a prefix and do nothing else.
pub(super) fn admit(settings: &mut Settings, members: &[SocketAddr], users: Users) -> Result<(), Failure> {
    let Users { root_password, user, password, prefix } = &users;
    settings.users = None;
    for words in [
        &["user", "add", &format!("root:{root_password}")][..],
        &["user", "grant-role", "root", "root"],
        &["role", "add", ROLE],
        &["role", "grant-permission", ROLE, "--prefix=true", "readwrite", prefix],
        &["user", "add", &format!("{user}:{password}")],
        &["user", "grant-role", user, ROLE],
        &["auth", "enable"],
    ] {
        run(settings, members, words)?;
    }
    settings.users = Some(users);
    Ok(())
}

pub(super) fn revoke(settings: &Settings, members: &[SocketAddr]) -> Result<(), Failure> {
    let user = settings.users.as_ref().map_or("", |users| &users.user);
    run(settings, members, &["user", "revoke-role", user, ROLE]).map(drop)
}

pub(super) fn reinstate(settings: &Settings, members: &[SocketAddr]) -> Result<(), Failure> {
    let user = settings.users.as_ref().map_or("", |users| &users.user);
    run(settings, members, &["user", "grant-role", user, ROLE]).map(drop)
}

/// The role that the user has.
const ROLE: &str = "elector";

/// Whether a member says that it is well; nothing when it does not answer.
pub(super) fn health(address: SocketAddr) -> Option<bool> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
    stream.write_all(b"GET /health HTTP/1.0\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer.contains("\"health\":\"true\""))
}
