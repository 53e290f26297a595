//! Any bytes as a model: an error or a graph, never a panic.
//!
//! Run with `cargo +nightly fuzz run load_memory fuzz/corpus/load_memory examples/models`.
#![no_main]

use aoe::frontend::{InputOptions, load_memory};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let options = InputOptions { batch: data.first().map(|&b| i64::from(b) - 1), ..InputOptions::default() };
    for options in [InputOptions::default(), options] {
        if let Ok(graph) = load_memory(data, "fuzz", None, &options) {
            graph.validate().expect("a graph that was loaded is one");
        }
    }
});
