//! A record's work is that which it was written for.

use super::super::exact_workload;
use super::super::work::workload;
use super::{image, volume};
use crate::bank::form::Form;
use crate::graph::{DataType, Format};
use crate::soc::Soc;
use crate::workload::{
    Collective, CollectiveKind, Conv, ConvKind, MatMul, MatMulKernel, Move, Operand, Reduce, Vector, Workload,
    canonical_json,
};
use serde_json::{Map, Value, json};

fn operand(shape: &[u64], dtype: DataType, format: Format) -> Operand {
    Operand { shape: shape.to_vec(), dtype, format }
}

/// Works of every kind; of two that are alike but for one thing both.
fn of_every_kind() -> Vec<Workload> {
    use CollectiveKind::{AllGather, AllReduce, AllToAll, Broadcast, ReduceScatter};
    use MatMulKernel::{AscendC, Fused, Grouped, QuantV4, Tbe, Transposed};
    let product = MatMul {
        batch: 3,
        a_shared: true,
        out_dtype: DataType::Float,
        trans_a: true,
        bias: true,
        a_format: Format::FractalNz,
        hf32: true,
        ..MatMul::new(2, 5, 7)
    };
    let mut all = vec![
        MatMul { b_shared: true, a_shared: false, ..product.clone() },
        MatMul { trans_b: true, trans_a: false, ..product.clone() },
        MatMul { b_format: Format::FractalNz, a_format: Format::Nd, ..product.clone() },
        MatMul { dtype: DataType::Int8, b_dtype: Some(DataType::Int4), ..product.clone() },
    ];
    all.extend([AscendC, Tbe, QuantV4, Transposed, Grouped, Fused].map(|kernel| MatMul { kernel, ..product.clone() }));
    let mut all: Vec<Workload> = all.into_iter().map(Workload::MatMul).collect();
    for kind in [ConvKind::Forward, ConvKind::BackpropInput, ConvKind::BackpropFilter] {
        let other = Conv { out_dtype: DataType::Float, groups: 4, bias: true, hf32: true, ..image() };
        all.extend([image(), volume(), other].map(|w| Workload::Conv(Conv { kind, ..w })));
    }
    let (inputs, outputs) = (
        vec![operand(&[8, 4], DataType::Float16, Format::Nchw), operand(&[], DataType::Int32, Format::Nd)],
        vec![operand(&[9], DataType::Float, Format::Nhwc)],
    );
    let ([a, b], c) = ([inputs.clone(), inputs.clone()], outputs.clone());
    all.push(Workload::Vector(Vector { op_type: "Add".into(), inputs, outputs }));
    all.push(Workload::Reduce(Reduce {
        op_type: "ReduceSum".into(),
        outer: 0,
        axis: 3,
        inner: 2,
        inputs: a,
        outputs: c.clone(),
    }));
    all.push(Workload::Move(Move { op_type: "Transpose".into(), run_bytes: 64, inputs: b, outputs: c }));
    let collectives = [AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast];
    all.extend(collectives.map(|kind| Workload::Collective(Collective { kind, bytes: 77 })));
    all.push(Workload::Fused(all[..2].to_vec()));
    all
}

#[test]
fn works_of_every_kind_are_read_back_from_their_canonical_json() {
    for work in of_every_kind() {
        let info = canonical_json(&work);
        assert_eq!(exact_workload(info.as_object().unwrap()), Ok(work.clone()));
        // Whatever operator a file is of.
        assert_eq!(workload(Form::Canonical, "any", info.as_object().unwrap()), Ok(work));
    }
}

