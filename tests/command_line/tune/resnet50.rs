//! ResNet-50 with the strides of the bundled ONNX file, written as a Caffe net and as a TensorFlow graph.

use std::fmt::Write;

/// A format that a network can be written in.
pub trait Format {
    /// A convolution from `input`, without its bias, a normalisation with constant statistics, and the name of the result.
    fn conv(&mut self, name: &str, input: &str, sizes: Conv) -> String;
    fn relu(&mut self, name: &str, input: &str) -> String;
    /// Largest of windows of 3 by 3, every second one.
    fn max_pool(&mut self, name: &str, input: &str) -> String;
    fn add(&mut self, name: &str, inputs: [&str; 2]) -> String;
    /// The mean of each image.
    fn mean(&mut self, name: &str, input: &str) -> String;
    /// Product with as many columns, and a bias.
    fn connect(&mut self, name: &str, input: &str, inner: usize, outputs: usize) -> String;
    /// The finished text.
    fn text(self) -> String;
}

/// A field for each of these, one after the other.
fn fields<T: std::fmt::Display>(values: &[T], form: impl Fn(&T) -> String) -> String {
    values.iter().map(form).collect::<Vec<_>>().join(" ")
}

/// Sizes of a convolution; it is padded by half its filter.
#[derive(Clone, Copy)]
pub struct Conv {
    cin: usize,
    cout: usize,
    kernel: usize,
    stride: usize,
}

/// The network, in the order of the bundled file.
pub fn resnet50<F: Format>(mut f: F) -> String {
    let conv = |cin, cout, kernel, stride| Conv { cin, cout, kernel, stride };
    let stem = f.conv("conv1", "input", conv(3, 64, 7, 2));
    let stem = f.relu("conv1/relu", &stem);
    let mut x = f.max_pool("maxpool", &stem);
    let mut channels = 64;
    for (stage, blocks) in [3, 4, 6, 3].into_iter().enumerate() {
        let width = 64 << stage;
        for block in 0..blocks {
            let name = |part: &str| format!("layer{}.{block}/{part}", stage + 1);
            let stride = if block == 0 && stage > 0 { 2 } else { 1 };
            let mut y = f.conv(&name("conv1"), &x, conv(channels, width, 1, 1));
            y = f.relu(&name("relu1"), &y);
            y = f.conv(&name("conv2"), &y, conv(width, width, 3, stride));
            y = f.relu(&name("relu2"), &y);
            y = f.conv(&name("conv3"), &y, conv(width, 4 * width, 1, 1));
            if block == 0 {
                x = f.conv(&name("downsample"), &x, conv(channels, 4 * width, 1, stride));
            }
            y = f.add(&name("add"), [&y, &x]);
            x = f.relu(&name("relu3"), &y);
            channels = 4 * width;
        }
    }
    let x = f.mean("avgpool", &x);
    f.connect("fc", &x, channels, 1000);
    f.text()
}

/// As a prototxt.
pub struct Caffe(String);

impl Caffe {
    pub fn new() -> Caffe {
        Caffe("name: 'ResNet-50' input: 'input' input_shape { dim: [1, 3, 224, 224] }\n".to_owned())
    }

    fn layer(&mut self, name: &str, kind: &str, bottoms: &[&str], top: &str, parameters: &str) -> String {
        let bottoms = fields(bottoms, |bottom| format!("bottom: '{bottom}'"));
        writeln!(self.0, "layer {{ name: '{name}' type: '{kind}' {bottoms} top: '{top}' {parameters} }}").unwrap();
        top.to_owned()
    }
}

impl Format for Caffe {
    fn conv(&mut self, name: &str, input: &str, Conv { cout, kernel, stride, .. }: Conv) -> String {
        let window = format!("num_output: {cout} kernel_size: {kernel} stride: {stride} pad: {}", kernel / 2);
        self.layer(name, "Convolution", &[input], name, &format!("convolution_param {{ bias_term: false {window} }}"));
        self.layer(&format!("bn_{name}"), "BatchNorm", &[name], name, "batch_norm_param { use_global_stats: true }");
        self.layer(&format!("scale_{name}"), "Scale", &[name], name, "scale_param { bias_term: true }")
    }

    fn relu(&mut self, name: &str, input: &str) -> String {
        self.layer(name, "ReLU", &[input], input, "")
    }

    fn max_pool(&mut self, name: &str, input: &str) -> String {
        self.layer(name, "Pooling", &[input], name, "pooling_param { pool: MAX kernel_size: 3 stride: 2 }")
    }

    fn add(&mut self, name: &str, inputs: [&str; 2]) -> String {
        self.layer(name, "Eltwise", &inputs, name, "")
    }

    fn mean(&mut self, name: &str, input: &str) -> String {
        self.layer(name, "Pooling", &[input], name, "pooling_param { pool: AVE global_pooling: true }")
    }

