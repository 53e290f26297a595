//! Which of the operator's kernels runs a tiling, and what that kernel demands of it.
//!
//! No bank has records of this operator: the rules keep a search, and who prices a tiling, to what its kernels do.

use super::{Bias, Problem, Template, several};
use crate::tiling::Platform;
pub use crate::tiling::broken::Broken;
use crate::tiling::broken::rule;
use crate::tiling::matmul_v3::Problem as Product;
use crate::workload::{CubeSchedule, L1Tile, MatMul, OutputPath, Panel, SplitK};
use aoe_graph::Format;

/// The kernels that a batch of products has on a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernels {
    /// One A serves all products, and may stay in L1.
    pub keeps_a: bool,
    /// One B serves all products, and may stay in L1.
    pub keeps_b: bool,
    /// Whole products whose operands L1 holds together; below 2 there is no task of several.
    pub held: u64,
    /// The batch is rows of one product, so that a task may reach over several.
    pub folds: bool,
}

impl Kernels {
    /// The kernels of a batch of products.
    pub fn of(w: &MatMul, part: &Platform) -> Kernels {
        let product = MatMul { batch: 1, a_shared: false, b_shared: false, ..w.clone() };
        let q = Product::new(&product, part);
        let equal = !w.a_shared && !w.b_shared && w.b_format != Format::FractalNz && !w.bias && part.fixpipe;
        Kernels {
            keeps_a: w.a_shared && !w.b_shared,
            keeps_b: w.b_shared && !w.a_shared,
            held: if equal { several::held(&q, Bias::None) } else { 0 },
            folds: Problem::from(w).fold(part).2,
        }
    }
}

/// The kernel that runs a tiling. Fails with the first rule that the tiling breaks where none does.
pub fn template(s: &CubeSchedule, w: &MatMul, part: &Platform) -> Result<Template, Broken> {
    let kernels = Kernels::of(w, part);
    rule(s.split_k == SplitK::None && s.single.k >= w.k, || {
        format!("a task of k = {} of {}: no kernel of the operator splits k", s.single.k, w.k)
    })?;
    rule(s.output == OutputPath::Direct, || "no kernel of the operator has vector cores finish its result".into())?;
    match (s.l1_a, s.l1_b) {
        (L1Tile::Full(_), L1Tile::Full(_)) => Err(Broken("no kernel keeps both operands in L1".into())),
        (L1Tile::Full(_), L1Tile::Panel(b)) => {
            rule(kernels.keeps_a, || "A stays in L1 only where one A serves all products".into())?;
            keeps(s, [s.single.m, w.m], [s.single.n, w.n, s.l0.n.into()], b)?;
            Ok(Template::FullA)
        }
        (L1Tile::Panel(a), L1Tile::Full(_)) => {
            rule(kernels.keeps_b, || "B stays in L1 only where one B serves all products".into())?;
            keeps(s, [s.single.n, w.n], [s.single.m, w.m, s.l0.m.into()], a)?;
            Ok(Template::FullB)
        }
        (L1Tile::Panel(a), L1Tile::Panel(b)) if s.single.batch > 1 && !kernels.folds => {
            whole_products(s, w, &kernels, [a, b])?;
            Ok(Template::SeveralProducts)
        }
        (L1Tile::Panel(a), L1Tile::Panel(b)) => {
            for (axis, single, base) in [("M", s.single.m, s.l0.m), ("N", s.single.n, s.l0.n)] {
                rule(single <= base.into(), || {
                    format!("singleCore{axis} = {single} exceeds base{axis} = {base}: a task is one block")
                })?;
            }
            rule(a.tiles == 1 && b.tiles == 1, || {
                format!("panels of {} and {} blocks for a task of one", a.tiles, b.tiles)
            })?;
            Ok(Template::Base)
        }
    }
}

/// Tasks beside an operand that stays: all of its side, and of the other one block, or two where all of k is there.
fn keeps(s: &CubeSchedule, [single, whole]: [u64; 2], other: [u64; 3], panel: Panel) -> Result<(), Broken> {
    rule(single >= whole, || format!("a task has {single} of {whole} of the operand that stays in L1"))?;
    let [other, extent, base] = other;
    let blocks = u64::from(panel.tiles) * if u64::from(panel.k) >= s.single.k { 2 } else { 1 };
    rule(other <= blocks.saturating_mul(base).min(extent), || {
        format!("a task has {other} of the other operand's {extent}, and its panel serves {blocks} blocks of {base}")
    })
}

