//! Checks small elections exhaustively: every order of messages, every fault within stated bounds, both extremes of every clock.
//!
//! What decides is the machine that production runs ([`tenure::machine`]), stepped here by a model checker instead of a driver; around it are
//! models of a network, of clocks and of stores ([`election`]). The token of Redlock, which no single store gives, is a protocol of its own and
//! is checked beside it ([`redlock`]).
//!
//! ```text
//! cargo run --release -p tenure-checker            # every model, within the bounds of a test run
//! cargo run --release -p tenure-checker -- --deep  # the same with wider bounds
//! ```
//!
//! # What it does not show
//! Worlds beyond the bounds, which each model prints; the driver, the adapters and real stores, which the simulation, the conformance suite
//! and real servers are for. States are told apart by a 64-bit fingerprint, so that two could be taken for one; with the counts printed here
//! the odds of that are below one in ten thousand.
#![forbid(unsafe_code)]

pub mod catalogue;
pub mod election;
pub mod examine;
#[cfg(tenure_mutants)]
pub mod mutants;
pub mod redlock;