    fn connect(&mut self, name: &str, input: &str, _: usize, outputs: usize) -> String {
        self.layer(name, "InnerProduct", &[input], name, &format!("inner_product_param {{ num_output: {outputs} }}"))
    }

    fn text(self) -> String {
        self.0
    }
}

/// As a `GraphDef` in text, whose images have their channels last.
pub struct TensorFlow(String);

impl TensorFlow {
    pub fn new() -> TensorFlow {
        let shape = "shape { dim { size: 1 } dim { size: 224 } dim { size: 224 } dim { size: 3 } }";
        let mut graph = TensorFlow(String::new());
        graph.node("input", "Placeholder", &[], &[("dtype", "type: DT_FLOAT"), ("shape", shape)]);
        graph
    }

    fn node(&mut self, name: &str, op: &str, inputs: &[&str], attrs: &[(&str, &str)]) -> String {
        let inputs = fields(inputs, |input| format!("input: '{input}'"));
        let attr = |(key, value): &(&str, &str)| format!("attr {{ key: '{key}' value {{ {value} }} }} ");
        let attrs: String = attrs.iter().map(attr).collect();
        writeln!(self.0, "node {{ name: '{name}' op: '{op}' {inputs} {attrs} }}").unwrap();
        name.to_owned()
    }

    fn weight(&mut self, name: &str, dims: &[usize]) -> String {
        let dims = fields(dims, |size| format!("dim {{ size: {size} }}"));
        self.node(name, "Const", &[], &[("value", &format!("tensor {{ dtype: DT_FLOAT tensor_shape {{ {dims} }} }}"))])
    }
}

impl Format for TensorFlow {
    fn conv(&mut self, name: &str, input: &str, Conv { cin, cout, kernel, stride }: Conv) -> String {
        let filter = self.weight(&format!("{name}/filter"), &[kernel, kernel, cin, cout]);
        let (strides, pad) = (format!("list {{ i: [1, {stride}, {stride}, 1] }}"), kernel / 2);
        // What a framework does not pad by itself, exporters pad beforehand.
        let padded = if stride == 1 || pad == 0 { input.to_owned() } else { self.pad(name, input, pad) };
        let padding = if padded == input { "s: 'SAME'" } else { "s: 'VALID'" };
        self.node(name, "Conv2D", &[&padded, &filter], &[("strides", &strides), ("padding", padding)]);
        let parts = ["gamma", "beta", "mean", "variance"].map(|part| self.weight(&format!("{name}/{part}"), &[cout]));
        let [gamma, beta, mean, variance] = &parts;
        let inputs = [name, gamma, beta, mean, variance];
        self.node(&format!("{name}/norm"), "FusedBatchNormV3", &inputs, &[("is_training", "b: false")])
    }

    fn relu(&mut self, name: &str, input: &str) -> String {
        self.node(name, "Relu", &[input], &[])
    }

    fn max_pool(&mut self, name: &str, input: &str) -> String {
        let (ksize, strides) = ("list { i: [1, 3, 3, 1] }", "list { i: [1, 2, 2, 1] }");
        self.node(name, "MaxPool", &[input], &[("ksize", ksize), ("strides", strides), ("padding", "s: 'SAME'")])
    }

    fn add(&mut self, name: &str, inputs: [&str; 2]) -> String {
        self.node(name, "AddV2", &inputs, &[])
    }

    fn mean(&mut self, name: &str, input: &str) -> String {
        let axes = format!("{name}/axes");
        let value = "tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: [1, 2] }";
        self.node(&axes, "Const", &[], &[("value", value)]);
        self.node(name, "Mean", &[input, &axes], &[("keep_dims", "b: false")])
    }

    fn connect(&mut self, name: &str, input: &str, inner: usize, outputs: usize) -> String {
        let weights = self.weight(&format!("{name}/weights"), &[outputs, inner]);
        let bias = self.weight(&format!("{name}/bias"), &[outputs]);
        self.node(name, "MatMul", &[input, &weights], &[("transpose_b", "b: true")]);
        self.node(&format!("{name}/sum"), "BiasAdd", &[name, &bias], &[])
    }

    fn text(self) -> String {
        self.0
    }
}

impl TensorFlow {
    fn pad(&mut self, name: &str, input: &str, pad: usize) -> String {
        let list = format!("{name}/paddings");
        let dims = "tensor_shape { dim { size: 4 } dim { size: 2 } }";
        let value = format!("tensor {{ dtype: DT_INT32 {dims} int_val: [0, 0, {pad}, {pad}, {pad}, {pad}, 0, 0] }}");
        self.node(&list, "Const", &[], &[("value", &value)]);
        self.node(&format!("{name}/pad"), "Pad", &[input, &list], &[])
    }
}
