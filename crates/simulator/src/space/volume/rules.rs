//! What the values of the parameters say together, and which of them go together.

use super::{P, Values, VolumeSpace};
use crate::tiling::conv3d_v2::Record;

/// Rows or columns of a fractal.
const F: u64 = 16;

/// What follows from the values.
#[derive(Debug, Clone, Copy)]
struct Derived {
    /// Elements of a core along depth, m and n.
    single: [u64; 3],
    /// All of K, channels in whole blocks.
    all_k: u64,
    /// Pixels and channels in L1.
    m_al1: u64,
    n_bl1: u64,
    /// L0A and L0B have two buffers.
    two_l0: [bool; 2],
}

impl VolumeSpace {
    fn derived(&self, v: &Values) -> Derived {
        let value = |p: P| v[p as usize].max(1);
        let w = &self.problem;
        let single_m = w.pixels().div_ceil(F).div_ceil(value(P::MDim)).saturating_mul(F);
        let single_n = w.co16().div_ceil(value(P::NDim)).saturating_mul(F);
        let all_k = w.k_units().saturating_mul(w.k_unit());
        let panel = |steps: u64, tile: u64, single: u64| {
            if steps == 0 { single } else { steps.saturating_mul(tile).min(single) }
        };
        let (m, n, whole_k) = (value(P::ML0), value(P::NL0), value(P::KL0) == all_k);
        Derived {
            single: [w.output[0].div_ceil(value(P::DoDim)), single_m, single_n],
            all_k,
            m_al1: panel(v[P::MAl1 as usize], m, single_m),
            n_bl1: panel(v[P::NBl1 as usize], n, single_n),
            // One buffer where all there is lies in it, as CANN's host tiling has it.
            two_l0: [!(whole_k && m >= single_m), !(whole_k && n >= single_n)],
        }
    }

    /// The record of full values; `None` where a field would overflow.
    pub(super) fn record(&self, v: &Values) -> Option<Record> {
        let number = |n: u64| u32::try_from(n).ok();
        let value = |p: P| number(v[p as usize]);
        let d = self.derived(v);
        let [depth, m, n] = d.single;
        let two = |p: P| v[p as usize] == 2;
        let bits = [d.two_l0[0], d.two_l0[1], two(P::DbL0C), two(P::DbA1), two(P::DbB1)];
        let stays =
            |k: P, panel: u64, single: u64, db: P| u32::from(v[k as usize] == d.all_k && panel >= single && !two(db));
        Some(Record {
            batch_dim: value(P::BatchDim)?,
            do_dim: value(P::DoDim)?,
            m_dim: value(P::MDim)?,
            n_dim: value(P::NDim)?,
            group_dim: 1,
            single_core_do: number(depth)?,
            single_core_m: number(m)?,
            single_core_co: number(n)?,
            m_l0: value(P::ML0)?,
            n_l0: value(P::NL0)?,
            k_l0: value(P::KL0)?,
            k_al1: value(P::KAl1)?,
            k_bl1: value(P::KBl1)?,
            m_al1: number(d.m_al1)?,
            n_bl1: number(d.n_bl1)?,
            p_buffer_flag: (0..).zip(bits).map(|(bit, on)| u32::from(on) << bit).sum(),
            al1_full_load: stays(P::KAl1, d.m_al1, m, P::DbA1),
            bl1_full_load: stays(P::KBl1, d.n_bl1, n, P::DbB1),
            bl1_bypass_flag: u32::from(v[P::KBl1 as usize] == v[P::KL0 as usize] && d.n_bl1 == v[P::NL0 as usize]),
            iterate_mn_order: value(P::Order)?,
            ..Record::own(&self.conv).ok()?
        })
    }

