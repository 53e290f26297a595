//! Which values each template leaves open.

use super::template::Template;
use super::{Bounds, P, Values};
use crate::rounding::round_up;
use crate::space::cube::F;

/// What a parameter may be, given those before it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Allowed {
    /// Just this.
    Only(u64),
    /// From the first to the second.
    From(u64, u64),
    /// Nothing: the template has no tiling with what was chosen before.
    Nothing,
}

impl Allowed {
    /// From the first to the second, if that is anything.
    fn between(least: u64, most: u64) -> Allowed {
        if least <= most { Allowed::From(least, most) } else { Allowed::Nothing }
    }

    /// The least of it.
    pub fn least(self) -> Option<u64> {
        match self {
            Allowed::Only(value) | Allowed::From(value, _) => Some(value),
            Allowed::Nothing => None,
        }
    }

    pub fn contains(self, value: u64) -> bool {
        match self {
            Allowed::Only(only) => only == value,
            Allowed::From(least, most) => (least..=most).contains(&value),
            Allowed::Nothing => false,
        }
    }
}

/// Longest side of a block.
pub(super) const LONGEST: u64 = 512;

/// Not chosen: it follows from the rest, or the kernel does not read it.
const FOLLOWS: Allowed = Allowed::Only(0);

impl Bounds {
    /// What parameter `p` may be. Entries of `v` before it are known.
    pub fn allowed(&self, p: P, v: &Values) -> Allowed {
        let value = |q: P| v[q as usize];
        let Some(template) = Template::numbered(value(P::Template)) else { return Allowed::Nothing };
        match p {
            P::Template => Allowed::Only(template as u64),
            P::BaseK | P::BaseM | P::BaseN => self.base(p, template),
            P::DbL0C => match template {
                Template::Base | Template::FullA | Template::FullB => Allowed::From(1, 2),
                _ => FOLLOWS,
            },
            P::SingleM | P::SingleN | P::KTasks => self.single(p, template, v),
            P::StepM => match template {
                Template::SingleCore => Allowed::between(1, self.m.div_ceil(self.base_m(v)).min(3)),
                // Three blocks of n where CANN's own tiling has them, or three of m.
                Template::Deterministic if self.keeps_columns => Allowed::From(1, 2),
                Template::Deterministic => Allowed::Only(2),
                _ => FOLLOWS,
            },
            P::StepN => {
                let blocks = self.n.div_ceil(self.base_n(v));
                match template {
                    Template::SingleCore => Allowed::between(1, blocks.min(2)),
                    Template::SingleCoreWithA => Allowed::between(1, blocks.min(4)),
                    _ => FOLLOWS,
                }
            }
            P::StepKa | P::StepKb => self.steps(p, template, v),
            P::DbA1 | P::DbB1 => match (template, p) {
                (Template::Base, _) | (Template::FullA, P::DbB1) | (Template::SingleCore, P::DbA1) => {
                    Allowed::From(1, 2)
                }
                _ => FOLLOWS,
            },
            P::L2M => self.l2(template, self.m_tasks(v)),
            P::L2N => self.l2(template, self.n_tasks(v)),
        }
    }

    fn base(&self, p: P, template: Template) -> Allowed {
        let covered = |extent: u64| Allowed::between(F, round_up(extent, F).min(LONGEST));
        let one_block = if self.m <= 256 { FOLLOWS } else { Allowed::Nothing };
        match (template, p) {
            (Template::Deterministic, _) => FOLLOWS,
            (Template::SingleCoreWithA, P::BaseK) => Allowed::From(32, 256),
            (Template::SingleCoreWithA, P::BaseN) => Allowed::between(128, LONGEST.min(self.n)),
            (_, P::BaseK) => Allowed::From(F, round_up(self.k, F)),
            (Template::FullA | Template::SingleCoreWithA, P::BaseM) => one_block,
            (Template::FullBAligned | Template::FullBNz, P::BaseN) => FOLLOWS,
            (Template::FullBAligned | Template::FullBNz, P::BaseM) => {
                Allowed::between(F, round_up(self.m, F).min(LONGEST).min(self.compacted_m))
            }
            (_, P::BaseM) => covered(self.m),
            _ => covered(self.n),
        }
    }

