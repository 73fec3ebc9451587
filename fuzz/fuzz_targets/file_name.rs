//! A file name in the directory of the file backend.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tenure::fuzzing::call("file_name", bytes));
