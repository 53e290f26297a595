//! Any text as profiling options: options or an error that names them; never a panic.
//!
//! Run with `cargo +nightly fuzz run profiling_options`.
#![no_main]

use aoe::profile::Options;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = Options::parse(text) {
        assert!(error.to_string().contains("profiling_options"), "{error}");
    }
});
