//! Any bytes as GE's IR or as an om file: an error or a graph that is one, that lowers or says why not, and that survives
//! being written; never a panic.
//!
//! Run with `cargo +nightly fuzz run load_air`.
#![no_main]

use aoe::frontend::air::tuned;
use aoe::frontend::{Framework, ModelOptions, air, check, load_memory, om};
use aoe::graph::{Attr, Graph};
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
        check::judge(&graph);
        let written = air::encode_model(&graph).expect("a graph that was loaded can be written");
        let again = air::read(written.clone().into(), "fuzz").expect("what was written can be read");
        assert_eq!(air::encode_model(&again).expect("and written again"), written);
        om::encode_graph(&graph).expect("in a container too");
        plant(graph, data);
    }
});

/// Gives a graph attributes of a tuned one, as the data has it: what is read back is an error or the same.
fn plant(mut graph: Graph, data: &[u8]) {
    graph.attrs.set(tuned::SOC_VERSION, Attr::Str("Ascend910B2".into()));
    let nodes: Vec<_> = graph.iter().map(|(id, _)| id).collect();
    for chunk in data.chunks_exact(8).take(nodes.len()) {
        let (name, node) = (tuned::OF_NODES[usize::from(chunk[0]) % tuned::OF_NODES.len()], usize::from(chunk[1]));
        let number = i64::from_le_bytes([0, 0, 0, chunk[4], chunk[5], chunk[6], chunk[7], 0]) >> (chunk[2] % 64);
        let text = String::from_utf8_lossy(&chunk[4..]).into_owned();
        let value = match chunk[3] % 4 {
            0 => Attr::Int(number),
            1 => Attr::Bool(number & 1 != 0),
            2 => Attr::Str(text),
            _ => Attr::Strs(vec![text]),
        };
        graph.node_mut(nodes[node % nodes.len()]).attrs.set(name, value);
    }
    let written = air::encode_model(&graph).expect("attributes of any kind can be written");
    if let Ok(again) = air::read(written.clone().into(), "fuzz") {
        assert_eq!(air::encode_model(&again).expect("and written again"), written);
    }
}
