//! The side copy of the file backend.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenure::fuzzing::call("side_copy", bytes));
