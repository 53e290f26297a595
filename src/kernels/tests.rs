//! A listing beside profiles: ours, which must agree wholly, and others of the shapes that CANN's tools write.

use super::{Comparison, Listing, Measured};
use crate::graph::{DataType, Graph, Node, Port, Shape, TensorDesc};
use crate::profile::{Options, files};
use crate::session::kernels::Launched;
use crate::simulate::{Parts, answer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/models/resnet50.onnx");

fn listing(soc: &str) -> Listing {
    listing_of(MODEL, soc)
}

fn listing_of(model: &str, soc: &str) -> Listing {
    let options: BTreeMap<String, String> = [("soc_version".to_owned(), soc.to_owned())].into();
    Launched::of(Path::new(model), &options).unwrap().listing().unwrap()
}

/// A profile with these columns and rows in a folder.
fn written(folder: &Path, name: &str, lines: &[&str]) -> PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

fn error(path: &Path) -> String {
    Measured::read(path).unwrap_err().to_string()
}

const NEW: &str = "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),\
                   Task Duration(us),Task Wait Time(us),Block Dim";

#[test]
fn a_residual_network_is_fused_as_cann_lists_it() {
    let listing = listing("Ascend910B2");
    let expected = [("AutomaticUbFusion", 16), ("TbeConvFixPipeFusionPass", 33)];
    assert_eq!(listing.ub_fusion, expected.into());
    // Fifty-three convolutions, sixteen sums, a pool, a mean and a product; at the edges two casts and two changes of layout.
    assert_eq!(listing.count, 76);
    assert_eq!(listing.groups.iter().map(|group| group.count).sum::<u64>(), 76);
    let sum: f64 = listing.groups.iter().map(|group| group.total_us).sum();
    assert!((sum - listing.total_us).abs() < 1e-6 * sum);
}

#[test]
fn what_has_no_time_is_named_and_takes_no_part_in_the_sums() {
    let mut graph = Graph::new("half");
    let desc = || TensorDesc::new(DataType::Float16, Shape::new([16, 16]));
    let x = graph.add_input("x", desc()).unwrap();
    let product = Port::first(graph.add(Node::new("product", "MatMulV2").with_inputs([x, x])).unwrap());
    let mystery = Node::new("what", "Mystery").with_inputs([product]).with_outputs(vec![desc()]);
    graph.add(mystery).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("half.air");
    crate::frontend::save_file(&graph, &path).unwrap();
    let listing = listing_of(path.to_str().unwrap(), "Ascend910B2");
    let names: Vec<_> = listing.unknown.iter().map(|node| (node.name.as_str(), node.op_type.as_str())).collect();
    assert_eq!((names, listing.untimed), (vec![("what", "Mystery")], 1));
    let of = |op: &str| listing.groups.iter().find(|group| group.signature.op_type.starts_with(op)).unwrap();
    assert_eq!([of("Mystery").untimed, of("MatMul").untimed], [1, 0]);
    assert!(of("MatMul").us > 0.0 && of("Mystery").us == 0.0);
}

/// What is launched for BERT-base and 128 tokens, and what is fused, part by part.
#[test]
fn an_encoder_is_fused_as_each_part_does() {
    let model = MODEL.replace("resnet50", "bert_base");
    let kernels = |soc: &str| {
        let listing = listing_of(&model, soc);
        let count =
            |op: &str| listing.groups.iter().filter(|g| g.signature.op_type == op).map(|g| g.count).sum::<u64>();
        let sums = count("Add") + count("AddLayerNorm");
        (listing.count, [count("BatchMatMulV2"), count("Gelu"), sums, count("TransData")], listing.ub_fusion)
    };
    // Seventeen kernels in each of twelve layers; sums and norms are one kernel, masks are added to what is scaled.
    let fused = [("AutomaticUbFusion", 14)];
    assert_eq!(kernels("Ascend910B2"), (213, [96, 12, 26, 0], fused.into()));
    // The 910_93 has no pass for sums and norms.
    assert_eq!(kernels("Ascend910_9391").0, 213 + 24);
    // Eleven in each layer: heads are taken apart by the product, which scales, adds and bends too.
    let fused = [
        ("ATbeMatMulElemwiseFusionPass", 1),
        ("AutomaticUbFusion", 2),
        ("BatchMatmulConfusiontransposeUbFusion", 48),
        ("TbeBatchMatmulElementWiseFusionPass", 36),
        ("TbeFullyconnectionElemwiseDequantFusionPass", 12),
    ];
    for soc in ["Ascend310P3", "Ascend910A"] {
        assert_eq!(kernels(soc), (146, [96, 0, 1, 5], fused.into()), "{soc}");
    }
}

#[test]
fn a_profile_of_several_runs_counts_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let row = |op: &str, name: &str, us: f64| format!("0,1,1,0,{name},{op},static,AI_CORE,1.000\t,{us},0,24");
    let rows: Vec<String> = (0..3).flat_map(|_| [row("Conv2D", "a", 10.0), row("Relu", "b", 2.0)]).collect();
    let lines: Vec<&str> = std::iter::once(NEW).chain(rows.iter().map(String::as_str)).collect();
    written(folder.path(), "PROF_1/mindstudio_profiler_output/op_summary_20260101000000.csv", &lines);
    let measured = Measured::read(folder.path()).unwrap();
    assert_eq!(measured.runs, 3);
    assert_eq!((measured.types["Conv2D"].count, measured.types["Conv2D"].us), (1.0, 10.0));
}

