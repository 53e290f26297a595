//! What a tuning knows of its operators, copied into a bank that goes with its results.

use super::cases::distinct;
use super::operators::OpatJob;
use crate::bank::OperatorBank;
use crate::status::Result;

/// Copies into another bank what a tuning's bank has for its operators: the records that were measured, and the trials
/// by which they were found, so that a later tuning can start from the copy wherever it is taken.
///
/// Fails as the banks do, where one cannot be read or the other not be written.
pub fn copy(job: &OpatJob<'_>, into: &mut OperatorBank) -> Result<()> {
    let (trials, copied) = (job.bank.trials(), into.trials());
    for case in distinct(job.variants, &job.settings.filter) {
        let backend = case.measured_by(job.backend);
        if let Some(known) = trials.read(&case.workload, &backend) {
            copied.write(&case.workload, &backend, &known)?;
        }
        // What nobody measured here is not ours to vouch for.
        let Some(entry) = job.bank.lookup(&case.workload)? else { continue };
        if let Some(measured) = entry.measured {
            into.record(&case.workload, &entry.schedule, &measured)?;
        }
    }
    into.save()?;
    Ok(())
}
