//! Tilings of vector kernels.

mod work;

pub(in crate::space) use work::{Axes, UB_BLOCK, Work};

use super::Parameter;
use crate::workload::{VectorSchedule, VectorTemplate};

/// Positions of the parameters in a configuration.
const TEMPLATE: usize = 0;
const CORES: usize = 1;
const DOUBLE: usize = 2;
const TILE: usize = 3;
const NAMES: [&str; 4] = ["tilingKey", "blockDim", "doubleBuffer", "ubTileBytes"];

/// Templates in the order of their values of `tilingKey`.
const TEMPLATES: [VectorTemplate; 4] =
    [VectorTemplate::Flat, VectorTemplate::FullLoad, VectorTemplate::Recompute, VectorTemplate::SplitAxis];

/// All tilings of one vector workload.
#[derive(Debug, Clone)]
pub(in crate::space) struct VectorSpace {
    work: Work,
    parameters: Vec<Parameter>,
    /// The configuration of CANN's default: its rules are other ones than those of this space.
    default: Vec<u32>,
}

impl VectorSpace {
    /// The space of a kernel whose lists hold at least what these schedules need; the first is CANN's default, which
    /// belongs to the space whatever rule it breaks. `only` offers nothing else.
    pub fn new<'a>(work: Work, only: bool, include: impl Iterator<Item = &'a VectorSchedule>) -> VectorSpace {
        let mut lists = if only { Default::default() } else { lists(&work) };
        let mut default = None;
        for schedule in include {
            default.get_or_insert(values_of(schedule));
            for (list, value) in lists.iter_mut().zip(values_of(schedule)) {
                list.push(value);
            }
        }
        let parameters: Vec<Parameter> = NAMES
            .into_iter()
            .zip(lists)
            .map(|(name, mut values)| {
                values.sort_unstable();
                values.dedup();
                Parameter { name, values }
            })
            .collect();
        let default = default.and_then(|values| super::indices(&parameters, &values)).unwrap_or_default();
        VectorSpace { work, parameters, default }
    }

    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The tiling that a full configuration describes, whether legal or not.
    pub fn schedule(&self, configuration: &[u32]) -> VectorSchedule {
        VectorSchedule {
            cores: self.value(configuration, CORES) as u32,
            ub_tile_bytes: self.value(configuration, TILE) as u32,
            double_buffer: self.value(configuration, DOUBLE) != 0,
            template: self.template(configuration),
        }
    }

    /// The configuration of a schedule, when the lists hold its values; it may break a rule.
    pub fn configuration(&self, schedule: &VectorSchedule) -> Option<Vec<u32>> {
        super::indices(&self.parameters, &values_of(schedule))
    }

    /// The tiling of this kernel that is most like another shape's; it may break a rule.
    pub fn carried_over(work: &Work, schedule: &VectorSchedule) -> VectorSchedule {
        let (template, double) = (schedule.template, schedule.double_buffer);
        let cores = work.even_cores(u64::from(schedule.cores).clamp(1, work.cores), template);
        let smallest = work.smallest_tile(template);
        let share = work.share(cores, template);
        // A tile that holds a core's whole share is not doubled; two buffers need two tiles.
        let double = double && smallest < share;
        let whole = share.div_ceil(smallest).saturating_mul(smallest);
        let most = if double { whole - smallest } else { whole }.min(work.largest_tile(double, template));
        let tile = u64::from(schedule.ub_tile_bytes).min(most) / smallest * smallest;
        let ub_tile_bytes = u32::try_from(tile.max(smallest)).unwrap_or(u32::MAX);
        VectorSchedule { cores: cores as u32, ub_tile_bytes, double_buffer: double, template }
    }

    /// Whether all rules hold that these first parameters decide.
    pub fn extends(&self, prefix: &[u32]) -> bool {
        self.default.starts_with(prefix) || (0..prefix.len()).all(|position| self.holds(prefix, position))
    }

    /// Whether a full configuration breaks none of the rules.
    pub fn is_canonical(&self, configuration: &[u32]) -> bool {
        self.extends(configuration)
    }

    fn value(&self, configuration: &[u32], position: usize) -> u64 {
        let values = &self.parameters[position].values;
        values[(configuration[position] as usize).min(values.len() - 1)]
    }

    fn template(&self, configuration: &[u32]) -> VectorTemplate {
        let key = self.value(configuration, TEMPLATE) as usize;
        TEMPLATES.get(key).copied().unwrap_or(VectorTemplate::Flat)
    }

    fn holds(&self, c: &[u32], position: usize) -> bool {
        let (work, template, now) = (&self.work, self.template(c), self.value(c, position));
        let smallest = work.smallest_tile(template);
        match position {
            TEMPLATE => work.templates().contains(&template) && smallest <= work.largest_tile(false, template),
            CORES => now <= work.cores && work.uses_all(now, template),
            // Two buffers need two tiles.
            DOUBLE if now != 0 => {
                smallest < work.share(self.value(c, CORES), template) && smallest <= work.largest_tile(true, template)
            }
            DOUBLE => true,
            _ => {
                let double = self.value(c, DOUBLE) != 0;
                let share = work.share(self.value(c, CORES), template);
                let whole = share.div_ceil(smallest).saturating_mul(smallest);
                now % smallest == 0
                    && now <= work.largest_tile(double, template)
                    && if double { now < share } else { now <= whole }
            }
        }
    }
}

fn values_of(schedule: &VectorSchedule) -> [u64; 4] {
    let key = TEMPLATES.iter().position(|&template| template == schedule.template).unwrap_or(0);
    [key as u64, schedule.cores.into(), schedule.double_buffer.into(), schedule.ub_tile_bytes.into()]
}

/// Value lists: every core count, tiles from a block to all of UB in steps of a quarter octave, whole
/// rows, even cuts of a core's share, and the largest that fit.
fn lists(work: &Work) -> [Vec<u64>; 4] {
    let keys = work.templates().iter().map(|template| {
        let key = TEMPLATES.iter().position(|t| t == template).unwrap_or(0);
        key as u64
    });
    let most = work.largest_tile(false, VectorTemplate::Flat);
    let mut tiles: Vec<u64> = (8..24).flat_map(|power| (4..8).map(move |quarter| quarter << power >> 2)).collect();
    tiles.push(UB_BLOCK);
    for &template in work.templates() {
        let unit = work.smallest_tile(template);
        let round = |bytes: u64| bytes.div_ceil(unit).saturating_mul(unit);
        for double in [false, true] {
            tiles.push(work.largest_tile(double, template) / unit * unit);
        }
        tiles.extend(
            (0..16).flat_map(|power| [unit << power, unit.saturating_mul(3) << power >> 1]).map(|t| t / unit * unit),
        );
        for cores in 1..=work.cores {
            let share = work.share(cores, template);
            tiles.extend((1..=3).map(|cuts| round(share.div_ceil(cuts))));
        }
    }
    tiles.retain(|&tile| tile >= UB_BLOCK && tile % UB_BLOCK == 0 && tile <= most);
    [keys.collect(), (1..=work.cores).collect(), vec![0, 1], tiles]
}
