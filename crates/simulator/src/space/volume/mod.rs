//! Tilings of `Conv3DV2` on 910B and `910_93`: what a record of the bank `Conv3D` can say that its kernel computes.
//!
//! The parameters are a record's fields. What follows from the rest (extents of a core, flags of a full load, buffers of
//! L0) is none, so every configuration is another record, and all of them run
//! ([`conv3d_v2::legality::check_written`]).

mod rules;
mod values;

#[cfg(test)]
mod tests;

use super::Parameter;
use crate::soc::{Arch, Soc};
use crate::tiling::Platform;
use crate::tiling::conv3d_v2::{self, Problem, Record};
use crate::workload::{Conv, CubeSchedule, L1Tile, LoopOrder};
use aoe_graph::DataType;

/// Positions of the parameters in a configuration, each known before those that depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum P {
    BatchDim,
    DoDim,
    MDim,
    NDim,
    ML0,
    NL0,
    DbL0C,
    KAl1,
    KBl1,
    KL0,
    /// L0 tiles in L1; 0 is all that a core has.
    MAl1,
    DbA1,
    /// The same of the weights.
    NBl1,
    DbB1,
    Order,
}

/// Each position with CANN's name.
const POSITIONS: [(P, &str); 15] = [
    (P::BatchDim, "batchDim"),
    (P::DoDim, "doDim"),
    (P::MDim, "mDim"),
    (P::NDim, "nDim"),
    (P::ML0, "mL0"),
    (P::NL0, "nL0"),
    (P::DbL0C, "dbL0C"),
    (P::KAl1, "kAL1"),
    (P::KBl1, "kBL1"),
    (P::KL0, "kL0"),
    (P::MAl1, "mAL1"),
    (P::DbA1, "dbA1"),
    (P::NBl1, "nBL1"),
    (P::DbB1, "dbB1"),
    (P::Order, "iterateMNOrder"),
];

/// One value for each parameter.
type Values = [u64; POSITIONS.len()];

/// All tilings of one convolution.
#[derive(Debug, Clone)]
pub(in crate::space) struct VolumeSpace {
    conv: Conv,
    problem: Problem,
    platform: Platform,
    parameters: Vec<Parameter>,
    /// The configurations of what the space has to contain, CANN's default among them: what only spares the search a
    /// second spelling does not bind them.
    included: Vec<Vec<u32>>,
}

/// The problem of a convolution that `Conv3DV2` runs and whose records can be written.
pub(in crate::space) fn problem(w: &Conv, soc: &Soc) -> Option<Problem> {
    let known = w.groups == 1 && matches!(w.dtype, DataType::Float16 | DataType::Bfloat16);
    Problem::of(w).filter(|_| known && soc.arch == Arch::C220)
}