#[test]
fn steps_of_torch_npu_are_runs() {
    let folder = tempfile::tempdir().unwrap();
    let header = "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),\
                  Duration(us),Wait Time(us),Block Dim";
    let row = |step: u32| format!("{step},0,1,1,2,aclnnAdd,Add,dynamic,AI_VECTOR_CORE,1.0,4.5,0,48");
    let rows: Vec<String> = [1, 1, 2, 2].map(row).into();
    let lines: Vec<&str> = std::iter::once(header).chain(rows.iter().map(String::as_str)).collect();
    let path = written(folder.path(), "x_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv", &lines);
    let measured = Measured::read(&path).unwrap();
    assert_eq!((measured.runs, measured.types["Add"].count, measured.types["Add"].us), (2, 2.0, 9.0));
}

#[test]
fn what_only_one_side_has_is_told_with_its_share_of_the_time() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [
        NEW,
        "0,1,1,0,a,Conv2D,static,AI_CORE,1.000\t,30.0,0,24",
        "0,1,2,0,b,GroupNormSilu,static,AI_VECTOR_CORE,2.000\t,10.0,0,24",
    ];
    let measured = Measured::read(&written(folder.path(), "op_summary_1.csv", &lines)).unwrap();
    let comparison = Comparison::of(&listing("Ascend910B2"), measured);
    assert!(!comparison.agrees());
    assert!((comparison.covered_share - 0.75).abs() < 1e-12, "{}", comparison.covered_share);
    // The convolution's 24 blocks are those of some that are expected; nothing is expected of the other type.
    assert_eq!(comparison.same_blocks_share, Some(0.5));
    let row = |op: &str| comparison.types.iter().find(|row| row.op_type == op).unwrap();
    assert_eq!((row("Conv2D").count, row("GroupNormSilu").count), ([53.0, 1.0], [0.0, 1.0]));
}

