//! `prof_rule_0.json`: what bounds the network, and which operators to look at. Rules and limits are those of CANN's
//! profiler, as far as the performance model counts what they ask for; the words are ours.

use super::info::to_bytes;
use super::pmu::Shares;
use super::run::{Kernel, Run};
use crate::sim::Bound;
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
/// Share of the time from which kernels that are too short are worth a word.
const IDLE: f64 = 0.2;
/// Operators that a sentence names.
const NAMED: usize = 3;

/// What kernels wait for, in the words of the report's page.
const WHAT: [&str; 5] =
    ["cube unit", "vector unit", "transfers inside the cores", "L2 and device memory", "start and fill of the kernel"];

/// A kernel with all its launches.
struct Launched<'a> {
    kernel: &'a Kernel,
    total_us: f64,
    /// Busy shares of its pipes as `op_summary` tells them, where the performance model timed it.
    pipes: Option<Shares>,
}

impl Launched<'_> {
    /// Whether the pipes are known and such.
    fn is(&self, such: impl Fn(&Shares) -> bool) -> bool {
        self.pipes.as_ref().is_some_and(such)
    }

    fn has_cube(&self) -> bool {
        self.kernel.workload.is_cube()
    }

    /// Whether loads are known to take longer than arithmetic.
    fn is_memory_bound(&self) -> bool {
        self.is(|p| p.mte2.is_some_and(|loads| loads > p.mac.max(p.vec)))
    }

    /// What it waits for most; `None` where the performance model did not time it, and for exchanges.
    fn bound(&self) -> Option<Bound> {
        self.pipes.and(self.kernel.prediction).map(|prediction| prediction.bound)
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
    let mut kernels: Vec<Launched<'_>> =
        run.kernels.iter().filter(|kernel| kernel.engine.computes()).map(launched).collect();
    kernels.sort_by(|a, b| b.total_us.total_cmp(&a.total_us));
    to_bytes(&json!({
        "status": 0,
        "data": {
            "Op Summary": [
                section("Computation", "whether the units that compute are kept busy", &computation(&kernels)),
                section("Memory", "whether moving data takes longer than computing", &memory(&kernels)),
                section("Operator Schedule", "whether the device waits between tasks", &schedule(run)),
                section("Operator Processing", "whether work is dealt well to the cores", &processing(run, &kernels)),
                section("Operator Metrics", "memory beside the tensors; only the compiler of a kernel knows it", &[]),
            ],
            "Op Parallel": [
                section("Operator Parallelism", "whether AI CPU and AI Core work at a time; no AI CPU is modelled", &[]),
            ],
            "Model Summary": [
                section("Model Bottleneck Analysis", "what bounds the network as a whole", &bottleneck(&kernels)),
            ],
        },
    }))
}

fn launched(kernel: &Kernel) -> Launched<'_> {
    let is_timed = kernel.is_simulated && kernel.engine.computes();
    let pipes = kernel.prediction.filter(|_| is_timed).map(|p| Shares::of(kernel.engine, &p.pipes));
    Launched { kernel, total_us: kernel.us() * f64::from(kernel.launches), pipes }
}

