//! Any bytes as the text of a graph that CANN dumped, in either form: an error with its line, or a graph that is one, that
//! lowers or says why not, and that survives being written; never a panic. What is written has the same bytes when it is read
//! from its binary form.
//!
//! Run with `cargo +nightly fuzz run load_dump`.
#![no_main]

use aoe::frontend::{Framework, ModelOptions, air, load_memory};
use aoe::lower::{Settings, lower};
use aoe::soc::Soc;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static SOC: LazyLock<Soc> = LazyLock::new(|| Soc::find("Ascend910B2").expect("the default part is known"));

fuzz_target!(|data: &[u8]| {
    let Ok(message) = air::dump::encode_model(data, "fuzz") else { return };
    let load = |bytes: &[u8]| load_memory(bytes, "fuzz", Some(Framework::Air), &ModelOptions::default());
    let Ok(graph) = load(&message) else { return };
    graph.validate().expect("a graph that was loaded is one");
    let _ = lower(&graph, &SOC, &Settings::default());
    let written = air::encode_model(&graph).expect("a graph that was loaded can be written");
    if air::dump::is_dump(data) {
        let from_text = load(data).expect("text reads as the bytes that it stands for");
        assert_eq!(air::encode_model(&from_text).expect("and is written"), written);
    }
});
