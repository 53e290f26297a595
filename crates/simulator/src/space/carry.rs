//! From the tiling of one shape to the most similar one of another.

use super::OperatorSpace;
use super::cube::{Batched, F, Tiling};
use super::policy::settle;
use super::product::is_matmul_v3;
use super::vector::{VectorSpace, Work};
use super::volume;
use crate::rounding::round_up;
use crate::soc::Soc;
use crate::workload::{CubeSchedule, CubeShape, Extents, OutputPath, Schedule, Workload};

/// Elements of a panel that no buffer of any part could hold.
const LARGEST: u64 = 1 << 24;

/// The legal tiling of a workload that is most like one of a workload of the same kind and other extents, such
/// as a bank's neighbour: the same blocks and as many core tasks, so far as this shape and the buffers have
/// room. `None` where none is near, as for a tiling of another kind of kernel.
pub fn carried_over(schedule: &Schedule, workload: &Workload, soc: &Soc) -> Option<Schedule> {
    let in_record_terms = match workload {
        Workload::MatMul(w) => is_matmul_v3(w, soc),
        Workload::Conv(w) => volume::problem(w, soc).is_some(),
        _ => false,
    };
    if in_record_terms {
        let (Schedule::Cube(other), Some(shape)) = (schedule, workload.cube()) else { return None };
        // What no buffer holds is near nothing.
        cube(other, &shape)?;
        let space = OperatorSpace::including(workload, soc, std::slice::from_ref(schedule)).ok()?;
        return space.schedule(&space.nearest(schedule)?);
    }
    let carried = match (schedule, workload.cube()) {
        (Schedule::Cube(other), Some(shape)) => {
            let mut tiling = settle(cube(other, &shape)?, workload, &shape, soc);
            if let Workload::MatMul(w) = workload
                && let Some(batched) = Batched::of(w, soc)
            {
                // Its tasks follow from the blocks.
                batched.conform(&mut tiling);
                tiling = settle(tiling, workload, &shape, soc);
            }
            Schedule::Cube(tiling.schedule(&shape))
        }
        (Schedule::Vector(other), None) => {
            Schedule::Vector(VectorSpace::carried_over(&Work::new(workload, soc)?, other))
        }
        _ => return None,
    };
    let space = OperatorSpace::including(workload, soc, std::slice::from_ref(&carried)).ok()?;
    space.configuration(&carried).is_some().then_some(carried)
}

/// The tiling for this shape that is most like another shape's schedule, not yet canonical nor within the
/// buffers: the same blocks, and as many core tasks along each axis; where the tasks were single blocks, as
/// many as there are blocks. `None` for blocks and panels that are empty or beyond any buffer.
fn cube(schedule: &CubeSchedule, shape: &CubeShape) -> Option<Tiling> {
    let tiling = Tiling::fields(schedule)?;
    let (cores, single) = (schedule.cores, schedule.single);
    let [base_m, base_n, base_k] = [tiling.base_m, tiling.base_n, tiling.base_k].map(u64::from);
    let panel = |sizes: [u32; 4]| sizes.iter().fold(1u64, |n, &size| n.saturating_mul(size.into()));
    let panels = [
        panel([tiling.base_m, tiling.base_k, tiling.step_m, tiling.step_ka]),
        panel([tiling.base_n, tiling.base_k, tiling.step_n, tiling.step_kb]),
    ];
    let buffers = [tiling.db_l1_a, tiling.db_l1_b, tiling.db_l0_c];
    if buffers.contains(&0) || panels.iter().any(|elements| !(1..=LARGEST).contains(elements)) {
        return None;
    }
    let even = |whole: u64, tasks: u32, unit: u64| round_up(whole.div_ceil(u64::from(tasks.max(1))), unit).min(whole);
    let blocks = |whole: u64, tasks: u32, single: u64, base: u64| {
        if tasks > 1 && single <= base { base.min(whole) } else { even(whole, tasks, F) }
    };
    let single = Extents {
        batch: even(shape.batch, cores.batch, 1),
        m: blocks(shape.m, cores.m, single.m, base_m),
        n: blocks(shape.n, cores.n, single.n, base_n),
        k: even(shape.k, cores.k, base_k),
    };
    Some(Tiling { single, output: OutputPath::Direct, ..tiling })
}
