//! The simulator's model of Redis and of its client, call by call against the real ones: what is simulated must be what is shipped.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tenure::backend::{Bid, Renewal, Sight, Standing, TenureId, Version};
use tenure::machine::Plan;
use tenure::{Backend, CandidateName, Error, Moment, Timing};
use tenure_redis::{RedisBackend, Secret};
use tenure_sim::client::{self, Wire};
use tenure_sim::rng::Rng;
use tenure_sim::store::{Packet, RedisStore, Reply, Request, Said, Script, Store};
use testbed::Trials;
use testbed::redis::{Redis, missing};

use crate::stores::CANDIDATE;
use crate::tools::{attempt, backend, block_on, seat};

pub(crate) fn tests(trials: Trials) -> Trials {
    let name = "the_model_of_the_simulation_answers_as_a_server_does";
    trials.needing(missing(), name, the_model_of_the_simulation_answers_as_a_server_does)
}

const CANDIDATES: u64 = 3;
/// Rights that a step may miss, each with what it is needed for.
const RIGHTS: [&str; 3] = ["set", "del", "publish"];

/// The simulated server, with its client.
struct Model {
    store: RedisStore,
    client: Arc<dyn Backend>,
    wire: Wire,
    now: u64,
    /// The right that is missing.
    denied: Option<&'static str>,
}

impl Model {
    /// Makes a call of the client, and answers what it asks.
    fn call<T>(&mut self, call: impl FnOnce(Arc<dyn Backend>) -> T) -> T::Output
    where
        T: Future,
    {
        let mut call = pin!(call(self.client.clone()));
        loop {
            if let Poll::Ready(answer) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return answer;
            }
            for asked in self.wire.take() {
                let Request::Scripts(Packet { steps, in_full, .. }) = asked.request else { panic!("it runs scripts") };
                let said = steps.into_iter().map(|script| self.run(script, in_full)).collect();
                self.wire.answer(asked.id, Ok(Reply::Scripts(said)));
            }
        }
    }

    /// A step that would do what it has no right to do is refused, and does nothing.
    fn run(&mut self, script: Script, in_full: bool) -> Said {
        self.now += 1_000_000;
        let before = self.store.clone();
        let (script, held) = (Request::Script(script, in_full), self.holder());
        let Reply::Said(said) = self.apply(&script) else { panic!("a script is answered") };
        let needs = match (&script, &said) {
            (Request::Script(Script::Draw(..), _), Said::Done) | (_, Said::Ours(_)) => Some("set"),
            (_, Said::Left) if held != self.holder() => Some("del"),
            (Request::Script(Script::Tell(_), _), Said::Done) => Some("publish"),
            _ => None,
        };
        if needs.is_some() && needs == self.denied {
            self.store = before;
            return Said::Refused;
        }
        self.store.persist(usize::MAX);
        said
    }

    fn holder(&mut self) -> Option<TenureId> {
        match self.apply(&Request::Script(Script::Inspect, true)) {
            Reply::Said(Said::Seen(Sight::Held(held))) => held.tenure,
            _ => None,
        }
    }

    fn apply(&mut self, request: &Request) -> Reply {
        self.store.apply(Moment::from_nanos(self.now), 0, 0, request)
    }
}

type Pair = ((Version, u64), (Version, u64));

struct Both {
    redis: Redis,
    real: RedisBackend,
    model: Model,
    /// The newest bid of each candidate.
    bids: Vec<u64>,
    /// The newest version of the record that was seen, as each of them has it, and its token.
    seen: Option<Pair>,
    /// The one before it.
    past: Option<Pair>,
    log: Vec<String>,
}

impl Both {
    fn bid(&self, who: u64) -> Bid {
        let name = CandidateName::new(&format!("node-{who}")).expect("it is a name");
        let plan = Plan::new(seat(), name, who + 1, Arc::new(Timing::default()), self.real.traits());
        Bid::new(Arc::new(plan), TenureId::new(who + 1, self.bids[who as usize]), None)
    }

