//! The name of a candidate.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenure::fuzzing::call("candidate_name", bytes));
