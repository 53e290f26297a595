//! What stands before the first layer and behind the last one.

use super::super::kernel::{Class, Kernel, Pattern, Work, bytes, case, operand};
use super::List;
use crate::graph::DataType;

impl List<'_> {
    /// Rows of the embedding, each device with a part of the vocabulary.
    pub(super) fn embedding(&mut self) {
        let (tokens, hidden) = (self.tokens, self.model.hidden);
        let table = self.activations([self.deployment.head_columns(self.model), hidden]);
        let indices = operand([tokens], DataType::Int32);
        let work = case("GatherV2", vec![table, indices], vec![self.activations([tokens, hidden])]);
        let cold_bytes = bytes(tokens * hidden, self.deployment.dtype);
        let work = Work::Case(work);
        self.push(Kernel { class: Class::Movement, role: "embedding", work, priced: None, cold_bytes, count: 1 });
        self.sum_up("embedding", 1);
        if self.model.family.starts_with("gemma") {
            let x = || self.activations([self.stream_rows(), hidden]);
            self.launch(Class::Movement, "embedding", case("Muls", vec![x()], vec![x()]), 1);
        }
    }

    /// The last token of each sequence, its logits, and one token of them by chance.
    pub(super) fn head(&mut self) {
        let (sequences, hidden, vocabulary) = (self.step.sequences, self.model.hidden, self.model.vocabulary);
        self.gather("head", 1);
        let rows = self.activations([self.tokens, hidden]);
        let indices = operand([sequences], DataType::Int32);
        let last = case("GatherV2", vec![rows, indices], vec![self.activations([sequences, hidden])]);
        self.launch(Class::Movement, "last tokens", last, 1);
        let columns = self.deployment.head_columns(self.model);
        // The head's weights stay as they are: embeddings may share them.
        self.plain_product("head", [sequences, hidden, columns], (false, false), 1);
        self.exchange("head", Pattern::AllGather, sequences * columns * self.tp(), 1);
        if self.model.logits_cap {
            let logits = self.activations([sequences, vocabulary]);
            for op in ["Muls", "Tanh", "Muls"] {
                let work = case(op, vec![logits.clone()], vec![logits.clone()]);
                self.launch(Class::Sampling, "cap of logits", work, 1);
            }
        }
        let all = || operand([sequences, vocabulary], DataType::Float);
        let one = |dtype: DataType| operand([sequences, 1], dtype);
        let cast = case("Cast", vec![self.activations([sequences, vocabulary])], vec![all()]);
        let temperature = case("RealDiv", vec![all(), one(DataType::Float)], vec![all()]);
        let softmax = case("SoftmaxV2", vec![all()], vec![all()]);
        // The largest of probabilities over exponential noise is a draw from them.
        let noise = case("RealDiv", vec![all(), all()], vec![all()]);
        let largest = case("ArgMaxV2", vec![all()], vec![operand([sequences], DataType::Int32)]);
        for work in [cast, temperature, softmax, noise, largest] {
            self.launch(Class::Sampling, "sampling", work, 1);
        }
    }
}