#[test]
fn what_is_no_profile_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, lines: &[&str]| error(&written(folder.path(), name, lines));
    let missing = file("a.csv", &["Op Name,OP Type,Task Duraton(us)", "a,Conv2D,1"]);
    assert!(missing.contains("Task Duration(us)") && missing.contains("Task Duraton(us)"), "{missing}");
    let number = file("b.csv", &["Op Name,OP Type,Task Duration(us)", "a,Conv2D,fast"]);
    assert!(number.contains("line 2") && number.contains("fast"), "{number}");
    let endless = file("e.csv", &["Op Name,OP Type,Task Duration(us)", "a,Conv2D,1", "a,Conv2D,1e308"]);
    assert!(endless.contains("line 3") && endless.contains("1e308"), "a sum of such is infinite: {endless}");
    let path = folder.path().join("f.csv");
    std::fs::write(&path, "Op Name,OP Type,Task Duration(us)\r\n\r\na,Conv2D,1\r\nb,Conv2D,soon\r\n").unwrap();
    assert!(error(&path).contains("line 4"), "lines as an editor on Windows counts them: {}", error(&path));
    let comma = file("g.csv", &["Op Name,OP Type,Task Duration(us)", "a,Conv2D,10,5"]);
    assert!(comma.contains("line 2") && comma.contains("point"), "not ten microseconds: {comma}");
    let quoted = file("h.csv", &["Op Name,OP Type,Task Duration(us)", "a,Conv2D,\"10,5\""]);
    assert!(quoted.contains("10,5") && quoted.contains("point"), "{quoted}");
    let semicolons = file("i.csv", &["Op Name;OP Type;Task Duration(us)", "a;Conv2D;10,5"]);
    assert!(semicolons.contains("semicolons") && semicolons.contains("commas"), "{semicolons}");
    let short = file("j.csv", &["OP Type,Task Duration(us),Op Name", "Conv2D,1"]);
    assert!(short.contains("line 2") && short.contains("Op Name"), "{short}");
    let utf16: Vec<u8> = "\u{feff}Op Name,OP Type".encode_utf16().flat_map(u16::to_le_bytes).collect();
    std::fs::write(&path, utf16).unwrap();
    assert!(error(&path).contains("iconv -f UTF-16LE"), "{}", error(&path));
    std::fs::write(&path, b"Op Name,OP Type,Task Duration(us)\na,Conv2D,1\n\xca\xfd,Conv2D,1\n").unwrap();
    assert!(error(&path).contains("line 3") && error(&path).contains("iconv -f GBK"), "{}", error(&path));
    let row = |device: u32| format!("{device},1,1,0,a,Conv2D,static,AI_CORE,1.000\t,1.0,0,24");
    let devices = file("c.csv", &[NEW, &row(0), &row(1)]);
    assert!(devices.contains("2 devices") && devices.contains("0, 1"), "{devices}");
    assert!(file("d.csv", &[NEW]).contains("no kernel"));
    let none = folder.path().join("none");
    std::fs::create_dir(&none).unwrap();
    assert!(error(&none).contains("op_summary"));
    written(&none, "op_summary_1.csv", &[NEW, &row(0)]);
    written(&none, "x/kernel_details.csv", &[NEW, &row(0)]);
    assert!(error(&none).contains("several profiles"));
    // A link to a profile is one, and one to a folder may lead round in circles.
    let linked = folder.path().join("linked");
    std::fs::create_dir(&linked).unwrap();
    std::os::unix::fs::symlink(".", linked.join("round")).unwrap();
    assert!(error(&linked).contains("op_summary"));
    std::os::unix::fs::symlink(none.join("op_summary_1.csv"), linked.join("op_summary_1.csv")).unwrap();
    assert_eq!(Measured::read(&linked).unwrap().types.len(), 1);
    assert!(error(&folder.path().join("nowhere.csv")).contains("nowhere.csv"));
}

#[test]
fn a_column_that_is_there_twice_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (header, named) in [
        ("Name,Type,Duration(us),Duration(us)", "columns 3 and 4 are `Duration(us)` and `Duration(us)`"),
        ("Op Name,Type,Name,Duration(us)", "columns 1 and 3 are `Op Name` and `Name`"),
        ("Name,Type,Duration(us),Device_id,Device ID", "columns 4 and 5"),
        ("Name,Type,Duration(us),Input Shapes,Input Shapes", "columns 4 and 5"),
    ] {
        let error = error(&written(folder.path(), "a.csv", &[header, "a,Add,1,2,3"]));
        assert!(error.contains(named), "{error}");
    }
}

#[test]
fn a_quote_that_nobody_closes_takes_no_memory_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "a.csv", &["Name,Type,Duration(us)", "\"a,Add,1"]);
    // A hole: as long as that, and no room on the disk.
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().set_len(1 << 32).unwrap();
    assert!(error(&path).contains("is a quote not closed?"), "{}", error(&path));
}

#[test]
fn lines_of_old_macs_are_named_and_a_kernel_without_a_type_is_shown_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("a.csv");
    std::fs::write(&old, "Name,Type,Duration(us)\ra,Add,1\rb,Add,1\r").unwrap();
    let old = error(&old);
    assert!(old.contains("carriage returns"), "{old}");
    let path =
        written(folder.path(), "b.csv", &["Name,Type,Duration(us)", "a,,1", "b,FusionOp_,2", "c,FusionOp_Add_Mul,3"]);
    let types: Vec<_> = Measured::read(&path).unwrap().types.into_keys().collect();
    assert_eq!(types, ["Add", "FusionOp_", "N/A"]);
}

