//! A store of one seat for tests with two machines: conditional on versions and tenure ids as the contract of a backend says.

use super::*;

struct Record {
    tenure: TenureId,
    holder: Arc<str>,
    version: u64,
    token: u64,
    lease: Duration,
    expires: Moment,
}

/// Who judges expiry.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Judge {
    Store,
    Contenders,
}

pub(super) struct Store {
    judge: Judge,
    record: Option<Record>,
    vacancy: Vacancy,
    writes: u64,
}

impl Store {
    pub(super) fn new(judge: Judge) -> Self {
        Store { judge, record: None, vacancy: Vacancy::Free, writes: 0 }
    }

    /// Does what was ordered, at the instant `now` of the store's clock.
    pub(super) fn serve(&mut self, plan: &Plan, call: &Ordered, now: Moment) -> Outcome {
        if self.judge == Judge::Store && self.record.as_ref().is_some_and(|record| now >= record.expires) {
            self.record = None;
            self.vacancy = Vacancy::Free;
        }
        match &call.op {
            Op::Stand { displace } => self.stand(plan, call.tenure, displace.as_ref(), now),
            Op::Renew { version } => self.renew(plan, call.tenure, version, now),
            Op::Withdraw => {
                if self.record.as_ref().is_some_and(|record| record.tenure == call.tenure) {
                    self.record = None;
                    self.vacancy = Vacancy::Released { by: call.tenure };
                }
                Outcome::Withdrew
            }
            Op::Inspect => Outcome::Inspected(self.sight(now)),
        }
    }

    /// Somebody deletes the record by hand.
    pub(super) fn wipe(&mut self) {
        self.record = None;
        self.vacancy = Vacancy::Removed;
    }

    pub(super) fn holder(&self) -> Option<TenureId> {
        self.record.as_ref().map(|record| record.tenure)
    }

    fn stand(&mut self, plan: &Plan, tenure: TenureId, displace: Option<&Version>, now: Moment) -> Outcome {
        let ours = self.holder() == Some(tenure);
        let displaced = self.record.as_ref().is_some_and(|record| displace == Some(&Version::number(record.version)));
        if self.record.is_some() && !ours && !displaced {
            return Outcome::Stood(Standing::Held(self.sight(now)));
        }
        self.writes += 1;
        let token = self.record.as_ref().filter(|_| ours).map_or(self.writes, |record| record.token);
        elected(self.write(plan, tenure, token, now))
    }

    fn renew(&mut self, plan: &Plan, tenure: TenureId, version: &Version, now: Moment) -> Outcome {
        match &self.record {
            Some(record) if Version::number(record.version) == *version => {
                let token = record.token;
                self.writes += 1;
                extended(self.write(plan, tenure, token, now))
            }
            _ => mismatch(self.sight(now)),
        }
    }

    fn write(&mut self, plan: &Plan, tenure: TenureId, token: u64, now: Moment) -> Grant {
        let lease = plan.timing().lease();
        self.record = Some(Record {
            tenure,
            holder: plan.name().as_str().into(),
            version: self.writes,
            token,
            lease,
            expires: now.after(lease),
        });
        Grant { token: Some(token), over: self.vacancy, cover: Cover::Own { ttl: lease }, ..grant(tenure, self.writes) }
    }

    fn sight(&self, now: Moment) -> Sight {
        let Some(record) = &self.record else {
            return Sight::Vacant(self.vacancy);
        };
        let expiry = match self.judge {
            Judge::Store => Expiry::Store { remaining: Some(record.expires.since(now)) },
            Judge::Contenders => Expiry::Observe { recorded: record.lease },
        };
        Sight::Held(Held {
            tenure: Some(record.tenure),
            holder: record.holder.clone(),
            token: Some(record.token),
            expiry,
            ..held(record.version)
        })
    }
}

/// Several machines against one store, on one clock, with answers at once.
pub(super) struct World {
    pub(super) store: Store,
    pub(super) rigs: Vec<Rig>,
    /// Whose calls do not reach the store.
    pub(super) cut_off: Vec<usize>,
}

impl World {
    pub(super) fn new(judge: Judge, setups: &[Setup]) -> Self {
        World { store: Store::new(judge), rigs: setups.iter().map(Setup::rig).collect(), cut_off: Vec::new() }
    }

    pub(super) fn start(&mut self, seconds: f64) {
        for rig in &mut self.rigs {
            rig.start(seconds);
        }
    }

    /// Runs until then, and checks at every instant that at most one leads.
    pub(super) fn run_until(&mut self, seconds: f64) {
        for _ in 0..100_000 {
            let answered = (0..self.rigs.len()).any(|index| self.answer(index));
            assert!(self.leaders().len() <= 1, "two lead");
            if answered {
                continue;
            }
            let next = self.rigs.iter().enumerate().filter_map(|(index, rig)| Some((rig.wake?.0, index))).min();
            match next {
                Some((wake, index)) if wake <= at(seconds) => {
                    let now = self.rigs.iter().map(|rig| rig.now).max().unwrap().max(wake);
                    self.rigs[index].step_at(now, Input::Wake);
                    for rig in &mut self.rigs {
                        rig.now = now;
                    }
                }
                _ => {
                    for rig in &mut self.rigs {
                        rig.now = rig.now.max(at(seconds));
                    }
                    return;
                }
            }
        }
        panic!("it never comes to rest");
    }

    pub(super) fn leaders(&self) -> Vec<usize> {
        let leads = |(index, rig): (usize, &Rig)| (rig.machine.state() == State::Leader).then_some(index);
        self.rigs.iter().enumerate().filter_map(leads).collect()
    }

    /// Serves the call in flight of one machine; work of a tenure that is over stops at once.
    fn answer(&mut self, index: usize) -> bool {
        if self.cut_off.contains(&index) {
            return false;
        }
        let rig = &mut self.rigs[index];
        if rig.machine.state() == State::SteppingDown && !rig.machine.is_calling() {
            rig.step_at(rig.now, Input::WorkStopped);
        }
        if !rig.machine.is_calling() {
            return false;
        }
        let call = rig.in_flight().clone();
        let plan = rig.machine.plan().clone();
        let outcome = self.store.serve(&plan, &call, rig.now);
        rig.step_at(rig.now, Input::Answer { attempt: call.attempt.id, outcome });
        true
    }
}
