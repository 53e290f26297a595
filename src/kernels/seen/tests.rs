//! Kernels of made profiles: which are the same, which are left out, and what is said of them.

use super::*;
use serde_json::json;

const HEADER: &str =
    "Name,Type,Duration(us),Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats";

fn read(rows: &[&str]) -> Result<Profile> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel_details.csv");
    std::fs::write(&path, [HEADER].iter().chain(rows).copied().collect::<Vec<_>>().join("\n")).unwrap();
    Profile::read(&path, &Soc::find("Ascend910B2").unwrap())
}

const PRODUCT: &str =
    r#"a,MatMulV2,30.5,"""16,5120;320,200,16,16""",DT_BF16;DT_BF16,FORMAT_ND;FRACTAL_NZ,"""16,3200""",DT_BF16,ND"#;

#[test]
fn equal_kernels_are_one_and_the_longest_comes_first() {
    let gate = r#"b,SwiGlu,5.0,"16,3200",BF16,ND,"16,1600",BF16,ND"#;
    let other = "c,hcom_allReduce_,9,N/A,N/A,N/A,N/A,N/A,N/A";
    let profile = read(&[PRODUCT, gate, PRODUCT, other]).unwrap();
    assert_eq!(profile.kernels.len(), 2);
    let product = &profile.kernels[0];
    assert_eq!((product.op.as_str(), product.count, product.us), ("MatMulV2", 2, 61.0));
    assert_eq!((product.halves(), profile.kernels[1].halves()), (Some([30.5, 30.5]), None));
    assert_eq!(
        product.case["inputs"][1],
        json!({"shape": [320, 200, 16, 16], "dtype": "bfloat16", "format": "FRACTAL_NZ"})
    );
    assert!((profile.total_us - 75.0).abs() < 1e-9 && (profile.without_operands_us - 9.0).abs() < 1e-9);
}

/// The cases of rows with these columns beside the product's and the sum's.
fn on_blocks_of(columns: &str, rows: &[(&str, &str)]) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("op_summary_1.csv");
    let lines = rows.iter().map(|(kernel, blocks)| format!("{kernel},{blocks}"));
    let lines: Vec<String> = std::iter::once(format!("{HEADER},{columns}")).chain(lines).collect();
    std::fs::write(&path, lines.join("\n")).unwrap();
    let profile = Profile::read(&path, &Soc::find("Ascend910B2").unwrap()).unwrap();
    profile.kernels.into_iter().map(|seen| seen.case["block_dim"].clone()).collect()
}

#[test]
fn a_kernel_has_the_blocks_of_the_cores_that_do_its_work() {
    const SUM: &str = "c,Add,2,64,FLOAT,ND,64,FLOAT,ND";
    let columns = "Task Type,Block Dim,Mix Block Dim";
    let rows = [(PRODUCT, "MIX_AIC,20,40"), (SUM, "AI_VECTOR_CORE,7,0")];
    assert_eq!(on_blocks_of(columns, &rows), [20, 7]);
    let rows = [(PRODUCT, "MIX_AIV,40,20"), (SUM, "MIX_AIC,3,6")];
    assert_eq!(on_blocks_of(columns, &rows), [20, 6]);
    // As profilers after 8.5 call it, and as other programs write numbers.
    assert_eq!(on_blocks_of("Block Num", &[(PRODUCT, "24.0"), (SUM, "N/A")]), [json!(24), Value::Null]);
    // Equal kernels in other blocks have another tiling.
    assert_eq!(on_blocks_of("Block Dim", &[(PRODUCT, "24"), (PRODUCT, "12"), (PRODUCT, "24")]), [24, 12]);
}

#[test]
fn what_is_no_number_of_blocks_is_an_error_with_its_line() {
    let rows = [format!("{HEADER},Block Dim"), format!("{PRODUCT},-3")];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("op_summary_1.csv");
    std::fs::write(&path, rows.join("\n")).unwrap();
    let error = Profile::read(&path, &Soc::find("Ascend910B2").unwrap()).unwrap_err().to_string();
    assert!(error.contains("line 2") && error.contains("`-3` is no number of blocks"), "{error}");
}

#[test]
fn launches_beyond_the_most_kernels_are_counted_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel_details.csv");
    let row = |rows: u64| format!("a,Add,2,{rows},FLOAT,ND,{rows},FLOAT,ND");
    let rows: Vec<String> = std::iter::once(HEADER.to_owned()).chain([1, 2, 3, 1, 4, 3].map(row)).collect();
    std::fs::write(&path, rows.join("\n")).unwrap();
    let soc = Soc::find("Ascend910B2").unwrap();
    let profile = Profile::read_most(&path, &soc, 2).unwrap();
    assert_eq!((profile.kernels.len(), profile.beyond, profile.total_us), (2, 3, 12.0));
    let said = profile.said().join("");
    assert!(said.contains("3 launches are of kernels beyond"), "{said}");
    let all = Profile::read(&path, &soc).unwrap();
    assert_eq!((all.kernels.len(), all.beyond, all.said()), (4, 0, Vec::new()));
}

