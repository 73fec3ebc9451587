//! Whole campaigns: the real machine over the adapter.

use super::*;
use crate::Clock;
use crate::adapter::rig::{Candidate, pass};
use crate::backend::Evicted;
use crate::machine::{Ending, Input};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn an_unknown_renewal_is_resolved_and_leadership_goes_on() {
    // SAFETY 9, SEEDS 13
    for blind in [false, true] {
        let (clock, shelf) = shelf();
        let backend = Arc::new(if blind { blind_process(&shelf) } else { process(&shelf) });
        let mut candidate = Candidate::new("a", 1, backend.clone(), &clock);
        candidate.start().await;
        let before = candidate.term().expect("it leads");
        backend.store.inflict(Call::Swap, Fault::AnswerLost);
        pass(&clock, 6 * SECOND, &mut [&mut candidate]).await;
        assert!(candidate.is_leader());
        assert!(
            candidate.term().unwrap().deadline > before.deadline,
            "the renewal that resolved it moved the deadline"
        );
        pass(&clock, 60 * SECOND, &mut [&mut candidate]).await;
        assert!(candidate.is_leader());
        assert_eq!((candidate.tokens().len(), candidate.endings().len()), (1, 0), "one tenure throughout");
    }
}

#[tokio::test]
async fn of_two_candidates_one_leads_until_it_stops_and_then_the_other() {
    let (clock, shelf) = shelf();
    let mut one = Candidate::new("a", 1, Arc::new(process(&shelf)), &clock);
    let mut two = Candidate::new("b", 2, Arc::new(process(&shelf)), &clock);
    one.start().await;
    two.start().await;
    pass(&clock, 60 * SECOND, &mut [&mut one, &mut two]).await;
    assert!(one.is_leader() && !two.is_leader());
    one.hear(Input::Stop).await;
    assert_eq!(one.endings(), [Ending::Stopped]);
    assert_eq!(holder(&shelf), None, "it was given up, not left to expire");
    pass(&clock, 3 * SECOND, &mut [&mut one, &mut two]).await;
    assert!(two.is_leader());
    assert!(two.tokens()[0] > one.tokens()[0]);
}

#[tokio::test]
async fn a_silent_leader_is_followed_after_its_lease_and_never_joined() {
    // I1, I4, I8
    let (clock, shelf) = shelf();
    let mut one = Candidate::new("a", 1, Arc::new(process(&shelf)), &clock);
    let mut two = Candidate::new("b", 2, Arc::new(process(&shelf)), &clock);
    one.start().await;
    two.start().await;
    pass(&clock, 12 * SECOND, &mut [&mut one, &mut two]).await;
    let expiry = one.term().unwrap().expiry;
    // From here on the first is frozen.
    while !two.is_leader() {
        pass(&clock, SECOND, &mut [&mut two]).await;
        assert!(!(one.is_leader() && two.is_leader()));
    }
    assert!(clock.now() > expiry && !one.is_leader());
    one.hear(Input::Wake).await;
    assert_eq!(one.endings(), [Ending::Expired]);
    assert_eq!(holder(&shelf), Some(TenureId::new(2, 1)), "what the frozen one does when it wakes touches nobody");
}

#[tokio::test]
async fn a_claim_removed_by_hand_ends_the_tenure_at_the_next_renewal() {
    // SEEDS 15
    for blind in [false, true] {
        let (clock, shelf) = shelf();
        let backend = Arc::new(if blind { blind_process(&shelf) } else { process(&shelf) });
        let mut candidate = Candidate::new("a", 1, backend, &clock);
        candidate.start().await;
        shelf.remove(&seat());
        pass(&clock, 6 * SECOND, &mut [&mut candidate]).await;
        assert_eq!(candidate.endings(), [Ending::Deposed]);
    }
}

