//! The timeline of a training step in the form of CANN's profiler: one array of Chrome trace events, what computes and
//! what exchanges in rows of their own, before tuning and after.

use super::counts::to_text;
use crate::status::Result;
use crate::tune::gdat::{Case, Contention, Found, Plan, ready_times};
use serde::Serialize;
use serde_json::{Value, json};

/// The layers of CANN's timeline that are used, by name and index.
const HARDWARE: (&str, u64) = ("Ascend Hardware", 14);
const COMMUNICATION: (&str, u64) = ("Communication", 16);
const OVERLAP: (&str, u64) = ("Overlap Analysis", 31);

/// One event. The fields stand in CANN's order.
#[derive(Debug, Serialize)]
struct Event {
    name: String,
    pid: u64,
    tid: u64,
    /// Microseconds with three decimals, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    ph: &'static str,
    args: Value,
}

/// The timeline of the step before tuning (NPU 0) and with the best split (NPU 1).
pub fn gdat_timeline(found: &Found, contention: Contention) -> Result<String> {
    let mut events = Vec::new();
    for (device, what, case) in [(0, "before", &found.before), (1, "after", &found.after)] {
        Device { device, what }.show(found, case, contention, &mut events);
    }
    to_text(&events)
}

/// One device of the timeline.
struct Device {
    device: u64,
    what: &'static str,
}

impl Device {
    fn show(&self, found: &Found, case: &Case, contention: Contention, events: &mut Vec<Event>) {
        let plan = &case.plan;
        self.layer(HARDWARE, &["Stream 0"], events);
        self.compute(found, case, contention, events);
        self.exchanges(found, plan, events);
        let rows = ["Computing", "Communication", "Communication(Not Overlapped)"];
        self.layer(OVERLAP, &rows, events);
        self.overlap(plan, rows, events);
    }

    /// What exchanges: a row for each group.
    fn exchanges(&self, found: &Found, plan: &Plan, events: &mut Vec<Event>) {
        let mut groups: Vec<&str> = Vec::new();
        for set in &found.sets {
            if !groups.contains(&set.group.as_str()) {
                groups.push(&set.group);
            }
        }
        let rows: Vec<_> = (0..groups.len()).map(|group| format!("Group {group} Communication")).collect();
        self.layer(COMMUNICATION, &rows.iter().map(String::as_str).collect::<Vec<_>>(), events);
        for (number, segment) in plan.segments.iter().enumerate() {
            let Some(set) = found.sets.get(segment.set) else { continue };
            let row = groups.iter().position(|group| *group == set.group).unwrap_or(0);
            let args = json!({
                "data_type": set.dtype.name(),
                "gradients": segment.gradients.len(),
                "group": set.group,
                "ready(us)": text(segment.ready_us),
                "size(Byte)": segment.bytes,
            });
            let times = [segment.start_us, segment.end_us];
            events.push(self.bar(COMMUNICATION, row as u64, &format!("hcom_allReduce__{number}"), times, args));
        }
    }

    /// What computes: the way to each gradient, and the rest of the backward pass.
    fn compute(&self, found: &Found, case: &Case, contention: Contention, events: &mut Vec<Event>) {
        let ready = ready_times(&found.training.step(), case.cost, contention, &case.plan);
        let mut start = 0.0;
        for (gradient, &end) in found.training.gradients.iter().zip(&ready) {
            // Several gradients of one node are ready at once.
            if end > start {
                events.push(self.bar(
                    HARDWARE,
                    0,
                    &format!("until {}", gradient.node),
                    [start, end],
                    json!({"Task Type": "AI_CORE"}),
                ));
            }
            start = end;
        }
        if case.plan.backward_us > start {
            events.push(self.bar(HARDWARE, 0, "backward", [start, case.plan.backward_us], json!({})));
        }
    }

    fn overlap(&self, plan: &Plan, rows: [&str; 3], events: &mut Vec<Event>) {
        events.push(self.bar(OVERLAP, 0, rows[0], [0.0, plan.backward_us], json!({})));
        for segment in &plan.segments {
            events.push(self.bar(OVERLAP, 1, rows[1], [segment.start_us, segment.end_us], json!({})));
            let start = segment.start_us.max(plan.backward_us);
            if segment.end_us > start {
                events.push(self.bar(OVERLAP, 2, rows[2], [start, segment.end_us], json!({})));
            }
        }
    }

    /// CANN's number of a process: no process runs, so that its part is 0.
    fn pid(&self, layer: (&str, u64)) -> u64 {
        (layer.1 << 5) | self.device
    }

    fn layer(&self, layer: (&str, u64), rows: &[&str], events: &mut Vec<Event>) {
        let pid = self.pid(layer);
        let meta = |name: &str, tid, args| Event { name: name.into(), pid, tid, ts: None, dur: None, ph: "M", args };
        events.push(meta("process_name", 0, json!({"name": layer.0})));
        let labels = format!("NPU {} ({} tuning)", self.device, self.what);
        events.push(meta("process_labels", 0, json!({"labels": labels})));
        events.push(meta("process_sort_index", 0, json!({"sort_index": self.device << 5 | layer.1})));
        for (tid, row) in (0..).zip(rows) {
            events.push(meta("thread_name", tid, json!({"name": row})));
            events.push(meta("thread_sort_index", tid, json!({"sort_index": tid})));
        }
    }

    fn bar(&self, layer: (&str, u64), tid: u64, name: &str, [start, end]: [f64; 2], args: Value) -> Event {
        let dur = ((end - start) * 1e3).round() / 1e3;
        let (name, pid) = (name.to_owned(), self.pid(layer));
        Event { name, pid, tid, ts: Some(text(start)), dur: Some(dur), ph: "X", args }
    }
}

/// Microseconds as CANN's timelines have them.
fn text(us: f64) -> String {
    format!("{us:.3}")
}
