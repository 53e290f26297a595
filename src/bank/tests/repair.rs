//! Records of ours, written before the rules of the kernels were known, with which those would not compute.

use super::super::inspect::{Socs, Source, Status, verify};
use super::super::knowledge::Knowledge;
use super::super::measurement::Stamp;
use super::super::side::{Side, soc_digest};
use super::super::{BankPaths, Measured, OperatorBank, repair::repair};
use super::matmul_v3;
use crate::soc::Soc;
use crate::tiling::matmul_v3::Tiling;
use crate::workload::{DefaultOrigin, MatMul, Workload};
use serde_json::{Value, json};

/// Tasks of two blocks, and no L2 tiles: what was written until the kernels' rules were known.
const BAD: Tiling = Tiling {
    used_core_num: 24,
    single_core_m: 256,
    single_core_n: 128,
    single_core_k: 4096,
    base_m: 128,
    base_n: 128,
    base_k: 64,
    depth_a1: 4,
    depth_b1: 4,
    step_m: 1,
    step_n: 1,
    iterate_order: 0,
    step_ka: 2,
    step_kb: 2,
    db_l0a: 2,
    db_l0b: 2,
    db_l0c: 1,
    l2_m_tile_cnt: 0,
    l2_n_tile_cnt: 0,
    l2_m_tile_block: 0,
    l2_n_tile_block: 0,
    l2_iterate_order: 0,
    tiling_enable: 0,
};

#[test]
fn a_record_of_ours_that_would_not_compute_is_no_hit_and_is_taken_out_unasked() {
    let (root, soc) = (tempfile::tempdir().unwrap(), Soc::find("Ascend910B2").unwrap());
    let (form, workload) = (matmul_v3(), Workload::MatMul(MatMul::new(1024, 4096, 2048)));
    let (key, knowledge) = (form.key_of(&workload).unwrap(), Knowledge::Tiling(BAD));
    let line: Value = json!({
        "id": key.id(), "info_dict": form.info_dict(&workload), "knowledge": BAD.to_knowledge(), "op": "MatMulV3",
        "version": 0,
    });
    let measured = Measured {
        before_us: 2.0,
        after_us: 1.0,
        backend: "simulator".into(),
        space: 2,
        default: DefaultOrigin::Estimated,
    };
    let stamp = Stamp { soc: soc.name.clone(), soc_fields: soc_digest(&soc), date: "2026-01-01".into() };
    let mut side = Side::default();
    side.insert(stamp.measurement(&key, &knowledge, &measured));
    let name = form.file_name("MatMulV3", &soc);
    let path = root.path().join(&name);
    std::fs::create_dir(root.path().join(".aoe")).unwrap();
    std::fs::write(root.path().join(".aoe").join(format!("{name}.side.jsonl")), side.render().unwrap()).unwrap();
    let text = line.to_string() + "\n";
    std::fs::write(&path, &text).unwrap();

    let elsewhere = tempfile::tempdir().unwrap();
    let link = elsewhere.path().join(&name);
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let linked = repair(&link, false, true).unwrap();
    assert!(linked.taken.len() == 1 && linked.taken[0].ours, "reached through a link it is ours, too: {linked:?}");
    let mut said = Vec::new();
    verify(&mut Source::open(&link).unwrap(), &mut Socs::new(None), &mut |judgement| {
        said.extend(judgement.remarks.into_iter().map(|remark| remark.reason));
        Ok(())
    })
    .unwrap();
    assert!(said.iter().any(|reason| reason.contains("(libaoe wrote it: ")), "{said:?}");

    let bank = OperatorBank::open(BankPaths { custom: root.path().to_owned(), also_read: Vec::new() }, &soc);
    assert_eq!(bank.lookup(&workload).unwrap(), None);
    let warnings = bank.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("singleCoreM = 256 exceeds baseM = 128"), "{warnings:?}");
    let near = Workload::MatMul(MatMul::new(1024, 4096, 1024));
    assert_eq!(bank.neighbours(&near, 3).unwrap(), [], "nor does it start another search");

    let rehearsed = repair(&path, false, true).unwrap();
    assert!(rehearsed.taken.len() == 1 && rehearsed.taken[0].ours && rehearsed.copy.is_none());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    let repaired = repair(&path, false, false).unwrap();
    assert_eq!((repaired.taken.len(), repaired.left.len()), (1, 0));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
    assert_eq!(std::fs::read_to_string(repaired.copy.unwrap()).unwrap(), text);
    assert_eq!(repair(&path, false, false).unwrap().taken, []);

    std::fs::write(&path, &text).unwrap();
    let copy = repair(&link, false, false).unwrap().copy.unwrap();
    assert_eq!(copy.parent(), Some(root.path()), "beside the file, not beside the link");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "");
    assert!(link.is_symlink());
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 1, "nothing but the link");
}

/// Digits without a kernel, and a block of no depth: what one command judges the other takes out.
#[test]
fn what_is_judged_not_to_compute_is_what_a_repair_takes_out() {
    let (root, soc) = (tempfile::tempdir().unwrap(), Soc::find("Ascend910B2").unwrap());
    let form = matmul_v3();
    let good = Tiling { single_core_m: 128, l2_m_tile_cnt: 1, l2_n_tile_cnt: 1, ..BAD };
    let with = |tiling_enable: u32| Tiling { tiling_enable, ..good };
    let tilings = [good, Tiling { base_k: 0, ..good }, with(30), with(100), with(3003), with(5), BAD];
    let lines: Vec<String> = (1u64..)
        .zip(tilings)
        .map(|(n, tiling)| {
            let workload = Workload::MatMul(MatMul::new(1024 * n, 4096, 2048));
            let id = form.key_of(&workload).unwrap().id();
            let info = form.info_dict(&workload);
            json!({"id": id, "info_dict": info, "knowledge": tiling.to_knowledge(), "op": "MatMulV3", "version": 0})
                .to_string()
        })
        .collect();
    let path = root.path().join(form.file_name("MatMulV3", &soc));
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let mut judged = Vec::new();
    let mut source = Source::open(&path).unwrap();
    verify(&mut source, &mut Socs::new(None), &mut |judgement| {
        let stumbles = judgement.remarks.iter().any(|remark: &super::super::inspect::Remark| {
            matches!(remark.status, Status::WouldNotCompute | Status::Refused)
        });
        judged.extend(stumbles.then_some(judgement.line));
        Ok(())
    })
    .unwrap();
    let taken: Vec<usize> = repair(&path, true, true).unwrap().taken.iter().map(|bad| bad.line).collect();
    assert_eq!(judged, [2, 3, 4, 5, 6, 7]);
    assert_eq!(taken, judged);
}
