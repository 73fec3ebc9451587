//! The network among members: each reaches the others through here, so that one can be cut off from them and still be reached by clients.

use std::fs;
use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::failure::While;
use crate::{Failure, Port};

/// The ways to all members.
#[derive(Debug)]
pub(super) struct Peers {
    doors: Vec<Port>,
    rooms: Vec<Port>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    cut_off: Option<usize>,
    closed: bool,
    links: Vec<Link>,
}

/// One connection, by which member made it and to which.
#[derive(Debug)]
struct Link {
    from: usize,
    to: usize,
    ends: [TcpStream; 2],
}

impl Link {
    fn is_of(&self, member: usize) -> bool {
        self.from == member || self.to == member
    }

    fn end(&self) {
        for end in &self.ends {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

impl Peers {
    /// Ways to so many members. `name` is what each is called on its command line.
    pub(super) fn of(size: usize, name: impl Fn(usize) -> String) -> Result<Self, Failure> {
        let ports = || (0..size).map(|_| Port::free()).collect::<Result<Vec<_>, _>>();
        let peers = Peers { doors: ports()?, rooms: ports()?, state: Arc::default() };
        let names: Arc<[String]> = (0..size).map(name).collect();
        for (to, (door, room)) in peers.doors.iter().zip(&peers.rooms).enumerate() {
            let listener = TcpListener::bind(door.address()).when(door.address())?;
            let (door, room) = (door.number(), room.address());
            let (state, names) = (peers.state.clone(), names.clone());
            std::thread::spawn(move || {
                for accepted in listener.incoming().map_while(Result::ok) {
                    if lock(&state).closed {
                        return;
                    }
                    // Whoever cannot be told tries again.
                    let from = accepted.peer_addr().ok().and_then(|from| whose(from.port(), door, &names));
                    if let (Some(from), Ok(room)) = (from, TcpStream::connect(room)) {
                        let _ = join(accepted, room, from, to, &state);
                    }
                }
            });
        }
        Ok(peers)
    }

    /// What others are told of a member.
    pub(super) fn door(&self, member: usize) -> &Port {
        &self.doors[member]
    }

    /// Where it listens.
    pub(super) fn room(&self, member: usize) -> &Port {
        &self.rooms[member]
    }

    /// Ends what one member and the others say to each other, and keeps it so.
    pub(super) fn cut_off(&self, member: usize) {
        let mut state = lock(&self.state);
        state.cut_off = Some(member);
        state.links.iter().filter(|link| link.is_of(member)).for_each(Link::end);
    }

    /// Lets everybody reach everybody.
    pub(super) fn rejoin(&self) {
        lock(&self.state).cut_off = None;
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        state.closed = true;
        state.links.iter().for_each(Link::end);
        drop(state);
        // Whoever waits for somebody to come hears that it is over.
        self.doors.iter().for_each(|door| drop(TcpStream::connect(door.address())));
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets bytes through, unless one of the two is cut off.
fn join(one: TcpStream, other: TcpStream, from: usize, to: usize, state: &Mutex<State>) -> io::Result<()> {
    let link = Link { from, to, ends: [one.try_clone()?, other.try_clone()?] };
    let mut state = lock(state);
    if state.cut_off.is_some_and(|member| link.is_of(member)) {
        link.end();
        return Ok(());
    }
    state.links.retain(|link| link.ends[0].peer_addr().is_ok());
    state.links.push(link);
    for (mut here, mut there) in [(one.try_clone()?, other.try_clone()?), (other, one)] {
        here.set_nodelay(true)?;
        std::thread::spawn(move || {
            let _ = io::copy(&mut here, &mut there);
            let _ = there.shutdown(Shutdown::Both);
        });
    }
    Ok(())
}

/// Which member has the socket that leads from one loopback port to another.
fn whose(from: u16, to: u16, names: &[String]) -> Option<usize> {
    let [from, to] = [from, to].map(|port| format!("0100007F:{port:04X}"));
    let table = fs::read_to_string("/proc/net/tcp").ok()?;
    let inode = table.lines().find_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        (fields.get(1..3)? == [&from, &to]).then(|| fields.get(9).copied())?
    })?;
    let socket = format!("socket:[{inode}]");
    fs::read_dir("/proc").ok()?.flatten().find_map(|process| {
        let command = fs::read(process.path().join("cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).into_owned();
        let member = names.iter().position(|name| command.contains(&format!("--name\0{name}\0")))?;
        let mut files = fs::read_dir(process.path().join("fd")).ok()?.flatten();
        files.any(|file| fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == socket.as_str())).then_some(member)
    })
}
