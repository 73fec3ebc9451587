//! A lease file with a seal that is right, whatever stands before it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenure::fuzzing::call("sealed_lease_file", bytes));
