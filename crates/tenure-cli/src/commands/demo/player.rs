//! The demo as a script, for whoever has no terminal: what is done, and what comes of it.

use std::thread;
use std::time::{Duration, Instant};

use super::stage::{Part, Stage, TTL};
use crate::duration::shown;
use crate::exit::{Exit, Origin};
use crate::output::line;

/// Plays it to the end.
pub(crate) fn play(mut stage: Stage) -> Result<(), Exit> {
    line(&format!("Three candidates run for one office on {}; the lease is {}.", stage.place(), shown(TTL)))?;
    let first = leader(&mut stage, &[])?;
    led(&stage, first)?;
    settle(&mut stage, first)?;

    line(&format!("\n{}, the leader, is killed (SIGKILL).", stage.candidates[first].name))?;
    stage.candidates[first].kill();
    let begin = Instant::now();
    let second = leader(&mut stage, &[first])?;
    led(&stage, second)?;
    line(&format!(
        "That took {}: its guardian ended its command and gave the office up. Nobody waited for a lease.",
        shown(begin.elapsed())
    ))?;
    settle(&mut stage, second)?;

    line(&format!("\n{}, the leader, is frozen (SIGSTOP).", stage.candidates[second].name))?;
    stage.candidates[second].freeze();
    let begin = Instant::now();
    let third = leader(&mut stage, &[first, second])?;
    led(&stage, third)?;
    let took = shown(begin.elapsed());
    line(&format!(
        "That took {took}: the guardian waited for the deadline, and ended the command before another began."
    ))?;

    line(&format!("\n{} is thawed.", stage.candidates[second].name))?;
    stage.candidates[second].thaw();
    until(&mut stage, |stage| (stage.candidates[second].heard().part == Part::Waiting).then_some(()))?;
    line(&format!("{} finds that it does not lead any more, and waits its turn.", stage.candidates[second].name))?;
    let third = &stage.candidates[third];
    line(&format!("{} still leads with token {}.", third.name, third.heard().token.unwrap_or_default()))?;
    line("\nAll are stopped, and nothing is left running.")
}

fn led(stage: &Stage, number: usize) -> Result<(), Exit> {
    let candidate = &stage.candidates[number];
    line(&format!("{} leads with token {}.", candidate.name, candidate.heard().token.unwrap_or_default()))
}

/// Whoever leads next; those who did before do not count.
fn leader(stage: &mut Stage, before: &[usize]) -> Result<usize, Exit> {
    until(stage, |stage| stage.leader().filter(|number| !before.contains(number)))
}

/// Lets the leader's command start, and the others find out who leads.
fn settle(stage: &mut Stage, number: usize) -> Result<(), Exit> {
    until(stage, |stage| {
        let others =
            stage.candidates.iter().enumerate().filter(|(other, candidate)| *other != number && candidate.is_alive());
        let all_wait = others.into_iter().all(|(_, candidate)| candidate.heard().part == Part::Waiting);
        (all_wait && stage.candidates[number].heard().command.is_some()).then_some(())
    })
}

fn until<T>(stage: &mut Stage, mut look: impl FnMut(&Stage) -> Option<T>) -> Result<T, Exit> {
    let begin = Instant::now();
    loop {
        stage.reap();
        if let Some(found) = look(stage) {
            return Ok(found);
        }
        if begin.elapsed() > TTL * 5 {
            return Err(Exit::new(
                Origin::Internal,
                "the candidates do not answer; try it on a machine with less to do",
            ));
        }
        thread::sleep(Duration::from_millis(2));
    }
}
