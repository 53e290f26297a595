//! Tests of the unified bank and the tiling repository.

mod conv;
mod mapping;
mod tuning;

use super::*;
use crate::bank::Content;
use crate::bank::tests::mutate::{damage, damaged};
use crate::graph::{DataType, Format};
use crate::workload::tbe::TbeTiling;
use crate::workload::{Buffers, Cores, L0Tile, L1Tile, LoopOrder, MatMul, Panel, Schedule, SplitK, check};
use proptest::prelude::*;

/// The two key vectors of CANN's format: text and sum.
const VECTORS: [(&str, &str); 2] = [
    (
        r#"{"op_type": "matmul", "A_shape": [1, 1, 320, 16, 16], "B_shape": [16, 2, 1, 1, 16], "C_shape": [0, 0, 0, 0, 0], "A_dtype": "float16", "B_dtype": "float16", "C_dtype": "float16", "mad_dtype": "float32", "padl": 0, "padr": 0, "padu": 0, "padd": 0, "strideH": 1, "strideW": 1, "strideH_expand": 1, "strideW_expand": 1, "dilationH": 3, "dilationW": 1, "group": 1, "bias_flag": false, "fused_double_operand_num": 0, "shape_a_align": 1, "shape_b_align": 1, "scalar_size": 0, "batch_type": 0, "reduce_fusion": 0}"#,
        "147a614a52c16e26607b8ac067296555",
    ),
    (
        r#"{"op_type": "matmul", "A_shape": [1, 535, 125, 16, 16], "B_shape": [8560, 64, 1, 1, 16], "C_shape": [0, 0, 0, 0, 0], "A_dtype": "float16", "B_dtype": "float16", "C_dtype": "float32", "mad_dtype": "float32", "padl": 0, "padr": 0, "padu": 0, "padd": 0, "strideH": 1, "strideW": 1, "strideH_expand": 1, "strideW_expand": 1, "dilationH": 1, "dilationW": 1, "group": 1, "bias_flag": true, "fused_double_operand_num": 0, "shape_a_align": 1, "shape_b_align": 1, "scalar_size": 0, "batch_type": 0, "reduce_fusion": 0, "bias_dtype": "float16", "fixpipe_flag": 1}"#,
        "c9f9af200edadf8f53d6039326ef9db7",
    ),
];

/// The product that an `info_dict` stands for.
fn workload(info: &Dict) -> Result<MatMul> {
    match super::workload(info)? {
        Workload::MatMul(w) => Ok(w),
        other => panic!("{other} is no product"),
    }
}

fn info_dict(w: &MatMul) -> Result<Dict> {
    super::info_dict(&Workload::MatMul(w.clone()))
}

fn schedule(knowledge: &Dict, w: &MatMul) -> Result<CubeSchedule> {
    super::schedule(knowledge, &Workload::MatMul(w.clone()))
}

fn knowledge(s: &CubeSchedule, w: &MatMul, base: Option<&Dict>) -> Result<Dict> {
    super::knowledge(s, &Workload::MatMul(w.clone()), base)
}

fn dict(text: &str) -> Dict {
    Value::parse(text).unwrap().as_dict().unwrap().clone()
}

fn info(vector: usize) -> Dict {
    dict(VECTORS[vector].0)
}

/// A tiling of the first vector's product, 5120 x 16 x 32: 20 blocks of 256 rows.
fn tiling() -> Dict {
    let s = schedule_of(&workload(&info(0)).unwrap(), 20, 128, 16);
    knowledge(&s, &workload(&info(0)).unwrap(), None).unwrap()
}

/// A schedule that TBE's form can say: blocks along m, one L0 tile deep in L1.
fn schedule_of(w: &MatMul, blocks: u32, m: u32, k: u32) -> CubeSchedule {
    let tiling = TbeTiling {
        cores: Cores { batch: 1, m: blocks, n: 1, k: 1 },
        l1_a: L1Tile::panel(k, 2),
        l1_b: L1Tile::FULL,
        l0: L0Tile { m, n: w.n as u32, k_a: k, k_b: k },
        buffers: Buffers { l1_a: 2, l1_b: 1, l0_a: 2, l0_b: 1, l0_c: 2 },
    };
    tiling.schedule(&w.cube()).unwrap()
}

fn bank() -> Bank {
    let mut bank = Bank::default();
    bank.put(&info(0), &tiling(), 4.5).unwrap();
    let second = dict(r#"{"dynamic_compile_static": "tune", "op_impl_switch": "dsl"}"#);
    bank.put(&info(1), &second, 1.0).unwrap();
    bank
}

#[test]
fn keys_are_those_of_cann() {
    assert_eq!(VECTORS.map(|(text, _)| text.len()), [505, 553]);
    for (text, sum) in VECTORS {
        assert_eq!(key(&dict(text)), sum);
        assert_eq!(key(&dict(&text.replace(": ", " :\n"))), sum, "spacing does not count");
    }
    let plain = workload(&info(0)).unwrap();
    assert_eq!(key(&info_dict(&plain).unwrap()), VECTORS[0].1);
}

#[test]
fn the_file_is_laid_out_as_cann_lays_it_out() {
    let text = String::from_utf8(bank().render()).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[3]), (4, "{", "}"));
    let start = format!("\"{}\": [{{\"knowledge\": {{\"AUB_shape\": null, ", VECTORS[0].1);
    assert!(lines[1].starts_with(&start) && lines[1].ends_with("\"reduce_fusion\": 0}, \"cost_time\": 4.5}],"));
    assert!(lines[2].ends_with("\"cost_time\": 1.0}]") && !text.ends_with('\n'));
    assert_eq!(Bank::default().render(), b"{\n}");
    assert!(Bank::parse(b"{\n}").entries().next().is_none());
    assert_eq!(Bank::parse(b" \n").findings(), []);
}

