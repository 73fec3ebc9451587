//! Choosing the cases for a backend, and running them.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::FutureExt;
use libtest_mimic::{Arguments, Completion, Failed, Trial};

use super::bench::Bench;
use super::case::{Case, Kind};
use super::harness::AnyHarness;
use super::{Broken, Harness, Hook, NotRun, Report, cases};

/// The conformance suite for one backend.
///
/// The cases are chosen by what the backend says of itself ([`Traits`](crate::backend::Traits)): one that makes no sense for its kind of store is
/// not chosen. A case that is chosen and needs a hook which the harness lacks *did not run*: it is shown as ignored, by name and with what is
/// missing, and it fails the run where `TENURE_STRICT=1` or `CI` is set.
pub struct Suite {
    name: String,
    hooks: &'static [Hook],
    make: Arc<dyn Fn() -> Arc<dyn AnyHarness> + Send + Sync>,
    missing: Option<String>,
    threads: usize,
}

/// The cases that apply to a backend: those that can run, and those that cannot.
struct Chosen {
    kind: Kind,
    able: Vec<Case>,
    unable: Vec<NotRun>,
}

impl Suite {
    /// Cases mostly wait, so more of them run at once than there are processors.
    const THREADS: usize = 16;

    /// The suite for the backend with this name; `make` gives each case a fresh harness.
    pub fn new<H: Harness>(name: impl Into<String>, make: impl Fn() -> H + Send + Sync + 'static) -> Self {
        Suite {
            name: name.into(),
            hooks: H::hooks(),
            make: Arc::new(move || Arc::new(make())),
            missing: None,
            threads: Self::THREADS,
        }
    }

    /// Says that the suite needs something outside of it (a server, a variable) and whether it is there. Without it nothing runs, and that
    /// is reported like a missing hook.
    #[must_use]
    pub fn needs(mut self, what: impl Into<String>, is_there: bool) -> Self {
        if !is_there {
            self.missing.get_or_insert(what.into());
        }
        self
    }

    /// How many cases run at once; 16 unless set, here or by `--test-threads`. One server that all cases share may want fewer.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Runs as a test target (`harness = false`) does, with the arguments of the process, and ends it.
    pub fn main(self) -> ! {
        let mut arguments = Arguments::from_args();
        arguments.test_threads.get_or_insert(self.threads);
        let strict = is_strict();
        let chosen = self.choose();
        let not_run = chosen.unable.clone();
        let trials: Vec<_> = self.trials(chosen, strict).collect();
        let shown: Vec<_> =
            trials.iter().filter(|t| !arguments.is_filtered_out(t)).map(|t| t.name().to_owned()).collect();
        let conclusion = libtest_mimic::run(&arguments, trials);
        if !arguments.list {
            self.tell_what_did_not_run(not_run.iter().filter(|missed| shown.contains(&missed.case)).collect());
        }
        conclusion.exit()
    }

    /// Runs the cases whose name contains `filter`, all if it is empty, and says what came out.
    pub fn run(&self, filter: &str) -> Report {
        self.run_those(|case| case.contains(filter))
    }

