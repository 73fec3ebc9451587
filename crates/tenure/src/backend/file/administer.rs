//! Listing the elections of a directory, asking their holders to resign and evicting them.

use super::names::Names;
use super::{FileBackend, Folder};
use crate::Seat;
use crate::backend::{Administer, Answer, Evicted, Sight};

impl Administer for FileBackend {
    fn list<'a>(&'a self, prefix: &'a str) -> Answer<'a, Vec<(Seat, Sight)>> {
        Box::pin(async move {
            let names = self.blocking(|backend| Folder::open(&backend.path)?.names()).await;
            let names = names.map_err(|error| error.during("list"))?;
            let seats = names.iter().filter_map(|name| Names::election(name));
            let mut seats: Vec<_> = seats.filter(|seat| seat.as_str().starts_with(prefix)).collect();
            seats.sort_unstable();
            let mut found = Vec::with_capacity(seats.len());
            for seat in seats {
                let sight = self.call(&seat, "list", self.options.lock_timeout, |office| office.inspect()).await?;
                found.push((seat, sight));
            }
            Ok(found)
        })
    }

    fn ask_to_resign<'a>(&'a self, seat: &'a Seat) -> Answer<'a, bool> {
        Box::pin(self.call(seat, "ask to resign", self.options.lock_timeout, |office| office.ask_to_resign()))
    }

    /// Contenders then wait the evicted holder's recorded lease from when they first see the bar, unless that holder is proved dead. The bar
    /// of a foreign holder looks like any foreign record, so to evict it again starts the wait anew.
    fn evict<'a>(&'a self, seat: &'a Seat) -> Answer<'a, Evicted> {
        Box::pin(self.call(seat, "evict", self.options.lock_timeout, |office| office.evict()))
    }
}
