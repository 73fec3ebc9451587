//! What the driver does around a machine: it hands answers on, keeps the session alive, and obeys.
//!
//! The driver itself runs many machines and cannot be copied; this is what its core does for one, line by line, with the same machine and the same
//! heart.

use std::time::Duration;

use tenure::Moment;
use tenure::backend::{Attempt, Beat, Cover, SessionId, Standing, TenureId};
use tenure::driver::{Heart, Pulse};
use tenure::machine::{Action, Actions, Alarm, Ending, Input, Note, Op, Outcome};
use tenure::mutant::{Mutant, planted};

use super::facts::Fact;
use super::invariants::Invariant;
use super::message::{Body, Message, Reply, Request, Seen};
use super::stepping::Stepping;

/// What a machine's random word is: jitter is not explored, because delays are.
const RANDOM: u64 = 0;

impl Stepping<'_> {
    pub(super) fn answer(&mut self, message: &Message) {
        let Body::Answers(reply) = &message.body else { return };
        let candidate = usize::from(message.node);
        let now = self.now(candidate);
        if self.world.nodes[candidate].life != message.life {
            return;
        }
        self.resume(candidate);
        let node = &self.world.nodes[candidate];
        let Some(outcome) = reply.outcome() else {
            return self.beaten(message, reply);
        };
        if !node.machine.awaits(message.attempt_id()) {
            return self.nobody_waited(message, reply);
        }
        let (tenure, session) = (node.machine.tenure(), node.machine.session());
        if now > message.sent {
            self.note(Fact::AnsweredLate);
        }
        match reply {
            Reply::Mismatch(Seen::Held { tenure: seen, .. }) if tenure == Some(*seen) => {
                self.note(Fact::OwnWriteRecognised);
            }
            Reply::Elected(_) if session.is_some() => self.note(Fact::TurnCame),
            _ => {}
        }
        if let Some((session, from, ttl)) = shared_cover(&outcome) {
            self.change(candidate, |node| {
                if node.heart.as_ref().is_none_or(|(known, _)| *known != session) {
                    node.heart = Some((session, Heart::new(from, ttl)));
                }
            });
        }
        self.tell(candidate, Input::Answer { attempt: message.attempt_id(), outcome });
        self.catch_up(candidate);
    }

    fn beaten(&mut self, message: &Message, reply: &Reply) {
        let candidate = usize::from(message.node);
        let now = self.now(candidate);
        let (session, beat) = match reply {
            Reply::Beaten(session, ttl) => (*session, Beat::Extended { ttl: Duration::from_millis(*ttl) }),
            Reply::NoSession(session) => (*session, Beat::Lost),
            _ => return,
        };
        let pulse = self.change(candidate, |node| node.beaten(session, message.attempt_id(), beat, now));
        self.pulsed(candidate, session, pulse);
    }

    /// SAFETY 9, as the driver's core does it: a win that nobody waits for is withdrawn, unless it is the echo of one that is held.
    fn nobody_waited(&mut self, message: &Message, reply: &Reply) {
        let Some(tenure) = reply.won() else { return };
        let node = &self.world.nodes[usize::from(message.node)];
        if (node.machine.claims(tenure) && !planted(Mutant::EchoWithdrawn)) || planted(Mutant::LateWinKept) {
            return;
        }
        self.note(Fact::LateWinWithdrawn);
        let body = Body::Asks(Request::Withdraw { tenure });
        self.world.network.push(Message { attempt: 0, sent: Moment::ZERO, late: false, body, ..message.clone() });
    }

    pub(super) fn pulsed(&mut self, candidate: usize, session: u64, pulse: Pulse) {
        match pulse {
            Pulse::Rest => {}
            Pulse::Send(attempt) => self.send(candidate, attempt, Request::Beat { session }),
            Pulse::Moved => self.catch_up(candidate),
            Pulse::Lost => {
                self.change(candidate, |node| node.heart = None);
                self.tell(candidate, Input::CoverLost);
            }
        }
    }

    fn catch_up(&mut self, candidate: usize) {
        if let Some((_, heart)) = &self.world.nodes[candidate].heart {
            let (from, ttl) = heart.cover();
            self.tell(candidate, Input::CoverMoved { from, ttl });
        }
    }

    fn send(&mut self, candidate: usize, attempt: Attempt, request: Request) {
        let life = self.world.nodes[candidate].life;
        let body = Body::Asks(request);
        let (node, attempt, sent) = (candidate as u8, attempt.id.0, attempt.sent);
        self.world.network.push(Message { node, life, attempt, sent, late: false, body });
    }

    /// Steps the production machine, and obeys it.
    pub(super) fn tell(&mut self, candidate: usize, input: Input) {
        let now = self.now(candidate);
        let actions: Actions = self.change(candidate, |node| {
            let actions = node.machine.step(now, input, RANDOM);
            node.attach();
            actions
        });
        for action in actions {
            self.obey(candidate, action, now);
        }
    }

    fn obey(&mut self, candidate: usize, action: Action, now: Moment) {
        match action {
            Action::Call { attempt, tenure, op } => {
                let request = match op {
                    Op::Stand { displace } => {
                        Request::Stand { tenure, displace: displace.and_then(|version| version.as_number()) }
                    }
                    Op::Renew { version } => {
                        Request::Renew { tenure, version: version.as_number().unwrap_or_default() }
                    }
                    Op::Withdraw => Request::Withdraw { tenure },
                    Op::Inspect => Request::Inspect,
                };
                self.send(candidate, attempt, request);
            }
            Action::WakeAt { at, .. } => self.change(candidate, |node| node.wake = at),
            Action::SetDeadline(term) => {
                let old = self.change(candidate, |node| std::mem::replace(&mut node.term, term));
                // I5: neither is a deadline set that is over, nor one moved that was.
                let late = term.is_some_and(|term| term.deadline <= now);
                let revived = term.is_some() && old.is_some_and(|old| old.deadline <= now);
                if late || revived {
                    self.world.broken.add(Invariant::NothingAfterDeadline);
                }
            }
            Action::StopWork { by } => self.change(candidate, |node| node.stop_by = Some(by)),
            Action::Begin { tenure, token } => {
                self.begin(candidate, tenure, token.map_or(0, tenure::FencingToken::get), now);
            }
            Action::End(ending) => {
                self.change(candidate, |node| node.reign = None);
                match ending {
                    Ending::Expired => {
                        self.note(Fact::Expired);
                        self.note_unheard_renewal(candidate);
                    }
                    Ending::SessionLost => self.note(Fact::SessionLost),
                    _ => {}
                }
            }
            Action::Emit(Note::RenewalFailed) => self.note_unheard_renewal(candidate),
            Action::Emit(Note::AttemptFailed) => {
                let node = &self.world.nodes[candidate];
                if node.machine.tenure().is_some_and(|tenure| self.world.store.has_trace_of(tenure)) {
                    self.note(Fact::WinCommittedUnheard);
                }
            }
            // Nobody touches the records here, and the store forgets nothing.
            Action::Alarm(Alarm::WorkOverran) => {}
            Action::Alarm(_) => self.world.broken.add(Invariant::NoFalseAlarm),
            Action::Watch(_) | Action::Emit(_) | Action::Kill | Action::Finish(_) => {}
        }
    }

    /// The answer to a renewal is under way, so it landed; and its holder has just given it up.
    fn note_unheard_renewal(&mut self, candidate: usize) {
        let landed = self.world.network.iter().any(|message| {
            usize::from(message.node) == candidate && matches!(&message.body, Body::Answers(Reply::Extended(_)))
        });
        if landed {
            self.note(Fact::RenewalCommittedUnheard);
        }
    }

    fn begin(&mut self, candidate: usize, tenure: TenureId, token: u64, now: Moment) {
        let node = &self.world.nodes[candidate];
        if node.term.is_none_or(|term| now >= term.deadline) {
            self.world.broken.add(Invariant::NothingAfterDeadline);
        }
        if node.reign.is_some() || self.world.begun.iter().any(|(begun, _)| *begun == tenure) {
            self.world.broken.add(Invariant::OneTenureABid);
        }
        if self.world.begun.iter().any(|(_, used)| *used == token) {
            self.world.broken.add(Invariant::TokensRise);
        }
        if self.world.begun.last().is_some_and(|(last, _)| last.nonce() / 10 != candidate as u64 + 1) {
            self.note(Fact::LeaderChanged);
        }
        self.world.begun.push((tenure, token));
        if self.world.begun.len() == 3 {
            self.note(Fact::ThreeTenures);
        }
        self.change(candidate, |node| node.reign = Some(tenure));
    }
}

fn shared_cover(outcome: &Outcome) -> Option<(u64, Moment, Duration)> {
    let cover = match outcome {
        Outcome::Stood(Standing::Elected(grant)) => grant.cover,
        Outcome::Stood(Standing::Queued(_, cover)) => (*cover)?,
        _ => return None,
    };
    match cover {
        Cover::Shared { session: SessionId(session), from, ttl } => Some((session, from, ttl)),
        Cover::Own { .. } => None,
    }
}
