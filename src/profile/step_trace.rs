//! `step_trace`: the iterations, each form of the network running once, and where the forward pass begins and the
//! backward pass ends.

use super::options::Options;
use super::points::{self, Candidate};
use super::run::{Model, Run, Task};
use super::table::{DEVICE, Table, UNKNOWN, known, moment, us};
use super::trace::{Args, Layer, Trace, ns};
use crate::status::Result;

/// The number of the row that shows a model's iterations, less its id.
const FIRST_ROW: u64 = 70_000;

/// One run of one form of the network. Moments are microseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Iteration {
    /// The form's id.
    pub model: u32,
    /// Begin of the iteration.
    start: f64,
    /// Begin of the forward pass; `None` where nobody named it and there is no backward pass.
    pub fp_start: Option<f64>,
    /// End of the backward pass; `None` where the network has none.
    pub bp_end: Option<f64>,
    /// End of the iteration.
    pub end: f64,
    /// Begin and end of each exchange.
    pub reduces: Vec<[f64; 2]>,
}

/// The iterations of a run. A form without tasks has none.
pub fn iterations(run: &Run, options: &Options) -> Vec<Iteration> {
    run.models.iter().filter_map(|model| iteration(run, model, options)).collect()
}

fn iteration(run: &Run, model: &Model, options: &Options) -> Option<Iteration> {
    let [start, end] = run.span_of(model)?;
    let tasks = &run.tasks[model.tasks.clone()];
    let candidate = |task: &Task| {
        let kernel = run.kernel(task);
        Candidate { op_type: &kernel.op_type, nodes: kernel.nodes().collect() }
    };
    let [first, last] = points::find(options, tasks.iter().map(candidate)).map(|place| place.map(|at| &tasks[at]));
    let end_of = |task: &Task| run.span(task)[1];
    let known = model.backward_us.filter(|_| options.bp_point.is_none());
    let bp_end = known.or_else(|| last.map(end_of));
    let exchanges = tasks.iter().filter(|task| !run.kernel(task).engine.computes());
    Some(Iteration {
        model: model.id,
        start,
        fp_start: first.map(|task| task.start_us).or(bp_end.map(|_| start)),
        bp_end,
        end,
        reduces: exchanges.map(|task| run.span(task)).collect(),
    })
}

impl Iteration {
    /// The first iteration counts from its forward pass.
    fn time(&self) -> f64 {
        self.end - self.begin()
    }

    fn begin(&self) -> f64 {
        self.fp_start.unwrap_or(self.start)
    }

    /// From the begin of the forward pass to the end of the backward pass. `None` also where subgraph tuning has put
    /// the kernels that hold these points the other way round, as it may where neither needs the other.
    fn passes(&self) -> Option<[f64; 2]> {
        self.fp_start.zip(self.bp_end).filter(|(start, end)| start <= end).map(Into::into)
    }

    /// What the timeline shows of it: name, kind, span and values.
    fn events(&self) -> Vec<(String, &'static str, [f64; 2], Args)> {
        let at = |us: Option<f64>| us.map_or_else(|| UNKNOWN.to_owned(), |us| format!("{us:.3}"));
        let common = || Args::default().with("Iteration ID", 1);
        let args = common()
            .with("FP Start", at(self.fp_start))
            .with("BP End", at(self.bp_end))
            .with("Iteration End", at(Some(self.end)))
            .with("Iteration Time(us)", at(Some(self.time())));
        let mut events = vec![("Iteration 1".to_owned(), "Iteration Time", [self.begin(), self.end], args)];
        if let Some([fp_start, bp_end]) = self.passes() {
            let args = common()
                .with("FP Start", at(Some(fp_start)))
                .with("BP End", at(Some(bp_end)))
                .with("FP_BP Time(us)", at(Some(bp_end - fp_start)));
            events.push(("FP_BP Time 1".to_owned(), "FP_BP Time", [fp_start, bp_end], args));
            let args = common()
                .with("BP End", at(Some(bp_end)))
                .with("Iteration End", at(Some(self.end)))
                .with("Iteration Refresh(us)", at(Some(self.end - bp_end)));
            events.push(("Iteration Refresh 1".to_owned(), "Iteration Refresh", [bp_end, self.end], args));
        }
        for (number, &[start, end]) in self.reduces.iter().enumerate() {
            let args = common().with("Reduce Start", at(Some(start))).with("Reduce End", at(Some(end)));
            events.push((format!("Reduce_1_{number}"), "Reduce", [start, end], args));
        }
        events
    }
}

/// Columns before those of the exchanges.
const COLUMNS: &str = "\
    Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us),FP to BP Time(us),\
    Iteration Refresh(us),Data Aug Bound(us),Model ID";

/// `step_trace.csv`.
pub fn table(iterations: &[Iteration]) -> Table {
    let reduces = iterations.iter().map(|iteration| iteration.reduces.len()).max().unwrap_or(0);
    let pairs = ["Reduce Start(us)", "Reduce Duration(us)"].repeat(reduces);
    let mut table = Table::new(COLUMNS.split(',').chain(pairs));
    for iteration in iterations {
        let mut row = vec![
            DEVICE.to_owned(),
            "1".to_owned(),
            known(iteration.fp_start.map(moment)),
            known(iteration.bp_end.map(moment)),
            moment(iteration.end),
            us(iteration.time()),
            known(iteration.passes().map(|[start, end]| us(end - start))),
            known(iteration.bp_end.map(|end| us(iteration.end - end))),
            // From the iteration before: there is none.
            UNKNOWN.to_owned(),
            iteration.model.to_string(),
        ];
        row.extend(iteration.reduces.iter().flat_map(|[start, end]| [moment(*start), us(end - start)]));
        row.resize(COLUMNS.split(',').count() + 2 * reduces, UNKNOWN.to_owned());
        table.push(row);
    }
    table
}

/// `step_trace.json`: the iterations by themselves.
pub fn json(iterations: &[Iteration]) -> Result<Vec<u8>> {
    let mut trace = Trace::default();
    trace.process(Layer::AscendHardware)?;
    for iteration in iterations {
        iteration.draw(&mut trace)?;
    }
    Ok(trace.json())
}

impl Iteration {
    /// Adds a row with the iteration to a timeline.
    pub fn draw(&self, trace: &mut Trace) -> Result<()> {
        let row = u64::from(self.model) + FIRST_ROW;
        trace.thread(Layer::AscendHardware, row, &format!("Step Trace(Model ID:{})", self.model))?;
        for (name, cat, span, args) in self.events() {
            trace.bar_of(Layer::AscendHardware, row, (&name, cat), span.map(ns), args)?;
        }
        Ok(())
    }
}
