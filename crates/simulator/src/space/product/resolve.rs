//! From values to the fields of a record and back.

use super::template::Template;
use super::{Bounds, NAMES, P, Values};
use crate::rounding::round_up;
use crate::space::cube::F;
use crate::tiling::matmul_v3::Tiling;

/// baseM and baseN of the deterministic template, in CANN's rules as in every public record.
pub(super) const DETERMINISTIC_BASE: u64 = 128;
/// Bytes of its baseK.
const DETERMINISTIC_K_BYTES: u64 = 256;
/// Blocks of the axis that it steps along.
const DETERMINISTIC_STEP: u64 = 3;
/// [`P::StepM`] of the deterministic template that steps along m; else it steps along n.
const ALONG_M: u64 = 2;

/// What each field becomes. Values that are 0 follow from the others.
impl Bounds {
    fn template(v: &Values) -> Template {
        Template::numbered(v[P::Template as usize]).unwrap_or(Template::Base)
    }

    pub fn base_m(&self, v: &Values) -> u64 {
        match (Self::template(v), v[P::BaseM as usize]) {
            (Template::Deterministic, _) => DETERMINISTIC_BASE,
            (_, 0) => round_up(self.m, F),
            (_, base) => base,
        }
    }

    pub fn base_n(&self, v: &Values) -> u64 {
        match (Self::template(v), v[P::BaseN as usize]) {
            (Template::Deterministic, _) => DETERMINISTIC_BASE,
            (_, 0) => round_up(self.n, F),
            (_, base) => base,
        }
    }

    pub fn base_k(&self, v: &Values) -> u64 {
        match Self::template(v) {
            Template::Deterministic => DETERMINISTIC_K_BYTES / self.es,
            _ => v[P::BaseK as usize],
        }
    }

    #[expect(clippy::unused_self, reason = "called like the fields that do ask the product")]
    pub fn db_l0_c(&self, v: &Values) -> u64 {
        match (Self::template(v), v[P::DbL0C as usize]) {
            (Template::SingleCore | Template::Deterministic | Template::MultiCore, _) => 2,
            (_, buffers) => buffers.max(1),
        }
    }

    /// The rows of a core task: blocks, or all there are.
    pub fn single_m(&self, v: &Values) -> u64 {
        let base = self.base_m(v);
        let blocks = match Self::template(v) {
            Template::Deterministic if v[P::StepM as usize] == ALONG_M => return stepped(self.m),
            Template::Deterministic => v[P::SingleN as usize],
            Template::SingleCoreWithA => return self.m,
            _ => v[P::SingleM as usize],
        };
        base.saturating_mul(blocks.max(1)).min(self.m)
    }

    /// The columns of a core task.
    pub fn single_n(&self, v: &Values) -> u64 {
        let base = self.base_n(v);
        let blocks = match Self::template(v) {
            Template::Deterministic if v[P::StepM as usize] != ALONG_M => return stepped(self.n),
            template if template.is_full_b() => return self.n,
            _ => v[P::SingleN as usize],
        };
        base.saturating_mul(blocks.max(1)).min(self.n)
    }

    /// What a core task has of k at once.
    pub fn single_k(&self, v: &Values) -> u64 {
        match Self::template(v) {
            Template::SingleCore | Template::Deterministic if v[P::StepKa as usize] > 0 => {
                (v[P::StepKa as usize] * self.base_k(v)).min(self.k)
            }
            Template::MultiCore if v[P::KTasks as usize] > 0 => {
                round_up(self.k.div_ceil(v[P::KTasks as usize]), self.base_k(v).max(1)).min(self.k)
            }
            _ => self.k,
        }
    }

    fn all_k(&self, v: &Values) -> u64 {
        self.single_k(v).div_ceil(self.base_k(v).max(1))
    }

    pub fn step_ka(&self, v: &Values) -> u64 {
        match v[P::StepKa as usize] {
            0 if Self::template(v) == Template::FullA => self.all_k(v),
            steps => steps.max(1),
        }
    }

    pub fn step_kb(&self, v: &Values) -> u64 {
        match (Self::template(v), v[P::StepKb as usize]) {
            (template, 0) if template.is_full_b() => self.all_k(v),
            (Template::SingleCore | Template::Deterministic, _) => self.step_ka(v),
            (_, steps) => steps.max(1),
        }
    }

