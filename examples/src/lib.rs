//! Nothing to call: the examples are programs beside this crate, and the Rust code of the documentation is compiled and run from here.

/// Each page as a doc comment, so that its code is tested as such.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../README.md")]
    mod readme {}

    #[doc = include_str!("../../docs/architecture.md")]
    mod architecture {}

    #[doc = include_str!("../../docs/backends/etcd.md")]
    mod backends_etcd {}

    #[doc = include_str!("../../docs/backends/file.md")]
    mod backends_file {}

    #[doc = include_str!("../../docs/backends/redis.md")]
    mod backends_redis {}

    #[doc = include_str!("../../docs/behaviours.md")]
    mod behaviours {}

    #[doc = include_str!("../../docs/fencing.md")]
    mod fencing {}

    #[doc = include_str!("../../docs/guarantees.md")]
    mod guarantees {}

    #[doc = include_str!("../../docs/supervising.md")]
    mod supervising {}

    #[doc = include_str!("../../docs/timing.md")]
    mod timing {}

    #[doc = include_str!("../../docs/writing-a-backend.md")]
    mod writing_a_backend {}
}
