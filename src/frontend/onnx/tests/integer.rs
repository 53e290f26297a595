//! Quantised operators: what they become says what ONNX says, and sizes are known whatever they become.

use super::{Dim, INT64, Model, Value, fed, ints, node, only, scalar, weight};
use crate::frontend::air;
use crate::frontend::check::{Rule, judge};
use crate::frontend::onnx::proto;
use crate::graph::infer::{infer, split_static};
use crate::graph::{Attr, Constant, DataType, Graph, NodeId, Port};
use prost::bytes::Bytes;

const UINT8: i32 = 2;
const INT8: i32 = 3;

/// A tensor of bytes.
fn bytes(name: &str, data_type: i32, dims: &[i64], values: &[u8]) -> proto::Tensor {
    let raw_data = Bytes::copy_from_slice(values);
    proto::Tensor { name: name.into(), dims: dims.to_vec(), data_type, raw_data, ..Default::default() }
}

/// An input of this type.
fn given(mut model: Model, name: &str, data_type: i32, dims: &[i64]) -> Model {
    let dims: Vec<Dim> = dims.iter().map(|&size| size.into()).collect();
    model.graph.input.push(super::encode(&super::value_info(name, data_type, &dims)));
    model
}

/// The graph with its shapes; where all of it has counterparts, what is written of it is what GE compiles.
fn inferred(model: &Model) -> Graph {
    let mut graph = model.read().unwrap();
    infer(&mut graph).unwrap();
    if graph.iter().all(|(_, node)| node.mapped) {
        let written = air::content(&graph).unwrap().to_vec().unwrap();
        // As it lies in the file, with the outputs that nobody reads.
        let read = air::read(written.into(), "written").unwrap();
        let findings = judge(&read).findings.into_iter();
        // Weights of these tests have sizes only.
        let blocking: Vec<_> = findings.filter(|found| found.blocks && found.rule != Rule::Value).collect();
        assert!(blocking.is_empty(), "{blocking:?}");
    }
    graph
}

/// Types and shapes of the outputs.
fn outputs(graph: &Graph) -> Vec<String> {
    let of = |&port: &Port| format!("{} {}", graph.desc(port).dtype.name(), graph.desc(port).shape);
    graph.outputs().iter().map(of).collect()
}

/// A matrix of whole numbers; one row or column stands for all.
#[derive(Clone, Debug, PartialEq)]
struct Matrix(Vec<Vec<i64>>);

impl Matrix {
    fn of(rows: i64, columns: i64, values: &[i64]) -> Matrix {
        assert_eq!(rows * columns, values.len() as i64);
        Matrix(values.chunks(columns as usize).map(<[i64]>::to_vec).collect())
    }

    fn at(&self, row: usize, column: usize) -> i64 {
        let row = &self.0[row.min(self.0.len() - 1)];
        row[column.min(row.len() - 1)]
    }

    fn with(&self, other: &Matrix, f: impl Fn(i64, i64) -> i64) -> Matrix {
        let (rows, columns) = (self.0.len().max(other.0.len()), self.0[0].len().max(other.0[0].len()));
        let row = |r| (0..columns).map(|c| f(self.at(r, c), other.at(r, c))).collect();
        Matrix((0..rows).map(row).collect())
    }

    fn times(&self, other: &Matrix) -> Matrix {
        let entry = |row: &Vec<i64>, c: usize| row.iter().zip(&other.0).map(|(x, column)| x * column[c]).sum();
        Matrix(self.0.iter().map(|row| (0..other.0[0].len()).map(|c| entry(row, c)).collect()).collect())
    }
}

