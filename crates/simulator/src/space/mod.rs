//! Search spaces: the legal tilings of an operator, with the tiling that CANN would choose by default.

mod carry;
mod cube;
#[cfg(test)]
mod drawn;
mod policy;
mod product;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
mod vector;
#[cfg(test)]
mod versions;
mod volume;

pub use carry::carried_over;
pub use policy::{default_origin, default_policy};

use crate::soc::Soc;
use crate::workload::{MatMulKernel, Schedule, Workload, check};
use aoe_base::status::Result;
use aoe_search::Domain;
use cube::CubeSpace;
use product::{ProductSpace, is_matmul_v3};
use vector::{VectorSpace, Work};
use volume::VolumeSpace;

/// Versions of the spaces, for [`version`].
const PRODUCTS: u32 = 6;
const BATCHES: u32 = 4;
const CONVOLUTIONS: u32 = 6;
const VOLUMES: u32 = 5;
const VECTOR_KERNELS: u32 = 3;

/// Version of the space of a workload's operator family. It is raised when the space comes to hold other
/// tilings, so that a search of an older version is not taken for one of this space. What a schedule means is
/// not its business: that never changes without a new form of record.
pub fn version(workload: &Workload) -> u32 {
    match workload {
        Workload::MatMul(w) if w.batch > 1 && w.kernel == MatMulKernel::AscendC => BATCHES,
        Workload::MatMul(_) => PRODUCTS,
        Workload::Conv(w) if w.is_volume() => VOLUMES,
        Workload::Conv(_) => CONVOLUTIONS,
        Workload::Vector(_) | Workload::Reduce(_) | Workload::Move(_) | Workload::Collective(_) => VECTOR_KERNELS,
        // The cube piece decides, as it does in the space.
        Workload::Fused(parts) => parts.iter().find(|part| part.cube().is_some()).map_or(VECTOR_KERNELS, version),
    }
}

/// One thing that can be chosen about a tiling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// CANN's name of the tiling field (`baseM`, `stepKa`, ...). `fullLoad` is the tens digit of
    /// `tilingEnable` (1 A, 2 B), `tilingEnable` its ones digit, `dbA1` and `dbB1` are `depthA1` and
    /// `depthB1` over their steps, and `usedCoreNum` follows from the core tasks; of `MatMulV3`, `singleCoreM` and `singleCoreN` are blocks of a
    /// task, `singleCoreK` pieces of k, and 0 what follows from the rest or is not read; for vector kernels `tilingKey`, `blockDim`, `doubleBuffer`, `ubTileBytes`.
    pub name: &'static str,
    /// Its values, ascending; a configuration holds indices into this list.
    pub values: Vec<u64>,
}

/// All tilings of one workload on one `SoC`, as value indices.
///
/// Legal are the configurations that [`check`] accepts and that are in canonical form: nothing reaches
/// beyond the shape, no buffer is claimed that cannot matter, and what has two spellings has one here.
#[derive(Debug, Clone)]
pub struct OperatorSpace {
    workload: Workload,
    soc: Soc,
    tilings: Tilings,
    sizes: Vec<u32>,
    default: Schedule,
}

#[derive(Debug, Clone)]
enum Tilings {
    Product(ProductSpace),
    Volume(Box<VolumeSpace>),
    Cube(CubeSpace),
    Vector(VectorSpace),
}

impl OperatorSpace {
    /// The space of a workload; fails where [`default_policy`] does. The default lies in it but where a product's
    /// template is one that only CANN's own rules may choose ([`OperatorSpace::nearest`]).
    pub fn new(workload: &Workload, soc: &Soc) -> Result<OperatorSpace> {
        OperatorSpace::including(workload, soc, &[])
    }

    /// The space of a workload with the values of further schedules, such as those of a bank, so far as
    /// they have a canonical form.
    pub fn including(workload: &Workload, soc: &Soc, schedules: &[Schedule]) -> Result<OperatorSpace> {
        let default = default_policy(workload, soc)?;
        let all = || std::iter::once(&default).chain(schedules);
        let cube = || all().filter_map(|s| if let Schedule::Cube(s) = s { Some(s) } else { None });
        let tilings = if let Workload::MatMul(w) = workload
            && is_matmul_v3(w, soc)
        {
            Tilings::Product(ProductSpace::new(w, soc, cube()))
        } else if let Workload::Conv(w) = workload
            && let Some(problem) = volume::problem(w, soc)
        {
            Tilings::Volume(Box::new(VolumeSpace::new(w, problem, soc, cube())))
        } else if let Some(shape) = workload.cube() {
            let include = cube();
            Tilings::Cube(CubeSpace::new(workload, &shape, soc, include))
        } else {
            let work = Work::new(workload, soc).ok_or_else(|| aoe_base::status::Error::Workload {
                workload: workload.to_string(),
                reason: "it neither reads nor writes a tensor".into(),
            })?;
            let include = all().filter_map(|s| if let Schedule::Vector(s) = s { Some(s) } else { None });
            // An exchange between devices runs as the library has it.
            let only = matches!(workload, Workload::Collective(_));
            Tilings::Vector(VectorSpace::new(work, only, include))
        };
        let sizes = tilings.parameters().iter().map(|p| p.values.len() as u32).collect();
        Ok(OperatorSpace { workload: workload.clone(), soc: soc.clone(), tilings, sizes, default })
    }

