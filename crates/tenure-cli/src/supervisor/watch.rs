//! One command under one guardian, from its start to the last of its tree.

use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::json;
use tenure::mutant::{Mutant, planted};
use tenure::{BootClock, Clock, Ending, Event, Events, Leadership, Moment, Observation};

use super::config::Config;
use super::signals::{self, Signals};
use super::terminal::{self, Terminal};
use super::ward::{News, Ward};
use crate::duration;
use crate::exit::{Exit, Origin};
use crate::process::message::{Message, Reach, Term};
use crate::report::{Report, Tone};

/// How long a guardian that lives needs at most to say that it has heard; one that is silent for longer is frozen.
const ANSWERS_WITHIN: Duration = Duration::from_millis(250);
/// How long the guardian has to say how a command ended, before it counts as frozen.
const REPORTS_WITHIN: Duration = Duration::from_secs(2);
/// How long starting a command takes at most, on a machine that does much else.
const STARTS_WITHIN: Duration = Duration::from_secs(5);
/// How often to look after a command whose guardian may be frozen, and who else is there.
pub(crate) const LOOKS_EVERY: Duration = Duration::from_secs(1);
/// How long the guardian has to be first at killing.
const KILLS_WITHIN: Duration = Duration::from_millis(20);

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) cause: Cause,
    /// Whether nothing of the tree is left; if something is, the office must not be given up.
    pub(crate) is_empty: bool,
    /// The signal by which somebody wants this process to end, and not only the command.
    pub(crate) wanted: Option<Signal>,
    pub(crate) ran_for: Duration,
}

/// Why it ended.
#[derive(Debug)]
pub(crate) enum Cause {
    /// By itself, or by a signal that was not ours; with this wait status.
    Command(i32),
    /// It could not be started.
    NotStarted(Exit),
    /// Leadership ended, and it was stopped.
    Leadership(Ending),
    /// Its guardian was killed, and so it was.
    Guardian,
    /// Nobody knows how: whoever should have told was frozen.
    Unknown,
    /// Its guardian did not start it in time; it can be tried again.
    Delayed,
}

/// A command that runs, and whoever may have something to say about it.
pub(crate) struct Watch<'a> {
    pub(crate) config: &'a Config,
    pub(crate) report: &'a Report,
    pub(crate) leadership: &'a Leadership,
    pub(crate) signals: &'a mut Signals,
    pub(crate) terminal: Option<&'a Terminal>,
    /// Whether the terminal talks to the command.
    pub(crate) foreground: bool,
    pub(crate) ward: &'a mut Ward,
    pub(crate) events: Events,
    /// Who holds the office as the store has it, where it pushes: a request to resign is heard before the next renewal finds it.
    pub(crate) requests: Option<Observation>,
    pub(crate) term: Term,
    /// What went wrong last since the last renewal; the same is told once.
    pub(crate) failure: String,
}

/// What is known of the command so far.
#[derive(Debug, Default)]
struct State {
    started: Option<Pid>,
    exited: Option<i32>,
    failed: Option<Cause>,
    ending: Option<Ending>,
    stop: Option<Stop>,
    wanted: Option<Signal>,
    /// Whether SIGHUP came.
    hung_up: bool,
    /// When to look after a command that may have died under a frozen guardian.
    look_at: Moment,
    /// Whether it was found dead, and the guardian has yet to say how that came.
    died_unheard: bool,
    /// What came before the command was there to hear it.
    early: Vec<(Signal, Reach)>,
}

/// The tree was told to end.
#[derive(Clone, Copy, Debug)]
struct Stop {
    kill_by: Moment,
    /// When to act for a guardian that does not answer; never, once it has.
    ask_at: Moment,
}

