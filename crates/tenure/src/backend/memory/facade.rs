//! What the two forms of the memory store have in common for their users.

/// Gives a backend its constructors, its further clients, its fault hooks and its counters.
macro_rules! facade {
    ($backend:ident, $table:ident, $another:literal, $granting:literal) => {
        impl $backend {
            /// A new store, which nobody else has, on this machine's clock.
            pub fn new() -> Self {
                $backend { client: Client::of_new_store($table::new(), AnyClock::Boot) }
            }

            /// A new store on this clock, such as a [`ManualClock`](crate::ManualClock).
            pub fn with_clock(clock: impl Clock) -> Self {
                $backend { client: Client::of_new_store($table::new(), AnyClock::Custom(Arc::new(clock))) }
            }

            #[doc = $granting]
            #[must_use]
            pub fn granting(self, ttl: Duration) -> Self {
                self.client.store().apply(|table, _, _| table.ledger().grant_always(ttl));
                self
            }

            #[doc = $another]
            #[must_use]
            pub fn client(&self) -> Self {
                $backend { client: self.client.another() }
            }

            /// Faults for the calls of this client.
            pub fn faults(&self) -> Faults {
                self.client.faults()
            }

            /// Faults for the calls of every client of the store.
            pub fn faults_for_all(&self) -> Faults {
                self.client.faults_for_all()
            }

            /// What can be done to the store behind its clients' backs.
            pub fn by_hand(&self) -> ByHand<'_> {
                self.client.by_hand()
            }

            /// The calls that this client made.
            pub fn calls(&self) -> Calls {
                self.client.calls()
            }

            /// The calls that all clients of the store made.
            pub fn calls_of_all(&self) -> Calls {
                self.client.calls_of_all()
            }

            #[cfg(test)]
            pub(super) fn inner(&self) -> &Client<$table> {
                &self.client
            }
        }

        impl Clone for $backend {
            /// The same client once more: one connection, one set of faults, one count of calls.
            fn clone(&self) -> Self {
                $backend { client: self.client.clone() }
            }
        }

        impl Default for $backend {
            fn default() -> Self {
                $backend::new()
            }
        }

        impl fmt::Debug for $backend {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($backend)).field("place", &self.client.place()).finish_non_exhaustive()
            }
        }
    };
}

pub(super) use facade;
