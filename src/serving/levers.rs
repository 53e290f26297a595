//! What a deployment could do instead, each priced alike.

use super::deployment::CACHE_BLOCK;
use super::figures::Figures;
use super::load::Load;
use super::memory::{Memory, caches_fit};
use super::price::Pricer;
use super::time::Time;
use super::{Deployment, Model, Quantization};
use crate::status::Result;
use serde::Serialize;

/// One thing that could be done, for one batch and length.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lever {
    /// What it is; [`AS_IS`]: the deployment as asked.
    pub name: String,
    /// Sequences of each group, as asked: the row stands beside that of [`AS_IS`] with the same number.
    pub asked_batch: u64,
    /// Sequences of each group with the lever.
    pub batch: u64,
    /// Tokens of a prompt, for `ttft`.
    pub prompt: u64,
    /// Tokens that attention looks back over, for `tpot`.
    pub context: u64,
    /// Time to the first token; `None` where a kernel needs more memory than a device has.
    pub ttft: Option<Time>,
    /// Time for each output token; `None` likewise.
    pub tpot: Option<Time>,
    /// Output tokens a second of one device; `None` likewise.
    pub tokens_per_device_s: Option<f64>,
    /// Tokens of cache that fit; 0: not even the weights do. `None` where the part's memory is not known.
    pub cache_tokens: Option<u64>,
}

/// A lever that has no row, because what it does to a time is not publicly known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unpriced {
    /// What it is.
    pub name: &'static str,
    /// Why it has none, and what is known.
    pub reason: String,
}

/// The levers that have no row.
pub(super) fn unpriced(model: &Model, deployment: &Deployment, load: &Load) -> Vec<Unpriced> {
    let largest = load.batches.iter().max().copied().unwrap_or(1);
    let empty = largest.saturating_mul(CACHE_BLOCK / 2);
    let block = format!(
        "vLLM-Ascend has blocks of {CACHE_BLOCK} tokens only, and what others cost its attention is not published; of memory a \
         smaller one could bring the room of {empty} tokens, half a block of each of {largest} sequences"
    );
    let option = match model.experts {
        None => "this model launches no grouped product, and no other operator of it has one".to_owned(),
        Some(experts) => {
            let rows = |batch: &u64| {
                let everywhere = batch.saturating_mul(deployment.groups()).saturating_mul(experts.per_token);
                everywhere.div_ceil(experts.routed).to_string()
            };
            let [rows, batches] =
                [load.batches.iter().map(rows).collect(), load.batches.iter().map(u64::to_string).collect()]
                    .map(|numbers: Vec<String>| numbers.join(", "));
            format!(
                "it tells the operator how many rows an expert is expected to get ({rows} for output of batches of {batches}), for \
                 which it cuts its tiles; how is not public. One published use saves 4.2 % of the kernel (vllm-ascend 16606)"
            )
        }
    };
    vec![
        Unpriced { name: "block size of the cache", reason: block },
        Unpriced { name: "`tuning_config` of GroupedMatmul", reason: option },
    ]
}

/// The name of the deployment as asked.
pub const AS_IS: &str = "as it is";

/// A deployment to be priced beside the one that was asked for.
struct Other {
    name: String,
    deployment: Deployment,
    /// The batch with it, of the one asked for; `None` where that is none.
    batch: fn(u64) -> Option<u64>,
}

impl Lever {
    /// Whether its weights, the caches of its batch and its kernels fit into the part's memory, as far as that is known.
    #[must_use]
    pub fn fits(&self) -> bool {
        let priced = self.ttft.is_some() && self.tpot.is_some();
        priced && caches_fit(self.cache_tokens, self.batch, self.context)
    }
}

