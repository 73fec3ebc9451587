//! What supervisor, guardian and the child's shim say to each other: small packets over socket pairs, descriptors beside them.
//!
//! A packet is whole or it is not there (`SOCK_SEQPACKET`), and the end of the stream is the other side's death: nobody has to ask
//! whether the other still lives.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use super::message::Message;

/// No packet is longer: an election's and a candidate's name have 200 bytes at most, a path 4,096.
const LONGEST: usize = 16 * 1024;
const MOST_DESCRIPTORS: usize = 3;

/// One end of a socket pair.
#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

/// What a channel had to say.
#[derive(Debug)]
pub(crate) enum Word {
    /// A message, and what was handed over with it.
    Said(Message, Vec<OwnedFd>),
    /// Nothing for now.
    Nothing,
    /// The other side is gone.
    Gone,
}

impl Channel {
    /// Two ends; both close when a program is executed, unless one is given to it as a standard stream.
    pub(crate) fn pair() -> io::Result<(Channel, OwnedFd)> {
        let (near, far) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Channel(near), far))
    }

    /// The channel that whoever started this process put in the place of its standard input, which becomes `/dev/null`.
    pub(crate) fn from_stdin() -> io::Result<Channel> {
        let socket = io::stdin().as_fd().try_clone_to_owned()?;
        if rustix::net::sockopt::socket_type(&socket)? != SocketType::SEQPACKET {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let null = std::fs::File::open("/dev/null")?;
        rustix::stdio::dup2_stdin(&null)?;
        Ok(Channel(socket))
    }

    /// The other end, for tests that speak for both sides.
    #[cfg(test)]
    pub(crate) fn from_fd(end: OwnedFd) -> Channel {
        Channel(end)
    }

    /// Sends without ever waiting: whoever does not read is frozen, and must not freeze the sender too.
    pub(crate) fn send(&self, message: &Message, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let packet = message.encode();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        sendmsg(&self.0, &[IoSlice::new(&packet)], &mut control, flags)?;
        Ok(())
    }

    /// What is there now, without waiting.
    pub(crate) fn hear(&self) -> io::Result<Word> {
        self.receive(RecvFlags::DONTWAIT)
    }

    /// The next message, however long it takes; nothing once the other side is gone.
    pub(crate) fn wait(&self) -> io::Result<Option<(Message, Vec<OwnedFd>)>> {
        loop {
            match self.receive(RecvFlags::empty())? {
                Word::Said(message, descriptors) => return Ok(Some((message, descriptors))),
                Word::Gone => return Ok(None),
                Word::Nothing => {}
            }
        }
    }

    /// Whether the other side is gone, whatever it said before.
    pub(crate) fn is_broken(&self) -> bool {
        let mut polled = [PollFd::new(&self.0, PollFlags::RDHUP)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let _ = poll(&mut polled, Some(&now));
        polled[0].revents().intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR)
    }

    fn receive(&self, flags: RecvFlags) -> io::Result<Word> {
        let mut packet = vec![0; LONGEST];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received =
            recvmsg(&self.0, &mut [IoSliceMut::new(&mut packet)], &mut control, flags | RecvFlags::CMSG_CLOEXEC);
        let length = match received {
            Ok(received) => received.bytes,
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return Ok(Word::Nothing),
            // It left with something unread. That is told once, before what it said last; a farewell that went unheard would be taken for a death.
            Err(rustix::io::Errno::CONNRESET) => return self.receive(flags),
            Err(error) => return Err(error.into()),
        };
        let descriptors = control
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
                _ => None,
            })
            .flatten()
            .collect();
        if length == 0 {
            return Ok(Word::Gone);
        }
        let message = Message::decode(&packet[..length]).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Word::Said(message, descriptors))
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl std::os::fd::AsRawFd for Channel {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.0.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn what_is_handed_over_arrives_with_its_message() {
        let (near, far) = Channel::pair().unwrap();
        let far = Channel::from_fd(far);
        let (mut reader, writer) = io::pipe().unwrap();
        near.send(&Message::Stopping, &[writer.as_fd()]).unwrap();
        drop(writer);
        let Word::Said(Message::Stopping, mut descriptors) = far.hear().unwrap() else { panic!("nothing was heard") };
        let mut writer = std::fs::File::from(descriptors.pop().expect("one descriptor"));
        writer.write_all(b"x").unwrap();
        drop(writer);
        let mut read = String::new();
        reader.read_to_string(&mut read).unwrap();
        assert_eq!(read, "x");
    }

    #[test]
    fn silence_and_death_are_told_apart() {
        let (near, far) = Channel::pair().unwrap();
        let far = Channel::from_fd(far);
        assert!(matches!(far.hear().unwrap(), Word::Nothing));
        assert!(!far.is_broken());
        near.send(&Message::Empty, &[]).unwrap();
        drop(near);
        assert!(far.is_broken(), "also while something is left to read");
        assert!(matches!(far.hear().unwrap(), Word::Said(Message::Empty, _)));
        assert!(matches!(far.hear().unwrap(), Word::Gone));
    }

    #[test]
    fn the_last_word_of_one_that_left_without_listening_is_heard() {
        let (near, far) = Channel::pair().unwrap();
        let far = Channel::from_fd(far);
        far.send(&Message::Stopping, &[]).unwrap();
        near.send(&Message::Farewell, &[]).unwrap();
        drop(near);
        assert!(matches!(far.hear().unwrap(), Word::Said(Message::Farewell, _)));
        assert!(matches!(far.hear().unwrap(), Word::Gone));
    }

    #[test]
    fn a_side_that_does_not_read_blocks_nobody() {
        let (near, _far) = Channel::pair().unwrap();
        let full = (0..100_000).find_map(|_| near.send(&Message::Empty, &[]).err()).expect("it fills up");
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
    }
}
