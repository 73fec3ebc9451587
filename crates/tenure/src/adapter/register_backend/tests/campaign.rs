//! Whole campaigns: the real machine over the adapter.

use super::*;
use crate::adapter::rig::{Candidate, pass};
use crate::backend::Evicted;
use crate::machine::{Ending, Input};
use crate::timing::TimingBuilder;
use crate::{Clock, ManualClock};

const SECOND: Duration = Duration::from_secs(1);

fn candidate(name: &str, nonce: u64, shelf: &MemoryRegister, clock: &ManualClock) -> Candidate {
    Candidate::new(name, nonce, Arc::new(process(shelf)), clock)
}

#[tokio::test]
async fn a_silent_holder_is_displaced_after_its_own_recorded_lease() {
    // SAFETY 4, I1, I4, I8
    let (clock, shelf) = (ManualClock::new(), MemoryRegister::new());
    let timing = TimingBuilder { lease: Some(LEASE * 2), ..TimingBuilder::default() }.build().unwrap();
    let mut one = Candidate::with_timing("a", 1, Arc::new(process(&shelf)), &clock, timing);
    let mut two = candidate("b", 2, &shelf, &clock);
    one.start().await;
    two.start().await;
    pass(&clock, 60 * SECOND, &mut [&mut one, &mut two]).await;
    assert!(one.is_leader(), "a holder that renews is not displaced, however long it is watched");

    let renewed = record(&shelf).write;
    while record(&shelf).write == renewed {
        pass(&clock, SECOND, &mut [&mut one, &mut two]).await;
    }
    // From here on the first is frozen. The last renewal was at most a second ago, and nobody may have seen it yet.
    let (last_renewal, believed) = (clock.now(), one.term().unwrap().expiry);
    while !two.is_leader() {
        pass(&clock, SECOND / 10, &mut [&mut two]).await;
        assert!(!(one.is_leader() && two.is_leader()));
    }
    let silence = clock.now().since(last_renewal);
    assert!(clock.now() > believed && silence >= LEASE * 2 - SECOND, "displaced after {silence:?}");
    assert!(silence <= LEASE * 2 + 5 * SECOND, "displaced only after {silence:?}");
    assert!(two.tokens()[0] > one.tokens()[0]);

    one.hear(Input::Wake).await;
    assert_eq!(one.endings(), [Ending::Expired]);
    assert!(record(&shelf).is_of(TenureId::new(2, 1)), "I6: what the frozen one does when it wakes touches nobody");
}

#[tokio::test]
async fn of_two_candidates_one_leads_until_it_stops_and_then_the_other() {
    let (clock, shelf) = (ManualClock::new(), MemoryRegister::new());
    let mut one = candidate("a", 1, &shelf, &clock);
    let mut two = candidate("b", 2, &shelf, &clock);
    one.start().await;
    two.start().await;
    pass(&clock, 60 * SECOND, &mut [&mut one, &mut two]).await;
    assert!(one.is_leader() && !two.is_leader());
    one.hear(Input::Stop).await;
    pass(&clock, 3 * SECOND, &mut [&mut one, &mut two]).await;
    assert!(two.is_leader(), "a released record is taken at once, not after its lease");
    assert!(two.tokens()[0] > one.tokens()[0]);
}

#[tokio::test]
async fn an_unknown_renewal_is_resolved_and_leadership_goes_on() {
    // SAFETY 9, SEEDS 13
    for landed in [true, false] {
        let (clock, shelf) = (ManualClock::new(), MemoryRegister::new());
        let backend = Arc::new(process(&shelf));
        let mut candidate = Candidate::new("a", 1, backend.clone(), &clock);
        candidate.start().await;
        let before = candidate.term().expect("it leads");
        backend.register.inflict(Call::Write, if landed { Fault::AnswerLost } else { Fault::RequestLost });
        pass(&clock, 6 * SECOND, &mut [&mut candidate]).await;
        assert!(candidate.term().unwrap().deadline > before.deadline);
        pass(&clock, 60 * SECOND, &mut [&mut candidate]).await;
        assert!(candidate.is_leader());
        assert_eq!((candidate.tokens().len(), candidate.endings().len()), (1, 0), "one tenure throughout");
    }
}

