//! An application that starves its own runtime keeps its leases all the same.

use std::time::{Duration, Instant};

use tenure::Election;
use tenure::backend::memory::MemoryBackend;

#[test]
fn an_application_that_blocks_every_thread_of_its_runtime_for_thirty_seconds_keeps_a_five_second_lease() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let store = MemoryBackend::new();
    let election = Election::new(store.client(), "office").unwrap();
    let rival = Election::new(store.client(), "office").unwrap();
    let tenure = runtime.block_on(async {
        let candidate = election.candidate("busy").lease(Duration::from_secs(5)).build().unwrap();
        candidate.campaign().await.unwrap()
    });
    let rival = rival.candidate("rival").lease(Duration::from_secs(5)).build().unwrap().start().unwrap();
    let begin = Instant::now();
    let busy: Vec<_> = (0..2)
        .map(|_| {
            runtime.spawn(async move {
                while begin.elapsed() < Duration::from_secs(30) {
                    std::hint::spin_loop()
                }
            })
        })
        .collect();
    while begin.elapsed() < Duration::from_secs(30) {
        assert!(tenure.is_held(), "lost after {:?}", begin.elapsed());
        assert!(!rival.is_leader());
        std::thread::sleep(Duration::from_millis(50));
    }
    runtime.block_on(async {
        for task in busy {
            task.await.unwrap();
        }
        tenure.resign().await.unwrap();
    });
}