    async fn stand(&mut self, who: u64) -> &'static str {
        let bid = self.bid(who);
        let real = self.real.stand(&bid, attempt()).await;
        let modelled = self.model.call(|client| async move { client.stand(&bid, attempt()).await });
        match (real, modelled) {
            (Ok(Standing::Elected(real)), Ok(Standing::Elected(modelled))) => {
                assert_eq!(real.tenure, modelled.tenure, "{:#?}", self.log);
                let tokens = (real.token.expect("it has one"), modelled.token.expect("it has one"));
                self.sees((real.version, tokens.0), (modelled.version, tokens.1));
                "won"
            }
            (Ok(Standing::Held(real)), Ok(Standing::Held(modelled))) => self.agree(&real, &modelled),
            (real, modelled) => self.fail(real, modelled),
        }
    }

    async fn renew(&mut self, who: u64, version: Option<Pair>) -> &'static str {
        let (bid, Some(((real, _), (modelled, _)))) = (self.bid(who), version) else { return "nothing seen" };
        let real = self.real.renew(&bid, &real, attempt()).await;
        let modelled = self.model.call(|client| async move { client.renew(&bid, &modelled, attempt()).await });
        match (real, modelled) {
            (Ok(Renewal::Extended(real)), Ok(Renewal::Extended(modelled))) => {
                let tokens = (real.token.expect("it has one"), modelled.token.expect("it has one"));
                self.sees((real.version, tokens.0), (modelled.version, tokens.1));
                "renewed"
            }
            (Ok(Renewal::Mismatch(real)), Ok(Renewal::Mismatch(modelled))) => self.agree(&real, &modelled),
            (real, modelled) => self.fail(real, modelled),
        }
    }

    async fn withdraw(&mut self, who: u64) -> &'static str {
        let bid = self.bid(who);
        let real = self.real.withdraw(&bid).await;
        let modelled = self.model.call(|client| async move { client.withdraw(&bid).await });
        match (real, modelled) {
            (Ok(()), Ok(())) => {
                self.bids[who as usize] += 1;
                "withdrawn"
            }
            (real, modelled) => self.fail(real, modelled),
        }
    }

    async fn inspect(&mut self) -> &'static str {
        let real = self.real.inspect(&seat()).await.expect("that needs no right");
        let modelled = self.model.call(|client| async move { client.inspect(&seat()).await }).expect("nor that");
        self.agree(&real, &modelled)
    }

    /// A right is taken away or given back, or the record is deleted by hand.
    fn meddle(&mut self, rng: &mut Rng) -> &'static str {
        if let Some(right) = self.model.denied.take() {
            self.redis.ask(&["ACL", "SETUSER", "ada", &format!("+{right}")]).expect("it is given back");
            return "right given back";
        }
        if rng.below(3) == 0 {
            self.redis.ask(&["DEL", "tenure:office"]).expect("it is deleted");
            self.model.store.remove();
            return "deleted";
        }
        let right = RIGHTS[rng.below(RIGHTS.len() as u64) as usize];
        self.redis.ask(&["ACL", "SETUSER", "ada", &format!("-{right}")]).expect("it is taken away");
        self.model.denied = Some(right);
        right
    }

    fn agree(&mut self, real: &Sight, modelled: &Sight) -> &'static str {
        match (real, modelled) {
            (Sight::Held(real), Sight::Held(modelled)) => {
                assert_eq!(real.tenure, modelled.tenure, "{:#?}", self.log);
                let tokens = (real.token.expect("it has one"), modelled.token.expect("it has one"));
                self.sees((real.version.clone(), tokens.0), (modelled.version.clone(), tokens.1));
                "held"
            }
            (Sight::Vacant(_), Sight::Vacant(_)) => "vacant",
            other => panic!("they disagree: {other:?} after {:#?}", self.log),
        }
    }

    /// Both wrote since, or neither; both raised the token, or neither.
    fn sees(&mut self, real: (Version, u64), modelled: (Version, u64)) {
        if let Some((last_real, last_modelled)) = &self.seen {
            assert_eq!(real.0 == last_real.0, modelled.0 == last_modelled.0, "{:#?}", self.log);
            assert_eq!(real.1.cmp(&last_real.1), modelled.1.cmp(&last_modelled.1), "{:#?}", self.log);
            assert!(real.1 >= last_real.1, "{:#?}", self.log);
            if real.0 != last_real.0 {
                self.past = self.seen.take();
            }
        }
        self.seen = Some((real, modelled));
    }

    /// Both fail, and both know as much of what was done.
    fn fail<T: std::fmt::Debug>(&self, real: Result<T, Error>, modelled: Result<T, Error>) -> &'static str {
        match (real, modelled) {
            (Err(real), Err(modelled)) => {
                assert_eq!(real.is_indeterminate(), modelled.is_indeterminate(), "{real:?} after {:#?}", self.log);
                if real.is_indeterminate() { "failed, and may have landed" } else { "failed" }
            }
            other => panic!("they disagree: {other:?} after {:#?}", self.log),
        }
    }
}

fn the_model_of_the_simulation_answers_as_a_server_does() {
    let redis = Redis::with().user("ada", "s3cret", CANDIDATE).users_only().start().unwrap();
    let real = backend(&redis.url(), |builder| builder.username("ada").password(Secret::text("s3cret")));
    let wire = Wire::default();
    let client = client::redis(wire.clone(), real.traits());
    let model = Model { store: RedisStore::default(), client, wire, now: 1_000_000_000, denied: None };
    let mut both =
        Both { redis, real, model, bids: vec![1; CANDIDATES as usize], seen: None, past: None, log: Vec::new() };
    let mut rng = Rng::new(1);
    block_on(async {
        for _ in 0..2_000 {
            let (who, deed) = (rng.below(CANDIDATES), rng.below(12));
            let came = match deed {
                0..=3 => both.stand(who).await,
                4 | 5 => both.renew(who, both.seen.clone()).await,
                6 => both.renew(who, both.past.clone()).await,
                7 | 8 => both.withdraw(who).await,
                9 => both.inspect().await,
                10 => both.meddle(&mut rng),
                _ => {
                    both.redis.ask(&["SCRIPT", "FLUSH"]).expect("it forgets the scripts");
                    "forgotten"
                }
            };
            both.log.push(format!("{deed} of {who}: {came}"));
        }
    });
    for came in ["won", "renewed", "withdrawn", "held", "vacant", "deleted", "failed", "failed, and may have landed"] {
        let met = both.log.iter().filter(|line| line.ends_with(&format!(": {came}"))).count();
        assert!(met > 10, "{came:?} was met {met} times: {:#?}", both.log);
    }
}
