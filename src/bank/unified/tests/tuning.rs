//! The bank as a tuning sees it: written, read back as a hit, merged with what others wrote.

use super::conv::{activated, image, writable};
use super::*;
use crate::bank::inspect::Remark;
use crate::bank::tests::memory::Memory;
use crate::bank::{BankPaths, Measured, OperatorBank, Writable};
use crate::search::Domain;
use crate::space::OperatorSpace;
use crate::workload::{Conv, ConvKind, MatMulKernel};
use std::path::Path;
use std::sync::Arc;

const DIRECTORY: &str = "/bank/Ascend910B2/unified_bank";
const FILE: &str = "Ascend910B2_24_AiCore_conv2d.json";

fn soc() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

fn open(storage: &Arc<Memory>) -> OperatorBank {
    let paths = BankPaths { custom: DIRECTORY.into(), also_read: Vec::new() };
    OperatorBank::with_storage(paths, &soc(), storage.clone(), "2026-01-02".into())
}

fn measured(after_us: f64) -> Measured {
    Measured {
        before_us: 2.0 * after_us,
        after_us,
        backend: "simulator".into(),
        space: 1,
        default: crate::workload::DefaultOrigin::Estimated,
    }
}

fn content(storage: &Memory, name: &str) -> String {
    use crate::bank::Storage;
    String::from_utf8(storage.read(&Path::new(DIRECTORY).join(name)).unwrap().unwrap()).unwrap()
}