#[test]
fn times_of_one_kernel_say_how_far_apart_they_are() {
    let add = |us: f64| format!("a,Add,{us},16,FLOAT,ND,16,FLOAT,ND");
    let spread = |times: &[f64]| {
        let rows: Vec<String> = times.iter().map(|us| add(*us)).collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        read(&rows).unwrap().kernels[0].spread
    };
    assert!((spread(&[5.0, 30.0]) - 6.0).abs() < 1e-9);
    assert!((spread(&[7.3; 9]) - 1.0).abs() < 1e-6);
    // One of a hundred that took twice its time is no contradiction.
    assert!(spread(&[[10.0; 99].as_slice(), &[20.0]].concat()) < 1.2);
}

#[test]
fn an_absent_operand_keeps_its_place_and_a_number_has_its_type() {
    let profile = read(&[r#"a,Add,1,"16;;16;",FLOAT;UNDEFINED;FLOAT;INT64,ND;ND;ND;ND,16,FLOAT,ND"#]).unwrap();
    let inputs = &profile.kernels[0].case["inputs"];
    let types = [0, 1, 2, 3].map(|at| inputs[at]["dtype"].as_str());
    assert_eq!(types, [Some("float32"), None, Some("float32"), Some("int64")]);
    assert_eq!((&inputs[1], &inputs[3]["shape"]), (&Value::Null, &json!([])));
}

#[test]
fn what_cannot_be_read_is_named_and_what_is_not_told_is_counted() {
    assert!(read(&["a,Add,fast,,,,,,"]).unwrap_err().to_string().contains("fast"));
    assert!(read(&["a,Add,0,16,FLOAT,ND,16,FLOAT,ND"]).unwrap_err().to_string().contains("no kernel"));
    let odd =
        ["a,Add,1,16x,FLOAT,ND,16,FLOAT,ND", "a,Add,1,16,FLOAT99,ND,16,FLOAT,ND", "a,Add,1,16,FLOAT,ODD,16,FLOAT,ND"];
    let profile = read(&odd).unwrap();
    assert!(profile.kernels.is_empty() && (profile.without_operands_us - 3.0).abs() < 1e-9);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("op_summary_1.csv");
    std::fs::write(&path, "Op Name,OP Type,Task Duration(us)\na,Add,1\n").unwrap();
    let soc = Soc::find("Ascend910B2").unwrap();
    assert!(Profile::read(&path, &soc).unwrap_err().to_string().contains("Input Shapes"));
}

#[test]
fn times_that_are_none_enter_no_mean_and_are_named() {
    let add = |us: &str| format!("a,Add,{us},16,FLOAT,ND,16,FLOAT,ND");
    let clean = read(&[&add("10"), &add("12"), &add("11")]).unwrap();
    assert_eq!((clean.left_out.sentence(), clean.kernels[0].count), (None, 3));
    for (wrong, named) in [
        ("", "Add has none"),
        ("N/A", "Add has none"),
        ("0", "Add has none"),
        ("-5", "`-5`"),
        ("NaN", "`NaN`"),
        ("1e12", "`1e12`"),
    ] {
        let profile = read(&[&add("10"), &add(wrong), &add("12"), &add("11")]).unwrap();
        let said = profile.left_out.sentence().unwrap();
        assert!(said.contains("1 launch is left out") && said.contains("line 3") && said.contains(named), "{said}");
        assert_eq!(profile.kernels, clean.kernels, "{wrong}");
        assert!((profile.total_us - 33.0).abs() < 1e-9);
    }
    // An hour is no time of a kernel whose other launches take microseconds, nor is a nanosecond; of two launches nobody
    // knows which is right.
    for far in ["3e9", "0.001"] {
        let profile = read(&[&add("10"), &add("12"), &add(far), &add("11")]).unwrap();
        let said = profile.left_out.sentence().unwrap();
        assert!(said.contains("line 4") && said.contains("other launches take 11.000 us"), "{said}");
        let kernel = &profile.kernels[0];
        assert_eq!((kernel.count, kernel.us, profile.total_us), (3, 33.0, 33.0));
        assert_eq!(kernel.halves(), Some([10.0, 11.5]));
    }
    assert_eq!(read(&[&add("10"), &add("3e9")]).unwrap().kernels[0].count, 2);
    let none = read(&[&add("-1"), &add("0")]).unwrap_err().to_string();
    assert!(none.contains("no kernel that took time") && none.contains("`-1`"), "{none}");
}

#[test]
fn rows_of_several_devices_are_asked_apart() {
    let header = format!("Device_id,{HEADER}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kernel_details.csv");
    let row = |device: &str| format!("{device},a,Add,10,16,FLOAT,ND,16,FLOAT,ND");
    let read = |devices: &[&str]| {
        let rows: Vec<String> = devices.iter().map(|device| row(device)).collect();
        std::fs::write(&path, format!("{header}\n{}\n", rows.join("\n"))).unwrap();
        Profile::read(&path, &Soc::find("Ascend910B2").unwrap())
    };
    let error = read(&["0", "3", "0"]).unwrap_err().to_string();
    assert!(error.contains("2 devices (0, 3)") && error.contains("give those of one"), "{error}");
    assert_eq!(read(&["3", "N/A", "3"]).unwrap().kernels[0].count, 3);
}
