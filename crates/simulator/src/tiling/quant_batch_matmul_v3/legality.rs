//! What a `QuantBatchMatmulV3` record must satisfy to compute C.
//!
//! The rules are what the launch makes of the fields, as far as all 2,103 records that CANN ships obey them: pieces
//! of k may outnumber the cores (29 on 20 cores in 12 records, all of int32 results), two L0C buffers may be claimed
//! where only one fits (20 records), and B's depth in L1 need not be whole L0 tiles (24 records).

use super::Tiling;
use crate::tiling::Platform;
pub use crate::tiling::broken::Broken;
use crate::tiling::broken::{fits, product, rule};
use crate::workload::MatMul;
use aoe_graph::DataType;

/// Bytes of a fractal of an operand: 16 rows of 32 bytes.
const FRACTAL: u64 = 512;
/// Bytes of a fractal of accumulators: 16 x 16 of int32.
const ACCUMULATORS: u64 = 1024;

/// Fails with the first rule that the tiling breaks.
pub fn check(t: &Tiling, w: &MatMul, part: &Platform) -> Result<(), Broken> {
    counts(t)?;
    let tasks = product(&[t.batch_dim, t.m_dim, t.n_dim]);
    rule(tasks <= part.cores, || {
        format!("batch_dim x m_dim x n_dim = {tasks} core tasks, one for each core, exceed {} cores", part.cores)
    })?;
    rule(t.k_dim == 1 || w.out_dtype == DataType::Int32, || {
        format!("k_dim = {} splits k, but only int32 results can be added up: others are scaled first", t.k_dim)
    })?;
    rule(u64::from(t.batch_dim) <= w.batch.max(1), || {
        format!("batch_dim = {} cores share a batch of {}", t.batch_dim, w.batch)
    })?;
    rule(t.k_al1.is_multiple_of(t.k_l0), || {
        format!("k_al1 = {} is no multiple of k_l0 = {}, so part of A's panel would never reach L0A", t.k_al1, t.k_l0)
    })?;
    rule(t.k_bl1 >= t.k_l0, || format!("k_bl1 = {} holds less than one L0 tile of k_l0 = {}", t.k_bl1, t.k_l0))?;
    fits("L0A", "m_l0 x k_l0", product(&[t.m_l0, t.k_l0, t.db_l0a]).saturating_mul(FRACTAL), part.l0_a)?;
    fits("L0B", "n_l0 x k_l0", product(&[t.n_l0, t.k_l0, t.db_l0b]).saturating_mul(FRACTAL), part.l0_b)?;
    fits("L0C", "m_l0 x n_l0", product(&[t.m_l0, t.n_l0]).saturating_mul(ACCUMULATORS), part.l0_c)?;
    let a = product(&[t.m_al1, t.m_l0, t.k_al1, t.db_al1]);
    let b = product(&[t.n_bl1, t.n_l0, t.k_bl1, t.db_bl1]);
    fits("L1", "A's and B's panels", a.saturating_add(b).saturating_mul(FRACTAL), part.l1)
}

