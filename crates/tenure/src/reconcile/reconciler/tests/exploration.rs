//! Every state that can be reached, with inputs in any order and at any second, and what holds in
//! all of them.

use std::collections::HashSet;

use super::*;

const INPUTS: [Input; 14] = [
    Input::Told(State::Leader),
    Input::Told(State::NotLeader),
    Input::Told(State::Error),
    Input::Succeeded(Hook::Begin),
    Input::Succeeded(Hook::End),
    Input::Succeeded(Hook::Error),
    Input::Failed(Hook::Begin),
    Input::Failed(Hook::End),
    Input::Failed(Hook::Error),
    Input::Relinquished,
    Input::ReleaseTimedOut,
    Input::Shutdown,
    Input::SourceClosed,
    Input::Wake,
];

/// The loop and the world around it: what it has ordered and not yet been answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    /// Its times are counted from now, so that there are only so many worlds.
    loop_: Reconciler,
    /// The handler that runs.
    running: Option<Hook>,
    relinquishing: bool,
    /// Whether this process holds the office or runs for it.
    candidate: bool,
    /// Whether the leader's work may be under way.
    working: bool,
}

impl World {
    fn new() -> Self {
        let policy = Policy::default().with_end_attempts(2).unwrap();
        Self { loop_: Reconciler::new(policy), running: None, relinquishing: false, candidate: true, working: false }
    }

    /// Whether this input can come now.
    fn can(&self, input: Input) -> bool {
        match input {
            Input::Succeeded(hook) | Input::Failed(hook) => self.running == Some(hook),
            Input::Relinquished | Input::ReleaseTimedOut => self.relinquishing,
            Input::Wake => self.loop_.wake_at() == Some(0),
            _ => true,
        }
    }

    fn step(&mut self, input: Input) -> Option<Action> {
        match input {
            Input::Succeeded(hook) => {
                self.running = None;
                self.working = (self.working || hook == Hook::Begin) && hook != Hook::End;
            }
            Input::Failed(_) => self.running = None,
            Input::Relinquished | Input::ReleaseTimedOut => self.relinquishing = false,
            _ => {}
        }
        let action = self.loop_.step(0, input);
        match action {
            Some(Action::Run(hook)) => {
                assert_eq!(self.running, None, "one handler at a time: {self:?}");
                assert_eq!(hook == Hook::End, self.working, "end is for what begun: {self:?}");
                assert!(hook != Hook::Begin || self.candidate, "begun in no office: {self:?}");
                self.running = Some(hook);
            }
            Some(Action::Relinquish) => {
                assert!(!self.working, "the office is given up while the work runs: {self:?}");
                assert!(self.candidate, "the office is given up twice: {self:?}");
                self.running = None;
                self.relinquishing = true;
                self.candidate = false;
            }
            Some(Action::Resume) => self.candidate = true,
            Some(Action::Exit(Ok(_))) => {
                assert!(!self.working && !self.candidate, "called a good end: {self:?}");
            }
            Some(Action::Exit(Err(_))) | None => {}
        }
        action
    }

    fn let_a_second_pass(&mut self) {
        let until = match &mut self.loop_.phase {
            Phase::PausedBeforeEnd { until, .. } | Phase::Reporting { until } | Phase::SittingOut { until } => {
                Some(until)
            }
            _ => None,
        };
        let stop_by = self.loop_.stop.as_mut().map(|stop| &mut stop.by);
        for time in until.into_iter().chain(stop_by) {
            *time = time.saturating_sub(SECOND);
        }
    }

    /// Stops the loop in a world where nothing goes wrong any more.
    fn stop(mut self) -> Option<Result<Outcome, Failure>> {
        let mut action = self.step(Input::Shutdown);
        for _ in 0..8 {
            if let Some(Action::Exit(how)) = action {
                return Some(how);
            }
            action = match self.running {
                Some(hook) => self.step(Input::Succeeded(hook)),
                None if self.relinquishing => self.step(Input::Relinquished),
                None => return None,
            };
        }
        None
    }
}

/// Every world that can be reached and goes on, and every way it can exit.
fn explore() -> (HashSet<World>, HashSet<Result<Outcome, Failure>>) {
    let mut seen = HashSet::from([World::new()]);
    let mut exits = HashSet::new();
    let mut edge = vec![World::new()];
    while let Some(world) = edge.pop() {
        assert!(seen.len() < 100_000, "it never comes to an end: {world:?}");
        let mut later = world.clone();
        later.let_a_second_pass();
        let mut nexts = vec![later];
        for input in INPUTS.into_iter().filter(|&input| world.can(input)) {
            let mut next = world.clone();
            match next.step(input) {
                Some(Action::Exit(how)) => _ = exits.insert(how),
                _ => nexts.push(next),
            }
        }
        edge.extend(nexts.into_iter().filter(|next| seen.insert(next.clone())));
    }
    (seen, exits)
}

// SEEDS 44–48, 52: what is asserted in `World::step` holds in every one of these states.
#[test]
fn the_office_outlives_the_work_in_every_reachable_state_and_every_exit_is_reached() {
    let (worlds, exits) = explore();
    assert!(worlds.len() > 1_000, "a model that does nothing shows nothing: {}", worlds.len());
    let every_exit = HashSet::from([
        Ok(Outcome::ShutDown),
        Ok(Outcome::SourceEnded),
        Err(Failure::EndKeptFailing),
        Err(Failure::EndFailed),
        Err(Failure::StopTimedOut),
        Err(Failure::ReleaseTimedOut),
    ]);
    assert_eq!(exits, every_exit);
}

// SEEDS 52, and the fault "a handler failure that deadlocks the loop"
#[test]
fn in_every_reachable_state_something_is_waited_for_and_a_shutdown_ends_well() {
    for world in explore().0 {
        let settled = world.loop_.phase == Phase::Settled;
        let waits = world.running.is_some() || world.relinquishing;
        assert!(settled || waits || world.loop_.wake_at().is_some(), "stuck: {world:?}");
        assert!(!settled || !world.loop_.is_stopping(), "settled, not stopping: {world:?}");
        if !world.loop_.is_stopping() {
            assert_eq!(world.clone().stop(), Some(Ok(Outcome::ShutDown)), "{world:?}");
        }
    }
}