#[tokio::test]
async fn over_a_blind_store_a_loss_with_an_attempt_unresolved_ends_at_the_deadline_at_the_latest() {
    let (clock, shelf) = shelf();
    let backend = Arc::new(blind_process(&shelf));
    let mut candidate = Candidate::new("a", 1, backend.clone(), &clock);
    candidate.start().await;
    let deadline = candidate.term().unwrap().deadline;
    let other = shelf.clone();
    backend.store.inflict(Call::Swap, Fault::RequestLost);
    backend.store.meanwhile(Call::Swap, move || other.remove(&seat()));
    pass(&clock, deadline.until_from(clock.now()), &mut [&mut candidate]).await;
    assert!(!candidate.is_leader());
    assert_eq!(candidate.endings(), [Ending::Expired]);
}

#[tokio::test]
async fn a_leader_that_is_asked_to_resign_hands_over() {
    let (clock, shelf) = shelf();
    let backend = Arc::new(process(&shelf));
    let mut one = Candidate::new("a", 1, backend.clone(), &clock);
    let mut two = Candidate::new("b", 2, Arc::new(process(&shelf)), &clock);
    one.start().await;
    two.start().await;
    let administer = backend.administer().unwrap();
    assert!(at_once(administer.ask_to_resign(&seat())).unwrap());
    let asked = shelf.value(&seat());
    assert!(at_once(administer.ask_to_resign(&seat())).unwrap());
    assert_eq!(shelf.value(&seat()), asked, "to ask twice writes once");
    pass(&clock, 8 * SECOND, &mut [&mut one, &mut two]).await;
    assert_eq!(one.endings(), [Ending::AskedToResign]);
    assert!(two.is_leader());
    shelf.remove(&seat());
    assert!(!at_once(administer.ask_to_resign(&seat())).unwrap(), "nobody is there to ask");
}

#[tokio::test]
async fn an_evicted_claim_bars_the_office_for_the_rest_of_its_life() {
    let (clock, shelf) = shelf();
    let backend = Arc::new(process(&shelf));
    let administer = backend.administer().unwrap();
    let mut one = Candidate::new("a", 1, backend.clone(), &clock);
    let mut two = Candidate::new("b", 2, Arc::new(process(&shelf)), &clock);
    one.start().await;
    two.start().await;
    // The leader is evicted in the middle of its lease, and hears of it only at its next renewal.
    clock.jump(SECOND);
    let last_belief = one.term().unwrap().expiry;
    assert_eq!(at_once(administer.evict(&seat())).unwrap(), Evicted::Barred { remaining: LEASE - SECOND });
    while !two.is_leader() {
        pass(&clock, SECOND, &mut [&mut two]).await;
        assert!(clock.now() > last_belief || !two.is_leader(), "nobody wins while the evicted one may believe");
    }
    pass(&clock, SECOND, &mut [&mut one, &mut two]).await;
    assert_eq!(one.endings(), [Ending::Expired]);

    assert!(two.is_leader());
    assert!(matches!(at_once(administer.evict(&seat())).unwrap(), Evicted::Barred { .. }));
    pass(&clock, 6 * SECOND, &mut [&mut two]).await;
    assert_eq!(two.endings(), [Ending::Deposed], "one that is awake hears of it at its next renewal");
}

#[test]
fn to_evict_twice_bars_no_longer() {
    let (clock, shelf) = shelf();
    let backend = process(&shelf);
    let administer = backend.administer().unwrap();
    assert_eq!(at_once(administer.evict(&seat())).unwrap(), Evicted::WasVacant);
    elected(&backend, &bid("a", 1, 1));
    clock.jump(SECOND);
    assert_eq!(at_once(administer.evict(&seat())).unwrap(), Evicted::Barred { remaining: LEASE - SECOND });
    let bar = shelf.value(&seat());
    clock.jump(SECOND);
    assert_eq!(at_once(administer.evict(&seat())).unwrap(), Evicted::Barred { remaining: LEASE - 2 * SECOND });
    assert!(!at_once(administer.ask_to_resign(&seat())).unwrap(), "nobody is there to ask");
    assert_eq!(shelf.value(&seat()), bar);
    let sight = held(&backend, &bid("b", 2, 1));
    assert_eq!(&*sight.held().unwrap().holder, "nobody (a was evicted)");
    clock.jump(LEASE - 2 * SECOND);
    assert_eq!(elected(&backend, &bid("b", 2, 1)).token, Some(2));
}
