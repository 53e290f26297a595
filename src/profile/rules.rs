//! `prof_rule_0.json`: what bounds the network, and which operators to look at. Rules and limits are those of CANN's
//! profiler, as far as the performance model counts what they ask for; the words are ours.

use super::info::to_bytes;
use super::run::{Kernel, Run};
use crate::sim::{Bound, Pipes};
use crate::status::Result;
use crate::workload::Workload;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

/// A unit that works less than this share of the time is little used; one that works more is what bounds.
const BUSY: f64 = 0.8;
/// Microseconds from which a cube kernel is long.
const LONG_US: f64 = 20.0;
/// Microseconds from which a task has waited, and the share of all time from which such waits matter.
const WAIT_US: f64 = 10.0;
const WAITS: f64 = 0.03;
/// Share of the time from which kernels that wait for data, or for the cube, are the network's trait.
const MOST: f64 = 0.5;
/// Format conversions that a network may have.
const CONVERSIONS: usize = 2;
/// Share of the time from which kernels that no pipe bounds are worth a word.
const IDLE: f64 = 0.2;
/// Operators that a sentence names.
const NAMED: usize = 3;

/// A kernel with all its launches.
struct Look<'a> {
    kernel: &'a Kernel,
    total_us: f64,
    /// Busy shares of its pipes, where the performance model timed it.
    pipes: Option<Pipes>,
}

impl Look<'_> {
    /// Whether the pipes are known and such.
    fn is(&self, such: impl Fn(&Pipes) -> bool) -> bool {
        self.pipes.as_ref().is_some_and(such)
    }

    fn has_cube(&self) -> bool {
        self.kernel.workload.is_cube()
    }

    /// Loads against arithmetic.
    fn memory_bound(&self) -> f64 {
        self.pipes.map_or(0.0, |p| quotient(p.mte2, p.mac.max(p.vec)))
    }
}

fn quotient(a: f64, b: f64) -> f64 {
    if b > 0.0 {
        a / b
    } else if a > 0.0 {
        f64::INFINITY
    } else {
        0.0
    }
}

/// A rule that fires.
fn advice(subtype: &str, suggestion: &str, data: impl Into<Value>) -> Value {
    json!({"Rule Subtype": subtype, "Rule Suggestion": suggestion, "Tuning Data": data.into()})
}

fn section(kind: &str, description: &str, result: &[Value]) -> Value {
    json!({"Rule Type": kind, "Rule Description": description, "result": result})
}

/// The file.
pub fn json(run: &Run) -> Result<Vec<u8>> {
    let mut looks: Vec<Look<'_>> = run.kernels.iter().filter(|kernel| kernel.engine.computes()).map(look).collect();
    looks.sort_by(|a, b| b.total_us.total_cmp(&a.total_us));
    to_bytes(&json!({
        "status": 0,
        "data": {
            "Op Summary": [
                section("Computation", "whether the units that compute are kept busy", &computation(&looks)),
                section("Memory", "whether moving data takes longer than computing", &memory(&looks)),
                section("Operator Schedule", "whether the device waits between tasks", &schedule(run)),
                section("Operator Processing", "whether work is dealt well to the cores", &processing(run, &looks)),
                section("Operator Metrics", "memory beside the tensors; only the compiler of a kernel knows it", &[]),
            ],
            "Op Parallel": [
                section("Operator Parallelism", "whether AI CPU and AI Core work at a time; no AI CPU is modelled", &[]),
            ],
            "Model Summary": [
                section("Model Bottleneck Analysis", "what bounds the network as a whole", &bottleneck(&looks)),
            ],
        },
    }))
}

fn look(kernel: &Kernel) -> Look<'_> {
    let pipes = kernel.prediction.filter(|_| kernel.is_simulated).map(|prediction| prediction.pipes);
    Look { kernel, total_us: kernel.us() * f64::from(kernel.launches), pipes }
}

