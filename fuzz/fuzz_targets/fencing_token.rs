//! The text of a fencing token.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenure::fuzzing::call("fencing_token", bytes));
