//! One run: candidates, faults, peace, and what was written down.

use std::path::Path;
use std::time::Duration;

use tenure::backend::Traits;
use tenure::{BootClock, Clock, Moment};
use testbed::{Failure, Folder};

use crate::fleet::{Candidate, name_of, wall_library};
use crate::onlooker::Onlooker;
use crate::record::{Record, Strike};
use crate::registers::Registers;
use crate::schedule::{self, Kind, Part, Step};
use crate::subject::{Breaks, Servers, Subject};

/// How long, from which seed, with how many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) seed: u64,
    pub(crate) span: Duration,
    pub(crate) candidates: usize,
}

/// How long servers may take until they are whole again.
const HEALING: Duration = Duration::from_secs(90);

/// A fault that has struck and is not healed yet.
struct Active {
    kind: Kind,
    who: Option<usize>,
    from: Moment,
    until: Moment,
    /// It is mended, and not yet whole.
    mended: bool,
}

pub(crate) struct Run {
    /// Holds the registers' socket and what the onlooker writes.
    _folder: Folder,
    fleet: Vec<Candidate>,
    servers: Box<dyn Servers>,
    onlooker: Onlooker,
    registers: Registers,
    active: Vec<Active>,
    strikes: Vec<Strike>,
    traits: Traits,
    lease: Duration,
    stretch: Duration,
    start: Moment,
}

impl Run {
    pub(crate) fn start(subject: &'static dyn Subject, setting: Setting) -> Result<Self, Failure> {
        let folder = Folder::new("chaos")?;
        let servers = subject.start()?;
        let direct = servers.place(&servers.addresses());
        let registers = Registers::serve(&folder.path().join("registers"))?;
        let traits = subject.backend(&direct).map_err(|error| Failure::new(error.to_string()))?.traits();
        let onlooker = Onlooker::start(move || subject.backend(&direct), folder.path())?;
        let start = |number| Candidate::start(number, subject.name(), &*servers, &folder.path().join("registers"));
        let fleet = (0..setting.candidates).map(start).collect::<Result<_, _>>()?;
        Ok(Run {
            _folder: folder,
            fleet,
            servers,
            onlooker,
            registers,
            active: Vec::new(),
            strikes: Vec::new(),
            traits,
            lease: subject.lease(),
            stretch: subject.stretch(),
            start: BootClock.now(),
        })
    }

    /// Lets everything go wrong that the seed has, for as long as the setting says.
    pub(crate) fn trouble(&mut self, setting: Setting) -> Result<(), Failure> {
        let networked = self.fleet.iter().any(|candidate| !candidate.proxies.is_empty());
        let wall = wall_library().is_some();
        let kinds = schedule::kinds(networked, wall, self.servers.marks(), self.servers.faults());
        let end = BootClock.now().after(setting.span);
        for step in schedule::schedule(setting.seed, &kinds, self.fleet.len(), self.lease) {
            self.rest(BootClock.now().after(step.after).min(end))?;
            // One fault at a time for each part; the deck is not thinned by the way things go.
            let who = loop {
                if BootClock.now() >= end {
                    return self.heal_all();
                }
                match self.target(&step) {
                    Some(who) => break who,
                    None => self.rest(BootClock.now().after(Duration::from_millis(20)))?,
                }
            };
            self.strike(step, who)?;
        }
        self.heal_all()
    }

