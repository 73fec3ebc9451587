//! A step of the machine allocates nothing (DESIGN): a process with 100,000 elections steps all day.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use tenure::backend::{
    Cover, Expiry, Grant, Held, Hint, Renewal, SessionId, Sight, Standing, TenureId, Traits, Vacancies, Vacancy,
    Version,
};
use tenure::machine::{Action, Actions, Failure, Goal, Input, Machine, Op, Outcome, Plan};
use tenure::{CandidateName, Moment, Promise, Seat, Timing};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts what the present thread asks of it.
struct Counting;

// SAFETY: everything is handed on to the system's allocator as it came; the count is a thread's own and needs no allocation itself.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from the system's allocator, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A machine whose steps must not allocate.
struct Frugal {
    machine: Machine,
    now: Moment,
    steps: u64,
}

impl Frugal {
    fn new(vacancies: Vacancies) -> Self {
        let mut traits = Traits::new(Promise::Fenced);
        traits.vacancies = vacancies;
        let (seat, name) = (Seat::new("seat").unwrap(), CandidateName::new("me").unwrap());
        let plan = Plan::new(seat, name, 7, Arc::new(Timing::default()), traits);
        Frugal { machine: Machine::new(Arc::new(plan)), now: Moment::ZERO, steps: 0 }
    }

    fn step(&mut self, input: Input) -> Actions {
        let before = ALLOCATIONS.with(Cell::get);
        let said = format!("{input:?}");
        let made = ALLOCATIONS.with(Cell::get) - before;
        assert!(made > 0, "the allocator counts");
        let before = ALLOCATIONS.with(Cell::get);
        let actions = self.machine.step(self.now, input, self.steps);
        let made = ALLOCATIONS.with(Cell::get) - before;
        assert_eq!(made, 0, "{said} made the machine allocate");
        self.steps += 1;
        actions
    }

    fn after(&mut self, millis: u64, input: Input) -> Actions {
        self.now = self.now.after(Duration::from_millis(millis));
        self.step(input)
    }

    /// Answers the call that `actions` order.
    fn answer(&mut self, actions: &Actions, outcome: impl FnOnce(TenureId) -> Outcome) -> Actions {
        let call = actions.iter().find_map(|action| match action {
            Action::Call { attempt, tenure, .. } => Some((attempt.id, *tenure)),
            _ => None,
        });
        let (attempt, tenure) = call.unwrap_or_else(|| panic!("no call: {actions:?}"));
        let outcome = outcome(tenure);
        self.after(10, Input::Answer { attempt, outcome })
    }
}

fn granted(tenure: TenureId, version: u64, cover: Cover) -> Grant {
    let version = Version::number(version);
    let token = version.as_number();
    Grant { tenure, version, token, incarnation: None, cover, over: Vacancy::Free, asked_to_resign: false }
}

fn occupied(version: Version, expiry: Expiry) -> Sight {
    Sight::Held(Held {
        version,
        tenure: Some(TenureId::new(1, 1)),
        holder: "another".into(),
        token: Some(1),
        since: None,
        advertise: Arc::from(*b"http://another"),
        asked_to_resign: false,
        expiry,
    })
}

const OWN: Cover = Cover::Own { ttl: Timing::DEFAULT_LEASE };
const START: Input = Input::Start { goal: Goal::Forever, patience: None };
const UNKNOWN: Outcome = Outcome::Failed(Failure { transient: true, indeterminate: true });
const DOWN: Outcome = Outcome::Failed(Failure { transient: true, indeterminate: false });

#[test]
fn no_step_of_a_tenure_allocates() {
    let mut frugal = Frugal::new(Vacancies::Polled);
    let stand = frugal.step(START);
    frugal.answer(&stand, |tenure| Outcome::Stood(Standing::Elected(granted(tenure, 2, OWN))));
    for round in 0..50 {
        let renew = frugal.after(5000, Input::Wake);
        assert!(matches!(renew[0], Action::Call { op: Op::Renew { .. }, .. }), "{renew:?}");
        frugal.answer(&renew, |tenure| Outcome::Renewed(Renewal::Extended(granted(tenure, 3 + round, OWN))));
    }
    let renew = frugal.after(5000, Input::Wake);
    frugal.answer(&renew, |_| DOWN);
    let renew = frugal.after(1000, Input::Wake);
    frugal.answer(&renew, |_| UNKNOWN);
    let renew = frugal.after(1000, Input::Wake);
    let sight = occupied(Version::number(99), Expiry::Store { remaining: None });
    let inspect = frugal.answer(&renew, |_| Outcome::Renewed(Renewal::Mismatch(sight)));
    let sight = occupied(Version::number(99), Expiry::Store { remaining: None });
    frugal.answer(&inspect, |_| Outcome::Inspected(sight));
    frugal.step(Input::WorkStopped);
    let stand = frugal.after(5000, Input::Wake);
    frugal.answer(&stand, |tenure| Outcome::Stood(Standing::Elected(granted(tenure, 200, OWN))));
    frugal.step(Input::Resign);
    let withdraw = frugal.step(Input::WorkStopped);
    frugal.answer(&withdraw, |_| Outcome::Withdrew);
    frugal.step(Input::Stop);
}

#[test]
fn no_step_of_a_candidate_that_waits_allocates() {
    let mut frugal = Frugal::new(Vacancies::Pushed);
    let stand = frugal.step(START);
    let observed = Expiry::Observe { recorded: Timing::DEFAULT_LEASE };
    // A version that is text is shared, not copied.
    let sight = occupied(Version::text("resource-version"), observed);
    frugal.answer(&stand, |_| Outcome::Stood(Standing::Held(sight)));
    let stand = frugal.step(Input::Hint(Hint::Armed));
    let sight = occupied(Version::text("resource-version"), observed);
    frugal.answer(&stand, |_| Outcome::Stood(Standing::Held(sight)));
    for _ in 0..20 {
        let sight = occupied(Version::text("resource-version"), observed);
        frugal.after(100, Input::Hint(Hint::Seen(sight)));
    }
    let stand = frugal.after(16_000, Input::Wake);
    frugal.answer(&stand, |_| UNKNOWN);
    frugal.after(100, Input::Hint(Hint::Lagged));
    frugal.step(Input::Health(false));
    frugal.step(Input::Stop);
    frugal.after(20_000, Input::Wake);
}

#[test]
fn no_step_under_a_session_allocates() {
    let mut frugal = Frugal::new(Vacancies::Pushed);
    let stand = frugal.step(START);
    let cover = Cover::Shared { session: SessionId(1), from: Moment::ZERO, ttl: Timing::DEFAULT_LEASE };
    frugal.answer(&stand, |tenure| Outcome::Stood(Standing::Elected(granted(tenure, 2, cover))));
    let inspect = frugal.step(Input::Hint(Hint::Armed));
    frugal.answer(&inspect, |_| DOWN);
    for _ in 0..50 {
        let from = frugal.now;
        frugal.after(5000, Input::CoverMoved { from, ttl: Timing::DEFAULT_LEASE });
    }
    frugal.step(Input::CoverLost);
    frugal.step(Input::WorkStopped);
}
