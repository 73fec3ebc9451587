//! Tests that need a server, in targets without the usual harness.

use libtest_mimic::{Arguments, Failed, Trial};

use crate::tools::Missing;

/// The tests of a target. One that needs what is not there is shown as ignored, by name; where nothing may be skipped
/// (`TENURE_STRICT=1`, or `CI` is set) it fails.
#[derive(Default)]
pub struct Trials {
    trials: Vec<Trial>,
    at_once: Option<usize>,
}

impl Trials {
    /// None yet.
    pub fn new() -> Self {
        Trials::default()
    }

    /// Runs no more than so many at once, unless the command line says otherwise: what is about time needs a machine that keeps up.
    pub fn at_once(mut self, most: usize) -> Self {
        self.at_once = Some(most);
        self
    }

    /// A test that can run everywhere.
    pub fn test(self, name: &str, run: impl FnOnce() + Send + 'static) -> Self {
        self.needing(None, name, run)
    }

    /// A test that can run if nothing is missing, as [`Tool::missing`](crate::tools::Tool::missing) says it.
    pub fn needing(mut self, missing: Option<Missing>, name: &str, run: impl FnOnce() + Send + 'static) -> Self {
        let trial = match missing {
            None => Trial::test(name, move || {
                run();
                Ok(())
            }),
            Some(what) if is_strict() => Trial::test(name, move || Err(Failed::from(format!("did not run: {what}")))),
            Some(what) => Trial::test(name, move || Err(what.into())).with_ignored_flag(true),
        };
        self.trials.push(trial);
        self
    }

    /// Runs those that the command line asks for, and ends the process.
    pub fn main(self) -> ! {
        self.main_of(std::env::args())
    }

    /// The same, with what a target left of its command line; the name of the program comes first.
    pub fn main_of(self, arguments: impl IntoIterator<Item = String>) -> ! {
        let mut arguments = Arguments::from_iter(arguments);
        arguments.test_threads = arguments.test_threads.or(self.at_once);
        libtest_mimic::run(&arguments, self.trials).exit()
    }
}

impl std::fmt::Debug for Trials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trials").field("tests", &self.trials.len()).finish_non_exhaustive()
    }
}

/// Whether what cannot run is a failure.
fn is_strict() -> bool {
    ["TENURE_STRICT", "CI"].iter().any(|name| std::env::var(name).is_ok_and(|value| value != "0"))
}