    /// Waits, and heals what is due meanwhile.
    fn rest(&mut self, until: Moment) -> Result<(), Failure> {
        loop {
            self.heal(BootClock.now())?;
            let left = until.since(BootClock.now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(10)));
        }
    }

    /// Whom a step strikes; nothing while that is struck already.
    fn target(&self, step: &Step) -> Option<Option<usize>> {
        let part = step.kind.part();
        let is_free =
            |who: Option<usize>| !self.active.iter().any(|active| active.kind.part() == part && active.who == who);
        if part == Part::Servers {
            return is_free(None).then_some(None);
        }
        let holder = self.onlooker.holder().filter(|_| step.leader);
        let leader = self.fleet.iter().position(|candidate| Some(name_of(candidate.number)) == holder);
        // Most must be well, or there is nobody to lead.
        let struck =
            self.active.iter().filter(|active| active.who.is_some() && active.kind.part() != Part::WallClock).count();
        if struck * 2 >= self.fleet.len() {
            return None;
        }
        let who = Some(leader.unwrap_or(step.who));
        is_free(who).then_some(who)
    }

    fn strike(&mut self, step: Step, who: Option<usize>) -> Result<(), Failure> {
        let from = BootClock.now();
        let until = from.after(step.lasts);
        match (&step.kind, who) {
            (Kind::Servers(fault), _) => self.servers.strike(fault.name, step.random)?,
            (kind, Some(who)) => break_candidate(&mut self.fleet[who], kind)?,
            (_, None) => {}
        }
        self.active.push(Active { kind: step.kind, who, from, until, mended: false });
        Ok(())
    }

    /// Heals what is due at this moment.
    fn heal(&mut self, now: Moment) -> Result<(), Failure> {
        for mut active in std::mem::take(&mut self.active) {
            if active.until <= now && self.is_healed(&mut active)? {
                let Active { kind, who, from, .. } = active;
                let breaks = match &kind {
                    Kind::Servers(fault) => fault.breaks,
                    _ => Breaks::Nothing,
                };
                self.strikes.push(Strike { name: kind.name(), who, from, to: BootClock.now(), breaks });
            } else {
                self.active.push(active);
            }
        }
        Ok(())
    }

    /// Mends it the first time; whether it is whole.
    fn is_healed(&mut self, active: &mut Active) -> Result<bool, Failure> {
        let first = !std::mem::replace(&mut active.mended, true);
        match (&active.kind, active.who) {
            (Kind::Servers(fault), _) => {
                if first {
                    self.servers.heal(fault.name)?;
                }
                self.servers.is_healed(fault.name)
            }
            (kind, Some(who)) => mend_candidate(&mut self.fleet[who], kind).map(|()| true),
            (_, None) => Ok(true),
        }
    }

    /// Heals everything.
    fn heal_all(&mut self) -> Result<(), Failure> {
        let patience = BootClock.now().after(HEALING);
        loop {
            self.heal(Moment::NEVER)?;
            match self.active.first() {
                None => return Ok(()),
                Some(active) if BootClock.now() > patience => {
                    return Err(Failure::new(format!("not whole again within {HEALING:?}: {}", active.kind.name())));
                }
                Some(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    /// All is well: somebody has to lead within a lease and what the store needs. Then it is over, and all is known.
    pub(crate) fn peace(self, shown: &Path) -> Result<(Record, Vec<Candidate>), Failure> {
        let peace = BootClock.now();
        std::thread::sleep(self.lease.mul_f64(2.0));
        let patience = peace.after(self.lease).after(self.stretch);
        while self.onlooker.holder().is_none() && BootClock.now() < patience {
            std::thread::sleep(Duration::from_millis(20));
        }
        // A leader was seen; that it believes so it writes down a moment later.
        std::thread::sleep(Duration::from_millis(500));
        let end = BootClock.now();
        let died = self.fleet.iter().find(|candidate| !candidate.server.is_running());
        if let Some(candidate) = died {
            candidate.keep(shown);
            return Err(Failure::new(format!(
                "the candidate {} ended by itself:\n{}",
                name_of(candidate.number),
                candidate.server.place().log()
            )));
        }
        let mut fleet = self.fleet;
        fleet.iter_mut().for_each(Candidate::kill);
        let looks = self.onlooker.looks()?;
        let lives: Vec<Vec<_>> = fleet.iter().map(Candidate::lives).collect::<Result<_, _>>()?;
        let [fenced, unfenced] = self.registers.both();
        let record = Record {
            lease: self.lease,
            stretch: self.stretch,
            contenders_judge: self.traits.contenders_judge,
            has_tokens: self.traits.has_tokens,
            start: self.start,
            peace,
            end,
            lives: lives.into_iter().flatten().collect(),
            looks,
            strikes: self.strikes,
            fenced,
            unfenced,
        };
        Ok((record, fleet))
    }
}

fn break_candidate(candidate: &mut Candidate, kind: &Kind) -> Result<(), Failure> {
    for proxy in &candidate.proxies {
        match kind {
            Kind::Cut => proxy.cut(),
            Kind::Reset => proxy.reset(),
            Kind::HalfOpen => proxy.half_open(),
            Kind::Mute => proxy.mute(),
            Kind::Stalled => proxy.stall(),
            Kind::Delayed => proxy.delay(Duration::from_millis(100)),
            Kind::AnswerDropped(_, bytes) => proxy.drop_answer_to(bytes.clone()),
            _ => {}
        }
    }
    match kind {
        Kind::Killed => candidate.kill(),
        Kind::FrozenPastTheLease | Kind::FrozenShortly => candidate.server.freeze()?,
        Kind::WallClock(seconds) => candidate.set_wall_clock(*seconds)?,
        _ => {}
    }
    Ok(())
}

fn mend_candidate(candidate: &mut Candidate, kind: &Kind) -> Result<(), Failure> {
    match kind.part() {
        Part::Network => candidate.proxies.iter().for_each(testbed::Proxy::heal),
        Part::WallClock => candidate.set_wall_clock(0)?,
        Part::Process if matches!(kind, Kind::Killed) => candidate.server.restart()?,
        Part::Process => candidate.server.thaw()?,
        Part::Servers => {}
    }
    Ok(())
}
