//! The stand-in's compiler does with a record what TBE does: it finds one that answers its question word for word, takes
//! it as it is, and stops at one that does not fit together. Records are put in its bank by hand, for libaoe writes none
//! such.

use crate::stand_in::Machine;
use serde_json::{Value, json};
use std::fs;

/// CANN's own key of a product of float16, 5120 x 16 x 32, B transposed: the text behind the public sum
/// `147a614a52c16e26607b8ac067296555`.
const OF_PRODUCT: &str = r#"{"op_type": "matmul", "A_shape": [1, 1, 320, 16, 16], "B_shape": [16, 2, 1, 1, 16], "C_shape": [0, 0, 0, 0, 0], "A_dtype": "float16", "B_dtype": "float16", "C_dtype": "float16", "mad_dtype": "float32", "padl": 0, "padr": 0, "padu": 0, "padd": 0, "strideH": 1, "strideW": 1, "strideH_expand": 1, "strideW_expand": 1, "dilationH": 3, "dilationW": 1, "group": 1, "bias_flag": false, "fused_double_operand_num": 0, "shape_a_align": 1, "shape_b_align": 1, "scalar_size": 0, "batch_type": 0, "reduce_fusion": 0}"#;

/// The key of the gradient of a filter, 64 channels to 64, 3 x 3 kernels over 56 x 56 pixels with a pad of 1.
const OF_FILTER: &str = r#"{"op_type": "conv2d_backprop_filter", "A_shape": [1, 4, 56, 56, 16], "B_shape": [1, 4, 56, 56, 16], "C_shape": [64, 4, 3, 3, 16], "A_dtype": "float16", "B_dtype": "float16", "C_dtype": "float32", "mad_dtype": "float32", "padl": 1, "padr": 1, "padu": 1, "padd": 1, "strideH": 1, "strideW": 1, "strideH_expand": 1, "strideW_expand": 1, "dilationH": 1, "dilationW": 1, "group": 1, "bias_flag": 0, "fused_double_operand_num": 0, "fusion_type": 0}"#;

/// A tiling of either that fits together: blocks of 4 x 1 x 1 fractals.
const KNOWLEDGE: &str = r#"{"AL1_shape": [16, 1, 1, 1, 0], "BL1_shape": [16, 1, 1, 1, 0], "AL0_matrix": [4, 1, 16, 16, 1, 1, 0], "BL0_matrix": [1, 1, 16, 16, 1, 1, 0], "CL0_matrix": [1, 4, 16, 16, 1, 1, 0], "L0C_OUTPUT_matrix": [1, 4, 16, 16, 1, 1], "block_dim": [1, 1, 20, 1, 0], "manual_pingpong_buffer": {"AL1_pbuffer": 2, "BL1_pbuffer": 2, "AL0_pbuffer": 2, "BL0_pbuffer": 2, "CL0_pbuffer": 2}}"#;

fn product() -> Value {
    let tensor = |shape: [u64; 2], transposed: bool| json!({"dtype": "float16", "shape": shape, "format": "ND", "transposed": transposed, "fill": [0, 0]});
    json!({"op_type": "MatMulV2", "entry": "aclop", "attributes": [["transpose_x2", {"flag": true}]],
        "inputs": [tensor([5120, 16], false), tensor([32, 16], true)], "output": tensor([5120, 32], false)})
}

fn filter() -> Value {
    let tensor = |dtype: &str, shape: [u64; 4], format: &str| json!({"dtype": dtype, "shape": shape, "format": format, "transposed": false, "fill": [0, 0]});
    let image = || tensor("float16", [1, 64, 56, 56], "NC1HWC0");
    let sizes = json!({"dtype": "int32", "shape": [4], "format": "ND", "transposed": false, "fill": null, "constant": [64, 64, 3, 3]});
    let numbers = |name: &str, all: [u64; 4]| json!([name, {"numbers": all}]);
    json!({"op_type": "Conv2DBackpropFilter", "entry": "aclop", "inputs": [image(), sizes, image()],
        "output": tensor("float32", [64, 64, 3, 3], "FRACTAL_Z"),
        "attributes": [numbers("strides", [1; 4]), numbers("pads", [1; 4]), numbers("dilations", [1; 4]),
            ["groups", {"number": 1}], ["data_format", {"text": "NCHW"}]]})
}

