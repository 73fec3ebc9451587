//! Candidates with their machines and the real driver, and a witness of what they believe.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::bench::{Bench, SharedClock};
use crate::backend::TenureId;
use crate::{Backend, Campaign, CandidateBuilder, Clock, Election, FencingToken, Leadership, Moment, Seat};

/// Candidates for one office, each with a client of its own as a process would have, that campaign until the case is over.
pub(super) struct Fleet {
    bench: Bench,
    seat: Seat,
    lease: Duration,
    members: Vec<Member>,
    witness: Option<Witness>,
}

/// One of them.
pub(super) struct Member {
    pub(super) client: usize,
    pub(super) campaign: Arc<Campaign>,
}

/// A tenure as its holder believed in it.
#[derive(Clone, Debug)]
pub(super) struct Belief {
    pub(super) member: usize,
    pub(super) token: Option<FencingToken>,
    /// When the holder was first seen to lead.
    pub(super) first_seen: Moment,
    /// The last instant that it counted on, the grace included, when it was last seen to lead.
    pub(super) expiry: Moment,
}

impl Fleet {
    /// So many candidates, all campaigning.
    pub(super) fn start(
        bench: &Bench,
        size: usize,
        lease: Duration,
        setup: impl Fn(CandidateBuilder) -> CandidateBuilder,
    ) -> Self {
        let clients = (0..size).map(|_| bench.client()).collect();
        Fleet::of(bench, clients, lease, setup)
    }

    /// One candidate on each of these clients.
    pub(super) fn of(
        bench: &Bench,
        clients: Vec<(usize, Arc<dyn Backend>)>,
        lease: Duration,
        setup: impl Fn(CandidateBuilder) -> CandidateBuilder,
    ) -> Self {
        let seat = bench.seat();
        let members = clients.into_iter().map(|(client, backend)| {
            let election = Election::over(backend, seat.as_str()).expect("a seat is a seat");
            let mut builder = election.candidate(&format!("member-{client}")).lease(lease);
            if bench.has_own_clock() {
                builder = builder.clock(bench.clock());
            }
            let candidate = setup(builder).build().expect("the suite's own timing is safe");
            Member { client, campaign: Arc::new(candidate.start().expect("a new candidate does not run yet")) }
        });
        let members: Vec<_> = members.collect();
        let campaigns = members.iter().map(|member| member.campaign.clone()).collect();
        let witness = Some(Witness::begin(campaigns, bench.clock()));
        Fleet { bench: bench.clone(), seat, lease, members, witness }
    }

    pub(super) fn seat(&self) -> &Seat {
        &self.seat
    }

    pub(super) fn member(&self, index: usize) -> &Member {
        &self.members[index]
    }

    /// In what time there is a leader when nothing is broken any more (I8): a lease that has to run out, what the store adds to it, and the pace
    /// of candidates that poll.
    pub(super) fn patience(&self) -> Duration {
        (self.lease + self.bench.stretch()) * 2 + Duration::from_secs(2)
    }

    /// Waits for a leader.
    pub(super) async fn leader(&self) -> usize {
        self.leader_among("one of the candidates leads", |_| true).await
    }

    /// Waits for a leader other than this one.
    pub(super) async fn leader_after(&self, former: usize) -> usize {
        self.leader_among("another candidate leads", |index| index != former).await
    }

    /// Waits for a leader, and gives its tenure.
    pub(super) async fn leadership(&self) -> Leadership {
        let look = || std::future::ready(self.members.iter().find_map(|member| member.campaign.leadership()));
        self.bench.eventually(self.patience(), "one of the candidates leads", look).await
    }

    /// Waits until nobody believes in this tenure any more.
    pub(super) async fn ended(&self, tenure: &Leadership) {
        let look = || std::future::ready((!tenure.is_held()).then_some(()));
        self.bench.eventually(self.patience(), "the leader steps down", look).await;
    }

    async fn leader_among(&self, what: &str, mut eligible: impl FnMut(usize) -> bool) -> usize {
        let look = || {
            let mut leading = (0..self.members.len()).filter(|index| self.members[*index].campaign.is_leader());
            std::future::ready(leading.find(|index| eligible(*index)))
        };
        self.bench.eventually(self.patience(), what, look).await
    }

    /// Waits until this one does not lead.
    pub(super) async fn follower(&self, index: usize) {
        let campaign = &self.members[index].campaign;
        let look = || std::future::ready((!campaign.is_leader()).then_some(()));
        self.bench.eventually(self.patience(), "the leader steps down", look).await;
    }

    /// What was believed, in the order in which it began. Fails the case if ever two believed at once (I1), or a token did not rise (I2).
    pub(super) fn beliefs(mut self) -> Vec<Belief> {
        let testimony = self.testimony();
        if let Some(two) = &testimony.two_at_once {
            panic!("I1: two led at once: {two}");
        }
        testimony.in_order()
    }

    /// The same where two may believe for a while, because the store was tampered with.
    pub(super) fn beliefs_of_all(mut self) -> Vec<Belief> {
        self.testimony().in_order()
    }

    fn testimony(&mut self) -> Testimony {
        self.witness.take().map(Witness::testify).expect("the fleet is consumed by it")
    }
}

/// Looks all the time at who leads.
struct Witness {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<Testimony>>,
}

#[derive(Default)]
struct Testimony {
    /// In the order in which they were first seen.
    beliefs: Vec<(TenureId, Belief)>,
    two_at_once: Option<String>,
}

impl Witness {
    const PACE: Duration = Duration::from_millis(2);

    fn begin(campaigns: Vec<Arc<Campaign>>, clock: SharedClock) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let watch = move || {
            let mut testimony = Testimony::default();
            loop {
                // Read first, so that there is a last look after the word to stop.
                let last = stopped.load(Ordering::Relaxed);
                testimony.look(&campaigns, &clock);
                if last {
                    return testimony;
                }
                std::thread::sleep(Self::PACE);
            }
        };
        let thread = std::thread::Builder::new().name("witness".into()).spawn(watch).expect("a thread can be had");
        Witness { stop, thread: Some(thread) }
    }

    fn testify(mut self) -> Testimony {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().expect("it testifies once");
        thread.join().expect("the witness does not panic")
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Testimony {
    fn in_order(self) -> Vec<Belief> {
        let beliefs: Vec<_> = self.beliefs.into_iter().map(|(_, belief)| belief).collect();
        let tokens: Vec<_> = beliefs.iter().filter_map(|belief| belief.token).collect();
        assert!(tokens.windows(2).all(|pair| pair[0] < pair[1]), "I2: tokens did not rise: {beliefs:?}");
        beliefs
    }

    fn look(&mut self, campaigns: &[Arc<Campaign>], clock: &SharedClock) {
        let mut leading = Vec::new();
        for (member, campaign) in campaigns.iter().enumerate() {
            let Some(leadership) = campaign.leadership() else { continue };
            if let Some(expiry) = leadership.expiry() {
                let (token, first_seen) = (leadership.token(), clock.now());
                match self.beliefs.iter_mut().rfind(|(tenure, _)| *tenure == leadership.id()) {
                    Some((_, belief)) => belief.expiry = expiry,
                    None => self.beliefs.push((leadership.id(), Belief { member, token, first_seen, expiry })),
                }
            }
            leading.push((member, leadership));
        }
        // One that was seen first and still holds has held all the while, also when the second was seen.
        if let [(first, one), .., (second, other)] = &leading[..]
            && one.is_held()
        {
            self.two_at_once.get_or_insert(format!("member {first} ({one:?}) and member {second} ({other:?})"));
        }
    }
}
