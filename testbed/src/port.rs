//! Ports that nobody else takes meanwhile.

use std::fs::{self, File, OpenOptions};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;

use crate::Failure;
use crate::failure::While;

/// Below the ports that Linux gives to outgoing connections (32768 and up): none of those can be in the way of a server that comes back.
const RANGE: std::ops::Range<u16> = 10_000..32_768;

/// How often to try: nearly all of them are free.
const TRIES: usize = 200;

/// A free loopback port, kept from every other user of the testbed on this host until it is dropped.
#[derive(Debug)]
pub struct Port {
    number: u16,
    /// Locked; the lock goes with the process, however that ends.
    _kept: File,
}

impl Port {
    /// Some free port.
    pub fn free() -> Result<Self, Failure> {
        let registry = registry()?;
        for _ in 0..TRIES {
            let number = fastrand::u16(RANGE);
            let path = registry.join(number.to_string());
            let file = OpenOptions::new().create(true).append(true).open(&path).when(path.display())?;
            // The lock keeps other testbeds away, the attempt to listen finds everybody else.
            if file.try_lock().is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok() {
                return Ok(Port { number, _kept: file });
            }
        }
        Err(Failure::new(format!("none of {TRIES} ports that were tried on the loopback address is free")))
    }

    /// Its number.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// It on the loopback address.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.number).into()
    }
}

/// A folder with an empty file for each port that was ever taken.
fn registry() -> Result<PathBuf, Failure> {
    let user = rustix::process::getuid().as_raw();
    let folder = std::env::temp_dir().join(format!("tenure-testbed-ports-{user}"));
    fs::create_dir_all(&folder).when(folder.display())?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ports_that_are_kept_are_never_given_twice() {
        let ports: Vec<_> = (0..300).map(|_| Port::free().unwrap()).collect();
        let numbers: HashSet<_> = ports.iter().map(Port::number).collect();
        assert_eq!(numbers.len(), ports.len());
    }

    #[test]
    fn a_port_that_somebody_listens_on_is_not_given() {
        let port = Port::free().unwrap();
        let taken = TcpListener::bind(port.address()).unwrap();
        drop(port);
        for _ in 0..300 {
            assert_ne!(Port::free().unwrap().number(), taken.local_addr().unwrap().port());
        }
    }
}
