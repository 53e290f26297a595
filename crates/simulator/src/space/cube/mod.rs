//! Tilings of cube kernels: matrix products and convolutions.
//!
//! A configuration lists CANN's tiling fields in an order in which each rule can be checked as soon as
//! its last field is known, so that a walk down the parameters rarely meets a dead end. What
//! decides the structure comes first, so that a change there finds its sizes below.

mod batched;
mod tbe;
mod tiling;
mod values;

pub(in crate::space) use batched::Batched;
pub(in crate::space) use tiling::{F, Limits, Tiling, align_steps, even_base};

use super::Parameter;
use crate::rounding::round_up;
use crate::soc::{Arch, Soc};
use crate::workload::{CubeSchedule, CubeShape, LoopOrder, MatMul, MatMulKernel, SplitK, Workload};
use aoe_graph::DataType;

/// Declares the parameters: position and CANN's name.
macro_rules! parameters {
    ($($position:ident = $name:literal;)*) => {
        /// Positions of the parameters in a configuration.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum P { $($position,)* }
        const POSITIONS: &[P] = &[$(P::$position,)*];
        const NAMES: &[&str] = &[$($name,)*];
    };
}

parameters! {
    SplitK = "tilingEnable";
    BaseK = "baseK";
    SingleK = "singleCoreK";
    FullLoad = "fullLoad";
    BaseM = "baseM";
    BaseN = "baseN";
    SingleM = "singleCoreM";
    SingleN = "singleCoreN";
    DbL0C = "dbL0C";
    SingleBatch = "singleCoreBatch";
    StepKa = "stepKa";
    StepM = "stepM";
    DbA1 = "dbA1";
    StepKb = "stepKb";
    StepN = "stepN";
    DbB1 = "dbB1";
    Order = "iterateOrder";
    L2M = "l2MTileCnt";
    L2N = "l2NTileCnt";
    L2Order = "l2IterateOrder";
}

/// Values of `fullLoad`.
const FULL_A: u64 = 1;
const FULL_B: u64 = 2;
const FULL_BOTH: u64 = 3;

/// Whether a product runs on TBE's kernel: one of int8 operands on a 310P, and what a 910B or 310B leaves to TBE.
pub(in crate::space) fn is_tbe(w: &MatMul, soc: &Soc) -> bool {
    let by_name = w.kernel == MatMulKernel::Tbe && matches!(soc.arch, Arch::C220 | Arch::M300);
    by_name || w.batch == 1 && w.dtype == DataType::Int8 && soc.arch == Arch::M200
}

/// Which special forms a workload's kernels have.
#[derive(Debug, Clone, Copy)]
struct Kernels {
    /// Forms of split K, by their digit in `tilingEnable`.
    split_k: &'static [u64],
    /// A multi-core split must finish in one round (`MatMulV3`).
    one_round: bool,
    /// Values of `fullLoad`.
    full_load: &'static [u64],
    /// Each core has one task, and nothing groups the tasks for L2 (`Conv2DV2`, TBE's products).
    one_task: bool,
    /// Elements of k that belong together: a block of channels with all kernel positions (`Conv2DV2`).
    block: u64,
    /// Sizes of whole images and their even parts along m (`Conv2DV2`): their number, and the pixels of one.
    images: Option<(u64, u64)>,
    /// What TBE's convolutions ask.
    tbe: Option<tbe::Whole>,
    /// What `BatchMatMulV3` asks.
    batched: Option<Batched>,
}

