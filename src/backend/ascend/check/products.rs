//! The products that a machine is tried with, and the records of every template of `MatMulV3`.

use super::templates::Trial;
use crate::graph::DataType;
use crate::soc::{Arch, Soc};
use crate::tiling::matmul_v3::Tiling;
use crate::workload::{MatMul, Schedule, Workload};

/// What a record of a template differs in from one of the base template with blocks of 128 x 256 x 128 bytes.
struct Form {
    enable: u32,
    product: MatMul,
    tiling: Tiling,
}

fn half(m: u64, k: u64, n: u64, trans_b: bool) -> MatMul {
    MatMul { trans_b, ..MatMul::new(m, k, n) }
}

fn float(m: u64, k: u64, n: u64) -> MatMul {
    MatMul { dtype: DataType::Float, out_dtype: DataType::Float, trans_b: true, ..MatMul::new(m, k, n) }
}

/// A tiling of one block a task, tasks in one L2 tile.
fn base(product: &MatMul, [m, n, k]: [u32; 3], [step_ka, step_kb]: [u32; 2], cores: u32) -> Tiling {
    Tiling {
        used_core_num: cores,
        single_core_m: m,
        single_core_n: n,
        single_core_k: product.k as u32,
        base_m: m,
        base_n: n,
        base_k: k,
        depth_a1: 2 * step_ka,
        depth_b1: 2 * step_kb,
        step_m: 1,
        step_n: 1,
        iterate_order: 0,
        step_ka,
        step_kb,
        db_l0a: 2,
        db_l0b: 2,
        db_l0c: 1,
        l2_m_tile_cnt: 1,
        l2_n_tile_cnt: 1,
        l2_m_tile_block: (product.m as u32).div_ceil(m),
        l2_n_tile_block: (product.n as u32).div_ceil(n),
        l2_iterate_order: 0,
        tiling_enable: 0,
    }
}

/// Three steps of A stay while B streams, 128 x 128 x 256 bytes a block: both split-K templates.
fn split_k(product: &MatMul, enable: u32, single: [u32; 3], cores: u32) -> Form {
    let block = base(product, [128, 128, 128], [3, 3], cores);
    let [single_core_m, single_core_n, single_core_k] = single;
    let tiling = Tiling {
        single_core_m,
        single_core_n,
        single_core_k,
        depth_a1: 9,
        depth_b1: 6,
        step_m: 3,
        iterate_order: 1,
        db_l0c: 2,
        tiling_enable: enable,
        ..block
    };
    Form { enable, product: product.clone(), tiling }
}

fn forms(cores: u32) -> Vec<Form> {
    let form = |product: MatMul, tiling: Tiling| Form { enable: tiling.tiling_enable, product, tiling };
    let plain = half(1024, 1024, 768, true);
    let shifted = Tiling { tiling_enable: 10_000, ..base(&plain, [128, 256, 64], [8, 4], cores) };
    let few_rows = float(16, 4096, 384);
    let full_a = Tiling {
        depth_a1: 16,
        depth_b1: 2,
        iterate_order: 1,
        db_l0c: 2,
        tiling_enable: 10,
        ..base(&few_rows, [16, 16, 256], [16, 1], cores)
    };
    let tall = half(8192, 128, 96, true);
    let full_b = Tiling {
        single_core_m: 256,
        depth_b1: 2,
        iterate_order: 1,
        l2_m_tile_block: 32,
        tiling_enable: 20,
        ..base(&tall, [128, 96, 64], [2, 2], cores)
    };
    let narrow = half(12_288, 64, 100, false);
    let aligned_out =
        Tiling { depth_a1: 1, depth_b1: 1, tiling_enable: 1020, ..base(&narrow, [256, 112, 64], [1, 1], cores) };
    let narrow_float = float(12_288, 64, 100);
    let vector_out =
        Tiling { depth_a1: 1, depth_b1: 1, tiling_enable: 2020, ..base(&narrow_float, [128, 112, 64], [1, 1], cores) };
    let decode = half(64, 1024, 3072, true);
    let kept_a =
        Tiling { depth_a1: 16, depth_b1: 2, tiling_enable: 12, ..base(&decode, [64, 128, 64], [16, 1], cores) };
    let spread = float(256, 4096, 256);
    let multi_core =
        Tiling { single_core_k: 704, db_l0c: 2, tiling_enable: 4, ..base(&spread, [128, 128, 64], [2, 2], cores) };
    vec![
        form(plain.clone(), base(&plain, [128, 256, 64], [8, 4], cores)),
        form(plain, shifted),
        form(few_rows, full_a),
        form(tall, full_b),
        form(narrow, aligned_out),
        form(narrow_float, vector_out),
        split_k(&half(768, 4608, 1536, false), 2, [384, 768, 384], 4),
        form(decode, kept_a),
        split_k(&half(256, 12_288, 256, false), 3, [384, 256, 384], cores),
        split_k(&half(256, 12_288, 250, false), 2003, [384, 250, 384], cores),
        form(spread, multi_core),
    ]
}

