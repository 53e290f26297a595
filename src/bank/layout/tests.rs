//! Layouts: sizes, known keys, and that bytes and `info_dict` say the same.

use super::{Field, FieldType, Layout};
use crate::bank::key::Unusable;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A product of 128 x 1024 x 4096 in fp16, B transposed and in `FRACTAL_NZ`: a published key.
fn known_info() -> Map<String, Value> {
    let mut info = Map::new();
    let mut set = |names: &str, value: Value| {
        names.split(' ').for_each(|name| {
            info.insert(name.into(), value.clone());
        });
    };
    set("batch_a1 batch_a2 batch_a3 batch_a4 batch_b1 batch_b2 batch_b3 batch_b4 a_dtype b_dtype out_dtype", json!(1));
    set("l1_fused_num fused_double_operand_num", json!(0.0));
    set("aub_double_num bub_double_num", json!(1.0));
    set("a_format out_format", json!(2));
    set("trans_b_flag m_align_flag k_align_flag n_align_flag", json!(true));
    set("trans_a_flag bias_flag reserved_bool", json!(false));
    (1..=6).for_each(|i| set(&format!("reserved_params{i}"), json!(0)));
    for (name, value) in [("m", 128), ("k", 1024), ("n", 4096), ("b_format", 29)] {
        set(name, json!(value));
    }
    info
}

fn layout(op_type: &str) -> &'static Layout {
    Layout::of(op_type).unwrap()
}

#[test]
fn every_structure_has_its_known_size() {
    let sizes: Vec<_> = Layout::all().iter().map(|l| (l.op_type(), l.bytes())).collect();
    assert_eq!(
        sizes,
        [
            ("MatMulV3", 183),
            ("QuantBatchMatmulV3", 183),
            ("Mc2MatMulV3", 183),
            ("Mc2QuantBatchMatmulV3", 183),
            ("Conv2DV2", 210),
            ("Conv3DV2", 257),
            ("Conv3D", 229),
            ("Conv3DBackpropFilterV2", 140),
            ("Conv3DBackpropInputV2", 152),
            ("MatMulV2", 183),
            ("Conv2DBackpropInput", 222),
            ("Conv2DTranspose", 222),
            ("Conv2DBackpropFilter", 204),
            ("Conv3DBackpropInput", 273),
            ("Conv3DTranspose", 273),
        ]
    );
    assert!(Layout::of("Conv2D").is_none());
}

#[test]
fn fields_lie_one_behind_the_other_and_have_names_of_their_own() {
    for layout in Layout::all() {
        let mut end = 0;
        for (i, field) in layout.fields().iter().enumerate() {
            assert_eq!(field.offset, end, "{} {}", layout.op_type(), field.name);
            assert_eq!(layout.field(field.name), layout.fields().get(i), "a name stands twice");
            end += field.kind.bytes();
        }
        assert!(layout.fields().len() <= 64);
    }
}

#[test]
fn the_known_key_has_its_known_bytes() {
    let integers = |numbers: &[i64]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    let floats = [0, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x3f, 0, 0, 0, 0];
    let types = [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0x1d, 0, 0, 0, 2, 0, 0, 0];
    let flags = [0, 1, 0, 0, 1, 1, 1];
    let expected =
        [&integers(&[0x80, 0x400, 0x1000])[..], &integers(&[1; 8]), &floats, &types, &flags, &[0; 48]].concat();
    let key = layout("MatMulV3").pack(&known_info()).unwrap();
    assert_eq!(key.bytes(), expected);
    assert_eq!(key.id(), 2_605_295_905);
}

#[test]
fn known_info_dicts_have_their_known_ids() {
    for (op_type, changes, id) in [
        ("MatMulV3", json!({}), 2_605_295_905_u32),
        (
            "MatMulV3",
            json!({"a_dtype": 0, "b_dtype": 0, "out_dtype": 0, "b_format": 2, "bias_flag": true, "m": 208, "k": 2392,
                "n": 256, "m_align_flag": false, "k_align_flag": false, "trans_b_flag": false}),
            3_773_661_998,
        ),
        (
            "QuantBatchMatmulV3",
            json!({"a_dtype": 2, "b_dtype": 2, "m": 4096, "k": 4096, "n": 2048, "reserved_bool": true}),
            3_629_255_536,
        ),
        (
            "MatMulV3",
            json!({"m": 3200, "k": 20496, "n": 6400, "b_format": 2, "trans_a_flag": true, "trans_b_flag": false,
                "k_align_flag": false}),
            1_254_529_286,
        ),
    ] {
        let mut info = known_info();
        info.extend(changes.as_object().unwrap().clone());
        assert_eq!(layout(op_type).pack(&info).unwrap().id(), id, "{op_type} {changes}");
    }
}

