//! `msprof`: the run as a timeline of streams, iterations, pipes, exchanges, and what overlaps. `hccl`: the exchanges
//! by themselves. `task_time`: the tasks by themselves. `ge` and `thread_group`: the runs of the network's forms.

use super::intervals::{Span, minus, union};
use super::op_summary::type_name;
use super::options::{Level, Options};
use super::run::{Kernel, Run, Task};
use super::step_trace;
use super::table::{UNKNOWN, known};
use super::trace::{Args, Layer, Trace, ns};
use crate::sim;
use crate::sim::timeline::{Bar, Timeline};
use crate::status::Result;
use rustc_hash::FxHashMap;
use serde_json::Value;

/// Bars of pipes in one timeline at most, about; where there is more to tell, neighbours are joined.
const MOST_BARS: usize = 200_000;
/// Bars of one pipe in one task at most.
const MOST_BARS_OF_A_TASK: usize = 64;

/// The whole timeline.
pub fn msprof(run: &Run, options: &Options) -> Result<Vec<u8>> {
    let mut trace = Trace::default();
    streams(&mut trace, run)?;
    if options.training_trace {
        for iteration in step_trace::iterations(run, options) {
            iteration.draw(&mut trace)?;
        }
    }
    if options.tasks == Level::Operators && options.metrics.is_some() {
        pipes(&mut trace, run)?;
    }
    if exchanges(run).next().is_some() {
        communication(&mut trace, run)?;
    }
    overlap(&mut trace, run)?;
    Ok(trace.json())
}

/// The tasks by themselves, as CANN's older profilers write them and tools of their time read them.
pub fn task_time(run: &Run) -> Result<Vec<u8>> {
    let mut trace = Trace::default();
    streams(&mut trace, run)?;
    Ok(trace.json())
}

/// The exchanges by themselves; `None` where there is none.
pub fn hccl(run: &Run) -> Result<Option<Vec<u8>>> {
    if exchanges(run).next().is_none() {
        return Ok(None);
    }
    let mut trace = Trace::default();
    communication(&mut trace, run)?;
    Ok(Some(trace.json()))
}

/// The runs of the network's forms as the graph engine sees them. How long it takes to hand over inputs and outputs
/// is not known, so they have no bars.
pub fn ge(run: &Run) -> Result<Vec<u8>> {
    let mut trace = Trace::default();
    trace.process(Layer::Ge)?;
    trace.thread(Layer::Ge, 0, "GE")?;
    for (span, args) in inferences(run) {
        trace.bar(Layer::Ge, 0, "Infer", span, args)?;
    }
    Ok(trace.json())
}

/// The same by the thread that waits for the network.
pub fn thread_group(run: &Run) -> Result<Vec<u8>> {
    let mut trace = Trace::default();
    trace.process(Layer::Ge)?;
    for (span, args) in inferences(run) {
        trace.bar(Layer::Ge, "Thread 0", "GE@Infer", span, args)?;
    }
    Ok(trace.json())
}

fn inferences(run: &Run) -> impl Iterator<Item = (Span, Args)> {
    run.models.iter().filter_map(|model| {
        let args = Args::default().with("Model Name", model.name.as_str()).with("Model ID", model.id);
        Some((run.span_of(model)?.map(ns), args))
    })
}

fn exchanges(run: &Run) -> impl Iterator<Item = (&Task, &Kernel)> {
    run.tasks.iter().map(|task| (task, run.kernel(task))).filter(|(_, kernel)| !kernel.engine.computes())
}

fn streams(trace: &mut Trace, run: &Run) -> Result<()> {
    let layer = Layer::AscendHardware;
    trace.process(layer)?;
    let mut streams: Vec<u32> = run.tasks.iter().map(|task| task.stream).collect();
    streams.sort_unstable();
    streams.dedup();
    for stream in streams {
        trace.thread(layer, stream.into(), &format!("Stream {stream}"))?;
    }
    for (at, task) in run.tasks.iter().enumerate() {
        let kernel = run.kernel(task);
        let mut args = Args::default()
            .with("Model Id", run.models[kernel.model].id)
            .with("Task Type", kernel.engine.task_type())
            .with("Physic Stream Id", task.stream)
            .with("Task Id", at);
        if let Some(prediction) = kernel.prediction.filter(|_| kernel.is_simulated && kernel.engine.computes()) {
            args = args.with("Bound", serde_json::to_value(prediction.bound).unwrap_or_default());
        }
        trace.bar(layer, task.stream, &kernel.launched, run.span(task).map(ns), args)?;
    }
    Ok(())
}