#[test]
fn a_field_that_cannot_be_is_named_whichever_it_is() {
    for work in of_every_kind() {
        let Value::Object(info) = canonical_json(&work) else { panic!() };
        for name in info.keys() {
            let mut info = info.clone();
            info.insert(name.clone(), json!(7.5));
            let error = exact_workload(&info).expect_err(name);
            assert!(error.contains(name), "{name}: {error}");
        }
    }
    for (name, value) in [("kind", "gemm"), ("kernel", "other"), ("exchange", "gossip")] {
        let mut known = of_every_kind().into_iter().map(|work| canonical_json(&work));
        let mut info = known.find(|info| info.get(name).is_some()).unwrap();
        info[name] = value.into();
        let error = exact_workload(info.as_object().unwrap()).unwrap_err();
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn a_size_of_nothing_is_none_where_work_would_be_none() {
    for name in ["batch", "cin", "hi", "wi", "cout", "ho", "wo", "kh", "kw", "groups"] {
        let mut info = canonical_json(&Workload::Conv(image()));
        info[name] = json!(0);
        let error = exact_workload(info.as_object().unwrap()).expect_err(name);
        assert_eq!(error, format!("`{name}` cannot be 0"));
    }
}

/// The work of the `info_dict` that CANN asks with.
fn asked(work: &Workload, soc: &str) -> (Form, Map<String, Value>) {
    let form = Form::of(work, &Soc::find(soc).unwrap());
    let Value::Object(info) = form.info_dict(work) else { panic!("{work}") };
    (form, info)
}

#[test]
fn a_record_of_cann_s_is_for_the_work_that_asks_for_it() {
    let product = MatMul { trans_b: true, b_format: Format::FractalNz, bias: true, ..MatMul::new(128, 1024, 4096) };
    let quantised = MatMul { dtype: DataType::Int8, out_dtype: DataType::Int32, ..MatMul::new(64, 96, 160) };
    let dilated =
        Conv { groups: 3, bias: true, hf32: true, dtype: DataType::Float, out_dtype: DataType::Float, ..image() };
    for (work, soc, op) in [
        (Workload::MatMul(product.clone()), "Ascend910B2", "MatMulV3"),
        (Workload::MatMul(MatMul { a_format: Format::FractalNz, ..product.clone() }), "Ascend910B2", "MatMulV3"),
        (Workload::MatMul(MatMul { trans_a: true, trans_b: false, ..product }), "Ascend910B2", "MatMulV3"),
        (Workload::MatMul(quantised), "Ascend310P3", "QuantBatchMatmulV3"),
        (Workload::Conv(dilated), "Ascend950PR_9589", "Conv2DV2"),
        (Workload::Conv(volume()), "Ascend910B2", "Conv3D"),
        (Workload::Conv(Conv { bias: true, ..volume() }), "Ascend910B2", "Conv3D"),
    ] {
        let (form, info) = asked(&work, soc);
        assert_eq!(form, Form::runtime(op), "{work}");
        assert_eq!(workload(form, op, &info), Ok(work));
    }
}

#[test]
fn keys_of_gradients_are_read_in_their_own_terms() {
    let gradient = Conv { kind: ConvKind::BackpropFilter, format: Format::Nc1hwc0, ..image() };
    let form = Form::runtime("Conv2DBackpropFilter");
    let info = form.info_dict(&Workload::Conv(gradient.clone()));
    let read = |info: &Value| workload(form, "Conv2DBackpropFilter", info.as_object().unwrap());
    assert_eq!(read(&info), Ok(Workload::Conv(gradient.clone())));
    let mut hf32 = info.clone();
    hf32["hf32_flag"] = json!(1);
    assert_eq!(read(&hf32), Ok(Workload::Conv(Conv { hf32: true, ..gradient.clone() })));
    // The key of a volume's gradient counts planes and taps beside images and channels.
    let Value::Object(mut info) = json!({
        "batch": 2, "groups": 1, "co": 128, "ci": 48, "dout": 6, "wo": 20, "ho": 28, "wi": 40, "hi": 56, "di": 11,
        "kw": 5, "kh": 3, "kd": 3, "stride_w": 4, "stride_h": 2, "stride_d": 1, "pad_l": 7, "pad_r": 9, "pad_u": 1,
        "pad_d": 6, "pad_f": 0, "pad_b": 0, "dilation_w": 10, "dilation_h": 8, "dilation_d": 1, "hf32Flag": 0,
        "a_dtype": 1, "b_dtype": 1, "c_dtype": 0, "fmapFormat": Format::Ndc1hwc0.ge_number(),
    }) else {
        panic!()
    };
    let op = "Conv3DBackpropFilterV2";
    let expected =
        Conv { batch: 2 * 6, cin: 48 * 3, out_dtype: DataType::Float, format: Format::Ndc1hwc0, ..gradient.clone() };
    assert_eq!(workload(Form::runtime(op), op, &info), Ok(Workload::Conv(expected)));
    info.remove("kd");
    assert_eq!(workload(Form::runtime(op), op, &info), Err("`kd` is missing".into()));
    let Value::Object(mut info) = json!({
        "batch_n": 2, "groups": 1, "dedx_d": 11, "dedx_cin": 48, "dedx_h": 56, "dedx_w": 40, "dedy_d": 6,
        "dedy_cout": 128, "dedy_h": 28, "dedy_w": 20, "pad_u": 1, "pad_d": 6, "pad_l": 7, "pad_r": -9, "kernel_d": 3,
        "kernel_h": 3, "kernel_w": 5, "stride_h": 2, "stride_w": 4, "dilation_h": 8, "dilation_w": 10, "hf32_flag": 1,
        "a_dtype_bytes": 2, "c_dtype_bytes": 4, "outBackpropFormat": Format::Ndc1hwc0.ge_number(),
    }) else {
        panic!()
    };
    let op = "Conv3DBackpropInputV2";
    let expected = Conv {
        kind: ConvKind::BackpropInput,
        batch: 2 * 11,
        cout: 128 * 3,
        out_dtype: DataType::Float,
        format: Format::Ndc1hwc0,
        hf32: true,
        // Below nothing is none.
        pads: [1, 6, 7, 0],
        ..gradient
    };
    assert_eq!(workload(Form::runtime(op), op, &info), Ok(Workload::Conv(expected)));
    info.insert("a_dtype_bytes".into(), json!(1));
    assert!(matches!(workload(Form::runtime(op), op, &info), Ok(Workload::Conv(Conv { dtype: DataType::Int8, .. }))));
    info.insert("a_dtype_bytes".into(), json!(8));
    assert_eq!(workload(Form::runtime(op), op, &info), Err("`a_dtype_bytes` cannot be 8".into()));
    for op in ["Conv2DBackpropInput", "Conv2DTranspose", "Conv3DBackpropInput", "Conv3DTranspose"] {
        let error = workload(Form::runtime(op), op, &info).unwrap_err();
        assert!(error.contains(op) && error.contains("not decoded"), "{error}");
    }
}

#[test]
fn batches_of_a_product_s_operands_are_multiplied_and_the_smaller_one_is_shared() {
    let work = Workload::MatMul(MatMul::new(128, 1024, 4096));
    let (form, mut info) = asked(&work, "Ascend910B2");
    for (name, size) in [("batch_a1", 2), ("batch_a3", 5), ("batch_b4", 3)] {
        info.insert(name.into(), json!(size));
    }
    let read = |op: &str, info: &Map<String, Value>| match workload(form, op, info) {
        Ok(Workload::MatMul(w)) => (w.batch, w.a_shared, w.b_shared, w.kernel),
        other => panic!("{other:?}"),
    };
    assert_eq!(read("MatMulV3", &info), (10, false, true, MatMulKernel::AscendC));
    info.insert("batch_b1".into(), json!(7));
    assert_eq!(read("MatMulV2", &info), (21, true, false, MatMulKernel::Tbe));
    info.insert("batch_a2".into(), json!("x"));
    assert!(workload(form, "MatMulV3", &info).unwrap_err().contains("batch_a2"));
}
