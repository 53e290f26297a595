//! What a deployment could do instead, each priced alike.

use super::expand::Step;
use super::figures::Figures;
use super::load::Load;
use super::memory::Memory;
use super::price::{Pricer, Time};
use super::{Deployment, Model, Quantization};
use crate::status::Result;
use serde::Serialize;

/// One thing that could be done, for one batch and length.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lever {
    /// What it is.
    pub name: String,
    /// Sequences of each group.
    pub batch: u64,
    /// Time to the first token.
    pub ttft: Time,
    /// Time for each output token.
    pub tpot: Time,
    /// Output tokens a second of one device.
    pub tokens_per_device_s: f64,
    /// Tokens of cache that fit; 0: not even the weights do. `None` where the part's memory is not known.
    pub cache_tokens: Option<u64>,
}

/// Everything that could be done about a deployment, what it does now first.
///
/// Fails as [`Pricer::kernel`] does.
pub fn levers(model: &Model, deployment: &Deployment, load: &Load, pricer: &mut Pricer) -> Result<Vec<Lever>> {
    let middle = |numbers: &[u64]| numbers.get(numbers.len() / 2).copied().unwrap_or(1);
    let (batch, prompt, context) = (middle(&load.batches), middle(&load.prompts), middle(&load.contexts));
    let mut others: Vec<(String, Deployment, u64)> = vec![("as it is".to_owned(), deployment.clone(), batch)];
    let mut add = |name: String, other: Deployment, batch: u64| others.push((name, other, batch));
    for devices in [1, 2, 4, 8, 16] {
        // Experts over more devices than share a layer's heads are spread as before.
        let other = Deployment { tensor_parallel: devices, ..deployment.clone() };
        if devices != deployment.tensor_parallel {
            add(format!("tensor_parallel={devices}"), other, batch);
        }
    }
    if let Some(experts) = model.experts {
        for devices in
            [1, 8, 16, 32, 64].into_iter().filter(|n| *n != deployment.expert_parallel && *n <= experts.routed)
        {
            add(
                format!("expert_parallel={devices}"),
                Deployment { expert_parallel: devices, ..deployment.clone() },
                batch,
            );
        }
    }
    for quantization in [Quantization::None, Quantization::W8a8, Quantization::W4a16] {
        if quantization != deployment.quantization {
            add(
                format!("quantization={}", quantization.name()),
                Deployment { quantization, ..deployment.clone() },
                batch,
            );
        }
    }
    let not = |on: bool| if on { "without" } else { "with" };
    let Deployment { nz_weights, graph, sequence_parallel, .. } = *deployment;
    add(
        format!("{} weights in FRACTAL_NZ", not(nz_weights)),
        Deployment { nz_weights: !nz_weights, ..deployment.clone() },
        batch,
    );
    add(format!("{} graph mode", not(graph)), Deployment { graph: !graph, ..deployment.clone() }, batch);
    if deployment.tensor_parallel > 1 {
        let other = Deployment { sequence_parallel: !sequence_parallel, ..deployment.clone() };
        add(format!("{} tokens of long prompts cut over the devices", not(sequence_parallel)), other, batch);
    }
    add("twice the batch".to_owned(), deployment.clone(), batch * 2);
    if batch > 1 {
        add("half the batch".to_owned(), deployment.clone(), batch / 2);
    }
    // Degrees that the model's sizes do not allow are no levers.
    let soc = pricer.soc().clone();
    others.retain(|(_, other, _)| other.check(model).is_ok());
    others
        .into_iter()
        .map(|(name, other, batch)| {
            let load = Load { batches: vec![batch], prompts: vec![prompt], contexts: vec![context] };
            let figures = Figures::of(model, &other, &load, pricer)?;
            let tpot = figures.step(Step::decode(batch, context)).map(|step| step.time).unwrap_or_default();
            let ttft = figures.prefill.first().map(|prefill| prefill.ttft).unwrap_or_default();
            let sequences = (batch * other.groups()) as f64;
            let tokens_per_device_s = sequences / tpot.us * 1e6 / other.devices() as f64;
            let cache_tokens = Memory::of(model, &other, &soc).tokens;
            Ok(Lever { name, batch, ttft, tpot, tokens_per_device_s, cache_tokens })
        })
        .collect()
}
