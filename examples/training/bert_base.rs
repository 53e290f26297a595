//! BERT-base with a classifier of two classes: 201 gradients.

use super::net::Net;
use aoe::graph::{Attr, DataType, Graph, Port};
use aoe::status::Result;

const LAYERS: usize = 12;
const HIDDEN: i64 = 768;
const HEADS: i64 = 12;
const INNER: i64 = 3072;
const VOCABULARY: i64 = 30_522;
const POSITIONS: i64 = 512;
const CLASSES: i64 = 2;

/// The training graph for a batch of so many sequences of so many tokens: float16 work, float32 weights and gradients.
pub fn graph(batch: i64, tokens: i64) -> Result<Graph> {
    let mut bert = Bert { net: Net::new("bert_base")?, batch, tokens };
    let embedded = bert.embed()?;
    let mut x = embedded.norm.result;
    let mut layers = Vec::new();
    for number in 0..LAYERS {
        let layer = bert.layer(&format!("layer{number}"), x)?;
        x = layer.norms[1].result;
        layers.push(layer);
    }
    let (loss, mut gradient) = bert.classify(x)?;
    for layer in layers.iter().rev() {
        gradient = bert.layer_gradient(layer, gradient)?;
    }
    bert.embed_gradient(&embedded, gradient)?;
    bert.net.finish(loss)
}

/// `x` times weights, plus a bias.
struct Linear {
    name: String,
    x: Port,
    weights: Port,
    matrix: Port,
    bias: Port,
    result: Port,
}

/// A layer norm over each token.
struct Norm {
    name: String,
    x: Port,
    scale: Port,
    shift: Port,
    scale16: Port,
    mean: Port,
    variance: Port,
    result: Port,
}

struct Embedded {
    /// Weights, how many, and the ids that pick them.
    tables: [(Port, i64, Port); 3],
    norm: Norm,
}

struct Layer {
    name: String,
    /// Query, key, value, and what goes out.
    linear: [Linear; 4],
    /// Query, key and value by head.
    heads: [Port; 3],
    weights: Port,
    inner: Linear,
    active: Port,
    outer: Linear,
    norms: [Norm; 2],
}

struct Bert {
    net: Net,
    batch: i64,
    tokens: i64,
}

impl Bert {
    fn rows(&self) -> i64 {
        self.batch * self.tokens
    }

    fn linear(&mut self, name: &str, x: Port, [from, to]: [i64; 2]) -> Result<Linear> {
        let net = &mut self.net;
        let weights = net.weights(&format!("{name}/weights"), &[from, to])?;
        let bias = net.weights(&format!("{name}/bias"), &[to])?;
        let matrix = net.cast(&format!("{name}/weights/fp16"), weights, DataType::Float16)?;
        let offset = net.cast(&format!("{name}/bias/fp16"), bias, DataType::Float16)?;
        let product = net.product(name, [x, matrix], [false, false])?;
        let result = net.op(&format!("{name}/add"), "Add", &[product, offset], &[])?;
        Ok(Linear { name: name.to_owned(), x, weights, matrix, bias, result })
    }

    fn linear_gradient(&mut self, linear: &Linear, gradient: Port) -> Result<Port> {
        let (net, name) = (&mut self.net, format!("gradients/{}", linear.name));
        let axes = [("axes", Attr::Ints(vec![0])), ("keep_dims", Attr::Bool(false))];
        let sum = net.op(&format!("{name}/bias"), "ReduceSumD", &[gradient], &axes)?;
        let sum = net.cast(&format!("{name}/bias/fp32"), sum, DataType::Float)?;
        net.exchange(linear.bias, sum)?;
        let weights = net.product(&format!("{name}/weights"), [linear.x, gradient], [true, false])?;
        let weights = net.cast(&format!("{name}/weights/fp32"), weights, DataType::Float)?;
        net.exchange(linear.weights, weights)?;
        net.product(&format!("{name}/input"), [gradient, linear.matrix], [false, true])
    }

    fn norm(&mut self, name: &str, x: Port) -> Result<Norm> {
        let net = &mut self.net;
        let scale = net.weights(&format!("{name}/gamma"), &[HIDDEN])?;
        let shift = net.weights(&format!("{name}/beta"), &[HIDDEN])?;
        let scale16 = net.cast(&format!("{name}/gamma/fp16"), scale, DataType::Float16)?;
        let shift16 = net.cast(&format!("{name}/beta/fp16"), shift, DataType::Float16)?;
        let attrs = [("begin_norm_axis", Attr::Int(1)), ("begin_params_axis", Attr::Int(1))];
        let normed = net.ops(name, "LayerNorm", &[x, scale16, shift16], &attrs, 3)?;
        let (result, mean, variance) = (normed[0], normed[1], normed[2]);
        Ok(Norm { name: name.to_owned(), x, scale, shift, scale16, mean, variance, result })
    }