impl Kernels {
    fn of(workload: &Workload, soc: &Soc) -> Kernels {
        use crate::workload::ConvKind::{BackpropFilter, Forward};
        use DataType::Float;
        const CONV: &[u64] = &[0, FULL_A, FULL_B, FULL_BOTH];
        match workload {
            Workload::MatMul(w) if is_tbe(w, soc) => Kernels { full_load: CONV, one_task: true, ..Kernels::plain() },
            Workload::MatMul(w) if w.batch == 1 && w.dtype == Float && !w.trans_a && w.trans_b => {
                Kernels { split_k: &[0, 2, 3, 4], one_round: true, ..Kernels::plain() }
            }
            Workload::MatMul(w) if w.batch == 1 => Kernels { split_k: &[0, 2, 3], one_round: true, ..Kernels::plain() },
            Workload::MatMul(w) if let Some(batched) = Batched::of(w, soc) => {
                Kernels { batched: Some(batched), ..Kernels::plain() }
            }
            Workload::Conv(w) if w.kind == BackpropFilter => {
                Kernels { split_k: &[0, 4], full_load: CONV, ..Kernels::plain() }
            }
            Workload::Conv(w) if w.kind == Forward && soc.arch == Arch::C310 => Kernels {
                full_load: CONV,
                one_task: true,
                block: w.kh.saturating_mul(w.kw).max(1),
                images: Some((w.batch, w.ho.saturating_mul(w.wo).max(1))),
                ..Kernels::plain()
            },
            Workload::Conv(w) => match tbe::Whole::of(w, soc) {
                Some(whole) => Kernels {
                    full_load: CONV,
                    one_task: true,
                    block: whole.steps(w.cube().k0()),
                    images: Some(whole.images()),
                    tbe: Some(whole),
                    ..Kernels::plain()
                },
                None => Kernels { full_load: CONV, ..Kernels::plain() },
            },
            Workload::Fused(parts) => {
                parts.iter().find(|part| part.is_cube()).map_or_else(Kernels::plain, |part| Kernels::of(part, soc))
            }
            _ => Kernels::plain(),
        }
    }

    fn plain() -> Kernels {
        Kernels {
            split_k: &[0],
            one_round: false,
            full_load: &[0, FULL_A, FULL_B],
            one_task: false,
            block: 1,
            images: None,
            tbe: None,
            batched: None,
        }
    }
}

/// All tilings of one cube workload.
#[derive(Debug, Clone)]
pub(in crate::space) struct CubeSpace {
    shape: CubeShape,
    limits: Limits,
    one_round: bool,
    one_task: bool,
    tbe: Option<tbe::Whole>,
    batched: Option<Batched>,
    parameters: Vec<Parameter>,
    /// The configurations of what the space has to contain, CANN's default among them: TBE's rules do not bind them.
    included: Vec<Vec<u32>>,
}

