//! A line of the kernel's table of locks.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenure::fuzzing::call("lock_table", bytes));