    /// What can be chosen, in the order of a configuration's entries.
    pub fn parameters(&self) -> &[Parameter] {
        self.tilings.parameters()
    }

    /// The tiling that CANN would choose by itself.
    pub fn default_schedule(&self) -> &Schedule {
        &self.default
    }

    /// The schedule of a configuration; `None` when it is not legal.
    pub fn schedule(&self, configuration: &[u32]) -> Option<Schedule> {
        let in_range = configuration.len() == self.sizes.len()
            && configuration.iter().zip(&self.sizes).all(|(index, size)| index < size);
        if !in_range {
            return None;
        }
        let schedule = match &self.tilings {
            Tilings::Product(space) if space.is_canonical(configuration) => {
                space.schedule(configuration).map(Schedule::Cube)
            }
            Tilings::Product(_) => None,
            Tilings::Volume(space) if space.is_canonical(configuration) => {
                space.schedule(configuration).map(Schedule::Cube)
            }
            Tilings::Volume(_) => None,
            Tilings::Cube(space) => {
                space.is_canonical(configuration).then(|| Schedule::Cube(space.schedule(configuration)))
            }
            Tilings::Vector(space) => {
                space.is_canonical(configuration).then(|| Schedule::Vector(space.schedule(configuration)))
            }
        }?;
        check(&self.workload, &schedule, &self.soc).is_ok().then_some(schedule)
    }

    /// The configuration of a schedule, when the space contains it.
    pub fn configuration(&self, schedule: &Schedule) -> Option<Vec<u32>> {
        let configuration = match (&self.tilings, schedule) {
            (Tilings::Product(space), Schedule::Cube(s)) => space.configuration(s),
            (Tilings::Volume(space), Schedule::Cube(s)) => space.configuration(s),
            (Tilings::Cube(space), Schedule::Cube(s)) => space.configuration(s),
            (Tilings::Vector(space), Schedule::Vector(s)) => space.configuration(s),
            _ => None,
        }?;
        self.is_legal(&configuration).then_some(configuration)
    }

    /// The configuration of a schedule, or, where it is one that a record cannot say or that is another product's,
    /// the nearest one that the space contains.
    pub fn nearest(&self, schedule: &Schedule) -> Option<Vec<u32>> {
        self.configuration(schedule).or_else(|| match (&self.tilings, schedule) {
            (Tilings::Product(space), Schedule::Cube(s)) => space.nearest(s).filter(|found| self.is_legal(found)),
            (Tilings::Volume(space), Schedule::Cube(s)) => space.nearest(s).filter(|found| self.is_legal(found)),
            _ => None,
        })
    }
}

impl Tilings {
    fn parameters(&self) -> &[Parameter] {
        match self {
            Tilings::Product(space) => space.parameters(),
            Tilings::Volume(space) => space.parameters(),
            Tilings::Cube(space) => space.parameters(),
            Tilings::Vector(space) => space.parameters(),
        }
    }
}

impl Domain for OperatorSpace {
    fn sizes(&self) -> &[u32] {
        &self.sizes
    }

    fn is_legal(&self, configuration: &[u32]) -> bool {
        self.schedule(configuration).is_some()
    }

    fn may_extend(&self, prefix: &[u32]) -> bool {
        match &self.tilings {
            Tilings::Product(space) => space.extends(prefix),
            Tilings::Volume(space) => space.extends(prefix),
            Tilings::Cube(space) => space.extends(prefix),
            Tilings::Vector(space) => space.extends(prefix),
        }
    }

    fn sample_within(&self, rng: &mut fastrand::Rng, steps: &mut usize) -> Option<Vec<u32>> {
        match &self.tilings {
            Tilings::Product(space) => space.sample(rng, steps),
            _ => aoe_search::walk(self, rng, steps),
        }
    }

    fn enumerate(&self, limit: usize) -> Option<Vec<u32>> {
        match &self.tilings {
            // Trying would take longer than it is worth.
            Tilings::Product(space) if !space.is_small() => None,
            _ => aoe_search::enumerate(self, limit),
        }
    }

    /// Every rule of the space is decided by some prefix, and the rules include [`check`]'s.
    fn completes(&self, configuration: &[u32]) -> bool {
        // Where the tiles of a volume's weights end is for the whole configuration to tell.
        if matches!(self.tilings, Tilings::Volume(_)) {
            return self.is_legal(configuration);
        }
        debug_assert!(self.is_legal(configuration));
        true
    }
}

/// Indices of these values in the parameters' lists.
fn indices(parameters: &[Parameter], values: &[u64]) -> Option<Vec<u32>> {
    parameters
        .iter()
        .zip(values)
        .map(|(parameter, value)| parameter.values.binary_search(value).ok().map(|index| index as u32))
        .collect()
}
