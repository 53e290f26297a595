//! A step of a served model as the kernels that the serving stack launches for it.
//!
//! The lists are those of vLLM-Ascend with its graph fusions. Layers that repeat are counted.

mod attention;
mod edges;
mod experts;
mod feed_forward;
mod latent;
mod linear;
#[cfg(test)]
mod tests;

use super::deployment::Deployment;
use super::kernel::{Class, Exchange, Kernel, Pattern, Work, bytes, case, operand};
use super::model::{Attention, Model};
use crate::soc::Arch;
use serde::Serialize;
use serde_json::Value;

/// One step of the engine, as each group of devices sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Step {
    /// Whether prompts are read, else one token of each sequence is made.
    pub prefill: bool,
    /// Sequences in it.
    pub sequences: u64,
    /// New tokens of each.
    pub tokens_each: u64,
    /// Tokens of each that attention looks at, the new ones included.
    pub context: u64,
}

impl Step {
    /// A step that makes one token of each sequence.
    pub const fn decode(sequences: u64, context: u64) -> Step {
        Step { prefill: false, sequences, tokens_each: 1, context }
    }

    /// A step that reads so many tokens of each prompt, which then has `context`.
    pub const fn prefill(sequences: u64, tokens_each: u64, context: u64) -> Step {
        Step { prefill: true, sequences, tokens_each, context }
    }

    /// New tokens.
    pub const fn tokens(&self) -> u64 {
        self.sequences * self.tokens_each
    }
}

/// The kernels of a step on such a part, each kind once with its count.
pub fn kernels(model: &Model, deployment: &Deployment, step: Step, arch: Arch) -> Vec<Kernel> {
    let cut = step.prefill && deployment.cuts_tokens(step.tokens());
    let tp = deployment.tensor_parallel;
    let tokens = if cut { step.tokens().next_multiple_of(tp) } else { step.tokens() };
    let mut list = List { model, deployment, step, arch, cut, tokens, kernels: Vec::new() };
    list.embedding();
    list.norms();
    match model.attention {
        Attention::Grouped { heads, kv_heads, width } => {
            list.grouped_attention(heads / tp, kv_heads.div_ceil(tp), width);
        }
        Attention::Latent { .. } => list.latent_attention(),
    }
    list.feed_forward_layers();
    list.expert_layers();
    list.head();
    list.kernels
}

/// The kernels so far, and what decides the next ones.
struct List<'a> {
    model: &'a Model,
    deployment: &'a Deployment,
    step: Step,
    /// How the part's cores are built, which decides between versions of operators.
    arch: Arch,
    /// The residual stream is cut over the devices between blocks.
    cut: bool,
    /// New tokens, padded where they are cut.
    tokens: u64,
    kernels: Vec<Kernel>,
}

impl List<'_> {
    fn tp(&self) -> u64 {
        self.deployment.tensor_parallel
    }

    /// Rows of the residual stream on one device.
    fn stream_rows(&self) -> u64 {
        if self.cut { self.tokens / self.tp() } else { self.tokens }
    }

    /// An operand of the activations' type.
    fn activations(&self, shape: impl Into<Vec<u64>>) -> Value {
        operand(shape, self.deployment.dtype)
    }

    /// Adds a kernel; one that is there already is launched so often more.
    fn push(&mut self, kernel: Kernel) {
        let same = |k: &&mut Kernel| (k.role, &k.work, k.cold_bytes) == (kernel.role, &kernel.work, kernel.cold_bytes);
        if kernel.count == 0 {
            return;
        }
        match self.kernels.iter_mut().find(same) {
            Some(known) => known.count += kernel.count,
            None => self.kernels.push(kernel),
        }
    }

    /// Adds a kernel that works on activations only.
    fn launch(&mut self, class: Class, role: &'static str, work: Value, count: u64) {
        self.push(Kernel { class, role, work: Work::Case(work), priced: None, cold_bytes: 0, count });
    }

    /// Adds a kernel that is priced as another case.
    fn launch_as(
        &mut self,
        class: Class,
        role: &'static str,
        (work, priced): (Value, Value),
        cold_bytes: u64,
        count: u64,
    ) {
        self.push(Kernel { class, role, work: Work::Case(work), priced: Some(priced), cold_bytes, count });
    }

    /// Adds an exchange of so many elements of the activations' type over the devices of a layer.
    fn exchange(&mut self, role: &'static str, kind: Pattern, elements: u64, count: u64) {
        let bytes = bytes(elements, self.deployment.dtype);
        self.exchange_over(role, Exchange { kind, devices: self.tp(), bytes }, count);
    }

    fn exchange_over(&mut self, role: &'static str, exchange: Exchange, count: u64) {
        if exchange.devices > 1 {
            let work = Work::Exchange(exchange);
            self.push(Kernel { class: Class::Exchange, role, work, priced: None, cold_bytes: 0, count });
        }
    }

    /// Adds what brings the parts of a block's result together.
    fn sum_up(&mut self, role: &'static str, count: u64) {
        let kind = if self.cut { Pattern::ReduceScatter } else { Pattern::AllReduce };
        self.exchange(role, kind, self.tokens * self.model.hidden, count);
    }

    /// Adds what gives every device all tokens before a block.
    fn gather(&mut self, role: &'static str, count: u64) {
        if self.cut {
            self.exchange(role, Pattern::AllGather, self.tokens * self.model.hidden, count);
        }
    }

    /// The norms of the residual stream: the first reads what the embedding gave, all others add a block's result, the
    /// last of them behind the last layer.
    fn norms(&mut self) {
        let (rows, hidden, layers) = (self.stream_rows(), self.model.hidden, self.model.layers);
        let x = || self.activations([rows, hidden]);
        let weight = self.activations([hidden]);
        let statistic = operand([rows, 1], crate::graph::DataType::Float);
        let gemma = self.model.family.starts_with("gemma");
        let plain = if gemma { "GemmaRmsNorm" } else { "RmsNorm" };
        let first = case(plain, vec![x(), weight.clone()], vec![x(), statistic.clone()]);
        let adding = if gemma || !self.deployment.fused {
            // There is no kernel that adds and then scales by one more than the weight, as Gemma's norm does.
            None
        } else {
            Some(case("AddRmsNormBias", vec![x(), x(), weight], vec![x(), statistic, x()]))
        };
        let sum = case("Add", vec![x(), x()], vec![x()]);
        self.launch(Class::Norm, "norm", first.clone(), 1);
        if let Some(adding) = adding {
            self.launch(Class::Norm, "norm", adding, 2 * layers);
        } else {
            self.launch(Class::Norm, "norm", sum, 2 * layers);
            self.launch(Class::Norm, "norm", first.clone(), 2 * layers);
        }
        if self.model.post_norms {
            self.launch(Class::Norm, "post norm", first, 2 * layers);
        }
    }
}