#[test]
fn what_was_not_changed_is_written_as_it_was_read() {
    let foreign = r#""cafe": [{"x":1.50}]"#;
    let stale = format!("\"{}\":  [{{\"info_dict\":{{\"a\":1}},\"knowledge\":{{}} }}]", VECTORS[1].1);
    let entry = String::from_utf8(bank().render()).unwrap().lines().nth(1).unwrap().trim_end_matches(',').to_owned();
    let text = format!("\u{feff}{{\r\n{foreign},\r\n{entry},\r\n{stale}\r\n}}\r\n");
    let mut read = Bank::parse(text.as_bytes());
    let told: Vec<_> = read.findings().iter().map(|f| (f.line, f.reason.as_str())).collect();
    assert!(matches!(told[..], [(2, cafe), (4, stale)] if cafe.contains("cafe") && stale.contains("has the key")));
    assert!(!read.is_damaged());
    assert_eq!(read.get(&info(0)).unwrap().cost_us(), Some(4.5));
    assert_eq!(read.get(&info(1)), None);
    assert_eq!(
        String::from_utf8(read.render()).unwrap(),
        format!("{{\n{foreign},\n{entry},\n{}\n}}", stale.replace(":  [", ": ["))
    );
    // A record for the stale key comes to stand beside it; CANN's parser keeps the last of two.
    read.put(&info(1), &tiling(), 2.0).unwrap();
    let again = Bank::parse(&read.render());
    assert_eq!(again.get(&info(1)).unwrap().cost_us(), Some(2.0));
    assert!(again.findings().iter().any(|f| f.line == 4 && f.reason.contains("a later entry")));
}

#[test]
fn a_time_that_is_none_is_refused() {
    let mut bank = bank();
    let before = bank.render();
    for time in [f64::NAN, f64::INFINITY, -1.0] {
        assert!(bank.put(&info(0), &tiling(), time).unwrap_err().to_string().contains("cost_us"));
    }
    assert_eq!(bank.render(), before);
}

