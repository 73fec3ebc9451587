//! The supervisor: it runs for the office, has the command started by a guardian, and ends it in time.

pub(crate) mod config;
mod office;
pub(crate) mod signals;
pub(crate) mod terminal;
mod ward;
mod watch;

use std::io;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use tenure::mutant::{Mutant, planted};
use tenure::{BootClock, Candidate, Clock, Election, Ending, Moment};

use self::config::{AfterLoss, Config, OnExit, Patience};
use self::office::Office;
use self::signals::Signals;
use self::terminal::Terminal;
use self::ward::{Unhired, Ward};
use self::watch::{Cause, Ended, LOOKS_EVERY, Watch};
use crate::backends::{self, Opened};
use crate::duration;
use crate::exit::{Exit, Origin};
use crate::process::containment::{Level, Wanted};
use crate::process::message::{self, Term};
use crate::report::{Report, Tone};
use crate::timing::Durations;

/// A command that ends sooner than this after its start is started again only after a pause.
const SETTLED: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A supervisor between two children.
struct Supervisor<'a> {
    config: &'a Config,
    report: &'a Report,
    terminal: Option<Terminal>,
    signals: Signals,
    opened: Opened,
    candidates: Vec<Candidate>,
    /// How firmly the first guardian holds the command; every other has to, too.
    level: Level,
    /// The guardian of the next command.
    ward: Option<Ward>,
    /// The guardian of the last one. Its tree is gone; it stays for the office, in case this process is killed before that is given up.
    keeper: Option<Ward>,
}

/// What comes after a command.
enum Next {
    Again,
    Leave(Exit),
}

/// How a pause ended.
enum Pause {
    Over,
    Lost,
    Wanted(Signal),
}

/// Does everything that `run` was asked for.
pub(crate) async fn run(config: &Config, terminal: Option<Terminal>, report: &Report) -> Exit {
    match Supervisor::prepare(config, terminal, report).await {
        Ok(mut supervisor) => match supervisor.serve().await {
            Ok(exit) | Err(exit) => exit,
        },
        Err(exit) => exit,
    }
}

impl<'a> Supervisor<'a> {
    async fn prepare(config: &'a Config, terminal: Option<Terminal>, report: &'a Report) -> Result<Self, Exit> {
        // It prepares itself while we do.
        let ward = Ward::hire(&config.brief(terminal.is_some()), &config.command, &config.place);
        let ward = ward.map_err(|error| unhired(config, error.into()))?;
        let signals = Signals::listen().map_err(|error| internal("signals cannot be heard", &error))?;
        let opened = backends::open(&config.place)?;
        let ward = ward.prepared().await.map_err(|error| unhired(config, error))?;
        admit(config, &ward)?;
        opened.examined(config.required_promise).await?;
        let opened = match ward.level {
            Level::PidNamespace => opened.firmly_supervised(config.durations.kill_margin),
            _ => opened,
        };
        let candidates = candidates(config, &opened)?;
        let place = opened.backend.place();
        let promise = opened.backend.traits().promise.to_string();
        let sentence =
            format!("{} runs for {} on {place} ({promise}; containment {})", config.id, config.election, ward.level);
        let fields = json!({
            "election": config.election, "id": config.id, "backend": place, "promise": promise,
            "containment": ward.level.as_str(), "containment_reasons": ward.because,
            "ttl": config.durations.ttl.as_secs_f64(), "settle": candidates[0].timing().settle().as_secs_f64(),
            "pid": std::process::id(),
        });
        report.tell("standing", fields, Tone::Plain, &sentence);
        let (level, ward, keeper) = (ward.level, Some(ward), None);
        Ok(Supervisor { config, report, terminal, signals, opened, candidates, level, ward, keeper })
    }

    async fn serve(&mut self) -> Result<Exit, Exit> {
        loop {
            let office = self.elected().await?;
            self.announce(&office);
            match self.lead(office).await? {
                Next::Leave(exit) => return Ok(exit),
                Next::Again => {}
            }
        }
    }

    /// Runs for the office; a signal that would end a command ends the waiting.
    async fn elected(&mut self) -> Result<Office, Exit> {
        let mut won = Box::pin(Office::win(&self.candidates, self.config.patience, self.report));
        loop {
            tokio::select! {
                won = &mut won => return won,
                (signal, _) = self.signals.next() => match signal {
                    Signal::TERM | Signal::INT | Signal::QUIT | Signal::HUP => {
                        drop(won);
                        let withdrawn = withdrawn(&self.candidates);
                        let _ = tokio::time::timeout(self.config.durations.call_timeout, withdrawn).await;
                        return Err(Exit::of_signal(signal.as_raw()));
                    }
                    Signal::TSTP => terminal::stop_with_command().map_err(|error| internal("it cannot stop", &error))?,
                    // There is no command yet for it to reach.
                    _ => {}
                },
                () = tokio::time::sleep(LOOKS_EVERY), if self.ward.as_ref().is_some_and(Ward::has_strangers) => {
                    self.ward.iter_mut().for_each(Ward::note_strangers);
                }
                () = vanished(&mut self.ward) => {
                    // Killed while there was nothing to guard.
                    if let Some(mut gone) = self.ward.take() {
                        gone.seize().await;
                    }
                    self.ward = Some(hire(self.config, self.terminal.is_some(), self.level).await?);
                }
            }
        }
    }

