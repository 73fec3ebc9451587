//! The simulator's model of a locked file, call by call against the real backend in a directory: what is simulated must be what is shipped.

use std::sync::Arc;

use tenure::backend::{
    Attempt, AttemptId, Backend, Bid, Expiry, FileBackend, Held, Renewal, Sight, Standing, TenureId, Vacancy, Version,
};
use tenure::machine::Plan;
use tenure::{CandidateName, Moment, Seat, Timing};
use tenure_sim::rng::Rng;
use tenure_sim::store::{FileStore, Present, Reply, Request, Store};

const PROCESSES: usize = 3;

/// One process: its own backend value, so that its liveness locks go with it.
struct Process {
    number: usize,
    nonce: u64,
    bids: u64,
    backend: Arc<FileBackend>,
}

/// What both were last seen to be, with the version each of them has for it.
type Versions = (Version, Version);

struct Both {
    model: FileStore,
    directory: std::path::PathBuf,
    processes: Vec<Process>,
    seen: Option<Versions>,
    tokens: (u64, u64),
    now: u64,
    log: Vec<String>,
}

impl Both {
    fn new(run: u64) -> Self {
        let directory = std::env::temp_dir().join(format!("tenure-model-{}-{run}", std::process::id()));
        let mut both = Both {
            model: FileStore::default(),
            directory,
            processes: Vec::new(),
            seen: None,
            tokens: (0, 0),
            now: 1_000_000_000,
            log: Vec::new(),
        };
        for number in 0..PROCESSES {
            let process = both.process(number);
            both.processes.push(process);
        }
        both
    }

    fn process(&self, number: usize) -> Process {
        let backend = Arc::new(FileBackend::new(&self.directory).expect("a directory of our own"));
        Process { number, nonce: (number as u64 + 1) << 32, bids: 1, backend }
    }

    fn bid(&self, who: usize, displace: Option<Version>) -> Bid {
        let Process { nonce, bids, backend, .. } = &self.processes[who];
        let (seat, name) = (Seat::new("office").unwrap(), CandidateName::new(&format!("node-{who}")).unwrap());
        let plan = Plan::new(seat, name, *nonce, Arc::new(Timing::default()), backend.traits());
        Bid::new(Arc::new(plan.ending_work_with_process(true)), TenureId::new(*nonce, *bids), displace)
    }

    fn modelled(&mut self, who: usize, request: &Request) -> Reply {
        self.now += 1_000_000;
        self.model.apply(Moment::from_nanos(self.now), 0, self.processes[who].number, request)
    }

    fn attempt(&self) -> Attempt {
        Attempt { id: AttemptId(1), sent: Moment::from_nanos(self.now) }
    }

    async fn stand(&mut self, who: usize, displacing: bool) {
        // A tenure that was lost is never stood for again.
        let holder = self.model.truth(&Present { time: 0, clocks: &[] }).and_then(|truth| truth.tenure);
        if holder != Some(self.bid(who, None).tenure()) {
            self.processes[who].bids += 1;
        }
        let (real, modelled) = match self.seen.clone().filter(|_| displacing) {
            Some((real, modelled)) => (Some(real), Some(modelled)),
            None => (None, None),
        };
        let real = self.processes[who].backend.stand(&self.bid(who, real), self.attempt()).await.expect("it stands");
        let request = Request::Stand(self.bid(who, modelled), self.attempt().sent);
        let Reply::Stood(modelled) = self.modelled(who, &request) else { panic!("a bid is answered") };
        match (&real, &modelled) {
            (Standing::Elected(real), Standing::Elected(modelled)) => {
                assert_eq!((real.tenure, real.over), (modelled.tenure, modelled.over), "{:#?}", self.log);
                self.seen = Some((real.version.clone(), modelled.version.clone()));
                let tokens = (real.token.unwrap(), modelled.token.unwrap());
                assert_eq!(
                    tokens.0 > self.tokens.0,
                    tokens.1 > self.tokens.1,
                    "both raise, or both keep: {:#?}",
                    self.log
                );
                assert!(tokens.0 >= self.tokens.0 && tokens.1 >= self.tokens.1);
                self.tokens = tokens;
            }
            (Standing::Held(real), Standing::Held(modelled)) => self.agree(real, modelled),
            other => panic!("they disagree: {other:?} after {:#?}", self.log),
        }
    }

