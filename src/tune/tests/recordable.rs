//! What is found can be recorded, whatever CANN's record of the operator cannot say.

use super::*;
use crate::bank::Writable;

fn on(soc: &Soc, op_type: &str, dtype: DataType, x: &[i64], w: &[i64], attrs: &[(&str, Attr)]) -> Variant {
    let mut g = Graph::new("net");
    let tensor = |dims: &[i64]| TensorDesc::new(dtype, Shape::new(dims));
    let x = g.add_input("x", tensor(x)).unwrap();
    let w = g.add_const("w", tensor(w), crate::graph::Constant::Opaque).unwrap();
    let mut node = Node::new("node", op_type).with_inputs([x, w]);
    for (name, value) in attrs {
        node.attrs.set(*name, value.clone());
    }
    let node = g.add(node).unwrap();
    g.add_output(Port::first(node));
    infer::infer(&mut g).unwrap();
    let lowered = lower(&g, soc, &lower::Settings::default()).unwrap();
    Variant { label: String::new(), graph: g, lowered }
}

/// Tunes the one operator of a graph twice and returns its case of the first time.
fn tuned(soc: &Soc, variant: Variant, file: &str) -> CaseOutcome {
    let dir = tempfile::tempdir().unwrap();
    let environment = BankEnvironment { tune_bank_path: Some(dir.path().to_owned()), ..BankEnvironment::default() };
    let simulator = Sure::of(soc.clone());
    let variants = [variant];
    let run = || {
        let mut bank = OperatorBank::open(BankPaths::operator(&environment, soc).unwrap(), soc);
        let cancel = AtomicBool::new(false);
        tune(&variants, &simulator, &mut bank, &settings(), &cancel, &mut Watch::default()).unwrap().cases.remove(0)
    };
    let case = run();
    assert!(!Writable::of(&case.workload, soc).is_everything(), "{}", case.workload);
    assert!(case.trials > 0 && case.failed_trials == 0, "{} trials, {} failed", case.trials, case.failed_trials);
    if case.status == BankStatus::Added {
        let again = run();
        assert_eq!((again.status, &again.after), (BankStatus::Reserved, &case.after));
        assert!(dir.path().join(&soc.name).join("unified_bank").join(file).exists(), "{file}");
    }

    case
}

#[test]
fn convolutions_of_a_950_are_recorded_as_its_kernel_has_them() {
    let soc = Soc::find("Ascend950PR_9589").unwrap();
    let name = "Ascend950PR_9589_32_AiCore_Conv2DV2_runtime_kb.json";
    let format = ("data_format", Attr::Str("NCHW".into()));
    for (batch, channels, pixels, out, kernel) in
        [(1, 64, 56, 128, 3), (8, 256, 14, 256, 3), (4, 64, 56, 256, 1), (2, 3, 224, 64, 7)]
    {
        let pads = ("pads", Attr::Ints(vec![kernel / 2; 4]));
        let (x, w) = ([batch, channels, pixels, pixels], [out, channels, kernel, kernel]);
        tuned(&soc, on(&soc, "Conv2D", DataType::Float16, &x, &w, &[format.clone(), pads]), name);
    }
}

#[test]
fn products_of_integers_on_a_310p_are_recorded_as_tbe_has_them() {
    let soc = Soc::find("Ascend310P3").unwrap();
    let name = "Ascend310P3_8_AiCore_QuantBatchMatmulV3_runtime_kb.json";
    for (m, k, n) in [(256, 4096, 4096), (4096, 512, 2048)] {
        tuned(&soc, on(&soc, "MatMulV2", DataType::Int8, &[m, k], &[k, n], &[]), name);
    }
}