    /// Blocks of a task along m and n, pieces of k.
    fn single(&self, p: P, template: Template, v: &Values) -> Allowed {
        // At least a step's, and so many that there are no more tasks.
        let blocks = |extent: u64, base: u64, step: P, tasks: u64| {
            let all = extent.div_ceil(base.max(1));
            Allowed::between(v[step as usize].max(1).max(all.div_ceil(tasks.max(1))), all)
        };
        match (template, p) {
            (Template::SingleCore, P::SingleM) => blocks(self.m, self.base_m(v), P::StepM, self.cores),
            (Template::FullB, P::SingleM) => blocks(self.m, self.base_m(v), P::StepM, u64::MAX),
            (Template::SingleCore | Template::SingleCoreWithA, P::SingleN) => {
                blocks(self.n, self.base_n(v), P::StepN, self.cores / self.m_tasks(v).max(1))
            }
            (Template::Deterministic, P::SingleN) => Allowed::between(1, self.long_axis_blocks(v)),
            (Template::MultiCore, P::KTasks) => Allowed::From(2, self.cores),
            _ => FOLLOWS,
        }
    }

    fn steps(&self, p: P, template: Template, v: &Values) -> Allowed {
        let value = |q: P| v[q as usize];
        let k_tiles = self.k_tiles(template, v);
        match (template, p) {
            (Template::FullA, P::StepKa) => FOLLOWS,
            (Template::Base | Template::MultiCore | Template::SingleCoreWithA, _)
            | (Template::FullA, P::StepKb)
            | (_, P::StepKa) => {
                let most = match template {
                    // K has more than one piece.
                    Template::SingleCore | Template::Deterministic => k_tiles.saturating_sub(1),
                    _ => k_tiles,
                };
                let most = if template == Template::Deterministic { most.min(4) } else { most };
                if p == P::StepKb && template == Template::SingleCoreWithA {
                    return Allowed::From(1, value(P::StepKa));
                }
                Allowed::between(1, most)
            }
            _ => FOLLOWS,
        }
    }

    #[expect(clippy::unused_self, reason = "called like the fields that do ask the product")]
    fn l2(&self, template: Template, tasks: u64) -> Allowed {
        if template == Template::Base { Allowed::From(1, tasks) } else { FOLLOWS }
    }

    /// Rounds of baseK in all that a task has of k.
    fn k_tiles(&self, template: Template, v: &Values) -> u64 {
        // Where the piece of k is one round of steps, it is the steps that are to be chosen.
        let pieces_follow = matches!(template, Template::SingleCore | Template::Deterministic);
        let k = if pieces_follow { self.k } else { self.single_k(v) };
        k.div_ceil(self.base_k(v).max(1))
    }

    /// Whether a tiling of these values obeys what is not a range of one field, and fits the buffers. Values that
    /// are not `known` yet are the least that they can be.
    pub fn fits(&self, v: &Values, known: usize) -> bool {
        let value = |q: P| v[q as usize];
        let Some(template) = Template::numbered(value(P::Template)) else { return false };
        let [m, n, k] = [self.base_m(v), self.base_n(v), self.base_k(v)];
        let l0_c = m * n * 4 * self.db_l0_c(v);
        if m * k * self.es > self.l0_a || n * k * self.es > self.l0_b || l0_c > self.l0_c || n > self.bias_n {
            return false;
        }
        let [depth_a, depth_b] = self.depths(v);
        let panel = |base: u64, depth: u64| depth.saturating_mul(base * k * self.es);
        if panel(m, depth_a).saturating_add(panel(n, depth_b)) > self.l1 {
            return false;
        }
        let (a, b) = (self.step_ka(v), self.step_kb(v));
        if a.max(b) % a.min(b).max(1) != 0 {
            return false;
        }
        let even = |tasks: u64, tiles: u64| tiles <= 1 || tasks.div_ceil(tasks.div_ceil(tiles)) == tiles;
        match template {
            Template::Base => even(self.m_tasks(v), value(P::L2M)) && even(self.n_tasks(v), value(P::L2N)),
            Template::MultiCore => {
                let pieces = value(P::KTasks);
                // Blocks that are not chosen yet may become the largest.
                let base = |p: P, base: u64| if known > p as usize { base } else { LONGEST };
                let tasks = self.m.div_ceil(base(P::BaseM, m)).saturating_mul(self.n.div_ceil(base(P::BaseN, n)));
                self.k.div_ceil(self.single_k(v)) == pieces && tasks.saturating_mul(pieces) <= self.cores
            }
            // B streams past a piece of A in whole rounds, and in whole tiles of n.
            Template::SingleCoreWithA => n % 128 == 0 && k % 32 == 0 && k <= self.k,
            Template::Deterministic => self.k.div_ceil(self.single_k(v)) > 1,
            _ => true,
        }
    }
}
