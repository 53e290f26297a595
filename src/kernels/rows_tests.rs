//! The operands that a listing tells of a kernel, given back as the row of a profile.

use super::case::case_of;
use super::listing::{Signature, signature};
use crate::profile::Kernel;
use crate::session::kernels::Launched;
use crate::simulate::{Parts, answer};
use crate::workload::{MatMul, Workload};
use rustc_hash::FxHashSet;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What the row of a kernel does not tell of it, where that decides its time.
fn untold(kernel: &Kernel) -> Option<&'static str> {
    match &kernel.workload {
        Workload::Fused(_) => Some("what is fused in"),
        Workload::MatMul(MatMul { k, n, trans_b: true, .. }) if k == n => Some("whether a square is turned"),
        Workload::MatMul(w) if w.m % 16 > 0 || w.k % 16 > 0 || w.n % 16 > 0 => Some("how full the last blocks are"),
        Workload::Reduce(w) if w.op_type.contains("Pool") => Some("the window"),
        Workload::Move(w) if w.op_type == "GatherV2" && w.inputs[0].bytes() > 4096 => {
            Some("how much of a table is read")
        }
        _ => None,
    }
}

/// The time of the row; the kernel finds as much in device memory.
fn as_row(told: &Signature, missed: Option<f64>, parts: &mut Parts) -> Option<f64> {
    let Signature {
        op_type,
        input_shapes,
        input_types,
        input_formats,
        output_shapes,
        output_types,
        output_formats,
        ..
    } = told;
    let texts = [op_type, input_shapes, input_types, input_formats, output_shapes, output_types, output_formats];
    let mut case = case_of(&texts.map(Clone::clone))?;
    if let Some(missed) = missed {
        case["missed_bytes"] = missed.into();
    }
    let answer: Value = serde_json::from_str(&answer(&case.to_string(), parts)).unwrap();
    answer["time_us"].as_f64()
}

#[test]
fn the_operands_that_a_listing_tells_of_a_kernel_give_its_price() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models");
    let (mut alike, mut told_of) = (0, BTreeSet::new());
    for model in ["resnet50.onnx", "bert_base.onnx"] {
        for soc in ["Ascend910B2", "Ascend310P3", "Ascend910A"] {
            let options: BTreeMap<String, String> = [("soc_version".to_owned(), soc.to_owned())].into();
            let launched = Launched::of(&folder.join(model), &options).unwrap();
            let mut parts = Parts::only(launched.soc().clone());
            let mut seen = FxHashSet::default();
            for kernel in &launched.run().unwrap().kernels {
                let told = signature(kernel);
                if !seen.insert((told.clone(), kernel.missed.map(f64::to_bits))) {
                    continue;
                }
                if let Some(untold) = untold(kernel) {
                    told_of.insert(untold);
                    continue;
                }
                let (listed, row) = (kernel.us(), as_row(&told, kernel.missed, &mut parts));
                let off = row.map(|row| (row / listed - 1.0).abs());
                assert!(off.is_some_and(|off| off < 1e-6), "{model} on {soc}: {row:?} and {listed} us, {told:?}");
                alike += 1;
            }
        }
    }
    // Of each kind some, so that neither list is empty without a word.
    assert!(alike > 60 && told_of.len() == 5, "{alike} {told_of:?}");
}
