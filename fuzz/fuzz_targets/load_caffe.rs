//! Any bytes as a prototxt: an error or a graph that is one, that lowers or says why not; never a panic.
//!
//! Run with `cargo +nightly fuzz run load_caffe`.
#![no_main]

use aoe::frontend::{Framework, ModelOptions, load_memory};
use aoe::lower::{Settings, lower};
use aoe::soc::Soc;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static SOC: LazyLock<Soc> = LazyLock::new(|| Soc::find("Ascend910B2").expect("the default part is known"));

fuzz_target!(|data: &[u8]| {
    let Ok(graph) = load_memory(data, "fuzz", Some(Framework::Caffe), &ModelOptions::default()) else { return };
    graph.validate().expect("a graph that was loaded is one");
    let _ = lower(&graph, &SOC, &Settings::default());
});