    fn norm_gradient(&mut self, norm: &Norm, gradient: Port) -> Result<Port> {
        let (net, name) = (&mut self.net, format!("gradients/{}", norm.name));
        let inputs = [gradient, norm.x, norm.variance, norm.mean];
        let attrs = [("shape_gamma", Attr::Ints(vec![HIDDEN]))];
        let sums = net.ops(&format!("{name}/weights"), "LayerNormBetaGammaBackprop", &inputs, &attrs, 2)?;
        net.exchange(norm.scale, sums[0])?;
        net.exchange(norm.shift, sums[1])?;
        let inputs = [gradient, norm.x, norm.variance, norm.mean, norm.scale16];
        net.op(&format!("{name}/input"), "LayerNormXBackprop", &inputs, &[])
    }

    fn embed(&mut self) -> Result<Embedded> {
        let rows = self.rows();
        let mut table = |name: &str, count: i64| -> Result<((Port, i64, Port), Port)> {
            let net = &mut self.net;
            let weights = net.weights(&format!("embeddings/{name}/weights"), &[count, HIDDEN])?;
            let ids = net.input(&format!("{name}_ids"), DataType::Int32, &[rows])?;
            let half = net.cast(&format!("embeddings/{name}/fp16"), weights, DataType::Float16)?;
            let axis = [("axis", Attr::Int(0))];
            let picked = net.op(&format!("embeddings/{name}"), "GatherV2D", &[half, ids], &axis)?;
            Ok(((weights, count, ids), picked))
        };
        let (words, word) = table("word", VOCABULARY)?;
        let (positions, position) = table("position", POSITIONS)?;
        let (types, kind) = table("type", 2)?;
        let sum = self.net.op("embeddings/add", "Add", &[word, position], &[])?;
        let sum = self.net.op("embeddings/add_1", "Add", &[sum, kind], &[])?;
        Ok(Embedded { tables: [words, positions, types], norm: self.norm("embeddings/norm", sum)? })
    }

    fn embed_gradient(&mut self, embedded: &Embedded, gradient: Port) -> Result<()> {
        let gradient = self.norm_gradient(&embedded.norm, gradient)?;
        for ((weights, count, ids), name) in embedded.tables.iter().zip(["word", "position", "type"]).rev() {
            let name = format!("gradients/embeddings/{name}");
            let attrs = [("num_weights", Attr::Int(*count))];
            let sum = self.net.op(&name, "EmbeddingDenseGrad", &[gradient, *ids], &attrs)?;
            let sum = self.net.cast(&format!("{name}/fp32"), sum, DataType::Float)?;
            self.net.exchange(*weights, sum)?;
        }
        Ok(())
    }

    /// Rows as heads: [rows, hidden] to [batch, heads, tokens, depth].
    fn split(&mut self, name: &str, x: Port) -> Result<Port> {
        let size = self.net.numbers(&format!("{name}/size"), &[self.batch, self.tokens, HEADS, HIDDEN / HEADS])?;
        let x = self.net.op(&format!("{name}/reshape"), "Reshape", &[x, size], &[])?;
        self.net.op(&format!("{name}/split"), "TransposeD", &[x], &[("perm", Attr::Ints(vec![0, 2, 1, 3]))])
    }

    /// The way back.
    fn join(&mut self, name: &str, x: Port) -> Result<Port> {
        let x = self.net.op(&format!("{name}/join"), "TransposeD", &[x], &[("perm", Attr::Ints(vec![0, 2, 1, 3]))])?;
        let size = self.net.numbers(&format!("{name}/rows"), &[self.rows(), HIDDEN])?;
        self.net.op(&format!("{name}/reshape_back"), "Reshape", &[x, size], &[])
    }

    fn layer(&mut self, name: &str, x: Port) -> Result<Layer> {
        let linear = |bert: &mut Bert, part: &str, x| bert.linear(&format!("{name}/{part}"), x, [HIDDEN, HIDDEN]);
        let query = linear(self, "query", x)?;
        let key = linear(self, "key", x)?;
        let value = linear(self, "value", x)?;
        let mut heads = [query.result, key.result, value.result];
        for (head, part) in heads.iter_mut().zip(["query", "key", "value"]) {
            *head = self.split(&format!("{name}/{part}"), *head)?;
        }
        let [q, k, v] = heads;
        let scores = self.net.products(&format!("{name}/scores"), [q, k], [false, true])?;
        let scale = [("value", Attr::Float(0.125))];
        let scaled = self.net.op(&format!("{name}/scale"), "Muls", &[scores], &scale)?;
        let weights = self.net.op(&format!("{name}/softmax"), "SoftmaxV2", &[scaled], &[])?;
        let context = self.net.products(&format!("{name}/context"), [weights, v], [false, false])?;
        let context = self.join(&format!("{name}/context"), context)?;
        let out = linear(self, "out", context)?;
        let sum = self.net.op(&format!("{name}/add"), "Add", &[out.result, x], &[])?;
        let first = self.norm(&format!("{name}/norm1"), sum)?;
        let inner = self.linear(&format!("{name}/inner"), first.result, [HIDDEN, INNER])?;
        let active = self.net.op(&format!("{name}/gelu"), "Gelu", &[inner.result], &[])?;
        let outer = self.linear(&format!("{name}/outer"), active, [INNER, HIDDEN])?;
        let sum = self.net.op(&format!("{name}/add_1"), "Add", &[outer.result, first.result], &[])?;
        let second = self.norm(&format!("{name}/norm2"), sum)?;
        let (linear, norms) = ([query, key, value, out], [first, second]);
        Ok(Layer { name: name.to_owned(), linear, heads, weights, inner, active, outer, norms })
    }