/// Fails where a count is zero, which divides, or where there are neither one nor two buffers.
fn counts(t: &Tiling) -> Result<(), Broken> {
    let counts = [
        ("m_dim", t.m_dim),
        ("n_dim", t.n_dim),
        ("k_dim", t.k_dim),
        ("batch_dim", t.batch_dim),
        ("m_al1", t.m_al1),
        ("n_bl1", t.n_bl1),
        ("k_al1", t.k_al1),
        ("k_bl1", t.k_bl1),
        ("m_l0", t.m_l0),
        ("n_l0", t.n_l0),
        ("k_l0", t.k_l0),
        ("batch_l0", t.batch_l0),
    ];
    if let Some((name, _)) = counts.into_iter().find(|(_, count)| *count == 0) {
        return Err(Broken(format!("{name} = 0 is a divisor of the launch")));
    }
    let buffers =
        [("db_al1", t.db_al1), ("db_bl1", t.db_bl1), ("db_l0a", t.db_l0a), ("db_l0b", t.db_l0b), ("db_l0c", t.db_l0c)];
    match buffers.into_iter().find(|(_, count)| !(1..=2).contains(count)) {
        Some((name, count)) => Err(Broken(format!("{name} = {count} buffers, the kernels have 1 or 2"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soc::Soc;

    /// 16 x 8 fractals of an 8-fractal panel on ten cores.
    fn good() -> Tiling {
        Tiling {
            m_dim: 2,
            n_dim: 10,
            m_l0: 16,
            n_l0: 8,
            k_l0: 4,
            k_al1: 16,
            k_bl1: 16,
            db_al1: 2,
            db_bl1: 2,
            db_l0a: 2,
            db_l0b: 2,
            ..Tiling::default()
        }
    }

    fn judged(t: &Tiling) -> Result<(), String> {
        judged_with(t, DataType::Float16)
    }

    fn judged_with(t: &Tiling, out_dtype: DataType) -> Result<(), String> {
        let part = Platform::of(&Soc::find("Ascend910B4").unwrap());
        let w = MatMul { dtype: DataType::Int8, out_dtype, ..MatMul::new(512, 8192, 1280) };
        check(t, &w, &part).map_err(|broken| broken.0)
    }

    #[test]
    fn only_int32_results_are_summed_over_cores() {
        let split = Tiling { m_dim: 1, k_dim: 29, ..good() };
        judged_with(&split, DataType::Int32).unwrap();
        assert!(judged_with(&split, DataType::Float16).unwrap_err().contains("k_dim"));
    }

    #[test]
    fn what_shipped_records_do_is_legal() {
        judged(&good()).unwrap();
        judged(&Tiling { db_l0c: 2, ..good() }).unwrap();
        judged(&Tiling { m_l0: 1, n_l0: 18, k_l0: 2, k_al1: 52, k_bl1: 13, ..good() }).unwrap();
    }

    #[test]
    fn each_rule_names_the_field_that_breaks_it() {
        for (tiling, word) in [
            (Tiling { m_dim: 3, ..good() }, "core tasks"),
            (Tiling { batch_dim: 2, m_dim: 1, ..good() }, "batch_dim"),
            (Tiling { n_l0: 0, ..good() }, "n_l0"),
            (Tiling { db_bl1: 4, ..good() }, "db_bl1"),
            (Tiling { k_al1: 18, ..good() }, "k_al1"),
            (Tiling { k_bl1: 3, ..good() }, "k_bl1"),
            (Tiling { m_l0: 17, n_l0: 1, ..good() }, "L0A"),
            (Tiling { m_l0: 1, n_l0: 17, ..good() }, "L0B"),
            (Tiling { k_l0: 1, n_l0: 16, ..good() }, "L0C"),
            (Tiling { m_al1: 2, ..good() }, "L1"),
        ] {
            let broken = judged(&tiling).expect_err(word);
            assert!(broken.contains(word), "{broken} does not name {word}");
        }
    }

    #[test]
    fn buffers_are_filled_to_the_last_byte_and_no_further() {
        // One panel of B of 8 fractals by 32, two of A of 16 by 16: half of L1 each.
        judged(&Tiling { k_bl1: 32, ..good() }).unwrap();
        assert!(judged(&Tiling { k_bl1: 33, ..good() }).unwrap_err().contains("L1"));
        judged(&Tiling { m_l0: 8, n_l0: 16, ..good() }).unwrap();
        // The last L0 tile of B is all that L1 holds of it.
        judged(&Tiling { k_bl1: 4, ..good() }).unwrap();
        for (tiling, word) in [
            (Tiling { k_dim: 0, ..good() }, "k_dim = 0"),
            (Tiling { batch_l0: 0, ..good() }, "batch_l0 = 0"),
            (Tiling { db_l0a: 0, ..good() }, "db_l0a = 0"),
            (Tiling { db_l0c: 3, ..good() }, "db_l0c = 3"),
        ] {
            let broken = judged(&tiling).expect_err(word);
            assert!(broken.contains(word), "{broken} does not name {word}");
        }
    }

    #[test]
    fn cores_share_no_more_products_than_there_are() {
        let part = Platform::of(&Soc::find("Ascend910B4").unwrap());
        let w = MatMul { dtype: DataType::Int8, batch: 2, ..MatMul::new(512, 8192, 1280) };
        let of = |batch_dim| check(&Tiling { batch_dim, m_dim: 1, n_dim: 5, ..good() }, &w, &part);
        of(2).unwrap();
        assert!(of(3).unwrap_err().0.contains("batch_dim = 3"));
    }

    #[test]
    fn the_largest_fields_overflow_nothing() {
        let most = u32::MAX;
        let tiling = Tiling { m_l0: most, n_l0: most, k_l0: most, k_al1: most, k_bl1: most, ..good() };
        judged(&tiling).unwrap_err();
    }
}
