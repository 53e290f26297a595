//! Any bytes as GE's IR or as an om file: an error or a graph that is one, that lowers or says why not, and that survives
//! being written; never a panic.
//!
//! Run with `cargo +nightly fuzz run load_air`.
#![no_main]

use aoe::frontend::{Framework, ModelOptions, air, load_memory, om};
use aoe::lower::{Settings, lower};
use aoe::soc::Soc;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static SOC: LazyLock<Soc> = LazyLock::new(|| Soc::find("Ascend910B2").expect("the default part is known"));

fuzz_target!(|data: &[u8]| {
    for framework in [Framework::Air, Framework::Om] {
        let Ok(graph) = load_memory(data, "fuzz", Some(framework), &ModelOptions::default()) else { continue };
        graph.validate().expect("a graph that was loaded is one");
        let _ = lower(&graph, &SOC, &Settings::default());
        let written = air::encode_model(&graph).expect("a graph that was loaded can be written");
        let again = air::read(written.clone().into(), "fuzz").expect("what was written can be read");
        assert_eq!(air::encode_model(&again).expect("and written again"), written);
        om::encode_graph(&graph).expect("in a container too");
    }
});