#[test]
fn a_missing_field_is_foreign_a_wrong_one_damaged_an_unknown_one_ignored() {
    let pack = |change: &dyn Fn(&mut Map<String, Value>)| {
        let mut info = known_info();
        change(&mut info);
        layout("MatMulV3").pack(&info)
    };
    let known = pack(&|_| {}).unwrap();
    assert_eq!(pack(&|info| drop(info.insert("future".into(), json!([1])))).unwrap(), known);
    assert_eq!(pack(&|info| drop(info.insert("m".into(), json!(128.0)))).unwrap(), known);
    assert_eq!(pack(&|info| drop(info.insert("a_dtype".into(), json!(true)))).unwrap(), known);
    assert!(matches!(pack(&|info| drop(info.remove("m"))), Err(Unusable::Foreign(why)) if why.contains("`m`")));
    for (name, value) in [
        ("m", json!("128")),
        ("m", json!(true)),
        ("m", json!(1.5)),
        ("m", json!(u64::MAX)),
        ("a_dtype", json!(1_i64 << 31)),
        ("trans_a_flag", json!(0)),
        ("reserved_params6", json!(-1)),
        ("l1_fused_num", json!(1e300)),
        ("l1_fused_num", Value::Null),
    ] {
        let packed = pack(&|info| drop(info.insert(name.into(), value.clone())));
        assert!(matches!(&packed, Err(Unusable::Damaged(why)) if why.contains(name)), "{name} {value}: {packed:?}");
    }
}

#[test]
fn bytes_that_are_no_key_are_refused() {
    let matmul = layout("MatMulV3");
    let key = matmul.pack(&known_info()).unwrap();
    let refused = |bytes: &[u8], what: &str| {
        assert!(matches!(matmul.unpack(bytes), Err(Unusable::Damaged(why)) if why.contains(what)));
    };
    refused(&key.bytes()[1..], "182");
    for (field, bytes) in [("trans_a_flag", vec![2]), ("l1_fused_num", f32::NAN.to_le_bytes().to_vec())] {
        let mut broken = key.bytes().to_vec();
        let offset = matmul.field(field).unwrap().offset;
        broken[offset..offset + bytes.len()].copy_from_slice(&bytes);
        refused(&broken, field);
    }
}

#[test]
fn keys_without_a_field_differ_in_the_others_alone() {
    let matmul = layout("MatMulV3");
    let of = |changes: Value| {
        let mut info = known_info();
        info.extend(changes.as_object().unwrap().clone());
        matmul.pack(&info).unwrap().bytes().to_vec()
    };
    let known = of(json!({}));
    let without = |key: &[u8], names: &[&str]| matmul.without(key, names.iter().copied());
    assert_eq!(without(&known, &["m", "bias_flag"]), Some(of(json!({"m": 0, "bias_flag": false}))));
    let (other_m, other_k) = (of(json!({"m": 7, "bias_flag": true})), of(json!({"k": 7})));
    assert_eq!(without(&other_m, &["bias_flag", "m"]), without(&known, &["m", "bias_flag"]));
    assert_ne!(without(&other_k, &["m"]), without(&known, &["m"]));
    assert_eq!(without(&known, &[]).as_deref(), Some(&known[..]));
    assert_eq!((without(&known[1..], &["m"]), without(&known, &["future"])), (None, None));
}

fn any_value(field: &Field) -> BoxedStrategy<Value> {
    match field.kind {
        FieldType::I64 => any::<i64>().prop_map(Value::from).boxed(),
        FieldType::U64 => any::<u64>().prop_map(Value::from).boxed(),
        FieldType::I32 => any::<i32>().prop_map(Value::from).boxed(),
        FieldType::U32 => any::<u32>().prop_map(Value::from).boxed(),
        FieldType::F32 => any::<f32>().prop_map(|f| Value::from(f64::from(f))).boxed(),
        FieldType::Bool => any::<bool>().prop_map(Value::from).boxed(),
    }
}

fn any_info() -> impl Strategy<Value = (&'static Layout, Map<String, Value>)> {
    proptest::sample::select(Layout::all().iter().collect::<Vec<_>>()).prop_flat_map(|layout| {
        let values: Vec<_> = layout.fields().iter().map(any_value).collect();
        values.prop_map(move |values| {
            let names = layout.fields().iter().map(|field| field.name.to_owned());
            (layout, names.zip(values).collect())
        })
    })
}

proptest! {
    #[test]
    fn an_info_dict_survives_packing((layout, info) in any_info()) {
        let key = layout.pack(&info).unwrap();
        prop_assert_eq!(key.bytes().len(), layout.bytes());
        prop_assert_eq!(layout.unpack(key.bytes()).unwrap(), info);
    }

    #[test]
    fn bytes_survive_unpacking(layout in proptest::sample::select(Layout::all().iter().collect::<Vec<_>>()),
                               mut bytes in proptest::collection::vec(any::<u8>(), 273)) {
        bytes.truncate(layout.bytes());
        for field in layout.fields().iter().filter(|f| f.kind == FieldType::Bool) {
            bytes[field.offset] &= 1;
        }
        // The only other bytes without a value are floats that are none.
        if let Ok(info) = layout.unpack(&bytes) {
            let key = layout.pack(&info).unwrap();
            prop_assert_eq!(key.bytes(), &bytes[..]);
        } else {
            let no_number = |f: &&Field| f.kind == FieldType::F32 && f.read(&bytes).is_none();
            prop_assert!(layout.fields().iter().any(|f| no_number(&f)));
        }
    }
}

#[test]
fn a_layout_is_that_of_its_operator_and_no_other() {
    use std::collections::HashSet;
    for (i, a) in Layout::all().iter().enumerate() {
        for (j, b) in Layout::all().iter().enumerate() {
            assert_eq!(a == b, i == j, "{} {}", a.op_type(), b.op_type());
        }
        assert_eq!(Layout::of(a.op_type()), Some(a));
    }
    assert_eq!(Layout::all().iter().collect::<HashSet<_>>().len(), Layout::all().len());
    assert_eq!(Layout::of("MatMul"), None);
}
