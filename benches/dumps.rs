//! How fast a dump of CANN's as text is read, and what memory that takes beside the message that it stands for.
//!
//! Run with `cargo bench --bench dumps`. Goals: 50 MB/s on one core for both forms; memory that goes with the message and not
//! with the text. `DUMP_MB` (200) is the size of the text, which is written to a temporary file.

use aoe::frontend::air::dump::encode_model;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};

/// A tensor of the text of a `ModelDef`.
const TENSOR: &str = r#"dtype: DT_FLOAT16
      shape {
        dim: 1
        dim: 64
        dim: 56
        dim: 56
      }
      layout: "NCHW"
      attr {
        key: "format_for_int"
        value {
          i: 0
        }
      }
      attr {
        key: "origin_shape"
        value {
          list {
            i: 1
            i: 64
            i: 56
            i: 56
            val_type: VT_LIST_INT
          }
        }
      }
      attr {
        key: "origin_shape_initialized"
        value {
          b: true
        }
      }
      device_type: "NPU""#;

/// One operator of a chain, as `ge_proto` has it.
fn proto_op(index: usize) -> String {
    let source = index.checked_sub(1).map_or_else(String::new, |before| format!("layer/{before}/Relu:0"));
    format!(
        "  op {{\n    name: \"layer/{index}/Relu\"\n    type: \"Relu\"\n    input: \"{source}\"\n    attr {{\n      \
         key: \"_input_name_key\"\n      value {{\n        list {{\n          s: \"x\"\n        }}\n      }}\n    }}\n    \
         id: {index}\n    input_desc {{\n      {TENSOR}\n    }}\n    output_desc {{\n      {TENSOR}\n    }}\n  }}\n"
    )
}

/// The same in the view.
fn view_node(index: usize) -> String {
    let source = index.checked_sub(1).map_or_else(String::new, |before| format!("layer/{before}/Relu:0"));
    let mut text = format!("  node {{\n    input: \"{source}\"\n    output: \"layer/{index}/Relu:0\"\n");
    let mut attribute = |name: &str, lines: &[&str], kind: &str| {
        write!(text, "    attribute {{\n      name: \"{name}\"\n").expect("memory takes text");
        for line in lines {
            writeln!(text, "      {line}").expect("memory takes text");
        }
        write!(text, "      type: {kind}\n    }}\n").expect("memory takes text");
    };
    let dims = ["ints: 1", "ints: 64", "ints: 56", "ints: 56"];
    for side in ["input", "output"] {
        attribute(&format!("{side}_desc_nums"), &["i: 1"], "INT");
        attribute(&format!("{side}_desc_dtype:0"), &["s: \"DT_FLOAT16\""], "STRING");
        attribute(&format!("{side}_desc_layout:0"), &["s: \"NCHW\""], "STRING");
        attribute(&format!("{side}_desc_shape:0"), &dims, "INTS");
        attribute(&format!("{side}_desc_origin_shape:0"), &dims, "INTS");
    }
    format!("{text}    name: \"layer/{index}/Relu\"\n    op_type: \"ge:Relu\"\n  }}\n")
}

/// A kilobyte figure of this process, such as `VmHWM`, the most memory that it had.
fn status_kb(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(key));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

/// Seconds that processors spent on this process, also while others wait for them.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the program's name in brackets, which may hold anything.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
    (ticks(11) + ticks(12)) as f64 / 100.0
}

/// A name, how the text begins, and its parts by number.
type Form = (&'static str, &'static str, fn(usize) -> String);

fn main() {
    let megabytes: u64 = std::env::var("DUMP_MB").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let path = std::env::temp_dir().join(format!("aoe-dump-{}.txt", std::process::id()));
    let forms: [Form; 2] = [("ge_proto", "graph {\n", proto_op), ("ge_onnx", "ir_version: 6\ngraph {\n", view_node)];
    for (form, begin, part) in forms {
        let mut file = BufWriter::new(File::create(&path).expect("the temporary folder can be written"));
        let (mut written, mut count) = (0, 0);
        file.write_all(begin.as_bytes()).expect("the disk has room");
        while written < megabytes << 20 {
            let text = part(count);
            file.write_all(text.as_bytes()).expect("the disk has room");
            (written, count) = (written + text.len() as u64, count + 1);
        }
        file.write_all(b"}\n").and_then(|()| file.flush()).expect("the disk has room");
        let before = status_kb("VmRSS");
        let started = cpu_seconds();
        let message = encode_model(File::open(&path).expect("it was written"), form).expect("it is a dump");
        let seconds = cpu_seconds() - started;
        let (rate, most) = (written as f64 / 1e6 / seconds, status_kb("VmHWM").saturating_sub(before));
        let size = message.len() as f64 / 1e6;
        println!(
            "{form}: {count} operators, {written} bytes in {seconds:.2} s of a processor, {rate:.0} MB/s; message {size:.1} MB, memory {} MB",
            most >> 10
        );
    }
    let _ = std::fs::remove_file(&path);
}
