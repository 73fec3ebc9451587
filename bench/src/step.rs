//! What one step of a machine costs, and one renewal in the driver's core.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use tenure::backend::{Attempt, Cover, Grant, Promise, Renewal, Standing, TenureId, Traits, Vacancy, Version};
use tenure::driver::{Command, Core, Happening};
use tenure::machine::{Action, Goal, Input, Machine, Outcome, Plan};
use tenure::{CandidateName, Moment, Seat, Timing};

use crate::distribution::Distribution;
use crate::{Failure, process};

const SAMPLES: usize = 500;
const ROUNDS: u64 = 2_000;
const LEASE: Duration = Duration::from_secs(15);
const INTERVAL: Duration = Duration::from_secs(5);

/// A renewal is two steps: the wake that orders it, and its answer.
const STEPS_PER_RENEWAL: f64 = 2.0;

pub(crate) fn run() -> Result<(), Failure> {
    println!("One machine that renews: a wake, then an answer\n");
    let mut renewing = Renewing::new()?;
    let steps = Distribution::new(
        (0..SAMPLES)
            .map(|_| {
                let start = process::thread_cpu();
                (0..ROUNDS).for_each(|_| renewing.renew());
                (process::thread_cpu() - start).as_nanos() as f64 / (ROUNDS as f64 * STEPS_PER_RENEWAL)
            })
            .collect(),
        "ns",
    );
    println!("  a step       {steps}");
    println!("  steps a second on one core, at the median: {:.1} million\n", 1e3 / steps.median());
    for seats in [100, 10_000, 100_000] {
        let mut crowd = Crowd::new(seats)?;
        let rounds = (200_000 / seats).clamp(20, SAMPLES);
        let samples = (0..rounds).map(|_| {
            let start = process::thread_cpu();
            let renewed = crowd.renew_all();
            (process::thread_cpu() - start).as_nanos() as f64 / renewed as f64
        });
        let renewals = Distribution::new(samples.collect(), "ns");
        println!("A renewal in the driver's core, with {seats} elections and no store\n\n  a renewal    {renewals}\n");
    }
    println!("size_of: Machine {}, Plan {}", size_of::<Machine>(), size_of::<Plan>());
    Ok(())
}

fn plan(number: usize) -> Result<Arc<Plan>, Failure> {
    let (seat, name) = (Seat::new(&format!("seat/{number}"))?, CandidateName::new("pod-1")?);
    let (timing, traits) = (Arc::new(Timing::default()), Traits::new(Promise::Fenced));
    Ok(Arc::new(Plan::new(seat, name, number as u64, timing, traits)))
}

fn grant(tenure: TenureId, version: u64) -> Grant {
    Grant {
        tenure,
        version: Version::number(version),
        token: Some(1),
        incarnation: None,
        cover: Cover::Own { ttl: LEASE },
        over: Vacancy::Free,
        asked_to_resign: false,
    }
}

/// A machine that leads.
struct Renewing {
    machine: Machine,
    tenure: TenureId,
    now: Moment,
    version: u64,
}

impl Renewing {
    fn new() -> Result<Self, Failure> {
        let mut machine = Machine::new(plan(1)?);
        let now = Moment::ZERO.after(LEASE);
        let started = machine.step(now, Input::Start { goal: Goal::Forever, patience: None }, 0);
        let tenure = machine.tenure().ok_or("it does not bid")?;
        let attempt = called(&started).ok_or("it does not stand")?;
        let outcome = Outcome::Stood(Standing::Elected(grant(tenure, 1)));
        machine.step(now, Input::Answer { attempt: attempt.id, outcome }, 0);
        Ok(Renewing { machine, tenure, now, version: 1 })
    }

    fn renew(&mut self) {
        self.now = self.now.after(INTERVAL);
        let ordered = black_box(self.machine.step(self.now, Input::Wake, self.version));
        let attempt = called(&ordered).expect("a renewal is due");
        self.version += 1;
        let outcome = Outcome::Renewed(Renewal::Extended(grant(self.tenure, self.version)));
        black_box(self.machine.step(self.now, Input::Answer { attempt: attempt.id, outcome }, self.version));
    }
}

fn called(actions: &[Action]) -> Option<Attempt> {
    actions.iter().find_map(|action| if let Action::Call { attempt, .. } = action { Some(*attempt) } else { None })
}

/// Many machines that lead, in one core.
struct Crowd {
    core: Core<()>,
    now: Moment,
    version: u64,
    random: u64,
}

impl Crowd {
    fn new(seats: usize) -> Result<Self, Failure> {
        let mut crowd = Crowd { core: Core::new(), now: Moment::ZERO.after(LEASE), version: 1, random: 0 };
        for number in 0..seats {
            let key = crowd.core.insert(plan(number)?, 1, ())?;
            crowd.poll(Happening::Tell(key, Input::Start { goal: Goal::Forever, patience: None }));
        }
        crowd.answer();
        Ok(crowd)
    }

    /// Lets one renew interval pass in steps of ten milliseconds; gives how many renewals there were.
    fn renew_all(&mut self) -> usize {
        let end = self.now.after(INTERVAL);
        let mut renewed = 0;
        while self.now < end {
            self.now = self.now.after(Duration::from_millis(10));
            if self.core.next_wake() <= self.now {
                self.poll(Happening::Time);
                renewed += self.answer();
            }
        }
        renewed
    }

    fn answer(&mut self) -> usize {
        let mut answered = 0;
        loop {
            let commands = self.core.commands();
            if commands.is_empty() {
                return answered;
            }
            for command in commands {
                self.version += 1;
                match command {
                    Command::RenewMany(_, called, _) => {
                        for called in called {
                            answered += 1;
                            let granted = grant(called.bid.tenure(), self.version);
                            self.poll(Happening::Answered(called, Outcome::Renewed(Renewal::Extended(granted))));
                        }
                    }
                    Command::Call(called, _) => {
                        let granted = grant(called.bid.tenure(), self.version);
                        self.poll(Happening::Answered(called, Outcome::Stood(Standing::Elected(granted))));
                    }
                    told => drop(black_box(told)),
                }
            }
        }
    }

    fn poll(&mut self, happening: Happening) {
        // Words that are spread evenly, at no cost.
        let random = &mut self.random;
        let mut next = || {
            *random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            *random
        };
        self.core.poll(self.now, happening, &mut next);
    }
}
