//! Runs seeds.

use std::time::Instant;

use tenure_sim::{Family, Faults, run};

fn main() {
    let seeds: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1000);
    for family in Family::ALL {
        let begin = Instant::now();
        let mut bad = 0;
        let mut counts = [0u64; tenure_sim::Fact::ALL.len()];
        for seed in 0..seeds {
            let history = run(seed, family, Faults::ALL);
            for fact in tenure_sim::Fact::ALL {
                counts[fact as usize] += u64::from(history.count(fact));
            }
            if let Some(violation) = history.violation() {
                bad += 1;
                if bad <= 3 {
                    println!("{} seed {seed}: {violation:?}", family.name());
                    for (t, line) in history.lines().iter().rev().take(6).rev() {
                        println!("   {:.3} {line}", *t as f64 / 1e9);
                    }
                }
            }
        }
        println!(
            "{}: {seeds} seeds, {bad} bad, {:.0}/s {:?}",
            family.name(),
            seeds as f64 / begin.elapsed().as_secs_f64(),
            tenure_sim::Fact::ALL.map(|fact| (fact, counts[fact as usize]))
        );
    }
}
