//! Work that is done side by side.

use std::sync::Mutex;
use std::thread;

use crate::failure::Failure;

/// Does `work` on all items, so many `at_a_time`, and returns the results in the order of the items.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    at_a_time: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R, Failure> + Sync,
) -> Result<Vec<R>, Failure> {
    let queue = Mutex::new(items.iter().enumerate());
    let done = Mutex::new(Vec::with_capacity(items.len()));
    thread::scope(|scope| {
        for _ in 0..at_a_time {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("no worker panics").next();
                    let Some((index, item)) = next else { break };
                    let result = work(item);
                    done.lock().expect("no worker panics").push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no worker panics");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        let items: Vec<u64> = (0..20).collect();
        let doubled = in_parallel(2, &items, |item| {
            thread::sleep(Duration::from_millis(20 - item));
            Ok(item * 2)
        });
        assert_eq!(doubled, Ok(items.iter().map(|item| item * 2).collect()));
    }

    #[test]
    fn a_failure_comes_out() {
        let outcome = in_parallel(2, &[1, 2, 3], |item| match item {
            2 => Err(Failure::new("two")),
            _ => Ok(()),
        });
        assert_eq!(outcome, Err(Failure::new("two")));
    }
}
