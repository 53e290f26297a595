//! From a case to what is priced: its work, and its tiling or CANN's default.

use super::{Job, deal, tiling};
use crate::cases::{Case, Location, check_types, largest_bytes, wrong};
use crate::sim::{Cache, Places};
use crate::soc::Soc;
use crate::space::default_policy;
use crate::status::Result;
use crate::workload::{ConvRecord, MatMulKernel, Schedule, VectorSchedule, Workload};

impl Job {
    /// A convolution with its tiling from a repository: the kernel that took it says what it holds.
    fn of_record(id: serde_json::Value, record: ConvRecord, soc: &Soc) -> Job {
        let schedule = Schedule::Cube(record.tiling.schedule(&record.conv, soc.ai_core_cnt));
        let workload = Workload::Conv(record.conv.clone());
        Job {
            id,
            workload,
            schedule,
            missed: None,
            cache: None,
            apart: None,
            places: None,
            unit: 1.0,
            plain: false,
            record: Some(record),
        }
    }

    pub(super) fn of(case: Case, soc: &Soc) -> Result<Job> {
        if let Some(record) = case.conv_record()? {
            return Ok(Job::of_record(case.id, record, soc));
        }
        let workload = case.workload(soc)?;
        check_types(&workload, soc)?;
        let schedule = schedule(&case, &workload, soc)?;
        crate::workload::check(&workload, &schedule, soc)?;
        let (cache, apart) = match case.cache()? {
            Some(Location::All(cache)) => (Some(cache), None),
            Some(Location::Missed(bytes)) => (None, Some(bytes)),
            None => (None, None),
        };
        let missed = case.missed_bytes;
        if missed.is_some_and(|bytes| !bytes.is_finite() || bytes < 0.0) {
            return Err(wrong("`missed_bytes`: it is no number of bytes"));
        }
        let is_open = cache.is_none() && apart.is_none() && missed.is_none();
        let places = case.places()?.or_else(|| (is_open && !case.is_exact()).then(|| constants(&workload)).flatten());
        let unit = if case.is_repository_row() { crate::sim::record::unit(soc) } else { 1.0 };
        let plain = case.has_plain_operands();
        Ok(Job { id: case.id, workload, schedule, missed, cache, apart, places, unit, plain, record: None })
    }

    /// Cuts its work as CANN would into so many blocks.
    pub(super) fn put_on(&mut self, blocks: u64, soc: &Soc) -> Result<()> {
        let schedule = in_blocks(&self.workload, blocks, soc)?;
        crate::workload::check(&self.workload, &schedule, soc)?;
        self.schedule = schedule;
        Ok(())
    }
}

/// Where the operands of a kernel lie that tells by itself which of them is a constant: the weight of a quantised product,
/// which is brought from device memory once a step.
fn constants(workload: &Workload) -> Option<Places> {
    let Workload::MatMul(w) = workload else { return None };
    let is_weight = w.kernel != MatMulKernel::Tbe && w.is_quantised();
    is_weight.then(|| Places::new(vec![Cache::Warm, Cache::Cold]))
}

fn schedule(case: &Case, workload: &Workload, soc: &Soc) -> Result<Schedule> {
    if let Some(block_dim) = case.block_dim
        && (block_dim == 0 || block_dim > 1 << 20)
    {
        return Err(wrong(format!("`block_dim`: {block_dim} is not a number of cores")));
    }
    match (&case.schedule, case.block_dim) {
        (Some(written), _) => tiling::read(written, workload, soc).map_err(wrong),
        (None, Some(blocks)) => in_blocks(workload, blocks, soc),
        (None, None) => default_policy(workload, soc),
    }
}

/// How CANN would cut the work into so many blocks.
fn in_blocks(workload: &Workload, blocks: u64, soc: &Soc) -> Result<Schedule> {
    if workload.is_cube() {
        return deal::schedule(workload, blocks, soc);
    }
    Ok(match default_policy(workload, soc)? {
        Schedule::Vector(s) => Schedule::Vector(on_blocks(s, workload, blocks, soc)),
        cube @ Schedule::Cube(_) => cube,
    })
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
