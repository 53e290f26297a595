//! Layers with experts: routing, the experts' products, and what every token passes beside them.

use super::super::deployment::Quantization;
use super::super::kernel::{Class, Exchange, Kernel, Pattern, Work, bytes, case, operand};
use super::super::model::Experts;
use super::List;
use super::linear::weights;
use crate::graph::DataType;
use serde_json::{Value, json};

/// What the experts of one device work on.
#[derive(Debug, Clone, Copy)]
struct Share {
    /// Experts on the device.
    experts: u64,
    /// Of them, those that some token goes to.
    busy: u64,
    /// Tokens that it routes.
    routed_tokens: u64,
    /// Rows that come to its experts, evenly spread.
    rows: u64,
    /// Columns of an expert that it has.
    width: u64,
}

impl List<'_> {
    /// Adds the kernels of all layers with experts.
    pub(super) fn expert_layers(&mut self) {
        let Some(experts) = self.model.experts else { return };
        let (layers, hidden) = (experts.layers, self.model.hidden);
        let share = self.share(&experts);
        let spread = self.deployment.expert_parallel > 1;
        if !spread || experts.shared > 0 {
            self.gather("experts", layers);
        }
        if experts.shared > 0 {
            self.gated(["shared gate and up", "shared down"], experts.shared / self.tp(), layers);
            if self.model.shared_gate {
                self.shared_gate(layers);
            }
            if spread {
                self.sum_up("shared experts", layers);
            }
        }
        self.choose(&experts, share.routed_tokens);
        self.send(&experts, &share);
        self.grouped_products(&share, layers);
        self.bring_back(&experts, &share);
        if !spread {
            self.sum_up("experts", layers);
        } else if !self.cut {
            self.exchange("experts", Pattern::AllGather, self.tokens * hidden, layers);
        }
        if experts.shared > 0 {
            let rows = if spread { self.stream_rows() } else { self.tokens };
            let x = || self.activations([rows, hidden]);
            let sum = case("Add", vec![x(), x()], vec![x()]);
            self.launch(Class::Routing, "shared and routed", sum, layers);
        }
    }

    /// What every token passes beside its experts, scaled by a number of its own.
    fn shared_gate(&mut self, layers: u64) {
        let (tokens, hidden) = (self.tokens, self.model.hidden);
        self.plain_product("shared gate", [tokens, hidden, 1], (false, false), layers);
        let [x, share] = [hidden, 1].map(|columns| self.activations([tokens, columns]));
        let sigmoid = case("Sigmoid", vec![share.clone()], vec![share.clone()]);
        let scaled = case("Mul", vec![x.clone(), share], vec![x]);
        self.launch(Class::Activation, "shared gate", sigmoid, layers);
        self.launch(Class::Activation, "shared gate", scaled, layers);
    }

    fn share(&self, experts: &Experts) -> Share {
        let ep = self.deployment.expert_parallel;
        let (count, per_token) = (experts.routed, experts.per_token);
        let (routed_tokens, width) = if ep > 1 {
            (self.tokens.div_ceil(self.tp()), experts.width)
        } else {
            (self.tokens, experts.width / self.tp())
        };
        // All devices' tokens together, in even shares of the experts.
        let everywhere = if ep > 1 { routed_tokens * ep } else { routed_tokens };
        let local = count / ep;
        let rows = (everywhere * per_token).div_ceil(ep).max(1);
        // A token misses an expert with the share of those that it does not go to.
        let missed = (1.0 - per_token as f64 / count as f64).powf(everywhere as f64);
        let busy = (local as f64 * (1.0 - missed)).round().clamp(1.0, local as f64) as u64;
        Share { experts: local, busy: busy.min(rows), routed_tokens, rows, width }
    }

    /// Which experts a token goes to.
    fn choose(&mut self, experts: &Experts, tokens: u64) {
        let (count, layers) = (experts.routed, experts.layers);
        self.plain_product("router", [tokens, self.model.hidden, count], (false, false), layers);
        let logits = self.activations([tokens, count]);
        let float = |shape: [u64; 2]| operand(shape, DataType::Float);
        let cast = case("Cast", vec![logits], vec![float([tokens, count])]);
        self.launch(Class::Routing, "router", cast, layers);
        let op = if experts.grouped { "MoeGatingTopK" } else { "MoeGatingTopKSoftmax" };
        let chosen = [tokens, experts.per_token];
        let outputs = vec![float(chosen), operand(chosen, DataType::Int32)];
        self.launch(Class::Routing, "router", case(op, vec![float([tokens, count])], outputs), layers);
    }

    /// Type in which rows travel to the experts.
    fn sent_dtype(&self) -> DataType {
        if self.deployment.quantization == Quantization::W8a8 { DataType::Int8 } else { self.deployment.dtype }
    }

    /// Tokens in the order of their experts, on the devices of these.
    fn send(&mut self, experts: &Experts, share: &Share) {
        let (hidden, layers, dtype) = (self.model.hidden, experts.layers, self.sent_dtype());
        let sent = share.routed_tokens * experts.per_token;
        let exchanged = bytes(sent * hidden, dtype);
        if self.deployment.expert_parallel > 1 && !self.step.prefill {
            self.all_to_all("MoeDistributeDispatchV2", exchanged, layers);
            return;
        }
        let tokens = self.activations([share.routed_tokens, hidden]);
        let chosen = operand([share.routed_tokens, experts.per_token], DataType::Int32);
        let places = operand([sent], DataType::Int32);
        let rows = operand([sent, hidden], dtype);
        let mut outputs = vec![rows.clone(), places];
        if dtype == DataType::Int8 {
            outputs.push(operand([sent], DataType::Float));
        }
        let work = case("MoeInitRoutingV3", vec![tokens, chosen], outputs);
        let alike = case("TensorMove", vec![rows.clone()], vec![rows]);
        self.launch_as(Class::Routing, "to experts", (work, alike), 0, layers);
        if self.deployment.expert_parallel > 1 {
            self.all_to_all("hcom_alltoallv_", exchanged, layers);
            let rows = || operand([share.rows, hidden], dtype);
            let scales = || operand([share.rows], DataType::Float);
            let work = case("MoeReRouting", vec![rows(), scales()], vec![rows(), scales()]);
            self.launch(Class::Routing, "to experts", work, layers);
        }
    }

    /// Results back at their tokens, added up.
    fn bring_back(&mut self, experts: &Experts, share: &Share) {
        let (hidden, layers) = (self.model.hidden, experts.layers);
        let sent = share.routed_tokens * experts.per_token;
        let exchanged = bytes(sent * hidden, self.deployment.dtype);
        if self.deployment.expert_parallel > 1 {
            let op = if self.step.prefill { "hcom_alltoallv_" } else { "MoeDistributeCombineV2" };
            self.all_to_all(op, exchanged, layers);
            if !self.step.prefill {
                return;
            }
        }
        let (tokens, chosen) = (share.routed_tokens, [share.routed_tokens, experts.per_token]);
        let scales = operand(chosen, DataType::Float);
        let places = operand([sent], DataType::Int32);
        let inputs = vec![self.activations([sent, hidden]), places, scales];
        let work = case("MoeFinalizeRoutingV2", inputs, vec![self.activations([tokens, hidden])]);
        self.launch(Class::Routing, "from experts", work, layers);
    }

    /// An exchange by itself, or within a kernel that sorts rows on the way.
    fn all_to_all(&mut self, op: &'static str, bytes: u64, count: u64) {
        let exchange = Exchange { kind: Pattern::AllToAll, devices: self.deployment.expert_parallel, bytes };
        self.exchange_over(op, exchange, count);
    }

    fn grouped_products(&mut self, share: &Share, layers: u64) {
        let Share { rows, width, .. } = *share;
        let hidden = self.model.hidden;
        let int8 = self.deployment.quantization == Quantization::W8a8;
        if !int8 {
            self.grouped_product("experts' gate and up", share, [hidden, 2 * width], self.deployment.dtype, layers);
            self.gate([rows, width], layers);
            self.grouped_product("experts' down", share, [width, hidden], self.deployment.dtype, layers);
            return;
        }
        self.grouped_product("experts' gate and up", share, [hidden, 2 * width], DataType::Int32, layers);
        let scales = || operand([rows], DataType::Float);
        let sums = operand([rows, 2 * width], DataType::Int32);
        let outputs = vec![operand([rows, width], DataType::Int8), scales()];
        let gate = case("DequantSwigluQuant", vec![sums, scales()], outputs);
        let alike = case("SwiGlu", vec![self.activations([rows, 2 * width])], vec![self.activations([rows, width])]);
        self.launch_as(Class::Activation, "gate", (gate, alike), 0, layers);
        self.grouped_product("experts' down", share, [width, hidden], self.deployment.dtype, layers);
    }

    /// Each busy expert's rows with its `k` x `n` weights.
    fn grouped_product(&mut self, role: &'static str, share: &Share, [k, n]: [u64; 2], result: DataType, count: u64) {
        let (x, w) = match self.deployment.quantization {
            Quantization::None => (self.deployment.dtype, self.deployment.dtype),
            Quantization::W8a8 => (DataType::Int8, DataType::Int8),
            Quantization::W4a16 => (self.deployment.dtype, DataType::Int4),
        };
        let matrices = weights(Some(share.experts), [k, n], w, self.deployment.nz_weights);
        let ends = (1..=share.experts).map(|e| share.rows * e / share.experts).collect::<Vec<u64>>();
        let mut launched =
            case("GroupedMatmul", vec![operand([share.rows, k], x), matrices], vec![operand([share.rows, n], result)]);
        launched["attrs"] = json!({"group_list": ends, "split_item": 3});
        let cold_bytes = bytes(share.busy * k * n, w);
        let alike = alike(share, [k, n], [x, w, result]);
        let (work, priced) = (Work::Case(launched), Some(alike));
        self.push(Kernel { class: Class::Grouped, role, work, priced, cold_bytes, count });
    }
}

/// A batch of products, one for each busy expert with its share of the rows.
fn alike(share: &Share, [k, n]: [u64; 2], [x, w, result]: [DataType; 3]) -> Value {
    let rows = share.rows.div_ceil(share.busy);
    let inputs = vec![operand([share.busy, rows, k], x), operand([share.busy, k, n], w)];
    case("GroupedMatmul", inputs, vec![operand([share.busy, rows, n], result)])
}
