//! The lease file of the file backend, ours or a foreign program's.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenure::fuzzing::call("lease_file", bytes));
