//! A source and a handler that follow a plan and write down what they are told to do, and when.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use tokio::{sync::mpsc, task::JoinHandle};

use super::*;

/// At which second what was done.
pub(super) type Entry = (u64, &'static str);

type Log = Arc<Mutex<Vec<Entry>>>;

/// How a call goes.
pub(super) enum Plan {
    Fail,
    Panic,
    Take(u64),
}

pub(super) const HANG: Plan = Plan::Take(u64::MAX / 1_000_000);

struct Diary {
    started: Instant,
    log: Log,
}

impl Diary {
    fn note(&self, what: &'static str) {
        self.log.lock().unwrap().push((self.started.elapsed().as_secs(), what));
    }

    async fn follow(&self, plan: Option<Plan>, complaint: &'static str) -> Result<(), BoxError> {
        match plan {
            None => Ok(()),
            Some(Plan::Fail) => Err(complaint.into()),
            Some(Plan::Panic) => panic!("{complaint}"),
            Some(Plan::Take(seconds)) => {
                sleep(Duration::from_secs(seconds)).await;
                self.note("done");
                Ok(())
            }
        }
    }
}

struct Office {
    inbox: mpsc::Receiver<Result<State, BoxError>>,
    closed: bool,
    relinquish: Option<Plan>,
    diary: Diary,
}

impl Source for Office {
    fn next(&mut self) -> SourceFuture<'_, Option<State>> {
        assert!(!self.closed, "a source is not asked again after its end");
        Box::pin(async {
            let told = self.inbox.recv().await.transpose();
            self.closed = matches!(told, Ok(None) | Err(_));
            told
        })
    }

    fn relinquish(&mut self) -> SourceFuture<'_, ()> {
        self.diary.note("relinquish");
        let plan = self.relinquish.take();
        Box::pin(self.diary.follow(plan, "etcd is gone"))
    }

    fn resume(&mut self) {
        self.diary.note("resume");
    }
}

/// Calls without a plan succeed at once.
struct Hooks {
    begin: Mutex<VecDeque<Plan>>,
    end: Mutex<VecDeque<Plan>>,
    error: Mutex<VecDeque<Plan>>,
    diary: Diary,
}

impl Handler for Hooks {
    fn begin(&self) -> HandlerFuture<'_> {
        self.diary.note("begin");
        let plan = self.begin.lock().unwrap().pop_front();
        Box::pin(self.diary.follow(plan, "begin is broken"))
    }

    fn end(&self) -> HandlerFuture<'_> {
        self.diary.note("end");
        let plan = self.end.lock().unwrap().pop_front();
        Box::pin(self.diary.follow(plan, "end is broken"))
    }

    fn error(&self) -> HandlerFuture<'_> {
        self.diary.note("error");
        let plan = self.error.lock().unwrap().pop_front();
        Box::pin(self.diary.follow(plan, "error is broken"))
    }
}

/// How the calls of a run go, in their order.
#[derive(Default)]
pub(super) struct Plans {
    pub(super) begin: Vec<Plan>,
    pub(super) end: Vec<Plan>,
    pub(super) error: Vec<Plan>,
    pub(super) relinquish: Option<Plan>,
}

/// A run under way.
pub(super) struct Rig {
    pub(super) election: mpsc::Sender<Result<State, BoxError>>,
    pub(super) shutdown: CancellationToken,
    log: Log,
    run: Run,
}

impl Rig {
    pub(super) fn start(plans: Plans) -> Self {
        let log = Log::default();
        let started = Instant::now();
        let diary = || Diary { started, log: log.clone() };
        // As small as can be: a source that is not listened to soon blocks who speaks.
        let (election, inbox) = mpsc::channel(1);
        let office = Office { inbox, closed: false, relinquish: plans.relinquish, diary: diary() };
        let hooks = Hooks {
            begin: Mutex::new(plans.begin.into()),
            end: Mutex::new(plans.end.into()),
            error: Mutex::new(plans.error.into()),
            diary: diary(),
        };
        let office: Box<dyn Source> = Box::new(office);
        let hooks: Box<dyn Handler> = Box::new(hooks);
        let mut reconcile = Reconcile::new(office, hooks, Policy::default());
        let shutdown = reconcile.shutdown_token();
        let run = tokio::spawn(async move { reconcile.run().await });
        Self { election, shutdown, log, run }
    }

    pub(super) async fn leading(plans: Plans) -> Self {
        let rig = Self::start(plans);
        rig.tell(State::Leader).await;
        sleep(Duration::from_millis(1)).await;
        rig
    }

    pub(super) async fn tell(&self, told: State) {
        self.election.send(Ok(told)).await.unwrap();
    }

    /// What was done so far.
    pub(super) fn log(&self) -> Vec<Entry> {
        self.log.lock().unwrap().clone()
    }

    /// How the run ends when the source ends now.
    pub(super) async fn end_of_input(self) -> (Result<Outcome, ReconcileError>, Vec<Entry>) {
        drop(self.election);
        conclude(self.run, &self.log).await
    }

    /// How the run ends while the source stays silent.
    pub(super) async fn result(self) -> (Result<Outcome, ReconcileError>, Vec<Entry>) {
        conclude(self.run, &self.log).await
    }
}

type Run = JoinHandle<Result<Outcome, ReconcileError>>;

async fn conclude(run: Run, log: &Log) -> (Result<Outcome, ReconcileError>, Vec<Entry>) {
    let result = timeout(Duration::from_secs(3_600), run).await;
    let log = log.lock().unwrap().clone();
    let result = result.unwrap_or_else(|_| panic!("the run does not end: {log:?}"));
    (result.unwrap(), log)
}