/// Everything that could be done about a deployment, what it does now first: each for every batch of the load and every
/// length. Prompts and contexts go in pairs, in their order; the shorter list's last one stands beside what is left.
///
/// Fails as [`Pricer::kernel`] does.
pub fn levers(model: &Model, deployment: &Deployment, load: &Load, pricer: &mut Pricer) -> Result<Vec<Lever>> {
    let mut rows = Vec::new();
    for other in others(model, deployment, load) {
        let Other { name, deployment, batch: with } = other;
        let asked: Vec<(u64, u64)> = load.batches.iter().filter_map(|&asked| Some((asked, with(asked)?))).collect();
        let load = Load { batches: asked.iter().map(|(_, batch)| *batch).collect(), ..load.clone() };
        let figures = Figures::of(model, &deployment, &load, pricer)?;
        let cache_tokens = Memory::of(model, &deployment, pricer.soc()).tokens;
        let (prompts, contexts) = (&load.prompts, &load.contexts);
        for (asked_batch, batch) in asked {
            for length in 0..prompts.len().max(contexts.len()) {
                let [prompt, context] = [prompts, contexts].map(|lengths| lengths[length.min(lengths.len() - 1)]);
                let prefill = figures.prefill.iter().find(|point| (point.batch, point.prompt) == (batch, prompt));
                let decode = figures.decode.iter().find(|point| (point.batch, point.context) == (batch, context));
                rows.push(Lever {
                    name: name.clone(),
                    asked_batch,
                    batch,
                    prompt,
                    context,
                    ttft: prefill.map(|point| point.ttft),
                    tpot: decode.map(|point| point.tpot),
                    tokens_per_device_s: decode.map(|point| point.tokens_per_s / deployment.devices() as f64),
                    cache_tokens,
                });
            }
        }
    }
    Ok(rows)
}

/// The deployments beside one that a user would think of; the one itself first. Degrees that the model's sizes do not
/// allow are no levers.
fn others(model: &Model, deployment: &Deployment, load: &Load) -> Vec<Other> {
    let same: fn(u64) -> Option<u64> = Some;
    let mut others = vec![Other { name: AS_IS.to_owned(), deployment: deployment.clone(), batch: same }];
    let mut add = |name: String, change: &dyn Fn(&mut Deployment), batch: fn(u64) -> Option<u64>| {
        let mut other = deployment.clone();
        change(&mut other);
        others.push(Other { name, deployment: other, batch });
    };
    for devices in [1, 2, 4, 8, 16].into_iter().filter(|n| *n != deployment.tensor_parallel) {
        // Experts over more devices than share a layer's heads are spread as before.
        add(format!("tensor_parallel={devices}"), &|other| other.tensor_parallel = devices, same);
    }
    let routed = model.experts.map_or(0, |experts| experts.routed);
    for devices in [1, 8, 16, 32, 64].into_iter().filter(|n| *n != deployment.expert_parallel && *n <= routed) {
        add(format!("expert_parallel={devices}"), &|other| other.expert_parallel = devices, same);
    }
    let quantizations = [Quantization::None, Quantization::W8a8, Quantization::W4a16];
    for quantization in quantizations.into_iter().filter(|other| *other != deployment.quantization) {
        add(format!("quantization={}", quantization.name()), &|other| other.quantization = quantization, same);
    }
    // Degree and types together: a smaller type may make a smaller degree enough.
    for devices in [1, 2, 4, 8, 16].into_iter().filter(|n| *n != deployment.tensor_parallel) {
        for quantization in quantizations.into_iter().filter(|other| *other != deployment.quantization) {
            add(
                format!("tensor_parallel={devices} quantization={}", quantization.name()),
                &|other| (other.tensor_parallel, other.quantization) = (devices, quantization),
                same,
            );
        }
    }
    let not = |on: bool| if on { "without" } else { "with" };
    let Deployment { nz_weights, graph, fused, sequence_parallel, tensor_parallel, step_tokens, .. } = *deployment;
    add(format!("{} weights in FRACTAL_NZ", not(nz_weights)), &|other| other.nz_weights = !nz_weights, same);
    add(format!("{} graph mode", not(graph)), &|other| other.graph = !graph, same);
    add(format!("{} fused kernels", not(fused)), &|other| other.fused = !fused, same);
    for tokens in [step_tokens / 2, step_tokens * 2].into_iter().filter(|tokens| load.check(*tokens).is_ok()) {
        add(format!("step_tokens={tokens}"), &|other| other.step_tokens = tokens, same);
    }
    if tensor_parallel > 1 {
        let name = format!("{} tokens of long prompts cut over the devices", not(sequence_parallel));
        add(name, &|other| other.sequence_parallel = !sequence_parallel, same);
    }
    add("twice the batch".to_owned(), &|_| (), |batch| Some(batch * 2));
    add("half the batch".to_owned(), &|_| (), |batch| (batch > 1).then_some(batch / 2));
    others.retain(|other| other.deployment.check(model).is_ok());
    others
}
