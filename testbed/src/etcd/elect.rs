//! A program that knows nothing of tenure: `etcdctl elect`.

use std::process::{Child, Command, Stdio};

use super::Etcd;
use crate::{Failure, tools};

/// One that runs for an election of etcd's own, with a lease of a minute. Dropping it kills it; then it leads until that is over.
#[derive(Debug)]
pub struct Elect(Child);

impl Elect {
    /// Runs for `election` with this proposal, which is what others see as its name.
    pub fn start(etcd: &Etcd, election: &str, proposal: &str) -> Result<Self, Failure> {
        let mut elect = Command::new(tools::ETCD.find("etcdctl")?);
        elect.args(["--endpoints", &etcd.address().to_string(), "elect", election, proposal]);
        Ok(Elect(elect.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?))
    }

    /// Has it give up, as Ctrl-C does; returns when it has.
    pub fn resign(mut self) -> Result<(), Failure> {
        let process = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(process, rustix::process::Signal::INT).map_err(std::io::Error::from)?;
        self.0.wait()?;
        Ok(())
    }
}

impl Drop for Elect {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