#[tokio::test]
async fn an_unknown_win_is_withdrawn_and_tried_anew() {
    // SAFETY 9, I7
    let (clock, shelf) = (ManualClock::new(), MemoryRegister::new());
    let backend = Arc::new(process(&shelf));
    let mut candidate = Candidate::new("a", 1, backend.clone(), &clock);
    backend.register.inflict(Call::Write, Fault::AnswerLost);
    candidate.start().await;
    pass(&clock, SECOND, &mut [&mut candidate]).await;
    assert!(candidate.is_leader());
    assert_eq!(candidate.tokens(), [Some(2)], "the win that nobody knew of had the first term");
    assert!(record(&shelf).is_of(TenureId::new(1, 2)));
}

#[tokio::test]
async fn a_leader_that_is_asked_to_resign_hands_over() {
    let (clock, shelf) = (ManualClock::new(), MemoryRegister::new());
    let operator = process(&shelf);
    let administer = operator.administer().unwrap();
    assert!(!at_once(administer.ask_to_resign(&seat())).unwrap(), "nobody is there to ask");
    let mut one = candidate("a", 1, &shelf, &clock);
    let mut two = candidate("b", 2, &shelf, &clock);
    one.start().await;
    two.start().await;
    assert!(at_once(administer.ask_to_resign(&seat())).unwrap());
    let asked = record(&shelf);
    assert!(at_once(administer.ask_to_resign(&seat())).unwrap());
    assert_eq!(record(&shelf), asked, "to ask twice does not keep a dead holder in office for longer");
    pass(&clock, 8 * SECOND, &mut [&mut one, &mut two]).await;
    assert_eq!(one.endings(), [Ending::AskedToResign]);
    assert!(two.is_leader());
    assert!(!record(&shelf).asked_to_resign, "the next holder was not asked");
}

#[tokio::test]
async fn an_evicted_record_bars_the_office_for_its_lease() {
    let (clock, shelf) = (ManualClock::new(), MemoryRegister::new());
    let operator = process(&shelf);
    let administer = operator.administer().unwrap();
    let mut one = candidate("a", 1, &shelf, &clock);
    let mut two = candidate("b", 2, &shelf, &clock);
    one.start().await;
    two.start().await;
    // The leader is frozen and evicted: it may believe until its deadline, and nobody wins before that.
    clock.jump(SECOND);
    let last_belief = one.term().unwrap().expiry;
    assert_eq!(at_once(administer.evict(&seat())).unwrap(), Evicted::Barred { remaining: LEASE });
    while !two.is_leader() {
        pass(&clock, SECOND, &mut [&mut two]).await;
        assert!(clock.now() > last_belief || !two.is_leader(), "nobody wins while the evicted one may believe");
    }
    assert!(two.tokens()[0] > Some(1));

    assert!(matches!(at_once(administer.evict(&seat())).unwrap(), Evicted::Barred { .. }));
    pass(&clock, 6 * SECOND, &mut [&mut two]).await;
    assert_eq!(two.endings(), [Ending::Deposed], "one that is awake hears of it at its next renewal");
}

#[tokio::test]
async fn a_record_removed_by_hand_ends_the_tenure_at_the_next_renewal() {
    // SEEDS 15, SAFETY 14
    let (clock, shelf) = (ManualClock::new(), MemoryRegister::new());
    let mut candidate = candidate("a", 1, &shelf, &clock);
    candidate.start().await;
    shelf.remove(&seat());
    pass(&clock, 6 * SECOND, &mut [&mut candidate]).await;
    assert_eq!(candidate.endings(), [Ending::Deposed]);
}

#[test]
fn to_evict_twice_bars_no_longer() {
    let shelf = MemoryRegister::new();
    let backend = process(&shelf);
    let administer = backend.administer().unwrap();
    assert_eq!(at_once(administer.evict(&seat())).unwrap(), Evicted::WasVacant);
    let grant = elected(&backend, &bid("a", 1, 1));
    assert_eq!(at_once(administer.evict(&seat())).unwrap(), Evicted::Barred { remaining: LEASE });
    let bar = record(&shelf);
    assert_eq!(at_once(administer.evict(&seat())).unwrap(), Evicted::Barred { remaining: LEASE });
    assert!(!at_once(administer.ask_to_resign(&seat())).unwrap(), "nobody is there to ask");
    assert_eq!(record(&shelf), bar);
    let sight = mismatched(&backend, &bid("a", 1, 1), &grant.version);
    assert_eq!(&*sight.held().unwrap().holder, "nobody (a was evicted)");
    withdrawn(&backend, &bid("a", 1, 1));
    assert_eq!(record(&shelf), bar, "the evicted one cannot lift the bar");
}