    /// Whether the rules hold that are decided once a parameter is known, given those before it; later ones are taken
    /// for the least that they can be.
    pub(super) fn holds(&self, v: &Values, p: P) -> bool {
        let value = |p: P| v[p as usize];
        let (w, part) = (&self.problem, &self.platform);
        let d = self.derived(v);
        let [_, single_m, single_n] = d.single;
        let tasks = |last: P| {
            [P::BatchDim, P::DoDim, P::MDim, P::NDim]
                .iter()
                .filter(|&&q| q as usize <= last as usize)
                .fold(1u64, |n, &q| n.saturating_mul(value(q)))
        };
        // A panel with a rest is known to be cut right where all of it stays in L1.
        let known_cut = |panel: u64, tile: P, k: P| panel.is_multiple_of(value(tile).max(1)) || value(k) == d.all_k;
        let l0_c = |buffers: u64| value(P::ML0).saturating_mul(value(P::NL0)).saturating_mul(4 * buffers) <= part.l0_c;
        match p {
            P::BatchDim | P::DoDim | P::MDim | P::NDim => tasks(p) <= part.cores,
            P::ML0 => value(p) <= single_m && value(p) * F * w.es * 2 <= part.l0_a && value(p) * F * 4 <= part.l0_c,
            P::NL0 => {
                let table = !w.bias || part.bt == 0 || value(p) * 4 <= part.bt;
                value(p) <= single_n && value(p) * F * w.es * 2 <= part.l0_b && l0_c(1) && table && self.l1(v, p)
            }
            P::DbL0C => l0_c(value(p)),
            P::MAl1 => known_cut(d.m_al1, P::ML0, P::KAl1) && self.l1(v, p),
            P::NBl1 => known_cut(d.n_bl1, P::NL0, P::KBl1) && self.l1(v, p),
            P::KAl1 | P::DbA1 | P::DbB1 => self.l1(v, p),
            P::KBl1 => {
                let (a, b) = (value(P::KAl1), value(p));
                a.max(b).is_multiple_of(a.min(b).max(1)) && self.l1(v, p)
            }
            P::KL0 => {
                let [a, b] = d.two_l0.map(|two| 1 + u64::from(two));
                let divides = value(P::KAl1).is_multiple_of(value(p)) && value(P::KBl1).is_multiple_of(value(p));
                divides
                    && value(P::ML0) * value(p) * w.es * a <= part.l0_a
                    && value(P::NL0) * value(p) * w.es * b <= part.l0_b
            }
            P::Order => true,
        }
    }

    /// Whether L1 holds what the parameters up to `p` ask for at least.
    fn l1(&self, v: &Values, p: P) -> bool {
        let known = |q: P, least: u64| if q as usize <= p as usize { v[q as usize] } else { least };
        let (w, unit, d) = (&self.problem, self.problem.k_unit(), self.derived(v));
        let panel = |at: P, whole: u64, tile: P| if at as usize <= p as usize { whole } else { v[tile as usize] };
        let image = w.image_bytes(panel(P::MAl1, d.m_al1, P::ML0), known(P::KAl1, unit) / unit);
        let weights = w.weight_bytes(panel(P::NBl1, d.n_bl1, P::NL0), known(P::KBl1, unit) / unit);
        let bias = if w.bias { (d.single[2] * 4).max(LEAST_BIAS) } else { 0 };
        let bytes = image.saturating_mul(known(P::DbA1, 1)).saturating_add(weights.saturating_mul(known(P::DbB1, 1)));
        bytes.saturating_add(bias) <= self.platform.l1
    }

    /// Whether a value says something that no other says as well.
    pub(super) fn spells(&self, v: &Values, p: P) -> bool {
        let d = self.derived(v);
        let [_, single_m, single_n] = d.single;
        let steps = |tile: P, single: u64| v[p as usize] < single.div_ceil(v[tile as usize].max(1));
        let all = |k: P, panel: u64, single: u64| v[k as usize] == d.all_k && panel >= single;
        match p {
            P::MAl1 => steps(P::ML0, single_m),
            P::NBl1 => steps(P::NL0, single_n),
            // What lies there whole needs no second buffer.
            P::DbA1 => v[p as usize] == 1 || !all(P::KAl1, d.m_al1, single_m),
            P::DbB1 => v[p as usize] == 1 || !all(P::KBl1, d.n_bl1, single_n),
            P::Order => v[p as usize] == 0 || (single_m > v[P::ML0 as usize] && single_n > v[P::NL0 as usize]),
            _ => true,
        }
    }
}

/// Bytes that the rule book of all products keeps for a bias.
const LEAST_BIAS: u64 = 1024;
