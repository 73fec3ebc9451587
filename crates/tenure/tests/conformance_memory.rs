//! The conformance suite on the memory backend whose records have lives of their own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::backend::memory::{Faults, MemoryBackend, Times};
use tenure::conformance::{Harness, Hook, Hooked, Suite};
use tenure::{Backend, Seat};

fn main() {
    Suite::new("memory", Store::default).main()
}

#[derive(Default)]
struct Store {
    first: MemoryBackend,
    faults: Mutex<Vec<Faults>>,
}

impl Store {
    fn faults(&self, client: usize) -> Faults {
        self.faults.lock().unwrap()[client].clone()
    }
}

impl Harness for Store {
    fn hooks() -> &'static [Hook] {
        Hook::ALL
    }

    fn client(&self, number: usize) -> Arc<dyn Backend> {
        let client = self.first.client();
        let mut faults = self.faults.lock().unwrap();
        assert_eq!(faults.len(), number, "clients are asked for one after the other");
        faults.push(client.faults());
        Arc::new(client)
    }

    fn lease(&self) -> Duration {
        Duration::from_millis(800)
    }

    async fn sever(&self, client: usize) -> Hooked {
        self.faults(client).sever();
        Ok(())
    }

    async fn freeze(&self, client: usize) -> Hooked {
        self.faults(client).hang_requests(Times::UntilCleared);
        Ok(())
    }

    async fn mute(&self, client: usize) -> Hooked {
        self.faults(client).lose_answers(Times::UntilCleared);
        Ok(())
    }

    async fn heal(&self, client: usize) -> Hooked {
        self.faults(client).clear();
        Ok(())
    }

    async fn restart(&self) -> Hooked {
        self.first.faults_for_all().sever();
        self.pass(self.lease() / 10).await;
        self.first.faults_for_all().heal();
        Ok(())
    }

    async fn remove(&self, seat: &Seat) -> Hooked {
        self.first.by_hand().remove(seat);
        Ok(())
    }

    async fn overwrite(&self, seat: &Seat) -> Hooked {
        self.first.by_hand().overwrite(seat, "a foreign program", self.lease());
        Ok(())
    }

    async fn wipe(&self) -> Hooked {
        self.first.by_hand().wipe();
        Ok(())
    }
}
