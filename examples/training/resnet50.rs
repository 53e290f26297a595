//! ResNet-50 for 1001 classes: 161 gradients, 102,236,324 bytes.

use super::net::Net;
use aoe::graph::{Attr, DataType, Graph, Port};
use aoe::status::Result;

const CLASSES: i64 = 1001;
/// Channels, blocks and stride of each stage; its blocks give out four times the channels.
const STAGES: [(i64, usize, i64); 4] = [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)];

/// The training graph for a batch of so many images: float16 work, float32 weights and gradients.
pub fn graph(batch: i64) -> Result<Graph> {
    let mut net = Images { net: Net::new("resnet50")?, batch };
    let x = net.net.input("images", DataType::Float16, &[batch, 3, 224, 224])?;
    let x = Tensor { port: x, channels: 3, side: 224 };
    let stem = net.unit("conv1", x, 64, [7, 2], true)?;
    let window = pool_window();
    let pooled = net.net.op("pool1", "MaxPoolV3", &[stem.result.port], &window)?;
    let mut x = Tensor { port: pooled, channels: 64, side: 56 };
    let pooled = x;
    let mut blocks = Vec::new();
    for (number, (width, count, stride)) in (1..).zip(STAGES) {
        for block in 0..count {
            let stride = if block == 0 { stride } else { 1 };
            let block = net.block(&format!("layer{number}.{block}"), x, width, stride, block == 0)?;
            x = block.result;
            blocks.push(block);
        }
    }
    let (loss, mut gradient) = net.head(x)?;
    for block in blocks.iter().rev() {
        gradient = net.block_gradient(block, gradient)?;
    }
    let inputs = [stem.result.port, pooled.port, gradient];
    let gradient = net.net.op("gradients/pool1", "MaxPoolGrad", &inputs, &window)?;
    net.unit_gradient(&stem, gradient, false)?;
    net.net.finish(loss)
}