impl Watch<'_> {
    /// Returns when nothing of the tree is left, or nothing that can be reached.
    pub(crate) async fn until_empty(mut self) -> std::io::Result<Ended> {
        let begin = BootClock.now();
        let mut state = State::default();
        let is_empty = loop {
            let wake_at = self.wake_at(&state);
            tokio::select! {
                news = self.ward.next() => match news? {
                    News::Said(Message::Empty) => break true,
                    News::Said(Message::Escaped) => break false,
                    News::Said(message) => {
                        self.heard(&mut state, message)?;
                        if planted(Mutant::ReleasedBeforeEmpty) && state.exited.is_some() {
                            break true;
                        }
                    }
                    News::Gone => {
                        let status = self.guardian_gone().await;
                        state.exited = state.exited.or(status);
                        // Killed before there was anything to guard, it can be replaced.
                        let cause = if state.started.is_none() { Cause::Delayed } else { Cause::Guardian };
                        return Ok(self.over(state, begin, Some(cause), true));
                    }
                },
                event = self.events.next() => self.happened(event),
                () = asked_to_resign(&mut self.requests, self.leadership), if state.ending.is_none() => {
                    self.lost(&mut state, Ending::AskedToResign);
                }
                ending = self.leadership.ended(), if state.ending.is_none() => self.lost(&mut state, ending),
                (signal, reach) = self.signals.next() => self.signalled(&mut state, signal, reach),
                () = BootClock.wait_until(wake_at) => {
                    if self.late(&mut state, begin, BootClock.now()) {
                        let status = self.ward.seize().await;
                        state.exited = state.exited.or(status);
                        break true;
                    }
                }
            }
        };
        Ok(self.over(state, begin, None, is_empty))
    }

    fn heard(&mut self, state: &mut State, message: Message) -> std::io::Result<()> {
        match message {
            Message::Started { pid, .. } => {
                state.started = Pid::from_raw(pid);
                self.report.tell("command-started", json!({ "pid": pid }), Tone::Plain, "");
                for (signal, reach) in std::mem::take(&mut state.early) {
                    self.ward.forward(signal, reach);
                }
            }
            Message::Failed { errno, because } => {
                state.failed = Some(Cause::NotStarted(self.not_started(errno, &because)));
            }
            Message::TooLate => state.failed = Some(Cause::Delayed),
            Message::Stopping => {
                if let Some(stop) = &mut state.stop {
                    stop.ask_at = Moment::NEVER;
                }
            }
            // This process was frozen, and the guardian noticed first.
            Message::Overdue if state.ending.is_none() => self.lost(state, Ending::Expired),
            Message::Suspended { signal } => return self.suspended(state, signal),
            Message::Key { signal } => state.wanted = Signal::from_named_raw(signal),
            Message::Exited { status } => {
                state.exited = Some(status);
                let fields = match status & 0x7f {
                    0 => json!({ "code": status >> 8 }),
                    signal => json!({ "signal": signal }),
                };
                self.report.tell("command-ended", fields, Tone::Plain, "");
                // What it left behind has the grace, and the guardian sees to it.
                let kill_by = BootClock.now().after(self.config.durations.grace).min(self.last_call());
                let stop = Stop { kill_by, ask_at: Moment::NEVER };
                if std::mem::take(&mut state.died_unheard) && state.ending.is_none() {
                    // The guardian was late to say so, and now has time for the rest.
                    state.stop = Some(stop);
                }
                state.stop.get_or_insert(stop);
            }
            _ => {}
        }
        Ok(())
    }

    fn happened(&mut self, event: Option<Event>) {
        match event {
            Some(Event::Extended { deadline, expiry }) => {
                self.failure.clear();
                self.term = Term { deadline, expiry };
                self.ward.extend(self.term);
                let left = deadline.until_from(BootClock.now());
                let fields = json!({ "deadline_in": left.as_secs_f64() });
                self.report.tell("renewed", fields, Tone::Plain, "");
            }
            Some(Event::Failed { message }) if *message != *self.failure => {
                self.failure = message.to_string();
                let left = self.term.deadline.until_from(BootClock.now());
                let sentence = format!("{message}; trying again for {}", duration::shown(left));
                self.report.tell("trying", json!({ "message": &*message }), Tone::Warning, &sentence);
            }
            Some(Event::Alarmed(alarm)) => self.report.alarm(&alarm),
            _ => {}
        }
    }

    /// Leadership is over: the tree has the grace, and never longer than until κ before expiry.
    fn lost(&mut self, state: &mut State, ending: Ending) {
        let now = BootClock.now();
        let grace = self.config.durations.grace;
        let kill_by = now.after(grace).min(self.last_call());
        self.ward.stop(kill_by.until_from(now));
        state.ending = Some(ending);
        state.stop = Some(Stop { kill_by, ask_at: now.after(ANSWERS_WITHIN).min(kill_by) });
        let tone = if ending.is_voluntary() { Tone::Plain } else { Tone::Warning };
        let sentence = format!("{ending}; the command is stopped");
        self.report.tell("stopping", json!({ "ending": ending.to_string() }), tone, &sentence);
    }

    fn signalled(&mut self, state: &mut State, signal: Signal, reach: Reach) {
        if matches!(signal, Signal::TERM | Signal::INT | Signal::QUIT) {
            state.wanted = Some(signal);
        }
        state.hung_up |= signal == Signal::HUP;
        if signal == Signal::CONT
            && let (Some(terminal), Some(command)) = (self.terminal, state.started)
            && terminal.is_ours()
        {
            terminal.hand_to(command);
        }
        match state.started {
            Some(_) => self.ward.forward(signal, reach),
            None => state.early.push((signal, reach)),
        }
    }

    /// The command was stopped by a key. The shell that started us waits for us to be stopped too; our deadline goes on meanwhile.
    fn suspended(&self, state: &State, signal: i32) -> std::io::Result<()> {
        let by_job_control = [Signal::TSTP, Signal::TTIN, Signal::TTOU].iter().any(|known| known.as_raw() == signal);
        if let (Some(terminal), Some(command), true) = (self.terminal, state.started, by_job_control) {
            terminal.take_back_from(command);
            terminal::stop_with_command()?;
        }
        Ok(())
    }

    /// Does what the guardian should have done by now; `true` when it has to be replaced.
    fn late(&mut self, state: &mut State, begin: Moment, now: Moment) -> bool {
        if planted(Mutant::FrozenGuardianTrusted) {
            state.stop = None;
            return false;
        }
        let Some(stop) = &mut state.stop else {
            state.look_at = now.after(LOOKS_EVERY);
            if self.ward.has_strangers() {
                self.ward.note_strangers();
            }
            if state.started.is_none() && state.failed.is_none() && now.since(begin) > STARTS_WITHIN {
                state.failed = Some(Cause::Delayed);
                return true;
            }
            if self.ward.is_command_dead() {
                // Nobody has said so yet. Whoever should have knows the exit status, so it is worth waiting for.
                state.stop = Some(Stop { kill_by: now.after(REPORTS_WITHIN), ask_at: Moment::NEVER });
                state.died_unheard = true;
            }
            return false;
        };
        if state.died_unheard && now >= stop.kill_by {
            // Killed one by one, they would say that the command was.
            return true;
        }
        if now >= stop.kill_by.after(KILLS_WITHIN) {
            self.ward.kill_directly();
            return now >= stop.kill_by.after(ANSWERS_WITHIN);
        }
        if now >= stop.ask_at {
            stop.ask_at = Moment::NEVER;
            self.ward.ask_directly(self.config.signal);
        }
        false
    }

    fn wake_at(&self, state: &State) -> Moment {
        match state.stop {
            Some(stop) => {
                let kill_at = stop.kill_by.after(KILLS_WITHIN);
                let now = BootClock.now();
                stop.ask_at.min(if now < kill_at { kill_at } else { now.after(KILLS_WITHIN) })
            }
            None => state.look_at,
        }
    }

    fn last_call(&self) -> Moment {
        self.term.expiry.before(self.config.durations.kill_margin)
    }

    async fn guardian_gone(&mut self) -> Option<i32> {
        if planted(Mutant::GuardianDeathIgnored) {
            return None;
        }
        self.ward.seize().await
    }

    fn not_started(&self, errno: i32, because: &str) -> Exit {
        let command = self.config.command[0].to_string_lossy();
        let origin =
            if errno == rustix::io::Errno::NOENT.raw_os_error() { Origin::NotFound } else { Origin::CannotExecute };
        Exit::new(origin, format!("{command} cannot be run: {because}"))
    }

    fn over(self, state: State, begin: Moment, otherwise: Option<Cause>, is_empty: bool) -> Ended {
        if let (Some(terminal), Some(command)) = (self.terminal, state.started) {
            terminal.take_back_from(command);
        }
        let by_key = |status: i32| {
            let keys = [Signal::INT, Signal::QUIT].into_iter().find(|key| key.as_raw() == status & 0x7f);
            keys.filter(|_| self.terminal.is_some())
        };
        // Whoever closed the terminal sent its HUP to us or, where the command was in front, past us to that.
        let was_told = self.foreground || state.hung_up;
        let hung_up = self.terminal.filter(|terminal| was_told && terminal.is_gone()).map(|_| Signal::HUP);
        let wanted = state.wanted.or_else(|| state.exited.and_then(by_key)).or(hung_up);
        // Once stopping was ordered because leadership ended, that is the reason, however the command took it.
        let cause = match (state.failed, state.ending, state.exited, otherwise) {
            (_, Some(ending), ..) => Cause::Leadership(ending),
            (Some(cause), ..) => cause,
            (.., Some(status), None) => Cause::Command(status),
            (.., Some(cause)) => cause,
            (.., None, None) => Cause::Unknown,
        };
        if !is_empty {
            let left = "something of the command has left its process group, and still runs";
            self.report.tell("escaped", json!({}), Tone::Warning, left);
        }
        if let Cause::Command(status) = cause
            && status & 0x7f != 0
        {
            let sentence = format!("the command was ended by {}", signals::name(status & 0x7f));
            self.report.tell("killed", json!({ "signal": status & 0x7f }), Tone::Plain, &sentence);
        }
        Ended { cause, is_empty, wanted, ran_for: BootClock.now().since(begin) }
    }
}

/// Resolves when somebody has asked the holder of this tenure to resign.
async fn asked_to_resign(requests: &mut Option<Observation>, leadership: &Leadership) {
    while let Some(observation) = requests {
        match observation.next().await {
            Some(Some(holder)) if holder.is_asked_to_resign() && holder.tenure() == Some(leadership.id()) => return,
            Some(_) => {}
            None => *requests = None,
        }
    }
    std::future::pending().await
}
