//! Banks of the other forms: unified, repository, subgraph, gradient.

use super::*;
use aoe::bank::{Content, unified};
use aoe::graph::{DataType, Format};
use aoe::soc::Soc;
use aoe::space::default_policy;
use aoe::workload::{MatMul, MatMulKernel, Schedule, Workload};

/// The product of the unified bank's published key: 5120 x 16 x 32 in fp16, B transposed.
fn product() -> MatMul {
    let nz = Format::FractalNz;
    MatMul { trans_b: true, a_format: nz, b_format: nz, kernel: MatMulKernel::Tbe, ..MatMul::new(5120, 16, 32) }
}

pub const UNIFIED_KEY: &str = "147a614a52c16e26607b8ac067296555";

/// A unified bank of one record: that product with CANN's default tiling.
pub fn unified(cost_us: f64) -> Vec<u8> {
    let soc = Soc::find("Ascend910B1").unwrap();
    let Schedule::Cube(mut schedule) = default_policy(&Workload::MatMul(product()), &soc).unwrap() else {
        panic!("a product is cube work")
    };
    // TBE's form has no loop order and no grouping for L2.
    (schedule.order, schedule.l2) = Default::default();
    let info = unified::info_dict(&Workload::MatMul(product())).unwrap();
    let knowledge = unified::knowledge(&schedule, &Workload::MatMul(product()), None).unwrap();
    let mut bank = unified::Bank::default();
    bank.put(&info, &knowledge, cost_us).unwrap();
    bank.render()
}

const SUBGRAPH: &str = r#"{"version": "2.1"}
{"feature":{"feature":[{"struct":[{"dsize":[2,2],"in":[[8,4,56,56,16],[36,4,16,16]],"op":"Conv2D"},{"dsize":[2],"in":[[8,4,56,56,16]],"op":"Relu"}]}]},"graphID":"13392788111899413299","strategy":{"end2EndTime":11776810,"group":[{"cut":[2,1],"fusionType":[true,false],"scopeId":[3,3],"ubPass":{}}],"modelName":"net"}}
"#;

const GRADIENT: &str = r#"[{"modelhash":"77","modelvalue":{"gradientTime":[1500,500],"gradientSize":[40,2]}},{"modelhash":"78","modelvalue":{"gradientTime":[0,0,0,0,0],"gradientSize":[0,0,0,0,0]}}]"#;

/// A row of the tiling repository for a product of 320 x 256 x 64.
pub fn row() -> Value {
    let mut shape: Value = serde_json::from_str(
        &unified::info_dict(&Workload::MatMul(MatMul { dtype: DataType::Float16, ..product() })).unwrap().dumps(),
    )
    .unwrap();
    shape["A_shape"] = json!([1, 16, 20, 16, 16]);
    shape["B_shape"] = json!([256, 4, 1, 1, 16]);
    shape["kernel_name"] = json!("some kernel");
    let mut tiling = vec![json!(0); 51];
    for (index, value) in
        [(0, 1), (2, 1), (3, 5), (4, 1), (5, 256), (6, 1), (7, 1), (14, 1), (16, 1), (17, 256), (18, 1)]
    {
        tiling[index] = json!(value);
    }
    for (index, value) in [(19, 1), (26, 1), (27, 4), (28, 4), (31, 1), (32, 4), (33, 4), (36, 1), (37, 4), (38, 4)] {
        tiling[index] = json!(value);
    }
    json!({"shape": shape, "tiling": tiling, "cost_time": 9.5})
}

#[test]
fn every_form_is_told_by_its_content_and_judged() {
    let place = Place::new();
    for (content, kind, count) in [
        (unified(1.5), "unified bank", "1 judged: 1 ok"),
        (lines(&[row()]).into_bytes(), "tiling repository", "1 judged: 1 ok"),
        (SUBGRAPH.into(), "subgraph bank", "1 judged: 1 ok"),
        (GRADIENT.into(), "gradient bank", "2 judged: 2 ok"),
        (b"{}".to_vec(), "unified bank", "0 judged: 0 ok"),
        (b"[]".to_vec(), "gradient bank", "0 judged: 0 ok"),
    ] {
        place.file("any name", content);
        place.run(&["verify", "any name", "--soc_version=Ascend910B1"]).says(0, &[kind, count]);
    }
}