fn pool_window() -> [(&'static str, Attr); 4] {
    [
        ("ksize", Attr::Ints(vec![1, 1, 3, 3])),
        ("strides", Attr::Ints(vec![1, 1, 2, 2])),
        ("pads", Attr::Ints(vec![1, 1, 1, 1])),
        ("data_format", Attr::Str("NCHW".into())),
    ]
}

/// A batch of images.
#[derive(Clone, Copy)]
struct Tensor {
    port: Port,
    channels: i64,
    side: i64,
}

/// A convolution with its normalisation, and what its gradients need.
struct Unit {
    name: String,
    x: Tensor,
    weights: Port,
    /// The weights in float16.
    filter: Port,
    kernel: i64,
    stride: i64,
    scale: Port,
    shift: Port,
    convolved: Port,
    /// Mean and variance of the batch.
    statistics: [Port; 2],
    has_relu: bool,
    result: Tensor,
}

/// Three units and the way around them.
struct Block {
    name: String,
    units: [Unit; 3],
    around: Option<Unit>,
    result: Tensor,
}

struct Images {
    net: Net,
    batch: i64,
}

impl Images {
    fn unit(&mut self, name: &str, x: Tensor, channels: i64, [kernel, stride]: [i64; 2], relu: bool) -> Result<Unit> {
        let weights = self.net.weights(&format!("{name}/weights"), &[channels, x.channels, kernel, kernel])?;
        let scale = self.net.weights(&format!("{name}/gamma"), &[channels])?;
        let shift = self.net.weights(&format!("{name}/beta"), &[channels])?;
        let filter = self.net.cast(&format!("{name}/weights/fp16"), weights, DataType::Float16)?;
        let convolved = self.net.op(name, "Conv2D", &[x.port, filter], &window(kernel, stride))?;
        let sums = self.net.ops(&format!("{name}/bn/reduce"), "BNTrainingReduce", &[convolved], &[], 2)?;
        let mean = self.net.weights(&format!("{name}/mean"), &[channels])?;
        let variance = self.net.weights(&format!("{name}/variance"), &[channels])?;
        let inputs = [convolved, sums[0], sums[1], scale, shift, mean, variance];
        let attrs = [("factor", Attr::Float(0.1)), ("epsilon", Attr::Float(1e-5))];
        let normed = self.net.ops(&format!("{name}/bn"), "BNTrainingUpdate", &inputs, &attrs, 5)?;
        let port = if relu { self.net.op(&format!("{name}/relu"), "Relu", &[normed[0]], &[])? } else { normed[0] };
        Ok(Unit {
            name: name.to_owned(),
            x,
            weights,
            filter,
            kernel,
            stride,
            scale,
            shift,
            convolved,
            statistics: [normed[3], normed[4]],
            has_relu: relu,
            result: Tensor { port, channels, side: x.side / stride },
        })
    }

    /// Exchanges the gradients of a unit, from that of its result; answers that of its input, where it is wanted.
    fn unit_gradient(&mut self, unit: &Unit, gradient: Port, goes_on: bool) -> Result<Port> {
        let name = format!("gradients/{}", unit.name);
        let mut gradient = gradient;
        if unit.has_relu {
            gradient = self.net.op(&format!("{name}/relu"), "ReluGrad", &[gradient, unit.result.port], &[])?;
        }
        let [mean, variance] = unit.statistics;
        let inputs = [gradient, unit.convolved, mean, variance];
        let sums = self.net.ops(&format!("{name}/bn/update"), "BNTrainingUpdateGrad", &inputs, &[], 2)?;
        self.net.exchange(unit.scale, sums[0])?;
        self.net.exchange(unit.shift, sums[1])?;
        let inputs = [gradient, unit.convolved, sums[0], sums[1], unit.scale, mean, variance];
        let gradient = self.net.op(&format!("{name}/bn/reduce"), "BNTrainingReduceGrad", &inputs, &[])?;
        let (x, window) = (unit.x, window(unit.kernel, unit.stride));
        let sizes = [unit.result.channels, x.channels, unit.kernel, unit.kernel];
        let size = self.net.numbers(&format!("{name}/filter_size"), &sizes)?;
        let inputs = [x.port, size, gradient];
        let filter = self.net.op(&format!("{name}/filter"), "Conv2DBackpropFilter", &inputs, &window)?;
        self.net.exchange(unit.weights, filter)?;
        if !goes_on {
            return Ok(gradient);
        }
        let size = self.net.numbers(&format!("{name}/input_size"), &[self.batch, x.channels, x.side, x.side])?;
        self.net.op(&format!("{name}/input"), "Conv2DBackpropInput", &[size, unit.filter, gradient], &window)
    }

    fn block(&mut self, name: &str, x: Tensor, width: i64, stride: i64, has_way: bool) -> Result<Block> {
        let one = self.unit(&format!("{name}/conv1"), x, width, [1, 1], true)?;
        let two = self.unit(&format!("{name}/conv2"), one.result, width, [3, stride], true)?;
        let three = self.unit(&format!("{name}/conv3"), two.result, 4 * width, [1, 1], false)?;
        let way = |net: &mut Images| net.unit(&format!("{name}/downsample"), x, 4 * width, [1, stride], false);
        let around = if has_way { Some(way(self)?) } else { None };
        let shortcut = around.as_ref().map_or(x.port, |unit| unit.result.port);
        let sum = self.net.op(&format!("{name}/add"), "Add", &[three.result.port, shortcut], &[])?;
        let port = self.net.op(&format!("{name}/relu"), "Relu", &[sum], &[])?;
        let result = Tensor { port, ..three.result };
        Ok(Block { name: name.to_owned(), units: [one, two, three], around, result })
    }

    fn block_gradient(&mut self, block: &Block, gradient: Port) -> Result<Port> {
        let name = format!("gradients/{}", block.name);
        let sum = self.net.op(&format!("{name}/relu"), "ReluGrad", &[gradient, block.result.port], &[])?;
        let around = match &block.around {
            Some(unit) => self.unit_gradient(unit, sum, true)?,
            None => sum,
        };
        let mut gradient = sum;
        for unit in block.units.iter().rev() {
            gradient = self.unit_gradient(unit, gradient, true)?;
        }
        self.net.op(&format!("{name}/add"), "Add", &[gradient, around], &[])
    }

    /// The classifier and its loss; answers the loss and the gradient of its input.
    fn head(&mut self, x: Tensor) -> Result<(Port, Port)> {
        let (net, batch) = (&mut self.net, self.batch);
        let axes = [("axes", Attr::Ints(vec![2, 3])), ("keep_dims", Attr::Bool(false))];
        let pooled = net.op("pool5", "ReduceMeanD", &[x.port], &axes)?;
        let weights = net.weights("fc/weights", &[CLASSES, x.channels])?;
        let bias = net.weights("fc/bias", &[CLASSES])?;
        let matrix = net.cast("fc/weights/fp16", weights, DataType::Float16)?;
        let offset = net.cast("fc/bias/fp16", bias, DataType::Float16)?;
        let product = net.product("fc", [pooled, matrix], [false, true])?;
        let logits = net.op("fc/add", "BiasAdd", &[product, offset], &[("data_format", Attr::Str("NHWC".into()))])?;
        let labels = net.input("labels", DataType::Float16, &[batch, CLASSES])?;
        let loss = net.ops("loss", "SoftmaxCrossEntropyWithLogits", &[logits, labels], &[], 2)?;
        let gradient = net.product("gradients/fc/weights", [loss[1], pooled], [true, false])?;
        let gradient = net.cast("gradients/fc/weights/fp32", gradient, DataType::Float)?;
        net.exchange(weights, gradient)?;
        let axes = [("axes", Attr::Ints(vec![0])), ("keep_dims", Attr::Bool(false))];
        let gradient = net.op("gradients/fc/bias", "ReduceSumD", &[loss[1]], &axes)?;
        let gradient = net.cast("gradients/fc/bias/fp32", gradient, DataType::Float)?;
        net.exchange(bias, gradient)?;
        let gradient = net.product("gradients/fc/input", [loss[1], matrix], [false, false])?;
        let mean = net.op("gradients/pool5/mean", "Muls", &[gradient], &[("value", Attr::Float(1.0 / 49.0))])?;
        let size = net.numbers("gradients/pool5/one", &[batch, x.channels, 1, 1])?;
        let column = net.op("gradients/pool5/column", "Reshape", &[mean, size], &[])?;
        let sizes = [("shape", Attr::Ints(vec![batch, x.channels, x.side, x.side]))];
        let spread = net.op("gradients/pool5", "BroadcastToD", &[column], &sizes)?;
        Ok((loss[0], spread))
    }
}

fn window(kernel: i64, stride: i64) -> [(&'static str, Attr); 4] {
    let pad = kernel / 2;
    [
        ("strides", Attr::Ints(vec![1, 1, stride, stride])),
        ("pads", Attr::Ints(vec![pad, pad, pad, pad])),
        ("dilations", Attr::Ints(vec![1, 1, 1, 1])),
        ("data_format", Attr::Str("NCHW".into())),
    ]
}
