//! What is fused into what, and what is left alone.

mod attributes;
mod compiled;
mod confusion;
mod constant;
mod norms;
mod products;
mod special;

use super::{FUSED_NODES, STATED_TYPE, graph_fusion};
use crate::graph::{Attr, Constant, DataType, Graph, Node, Port, Shape, TensorDesc, infer};
use crate::lower::{Settings, Switches, lower};
use crate::soc::Soc;
use crate::workload::Workload;

/// A network of one line of nodes under construction.
struct Line {
    graph: Graph,
    end: Port,
}

impl Line {
    fn new(dims: &[i64]) -> Line {
        let mut graph = Graph::new("line");
        let end = graph.add_input("x", TensorDesc::new(DataType::Float, Shape::new(dims))).unwrap();
        Line { graph, end }
    }

    fn weight(&mut self, name: &str, dims: &[i64]) -> Port {
        let desc = TensorDesc::new(DataType::Float, Shape::new(dims));
        self.graph.add_const(name, desc, Constant::Opaque).unwrap()
    }

    /// Integers: paddings of four axes, or a list.
    fn ints(&mut self, name: &str, values: &[i64]) -> Port {
        let dims = if values.len() == 8 { vec![4, 2] } else { vec![values.len() as i64] };
        let desc = TensorDesc::new(DataType::Int64, Shape::new(dims));
        self.graph.add_const(name, desc, Constant::Ints(values.to_vec())).unwrap()
    }

    /// Adds a node that reads the end of the line and these.
    fn then(&mut self, name: &str, op_type: &str, others: &[Port], attrs: &[(&str, Attr)]) -> &mut Line {
        let inputs = [self.end].into_iter().chain(others.iter().copied());
        let mut node = Node::new(name, op_type).with_inputs(inputs);
        for (name, value) in attrs {
            node.attrs.set(*name, value.clone());
        }
        self.end = Port::first(self.graph.add(node).unwrap());
        self
    }

    fn conv(&mut self, name: &str, cin: i64, cout: i64, kernel: i64) -> &mut Line {
        let filter = self.weight(&format!("{name}/filter"), &[cout, cin, kernel, kernel]);
        let [strides, pads] = [1, 0].map(|n| Attr::Ints(vec![n; 4]));
        self.then(name, "Conv2D", &[filter], &[("strides", strides), ("pads", pads), ("data_format", text("NCHW"))])
    }

    fn norm(
        &mut self,
        name: &str,
        op_type: &str,
        channels: i64,
        parameters: usize,
        attrs: &[(&str, Attr)],
    ) -> &mut Line {
        let others: Vec<_> = (0..parameters).map(|i| self.weight(&format!("{name}/{i}"), &[channels])).collect();
        self.then(name, op_type, &others, attrs)
    }

    /// The inferred graph that ends here.
    fn done(&self) -> Graph {
        let mut graph = self.graph.clone();
        graph.add_output(self.end);
        infer::infer(&mut graph).unwrap();
        infer::require_static(&graph).unwrap();
        graph
    }

    fn fused(&self) -> Graph {
        self.fused_on("Ascend310P3", &Switches::default())
    }

    fn fused_on(&self, soc: &str, switches: &Switches) -> Graph {
        let soc = Soc::find(soc).unwrap();
        let (graph, _) = graph_fusion(self.done(), &soc, &Settings::default(), switches).unwrap();
        graph.validate().unwrap();
        graph
    }
}

fn text(text: &str) -> Attr {
    Attr::Str(text.to_owned())
}

fn kernels(graph: &Graph) -> Vec<Workload> {
    let lowered = lower(graph, &Soc::find("Ascend310P3").unwrap(), &Settings::default()).unwrap();
    lowered.kernels.into_iter().map(|kernel| kernel.workload).collect()
}

/// Types of the nodes that run kernels.
fn types(graph: &Graph) -> Vec<&str> {
    graph
        .iter()
        .map(|(_, node)| node.op_type.as_str())
        .filter(|t| !matches!(*t, "Const" | "Data" | "Reshape"))
        .collect()
}