/// What the pipes of the busiest core do in each task that the performance model timed. Its queues and its closed
/// form differ a little in the total; the queues' bars are drawn to the task's length.
fn pipes(trace: &mut Trace, run: &Run) -> Result<()> {
    let mut timelines: FxHashMap<usize, Option<Timeline>> = FxHashMap::default();
    let mut named = [false; sim::timeline::Pipe::ALL.len()];
    let most = MOST_BARS / sim::timeline::Pipe::ALL.len() / run.tasks.len().max(1);
    let most = most.clamp(1, MOST_BARS_OF_A_TASK);
    for task in &run.tasks {
        let kernel = run.kernel(task);
        let timeline = timelines.entry(task.kernel).or_insert_with(|| timeline(run, kernel));
        let Some(timeline) = timeline.as_ref().filter(|timeline| timeline.total_us > 0.0) else { continue };
        let scale = kernel.us() / timeline.total_us;
        for lane in &timeline.lanes {
            let row = lane.pipe as usize;
            if named.iter().all(|named| !named) {
                trace.process(Layer::Pipes)?;
            }
            if !std::mem::replace(&mut named[row], true) {
                trace.thread(Layer::Pipes, row as u64, lane.pipe.name())?;
            }
            for bars in lane.bars.chunks(lane.bars.len().div_ceil(most).max(1)) {
                let Some(bar) = joined(bars) else { continue };
                let span = [bar.start_us, bar.end_us].map(|us| ns(task.start_us + us * scale));
                let args = Args::default()
                    .with("Operator", kernel.launched.as_str())
                    .with("Operations", bar.operations)
                    .with("Busy(us)", (bar.busy_us * scale * 1e3).round() / 1e3);
                trace.bar(Layer::Pipes, row, bar.what, span, args)?;
            }
        }
    }
    Ok(())
}

fn timeline(run: &Run, kernel: &Kernel) -> Option<Timeline> {
    if !kernel.is_simulated || !kernel.engine.computes() {
        return None;
    }
    let model = sim::Model::new(&kernel.workload, &run.soc).ok()?;
    let model = kernel.missed.map_or(model.clone(), |bytes| model.with_missed(bytes));
    model.timeline(&kernel.schedule).ok()
}

/// Several bars of one pipe as one.
fn joined(bars: &[Bar]) -> Option<Bar> {
    let (first, last) = (bars.first()?, bars.last()?);
    let is_one = bars.iter().all(|bar| bar.what == first.what);
    Some(Bar {
        start_us: first.start_us,
        end_us: last.end_us,
        busy_us: bars.iter().map(|bar| bar.busy_us).sum(),
        operations: bars.iter().map(|bar| bar.operations).sum(),
        what: if is_one { first.what } else { "several" },
    })
}

fn communication(trace: &mut Trace, run: &Run) -> Result<()> {
    trace.process(Layer::Communication)?;
    trace.thread(Layer::Communication, 0, "Group 0 Communication")?;
    for (task, kernel) in exchanges(run) {
        // How many devices take part, and how, no graph says.
        let ranks = run.ranks.as_ref();
        let dtype = kernel.inputs.first().map(|tensor| tensor.desc.dtype);
        let args = Args::default()
            .with("rank_size", ranks.map_or_else(|| UNKNOWN.into(), |ranks| Value::from(ranks.devices)))
            .with("model id", run.models[kernel.model].id)
            .with("data_type", known(dtype.map(type_name)))
            .with("alg_type", ranks.map_or(UNKNOWN, |ranks| ranks.algorithm.as_str()))
            .with("count", count(kernel).map_or_else(|| UNKNOWN.into(), Value::from))
            .with("relay", UNKNOWN)
            .with("retry", UNKNOWN);
        trace.bar(Layer::Communication, 0, &kernel.launched, run.span(task).map(ns), args)?;
    }
    Ok(())
}

/// Elements that an exchange adds up or hands on.
fn count(kernel: &Kernel) -> Option<u64> {
    kernel.inputs.iter().try_fold(0u64, |sum, tensor| sum.checked_add(tensor.desc.shape.elements()?))
}

/// What of the run is computing, what is communication, what of that hides behind no computing, and what is neither.
fn overlap(trace: &mut Trace, run: &Run) -> Result<()> {
    let spans = |computes: bool| {
        let of = run.tasks.iter().filter(|task| run.kernel(task).engine.computes() == computes);
        union(of.map(|task| run.span(task).map(ns)).collect())
    };
    let (computing, communication) = (spans(true), spans(false));
    let busy = union([computing.clone(), communication.clone()].concat());
    let whole: Vec<Span> = busy.first().zip(busy.last()).map(|(first, last)| [first[0], last[1]]).into_iter().collect();
    let alone = minus(&communication, &computing);
    let free = minus(&whole, &busy);
    let rows = [
        ("Computing", computing),
        ("Communication", communication),
        ("Communication(Not Overlapped)", alone),
        ("Free", free),
    ];
    trace.process(Layer::Overlap)?;
    for (row, (name, spans)) in rows.into_iter().enumerate() {
        trace.thread(Layer::Overlap, row as u64, name)?;
        for span in spans {
            trace.bar(Layer::Overlap, row, name, span, Args::default())?;
        }
    }
    Ok(())
}
