//! Timelines as a Chrome trace: each case two processes, one with a row for each pipe of the busiest core, one
//! with a row for each core. <https://ui.perfetto.dev> opens it.

use super::Explanation;
use serde_json::{Value, json};
use std::io::{Result, Write};

/// Cores that get a row each, and blocks that one core's row shows apart.
const MOST_CORES: u64 = 64;
const MOST_ROUNDS: u64 = 64;

/// A trace that is being written.
#[derive(Debug, Default)]
pub(in crate::simulate) struct Trace {
    /// Processes so far.
    processes: u64,
    begun: bool,
}

impl Trace {
    /// Adds a case.
    pub fn add(&mut self, explanation: &Explanation, out: &mut dyn Write) -> Result<()> {
        self.pipes(explanation, out)?;
        self.cores(explanation, out)
    }

    /// Adds a process whose name is an error.
    pub fn fail(&mut self, error: &str, out: &mut dyn Write) -> Result<()> {
        self.process(error, out).map(|_| ())
    }

    /// Ends the trace, which is a valid one without any case too.
    pub fn end(&mut self, out: &mut dyn Write) -> Result<()> {
        let begin = if self.begun { "" } else { "{\"traceEvents\":[" };
        writeln!(out, "{begin}\n],\"displayTimeUnit\":\"ns\"}}")
    }

    /// The rows of the busiest core: phases, then pipes.
    fn pipes(&mut self, explanation: &Explanation, out: &mut dyn Write) -> Result<()> {
        let t = &explanation.timeline;
        let title = explanation.title();
        let totals = format!("{:.3} us by the model, {:.3} us here", t.prediction.time_us, t.total_us);
        let pid = self.process(&format!("{title}: busiest core, {totals}"), out)?;
        self.row(pid, 0, "phase", out)?;
        for phase in t.phases.iter().filter(|p| p.end_us > p.start_us) {
            self.bar([pid, 0], phase.name, [phase.start_us, phase.end_us], &json!({}), out)?;
        }
        for lane in &t.lanes {
            let row = lane.pipe as u64 + 1;
            let joined = lane.most_joined();
            let name = if joined > 1 {
                format!("{} (a bar is up to {joined} operations)", lane.pipe.name())
            } else {
                lane.pipe.name().to_owned()
            };
            self.row(pid, row, &name, out)?;
            for bar in &lane.bars {
                let args = json!({"operations": bar.operations, "busy_us": bar.busy_us});
                self.bar([pid, row], bar.what, [bar.start_us, bar.end_us], &args, out)?;
            }
        }
        Ok(())
    }

    /// The rows of the cores: their blocks, each as long as the busiest core's mean one.
    fn cores(&mut self, explanation: &Explanation, out: &mut dyn Write) -> Result<()> {
        let t = &explanation.timeline;
        let blocks = t.blocks;
        let shown = blocks.cores.min(MOST_CORES);
        let more = if shown < blocks.cores { format!(" (first {shown} of {})", blocks.cores) } else { String::new() };
        let pid = self.process(&format!("{}: blocks by core{more}", explanation.title()), out)?;
        let start = t.phases.first().map_or(0.0, |p| p.end_us);
        let rounds = blocks.rounds().max(1);
        let block_us = (t.total_us - start) / rounds as f64;
        for core in 0..shown {
            self.row(pid, core, &format!("core {core}"), out)?;
            let own = if core < blocks.cores_in_last_round() { rounds } else { rounds - 1 };
            // Many blocks are shown as one bar each of several.
            let joined = own.div_ceil(MOST_ROUNDS).max(1);
            for first in (0..own).step_by(joined as usize) {
                let last = (first + joined).min(own);
                let name = if joined == 1 { format!("block {}", first * blocks.cores + core) } else { "blocks".into() };
                let times = [start + first as f64 * block_us, start + last as f64 * block_us];
                self.bar([pid, core], &name, times, &json!({"blocks": last - first}), out)?;
            }
        }
        Ok(())
    }

    fn process(&mut self, name: &str, out: &mut dyn Write) -> Result<u64> {
        self.processes += 1;
        let pid = self.processes;
        self.event(&json!({"ph": "M", "name": "process_name", "pid": pid, "args": {"name": name}}), out)?;
        self.event(&json!({"ph": "M", "name": "process_sort_index", "pid": pid, "args": {"sort_index": pid}}), out)?;
        Ok(pid)
    }

    fn row(&mut self, pid: u64, tid: u64, name: &str, out: &mut dyn Write) -> Result<()> {
        let meta = |what: &str, args: Value| json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": args});
        self.event(&meta("thread_name", json!({"name": name})), out)?;
        self.event(&meta("thread_sort_index", json!({"sort_index": tid})), out)
    }

    fn bar(&mut self, [pid, tid]: [u64; 2], name: &str, us: [f64; 2], args: &Value, out: &mut dyn Write) -> Result<()> {
        let [start, end] = us;
        let event =
            json!({"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": start, "dur": end - start, "args": args});
        self.event(&event, out)
    }

    fn event(&mut self, event: &Value, out: &mut dyn Write) -> Result<()> {
        let before = if self.begun { ",\n" } else { "{\"traceEvents\":[\n" };
        self.begun = true;
        write!(out, "{before}{event}")
    }
}