/// The operators that are such, those with most time first.
fn such<'a>(looks: &[Look<'a>], such: impl Fn(&Look<'a>) -> bool) -> Vec<&'a str> {
    looks.iter().filter(|look| such(look)).map(|look| look.kernel.name.as_str()).collect()
}

/// The advice about operators, where there are any.
fn about(subtype: &str, suggestion: &str, operators: Vec<&str>) -> Option<Value> {
    (!operators.is_empty()).then(|| advice(subtype, suggestion, operators))
}

fn computation(looks: &[Look<'_>]) -> Vec<Value> {
    let rules = [
        about(
            "Vector",
            "The vector unit works in less than 80 % of these operators' time: larger tiles, double buffering or \
             fusing them with their neighbours keep it busy.",
            such(looks, |look| !look.has_cube() && look.is(|p| p.vec < BUSY)),
        ),
        about(
            "Cube",
            "The cube unit works in less than 80 % of these operators' time: another tiling, more cores or larger \
             batches keep it busy.",
            such(looks, |look| look.has_cube() && look.is(|p| p.mac < BUSY)),
        ),
        about(
            "Cube",
            "Vector work takes most of the time of these operators, which are meant for the cube unit.",
            such(looks, |look| look.kernel.us() > LONG_US && look.is(|p| p.vec > BUSY && p.mac > 0.0)),
        ),
    ];
    rules.into_iter().flatten().collect()
}

fn memory(looks: &[Look<'_>]) -> Vec<Value> {
    let total: f64 = looks.iter().map(|look| look.total_us).sum();
    let waiting: f64 = looks.iter().filter(|look| look.memory_bound() > 1.0).map(|look| look.total_us).sum();
    let is_waiting = waiting > MOST * total;
    let loads = such(looks, |look| is_waiting && look.memory_bound() > 1.0);
    let rules = [
        about(
            "Memory",
            "Loading data takes longer than computing with it in most of the network's time: fuse these operators, \
             keep their data in L2, or tile them so that each byte is loaded less often.",
            loads,
        ),
        about(
            "Vector",
            "Vector arithmetic takes longer than loads and products in these operators: cheaper arithmetic or a \
             narrower type helps, another tiling does not.",
            such(looks, |look| look.is(|p| quotient(p.vec, p.mte2.max(p.mac)) > 1.0)),
        ),
    ];
    rules.into_iter().flatten().collect()
}

fn schedule(run: &Run) -> Vec<Value> {
    let waits = run.waits_us();
    let late: Vec<_> = run.tasks.iter().zip(&waits).filter(|(_, wait)| **wait > WAIT_US).collect();
    let waited: f64 = late.iter().map(|(_, wait)| **wait).sum();
    let names: Vec<_> = late.iter().map(|(task, _)| run.kernel(task).name.as_str()).collect();
    let matters = waited > WAITS * (run.total_us() + waits.iter().sum::<f64>());
    let advice = about("", "The device waits more than 10 us before these tasks.", names).filter(|_| matters);
    advice.into_iter().collect()
}

fn processing(run: &Run, looks: &[Look<'_>]) -> Vec<Value> {
    let conversions = run.tasks.iter().filter(|task| run.kernel(task).op_type == "TransData").count();
    let names = such(looks, |look| conversions > CONVERSIONS && look.kernel.op_type == "TransData");
    let rules = [
        about(
            "",
            "These operators leave cube cores idle: a tiling with more blocks, or a larger batch, uses them.",
            such(looks, |look| look.has_cube() && look.kernel.blocks() < run.soc.ai_core_cnt),
        ),
        about("", "The network converts formats often: choose one format for neighbouring operators.", names),
    ];
    rules.into_iter().flatten().collect()
}

/// Each operator counts with its time for the unit that works most in it.
fn bottleneck(looks: &[Look<'_>]) -> Vec<Value> {
    let mut times = [0.0; 3];
    let mut bound: [Vec<&Look<'_>>; 3] = Default::default();
    for look in looks {
        let Some(p) = look.pipes else { continue };
        let shares = [p.mac, p.vec, p.mte1.max(p.mte2).max(p.mte3).max(p.fixpipe)];
        let most = (0..3).fold(0, |best, unit| if shares[unit] > shares[best] { unit } else { best });
        times[most] += look.total_us;
        bound[most].push(look);
    }
    let total: f64 = times.iter().sum();
    if total <= 0.0 {
        return Vec::new();
    }
    let most = (0..3).fold(0, |best, unit| if times[unit] > times[best] { unit } else { best });
    let what = ["The cube unit", "The vector unit", "Moving data"][most];
    let [cube, vector, moving] = times.map(|time| format!("{:.0} %", time / total * 100.0));
    let named = alike(&bound[most]);
    let is = if times[0] >= MOST * total { "is" } else { "is not" };
    let suggestion = format!(
        "The model {is} bound by the cube unit. {what} decides most of its time (cube unit {cube}, vector unit \
         {vector}, moving data {moving} of it): look first at {named}."
    );
    let data = json!({
        "Cube Utilization": rounded(times[0]),
        "Vector Utilization": rounded(times[1]),
        "Scalar Utilization": super::table::UNKNOWN,
        "MTE Utilization": rounded(times[2]),
    });
    std::iter::once(advice("", &suggestion, data)).chain(latency(looks, total)).collect()
}

/// The kernels with most time, those that do the same together: the first one's name, and how many they are.
fn alike(looks: &[&Look<'_>]) -> String {
    let mut groups: FxHashMap<&Workload, (&str, usize, f64)> = FxHashMap::default();
    for look in looks {
        let group = groups.entry(&look.kernel.workload).or_insert((&look.kernel.name, 0, 0.0));
        *group = (group.0, group.1 + 1, group.2 + look.total_us);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| a.0.cmp(b.0)));
    let named = groups.iter().take(NAMED).map(|(name, count, us)| match count {
        1 => format!("{name} ({us:.1} us)"),
        _ => format!("{name} and {} alike ({us:.1} us)", count - 1),
    });
    named.collect::<Vec<_>>().join(", ")
}

/// What is to be said of kernels in which every pipe waits most of the time.
fn latency(looks: &[Look<'_>], total: f64) -> Option<Value> {
    let waits = |look: &&Look<'_>| look.kernel.prediction.is_some_and(|p| p.bound == Bound::Latency);
    let waiting: Vec<&Look<'_>> = looks.iter().filter(|look| look.pipes.is_some()).filter(waits).collect();
    let us: f64 = waiting.iter().map(|look| look.total_us).sum();
    let suggestion = format!(
        "{:.0} % of the time is in kernels too short to keep any unit busy: their start, first loads and last stores \
         take longer than the work between. Fusing them, or a larger batch, saves most.",
        us / total * 100.0
    );
    let names: Vec<&str> = waiting.iter().map(|look| look.kernel.name.as_str()).collect();
    (us > IDLE * total).then(|| advice("Latency", &suggestion, names))
}

/// Microseconds to the nanosecond.
fn rounded(us: f64) -> f64 {
    (us * 1e3).round() / 1e3
}