impl VolumeSpace {
    /// The space of a convolution whose lists hold at least what these schedules need, so far as they are of this form.
    pub fn new<'a>(
        conv: &Conv,
        problem: Problem,
        soc: &Soc,
        include: impl Iterator<Item = &'a CubeSchedule>,
    ) -> VolumeSpace {
        let platform = Platform::of(soc);
        let mut space =
            VolumeSpace { conv: conv.clone(), problem, platform, parameters: Vec::new(), included: Vec::new() };
        let include: Vec<Values> = include.filter_map(|schedule| space.values_of(schedule)).collect();
        space.parameters = POSITIONS
            .iter()
            .map(|&(position, name)| {
                let mut values = values::list(position, &space.problem, &space.platform);
                values.extend(include.iter().map(|known| known[position as usize]));
                values.sort_unstable();
                values.dedup();
                Parameter { name, values }
            })
            .collect();
        space.included = include.iter().filter_map(|known| super::indices(&space.parameters, known)).collect();
        space
    }

    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The tiling that a full configuration describes; `None` where the kernel would not compute it.
    pub fn schedule(&self, configuration: &[u32]) -> Option<CubeSchedule> {
        let record = self.record(&self.values(configuration))?;
        conv3d_v2::legality::check_written(&record, &self.conv, &self.platform).ok()?;
        record.schedule(&self.conv).ok()
    }

    /// The configuration of a schedule, when the lists hold its values; it may break a rule.
    pub fn configuration(&self, schedule: &CubeSchedule) -> Option<Vec<u32>> {
        super::indices(&self.parameters, &self.values_of(schedule)?)
    }

    /// Whether all rules hold that these first parameters decide, given that they hold without the last.
    pub fn extends(&self, prefix: &[u32]) -> bool {
        let Some((position, _)) = prefix.len().checked_sub(1).and_then(|last| POSITIONS.get(last)) else { return true };
        let values = self.values(prefix);
        self.holds(&values, *position)
            && (self.spells(&values, *position) || self.included.iter().any(|known| known.starts_with(prefix)))
    }

    /// Whether a full configuration breaks none of the rules.
    pub fn is_canonical(&self, configuration: &[u32]) -> bool {
        (1..=configuration.len()).all(|length| self.extends(&configuration[..length]))
    }

    /// The configuration that is nearest to a schedule, which may be one of another convolution or break a rule: of
    /// each parameter the nearest open value.
    pub fn nearest(&self, schedule: &CubeSchedule) -> Option<Vec<u32>> {
        let mut configuration: Vec<u32> = Vec::with_capacity(POSITIONS.len());
        for (&(position, _), parameter) in POSITIONS.iter().zip(&self.parameters) {
            let want = Self::wanted(schedule, position, &self.values(&configuration)).max(1) as f64;
            let far = |index: u32| ((parameter.values[index as usize].max(1) as f64) / want).ln().abs();
            let mut order: Vec<u32> = (0..parameter.values.len() as u32).collect();
            order.sort_by(|&a, &b| far(a).total_cmp(&far(b)));
            let open = order.into_iter().find(|&index| {
                configuration.push(index);
                let open = self.extends(&configuration);
                configuration.pop();
                open
            })?;
            configuration.push(open);
        }
        Some(configuration)
    }

    /// What a parameter would be to be as in a schedule, given those before it.
    fn wanted(s: &CubeSchedule, position: P, known: &Values) -> u64 {
        let tasks = u64::from(s.cores.m);
        let dealt = |parts: &[P]| parts.iter().fold(1, |n, &p| n * known[p as usize].max(1));
        let panel =
            |tile: L1Tile| if let L1Tile::Panel(p) = tile { (p.k.into(), p.tiles.into()) } else { (u64::MAX, 0) };
        let ((k_a, m_tiles), (k_b, n_tiles)) = (panel(s.l1_a), panel(s.l1_b));
        match position {
            P::BatchDim => tasks,
            P::DoDim => tasks / dealt(&[P::BatchDim]),
            P::MDim => tasks / dealt(&[P::BatchDim, P::DoDim]),
            P::NDim => s.cores.n.into(),
            P::ML0 => s.l0.m.into(),
            P::NL0 => s.l0.n.into(),
            P::DbL0C => s.buffers.l0_c.into(),
            P::KAl1 => k_a,
            P::KBl1 => k_b,
            P::KL0 => s.l0.k_a.into(),
            P::MAl1 => m_tiles,
            P::DbA1 => s.buffers.l1_a.into(),
            P::NBl1 => n_tiles,
            P::DbB1 => s.buffers.l1_b.into(),
            P::Order => u64::from(s.order == LoopOrder::NFirst),
        }
    }

    /// The values of a configuration's first entries; 0 for the rest.
    fn values(&self, prefix: &[u32]) -> Values {
        let mut values = [0; POSITIONS.len()];
        for ((value, parameter), &index) in values.iter_mut().zip(&self.parameters).zip(prefix) {
            let last = parameter.values.len().saturating_sub(1);
            *value = parameter.values.get((index as usize).min(last)).copied().unwrap_or(0);
        }
        values
    }

    /// The values of a schedule of this convolution; `None` where no values give exactly it.
    fn values_of(&self, schedule: &CubeSchedule) -> Option<Values> {
        let record = Record::from_schedule(schedule, &self.conv).ok()?;
        let steps = |panel: u32, tile: u32, single: u32| {
            if panel >= single { 0 } else { u64::from(panel.checked_div(tile).unwrap_or(0)) }
        };
        let twice = |bit: u32| 1 + u64::from(record.p_buffer_flag >> bit & 1);
        let values = [
            record.batch_dim.into(),
            record.do_dim.into(),
            record.m_dim.into(),
            record.n_dim.into(),
            record.m_l0.into(),
            record.n_l0.into(),
            twice(2),
            record.k_al1.into(),
            record.k_bl1.into(),
            record.k_l0.into(),
            steps(record.m_al1, record.m_l0, record.single_core_m),
            twice(3),
            steps(record.n_bl1, record.n_l0, record.single_core_co),
            twice(4),
            record.iterate_mn_order.into(),
        ];
        (self.record(&values)? == record).then_some(values)
    }
}
