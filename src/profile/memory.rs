//! `fusion_op`: what fused kernels are made of and hold in memory. `l2_cache`: what L2 serves of each task's data.

use super::run::{Run, Tensor};
use super::table::{DEVICE, HOST, Table, UNKNOWN, known, us};

/// `fusion_op`; `None` where nothing is fused.
pub fn fusion_op(run: &Run) -> Option<Table> {
    let mut table = Table::new([
        "Device_id",
        "Model Name",
        "Model ID",
        "Fusion Op",
        "Original Ops",
        "Memory Input(KB)",
        "Memory Output(KB)",
        "Memory Weight(KB)",
        "Memory Workspace(KB)",
        "Memory Total(KB)",
    ]);
    let mut is_empty = true;
    for kernel in run.kernels.iter().filter(|kernel| !kernel.fused.is_empty()) {
        let model = &run.models[kernel.model];
        let read = |weights: bool| kernel.inputs.iter().filter(move |tensor| tensor.is_weight == weights);
        is_empty = false;
        table.push(vec![
            HOST.to_owned(),
            model.name.clone(),
            model.id.to_string(),
            kernel.name.clone(),
            kernel.nodes().collect::<Vec<_>>().join(";"),
            kilobytes(read(false)),
            kilobytes(kernel.outputs.iter()),
            kilobytes(read(true)),
            // What the compiled kernel takes besides, only its compiler knows; so the sum is not known either.
            UNKNOWN.to_owned(),
            UNKNOWN.to_owned(),
        ]);
    }
    (!is_empty).then_some(table)
}

/// Bytes of tensors in KB.
fn kilobytes<'a>(mut tensors: impl Iterator<Item = &'a Tensor>) -> String {
    let sum = tensors.try_fold(0u64, |sum, tensor| sum.checked_add(tensor.desc.bytes()?));
    known(sum.map(|bytes| us(bytes as f64 / 1024.0)))
}

/// `l2_cache`: the share of the traffic that L2 serves, as the performance model has it; it counts no victims.
/// `None` where the model timed no task.
pub fn l2_cache(run: &Run) -> Option<Table> {
    let mut table = Table::new(["Device_id", "Stream Id", "Task Id", "Hit Rate", "Victim Rate", "Op Name"]);
    let mut is_empty = true;
    for (at, task) in run.tasks.iter().enumerate() {
        let kernel = run.kernel(task);
        let counts = kernel.counts.filter(|_| kernel.is_simulated && kernel.engine.computes());
        let Some(counts) = counts else { continue };
        is_empty = false;
        table.push(vec![
            DEVICE.to_owned(),
            task.stream.to_string(),
            at.to_string(),
            known(counts.l2_hit_rate().map(us)),
            UNKNOWN.to_owned(),
            kernel.name.clone(),
        ]);
    }
    (!is_empty).then_some(table)
}