/// What a graph of the operators that integer products become computes; `x` is the value of its input.
fn evaluate(graph: &Graph, id: NodeId, x: &Matrix) -> Matrix {
    let node = graph.node(id);
    let read = |input: usize| evaluate(graph, node.input(input).unwrap().node, x);
    if let Some(Constant::Ints(values)) = &node.value {
        return match *graph.desc(Port::first(id)).shape.known().unwrap() {
            [] => Matrix::of(1, 1, values),
            [columns] => Matrix::of(1, columns, values),
            [rows, columns] => Matrix::of(rows, columns, values),
            ref other => panic!("{other:?}"),
        };
    }
    match node.op_type.as_str() {
        "Data" => x.clone(),
        "Cast" => read(0),
        "Adds" => read(0).with(&Matrix::of(1, 1, &[node.attrs.float("value").unwrap() as i64]), |a, b| a + b),
        "Sub" => read(0).with(&read(1), |a, b| a - b),
        "Mul" => read(0).with(&read(1), |a, b| a * b),
        "BatchMatMulV2" => {
            let (left, right) = (read(0), read(1));
            assert!([&left, &right].iter().all(|m| m.0.iter().flatten().all(|v| i8::try_from(*v).is_ok())), "int8");
            left.times(&right)
        }
        "Reshape" => {
            let values: Vec<i64> = read(0).0.into_iter().flatten().collect();
            let behind = fed(graph, node, 1).len() == 1;
            let columns = if behind { values.len() as i64 } else { 1 };
            Matrix::of(values.len() as i64 / columns, columns, &values)
        }
        "ReduceSum" if fed(graph, node, 1) == [-1] => {
            Matrix(read(0).0.iter().map(|row| vec![row.iter().sum()]).collect())
        }
        "ReduceSum" => {
            let matrix = read(0);
            Matrix(vec![(0..matrix.0[0].len()).map(|c| matrix.0.iter().map(|row| row[c]).sum()).collect()])
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_product_of_integers_is_exact_whatever_types_and_zero_points() {
    let x: Vec<i64> = vec![0, 3, 255, 7, 200, 128];
    let w: [u8; 6] = [0, 255, 128, 4, 130, 90];
    let zeros: [(&[u8], &[i64]); 4] = [(&[], &[]), (&[0], &[]), (&[131], &[]), (&[9, 250], &[2])];
    for left in zeros {
        for right in zeros {
            let mut model = given(Model::new(13), "x", UINT8, &[2, 3]).initializer(&bytes("w", UINT8, &[3, 2], &w));
            let mut inputs = vec!["x", "w", "", ""];
            for (at, name, (values, dims)) in [(2, "za", left), (3, "zb", right)] {
                if !values.is_empty() {
                    model = model.initializer(&bytes(name, UINT8, dims, values));
                    inputs[at] = name;
                }
            }
            let model = model.node(&node("MatMulInteger", &inputs, &["y"], &[]).named("product")).output("y");
            let graph = inferred(&model);
            let take = |values: &[u8], at: usize| values.get(at).or(values.first()).map_or(0, |&v| i64::from(v));
            let rows = |r: usize| (0..3).map(|k| x[3 * r + k] - take(left.0, r)).collect::<Vec<_>>();
            let column = |k: usize| (0..2).map(|c| i64::from(w[2 * k + c]) - take(right.0, c)).collect::<Vec<_>>();
            let expected = Matrix((0..2).map(rows).collect()).times(&Matrix((0..3).map(column).collect()));
            let found = evaluate(&graph, graph.outputs()[0].node, &Matrix::of(2, 3, &x));
            assert_eq!(found, expected, "{left:?} {right:?}");
            assert_eq!(outputs(&graph), ["int32 [2,2]"]);
            let product = only(&graph, "BatchMatMulV2");
            assert_eq!(product.name, "product");
            assert!(product.inputs.iter().flatten().all(|&port| graph.desc(port).dtype == DataType::Int8));
        }
    }
}

/// A convolution of a 3x5x5 image by 4 filters of 3x3 with padding 1, whose zero points are inputs 2 and 3.
fn convolution(zeros: &[&proto::Tensor], group: i64) -> Graph {
    let filter = [4, 4 / group, 3, 3];
    let weights = vec![1; filter.iter().product::<i64>() as usize];
    let mut model = given(Model::new(13), "x", UINT8, &[1, 4, 5, 5]).initializer(&bytes("w", INT8, &filter, &weights));
    let mut inputs = vec!["x", "w"];
    for zero in zeros {
        if zero.name == "late" {
            model = given(model, "late", UINT8, &[]);
        } else {
            model = model.initializer(zero);
        }
        inputs.push(&zero.name);
    }
    let attrs = [("pads", Value::Ints(vec![1; 4])), ("group", Value::Int(group))];
    inferred(&model.node(&node("ConvInteger", &inputs, &["y"], &attrs).named("conv")).output("y"))
}

#[test]
fn a_convolution_of_integers_has_its_zero_points_in_padding_bias_and_sums() {
    let zero = bytes("z", UINT8, &[], &[100]);
    let graph = convolution(&[&zero], 1);
    assert_eq!(outputs(&graph), ["int32 [1,4,5,5]"]);
    let conv = only(&graph, "Conv2D");
    // 100 of 0 to 255 is -28 of -128 to 127; around the image lies the zero point, of which the bias takes off what the
    // filter makes.
    assert_eq!((conv.name.as_str(), conv.attrs.int("offset_x")), ("conv", Some(-28)));
    assert!(graph.node(conv.input(2).unwrap().node).value.is_some(), "the bias is a constant");
    assert_eq!(graph.desc(conv.input(2).unwrap()).shape.to_string(), "[4]");
    // A zero point of the filters takes a convolution with ones.
    let by_filter = bytes("f", INT8, &[4], &[1, 2, 3, 4]);
    let graph = convolution(&[&zero, &by_filter], 2);
    assert_eq!(graph.iter().filter(|(_, node)| node.op_type == "Conv2D").count(), 2);
    assert_eq!(outputs(&graph), ["int32 [1,4,5,5]"]);
    assert_eq!(only(&graph, "OnesLike").inputs.len(), 1);
    // One that only a run tells is laid around the image before.
    let graph = convolution(&[&bytes("late", UINT8, &[], &[])], 1);
    assert_eq!(fed(&graph, only(&graph, "PadV3"), 1), [0, 0, 1, 1, 0, 0, 1, 1]);
    assert_eq!(only(&graph, "Conv2D").attrs.ints("pads"), Some(&[0; 4][..]));
    assert_eq!(outputs(&graph), ["int32 [1,4,5,5]"]);
    for (_, conv) in graph.iter().filter(|(_, node)| node.op_type == "Conv2D") {
        assert!(conv.inputs[..2].iter().flatten().all(|&port| graph.desc(port).dtype == DataType::Int8));
    }
}

#[test]
fn quantised_layers_are_tuned_as_products_of_int8() {
    let model = given(Model::new(13), "x", UINT8, &[1, 3, 8, 8])
        .initializer(&scalar("s", 0.5))
        .initializer(&bytes("z", UINT8, &[], &[128]))
        .initializer(&bytes("w", INT8, &[4, 3, 1, 1], &[1; 12]))
        .initializer(&weight("ws", &[4]))
        .initializer(&bytes("wz", INT8, &[4], &[0; 4]))
        .initializer(&proto::Tensor { data_type: 6, ..weight("b", &[4]) })
        .node(&node("QLinearConv", &["x", "s", "z", "w", "ws", "wz", "s", "z", "b"], &["c"], &[]).named("conv"))
        .initializer(&ints("rows", &[1, -1]))
        .node(&node("Reshape", &["c", "rows"], &["r"], &[]))
        .initializer(&bytes("v", INT8, &[256, 10], &[1; 2560]))
        .initializer(&bytes("vz", INT8, &[], &[0]))
        .node(&node("QLinearMatMul", &["r", "s", "z", "v", "s", "vz", "s", "z"], &["y"], &[]).named("fc"))
        .output("y");
    let graph = inferred(&model);
    assert_eq!(outputs(&graph), ["uint8 [1,10]"]);
    assert!(graph.iter().all(|(_, node)| node.mapped));
    let conv = only(&graph, "Conv2D");
    // 128 is 0 of the signed numbers: nothing to take off, and the bias is the model's.
    assert_eq!((conv.name.as_str(), conv.attrs.get("offset_x")), ("conv", None));
    assert_eq!(graph.node(conv.input(2).unwrap().node).name, "b");
    assert_eq!(only(&graph, "BatchMatMulV2").name, "fc");
    let quantised: Vec<_> = graph.iter().filter(|(_, node)| node.op_type == "Quantize").collect();
    assert_eq!(quantised.len(), 2);
    let scale = graph.desc(quantised[0].1.input(1).unwrap());
    assert_eq!((scale.shape.to_string().as_str(), quantised[0].1.attrs.int("axis")), ("[4]", Some(1)));
}

#[test]
fn what_onnx_runtime_adds_between_quantised_tensors_is_arithmetic() {
    let model = given(Model::new(13), "x", INT8, &[2, 3, 4, 4]).initializer(&scalar("s", 0.5)).initializer(&bytes(
        "z",
        INT8,
        &[],
        &[3],
    ));
    let triple = ["x", "s", "z"];
    let both = [&triple[..], &triple[..], &["s", "z"]].concat();
    let add = microsoft(node("QLinearAdd", &both, &["a"], &[]));
    let mul = microsoft(node("QLinearMul", &both, &["m"], &[]));
    let one = ["a", "s", "z", "s", "z"];
    let sigmoid = microsoft(node("QLinearSigmoid", &one, &["g"], &[]));
    let leaky = microsoft(node("QLinearLeakyRelu", &one, &["l"], &[("alpha", Value::Float(0.1))]));
    let pool = microsoft(node("QLinearGlobalAveragePool", &one, &["p"], &[]));
    let concat = ["s", "z", "a", "s", "z", "m", "s", "z"];
    let concat = microsoft(node("QLinearConcat", &concat, &["j"], &[("axis", Value::Int(1))]));
    let model = [add, mul, sigmoid, leaky, pool, concat].iter().fold(model, Model::node);
    let graph = inferred(&["g", "l", "p", "j"].into_iter().fold(model, Model::output));
    assert_eq!(outputs(&graph), ["int8 [2,3,4,4]", "int8 [2,3,4,4]", "int8 [2,3,1,1]", "int8 [2,6,4,4]"]);
    assert!(graph.iter().all(|(_, node)| node.mapped));
    assert_eq!(only(&graph, "LeakyRelu").attrs.get("negative_slope"), Some(&Attr::Float(f64::from(0.1_f32))));
}

#[test]
fn dynamic_quantisation_and_its_product_are_arithmetic() {
    let model = Model::new(13)
        .input("x", &[4.into(), 6.into()])
        .node(&node("DynamicQuantizeLinear", &["x"], &["q", "s", "z"], &[]))
        .initializer(&bytes("w", INT8, &[6, 5], &[1; 30]))
        .initializer(&bytes("wz", INT8, &[], &[0]))
        .node(&node("MatMulInteger", &["q", "w", "z", "wz"], &["y"], &[]))
        .output("y")
        .output("s");
    let graph = inferred(&model);
    assert_eq!(outputs(&graph), ["int32 [4,5]", "float32 []"]);
    assert!(graph.iter().all(|(_, node)| node.mapped));
}

#[test]
fn sizes_are_known_behind_whatever_has_no_counterpart() {
    let behind = |model: Model| outputs(&inferred(&model));
    let image = || Model::new(18).input("x", &[1.into(), 2.into(), 6.into(), 6.into()]);
    let window = |more: &[(&'static str, Value)]| {
        [&[("kernel_shape", Value::Ints(vec![2, 2])), ("strides", Value::Ints(vec![2, 2]))], more].concat()
    };
    // The places of maxima, and back.
    let places = image()
        .node(&node("MaxPool", &["x"], &["m", "i"], &window(&[])))
        .node(&node("MaxUnpool", &["m", "i"], &["u"], &window(&[])))
        .output("i")
        .output("u");
    assert_eq!(behind(places.clone()), ["int64 [1,2,3,3]", "float32 [1,2,6,6]"]);
    assert!(split_static(inferred(&places)).unwrap().left_out.is_empty());
    let sized = image().initializer(&ints("size", &[1, 2, 7, 7]));
    let sized = sized.node(&node("MaxPool", &["x"], &["m", "i"], &window(&[])));
    let sized = sized.node(&node("MaxUnpool", &["m", "i", "size"], &["u"], &window(&[]))).output("u");
    assert_eq!(behind(sized), ["float32 [1,2,7,7]"]);
    // Windows of powers, with and without gaps.
    for p in 1..4 {
        let pool = image().node(&node("LpPool", &["x"], &["y"], &window(&[("p", Value::Int(p))]))).output("y");
        assert_eq!(behind(pool.clone()), ["float32 [1,2,3,3]"]);
        assert_eq!(only(&pool.read().unwrap(), "AvgPoolV2").attrs.int("divisor_override"), Some(1));
    }
    let gaps = [("dilations", Value::Ints(vec![2, 2])), ("auto_pad", Value::Str("SAME_UPPER"))];
    let gaps = image().node(&node("LpPool", &["x"], &["y"], &window(&gaps))).output("y");
    assert_eq!(behind(gaps), ["float32 [1,2,3,3]"]);
    assert_eq!(behind(image().node(&node("GlobalLpPool", &["x"], &["y"], &[])).output("y")), ["float32 [1,2,1,1]"]);
    // A mask that is read, a diagonal that only a run tells, products at places.
    let masked = image().node(&node("Dropout", &["x"], &["y", "mask"], &[])).output("y").output("mask");
    assert_eq!(behind(masked), ["float32 [1,2,6,6]", "bool [1,2,6,6]"]);
    let late = given(image(), "k", INT64, &[]).node(&node("Trilu", &["x", "k"], &["y"], &[])).output("y");
    assert_eq!(behind(late), ["float32 [1,2,6,6]"]);
    let places = given(image(), "i", INT64, &[5, 4]).input("v", &[5.into()]);
    for (reduction, op_type) in [("add", "TensorScatterAdd"), ("max", "TensorScatterMax"), ("mul", "ScatterND")] {
        let scatter = node("ScatterND", &["x", "i", "v"], &["y"], &[("reduction", Value::Str(reduction))]);
        let model = places.clone().node(&scatter).output("y");
        assert_eq!(behind(model.clone()), ["float32 [1,2,6,6]"]);
        only(&model.read().unwrap(), op_type);
    }
}

#[test]
fn columns_become_the_image_that_they_were_cut_from() {
    let fold = |pads: [i64; 4], windows: i64| {
        let model = Model::new(18)
            .input("x", &[2.into(), 12.into(), windows.into()])
            .initializer(&ints("image", &[5, 6]))
            .initializer(&ints("block", &[2, 2]))
            .node(&node("Col2Im", &["x", "image", "block"], &["y"], &[("pads", Value::Ints(pads.to_vec()))]))
            .output("y");
        inferred(&model)
    };
    let graph = fold([1; 4], 42);
    let columns = only(&graph, "Col2im");
    assert_eq!(graph.desc(columns.input(0).unwrap()).shape.to_string(), "[2,3,4,42]");
    assert_eq!(outputs(&graph), ["float32 [2,3,5,6]"]);
    // CANN pads both sides alike; the sizes are known all the same.
    let graph = fold([0, 0, 1, 1], 30);
    assert!(!only(&graph, "Col2Im").mapped);
    assert_eq!(outputs(&graph), ["float32 [2,3,5,6]"]);
}

#[test]
fn rows_that_a_constant_condition_picks_are_known() {
    let condition = proto::Tensor { data_type: 9, ..bytes("c", INT8, &[3], &[1, 0, 1]) };
    let pick = |attrs: &[(&str, Value)]| {
        let model = Model::new(13).input("x", &[3.into(), 4.into()]).initializer(&condition);
        let model = model.node(&node("Compress", &["x", "c"], &["y"], attrs)).output("y");
        outputs(&inferred(&model))
    };
    assert_eq!(pick(&[("axis", Value::Int(0))]), ["float32 [2,4]"]);
    assert_eq!(pick(&[]), ["float32 [2]"]);
}

fn microsoft(op: proto::Node) -> proto::Node {
    proto::Node { domain: "com.microsoft".to_owned(), ..op }
}

#[test]
fn pools_and_means_between_quantised_tensors_are_arithmetic() {
    let model = given(Model::new(13), "x", UINT8, &[2, 6, 8, 5]).initializer(&scalar("s", 0.5)).initializer(&bytes(
        "z",
        UINT8,
        &[],
        &[3],
    ));
    let window = [("kernel_shape", Value::Ints(vec![2, 2])), ("strides", Value::Ints(vec![2, 2]))];
    let last = [&window[..], &[("channels_last", Value::Int(1))]].concat();
    let inputs = ["x", "s", "z", "s", "z"];
    let plain = microsoft(node("QLinearAveragePool", &inputs, &["a"], &window));
    let last = microsoft(node("QLinearAveragePool", &inputs, &["b"], &last));
    let whole = [("channels_last", Value::Int(1))];
    let whole = microsoft(node("QLinearGlobalAveragePool", &inputs, &["c"], &whole));
    let axes = [("axes", Value::Ints(vec![1, 3])), ("keepdims", Value::Int(0))];
    let mean = microsoft(node("QLinearReduceMean", &inputs, &["d"], &axes));
    let model = [plain, last, whole, mean].iter().fold(model, Model::node);
    let graph = inferred(&["a", "b", "c", "d"].into_iter().fold(model, Model::output));
    assert_eq!(outputs(&graph), ["uint8 [2,6,4,2]", "uint8 [2,3,4,5]", "uint8 [2,1,1,5]", "uint8 [2,8]"]);
    assert!(graph.iter().all(|(_, node)| node.mapped));
}

#[test]
fn quantised_products_with_addends_are_products_of_int8() {
    let model = || {
        given(Model::new(13), "x", UINT8, &[16, 4])
            .initializer(&scalar("s", 0.5))
            .initializer(&bytes("z", UINT8, &[], &[3]))
            .initializer(&bytes("w", INT8, &[10, 16], &[1; 160]))
            .initializer(&bytes("wz", INT8, &[10], &[1; 10]))
            .initializer(&weight("ws", &[10]))
            .initializer(&proto::Tensor { data_type: 6, ..weight("c", &[10]) })
    };
    let attrs = [("transA", Value::Int(1)), ("transB", Value::Int(1)), ("alpha", Value::Float(0.5))];
    let inputs = ["x", "s", "z", "w", "ws", "wz", "c", "s", "z"];
    let quantised = model().node(&microsoft(node("QGemm", &inputs, &["y"], &attrs).named("fc"))).output("y");
    let graph = inferred(&quantised);
    assert_eq!(outputs(&graph), ["uint8 [4,10]"]);
    assert_eq!(only(&graph, "BatchMatMulV2").name, "fc");
    assert!(graph.iter().all(|(_, node)| node.mapped));
    let real = model().node(&microsoft(node("QGemm", &inputs[..7], &["y"], &attrs))).output("y");
    assert_eq!(outputs(&inferred(&real)), ["float32 [4,10]"]);
    let dynamic = Model::new(13)
        .input("x", &[4.into(), 6.into()])
        .initializer(&bytes("w", INT8, &[6, 5], &[1; 30]))
        .initializer(&weight("ws", &[5]))
        .initializer(&bytes("wz", INT8, &[5], &[0; 5]))
        .initializer(&weight("b", &[5]))
        .node(&microsoft(node("DynamicQuantizeMatMul", &["x", "w", "ws", "wz", "b"], &["y"], &[]).named("fc")))
        .output("y");
    let graph = inferred(&dynamic);
    assert_eq!((outputs(&graph), only(&graph, "BatchMatMulV2").name.as_str()), (vec!["float32 [4,5]".into()], "fc"));
}

/// Numbers of words and a mask, embedded, attended to, added to and normalised: as ONNX Runtime writes a transformer.
fn transformer(attention: &str, attrs: &[(&str, Value)]) -> Model {
    let table = |name: &str, rows| weight(name, &[rows, 16]);
    let model = given(given(Model::new(13), "ids", 6, &[2, 10]), "mask", 6, &[2, 10])
        .initializer(&table("words", 50))
        .initializer(&table("places", 12))
        .initializer(&weight("g", &[16]))
        .initializer(&weight("b", &[16]))
        .initializer(&weight("wb", &[48]))
        .node(&microsoft(node(
            "EmbedLayerNormalization",
            &["ids", "", "words", "places", "", "g", "b", "mask"],
            &["e", "lengths"],
            &[],
        )));
    let heads = [&[("num_heads", Value::Int(4))], attrs].concat();
    let model = if attention == "QAttention" {
        let inputs = ["q", "w", "wb", "s", "ws", "lengths", "z", "wz"];
        model
            .node(&node("DynamicQuantizeLinear", &["e"], &["q", "s", "z"], &[]))
            .initializer(&bytes("w", INT8, &[16, 48], &[1; 768]))
            .initializer(&weight("ws", &[48]))
            .initializer(&bytes("wz", INT8, &[48], &[0; 48]))
            .node(&microsoft(node("QAttention", &inputs, &["a"], &heads).named("attention")))
    } else {
        let inputs = ["e", "w", "wb", "mask"];
        let attention = microsoft(node("Attention", &inputs, &["a"], &heads).named("attention"));
        model.initializer(&weight("w", &[16, 48])).node(&attention)
    };
    model
        .node(&microsoft(node("SkipLayerNormalization", &["a", "e", "g", "b", "b"], &["n", "", "", "sum"], &[])))
        .node(&microsoft(node("BiasGelu", &["n", "b"], &["y"], &[])))
        .output("y")
        .output("sum")
}

#[test]
fn attention_as_onnx_runtime_fuses_it_is_its_products() {
    for attention in ["Attention", "QAttention"] {
        let graph = inferred(&transformer(attention, &[]));
        assert_eq!(outputs(&graph), ["float32 [2,10,16]", "float32 [2,10,16]"], "{attention}");
        let unmapped: Vec<_> = graph.iter().filter(|(_, node)| !node.mapped).map(|(_, node)| &node.op_type).collect();
        assert!(unmapped.is_empty(), "{attention}: {unmapped:?}");
        let products: Vec<_> = graph
            .iter()
            .filter(|(_, node)| node.op_type == "BatchMatMulV2")
            .map(|(_, node)| node.outputs[0].shape.to_string())
            .collect();
        assert_eq!(products, ["[2,10,48]", "[2,4,10,10]", "[2,4,10,4]"], "{attention}");
        let graph = inferred(&transformer(attention, &[("unidirectional", Value::Int(1))]));
        assert_eq!(outputs(&graph), ["float32 [2,10,16]", "float32 [2,10,16]"], "it is like what it reads");
        assert_eq!(graph.iter().filter(|(_, node)| !node.mapped).count(), 1);
    }
}