fn inference() -> [(&'static str, Attr); 2] {
    [("is_training", Attr::Bool(false)), ("data_format", text("NCHW"))]
}

#[test]
fn every_pass_is_one_that_a_switch_file_can_name_once() {
    for pass in super::passes::PASSES {
        let known: Vec<_> = crate::lower::switches::PASSES.iter().filter(|known| known.name == pass.name).collect();
        assert!(matches!(known[..], [known] if known.modelled), "{}: {} entries", pass.name, known.len());
    }
}

#[test]
fn a_normalisation_with_constant_statistics_goes_into_its_convolution() {
    for (op_type, parameters) in [("BatchNorm", 4), ("BNInference", 2), ("BNInfer", 4), ("Scale", 2), ("Scale", 1)] {
        let mut line = Line::new(&[1, 3, 8, 8]);
        line.conv("c", 3, 16, 3).norm("n", op_type, 16, parameters, &inference()).then("r", "Relu", &[], &[]);
        let fused = line.fused();
        assert_eq!(types(&fused), ["Conv2D", "Relu"], "{op_type}");
        let conv = fused.node(fused.find("c").unwrap());
        assert_eq!(conv.attrs.get(FUSED_NODES), Some(&Attr::Strs(vec!["n".into()])));
        assert_eq!(fused.node(fused.find("r").unwrap()).input(0), Some(Port::first(fused.find("c").unwrap())));
        let mut plain = Line::new(&[1, 3, 8, 8]);
        plain.conv("c", 3, 16, 3);
        let bias = plain.weight("bias", &[16]);
        let conv = plain.graph.find("c").unwrap();
        plain.graph.node_mut(conv).inputs.push(Some(bias));
        plain.then("r", "Relu", &[], &[]);
        assert_eq!(kernels(&fused), kernels(&plain.done()), "{op_type}");
    }
}

#[test]
fn several_in_a_row_go_into_one_convolution() {
    let mut line = Line::new(&[1, 3, 8, 8]);
    let momentum = line.weight("momentum", &[1]);
    let [mean, variance] = ["mean", "variance"].map(|name| line.weight(name, &[16]));
    line.conv("c", 3, 16, 3).then("n", "BNInference", &[mean, variance, momentum], &inference()).norm(
        "s",
        "Scale",
        16,
        2,
        &inference(),
    );
    let fused = line.fused();
    assert_eq!(types(&fused), ["Conv2D"]);
    assert_eq!(fused.outputs(), [Port::first(fused.find("c").unwrap())]);
    let names = vec!["n".to_owned(), "s".to_owned()];
    assert_eq!(fused.node(fused.find("c").unwrap()).attrs.get(FUSED_NODES), Some(&Attr::Strs(names)));
}

#[test]
fn a_constant_summand_for_each_channel_goes_into_the_convolution_and_no_other_does() {
    let summed = |dims: &[i64], norm: bool| {
        let mut line = Line::new(&[1, 3, 8, 8]);
        line.conv("c", 3, 16, 3);
        if norm {
            line.norm("n", "BatchNorm", 16, 4, &inference());
        }
        let summand = line.weight("s", dims);
        line.then("a", "Add", &[summand], &[]);
        types(&line.fused()).len()
    };
    // Older exports of DenseNet have a normalisation, a factor and a summand behind each convolution.
    for norm in [false, true] {
        assert_eq!([summed(&[16, 1, 1], norm), summed(&[1, 16, 1, 1], norm)], [1, 1]);
        assert_eq!([summed(&[6, 6], norm), summed(&[16, 6, 6], norm)], [2, 2]);
    }
}

#[test]
fn what_is_learned_read_twice_or_not_constant_stays() {
    let stays = |line: &Line, why: &str| assert_eq!(types(&line.fused()).len(), types(&line.done()).len(), "{why}");
    let mut line = Line::new(&[1, 3, 8, 8]);
    line.conv("c", 3, 16, 3).norm(
        "n",
        "BatchNorm",
        16,
        4,
        &[("is_training", Attr::Bool(true)), ("data_format", text("NCHW"))],
    );
    stays(&line, "training");
    let mut line = Line::new(&[1, 3, 8, 8]);
    line.conv("c", 3, 16, 3);
    let made = line.end;
    line.norm("n", "BatchNorm", 16, 4, &inference()).then("a", "Add", &[made], &[]);
    stays(&line, "the convolution is read elsewhere");
    let mut line = Line::new(&[1, 3, 8, 8]);
    line.conv("c", 3, 16, 3);
    line.graph.add_output(line.end);
    line.norm("n", "BatchNorm", 16, 4, &inference());
    stays(&line, "the convolution leaves the graph");
    let mut line = Line::new(&[1, 3, 8, 8]);
    let desc = TensorDesc::new(DataType::Float, Shape::new([16]));
    let given = line.graph.add_input("given", desc).unwrap();
    line.conv("c", 3, 16, 3).then("n", "BiasAdd", &[given], &inference());
    stays(&line, "the bias is an input");
    let mut line = Line::new(&[1, 3, 8, 8]);
    let one = line.weight("one", &[1]);
    line.conv("c", 3, 16, 3).then("s", "Scale", &[one], &inference());
    stays(&line, "one factor for all channels");
    let mut line = Line::new(&[1, 16, 8, 8]);
    line.then("r", "Relu", &[], &[]).norm("n", "BatchNorm", 16, 4, &inference());
    stays(&line, "no convolution before it");
    let mut line = Line::new(&[1, 3, 8, 8]);
    line.conv("c", 3, 16, 3).norm("b", "BiasAdd", 16, 1, &inference()).norm("again", "BiasAdd", 16, 1, &inference());
    assert_eq!(types(&line.fused()), ["Conv2D", "BiasAdd"], "a convolution takes one bias");
}

#[test]
fn a_bias_goes_into_a_product() {
    for (op_type, turned) in [("BiasAdd", false), ("Add", false), ("Add", true)] {
        let mut line = Line::new(&[4, 32]);
        let weights = line.weight("w", &[32, 10]);
        line.then("m", "MatMulV2", &[weights], &[]).norm("b", op_type, 10, 1, &[]);
        if turned {
            let id = line.graph.find("b").unwrap();
            line.graph.node_mut(id).inputs.reverse();
        }
        let [Workload::MatMul(product)] = &kernels(&line.fused())[..] else { panic!("one product is expected") };
        assert!(product.bias && (product.m, product.k, product.n) == (4, 32, 10), "{op_type}");
    }
}

#[test]
fn a_sum_that_is_no_bias_stays() {
    let summed = |dims: &[i64]| {
        let mut line = Line::new(&[4, 32]);
        let weights = line.weight("w", &[32, 10]);
        let summand = line.weight("s", dims);
        line.then("m", "MatMulV2", &[weights], &[]).then("a", "Add", &[summand], &[]);
        types(&line.fused()).join(" ")
    };
    assert_eq!(summed(&[10]), "MatMulV2");
    for dims in [&[1][..], &[4, 10], &[1, 10], &[4, 1], &[]] {
        assert_eq!(summed(dims), "MatMulV2 Add", "{dims:?}");
    }
}

#[test]
fn zeros_around_an_image_are_its_convolutions_padding() {
    let pads = |pads: &[i64]| {
        let mut line = Line::new(&[1, 3, 8, 8]);
        let list = line.ints("list", pads);
        line.then("p", "Pad", &[list], &[]).conv("c", 3 + pads[2], 16, 3);
        line
    };
    let fused = pads(&[0, 0, 0, 0, 1, 2, 0, 1]).fused();
    assert_eq!(types(&fused), ["Conv2D"]);
    assert_eq!(fused.node(fused.find("c").unwrap()).attrs.ints("pads"), Some(&[1, 2, 0, 1][..]));
    let [Workload::Conv(conv)] = &kernels(&fused)[..] else { panic!("one convolution is expected") };
    assert_eq!((conv.hi, conv.wi, conv.ho, conv.wo, conv.pads), (8, 8, 9, 7, [1, 2, 0, 1]));
    for (list, why) in [
        ([0, 0, 1, 0, 1, 1, 1, 1], "channels"),
        ([1, 0, 0, 0, 1, 1, 1, 1], "images"),
        ([0, 0, 0, 0, 3, 0, 0, 0], "as tall as the filter"),
        ([0, 0, 0, 0, 0, 0, 0, 256], "wider than a convolution pads"),
    ] {
        assert_eq!(types(&pads(&list).fused()), ["Pad", "Conv2D"], "{why}");
    }
    let mut line = Line::new(&[1, 3, 8, 8]);
    let (list, value) = (line.ints("list", &[0, 0, 0, 0, 1, 1, 1, 1]), line.ints("value", &[7]));
    line.then("p", "PadV3", &[list, value], &[]).conv("c", 3, 16, 3);
    assert_eq!(types(&line.fused()), ["PadV3", "Conv2D"], "not zeros");
}

#[test]
fn an_image_that_others_read_unpadded_is_still_theirs() {
    let mut line = Line::new(&[1, 3, 8, 8]);
    line.conv("first", 3, 3, 1);
    let image = line.end;
    let list = line.ints("list", &[0, 0, 0, 0, 1, 1, 1, 1]);
    line.then("p", "Pad", &[list], &[]).conv("c", 3, 3, 3).norm("n", "BatchNorm", 3, 4, &inference());
    line.then("a", "Add", &[image], &[]);
    let fused = line.fused();
    assert_eq!(types(&fused), ["Conv2D", "Conv2D", "Add"]);
    let node = |name: &str| fused.node(fused.find(name).unwrap());
    let first = Some(Port::first(fused.find("first").unwrap()));
    assert_eq!((node("c").input(0), node("a").input(1)), (first, first));
}

#[test]
fn one_kind_of_work_has_one_type() {
    let mode = |mode: i64| vec![("mode", Attr::Int(mode)), ("coeff", Attr::Floats(vec![]))];
    let weighted = vec![("mode", Attr::Int(1)), ("coeff", Attr::Floats(vec![1.0, -1.0]))];
    let slope = |slope: f64| vec![("negative_slope", Attr::Float(slope))];
    for (stated, others, attrs, expected) in [
        ("LeakyRelu", 0, slope(0.0), "Relu"),
        ("LeakyRelu", 0, slope(0.1), "LeakyRelu"),
        ("Eltwise", 1, mode(0), "Mul"),
        ("Eltwise", 1, mode(1), "Add"),
        ("Eltwise", 2, mode(1), "AddN"),
        ("Eltwise", 1, mode(2), "Maximum"),
        ("Eltwise", 1, weighted, "Eltwise"),
    ] {
        let mut line = Line::new(&[1, 3, 8, 8]);
        let others = vec![line.end; others];
        line.then("n", stated, &others, &attrs);
        let fused = line.fused();
        let node = fused.node(fused.find("n").unwrap());
        assert_eq!(node.op_type, expected);
        let kept = (stated != expected).then(|| text(stated));
        assert_eq!(node.attrs.get(STATED_TYPE), kept.as_ref());
    }
}

#[test]
fn pools_of_all_frameworks_are_the_same_kernels() {
    let sizes = |list: &[i64]| Attr::Ints(list.to_vec());
    let pooled = |op_type: &str, attrs: &[(&str, Attr)], image: &[i64]| {
        let mut line = Line::new(image);
        line.then("p", op_type, &[], attrs);
        kernels(&line.fused())
    };
    let caffe = |mode: i64| {
        let window = [("window", sizes(&[3, 3])), ("stride", sizes(&[2, 2])), ("pad", sizes(&[0, 0, 0, 0]))];
        window.into_iter().chain([("mode", Attr::Int(mode)), ("ceil_mode", Attr::Int(0))]).collect::<Vec<_>>()
    };
    let onnx = [("ksize", sizes(&[1, 1, 3, 3])), ("strides", sizes(&[1, 1, 2, 2])), ("pads", sizes(&[0, 1, 0, 1]))];
    let same = [
        ("ksize", sizes(&[1, 3, 3, 1])),
        ("strides", sizes(&[1, 2, 2, 1])),
        ("padding", text("SAME")),
        ("data_format", text("NHWC")),
    ];
    for (mode, wanted, plain) in [(0, "MaxPoolV3", "MaxPool"), (1, "AvgPoolV2", "AvgPool")] {
        let expected = pooled(wanted, &onnx, &[2, 8, 12, 12]);
        assert_eq!(expected[0].op_type(), wanted);
        assert_eq!(pooled("Pooling", &caffe(mode), &[2, 8, 12, 12]), expected);
        assert_eq!(pooled(plain, &same, &[2, 12, 12, 8]), expected);
    }
}

#[test]
fn an_average_over_all_of_each_image_is_one_mean_whatever_says_so() {
    let sizes = |list: &[i64]| Attr::Ints(list.to_vec());
    let kernel = |channels_last: bool, op_type: &str, axes: &[i64], attrs: &[(&str, Attr)]| {
        let mut line = Line::new(if channels_last { &[2, 7, 5, 8] } else { &[2, 8, 7, 5] });
        let format = text(if channels_last { "NHWC" } else { "NCHW" });
        let axes: Vec<_> = (!axes.is_empty()).then(|| line.ints("axes", axes)).into_iter().collect();
        let mut attrs = attrs.to_vec();
        attrs.push(("data_format", format));
        line.then("p", op_type, &axes, &attrs);
        kernels(&line.fused())
    };
    let mean = |kernels: &[Workload]| match kernels {
        [Workload::Reduce(w)] => (w.op_type.clone(), [w.outer, w.axis, w.inner]),
        other => panic!("one reduction is expected: {other:?}"),
    };
    // Nothing here works in blocks: the image lies as the network has it.
    let first = kernel(false, "GlobalAveragePool", &[], &[]);
    assert_eq!(mean(&first), ("ReduceMeanD".into(), [16, 35, 1]));
    let global = [("mode", Attr::Int(1)), ("global_pooling", Attr::Bool(true))];
    assert_eq!(kernel(false, "Pooling", &[], &global), first);
    assert_eq!(kernel(false, "ReduceMean", &[2, 3], &[("keep_dims", Attr::Bool(true))]), first);
    let window = [("ksize", sizes(&[1, 7, 5, 1])), ("strides", sizes(&[1, 1, 1, 1])), ("padding", text("VALID"))];
    let last = kernel(true, "AvgPool", &[], &window);
    assert_eq!(mean(&last), ("ReduceMeanD".into(), [2, 35, 8]));
    assert_eq!(kernel(true, "ReduceMean", &[1, 2], &[]), last);
}

#[test]
fn a_full_connection_of_one_image_as_ge_infers_it_is_the_same_product() {
    let build = |seen: &[i64]| {
        let mut line = Line::new(&[1, 6, 4, 4]);
        let others = [line.weight("w", &[1000, 96]), line.weight("b", &[1000])];
        line.then("f", "FullyConnection", &others, &[("num_output", Attr::Int(1000))]);
        line.graph.node_mut(line.end.node).outputs = vec![TensorDesc::new(DataType::Float, Shape::new(seen))];
        line.then("s", "SoftmaxV2", &[], &[("axes", Attr::Ints(vec![1]))]);
        line.fused()
    };
    let (matrix, image) = (build(&[1, 1000]), build(&[1, 1000, 1, 1]));
    let shape = |graph: &Graph, name: &str| graph.node(graph.find(name).unwrap()).outputs[0].shape.to_string();
    assert_eq!([shape(&matrix, "s"), shape(&image, "s")], ["[1,1000]", "[1,1000,1,1]"]);
    assert_eq!(image.node(image.find("f").unwrap()).op_type, "MatMulV2");
    assert_eq!(shape(&image, "f"), "[1,1000]");
    // Seen as an image in fractals, its result would be 256 times as large.
    let written = |graph: &Graph| kernels(graph).iter().map(crate::lower::written_bytes).collect::<Vec<_>>();
    assert_eq!(written(&image), written(&matrix));
}

#[test]
fn a_full_connection_is_the_product_that_it_is() {
    for (transpose, weights) in [(false, [10, 96]), (true, [96, 10])] {
        let mut line = Line::new(&[2, 6, 4, 4]);
        let weights = line.weight("w", &weights);
        let bias = line.weight("b", &[10]);
        line.then(
            "f",
            "FullyConnection",
            &[weights, bias],
            &[("transpose", Attr::Bool(transpose)), ("num_output", Attr::Int(10))],
        );
        let before = kernels(&line.done());
        let fused = line.fused();
        assert_eq!(fused.node(fused.find("f").unwrap()).op_type, "MatMulV2");
        assert_eq!(kernels(&fused), before);
    }
}
