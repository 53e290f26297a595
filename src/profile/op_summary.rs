//! `op_summary`: one row for each task.

use super::metrics::Metrics;
use super::run::{Kernel, Run, Tensor};
use super::table::{DEVICE, Table, UNKNOWN, known, moment, us};
use crate::graph::DataType;
use crate::workload::Workload;

/// The columns before the counters, under the names that CANN's profilers until 8.5 and all readers know.
const COLUMNS: &str = "\
    Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),\
    Task Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data Types,Input Formats,\
    Output Shapes,Output Data Types,Output Formats,Context ID";

/// The table, with these counters.
pub fn table(run: &Run, metrics: Option<Metrics>) -> Table {
    let counters = metrics.map_or_else(Vec::new, |metrics| metrics.columns(run.soc.arch));
    let mut table = Table::new(COLUMNS.split(',').map(str::to_owned).chain(counters));
    // What each launch of a kernel has in common.
    let of_kernels: Vec<Common> = run.kernels.iter().map(|kernel| common(run, kernel, metrics)).collect();
    let waits = run.waits_us();
    for (at, task) in run.tasks.iter().enumerate() {
        let kernel = run.kernel(task);
        let computes = kernel.engine.computes();
        let on_stream = |number: String| if computes { number } else { UNKNOWN.to_owned() };
        let Common { head, tail } = &of_kernels[task.kernel];
        let mut row = vec![
            DEVICE.to_owned(),
            run.models[kernel.model].id.to_string(),
            on_stream(at.to_string()),
            on_stream(task.stream.to_string()),
        ];
        row.extend(head.iter().cloned());
        row.extend([moment(task.start_us), known(kernel.duration_us.map(us)), us(waits[at])]);
        row.extend(tail.iter().cloned());
        table.push(row);
    }
    table
}

/// The values of a kernel, before and behind those of its launches.
struct Common {
    head: [String; 4],
    tail: Vec<String>,
}

fn common(run: &Run, kernel: &Kernel, metrics: Option<Metrics>) -> Common {
    let computes = kernel.engine.computes();
    // Every shape is known when a network is tuned.
    let state = if computes { "static" } else { UNKNOWN };
    let head =
        [kernel.launched.clone(), kernel.op_type.clone(), state.to_owned(), kernel.engine.task_type().to_owned()];
    let mut tail = vec![kernel.blocks().to_string(), kernel.mix_blocks(&run.soc).to_string()];
    tail.push(if computes { hf32(&kernel.workload).to_owned() } else { UNKNOWN.to_owned() });
    for tensors in [&kernel.inputs, &kernel.outputs] {
        // As CANN has it; the timeline tells what is exchanged.
        let tensors: &[Tensor] = if computes { tensors } else { &[] };
        tail.extend([shapes(tensors), types(tensors), formats(tensors)]);
    }
    // Kernels of one task have no contexts.
    tail.push(UNKNOWN.to_owned());
    tail.extend(metrics.into_iter().flat_map(|metrics| metrics.values(kernel, &run.soc)));
    Common { head, tail }
}

/// Whether cube work may round its float32 operands to HF32.
fn hf32(workload: &Workload) -> &'static str {
    if workload.cube().is_some_and(|cube| cube.hf32) { "YES" } else { "NO" }
}

/// Shapes of tensors as they are stored, in quotes that belong to the value.
pub fn shapes(tensors: &[Tensor]) -> String {
    let dims = |tensor: &Tensor| match &tensor.stored.dims {
        Some(dims) => dims.iter().map(i64::to_string).collect::<Vec<_>>().join(","),
        None => UNKNOWN.to_owned(),
    };
    match tensors {
        [] => UNKNOWN.to_owned(),
        _ => format!("\"{}\"", tensors.iter().map(dims).collect::<Vec<_>>().join(";")),
    }
}

/// Types and formats of tensors.
pub fn types_and_formats(tensors: &[Tensor]) -> [String; 2] {
    [types(tensors), formats(tensors)]
}

fn types(tensors: &[Tensor]) -> String {
    joined(tensors, |tensor| type_name(tensor.desc.dtype))
}

fn formats(tensors: &[Tensor]) -> String {
    joined(tensors, |tensor| tensor.stored.format.name().to_owned())
}

fn joined(tensors: &[Tensor], text: impl Fn(&Tensor) -> String) -> String {
    match tensors {
        [] => UNKNOWN.to_owned(),
        _ => tensors.iter().map(text).collect::<Vec<_>>().join(";"),
    }
}

/// The profiler's name of a type.
pub fn type_name(dtype: DataType) -> String {
    match dtype {
        DataType::Float => "FLOAT".to_owned(),
        DataType::Bfloat16 => "DT_BF16".to_owned(),
        other => other.name().to_ascii_uppercase(),
    }
}