    async fn renew(&mut self, who: usize) {
        let Some((real, modelled)) = self.seen.clone() else { return };
        let bid = self.bid(who, None);
        let renewed = self.processes[who].backend.renew(&bid, &real, self.attempt()).await.expect("it renews");
        let Reply::Renewed(modelled) = self.modelled(who, &Request::Renew(bid, modelled)) else { panic!("answered") };
        match (&renewed, &modelled) {
            (Renewal::Extended(real), Renewal::Extended(modelled)) => {
                self.seen = Some((real.version.clone(), modelled.version.clone()));
            }
            (Renewal::Mismatch(real), Renewal::Mismatch(modelled)) => self.agree(real, modelled),
            other => panic!("they disagree: {other:?} after {:#?}", self.log),
        }
    }

    async fn withdraw(&mut self, who: usize) {
        let bid = self.bid(who, None);
        self.processes[who].backend.withdraw(&bid).await.expect("it withdraws");
        self.modelled(who, &Request::Withdraw(bid));
        self.processes[who].bids += 1;
    }

    async fn inspect(&mut self, who: usize) {
        let real = self.processes[who].backend.inspect(&Seat::new("office").unwrap()).await.expect("it reads");
        let Reply::Seen(modelled) = self.modelled(who, &Request::Inspect) else { panic!("a look is answered") };
        self.agree(&real, &modelled);
    }

    fn die(&mut self, who: usize) {
        self.model.died(self.processes[who].number);
        // The backend goes first, and its locks with it.
        let number = self.processes[who].number + PROCESSES;
        let reborn = Process { number, ..self.process(number) };
        self.processes[who] = reborn;
    }

    fn agree(&mut self, real: &Sight, modelled: &Sight) {
        match (real, modelled) {
            (Sight::Held(real), Sight::Held(modelled)) => {
                assert_eq!(real.tenure, modelled.tenure, "{:#?}", self.log);
                assert_eq!(kind(real), kind(modelled), "{:#?}", self.log);
                self.seen = Some((real.version.clone(), modelled.version.clone()));
            }
            (Sight::Vacant(real), Sight::Vacant(modelled)) => {
                assert_eq!(said(*real), said(*modelled), "{:#?}", self.log)
            }
            other => panic!("they disagree: {other:?} after {:#?}", self.log),
        }
    }
}

impl Drop for Both {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.directory).ok();
    }
}

/// Who judges when it ends; how long a dead one's work may linger is the backend's own business.
fn kind(held: &Held) -> Option<std::time::Duration> {
    match held.expiry {
        Expiry::Observe { recorded } => Some(recorded),
        Expiry::Dead { .. } => None,
        Expiry::Store { .. } => panic!("a file expires nothing by itself"),
    }
}

fn said(vacancy: Vacancy) -> Option<TenureId> {
    match vacancy {
        Vacancy::Released { by } => Some(by),
        Vacancy::Free | Vacancy::Removed => None,
    }
}

#[test]
fn the_model_of_a_file_answers_as_the_real_one_does() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (mut deaths, mut displaced) = (0, 0);
    for run in 0..30 {
        let mut rng = Rng::new(run);
        let mut both = Both::new(run);
        for _ in 0..60 {
            let who = rng.below(PROCESSES as u64) as usize;
            let deed = rng.below(12);
            both.log.push(format!("process {who} does {deed}"));
            match deed {
                0..=2 => runtime.block_on(both.stand(who, false)),
                3 | 4 => {
                    displaced += 1;
                    runtime.block_on(both.stand(who, true));
                }
                5..=7 => runtime.block_on(both.renew(who)),
                8 | 9 => runtime.block_on(both.inspect(who)),
                10 => runtime.block_on(both.withdraw(who)),
                _ => {
                    deaths += 1;
                    both.die(who);
                }
            }
        }
    }
    assert!(deaths > 50 && displaced > 100, "{deaths} deaths and {displaced} bids that displace");
}