    #[expect(clippy::unused_self, reason = "called like the fields that do ask the product")]
    fn step_m(&self, v: &Values) -> u64 {
        match (Self::template(v), v[P::StepM as usize]) {
            (Template::Deterministic, ALONG_M) => DETERMINISTIC_STEP,
            (Template::SingleCore, steps) => steps.max(1),
            _ => 1,
        }
    }

    fn step_n(&self, v: &Values) -> u64 {
        match (Self::template(v), v[P::StepM as usize]) {
            (Template::Deterministic, ALONG_M) => 1,
            (Template::Deterministic, _) => DETERMINISTIC_STEP,
            (template, _) if template.is_full_b() => self.n.div_ceil(self.base_n(v).max(1)),
            _ => v[P::StepN as usize].max(1),
        }
    }

    /// Blocks in L1 of A and of B.
    pub fn depths(&self, v: &Values) -> [u64; 2] {
        let template = Self::template(v);
        let along_m = v[P::StepM as usize] == ALONG_M;
        let [a, b] = [P::DbA1, P::DbB1].map(|p| v[p as usize]);
        let buffers_a = match template {
            Template::FullA | Template::SingleCoreWithA => 1,
            Template::Deterministic => 2 - u64::from(along_m),
            Template::Base | Template::SingleCore => a.max(1),
            _ => 2,
        };
        let buffers_b = match template {
            _ if template.is_full_b() => 1,
            Template::Deterministic => 1 + u64::from(along_m),
            Template::Base | Template::FullA => b.max(1),
            _ => 2,
        };
        let depth = |step: u64, step_k: u64, buffers: u64| step.saturating_mul(step_k).saturating_mul(buffers);
        [depth(self.step_m(v), self.step_ka(v), buffers_a), depth(self.step_n(v), self.step_kb(v), buffers_b)]
    }

    pub fn m_tasks(&self, v: &Values) -> u64 {
        self.m.div_ceil(self.single_m(v).max(1))
    }

    pub fn n_tasks(&self, v: &Values) -> u64 {
        self.n.div_ceil(self.single_n(v).max(1))
    }

    /// Tasks that run side by side.
    pub fn tasks(&self, v: &Values) -> u64 {
        let pieces = self.k.div_ceil(self.single_k(v).max(1));
        let outer = self.m_tasks(v).saturating_mul(self.n_tasks(v));
        match Self::template(v) {
            Template::Deterministic => pieces,
            Template::MultiCore => outer.saturating_mul(pieces),
            _ => outer,
        }
    }

    /// Blocks of the axis that the deterministic template does not step along.
    pub fn long_axis_blocks(&self, v: &Values) -> u64 {
        let along_m = v[P::StepM as usize] == ALONG_M;
        (if along_m { self.n } else { self.m }).div_ceil(DETERMINISTIC_BASE)
    }
}

/// The extent of the axis that the deterministic template steps along: three blocks as in CANN's rules, also of an
/// axis that is shorter. A record whose task spans the axis is read as one of the axis itself.
fn stepped(extent: u64) -> u64 {
    let step = DETERMINISTIC_STEP * DETERMINISTIC_BASE;
    if round_up(extent, F) == step { extent } else { step }
}

