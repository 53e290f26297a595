//! What `aoe llm` makes of any bytes as a model's configuration: a sentence about what is wrong, or a model whose steps are
//! priced; never a panic, and no time that is none.
//!
//! Run with `cargo +nightly fuzz run served_model`.
#![no_main]

use aoe::serving::{Deployment, Figures, Load, Memory, Model, Pricer, Quantization};
use aoe::soc::Soc;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static SOC: LazyLock<Soc> = LazyLock::new(|| Soc::find("Ascend910B2").expect("the default part is known"));

fuzz_target!(|data: &[u8]| {
    // The first byte says how it is served.
    let Some((&how, text)) = data.split_first() else { return };
    let Ok(model) = std::str::from_utf8(text).map_err(|_| ()).and_then(|text| Model::parse(text).map_err(|_| ())) else {
        return;
    };
    let deployment = Deployment {
        tensor_parallel: 1 << (how & 3),
        expert_parallel: 1 << (how >> 2 & 3),
        quantization: [Quantization::None, Quantization::W8a8, Quantization::W4a16][usize::from(how >> 4) % 3],
        ..Deployment::default()
    };
    let load = Load { batches: vec![1, 16], prompts: vec![500], contexts: vec![700] };
    if deployment.check(&model).is_err() {
        return;
    }
    let memory = Memory::of(&model, &deployment, &SOC);
    assert!(memory.weights > 0, "a model has weights");
    let Ok(figures) = Figures::of(&model, &deployment, &load, &mut Pricer::new(&SOC)) else { return };
    for time in figures.prefill.iter().map(|step| step.ttft).chain(figures.decode.iter().map(|step| step.tpot)) {
        assert!(time.us.is_finite() && time.us > 0.0, "{time:?}");
        if let Some([low, high]) = time.interval_us {
            assert!(low <= time.us && time.us <= high, "{time:?}");
        }
    }
});
