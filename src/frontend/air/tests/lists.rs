//! Operators with an input that stands for many, built input by input in any order: the names tell the places.

use super::built::{constant, data, inferred, kernels, load, made, shape};
use super::*;

/// What a program names its inputs, in the order in which it connected them.
fn named(op: proto::Op, names: &[&str]) -> proto::Op {
    let keys = Attr::Strs(names.iter().map(|name| (*name).to_owned()).collect());
    let places = Attr::Ints((0..names.len() as i64).collect());
    with(with(op, "_input_name_key", &keys), "_input_name_value", &places)
}

fn interface(op: proto::Op, names: &[&str], kinds: &[i64]) -> proto::Op {
    let names = Attr::Strs(names.iter().map(|name| (*name).to_owned()).collect());
    with(with(op, "_ir_inputs_key", &names), "_ir_inputs_value", &Attr::Ints(kinds.to_vec()))
}

fn numbered(name: &str, number: i32) -> proto::Op {
    let scalar = TensorDesc::new(DataType::Int32, Shape::scalar());
    constant(name, tensor::write(&scalar, tensor::Parts::default()), &number.to_le_bytes())
}

fn joined(join: proto::Op) -> Graph {
    let ops = [data("x", 0, inferred(&[128, 256])), data("y", 1, inferred(&[64, 256])), numbered("axis", 0), join];
    load(&ops).unwrap()
}

#[test]
fn tensors_to_join_stand_before_the_axis_wherever_a_program_connected_it() {
    let join = |inputs: &[&str]| made("join", "ConcatV2", inputs, &[]);
    let first = || named(join(&["axis:0", "x:0", "y:0"]), &["concat_dim", "x0", "x1"]);
    for op in [first(), interface(first(), &["x", "concat_dim"], &[2, 0])] {
        let graph = joined(op);
        assert_eq!(sources(&graph, "join"), ["x:0", "y:0", "axis:0"]);
        assert_eq!(shape(&graph, "join"), "[192,256]");
        // The names go with them, through a file, too.
        assert_eq!(node(&graph, "join").attrs.ints("_input_name_value"), Some(&[2, 0, 1][..]));
        let again = read(super::super::encode_model(&graph).unwrap().into(), "test").unwrap();
        assert_eq!(sources(&again, "join"), ["x:0", "y:0", "axis:0"]);
    }
    let last = joined(named(join(&["y:0", "axis:0", "x:0"]), &["x1", "concat_dim", "x0"]));
    assert_eq!(sources(&last, "join"), ["x:0", "y:0", "axis:0"]);
}

#[test]
fn members_of_a_list_follow_their_numbers_and_not_their_spelling() {
    let count = 70;
    let mut ops: Vec<_> = (0..count).map(|at| data(&format!("t{at}"), at, inferred(&[at + 1, 8]))).collect();
    let order: Vec<i64> = (0..count).rev().collect();
    let inputs: Vec<String> = order.iter().map(|at| format!("t{at}:0")).chain(["axis:0".to_owned()]).collect();
    let names: Vec<String> = order.iter().map(|at| format!("x{at}")).chain(["concat_dim".to_owned()]).collect();
    let [inputs, names] = [&inputs, &names].map(|list| list.iter().map(String::as_str).collect::<Vec<_>>());
    ops.extend([numbered("axis", 0), named(made("join", "ConcatV2", &inputs, &[]), &names)]);
    let graph = load(&ops).unwrap();
    let placed = sources(&graph, "join");
    assert_eq!((placed[2].as_str(), placed[10].as_str(), placed[70].as_str()), ("t2:0", "t10:0", "axis:0"));
}

