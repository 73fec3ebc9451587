//! Two processes, one directory. The one that leads is killed, and the other leads long before the lease would have ended; then somebody asks
//! it to resign.
//!
//! `cargo run --example file`

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tenure::backend::FileBackend;
use tenure::{Election, Error, Incumbent};

/// Set in the processes that this program starts: it runs itself again.
const NAME: &str = "EXAMPLE_FILE_NAME";

fn main() -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be had");
    match std::env::var(NAME) {
        Ok(name) => runtime.block_on(candidate(&name, &std::env::args().nth(1).expect("a directory is given"))),
        Err(_) => runtime.block_on(story()),
    }
}

/// What each of the two processes does: all it takes to have one leader among them.
async fn candidate(name: &str, directory: &str) -> Result<(), Error> {
    let election = Election::new(FileBackend::new(directory)?, "nightly-report")?;
    // The work is done by this process itself: when it is gone, so is its work, and nobody has to wait for the lease.
    let me = election.candidate(name).lease(Duration::from_secs(10)).work_ends_with_process().build()?;
    let tenure = me.campaign().await?;
    let token = tenure.token().expect("a local disk has tokens");
    println!("{name} leads with token {token}.");
    let ending = tenure.ended().await;
    println!("{name} does not lead any more: {ending}.");
    // Its work has stopped: waits until the office is given up, so that the next one need not.
    tenure.resign().await
}

async fn story() -> Result<(), Error> {
    let directory = Directory::new();
    println!("The lease is 10 s. The office is {}.", directory.0.join("nightly-report.json").display());
    // This process only looks on.
    let election = Election::new(FileBackend::new(&directory.0)?, "nightly-report")?;
    let mut first = Process::start("ada", &directory.0);
    let before = holder(&election, "ada").await?;
    let mut second = Process::start("bob", &directory.0);
    tokio::time::sleep(Duration::from_millis(500)).await;

    println!("\nada is killed.");
    let killed = Instant::now();
    first.kill();
    let after = holder(&election, "bob").await?;
    println!("bob holds the office {:.0?} after that.", killed.elapsed());
    assert!(after.token() > before.token(), "tokens rise with every tenure");
    tokio::time::sleep(Duration::from_millis(300)).await;

    println!("\nbob is asked to resign.");
    election.ask_to_resign().await?;
    second.0.wait().expect("it ends by itself");
    let vacant = election.incumbent().await?.is_none();
    println!("The office is {}.", if vacant { "vacant" } else { "held" });
    Ok(())
}

/// This program again, as a candidate; it does not outlive the story.
struct Process(Child);

impl Process {
    fn start(name: &str, directory: &Path) -> Self {
        let program = std::env::current_exe().expect("this program is a file");
        Process(Command::new(program).arg(directory).env(NAME, name).spawn().expect("this program can be run again"))
    }

    fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits until this one holds the office.
async fn holder(election: &Election, name: &str) -> Result<Incumbent, Error> {
    let mut office = election.observe()?;
    loop {
        match office.next().await {
            Some(Some(incumbent)) if incumbent.name() == name => return Ok(incumbent),
            Some(_) => {}
            None => panic!("an observation goes on while its election does"),
        }
    }
}

/// A directory that goes with this program.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        Directory(std::env::temp_dir().join(format!("tenure-example-{}", std::process::id())))
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