/// A product and a legal record for each template of `MatMulV3`, and the doubt that CANN takes them.
pub fn templates(soc: &Soc, doubt: Option<&str>) -> Vec<Trial> {
    let schedule = |form: &Form| match soc.arch {
        Arch::C220 => {
            form.tiling.narrowed(&form.product).schedule(&form.product).map(Schedule::Cube).map_err(|e| e.to_string())
        }
        _ => Err(format!("the templates of {} are others than those of the 910B", soc.name)),
    };
    let trial = |form: Form| Trial {
        name: format!("template {}", form.enable),
        schedule: schedule(&form).map(Some),
        workload: Workload::MatMul(form.product),
        doubt: doubt.map(str::to_owned),
    };
    forms(soc.ai_core_cnt).into_iter().map(trial).collect()
}

/// Several products at once, which take no tiling of ours: every form of their own tiling has one.
pub fn batched() -> Vec<Trial> {
    // What L1 holds several of, and what it does not.
    let sizes = [("small", 96, 128, 64, 128), ("large", 4, 512, 1024, 768)];
    let trial = |(name, batch, m, k, n)| Trial {
        name: format!("BatchMatMulV3 {name}"),
        workload: Workload::MatMul(MatMul { batch, ..half(m, k, n, true) }),
        schedule: Ok(None),
        doubt: None,
    };
    sizes.map(trial).into()
}

/// A product with a record that leaves all cores but one idle.
pub fn on_one_core(soc: &Soc) -> Result<(Workload, Schedule), String> {
    let product = MatMul::new(1024, 1024, 1024);
    if !matches!(soc.arch, Arch::C220 | Arch::M200) {
        return Err(format!("on {} CANN reads no bank for matrix products", soc.name));
    }
    let tiling = base(&product, [128, 128, 64], [4, 4], 1);
    let schedule = tiling.schedule(&product).map_err(|error| error.to_string())?;
    Ok((Workload::MatMul(product), Schedule::Cube(schedule)))
}

/// Products as networks have them: layers of vision and language models, their decode steps, squares.
pub fn in_networks() -> Vec<MatMul> {
    const SHAPES: [(u64, u64, u64); 15] = [
        (1, 2048, 1000),
        (1, 4096, 4096),
        (8, 4096, 1024),
        (16, 2048, 5632),
        (32, 3072, 3072),
        (64, 1536, 8960),
        (128, 768, 768),
        (128, 768, 3072),
        (197, 768, 2304),
        (256, 1024, 4096),
        (512, 512, 512),
        (1024, 1024, 1024),
        (1500, 512, 2048),
        (2048, 2048, 2048),
        (4096, 320, 320),
    ];
    let both = |&(m, k, n): &(u64, u64, u64)| {
        let bf16 = MatMul { dtype: DataType::Bfloat16, out_dtype: DataType::Bfloat16, ..half(m, k, n, true) };
        [half(m, k, n, false), bf16]
    };
    SHAPES.iter().flat_map(both).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_template_of_the_910b_is_tried_with_a_tiling_that_the_part_can_run() {
        let soc = Soc::find("Ascend910B2").unwrap();
        let trials = templates(&soc, None);
        let names: BTreeSet<&str> = trials.iter().map(|trial| trial.name.as_str()).collect();
        let enables = [0, 2, 3, 4, 10, 12, 20, 1020, 2003, 2020, 10_000].map(|enable| format!("template {enable}"));
        assert_eq!(names, enables.iter().map(String::as_str).collect());
        for Trial { name, workload, schedule, .. } in trials {
            let schedule = schedule.unwrap().unwrap();
            crate::workload::check(&workload, &schedule, &soc).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }

    #[test]
    fn thirty_products_are_priced() {
        let products = in_networks();
        assert_eq!(products.iter().map(ToString::to_string).collect::<BTreeSet<_>>().len(), 30);
    }
}