#[test]
fn keys_and_values_are_found_beside_a_mask_that_was_connected_before_them() {
    let built = |inputs: &[&str], names: &[&str]| {
        let op = named(made("attention", "IncreFlashAttention", inputs, &[]), names);
        let op = with(with(op, "num_heads", &Attr::Int(8)), "input_layout", &Attr::Str("BSH".into()));
        let cache = || inferred(&[4, 2048, 1024]);
        let mask = inferred(&[4, 1, 1, 2048]);
        let ops =
            [data("q", 0, inferred(&[4, 1, 1024])), data("k", 1, cache()), data("v", 2, cache()), data("m", 3, mask)];
        load(&ops.into_iter().chain([op]).collect::<Vec<_>>()).unwrap()
    };
    let plain = built(&["q:0", "k:0", "v:0", "m:0"], &["query", "key0", "value0", "atten_mask"]);
    let mixed = built(&["q:0", "m:0", "k:0", "v:0"], &["query", "atten_mask", "key0", "value0"]);
    assert_eq!(sources(&mixed, "attention"), ["q:0", "k:0", "v:0", "m:0"]);
    assert_eq!(kernels(&mixed), kernels(&plain));
}

#[test]
fn groups_of_a_product_are_found_behind_its_lists() {
    let op = named(made("product", "GroupedMatmul", &["g:0", "x:0", "w:0"], &[]), &["group_list", "x0", "weight0"]);
    let op = with(with(op, "split_item", &Attr::Int(3)), "group_type", &Attr::Int(0));
    let ops =
        [data("x", 0, inferred(&[128, 256])), data("w", 1, inferred(&[8, 256, 512])), data("g", 2, inferred(&[8])), op];
    let graph = load(&ops).unwrap();
    assert_eq!(sources(&graph, "product"), ["x:0", "w:0", "g:0"]);
    let output = &node(&graph, "product").outputs[0];
    assert_eq!((output.shape.to_string().as_str(), output.dtype), ("[128,512]", DataType::Float16));
}

#[test]
fn descriptions_that_name_a_list_again_and_again_name_its_members() {
    let op = |inputs: &[&str], names: &[&str]| {
        let named = |name: &&str| {
            let desc = proto::Tensor::decode(inferred(&[])).unwrap();
            encode(&proto::Tensor { name: (*name).to_owned(), shape: None, ..desc })
        };
        made("join", "ConcatV2", inputs, &names.iter().map(named).collect::<Vec<_>>())
    };
    let graph = joined(op(&["axis:0", "x:0", "y:0"], &["concat_dim", "x", "x"]));
    assert_eq!(sources(&graph, "join"), ["x:0", "y:0", "axis:0"]);
}

#[test]
fn names_that_say_one_place_twice_or_none_move_nothing() {
    let inputs = ["axis:0", "x:0", "y:0"];
    for names in
        [["concat_dim", "x0", "x0"], ["concat_dim", "x1", "x01"], ["concat_dim", "x0", "z"], ["concat_dim", "x0", "x"]]
    {
        let op = named(made("join", "ConcatV2", &inputs, &[]), &names);
        let ops = [data("x", 0, inferred(&[4, 2])), data("y", 1, inferred(&[4, 2])), numbered("axis", 0), op];
        // Of an axis that is no number nothing is inferred, if it is not refused.
        let graph = root(&ops).unwrap();
        assert_eq!(sources(&graph, "join"), inputs, "{names:?}");
    }
}

#[test]
fn names_whose_places_are_turned_keep_to_their_inputs() {
    let op = made("product", "MatMulV2", &["b:0", "x:0", "y:0"], &[]);
    let keys = Attr::Strs(["x2", "x1", "bias"].map(str::to_owned).to_vec());
    let op = with(with(op, "_input_name_key", &keys), "_input_name_value", &Attr::Ints(vec![2, 1, 0]));
    let ops = [data("x", 0, inferred(&[4, 8])), data("y", 1, inferred(&[8, 2])), data("b", 2, inferred(&[2])), op];
    let graph = load(&ops).unwrap();
    assert_eq!(sources(&graph, "product"), ["x:0", "y:0", "b:0"]);
    assert_eq!(node(&graph, "product").attrs.ints("_input_name_value"), Some(&[1, 0, 2][..]));
}