    fn layer_gradient(&mut self, layer: &Layer, gradient: Port) -> Result<Port> {
        let name = format!("gradients/{}", layer.name);
        let sum = self.norm_gradient(&layer.norms[1], gradient)?;
        let outer = self.linear_gradient(&layer.outer, sum)?;
        let inputs = [outer, layer.inner.result, layer.active];
        let active = self.net.op(&format!("{name}/gelu"), "GeluGrad", &inputs, &[])?;
        let inner = self.linear_gradient(&layer.inner, active)?;
        let sum = self.net.op(&format!("{name}/add"), "Add", &[sum, inner], &[])?;
        let sum = self.norm_gradient(&layer.norms[0], sum)?;
        let [query, key, value, out] = &layer.linear;
        let context = self.linear_gradient(out, sum)?;
        let context = self.split(&format!("{name}/context"), context)?;
        let [q, k, v] = layer.heads;
        let values = self.net.products(&format!("{name}/value"), [layer.weights, context], [true, false])?;
        let weights = self.net.products(&format!("{name}/weights"), [context, v], [false, true])?;
        let scores = self.net.op(&format!("{name}/softmax"), "SoftmaxGrad", &[layer.weights, weights], &[])?;
        let scores = self.net.op(&format!("{name}/scale"), "Muls", &[scores], &[("value", Attr::Float(0.125))])?;
        let queries = self.net.products(&format!("{name}/query"), [scores, k], [false, false])?;
        let keys = self.net.products(&format!("{name}/key"), [scores, q], [true, false])?;
        let mut total = sum;
        for (linear, gradient, part) in [(value, values, "value"), (key, keys, "key"), (query, queries, "query")] {
            let rows = self.join(&format!("{name}/{part}"), gradient)?;
            let input = self.linear_gradient(linear, rows)?;
            total = self.net.op(&format!("{name}/add_{part}"), "Add", &[total, input], &[])?;
        }
        Ok(total)
    }

    /// The classifier and its loss; answers the loss and the gradient of its input.
    fn classify(&mut self, x: Port) -> Result<(Port, Port)> {
        let size = self.net.numbers("first/size", &[self.batch, self.tokens * HIDDEN])?;
        let lines = self.net.op("first/reshape", "Reshape", &[x, size], &[])?;
        let part = [("offsets", Attr::Ints(vec![0, 0])), ("size", Attr::Ints(vec![self.batch, HIDDEN]))];
        let first = self.net.op("first", "SliceD", &[lines], &part)?;
        let dense = self.linear("pooler", first, [HIDDEN, HIDDEN])?;
        let pooled = self.net.op("pooler/tanh", "Tanh", &[dense.result], &[])?;
        let classifier = self.linear("classifier", pooled, [HIDDEN, CLASSES])?;
        let labels = self.net.input("labels", DataType::Float16, &[self.batch, CLASSES])?;
        let inputs = [classifier.result, labels];
        let loss = self.net.ops("loss", "SoftmaxCrossEntropyWithLogits", &inputs, &[], 2)?;
        let gradient = self.linear_gradient(&classifier, loss[1])?;
        let gradient = self.net.op("gradients/pooler/tanh", "TanhGrad", &[pooled, gradient], &[])?;
        let gradient = self.linear_gradient(&dense, gradient)?;
        let behind = (self.tokens - 1) * HIDDEN;
        let attrs = [("paddings", Attr::IntLists(vec![vec![0, 0], vec![0, behind]]))];
        let lines = self.net.op("gradients/first", "PadD", &[gradient], &attrs)?;
        let size = self.net.numbers("gradients/first/size", &[self.rows(), HIDDEN])?;
        let spread = self.net.op("gradients/first/reshape", "Reshape", &[lines, size], &[])?;
        Ok((loss[0], spread))
    }
}