    fn announce(&self, office: &Office) {
        let token = office.leadership.token().map(|token| token.get());
        let left = office.leadership.deadline().unwrap_or_default().until_from(BootClock.now());
        let fields = json!({
            "election": office.seat.as_str(), "token": token, "tenure": office.leadership.id().to_string(),
            "deadline_in": left.as_secs_f64(),
        });
        let sentence = match token {
            Some(token) => format!("leading {} with token {token}", office.seat),
            None => format!("leading {}", office.seat),
        };
        self.report.tell("elected", fields, Tone::Plain, &sentence);
    }

    /// Has the command run while the office is held, as often as it takes, and gives the office up when nothing of it is left.
    async fn lead(&mut self, office: Office) -> Result<Next, Exit> {
        let mut pause = FIRST_PAUSE;
        loop {
            let Some(guard) = office.leadership.guard() else {
                let ending = office.leadership.ended().await;
                return self.after_loss(office, ending, false).await;
            };
            let ended = match self.run_once(&office).await {
                Ok(ended) => ended,
                Err(exit) => {
                    // Nobody knows what runs. Its guardian ends it when this process is gone, and gives the office up.
                    std::mem::forget((guard, office));
                    return Err(exit);
                }
            };
            if !ended.is_empty {
                // Nobody knows what still runs, so the office is not given up: it falls vacant when the lease is over.
                std::mem::forget((guard, office));
                return Ok(Next::Leave(self.exit_of(&ended)));
            }
            let restart = self.config.on_exit == OnExit::Restart && ended.wanted.is_none();
            if restart && matches!(ended.cause, Cause::Command(_) | Cause::Guardian | Cause::Unknown) {
                drop(guard);
                pause = if ended.ran_for >= SETTLED { FIRST_PAUSE } else { pause };
                match self.paused(&office, pause).await {
                    Pause::Over => pause = (pause * 2).min(LONGEST_PAUSE),
                    Pause::Lost => {}
                    Pause::Wanted(signal) => {
                        self.give_up(office).await;
                        return Err(Exit::of_signal(signal.as_raw()));
                    }
                }
                continue;
            }
            if let (Cause::Delayed, None) = (&ended.cause, ended.wanted) {
                // With a fresh guardian, and the deadline as it is now; or not at all, where that has passed.
                continue;
            }
            // SAFETY 12: nothing of the tree is left; now the office can be given up.
            drop(guard);
            return match ended.cause {
                Cause::Leadership(ending) => self.after_loss(office, ending, ended.wanted.is_some()).await,
                _ => self.after_exit(office, &ended).await,
            };
        }
    }

    async fn run_once(&mut self, office: &Office) -> Result<Ended, Exit> {
        let mut ward = match self.ward.take() {
            Some(ward) => ward,
            None => hire(self.config, self.terminal.is_some(), self.level).await?,
        };
        let leadership = &office.leadership;
        // Subscribed first and read then: no extension falls between.
        let events = leadership.events();
        let over = Moment::ZERO;
        let term =
            Term { deadline: leadership.deadline().unwrap_or(over), expiry: leadership.expiry().unwrap_or(over) };
        let lock = self.opened.liveness(&office.seat, leadership.id());
        let lock = lock.map_err(|error| internal("the liveness lock cannot be shared", &error))?;
        let foreground = self.terminal.as_ref().is_some_and(Terminal::is_ours);
        let ear = foreground && self.config.on_exit != OnExit::Resign;
        // Before the next command, not after (SAFETY 12): left alone, the last guardian would give up an office that this one runs for.
        self.dismiss_keeper();
        let started = ward.start(term, self.office(office), (foreground, ear), lock);
        started.map_err(|error| internal("the guardian cannot be told to start", &error))?;
        let watch = Watch {
            config: self.config,
            report: self.report,
            leadership,
            signals: &mut self.signals,
            terminal: self.terminal.as_ref(),
            foreground,
            ward: &mut ward,
            events,
            requests: self.opened.requests(&office.seat),
            term,
            failure: String::new(),
        };
        let ended = watch.until_empty().await.map_err(|error| internal("the guardian cannot be heard", &error))?;
        self.keeper = Some(ward);
        if planted(Mutant::KeeperDismissed) {
            self.dismiss_keeper();
        }
        Ok(ended)
    }