    pub(super) fn run_those(&self, wanted: impl Fn(&str) -> bool) -> Report {
        let Chosen { kind, mut able, mut unable } = self.choose();
        able.retain(|case| wanted(&case.title()));
        unable.retain(|missed| wanted(&missed.case));
        let report = Mutex::new(Report { not_run: unable, ..Report::default() });
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..self.threads.min(able.len()) {
                scope.spawn(|| {
                    while let Some(case) = able.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let outcome = run_case(&self.make, kind, case);
                        let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
                        match outcome {
                            Ok(()) => report.passed.push(case.title()),
                            Err(message) => report.failed.push(Broken { case: case.title(), message }),
                        }
                    }
                });
            }
        });
        let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
        report.passed.sort_unstable();
        report.failed.sort_unstable_by(|one, other| one.case.cmp(&other.case));
        report
    }

    fn choose(&self) -> Chosen {
        if let Some(missing) = &self.missing {
            let because = format!("it needs {missing}, which is not there");
            let unable = vec![NotRun { case: "every_case".into(), because }];
            let traits = crate::backend::Traits::new(crate::Promise::BestEffort);
            return Chosen { kind: Kind { traits, administers: false }, able: Vec::new(), unable };
        }
        let kind = self.probe();
        let (able, unable): (Vec<_>, Vec<_>) = cases::all()
            .into_iter()
            .filter(|case| (case.applies)(&kind))
            .partition(|case| case.hooks.iter().all(|hook| self.hooks.contains(hook)));
        let unable = unable.iter().map(|case| {
            let lacking = case.hooks.iter().filter(|hook| !self.hooks.contains(hook));
            let names: Vec<_> = lacking.map(|hook| format!("`{hook}`")).collect();
            NotRun { case: case.title(), because: format!("the harness has no hook {}", names.join(", ")) }
        });
        Chosen { kind, able, unable: unable.collect() }
    }

    /// Asks a harness that runs no case what its backend is like.
    fn probe(&self) -> Kind {
        let runtime = runtime();
        let kind = runtime.block_on(async {
            let harness = (self.make)();
            let client = harness.client(0);
            let traits = client.traits();
            let (lease, least, most) = (harness.lease(), traits.shortest_lease, traits.longest_lease);
            assert!(
                (least..=most).contains(&lease),
                "the harness of {} wants leases of {lease:?}, and its backend takes {least:?} to {most:?}",
                self.name
            );
            Kind { traits, administers: client.administer().is_some() }
        });
        runtime.shutdown_background();
        kind
    }

    fn trials(&self, chosen: Chosen, strict: bool) -> impl Iterator<Item = Trial> {
        let Chosen { kind, able, unable } = chosen;
        let make = self.make.clone();
        let able = able.into_iter().map(move |case| {
            let make = make.clone();
            Trial::test(case.title(), move || run_case(&make, kind, &case).map_err(Failed::from))
        });
        // Not flagged as ignored: asked to include those, the runner would still have to be told why it cannot.
        let unable = unable
            .into_iter()
            .map(move |NotRun { case, because }| Trial::ignorable_test(case, move || not_run(&because, strict)));
        able.chain(unable)
    }

    fn tell_what_did_not_run(&self, missed: Vec<&NotRun>) {
        if missed.is_empty() {
            return;
        }
        println!("{}: of the cases that apply, {} did not run:", self.name, missed.len());
        for NotRun { case, because } in missed {
            println!("    {case}: {because}");
        }
        println!();
    }
}

impl fmt::Debug for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Suite").field("name", &self.name).field("hooks", &self.hooks).finish_non_exhaustive()
    }
}

fn is_strict() -> bool {
    let set = |name| std::env::var(name).is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    set("TENURE_STRICT") || set("CI")
}

/// What becomes of a case that applies and cannot run.
pub(super) fn not_run(because: &str, strict: bool) -> Result<Completion, Failed> {
    if strict { Err(format!("did not run: {because}").into()) } else { Ok(Completion::ignored_with(because)) }
}

/// Runs one case on a harness and a runtime of its own; what it panicked with is the failure.
fn run_case(make: &Arc<dyn Fn() -> Arc<dyn AnyHarness> + Send + Sync>, kind: Kind, case: &Case) -> Result<(), String> {
    let runtime = runtime();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            let harness = make();
            let limit = Duration::from_secs(60) + (harness.lease() + harness.stretch()) * 40;
            let ran = AssertUnwindSafe(tokio::time::timeout(limit, perform(harness.clone(), kind, case)));
            let ran = ran.catch_unwind().await;
            harness.clean_up().await;
            match ran {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) => Err(format!("the case did not end within {limit:?}")),
                Err(panic) => Err(words(&*panic)),
            }
        })
    }));
    // Calls that hang are nobody's any more.
    runtime.shutdown_background();
    outcome.unwrap_or_else(|panic| Err(words(&*panic)))
}

async fn perform(harness: Arc<dyn AnyHarness>, kind: Kind, case: &Case) {
    if let Err(error) = harness.prepare().await {
        panic!("the harness could not prepare the store: {error}");
    }
    (case.run)(Bench::new(harness, kind)).await;
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime can be had")
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it panicked without words").to_owned()
}
