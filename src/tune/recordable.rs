//! The tilings of an operator that the bank can keep.

use crate::bank::Writable;
use crate::search::{Domain, Scale};
use crate::soc::Soc;
use crate::space::OperatorSpace;
use crate::status::Result;
use crate::workload::{Schedule, Workload};

/// An operator's space without the tilings that its bank record cannot say: CANN would not run those, so
/// there is nothing in finding them.
pub(super) struct Recordable<'a> {
    space: OperatorSpace,
    writable: Writable<'a>,
}

impl<'a> Recordable<'a> {
    /// The tilings of a workload, with the values of further schedules. Fails where the space does.
    pub fn new(workload: &'a Workload, soc: &'a Soc, schedules: &[Schedule]) -> Result<Recordable<'a>> {
        let space = OperatorSpace::including(workload, soc, schedules)?;
        Ok(Recordable { space, writable: Writable::of(workload, soc) })
    }

    /// The schedule of a configuration; `None` when it is not legal or cannot be recorded.
    pub fn schedule(&self, configuration: &[u32]) -> Option<Schedule> {
        self.space.schedule(configuration).filter(|schedule| self.says(schedule))
    }

    /// The configuration of a schedule, when it is one of these.
    pub fn configuration(&self, schedule: &Schedule) -> Option<Vec<u32>> {
        self.space.configuration(schedule).filter(|configuration| self.is_legal(configuration))
    }

    /// The configuration of a schedule or, where it is none of these, of the nearest that is.
    pub fn nearest(&self, schedule: &Schedule) -> Option<Vec<u32>> {
        self.space.nearest(schedule).filter(|configuration| self.is_legal(configuration))
    }

    fn says(&self, schedule: &Schedule) -> bool {
        self.writable.is_everything() || self.writable.check(schedule).is_ok()
    }
}

impl Domain for Recordable<'_> {
    fn sizes(&self) -> &[u32] {
        self.space.sizes()
    }

    fn scale(&self, parameter: usize) -> Scale<'_> {
        self.space.scale(parameter)
    }

    fn is_legal(&self, configuration: &[u32]) -> bool {
        self.schedule(configuration).is_some()
    }

    fn may_extend(&self, prefix: &[u32]) -> bool {
        self.space.may_extend(prefix)
    }

    fn sample_within(&self, rng: &mut fastrand::Rng, steps: &mut usize) -> Option<Vec<u32>> {
        self.space.sample_within(rng, steps).filter(|configuration| self.completes(configuration))
    }

    fn enumerate(&self, limit: usize) -> Option<Vec<u32>> {
        if self.writable.is_everything() { self.space.enumerate(limit) } else { crate::search::enumerate(self, limit) }
    }

    fn completes(&self, configuration: &[u32]) -> bool {
        if self.writable.is_everything() { self.space.completes(configuration) } else { self.is_legal(configuration) }
    }
}