impl CubeSpace {
    /// The space of a workload whose lists hold at least what these schedules need.
    pub fn new<'a>(
        workload: &Workload,
        shape: &CubeShape,
        soc: &Soc,
        include: impl Iterator<Item = &'a CubeSchedule>,
    ) -> CubeSpace {
        let limits = Limits::of(workload, shape, soc);
        let kernels = Kernels::of(workload, soc);
        let include: Vec<Tiling> = include.filter_map(|s| Tiling::from_schedule(s, shape)).collect();
        let parameters: Vec<Parameter> = POSITIONS
            .iter()
            .zip(NAMES)
            .map(|(&position, &name)| {
                let mut values = values::list(position, shape, &limits, &kernels, soc);
                values.extend(include.iter().map(|tiling| values_of(tiling)[position as usize]));
                values.sort_unstable();
                values.dedup();
                Parameter { name, values }
            })
            .collect();
        let included = include.iter().filter_map(|tiling| super::indices(&parameters, &values_of(tiling)));
        CubeSpace {
            shape: *shape,
            limits,
            one_round: kernels.one_round,
            one_task: kernels.one_task,
            tbe: kernels.tbe,
            batched: kernels.batched,
            // Of a bank's tilings of batched products only those that a kernel runs are taken; the default comes first.
            included: included.take(if kernels.batched.is_some() { 1 } else { usize::MAX }).collect(),
            parameters,
        }
    }

    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The tiling that a full configuration describes, whether legal or not.
    pub fn schedule(&self, configuration: &[u32]) -> CubeSchedule {
        let value = |p: P| self.value(configuration, p);
        let single = crate::workload::Extents {
            batch: value(P::SingleBatch),
            m: value(P::SingleM),
            n: value(P::SingleN),
            k: value(P::SingleK),
        };
        let order = |p: P| if value(p) == 0 { LoopOrder::MFirst } else { LoopOrder::NFirst };
        Tiling {
            used_cores: self.limits.cores.min(self.tasks(configuration)) as u32,
            single,
            base_m: value(P::BaseM) as u32,
            base_n: value(P::BaseN) as u32,
            base_k: value(P::BaseK) as u32,
            step_m: value(P::StepM) as u32,
            step_n: value(P::StepN) as u32,
            step_ka: value(P::StepKa) as u32,
            step_kb: value(P::StepKb) as u32,
            full_a: value(P::FullLoad) & FULL_A != 0,
            full_b: value(P::FullLoad) & FULL_B != 0,
            db_l1_a: value(P::DbA1) as u8,
            db_l1_b: value(P::DbB1) as u8,
            db_l0_c: value(P::DbL0C) as u8,
            order: order(P::Order),
            l2_m_tiles: value(P::L2M) as u32,
            l2_n_tiles: value(P::L2N) as u32,
            l2_order: order(P::L2Order),
            split_k: split_k_of(value(P::SplitK)),
            output: crate::workload::OutputPath::Direct,
        }
        .schedule(&self.shape)
    }

    /// The configuration of a schedule, when the lists hold its values; it may break a rule.
    pub fn configuration(&self, schedule: &CubeSchedule) -> Option<Vec<u32>> {
        let tiling = Tiling::from_schedule(schedule, &self.shape)?;
        super::indices(&self.parameters, &values_of(&tiling))
    }

    /// Whether all rules hold that these first parameters decide, given that they hold without the last.
    pub fn extends(&self, prefix: &[u32]) -> bool {
        prefix.len().checked_sub(1).and_then(|last| POSITIONS.get(last)).is_none_or(|&p| self.holds(prefix, p))
    }

    /// Whether a full configuration breaks none of the rules.
    pub fn is_canonical(&self, configuration: &[u32]) -> bool {
        POSITIONS.iter().all(|&p| self.holds(configuration, p))
    }

    fn value(&self, configuration: &[u32], p: P) -> u64 {
        let values = &self.parameters[p as usize].values;
        values[(configuration[p as usize] as usize).min(values.len() - 1)]
    }

    /// The rules that can be checked once parameter `p` is known. Each leaves the later ones a way to go
    /// on, so far as that can be told cheaply.
    fn holds(&self, c: &[u32], p: P) -> bool {
        let is_tbe_s = self.tbe.is_none_or(|whole| {
            // From there on all steps are known, and what they need is asked of every kernel.
            let are_steps_open = (P::FullLoad as usize..P::StepKb as usize).contains(&(p as usize));
            let least = || whole.least_steps(self.value(c, P::BaseK));
            whole.holds(p, |p| self.value(c, p)) && (!are_steps_open || self.l1_from(c, p, least()))
        });
        let is_batched_s = self.batched.is_none_or(|batched| batched.holds(p, |p| self.value(c, p)));
        (is_tbe_s && is_batched_s || self.included.iter().any(|known| known.starts_with(&c[..=p as usize])))
            && self.has_room(c, p)
    }

    /// The rules of every kernel.
    fn has_room(&self, c: &[u32], p: P) -> bool {
        let value = |p: P| self.value(c, p);
        let (limits, now) = (&self.limits, value(p));
        match p {
            P::SplitK => true,
            P::BaseK => limits.base_fits(F, F, now, 1),
            P::SingleK => self.splits(c),
            P::FullLoad => self.l1(c, p),
            P::BaseM => limits.base_fits(now, F, value(P::BaseK), 1) && self.l1(c, p),
            P::BaseN => limits.base_fits(value(P::BaseM), now, value(P::BaseK), 1) && self.l1(c, p),
            P::SingleM => cuts(self.shape.m, now, value(P::BaseM)) && self.l1(c, p) && self.has_a_core_each(c, p),
            P::SingleN => {
                cuts(self.shape.n, now, value(P::BaseN))
                    && self.l1(c, p)
                    && self.room_for_panels(c)
                    && self.has_a_core_each(c, p)
            }
            P::DbL0C => limits.base_fits(value(P::BaseM), value(P::BaseN), value(P::BaseK), now),
            P::SingleBatch => {
                let at_once = self.one_round && value(P::SplitK) == 4;
                (!at_once || self.tasks(c) <= limits.cores) && self.has_a_core_each(c, p)
            }
            P::StepM | P::StepN => self.within(c, p) && self.l1(c, p),
            P::StepKa | P::StepKb => self.within(c, p) && self.l1(c, p) && self.steps_match(c, p),
            P::DbA1 | P::DbB1 => self.within(c, p) && self.l1(c, p) && !self.is_full_load_in_disguise(c, p),
            P::Order => now == 0 || (self.m_tiles(c) > 1 && self.n_tiles(c) > 1),
            P::L2M => is_even(self.shape.m, value(P::SingleM), now),
            P::L2N => is_even(self.shape.n, value(P::SingleN), now),
            P::L2Order => now == 0 || (value(P::L2M) > 1 && value(P::L2N) > 1),
        }
    }

    fn m_tiles(&self, c: &[u32]) -> u64 {
        self.value(c, P::SingleM).div_ceil(self.value(c, P::BaseM))
    }

    fn n_tiles(&self, c: &[u32]) -> u64 {
        self.value(c, P::SingleN).div_ceil(self.value(c, P::BaseN))
    }

    fn k_tiles(&self, c: &[u32]) -> u64 {
        self.value(c, P::SingleK).div_ceil(self.value(c, P::BaseK))
    }

    /// K is whole, or cut at a multiple of baseK by a form of split K that the kernel has.
    fn splits(&self, c: &[u32]) -> bool {
        let value = |p: P| self.value(c, p);
        let (k, single_k, base_k) = (self.shape.k, value(P::SingleK), value(P::BaseK));
        let form = value(P::SplitK);
        if form == 0 || single_k >= k {
            return form == 0 && single_k == k && base_k <= round_up(k, self.limits.k0);
        }
        single_k % base_k == 0
    }

    /// Core tasks that run side by side.
    fn tasks(&self, c: &[u32]) -> u64 {
        let value = |p: P| self.value(c, p);
        let shape = &self.shape;
        let k_tasks = if value(P::SplitK) == 2 { 1 } else { shape.k.div_ceil(value(P::SingleK)) };
        let (m_tasks, n_tasks) = (shape.m.div_ceil(value(P::SingleM)), shape.n.div_ceil(value(P::SingleN)));
        [m_tasks, n_tasks, k_tasks]
            .iter()
            .fold(shape.batch.div_ceil(value(P::SingleBatch)), |n, &count| n.saturating_mul(count))
    }

    /// Whether the tasks along the axes that are known up to `p` find a core each, where they have to.
    fn has_a_core_each(&self, c: &[u32], p: P) -> bool {
        let axes = [(P::SingleM, self.shape.m), (P::SingleN, self.shape.n), (P::SingleBatch, self.shape.batch)];
        let known = axes.into_iter().filter(|(axis, _)| (*axis as usize) <= (p as usize));
        let tasks = known.fold(1u64, |n, (axis, whole)| n.saturating_mul(whole.div_ceil(self.value(c, axis))));
        !self.one_task || tasks <= self.limits.cores
    }

    /// Whether L1 holds what the parameters up to `p` ask for at least.
    fn l1(&self, c: &[u32], p: P) -> bool {
        self.l1_from(c, p, [1; 2])
    }

    /// The same where panels of A and of B have so many steps along k at least.
    fn l1_from(&self, c: &[u32], p: P, [least_ka, least_kb]: [u64; 2]) -> bool {
        let known = |q: P, least: u64| if (q as usize) <= (p as usize) { self.value(c, q) } else { least };
        let settled = (p as usize) >= (P::FullLoad as usize);
        if settled && self.batched.is_some_and(|batched| batched.is_several(p, |q| self.value(c, q))) {
            return true;
        }
        let (base_k, whole_k) = (self.value(c, P::BaseK), round_up(self.value(c, P::SingleK), self.limits.k0));
        let full = self.value(c, P::FullLoad);
        // Where each task has a core of its own, a task is no smaller than this.
        let cores = if self.one_task { self.limits.cores } else { u64::MAX };
        let side = |is_full: bool, single: P, base: P, steps: u64, buffers: u64| {
            let base = known(base, F);
            if is_full {
                let whole = if single == P::SingleM { self.shape.m } else { self.shape.n };
                round_up(known(single, base.max(whole.div_ceil(cores))), base).saturating_mul(whole_k)
            } else {
                base * base_k * steps * buffers
            }
        };
        let steps_a = known(P::StepM, 1) * known(P::StepKa, least_ka);
        let steps_b = known(P::StepN, 1) * known(P::StepKb, least_kb);
        let a = side(full & FULL_A != 0, P::SingleM, P::BaseM, steps_a, known(P::DbA1, 1));
        let b = side(full & FULL_B != 0, P::SingleN, P::BaseN, steps_b, known(P::DbB1, 1));
        a.saturating_add(b).saturating_mul(self.limits.es) <= self.limits.l1
    }

    /// A panel that covers its whole task must be double buffered or it is a full load: leave room.
    fn room_for_panels(&self, c: &[u32]) -> bool {
        let value = |p: P| self.value(c, p);
        let one_step = self.k_tiles(c) == 1;
        let buffers = |covers: bool| if covers && one_step { 2 } else { 1 };
        let full = value(P::FullLoad);
        let several = self.batched.is_some_and(|batched| batched.is_several(P::SingleN, value));
        if full != 0 || several {
            return true;
        }
        let a = value(P::BaseM) * buffers(self.m_tiles(c) == 1);
        let b = value(P::BaseN) * buffers(self.n_tiles(c) == 1);
        (a + b) * value(P::BaseK) * self.limits.es <= self.limits.l1
    }

    /// Steps stay within the core task; a fully loaded side has none.
    fn within(&self, c: &[u32], p: P) -> bool {
        let (now, full) = (self.value(c, p), self.value(c, P::FullLoad));
        let (bit, most) = match p {
            P::StepM => (FULL_A, self.m_tiles(c)),
            P::StepKa => (FULL_A, self.k_tiles(c)),
            P::StepN => (FULL_B, self.n_tiles(c)),
            P::StepKb => (FULL_B, self.k_tiles(c)),
            P::DbA1 => (FULL_A, 2),
            _ => (FULL_B, 2),
        };
        if full & bit != 0 { now == 1 } else { now <= most }
    }

    /// The larger K step is a multiple of the smaller.
    fn steps_match(&self, c: &[u32], p: P) -> bool {
        if p == P::StepKa || self.value(c, P::FullLoad) != 0 {
            return true;
        }
        let (a, b) = (self.value(c, P::StepKa), self.value(c, P::StepKb));
        a.max(b) % a.min(b) == 0
    }

    /// Whether a panel holds its whole task with one buffer: the same as a full load.
    fn is_full_load_in_disguise(&self, c: &[u32], p: P) -> bool {
        let value = |p: P| self.value(c, p);
        let (bit, steps, tiles, step_k) = match p {
            P::DbA1 => (FULL_A, value(P::StepM), self.m_tiles(c), value(P::StepKa)),
            _ => (FULL_B, value(P::StepN), self.n_tiles(c), value(P::StepKb)),
        };
        value(P::FullLoad) & bit == 0 && value(p) == 1 && steps == tiles && step_k == self.k_tiles(c)
    }
}

