//! What is etcd's own, on the real server.

mod cost;
mod disturbances;
mod late;
mod peers;
mod rules;
mod scene;
mod seeds;
mod setups;

use testbed::Trials;
use testbed::etcd::{Release, missing};

fn main() {
    let mut trials = Trials::new().at_once(4);
    for (name, test) in
        [seeds::TESTS, rules::TESTS, late::TESTS, setups::TESTS, peers::TESTS, cost::TESTS, disturbances::TESTS]
            .concat()
    {
        trials = trials.needing(missing(), name, test);
    }
    let flawed = Release::Flawed.tool().missing();
    trials.needing(flawed, "setups::a_release_that_extends_revoked_leases_is_refused", setups::flawed_release).main()
}
