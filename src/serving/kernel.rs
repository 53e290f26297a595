//! A kernel that the serving stack launches: a case of the simulator, or an exchange between devices.

use crate::graph::DataType;
pub(super) use crate::kernels::{bytes, operand_bytes};
use serde::Serialize;
use serde_json::{Value, json};

/// What kernels are for; times are summed by this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Products with weights.
    Product,
    /// Products of experts, each with weights of its own.
    Grouped,
    /// Attention over the cache or the prompt.
    Attention,
    /// Norms, with the sum before them.
    Norm,
    /// Rotation of queries and keys, with their norms where these are fused.
    Rotary,
    /// Gates of feed-forward layers.
    Activation,
    /// Choosing experts, sending tokens there in memory, and bringing them back.
    Routing,
    /// Quantisation by itself.
    Quantize,
    /// The cache's new rows, embeddings, copies.
    Movement,
    /// From logits to a token.
    Sampling,
    /// Exchange between devices.
    Exchange,
}

impl Class {
    /// Its word in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Product => "product",
            Class::Grouped => "grouped",
            Class::Attention => "attention",
            Class::Norm => "norm",
            Class::Rotary => "rotary",
            Class::Activation => "activation",
            Class::Routing => "routing",
            Class::Quantize => "quantize",
            Class::Movement => "movement",
            Class::Sampling => "sampling",
            Class::Exchange => "exchange",
        }
    }
}

/// An exchange between devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Exchange {
    /// What is made.
    pub kind: Pattern,
    /// Devices that take part.
    pub devices: u64,
    /// Bytes of the whole buffer that each device has in the end, or at the beginning of a scatter.
    pub bytes: u64,
}

/// What an exchange makes of the devices' buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Everyone gets the sum.
    AllReduce,
    /// Everyone gets all parts.
    AllGather,
    /// Everyone gets a part of the sum.
    ReduceScatter,
    /// Everyone gets a part of each.
    AllToAll,
}

/// What one launch does.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// A case of the simulator, without `soc` and without where its operands lie.
    Case(Value),
    /// An exchange.
    Exchange(Exchange),
}

/// One kind of launch in a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    /// What it is for.
    pub class: Class,
    /// Which part of the model it belongs to.
    pub role: &'static str,
    /// What it does.
    pub work: Work,
    /// A case of the same work, where the simulator reads that of the launched kernel otherwise: kernels that are none
    /// of CANN's operators, and those whose operands do not show how they compute.
    pub priced: Option<Value>,
    /// Bytes that lie in device memory whatever ran before: weights and caches.
    pub cold_bytes: u64,
    /// Launches in a step.
    pub count: u64,
}

impl Kernel {
    /// The case that it is priced as; `None` for an exchange.
    pub(super) fn priced_case(&self) -> Option<&Value> {
        match &self.work {
            Work::Case(launched) => Some(self.priced.as_ref().unwrap_or(launched)),
            Work::Exchange(_) => None,
        }
    }

    /// The operator's type; of exchanges HCCL's.
    pub fn op_type(&self) -> &str {
        match &self.work {
            Work::Case(case) => case["op"].as_str().unwrap_or_default(),
            Work::Exchange(exchange) => match exchange.kind {
                Pattern::AllReduce => "hcom_allReduce_",
                Pattern::AllGather => "hcom_allGather_",
                Pattern::ReduceScatter => "hcom_reduceScatter_",
                Pattern::AllToAll => "hcom_alltoallv_",
            },
        }
    }
}

/// An operand of a kernel.
pub(super) fn operand(shape: impl Into<Vec<u64>>, dtype: DataType) -> Value {
    json!({"shape": shape.into(), "dtype": dtype.name(), "format": "ND"})
}

/// A matrix of weights in blocks: `k` x `n` stored as `[n / 32, k / 16, 16, 32]` for int8.
pub(super) fn fractal(batch: Option<u64>, k: u64, n: u64, dtype: DataType) -> Value {
    let c0 = 256 / u64::from(dtype.bits());
    let mut shape: Vec<u64> = batch.into_iter().collect();
    shape.extend([n.div_ceil(c0), k.div_ceil(16), 16, c0]);
    json!({"shape": shape, "dtype": dtype.name(), "format": "FRACTAL_NZ"})
}

/// A case by its operands.
#[expect(clippy::needless_pass_by_value, reason = "callers make the operands for it")]
pub(super) fn case(op: &str, inputs: Vec<Value>, outputs: Vec<Value>) -> Value {
    json!({"op": op, "inputs": inputs, "outputs": outputs})
}
