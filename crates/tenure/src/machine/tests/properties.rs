//! Whatever happens, in whatever order.

use proptest::prelude::*;

use super::super::Wish;
use super::anything::{Reply, any_moves, any_reply, any_setup};
use super::audit::Audit;
use super::*;

/// How many runs; proptest prints and shrinks the moves of one that fails.
fn runs(cases: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() }
}

/// A store that does what it is asked.
const GOOD: Reply = Reply::Good { ttl: 15_000, shared: false, asked: false, over: 3 };

proptest! {
    #![proptest_config(runs(400))]

    #[test]
    fn no_order_of_things_makes_a_machine_break_its_word(setup in any_setup(), moves in any_moves()) {
        // Never more actions than there is room for; what `Watchdog` and `Audit` check, with every step.
        let mut audit = Audit::new(&setup);
        for step in &moves {
            audit.take(step);
        }
    }

    #[test]
    fn a_stop_ends_every_campaign_even_if_the_store_never_answers_again(setup in any_setup(), moves in any_moves()) {
        // SEEDS 21: two tries to withdraw, each bounded by a call timeout; a minimum hold is kept, until expiry at the longest.
        let mut audit = Audit::new(&setup);
        for step in &moves {
            audit.take(step);
        }
        audit.input(audit.rig.now, Input::Stop);
        let timing = setup.timing.build().unwrap();
        audit.live(timing.at_least + LEASE * 2 + timing.call_timeout() * 8 + secs(5.0), |_| None);
        prop_assert!(audit.finished && audit.rig.machine.state() == State::Idle, "{:?}", audit.rig.machine);
    }

    #[test]
    fn a_campaign_for_ever_leads_again_once_faults_end(setup in any_setup(), moves in any_moves()) {
        // I8, with no push to help it: the longest wait is that between two rechecks.
        let mut audit = Audit::new(&setup);
        for step in &moves {
            audit.take(step);
        }
        audit.input(audit.rig.now, Input::Health(true));
        let machine = &audit.rig.machine;
        if machine.goal != Goal::Forever || machine.wish != Wish::Run || machine.give_up_at != Moment::NEVER {
            audit.input(audit.rig.now, Input::Stop);
            audit.live(LEASE * 4, |_| Some(GOOD));
        }
        audit.input(audit.rig.now, Input::Start { goal: Goal::Forever, patience: None });
        audit.live(LEASE * 14, |_| Some(GOOD));
        prop_assert_eq!(audit.rig.machine.state(), State::Leader, "{:?}", audit.rig.machine);
    }

}

proptest! {
    #![proptest_config(runs(60))]

    #[test]
    fn no_store_can_make_a_machine_call_in_a_tight_loop(
        setup in any_setup(),
        moves in any_moves(),
        replies in prop::collection::vec(any_reply(), 1..4),
    ) {
        // The store answers at once, always the same few things; nothing is pushed.
        let mut audit = Audit::new(&setup);
        for step in &moves {
            audit.take(step);
        }
        let mut count = 0;
        let calls = audit.live(secs(20.0), |_| {
            count += 1;
            Some(replies[count % replies.len()])
        });
        // A backoff of zero is one of 5 ms (SEEDS 40), each time for a bid and what it takes to withdraw it.
        let most = if setup.timing.backoff.is_some() { 5 * 20 * 200 } else { 20 * 30 };
        prop_assert!(calls <= most + 10, "{calls} calls in 20 s");
    }
}