/// Tasks of several whole products.
fn whole_products(s: &CubeSchedule, w: &MatMul, kernels: &Kernels, panels: [Panel; 2]) -> Result<(), Broken> {
    let count = s.single.batch;
    rule(count.is_multiple_of(2) && count <= kernels.held, || {
        format!("a task of {count} products: they come in twos, and L1 holds {} of these", kernels.held)
    })?;
    rule(s.single.m >= w.m && s.single.n >= w.n, || "a task of several products has them whole".into())?;
    let [a, b] = panels.map(|panel| (u64::from(panel.tiles), u64::from(panel.k)));
    let whole = |(tiles, k): (u64, u64), extent: u64, base: u32| tiles * u64::from(base) >= extent && k >= w.k;
    rule(whole(a, w.m, s.l0.m) && whole(b, w.n, s.l0.n), || {
        "a task of several products brings each operand to L1 as a whole".into()
    })?;
    rule(s.buffers.l1_a == 2 && s.buffers.l1_b == 2, || {
        "a task of several products brings the next ones while these are computed, in two buffers".into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soc::Soc;
    use crate::workload::{Buffers, Cores, Extents, L0Tile};

    fn part() -> Platform {
        Platform::of(&Soc::find("Ascend910B2").unwrap())
    }

    fn batched(batch: u64, m: u64, k: u64, n: u64) -> MatMul {
        MatMul { batch, ..MatMul::new(m, k, n) }
    }

    /// One block of 128 x 256 a task, or whole products where they are smaller.
    fn block(w: &MatMul) -> CubeSchedule {
        let (m, n) = (w.m.min(128), w.n.min(256));
        let count = |whole: u64, part: u64| whole.div_ceil(part) as u32;
        CubeSchedule {
            used_cores: 24,
            cores: Cores { batch: w.batch as u32, m: count(w.m, m), n: count(w.n, n), k: 1 },
            single: Extents { batch: 1, m, n, k: w.k },
            l0: L0Tile { m: 128, n: 256, k_a: 64, k_b: 64 },
            l1_a: L1Tile::panel(64, 1),
            l1_b: L1Tile::panel(64, 1),
            buffers: Buffers { l1_a: 2, l1_b: 2, l0_a: 2, l0_b: 2, l0_c: 1 },
            order: crate::workload::LoopOrder::MFirst,
            l2: crate::workload::L2Tiling::default(),
            split_k: SplitK::None,
            output: OutputPath::Direct,
            unmodelled: std::collections::BTreeMap::new(),
        }
    }

    fn judged(w: &MatMul, change: impl FnOnce(&mut CubeSchedule)) -> Result<Template, String> {
        let mut s = block(w);
        change(&mut s);
        template(&s, w, &part()).map_err(|broken| broken.0)
    }

    #[test]
    fn a_task_is_one_block_or_several_whole_products() {
        let w = batched(16, 512, 64, 512);
        assert_eq!(judged(&w, |_| ()), Ok(Template::Base));
        assert!(judged(&w, |s| s.single.m = 256).unwrap_err().contains("singleCoreM"));
        assert!(judged(&w, |s| s.single.batch = 2).unwrap_err().contains("whole"));
        let small = batched(96, 128, 64, 256);
        assert_eq!(judged(&small, |s| s.single.batch = 2), Ok(Template::SeveralProducts));
        assert!(judged(&small, |s| s.single.batch = 3).unwrap_err().contains("twos"));
        assert!(judged(&small, |s| s.single.batch = 20).unwrap_err().contains("L1 holds 10"));
        assert!(judged(&MatMul { bias: true, ..small }, |s| s.single.batch = 2).is_err(), "a bias without batch");
    }

    #[test]
    fn no_kernel_splits_k_or_keeps_an_operand_that_every_product_has_anew() {
        let w = batched(16, 128, 1024, 256);
        assert!(judged(&w, |s| s.single.k = 512).unwrap_err().contains("splits k"));
        assert!(judged(&w, |s| s.l1_a = L1Tile::FULL).unwrap_err().contains("one A serves all"));
        assert!(judged(&w, |s| s.l1_b = L1Tile::FULL).unwrap_err().contains("one B serves all"));
        let one_a = MatMul { a_shared: true, ..w };
        assert_eq!(judged(&one_a, |s| s.l1_a = L1Tile::FULL), Ok(Template::FullA));
    }
    #[test]
    fn an_operand_that_stays_is_whole_beside_the_blocks_that_a_panel_serves() {
        let one_a = MatMul { a_shared: true, ..batched(16, 128, 1024, 1024) };
        let a = |change: fn(&mut CubeSchedule)| {
            judged(&one_a, |s| {
                s.l1_a = L1Tile::FULL;
                change(s);
            })
        };
        assert_eq!(a(|_| ()), Ok(Template::FullA));
        // A panel of all of k serves a block while the next one comes.
        assert_eq!(a(|s| (s.single.n, s.l1_b) = (512, L1Tile::panel(1024, 1))), Ok(Template::FullA));
        assert!(a(|s| s.single.n = 512).unwrap_err().contains("1 blocks of 256"));
        assert!(a(|s| (s.single.n, s.l1_b) = (768, L1Tile::panel(1024, 1))).unwrap_err().contains("2 blocks of 256"));
        assert!(a(|s| s.single.m = 64).unwrap_err().contains("64 of 128"));
        assert!(a(|s| s.l1_b = L1Tile::FULL).unwrap_err().contains("both operands"));
        let one_b = MatMul { a_shared: false, b_shared: true, ..batched(16, 1024, 1024, 256) };
        assert_eq!(judged(&one_b, |s| s.l1_b = L1Tile::FULL), Ok(Template::FullB));
        assert!(judged(&one_b, |s| (s.l1_b, s.single.m) = (L1Tile::FULL, 256)).unwrap_err().contains("of 128"));
        assert!(judged(&one_b, |s| (s.l1_b, s.single.n) = (L1Tile::FULL, 128)).unwrap_err().contains("128 of 256"));
        let both = MatMul { a_shared: true, b_shared: true, ..batched(16, 128, 1024, 256) };
        assert!(judged(&both, |s| s.l1_a = L1Tile::FULL).is_err() && judged(&both, |s| s.l1_b = L1Tile::FULL).is_err());
    }

    #[test]
    fn blocks_and_panels_of_one_block_go_together() {
        let w = batched(16, 512, 64, 512);
        assert!(judged(&w, |s| s.single.n = 512).unwrap_err().contains("singleCoreN = 512"));
        let changes: [fn(&mut CubeSchedule); 2] =
            [|s| s.l1_a = L1Tile::panel(64, 2), |s| s.l1_b = L1Tile::panel(64, 2)];
        for change in changes {
            assert!(judged(&w, change).unwrap_err().contains("task of one"));
        }
        let vector = |s: &mut CubeSchedule| s.output = OutputPath::VectorNzToNd;
        assert!(judged(&w, vector).unwrap_err().contains("vector cores"));
    }

    #[test]
    fn tasks_of_several_products_bring_all_of_them_in_two_buffers() {
        let small = batched(96, 128, 64, 256);
        let two = |change: fn(&mut CubeSchedule)| {
            judged(&small, |s| {
                s.single.batch = 2;
                change(s);
            })
        };
        assert_eq!(two(|_| ()), Ok(Template::SeveralProducts));
        assert_eq!(two(|s| s.single.batch = 10), Ok(Template::SeveralProducts));
        assert!(two(|s| s.single.m = 64).unwrap_err().contains("has them whole"));
        assert!(two(|s| s.single.n = 128).unwrap_err().contains("has them whole"));
        let parts: [fn(&mut CubeSchedule); 2] = [|s| s.l1_a = L1Tile::panel(32, 1), |s| s.l1_b = L1Tile::panel(32, 1)];
        for part in parts {
            assert!(two(part).unwrap_err().contains("as a whole"));
        }
        for (rows, columns) in [(64, 256), (128, 128)] {
            let narrow = judged(&small, |s| (s.single.batch, s.l0.m, s.l0.n) = (2, rows, columns));
            assert!(narrow.unwrap_err().contains("as a whole"));
        }
        assert!(two(|s| s.buffers.l1_a = 1).unwrap_err().contains("two buffers"));
        assert!(two(|s| s.buffers.l1_b = 1).unwrap_err().contains("two buffers"));
        let shared = MatMul { a_shared: true, ..small };
        assert!(judged(&shared, |s| s.single.batch = 2).unwrap_err().contains("holds 0"));
    }
}
