//! The text of a tenure id.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenure::fuzzing::call("tenure_id", bytes));