/// Whether core tasks of `single` cut an extent in a canonical way: the whole, or base blocks that leave
/// nothing over.
fn cuts(whole: u64, single: u64, base: u64) -> bool {
    if single >= whole { single == whole && base <= round_up(whole, F) } else { even_base(single, base) == base }
}

/// Whether so many L2 tiles are what their block size needs.
fn is_even(whole: u64, single: u64, tiles: u64) -> bool {
    let count = whole.div_ceil(single);
    tiles >= 1 && tiles <= count && count.div_ceil(count.div_ceil(tiles)) == tiles
}

fn split_k_of(digit: u64) -> SplitK {
    match digit {
        2 => SplitK::SingleCore,
        3 => SplitK::Deterministic,
        4 => SplitK::MultiCore,
        _ => SplitK::None,
    }
}

/// A tiling's value of each parameter.
fn values_of(t: &Tiling) -> [u64; NAMES.len()] {
    let order = |order: LoopOrder| u64::from(order == LoopOrder::NFirst);
    let split_k = match t.split_k {
        SplitK::None => 0,
        SplitK::SingleCore => 2,
        SplitK::Deterministic => 3,
        SplitK::MultiCore => 4,
    };
    let value = |position: P| match position {
        P::SplitK => split_k,
        P::BaseM => t.base_m.into(),
        P::BaseN => t.base_n.into(),
        P::DbL0C => t.db_l0_c.into(),
        P::BaseK => t.base_k.into(),
        P::SingleBatch => t.single.batch,
        P::SingleM => t.single.m,
        P::SingleN => t.single.n,
        P::SingleK => t.single.k,
        P::FullLoad => u64::from(t.full_a) * FULL_A + u64::from(t.full_b) * FULL_B,
        P::StepM => t.step_m.into(),
        P::StepKa => t.step_ka.into(),
        P::DbA1 => t.db_l1_a.into(),
        P::StepN => t.step_n.into(),
        P::StepKb => t.step_kb.into(),
        P::DbB1 => t.db_l1_b.into(),
        P::Order => order(t.order),
        P::L2M => t.l2_m_tiles.into(),
        P::L2N => t.l2_n_tiles.into(),
        P::L2Order => order(t.l2_order),
    };
    std::array::from_fn(|i| value(POSITIONS[i]))
}