#[test]
fn a_convolution_s_tiling_is_written_under_every_key_and_read_back_as_a_hit() {
    let storage = Arc::new(Memory::default());
    for (w, us) in [(Workload::Conv(image(ConvKind::Forward)), 4.5), (activated(image(ConvKind::Forward)), 5.0)] {
        let tiling = Schedule::Cube(writable(&w));
        let mut bank = open(&storage);
        assert_eq!(bank.lookup(&w).unwrap(), None);
        bank.record(&w, &tiling, &measured(us)).unwrap();
        bank.save().unwrap();
        let found = open(&storage).lookup(&w).unwrap().unwrap();
        assert_eq!((found.schedule, found.measured), (tiling, Some(measured(us))));
        assert_eq!(found.source, Path::new(DIRECTORY).join(FILE));
        let file = Bank::parse(content(&storage, FILE).as_bytes());
        for info in info_dicts(&w).unwrap() {
            assert_eq!(file.get(&info).unwrap().cost_us(), Some(us));
        }
    }
    let unproven = Writable::of(&Workload::Conv(image(ConvKind::Forward)), &soc()).unproven();
    assert!(unproven.contains(&"file name") && unproven.contains(&"out_fm_memory_type"), "{unproven:?}");
    let side = content(&storage, &format!(".aoe/{FILE}.side.jsonl"));
    assert!(side.lines().all(|line| line.contains(r#""unproven":["file name","bias_dtype""#)), "{side}");
    // A second run that finds the same writes the same bytes.
    let before = content(&storage, FILE);
    let w = Workload::Conv(image(ConvKind::Forward));
    let mut bank = open(&storage);
    bank.record(&w, &Schedule::Cube(writable(&w)), &measured(4.5)).unwrap();
    assert!(bank.save().unwrap().is_empty());
    assert_eq!(content(&storage, FILE), before);
}

#[test]
fn a_record_of_somebody_else_under_any_of_the_keys_is_a_hit_and_stays_beside_ours() {
    let storage = Arc::new(Memory::default());
    let w = Workload::Conv(image(ConvKind::Forward));
    let tiling = Schedule::Cube(writable(&w));
    let mut theirs = Bank::default();
    let infos = info_dicts(&w).unwrap();
    theirs.put(infos.last().unwrap(), &super::super::knowledge(&writable(&w), &w, None).unwrap(), 9.0).unwrap();
    theirs.put(&info(0), &tiling_of_product(), 1.0).unwrap();
    storage.put(Path::new(DIRECTORY).join(FILE), theirs.render());
    assert_eq!(open(&storage).lookup(&w).unwrap().unwrap().schedule, tiling);
    let mut bank = open(&storage);
    bank.record(&w, &tiling, &measured(4.5)).unwrap();
    bank.save().unwrap();
    let file = Bank::parse(content(&storage, FILE).as_bytes());
    assert_eq!(file.get(&info(0)).unwrap().cost_us(), Some(1.0), "what is not ours stays");
    assert_eq!(file.entries().count(), infos.len() + 1);
}

fn tiling_of_product() -> Dict {
    tiling()
}

#[test]
fn an_illegal_tiling_is_not_recorded_and_an_illegal_record_is_no_hit() {
    let storage = Arc::new(Memory::default());
    let w = Workload::Conv(image(ConvKind::Forward));
    let mut wrong = writable(&w);
    wrong.l0.k_b = 72;
    let error = open(&storage).record(&w, &Schedule::Cube(wrong), &measured(1.0)).unwrap_err();
    assert!(matches!(error, Error::IllegalSchedule { .. }), "{error}");
    let mut knowledge = super::super::knowledge(&writable(&w), &w, None).unwrap();
    knowledge.set("L0C_OUTPUT_matrix", Value::parse("[1, 1, 16, 16, 1, 1]").unwrap());
    let mut bank = Bank::default();
    bank.put(&super::super::info_dict(&w).unwrap(), &knowledge, 1.0).unwrap();
    storage.put(Path::new(DIRECTORY).join(FILE), bank.render());
    let bank = open(&storage);
    assert_eq!(bank.lookup(&w).unwrap(), None);
    assert!(bank.warnings()[0].contains("L0C_OUTPUT_matrix"), "{:?}", bank.warnings());
}

#[test]
fn tbe_s_products_of_whole_fractals_go_to_the_unified_bank_and_others_stay_ours() {
    let w = |m, kernel| Workload::MatMul(MatMul { kernel, bias: true, ..MatMul::new(m, 768, 768) });
    let name = |w: &Workload| {
        let bank = open(&Arc::new(Memory::default()));
        bank.record_name(w).unwrap().split('#').next().unwrap().to_owned()
    };
    assert_eq!(name(&w(128, MatMulKernel::Tbe)), "Ascend910B2_24_AiCore_matmul.json");
    assert_eq!(name(&w(100, MatMulKernel::Tbe)), "Ascend910B2_24_AiCore_MatMulV2_aoe_kb.json");
    assert_eq!(name(&w(128, MatMulKernel::AscendC)), "Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json");
    assert_eq!(
        name(&Workload::Conv(Conv { groups: 64, ..image(ConvKind::Forward) })),
        "Ascend910B2_24_AiCore_Conv2D_aoe_kb.json"
    );
    for (kind, file) in
        [(ConvKind::BackpropInput, "conv2d_backprop_input"), (ConvKind::BackpropFilter, "conv2d_backprop_filter")]
    {
        assert_eq!(name(&Workload::Conv(image(kind))), format!("Ascend910B2_24_AiCore_{file}.json"));
    }
}

/// Draws legal configurations of a space, from seeds.
fn drawn(space: &OperatorSpace, seed: u64) -> Option<CubeSchedule> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut prefix: Vec<u32> = Vec::new();
    while prefix.len() < space.sizes().len() {
        let size = space.sizes()[prefix.len()];
        let first = random.u32(0..size);
        let next = (0..size).map(|i| (first + i) % size).find(|&value| {
            prefix.push(value);
            let fits = space.may_extend(&prefix);
            prefix.pop();
            fits
        })?;
        prefix.push(next);
    }
    match space.schedule(&prefix) {
        Some(Schedule::Cube(s)) => Some(s),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn whatever_the_space_draws_that_a_record_says_goes_there_and_back(
        (batch, cin, cout, size, kernel, stride) in
            (1u64..9, 1u64..9, 1u64..9, prop::sample::select(vec![7u64, 14, 28, 56]), prop::sample::select(vec![1u64, 3]), 1u64..3),
        backward in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let kind = if backward { ConvKind::BackpropInput } else { ConvKind::Forward };
        let pad = kernel / 2;
        let out = (size + 2 * pad - kernel) / stride + 1;
        let conv = Conv {
            batch, cin: cin * 16, cout: cout * 16, hi: size, wi: size, ho: out, wo: out, kh: kernel, kw: kernel,
            stride: [stride; 2], pads: [pad; 4], ..image(kind)
        };
        let w = Workload::Conv(conv);
        let space = OperatorSpace::new(&w, &soc()).unwrap();
        let drawn: Vec<_> = (0..40).filter_map(|i| drawn(&space, seed.wrapping_add(i))).collect();
        let good: Vec<_> = drawn.iter().filter(|s| super::super::check(s, &w, &soc()).is_ok()).collect();
        for s in good {
            let said = super::super::knowledge(s, &w, None).unwrap();
            prop_assert_eq!(&super::super::schedule(&said, &w).unwrap(), s);
            accepts(&said, &w, &soc()).unwrap();
            check(&w, &Schedule::Cube(s.clone()), &soc()).unwrap();
        }
    }
}

/// Records that contradict themselves or the part, each with the words of its rule.
#[test]
fn records_at_which_a_compilation_stops_are_refused_and_taken_out() {
    use crate::bank::inspect::{Socs, Source, Status, verify};
    use crate::bank::repair::repair;
    let w = Workload::Conv(image(ConvKind::Forward));
    let info = super::super::info_dict(&w).unwrap();
    let Schedule::Cube(good) = Schedule::Cube(writable(&w)) else { unreachable!() };
    let knowledge = super::super::knowledge(&good, &w, None).unwrap();
    let head = |name: &str, at: usize, value: u64| {
        let mut changed = knowledge.clone();
        let mut list = changed.get(name).and_then(Value::as_list).unwrap().to_vec();
        list[at] = Value::from(value);
        changed.set(name, Value::List(list));
        changed
    };
    let root = tempfile::tempdir().unwrap();
    let write = |path: &Path, knowledge: &Dict| {
        let mut bank = Bank::default();
        bank.put(&info, knowledge, 2.0).unwrap();
        std::fs::write(path, bank.render()).unwrap();
    };
    let path = root.path().join(FILE);
    let judged = |path: &Path| {
        let mut refused = 0;
        let mut source = Source::open(path).unwrap();
        verify(&mut source, &mut Socs::new(None), &mut |judgement| {
            refused += judgement.remarks.iter().filter(|r| r.status == Status::Refused && r.status.stumbles()).count();
            Ok(())
        })
        .unwrap();
        refused
    };
    write(&path, &knowledge);
    let whole = std::fs::read(&path).unwrap();
    assert_eq!((judged(&path), repair(&path, true, false).unwrap().taken.len()), (0, 0));
    let bad = [
        head("AL0_matrix", 0, 99),
        head("AL0_matrix", 1, 2),
        head("BL0_matrix", 1, 3),
        head("L0C_OUTPUT_matrix", 0, 7),
        head("block_dim", 2, 30),
        head("AL0_matrix", 0, 0),
    ];
    for knowledge in bad {
        write(&path, &knowledge);
        assert_eq!(judged(&path), 1, "{}", knowledge.dumps());
        let into = tempfile::tempdir().unwrap();
        std::fs::write(into.path().join(FILE), &whole).unwrap();
        let merged = crate::bank::merge(std::slice::from_ref(&path), into.path(), &[]).unwrap();
        assert_eq!((merged.refused, merged.broken, merged.updated, merged.warnings.len()), (1, 1, 0, 1), "{merged:?}");
        assert_eq!(std::fs::read(into.path().join(FILE)).unwrap(), whole, "a faster one that stops takes no place");
        let named = repair(&path, false, false).unwrap();
        assert_eq!((named.taken.len(), named.left.len()), (0, 1), "another's stays unless asked for");
        let taken = repair(&path, true, false).unwrap();
        assert!(taken.taken.len() == 1 && taken.copy.is_some());
        assert_eq!(Bank::parse(&std::fs::read(&path).unwrap()).entries().count(), 0);
        assert_eq!(judged(&path), 0);
    }
}

/// What stops the compilation of a product is not known; that no core has such buffers is.
#[test]
fn products_that_overflow_a_buffer_would_not_compute_and_are_taken_out() {
    use crate::bank::inspect::Status;
    use crate::bank::repair::repair;
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("Ascend910B2_24_AiCore_matmul.json");
    let broken =
        [("AL0_matrix", 1, 64, "L0A"), ("AL1_shape", 0, 1 << 20, "L1"), ("block_dim", 1, 25, "cores, the part has 24")];
    for (field, place, value, buffer) in broken {
        let mut knowledge = tiling_of_product();
        change(&mut knowledge, field, place, value);
        if field == "AL0_matrix" {
            change(&mut knowledge, "BL0_matrix", 0, value);
        }
        let found = remarks(&path, &knowledge);
        assert!(
            matches!(&found[..], [r] if r.status == Status::WouldNotCompute && r.reason.contains(buffer)),
            "{found:?}"
        );
        assert_eq!(repair(&path, true, false).unwrap().taken.len(), 1);
    }
}

/// What a judgement says of a bank in this place with this one record.
fn remarks(path: &Path, knowledge: &Dict) -> Vec<Remark> {
    use crate::bank::inspect::{Socs, Source, verify};
    let mut bank = Bank::default();
    bank.put(&info(0), knowledge, 1.0).unwrap();
    std::fs::write(path, bank.render()).unwrap();
    let mut found = Vec::new();
    verify(&mut Source::open(path).unwrap(), &mut Socs::new(None), &mut |judgement| {
        found.extend(judgement.remarks);
        Ok(())
    })
    .unwrap();
    found
}

/// A number in a list of a tiling, changed.
fn change(knowledge: &mut Dict, field: &str, place: usize, value: u64) {
    let mut list = knowledge.get(field).and_then(Value::as_list).unwrap().to_vec();
    list[place] = Value::from(value);
    knowledge.set(field, Value::List(list));
}

/// A product whose fields contradict each other is none; what is merely not understood may be one of CANN's.
#[test]
fn products_that_contradict_themselves_go_nowhere_and_what_is_not_understood_is_kept() {
    use crate::bank::inspect::Status;
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("Ascend910B2_24_AiCore_matmul.json");
    let cases = [
        (vec![("AL0_matrix", 0, 3)], Some("`AL0_matrix`: m = 3")),
        (vec![("BL0_matrix", 1, 3)], Some("`BL0_matrix`: n = 3")),
        (vec![("block_dim", 1, 0)], Some("is zero")),
        (vec![("AL0_matrix", 1, 0), ("BL0_matrix", 0, 0)], Some("")),
        (vec![("AL0_matrix", 4, 2)], None),
    ];
    for (changes, rule) in cases {
        let mut knowledge = tiling_of_product();
        for (field, place, value) in &changes {
            change(&mut knowledge, field, *place, *value);
        }
        let found = remarks(&path, &knowledge);
        let into = tempfile::tempdir().unwrap();
        let merged = crate::bank::merge(std::slice::from_ref(&path), into.path(), &[]).unwrap();
        let [remark] = &found[..] else { panic!("{changes:?}: {found:?}") };
        match rule {
            Some(rule) => {
                let stumbles = matches!(remark.status, Status::WouldNotCompute | Status::Illegal);
                assert!(stumbles && remark.reason.contains(rule), "{changes:?}: {remark:?}");
                assert_eq!((merged.added, merged.broken), (0, 1), "{changes:?}: {merged:?}");
            }
            None => {
                assert_eq!((remark.status, merged.added), (Status::NotJudged, 1), "{changes:?}: {remark:?} {merged:?}");
            }
        }
    }
}

/// No measured convolution has more in L1 than its core holds, so one that has is no record to keep.
#[test]
fn convolutions_that_overflow_l1_would_not_compute_and_go_nowhere() {
    use crate::bank::inspect::{Socs, Source, Status, verify};
    use crate::bank::repair::repair;
    let w = Workload::Conv(image(ConvKind::Forward));
    let mut knowledge = super::super::knowledge(&writable(&w), &w, None).unwrap();
    let mut panel = knowledge.get("AL1_shape").and_then(Value::as_list).unwrap().to_vec();
    assert!(!panel.is_empty(), "the tiling holds a panel of the image");
    panel[1] = Value::from(1 << 12);
    knowledge.set("AL1_shape", Value::List(panel));
    let mut bank = Bank::default();
    bank.put(&super::super::info_dict(&w).unwrap(), &knowledge, 1.0).unwrap();
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(FILE);
    std::fs::write(&path, bank.render()).unwrap();
    let mut found = Vec::new();
    verify(&mut Source::open(&path).unwrap(), &mut Socs::new(None), &mut |judgement| {
        found.extend(judgement.remarks);
        Ok(())
    })
    .unwrap();
    assert!(matches!(&found[..], [r] if r.status == Status::WouldNotCompute && r.reason.contains("L1")), "{found:?}");
    let into = tempfile::tempdir().unwrap();
    let merged = crate::bank::merge(std::slice::from_ref(&path), into.path(), &[]).unwrap();
    assert_eq!((merged.added, merged.broken), (0, 1), "{merged:?}");
    assert_eq!(repair(&path, true, false).unwrap().taken.len(), 1);
}

/// What CANN could not read does not go without a word when a record is taken out.
#[test]
fn the_damaged_lines_of_a_bank_that_is_repaired_are_counted_and_named() {
    use crate::bank::repair::repair;
    let w = Workload::Conv(image(ConvKind::Forward));
    let info = super::super::info_dict(&w).unwrap();
    let mut knowledge = super::super::knowledge(&writable(&w), &w, None).unwrap();
    knowledge.set("block_dim", Value::List(vec![Value::from(1), Value::from(1), Value::from(30), Value::from(1)]));
    let mut bank = Bank::default();
    bank.put(&info, &knowledge, 2.0).unwrap();
    let text = String::from_utf8(bank.render()).unwrap();
    let damaged = text.replacen("{\n", "{\n\"half an entry\": [{\n\"another\n", 1);
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(FILE);
    for (content, said) in [(&text, 0), (&damaged, 1)] {
        std::fs::write(&path, content).unwrap();
        let repaired = repair(&path, true, false).unwrap();
        assert_eq!((repaired.taken.len(), repaired.warnings.len()), (1, said), "{repaired:?}");
        assert_eq!(&std::fs::read_to_string(repaired.copy.unwrap()).unwrap(), content);
        let told = repaired.warnings.concat();
        assert!(said == 0 || told.contains("2 damaged lines") && told.contains("line 2, 3"), "{told}");
    }
}