    fn dismiss_keeper(&mut self) {
        if let Some(keeper) = self.keeper.take() {
            keeper.dismiss();
        }
    }

    fn office(&self, office: &Office) -> message::Office {
        message::Office {
            election: office.seat.to_string(),
            id: self.config.id.clone(),
            token: office.leadership.token().map(|token| token.to_string()).unwrap_or_default(),
            tenure: office.leadership.id().to_string(),
            keep_until: self.keep_until(office),
            lease: self.config.durations.ttl,
        }
    }

    /// The end of the minimum hold; long ago, where there is none.
    fn keep_until(&self, office: &Office) -> Moment {
        match self.config.at_least {
            Duration::ZERO => Moment::ZERO,
            span => office.since.after(span),
        }
    }

    /// Waits before the command is started again.
    async fn paused(&mut self, office: &Office, pause: Duration) -> Pause {
        let sentence = format!("the command ended; starting it again in {}", crate::duration::shown(pause));
        self.report.tell("restarting", json!({ "in": pause.as_secs_f64() }), Tone::Plain, &sentence);
        tokio::select! {
            () = tokio::time::sleep(pause) => Pause::Over,
            _ = office.leadership.ended() => Pause::Lost,
            signal = wanted(&mut self.signals) => Pause::Wanted(signal),
        }
    }

    async fn after_exit(&mut self, office: Office, ended: &Ended) -> Result<Next, Exit> {
        let exit = self.exit_of(ended);
        let is_wanted = self.give_up(office).await.is_some() || ended.wanted.is_some();
        let again = self.config.on_exit == OnExit::Campaign && !is_wanted;
        if again && matches!(ended.cause, Cause::Command(_) | Cause::Guardian | Cause::Unknown) {
            return self.sat_out().await;
        }
        Ok(Next::Leave(exit))
    }

    /// Gives the office up when its minimum is over. A signal ends the waiting, and is returned: then the guardian stays, and gives it up.
    async fn give_up(&mut self, office: Office) -> Option<Signal> {
        let seat = office.seat.clone();
        let left = self.keep_until(&office).until_from(BootClock.now());
        if !left.is_zero() {
            let sentence = format!("{seat} is held for another {} (--at-least)", crate::duration::shown(left));
            let fields = json!({ "election": seat.as_str(), "for": left.as_secs_f64() });
            self.report.tell("holding", fields, Tone::Plain, &sentence);
        }
        let given_up = tokio::select! {
            given_up = office.give_up() => given_up,
            signal = wanted(&mut self.signals) => return Some(signal),
        };
        match given_up {
            Ok(()) => self.report.tell("resigned", json!({ "election": seat.as_str() }), Tone::Plain, ""),
            Err(error) => {
                let message = error.to_string();
                self.report.tell("unconfirmed", json!({ "message": message }), Tone::Warning, &message);
            }
        }
        self.dismiss_keeper();
        None
    }

    async fn after_loss(&mut self, office: Office, ending: Ending, is_wanted: bool) -> Result<Next, Exit> {
        let seat = office.seat.clone();
        let Durations { renew, call_timeout, .. } = self.config.durations;
        if ending == Ending::AskedToResign && BootClock.now() < self.keep_until(&office) {
            // No minimum binds one who is asked to go, once the driver knows of it too: with the next renewal.
            let _ = tokio::time::timeout(renew + call_timeout, office.leadership.ended()).await;
        }
        // Whoever cannot reach the store any more need not wait for it: the lease runs out by itself.
        let _ = tokio::time::timeout(call_timeout, office.give_up()).await;
        self.dismiss_keeper();
        self.report.tell("lost", json!({ "election": seat.as_str(), "ending": ending.to_string() }), Tone::Plain, "");
        match self.config.after_loss {
            AfterLoss::Campaign if !is_wanted => self.sat_out().await,
            _ => {
                let sentence = format!("lost {seat}: {ending}");
                Ok(Next::Leave(Exit::new(Origin::LeadershipLost, sentence)))
            }
        }
    }

    /// Lets others win before it runs again.
    async fn sat_out(&mut self) -> Result<Next, Exit> {
        if self.ward.is_none() {
            self.ward = Some(hire(self.config, self.terminal.is_some(), self.level).await?);
        }
        let rested = async {
            tokio::time::sleep(self.config.durations.retry).await;
            // A store that does not answer is asked to take the office back for a whole lease.
            withdrawn(&self.candidates).await;
        };
        tokio::select! {
            () = rested => Ok(Next::Again),
            signal = wanted(&mut self.signals) => Err(Exit::of_signal(signal.as_raw())),
        }
    }