#[test]
fn of_several_elements_the_fastest_counts_and_unknown_fields_stay() {
    let one = |cost: &str| {
        format!(
            r#"{{"origin": "x{cost}", "knowledge": {{"k": {cost}}}, "info_dict": {}, "cost_time": {cost}, "note": [1]}}"#,
            VECTORS[0].0
        )
    };
    let text =
        format!("{{\n\"{}\": [{}, {}, {{\"knowledge\": 3}}, {}]\n}}", VECTORS[0].1, one("7"), one("5.5"), one("6"));
    let mut bank = Bank::parse(text.as_bytes());
    assert_eq!(bank.render(), text.as_bytes());
    assert_eq!(bank.findings().len(), 1, "{:?}", bank.findings());
    let best = bank.get(&info(0)).unwrap();
    assert_eq!((best.cost_us(), best.origin()), (Some(5.5), Some(&Value::from("x5.5"))));
    bank.put(&info(0), &tiling(), 3.25).unwrap();
    let again = Bank::parse(&bank.render());
    let entry = again.entries().next().unwrap();
    assert_eq!(entry.elements().map(|e| e.cost_us().unwrap()).collect::<Vec<_>>(), [3.25, 7.0, 6.0]);
    assert_eq!(entry.best().unwrap().origin(), Some(&Value::from("x5.5")));
    assert!(String::from_utf8(bank.render()).unwrap().contains(r#""cost_time": 3.25, "note": [1]}, {"origin": "x7""#));
    assert!(String::from_utf8(bank.render()).unwrap().contains(r#", {"knowledge": 3}, "#));
}

#[test]
fn a_damaged_file_keeps_its_whole_entries_and_names_the_others() {
    let mut bank = bank();
    bank.put(&info(0), &tiling(), 4.5).unwrap();
    let text = String::from_utf8(bank.render()).unwrap();
    let damaged = text.replacen("\"cost_time\": 4.5}],", "\"cost_time\": 4.5}]", 1);
    let read = Bank::parse(damaged.as_bytes());
    assert!(read.is_damaged() && read.findings()[0].line == 3, "{:?}", read.findings());
    assert_eq!((read.entries().count(), read.render()), (2, text.clone().into_bytes()));
    let damaged = text.replacen("\"knowledge\": {", "\"knowledge\": ", 1);
    let read = Bank::parse(damaged.as_bytes());
    assert!(read.is_damaged() && read.findings().iter().all(|f| f.line == 2), "{:?}", read.findings());
    assert_eq!(read.entries().count(), 1);
}

#[test]
fn every_flipped_byte_yields_the_record_or_says_so() {
    let content = bank().render();
    let (first, second) = (info(0), info(1));
    let original = Bank::parse(&content);
    for at in 0..content.len() {
        for mask in [0x01, 0x04, 0x20, 0x80] {
            let mut damaged = content.clone();
            damaged[at] ^= mask;
            let read = Bank::parse(&damaged);
            let line = content[..at].split(|&b| b == b'\n').count();
            for info in [&first, &second] {
                match read.get(info) {
                    // The fields that make up the key are as they were; no sum is over the others.
                    Some(element) => assert_eq!(element.info_dict(), info),
                    None => assert!(
                        read.findings().iter().any(|f| f.line.abs_diff(line) <= 1),
                        "byte {at} mask {mask:#x}: {:?}",
                        read.findings()
                    ),
                }
            }
            // One flipped byte touches one entry, or two where it stood between them.
            let is_kept = |info| read.get(info).map(Element::knowledge) == original.get(info).map(Element::knowledge);
            assert!(content[at] == b'\n' || is_kept(&first) || is_kept(&second), "byte {at} mask {mask:#x}");
            assert!(serde_json::from_slice::<serde_json::Value>(&read.render()).is_ok(), "byte {at} mask {mask:#x}");
        }
    }
}

#[test]
fn a_cut_file_keeps_every_whole_entry() {
    let content = bank().render();
    for length in 0..content.len() {
        let read = Bank::parse(&content[..length]);
        let whole = content[..length].split(|&b| b == b'\n').count().saturating_sub(2);
        assert!(read.entries().count() >= whole, "{whole} whole entries in {length} bytes");
        assert!(length == 0 || read.is_damaged());
    }
}

proptest! {
    #[test]
    fn what_is_left_of_a_damaged_file_is_written_whole_and_read_again(damage in damage()) {
        let content = damaged(&bank().render(), &damage);
        let read = Bank::parse(&content);
        let again = Bank::parse(&read.render());
        prop_assert!(!again.is_damaged(), "{:?}", again.findings());
        prop_assert!(again.entries().eq(read.entries()));
        prop_assert!(read.entries().flat_map(Entry::elements).all(|e| [&info(0), &info(1)].contains(&e.info_dict())));
    }

    #[test]
    fn arbitrary_bytes_are_read_and_rendered_safely(content in proptest::collection::vec(any::<u8>(), 0..300)) {
        let bank = Bank::parse(&content);
        prop_assert!(serde_json::from_slice::<serde_json::Value>(&bank.render()).is_ok());
        prop_assert_eq!(Bank::parse(&bank.render()).entries().count(), bank.entries().count());
        Repository::parse(&content);
    }
}

#[test]
fn elements_that_go_leave_the_others_as_they_were_read() {
    let info =
        |m: i64| Dict::from_iter([("op_type", Value::from("matmul")), ("m", Value::parse(&m.to_string()).unwrap())]);
    let said = |tile: i64| Dict::from_iter([("tile", Value::parse(&tile.to_string()).unwrap())]);
    let mut bank = Bank::default();
    for (m, tile, us) in [(1, 10, 1.0), (2, 20, 2.0), (3, 30, 3.0)] {
        bank.put(&info(m), &said(tile), us).unwrap();
    }
    let content = bank.render();
    let bank = Bank::parse(&content);
    assert_eq!(bank.without(|_| false), content);
    let left = bank.without(|element| element.cost_us() == Some(2.0));
    let mut expected = Bank::default();
    for (m, tile, us) in [(1, 10, 1.0), (3, 30, 3.0)] {
        expected.put(&info(m), &said(tile), us).unwrap();
    }
    assert_eq!(left, expected.render());
    assert_eq!(Bank::parse(&bank.without(|_| true)).entries().count(), 0);
}

#[test]
fn lines_of_a_damaged_file_that_are_no_entries_are_named() {
    let mut bank = Bank::default();
    let info = Dict::from_iter([("op_type", Value::from("matmul"))]);
    bank.put(&info, &Dict::from_iter([("tile", Value::from("x"))]), 1.0).unwrap();
    let entry = String::from_utf8(bank.render()).unwrap();
    let entry = entry.trim_start_matches("{\n").trim_end_matches("\n}");
    let key = &entry[..entry.find(':').unwrap()];
    for wrong in ["nonsense", "\"cost_time\": [1]", &format!("{key}: 7"), &format!("{}: []", key.replace('"', "\"0"))] {
        let bank = Bank::parse(format!("{{\n{entry},\n{wrong},\nhalf").as_bytes());
        assert_eq!(bank.entries().count(), 1, "{wrong}");
        assert_eq!(bank.lines().collect::<Vec<_>>(), [2]);
        let lost: Vec<_> = bank
            .findings()
            .iter()
            .filter(|finding| finding.in_use == crate::bank::lines::Use::Lost)
            .map(|f| f.line)
            .collect();
        assert_eq!(lost, [3, 4], "{wrong}");
    }
}
