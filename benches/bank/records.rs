//! A bank made up for the measurement: distinct keys, tilings as tuners find them.

use aoe::bank::{Key, Layout};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

/// Name of the bank file.
pub const FILE: &str = "Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json";

/// The key of a product without its sizes: float16, ND, nothing transposed, nothing padded.
static BASE: LazyLock<[u8; 183]> = LazyLock::new(|| {
    let info = serde_json::from_str(&info(0, 0, 0)).expect("the text is JSON");
    let key = Layout::of("MatMulV3").expect("the operator is known").pack(&info).expect("every field is there");
    key.bytes().try_into().expect("a key has 183 bytes")
});

/// m, k and n of the record with this number; no two have the same.
fn sizes(number: u64) -> [u64; 3] {
    [16 * (1 + number % 512), 16 * (1 + number / 512 % 256), 16 * (1 + number / (512 * 256))]
}

/// The packed key of the record with this number.
pub fn key(number: u64) -> [u8; 183] {
    let mut key = *BASE;
    for (place, size) in key.chunks_exact_mut(8).zip(sizes(number)) {
        place.copy_from_slice(&size.to_le_bytes());
    }
    key
}

fn info(m: u64, k: u64, n: u64) -> String {
    let batches = ["a1", "a2", "a3", "a4", "b1", "b2", "b3", "b4"].map(|i| format!(r#""batch_{i}":1,"#)).concat();
    let reserved = [1, 2, 3, 4, 5, 6].map(|i| format!(r#""reserved_params{i}":0,"#)).concat();
    format!(
        r#"{{"a_dtype":1,"a_format":2,"aub_double_num":1.0,"b_dtype":1,"b_format":2,{batches}"bias_flag":false,"bub_double_num":1.0,"fused_double_operand_num":0.0,"k":{k},"k_align_flag":true,"l1_fused_num":0.0,"m":{m},"m_align_flag":true,"n":{n},"n_align_flag":true,"out_dtype":1,"out_format":2,"reserved_bool":false,{reserved}"trans_a_flag":false,"trans_b_flag":false}}"#
    )
}

fn knowledge(number: u64, kind: u64) -> String {
    let [m, k, n] = sizes(number);
    let mut random = fastrand::Rng::with_seed(2 * number + kind);
    let mut pick = |values: &[u64]| values[random.usize(0..values.len())];
    let (base_m, base_n, base_k) = (pick(&[16, 64, 128, 256]), pick(&[64, 128, 256]), pick(&[32, 64, 128, 512]));
    let [a, b] = [pick(&[1, 2, 3, 4, 5, 8]), pick(&[1, 2, 3, 4, 5, 8])];
    let (db_l0c, order, l2_order, digits) = (pick(&[1, 2]), pick(&[0, 1]), pick(&[0, 1]), pick(&[0, 0, 2, 4, 10]));
    format!(
        r#"{{"baseK":{base_k},"baseM":{base_m},"baseN":{base_n},"dbL0A":2,"dbL0B":2,"dbL0C":{db_l0c},"depthA1":{},"depthB1":{},"iterateOrder":{order},"l2IterateOrder":{l2_order},"l2MTileBlock":{},"l2MTileCnt":1,"l2NTileBlock":{},"l2NTileCnt":1,"singleCoreK":{k},"singleCoreM":{},"singleCoreN":{},"stepKa":{a},"stepKb":{b},"stepM":1,"stepN":1,"tilingEnable":{digits},"usedCoreNum":{}}}"#,
        2 * a,
        2 * b,
        m.div_ceil(base_m),
        n.div_ceil(base_n),
        base_m.min(m),
        base_n.min(n),
        (m.div_ceil(base_m) * n.div_ceil(base_n)).min(24),
    )
}

/// Writes the records with these numbers; `kind` tells apart the tilings of two banks. Gives the bytes.
pub fn write_bank(directory: &Path, numbers: Range<u64>, kind: u64) -> u64 {
    std::fs::create_dir_all(directory).expect("the folder can be made");
    let path = directory.join(FILE);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&path).expect("the folder can be written"));
    for number in numbers {
        let [m, k, n] = sizes(number);
        let id = Key::new(key(number).to_vec()).id();
        let (info, knowledge) = (info(m, k, n), knowledge(number, kind));
        writeln!(file, r#"{{"id":{id},"info_dict":{info},"knowledge":{knowledge},"op":"MatMulV3","version":0}}"#)
            .expect("there is space");
    }
    file.flush().expect("there is space");
    std::fs::metadata(path).expect("the file is there").len()
}