#[test]
fn the_profile_of_a_tuning_agrees_wholly_with_the_listing() {
    for soc in ["Ascend910B2", "Ascend310P3"] {
        let options: BTreeMap<String, String> = [("soc_version".to_owned(), soc.to_owned())].into();
        let launched = Launched::of(Path::new(MODEL), &options).unwrap();
        let listing = launched.listing().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = files(&launched.run().unwrap(), &Options::default(), "20260101000000").unwrap();
        let table = file.iter().find(|file| file.path.to_string_lossy().contains("op_summary")).unwrap();
        std::fs::write(folder.path().join("op_summary_20260101000000.csv"), table.content.as_ref().unwrap()).unwrap();
        let comparison = Comparison::of(&listing, Measured::read(folder.path()).unwrap());
        assert!(comparison.agrees(), "{:?}", comparison.types);
        assert_eq!((comparison.runs, comparison.kernels[0]), (1, comparison.kernels[1]));
        assert!((comparison.agreeing_share - 1.0).abs() < 1e-12 && (comparison.covered_share - 1.0).abs() < 1e-12);
        assert_eq!(comparison.same_blocks_share, Some(1.0));
        // The table has three decimals.
        assert!((comparison.us[0] - comparison.us[1]).abs() < 0.001 * listing.count as f64, "{:?}", comparison.us);
    }
}

#[test]
fn a_case_of_a_kernel_has_its_price_in_the_listing() {
    let options: BTreeMap<String, String> = [("soc_version".to_owned(), "Ascend310P3".to_owned())].into();
    let launched = Launched::of(Path::new(MODEL), &options).unwrap();
    let listing = launched.listing().unwrap();
    let mut parts = Parts::new(None, Vec::new(), None).unwrap();
    for case in launched.cases() {
        let answer: Value = serde_json::from_str(&answer(&case.to_string(), &mut parts)).unwrap();
        let own = answer["time_us"].as_f64().unwrap_or_else(|| panic!("{case}: {answer}"));
        let listed = listing.kernels.iter().find(|kernel| case["id"] == kernel.name.as_str()).unwrap();
        assert_eq!(own.to_bits(), listed.us.to_bits(), "{case}");
        assert_eq!(case["op"], listed.signature.op_type.as_str(), "the kernel's own type");
    }
}

#[test]
fn operands_are_listed_as_they_lie_on_the_device() {
    let bert = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/models/bert_base.onnx");
    let on_fractals = listing_of(bert, "Ascend310P3");
    let products: Vec<_> = on_fractals
        .groups
        .iter()
        .map(|group| &group.signature)
        .filter(|signature| signature.op_type.contains("MatMul"))
        .collect();
    assert!(!products.is_empty());
    for signature in products {
        assert!(signature.input_formats.starts_with("FRACTAL_NZ;FRACTAL_NZ"), "{signature:?}");
        assert!(signature.input_shapes.split(';').take(2).all(|shape| shape.ends_with(",16,16")), "{signature:?}");
        assert_eq!(
            (signature.output_formats.as_str(), signature.output_shapes.ends_with(",16,16")),
            ("FRACTAL_NZ", true),
            "{signature:?}"
        );
    }
    let convolutions = listing("Ascend910B2");
    let first = convolutions
        .groups
        .iter()
        .map(|group| &group.signature)
        .find(|signature| signature.op_type == "Conv2D")
        .unwrap();
    assert_eq!(first.input_formats, "NC1HWC0;FRACTAL_Z;ND");
    assert_eq!(first.input_shapes, "1,1,224,224,16;49,4,16,16;64");
    assert_eq!((first.output_formats.as_str(), first.output_shapes.as_str()), ("NC1HWC0", "1,4,112,112,16"));
    let casts =
        || convolutions.groups.iter().map(|group| &group.signature).filter(|signature| signature.op_type == "Cast");
    let types: Vec<_> =
        casts().map(|signature| (signature.input_types.as_str(), signature.output_types.as_str())).collect();
    assert_eq!(types, [("FLOAT", "FLOAT16"), ("FLOAT16", "FLOAT")], "the caller's type at the edges");
    let to_blocks = convolutions
        .groups
        .iter()
        .map(|group| &group.signature)
        .find(|signature| signature.op_type == "TransData")
        .unwrap();
    assert_eq!((to_blocks.input_shapes.as_str(), to_blocks.output_shapes.as_str()), ("1,3,224,224", "1,1,224,224,16"));
}