/// The operators that are such, those with most time first.
fn such<'a>(kernels: &[Launched<'a>], such: impl Fn(&Launched<'a>) -> bool) -> Vec<&'a str> {
    kernels.iter().filter(|kernel| such(kernel)).map(|kernel| kernel.kernel.name.as_str()).collect()
}

/// The advice about operators, where there are any.
fn about(subtype: &str, suggestion: &str, operators: Vec<&str>) -> Option<Value> {
    (!operators.is_empty()).then(|| advice(subtype, suggestion, operators))
}

fn computation(kernels: &[Launched<'_>]) -> Vec<Value> {
    let rules = [
        about(
            "Vector",
            "The vector unit works in less than 80 % of these operators' time: larger tiles, double buffering or \
             fusing them with their neighbours keep it busy.",
            such(kernels, |kernel| !kernel.has_cube() && kernel.is(|p| p.vec < BUSY)),
        ),
        about(
            "Cube",
            "The cube unit works in less than 80 % of these operators' time: another tiling, more cores or larger \
             batches keep it busy.",
            such(kernels, |kernel| kernel.has_cube() && kernel.is(|p| p.mac < BUSY)),
        ),
        about(
            "Cube",
            "Vector work takes most of the time of these operators, which are meant for the cube unit.",
            such(kernels, |kernel| kernel.kernel.us() > LONG_US && kernel.is(|p| p.vec > BUSY && p.mac > 0.0)),
        ),
    ];
    rules.into_iter().flatten().collect()
}

fn memory(kernels: &[Launched<'_>]) -> Vec<Value> {
    let total: f64 = kernels.iter().map(|kernel| kernel.total_us).sum();
    let waiting: f64 = kernels.iter().filter(|kernel| kernel.is_memory_bound()).map(|kernel| kernel.total_us).sum();
    let is_waiting = waiting > MOST * total;
    let loads = such(kernels, |kernel| is_waiting && kernel.is_memory_bound());
    let rules = [
        about(
            "Memory",
            "Loading data takes longer than computing with it in most of the network's time: fuse these operators, or \
             tile them so that each byte is loaded less often.",
            loads,
        ),
        about(
            "Vector",
            "Vector arithmetic takes longer than loads and products in these operators: cheaper arithmetic or a \
             narrower type helps, another tiling does not.",
            such(kernels, |kernel| kernel.is(|p| p.mte2.is_some_and(|loads| p.vec > loads.max(p.mac)))),
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

fn processing(run: &Run, kernels: &[Launched<'_>]) -> Vec<Value> {
    let conversions = run.tasks.iter().filter(|task| run.kernel(task).op_type == "TransData").count();
    let names = such(kernels, |kernel| conversions > CONVERSIONS && kernel.kernel.op_type == "TransData");
    let rules = [
        about(
            "",
            "These operators leave cube cores idle: a tiling with more blocks, or a larger batch, uses them.",
            such(kernels, |kernel| kernel.has_cube() && kernel.kernel.blocks() < run.soc.ai_core_cnt),
        ),
        about("", "The network converts formats often: choose one format for neighbouring operators.", names),
        short(kernels),
    ];
    rules.into_iter().flatten().collect()
}

/// What bounds the network: each operator counts with its time for what it waits for most, as the report has it.
fn bottleneck(kernels: &[Launched<'_>]) -> Vec<Value> {
    let mut times = [0.0; WHAT.len()];
    let mut bound: [Vec<&Launched<'_>>; WHAT.len()] = Default::default();
    for kernel in kernels {
        let Some(unit) = kernel.bound().map(unit) else { continue };
        times[unit] += kernel.total_us;
        bound[unit].push(kernel);
    }
    let total: f64 = times.iter().sum();
    if total <= 0.0 {
        return Vec::new();
    }
    let most = (0..WHAT.len()).fold(0, |best, unit| if times[unit] > times[best] { unit } else { best });
    let shares = WHAT.iter().zip(times).map(|(what, time)| format!("{what} {}", percent(time, total)));
    let is = if times[0] >= MOST * total { "is" } else { "is not" };
    let suggestion = format!(
        "The model {is} bound by the cube unit. Most of its time goes to kernels that wait for: {} ({}). Look first at \
         {}.",
        WHAT[most],
        shares.collect::<Vec<_>>().join(", "),
        alike(&bound[most])
    );
    let data = json!({
        "Cube Utilization": rounded(times[0]),
        "Vector Utilization": rounded(times[1]),
        "Scalar Utilization": super::table::UNKNOWN,
        "MTE Utilization": rounded(times[2] + times[3]),
    });
    vec![advice("", &suggestion, data)]
}

/// Place in [`WHAT`] of what bounds a kernel.
const fn unit(bound: Bound) -> usize {
    match bound {
        Bound::Cube => 0,
        Bound::Vector => 1,
        Bound::Mte1 | Bound::Mte2 | Bound::Mte3 | Bound::Fixpipe => 2,
        Bound::Memory => 3,
        Bound::Latency => 4,
    }
}

/// The kernels with most time, those that do the same together: the first one's name, and how many they are.
fn alike(kernels: &[&Launched<'_>]) -> String {
    let mut groups: FxHashMap<&Workload, (&str, usize, f64)> = FxHashMap::default();
    for kernel in kernels {
        let group = groups.entry(&kernel.kernel.workload).or_insert((&kernel.kernel.name, 0, 0.0));
        *group = (group.0, group.1 + 1, group.2 + kernel.total_us);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by(|a, b| b.2.total_cmp(&a.2).then_with(|| a.0.cmp(b.0)));
    let named = groups.iter().take(NAMED).map(|(name, count, us)| match count {
        1 => format!("{name} ({us:.1} us)"),
        _ => format!("{name} and {} alike ({us:.1} us)", count - 1),
    });
    named.collect::<Vec<_>>().join(", ")
}

/// What is to be said of kernels that take longer to start and fill than they work.
fn short(kernels: &[Launched<'_>]) -> Option<Value> {
    let total: f64 = kernels.iter().filter(|kernel| kernel.bound().is_some()).map(|kernel| kernel.total_us).sum();
    let is_short = |kernel: &Launched<'_>| kernel.bound() == Some(Bound::Latency);
    let us: f64 = kernels.iter().filter(|kernel| is_short(kernel)).map(|kernel| kernel.total_us).sum();
    let suggestion = format!(
        "{} of the time is in these kernels, which are too short: to start and fill them takes longer than their \
         work. Fusing them, or a larger batch, saves most.",
        percent(us, total)
    );
    about("", &suggestion, such(kernels, is_short)).filter(|_| us > IDLE * total)
}

fn percent(part: f64, whole: f64) -> String {
    format!("{:.0} %", part / whole * 100.0)
}

/// Microseconds to the nanosecond.
fn rounded(us: f64) -> f64 {
    (us * 1e3).round() / 1e3
}
