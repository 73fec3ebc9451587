//! What only a real server can show: refusals, promises, cost, foreign lockers, failover.

mod cost;
mod failover;
mod lockers;
mod model;
mod promise;
mod refusals;
mod rules;
#[path = "../stores/mod.rs"]
mod stores;
mod tools;

use testbed::Trials;

fn main() {
    // It starts itself again, as a candidate or as a foreign locker.
    if lockers::role() {
        return;
    }
    let trials = model::tests(Trials::new().at_once(6));
    let trials = rules::tests(refusals::tests(promise::tests(trials)));
    lockers::tests(failover::tests(cost::tests(trials))).main()
}