/// Has an operator compiled with a record in a bank; what the JSON beside the kernel says, or why there is none.
fn compiled(machine: &Machine, operator: &Value, bank: &str, question: &str, knowledge: &str) -> Result<bool, String> {
    let folder = machine.path("bank/Ascend910B2/unified_bank");
    fs::create_dir_all(&folder).unwrap();
    let record =
        format!("{{\n\"0\": [{{\"knowledge\": {knowledge}, \"info_dict\": {question}, \"cost_time\": 4.5}}]\n}}");
    fs::write(folder.join(format!("Ascend910B2_24_AiCore_{bank}.json")), record).unwrap();
    let said = machine.path("said");
    fs::create_dir_all(&said).unwrap();
    let answer = machine.answer(&json!({"compile": {"operator": operator, "folder": said}}));
    if let Some(reason) = answer["failed"]["reason"].as_str() {
        return Err(reason.to_owned());
    }
    let file = fs::read_dir(said.join("kernel_meta")).unwrap().next().unwrap().unwrap().path();
    let kernel: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    Ok(kernel["KBHit"].as_bool().unwrap())
}

#[test]
fn a_record_is_found_by_every_word_of_its_key() {
    let Some(machine) = Machine::new() else { return };
    for (operator, bank, key) in [(product(), "matmul", OF_PRODUCT), (filter(), "conv2d_backprop_filter", OF_FILTER)] {
        assert_eq!(compiled(&machine, &operator, bank, key, KNOWLEDGE), Ok(true), "{bank}");
        for (from, to) in [("\"group\": 1", "\"group\": 2"), (", \"padd\"", ",\"padd\""), ("float16", "bfloat16")] {
            let other = key.replacen(from, to, 1);
            assert_ne!(other, key);
            assert_eq!(compiled(&machine, &operator, bank, &other, KNOWLEDGE), Ok(false), "{bank}: {to}");
        }
    }
}

#[test]
fn a_record_that_does_not_fit_together_stops_the_compiler() {
    let Some(machine) = Machine::new() else { return };
    let of_both = [
        // Rows and columns of A, B and the result that differ.
        (r#""AL0_matrix": [4"#, r#""AL0_matrix": [2"#),
        (r#""BL0_matrix": [1, 1"#, r#""BL0_matrix": [1, 2"#),
        (r#""BL0_matrix": [1"#, r#""BL0_matrix": [2"#),
        // The mark of a tiling that is none.
        (r#""AL0_matrix": [4, 1, 16"#, r#""AL0_matrix": [4, 1, 32"#),
        // More blocks than cores, more than L1 and L0 hold.
        (r#""block_dim": [1, 1, 20"#, r#""block_dim": [1, 2, 20"#),
        (r#""AL1_shape": [16"#, r#""AL1_shape": [4096"#),
        (r#""AL0_pbuffer": 2"#, r#""AL0_pbuffer": 40"#),
    ];
    let of_convolutions = [(r#""L0C_OUTPUT_matrix": [1"#, r#""L0C_OUTPUT_matrix": [2"#)];
    for (operator, bank, key, own) in
        [(product(), "matmul", OF_PRODUCT, &[][..]), (filter(), "conv2d_backprop_filter", OF_FILTER, &of_convolutions)]
    {
        for (from, to) in of_both.iter().chain(own) {
            let knowledge = KNOWLEDGE.replacen(from, to, 1);
            assert_ne!(knowledge, KNOWLEDGE, "{from}");
            let reason = compiled(&machine, &operator, bank, key, &knowledge).unwrap_err();
            assert!(reason.contains("aclopCompile") && reason.contains("500002"), "{bank}, {to}: {reason}");
        }
    }
}
