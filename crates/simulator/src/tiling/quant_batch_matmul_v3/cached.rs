//! The cached tiling, as TBE's operators have it: the basic-block search that `MatMulV3` uses for few rows, in the
//! terms of TBE's fields.

use super::{Problem, Tiling};
use crate::tiling::Platform;
use crate::tiling::matmul_v3::search_blocks;

/// Longest extent that CANN knows.
const LONGEST: u64 = i32::MAX as u64;
/// Results of an L0C block in fractals, of which two fit.
const HALF_L0C: u64 = 64;

/// The cached tiling of one product, and whether its rules are public for it: operands in ND, B alone transposed.
/// `None` where the search finds none.
pub(super) fn tile(p: &Problem, part: &Platform) -> Option<(Tiling, bool)> {
    if p.batch > 1 {
        return None;
    }
    let k0 = 256 / p.bits;
    let [m, k, n] = [p.m, p.k, p.n].map(|extent| extent.min(LONGEST));
    let unaligned = m % 16 != 0 || k % k0 != 0 || n % 16 != 0;
    let (c, cost) =
        search_blocks([m.div_ceil(16), k.div_ceil(k0), n.div_ceil(16)], part.cores.clamp(1, 256), unaligned)?;
    let field = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let buffers = |double: bool| if double { 2 } else { 1 };
    let tiling = Tiling {
        m_dim: field(cost.m_dim),
        n_dim: field(cost.n_dim),
        m_al1: field(c.m_l1.div_ceil(c.m0)),
        n_bl1: field(c.n_l1.div_ceil(c.n0)),
        k_al1: field(c.k_a),
        k_bl1: field(c.k_b),
        m_l0: field(c.m0),
        n_l0: field(c.n0),
        k_l0: field(c.k0),
        db_al1: buffers(cost.double_a),
        db_bl1: buffers(cost.double_b),
        db_l0a: 2,
        db_l0b: 2,
        db_l0c: buffers(c.m0 * c.n0 <= HALF_L0C),
        ..Tiling::default()
    };
    let linear = !p.trans_a && p.trans_b && !p.a_nz && !p.b_nz && !p.bias;
    Some((tiling, linear))
}

#[cfg(test)]
mod tests {
    use super::super::{Which, default, legality};
    use super::*;
    use crate::soc::Soc;
    use crate::workload::MatMul;
    use aoe_graph::DataType;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_cached_tiling_is_legal(
            m in 1u64..3000, k in 1u64..30_000, n in 1u64..3000, trans_b: bool, cores in prop::sample::select(vec![20u64, 24]),
        ) {
            let part = Platform { cores, ..Platform::of(&Soc::find("Ascend910B2").unwrap()) };
            let w = MatMul { dtype: DataType::Int8, trans_b, ..MatMul::new(m, k, n) };
            let choice = default(&Problem::from(&w), &part).unwrap();
            if let Some(t) = choice.cached {
                prop_assert_eq!(choice.which, Which::Cached);
                prop_assert_eq!(legality::check(&t, &w, &part), Ok(()), "{:?}", t);
                prop_assert!(u64::from(t.m_dim * t.m_l0 * t.m_al1) * 16 * 100 >= m, "cores without rows");
            }
        }
    }

    /// 16 rows of k 4096 by 7168 columns: 1 x 128 x 448 fractals. 22 cores take 3 strips of 7, K in 8 pieces of 16:
    /// 24 x (338 + 1,106) cycles. With A in L1 it would be 1,234 + 16 x 2,258.
    #[test]
    fn few_rows_are_cut_as_the_cost_model_says() {
        let part = Platform::of(&Soc::find("Ascend910B2").unwrap());
        let w = MatMul { dtype: DataType::Int8, trans_b: true, ..MatMul::new(16, 4096, 7168) };
        let choice = default(&Problem::from(&w), &part).unwrap();
        let t = choice.cached.unwrap();
        assert!(choice.public);
        assert_eq!((t.m_dim, t.n_dim, t.m_l0, t.n_l0, t.k_l0), (1, 22, 1, 7, 4));
        assert_eq!((t.k_al1, t.k_bl1, t.db_al1, t.db_bl1, t.db_l0c), (16, 16, 2, 2, 2));
    }
}
