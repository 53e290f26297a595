//! `fusion_op`: what fused kernels are made of and hold in memory. `l2_cache`: the tasks whose data L2 serves.

use super::run::{Run, Tensor};
use super::table::{DEVICE, HOST, Table, UNKNOWN, known, us};

/// `fusion_op`; `None` where nothing is fused.
pub fn fusion_op(run: &Run) -> Option<Table> {
    let mut table = Table::with_header(
        "Device_id,Model Name,Model ID,Fusion Op,Original Ops,Memory Input(KB),Memory Output(KB),Memory Weight(KB),\
        Memory Workspace(KB),Memory Total(KB)",
    );
    let mut is_empty = true;
    for kernel in run.kernels.iter().filter(|kernel| !kernel.fused.is_empty()) {
        let model = &run.models[kernel.model];
        let read = |weights: bool| kernel.inputs.iter().filter(move |tensor| tensor.is_weight == weights);
        is_empty = false;
        table.push(vec![
            HOST.to_owned(),
            model.name.clone(),
            model.id.to_string(),
            kernel.launched.clone(),
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

/// `l2_cache`: a row for each task. Its rates are not known: the performance model prices each kernel by itself, with
/// operands that lie in L2 as far as they fit, and does not follow what a network leaves there from task to task.
pub fn l2_cache(run: &Run) -> Table {
    let mut table = Table::new(["Device_id", "Stream Id", "Task Id", "Hit Rate", "Victim Rate", "Op Name"]);
    let tasks = run.tasks.iter().enumerate().map(|(at, task)| (at, task, run.kernel(task)));
    for (at, task, kernel) in tasks.filter(|(_, _, kernel)| kernel.engine.computes()) {
        table.push(vec![
            DEVICE.to_owned(),
            task.stream.to_string(),
            at.to_string(),
            UNKNOWN.to_owned(),
            UNKNOWN.to_owned(),
            kernel.launched.clone(),
        ]);
    }
    table
}