#[test]
fn damage_in_every_form_is_named_and_fails() {
    let place = Place::new();
    let cut = |bytes: &[u8]| bytes[..bytes.len() - 40].to_vec();
    let rows = lines(&[row(), row()]);
    for (content, said) in [
        (cut(&unified(1.5)), "CANN cannot read it"),
        (cut(SUBGRAPH.as_bytes()), "2: damaged: "),
        (cut(GRADIENT.as_bytes()), "CANN cannot read it"),
        (cut(rows.as_bytes()), "2: damaged: "),
        (SUBGRAPH.replace("[true,false]", "[true]").into_bytes(), "`fusionType`"),
    ] {
        place.file("bank", content);
        place.run(&["verify", "bank", "--soc_version=Ascend910B1"]).says(1, &[said]);
    }
    // An element under another key than its own is never found, and nothing else.
    let other = String::from_utf8(unified(1.5)).unwrap().replace(UNIFIED_KEY, &UNIFIED_KEY.replace('1', "2"));
    place.file("bank", other);
    place.run(&["verify", "bank"]).says(0, &["2: foreign: ", UNIFIED_KEY]);
}

#[test]
fn every_form_is_shown() {
    let place = Place::new();
    place.file("Ascend910B1_25_AiCore_matmul.json", unified(1.5));
    let rows = place.run(&["show", ".", "--json"]).says(0, &[]).json();
    let row_of = &rows[0];
    assert_eq!((&row_of["id"], &row_of["cost_us"], &row_of["line"]), (&json!(UNIFIED_KEY), &json!(1.5), &json!(2)));
    assert_eq!(row_of["shapes"], "5120x16x32 float16 tB A:NZ B:NZ");
    assert_eq!(row_of["info_dict"]["dilationH"], 3);
    for (content, said) in [
        (SUBGRAPH.to_owned(), &["net", "1 parts, 2 nodes", "1 fused scopes, cut in up to 2", "11776.81"][..]),
        (GRADIENT.to_owned(), &["2 gradients, 42 bytes", "2.0 us in all", "not profiled"]),
        (lines(&[row()]), &["320x256x64 float16", "5 cores 64x64x64", "9.50"]),
    ] {
        place.file("bank", content);
        place.run(&["show", "bank"]).says(0, said);
    }
}

const RL: &str = r#"{"[[1, [8], [], 0, []]]": "[[0, 1, 2]]", "[[2, [8], [], 0, []]]": "[[0, 1, 2]]"}"#;
const OP_COST: &str = "{\"cost_time\":\"12\",\"hash_str\":\"34\"}\n";

#[test]
fn records_that_nobody_outside_cann_can_read_are_not_called_well() {
    let place = Place::new();
    for (content, kind, count) in [(RL, "RL bank", 2), (OP_COST, "operator cost bank", 1)] {
        place.file("bank", content);
        let said = format!("{kind}, {count} judged: 0 ok, {count} not judged");
        place.run(&["verify", "bank"]).says(0, &[&said, "is not public"]);
        place.run(&["verify", "bank", "--strict"]).says(1, &[&said]);
        let shown = place.run(&["show", "bank", "--json"]).says(0, &[]).json();
        assert_eq!((shown.len(), &shown[0]["op"]), (count, &json!(kind)));
    }
    for (content, said) in [
        (RL.replacen("\"[[0, 1, 2]]\"", "7", 1), "1: damaged: "),
        (OP_COST.replace("\"12\"", "12"), "`cost_time` is no whole number in a text"),
        (OP_COST.replace("34", "x"), "`hash_str` is no whole number in a text"),
        (format!("{OP_COST}{{\"cost_time\":\"1\"}}\n"), "2: damaged: without hash_str"),
        (format!("{OP_COST}half"), "2: damaged: no record"),
    ] {
        place.file("bank", content);
        place.run(&["verify", "bank"]).says(1, &[said]);
    }
}

