//! From a case to what is priced: its work, and its tiling or CANN's default.

use super::{Job, deal, tiling};
use crate::cases::{Case, Lies, check_types, largest_bytes, wrong};
use crate::soc::Soc;
use crate::space::default_policy;
use crate::status::Result;
use crate::workload::{Schedule, VectorSchedule, Workload};

impl Job {
    pub(super) fn of(case: Case, soc: &Soc) -> Result<Job> {
        let workload = case.workload(soc)?;
        check_types(&workload, soc)?;
        let schedule = schedule(&case, &workload, soc)?;
        crate::workload::check(&workload, &schedule, soc)?;
        let (cache, lying) = match case.cache()? {
            Some(Lies::All(cache)) => (Some(cache), None),
            Some(Lies::Missed(bytes)) => (None, Some(bytes)),
            None => (None, None),
        };
        let missed = case.missed_bytes.or(lying);
        if missed.is_some_and(|bytes| !bytes.is_finite() || bytes < 0.0) {
            return Err(wrong("`missed_bytes`: it is no number of bytes"));
        }
        let places = case.places()?;
        Ok(Job { id: case.id, workload, schedule, missed, cache, places })
    }
}

fn schedule(case: &Case, workload: &Workload, soc: &Soc) -> Result<Schedule> {
    if let Some(block_dim) = case.block_dim
        && (block_dim == 0 || block_dim > 1 << 20)
    {
        return Err(wrong(format!("`block_dim`: {block_dim} is not a number of cores")));
    }
    match (&case.schedule, case.block_dim) {
        (Some(written), _) => tiling::read(written, workload, soc).map_err(wrong),
        (None, Some(blocks)) if workload.is_cube() => deal::schedule(workload, blocks, soc),
        (None, Some(blocks)) => match default_policy(workload, soc)? {
            Schedule::Vector(s) => Ok(Schedule::Vector(on_blocks(s, workload, blocks, soc))),
            cube @ Schedule::Cube(_) => Ok(cube),
        },
        (None, None) => default_policy(workload, soc),
    }
}

/// The default vector schedule on another number of cores: tiles are cut anew from the larger or smaller
/// share of each.
fn on_blocks(s: VectorSchedule, workload: &Workload, blocks: u64, soc: &Soc) -> VectorSchedule {
    let most = u64::from(soc.vector_core_cnt.max(soc.ai_core_cnt));
    let cores = blocks.min(most).max(1);
    let share = largest_bytes(workload).div_ceil(cores).div_ceil(32).saturating_mul(32).max(32);
    // Room for two buffers of two operands.
    let tile = share.min(soc.ub_size / 4 / 32 * 32);
    let (cores, ub_tile_bytes) = (cores as u32, tile as u32);
    VectorSchedule { cores, ub_tile_bytes, double_buffer: share > tile, ..s }
}