    fn exit_of(&self, ended: &Ended) -> Exit {
        match &ended.cause {
            Cause::Command(status) => Exit::of_command(*status),
            Cause::NotStarted(exit) => exit.clone(),
            Cause::Leadership(ending) => Exit::new(Origin::LeadershipLost, format!("leadership ended: {ending}")),
            Cause::Guardian => Exit::new(Origin::Internal, "the guardian was killed, and so the command was ended"),
            Cause::Unknown => Exit::new(
                Origin::Internal,
                "the command has ended, and its guardian was frozen: nobody knows with which status",
            ),
            // Somebody wanted it to end before it had begun.
            Cause::Delayed => Exit::of_signal(ended.wanted.unwrap_or(Signal::TERM).as_raw()),
        }
    }
}

/// A guardian in the place of one that is gone. It must hold the command as firmly: the record says how soon another may follow when this process
/// dies, and what may be required was required of every guardian.
async fn hire(config: &Config, at_terminal: bool, level: Level) -> Result<Ward, Exit> {
    let ward = Ward::hire(&config.brief(at_terminal), &config.command, &config.place);
    let ward = ward.map_err(|error| unhired(config, error.into()))?;
    let ward = ward.prepared().await.map_err(|error| unhired(config, error))?;
    if ward.level < level && !planted(Mutant::LooserGuardianHired) {
        let Ward { level: now, because, .. } = &ward;
        let sentence =
            format!("the command was held by {level}, and now only {now} can be had ({because}); it is not run again");
        return Err(Exit::new(Origin::Internal, sentence));
    }
    Ok(ward)
}

fn unhired(config: &Config, why: Unhired) -> Exit {
    match why {
        Unhired::Uncontained(because) => {
            Exit::usage(format!("--containment {} cannot be had: {because}", config.containment))
        }
        Unhired::Failed(error) if error.raw_os_error() == Some(rustix::io::Errno::TOOBIG.raw_os_error()) => {
            Exit::new(Origin::CannotExecute, "the command and its arguments are too long to be executed")
        }
        Unhired::Failed(error) => internal("no guardian can be started", &error),
    }
}

fn admit(config: &Config, ward: &Ward) -> Result<(), Exit> {
    match config.required_containment {
        Some(required) if ward.level < required && config.containment == Wanted::Exactly(ward.level) => {
            let asked = ward.level;
            let what = format!(
                "--require-containment {required} cannot be met by --containment {asked}; leave one of them out"
            );
            Err(Exit::usage(what))
        }
        Some(required) if ward.level < required => Err(Exit::usage(format!(
            "--require-containment {required} cannot be met, the best here is {}: {}",
            ward.level, ward.because
        ))),
        _ => Ok(()),
    }
}

fn candidates(config: &Config, opened: &Opened) -> Result<Vec<Candidate>, Exit> {
    let durations = &config.durations;
    let candidate = |seat: String| {
        let election = Election::over(opened.backend.clone(), seat.as_str())?.with_token_base(config.token_base);
        let mut candidate = election
            .candidate(&config.id)
            .lease(durations.ttl)
            .renew_every(durations.renew)
            .retry_every(durations.retry)
            .call_timeout(durations.call_timeout)
            .grace(durations.whole_grace())
            .at_least(config.at_least);
        if let Some(settle) = config.settle {
            candidate = candidate.settle(settle);
        }
        if let Some(promise) = config.required_promise {
            candidate = candidate.require(promise);
        }
        if opened.work_ends_with_process {
            candidate = candidate.work_ends_with_process();
        }
        let candidate = candidate.build()?;
        let settle = candidate.timing().settle();
        match config.patience {
            Patience::For(span) if !settle.is_zero() && span <= settle => Err(Exit::usage(format!(
                "--max-wait {} is over before a winner has settled, which takes {} here; wait longer, or say --settle",
                duration::shown(span),
                duration::shown(settle)
            ))),
            _ => Ok(candidate),
        }
    };
    config.seats().into_iter().map(candidate).collect()
}

/// Waits until no bid of ours is left in the store: one that was under way may have won (SAFETY 9).
async fn withdrawn(candidates: &[Candidate]) {
    while candidates.iter().any(Candidate::is_running) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Resolves when the guardian of the next command is gone; never, where there is none.
async fn vanished(ward: &mut Option<Ward>) {
    match ward {
        Some(ward) => while !matches!(ward.next().await, Ok(ward::News::Gone) | Err(_)) {},
        None => std::future::pending().await,
    }
}

/// Resolves when somebody wants this process to end.
async fn wanted(signals: &mut Signals) -> Signal {
    loop {
        match signals.next().await.0 {
            signal @ (Signal::TERM | Signal::INT | Signal::QUIT | Signal::HUP) => return signal,
            // As a shell expects of a job.
            Signal::TSTP => drop(terminal::stop_with_command()),
            _ => {}
        }
    }
}

fn internal(what: &str, error: &io::Error) -> Exit {
    Exit::new(Origin::Internal, format!("{what}: {error}"))
}