#[test]
fn a_time_that_is_none_is_damage() {
    let place = Place::new();
    let with = |time: &str| String::from_utf8(unified(1.5)).unwrap().replace("\"cost_time\": 1.5", time);
    for time in ["-1", "\"a\"", "null", "[1]"] {
        place.file("bank", with(&format!("\"cost_time\": {time}")));
        let said = format!("2: damaged: `{UNIFIED_KEY}`: `cost_time` cannot be {time}");
        place.run(&["verify", "bank", "--soc_version=Ascend910B1"]).says(1, &[&said, "1 judged: 0 ok"]);
    }
    place.file("bank", with("\"note\": 1"));
    place.run(&["verify", "bank"]).says(0, &["missing fields", "`cost_time` is missing"]);
}

#[test]
fn entries_on_one_line_are_judged_each_for_itself() {
    let place = Place::new();
    let bad = r#"{"modelhash":"9","modelvalue":{"gradientTime":[1]}}"#;
    place.file("bank", GRADIENT.replace("},{", &format!("}},{bad},{{")));
    let said = "1: damaged: entry 2 (modelhash \"9\"): `gradientSize` is missing";
    place.run(&["verify", "bank"]).says(1, &[said, "3 judged: 2 ok, 1 damaged"]);
    let entry = String::from_utf8(unified(1.5)).unwrap();
    let entry = entry.trim_start_matches("{\n").trim_end_matches("\n}");
    let other = entry.replace(UNIFIED_KEY, &"0".repeat(32));
    place.file("bank", format!("{{{entry}, {other}, \"{}\": []}}", "1".repeat(32)));
    let said = ["3 judged: 1 ok, 2 foreign", "its info_dict has the key", "holds nothing"];
    place.run(&["verify", "bank", "--soc_version=Ascend910B1"]).says(0, &said);
}

#[test]
fn a_file_that_is_no_bank_is_an_error_that_says_what_it_looks_like() {
    let place = Place::new();
    for (content, said) in [
        (&b"{\"model\":\"net\",\"batch\":4}"[..], "it looks like JSON with the fields `batch`, `model`"),
        (b"m,k,n\n1,2,3\n", "text that begins with \"m,k,n\""),
        (b"\x7fELF\x02\x01\x01\0", "ELF"),
        (b"\x01\x02\xff", "binary data"),
        (b"[1, 2]", "a JSON list"),
    ] {
        place.file("file", content);
        for arguments in [
            &["show", "file"][..],
            &["evaluate", "file"],
            &["evaluate", "file", "--soc_version=Ascend910B2"],
            &["export", "file", "--to=canonical"],
            &["import", "file", "--into=bank"],
            &["diff", "file", "file"],
            &["merge", "file", "--into=bank"],
        ] {
            place.run(arguments).says(2, &["file", "is no bank of any known form", said]);
        }
        place.run(&["verify", "file"]).says(1, &["no known bank", "damaged"]);
    }
    // In a directory may lie what it likes.
    place.file("note.json", "{\"a\":1}");
    place.file(NAME, lines(&[record()]));
    place.run(&["show", "."]).says(0, &["note.json", "is no bank", "128x1024x4096"]);
    place.file("empty.json", "");
    place.run(&["show", "empty.json"]).says(0, &["holds nothing"]);
}

#[test]
fn an_empty_object_is_an_empty_bank_but_no_operator_record() {
    let place = Place::new();
    for content in ["{}", "\u{feff}{\n}\n"] {
        place.file("Ascend910B1_25_AiCore_matmul.json", content);
        for verb in ["verify", "show", "evaluate"] {
            place.run(&[verb, "Ascend910B1_25_AiCore_matmul.json"]).says(0, &[]);
        }
    }
    place.file(NAME, "{}");
    place.run(&["verify", NAME]).says(1, &["1: damaged: `id` is missing"]);
}