/// The record of these values; `None` where a field would overflow.
pub(super) fn tiling(v: &Values, bounds: &Bounds) -> Option<Tiling> {
    let template = Template::numbered(v[P::Template as usize])?;
    let field = |value: u64| u32::try_from(value).ok();
    let (m_tasks, n_tasks) = (bounds.m_tasks(v), bounds.n_tasks(v));
    let (m_tiles, n_tiles) = (v[P::L2M as usize].max(1), v[P::L2N as usize].max(1));
    let along_m = v[P::StepM as usize] == ALONG_M;
    let order = match template {
        Template::SingleCore | Template::FullA => true,
        Template::Deterministic => along_m,
        template => template.is_full_b(),
    };
    let [depth_a, depth_b] = bounds.depths(v);
    Some(Tiling {
        used_core_num: field(bounds.cores.min(bounds.tasks(v)))?,
        single_core_m: field(bounds.single_m(v))?,
        single_core_n: field(bounds.single_n(v))?,
        single_core_k: field(bounds.single_k(v))?,
        base_m: field(bounds.base_m(v))?,
        base_n: field(bounds.base_n(v))?,
        base_k: field(bounds.base_k(v))?,
        depth_a1: field(depth_a)?,
        depth_b1: field(depth_b)?,
        step_m: field(bounds.step_m(v))?,
        step_n: field(bounds.step_n(v))?,
        iterate_order: order.into(),
        step_ka: field(bounds.step_ka(v))?,
        step_kb: field(bounds.step_kb(v))?,
        db_l0a: 2,
        db_l0b: 2,
        db_l0c: field(bounds.db_l0_c(v))?,
        l2_m_tile_cnt: field(m_tiles)?,
        l2_n_tile_cnt: field(n_tiles)?,
        l2_m_tile_block: field(m_tasks.div_ceil(m_tiles))?,
        l2_n_tile_block: field(n_tasks.div_ceil(n_tiles))?,
        l2_iterate_order: 0,
        tiling_enable: template as u32,
    })
}

/// What a record says of each parameter, as plain numbers; of a record that another product has, too.
pub(super) fn wanted(t: &Tiling) -> Values {
    let blocks = |single: u32, base: u32| u64::from(single).div_ceil(u64::from(base.max(1)));
    let buffers = |depth: u32, step: u32, step_k: u32| {
        (u64::from(depth) / (u64::from(step) * u64::from(step_k)).max(1)).clamp(1, 2)
    };
    let template = match t.tiling_enable {
        // Forms of a template that are CANN's alone, and those that differ from base in where cores begin.
        5 | 6 => 2,
        2003 => 3,
        1 | 2000 | 10_000 => 0,
        enable => enable,
    };
    let deterministic = template == 3;
    let along_m = t.step_m >= t.step_n;
    let long_axis = if along_m { t.single_core_n } else { t.single_core_m };
    let mut v = [0; NAMES.len()];
    let fields: [(P, u64); NAMES.len()] = [
        (P::Template, template.into()),
        (P::BaseK, t.base_k.into()),
        (P::BaseM, t.base_m.into()),
        (P::BaseN, t.base_n.into()),
        (P::DbL0C, t.db_l0c.into()),
        (P::SingleM, blocks(t.single_core_m, t.base_m)),
        (
            P::SingleN,
            if deterministic {
                u64::from(long_axis).div_ceil(DETERMINISTIC_BASE)
            } else {
                blocks(t.single_core_n, t.base_n)
            },
        ),
        (P::KTasks, 0),
        (P::StepM, if deterministic { 1 + u64::from(along_m) } else { t.step_m.into() }),
        (P::StepN, t.step_n.into()),
        (P::StepKa, t.step_ka.into()),
        (P::StepKb, t.step_kb.into()),
        (P::DbA1, buffers(t.depth_a1, t.step_m, t.step_ka)),
        (P::DbB1, buffers(t.depth_b1, t.step_n, t.step_kb)),
        (P::L2M, t.l2_m_tile_cnt.into()),
        (P::L2N, t.l2_n_tile_cnt.into()),
    ];
    for (position, value) in fields {
        v[position as usize] = value;
    }
    v
}

/// The values of a record of this product: what is chosen as it is, 0 for what follows.
pub(super) fn values(t: &Tiling, bounds: &Bounds) -> Option<Values> {
    let mut wanted = wanted(t);
    wanted[P::KTasks as usize] = bounds.k.div_ceil(u64::from(t.single_core_k).max(1));
    let mut v = [0; NAMES.len()];
    for &position in super::POSITIONS {
        let at = position as usize;
        v[at] = match bounds.allowed(position, &v_with(&v, at, wanted[at])) {
            super::Allowed::Only(value) => value,
            super::Allowed::From(..) => wanted[at],
            super::Allowed::Nothing => return None,
        };
    }
    Some(v)
}

fn v_with(v: &Values, at: usize, value: u64) -> Values {
    let mut with = *v;
    with[at] = value;
    with
}
