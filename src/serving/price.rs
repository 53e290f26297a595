//! What the kernels of a step take.

use super::expand::Step;
use super::kernel::{Class, Kernel, Work};
use super::links::Links;
use super::time::Time;
use crate::cases::Parts;
use crate::graph::DataType;
use crate::kernels::case_bytes;
use crate::sim::served_start_us;
use crate::simulate;
use crate::soc::Soc;
use crate::status::{Error, Result};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Microseconds between kernels that wait for no host: the scheduler's hand-over.
const GRAPH_GAP_US: f64 = 1.0;
/// Microseconds in which a host launches a kernel by itself. Serving stacks in Python take from 10 (the operator alone) to
/// 150 (vllm-ascend issue 1605: 131 ms for some 900 launches).
const HOST_LAUNCH_US: f64 = 40.0;

/// What one launch takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Priced {
    /// Its time.
    #[serde(flatten)]
    pub time: Time,
    /// What it waits for most: a word of the simulator's, or `links`.
    pub bound: String,
    /// Whether the simulator knows the operator; else its data's movement is priced.
    pub known: bool,
    /// Microseconds of the start in a running network that are in the time beyond what the simulator says.
    #[serde(skip)]
    pub start_us: f64,
}

/// Launches of one class.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct ClassTime {
    /// Their time together.
    #[serde(flatten)]
    pub time: Time,
    /// How many they are.
    pub launches: u64,
}

/// What a step takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepTime {
    /// The step.
    pub step: Step,
    /// All of it.
    #[serde(flatten)]
    pub time: Time,
    /// Kernels launched.
    pub launches: u64,
    /// Microseconds that the device waits for launches.
    pub launch_us: f64,
    /// By what kernels are for.
    pub classes: BTreeMap<Class, ClassTime>,
    /// Microseconds by what kernels wait for.
    pub bounds: BTreeMap<String, f64>,
    /// Operators that the simulator does not know.
    pub unknown: BTreeSet<String>,
}

/// Prices kernels on one part; equal ones once.
pub struct Pricer {
    soc: Soc,
    parts: Parts,
    links: Links,
    known: FxHashMap<String, Priced>,
    /// Microseconds of cases whose tiling a record decides.
    recorded: FxHashMap<String, f64>,
}

impl Pricer {
    /// Prices for a part.
    pub fn new(soc: &Soc) -> Pricer {
        let (parts, links) = (Parts::only(soc.clone()), Links::of(soc));
        Pricer { soc: soc.clone(), parts, links, known: FxHashMap::default(), recorded: FxHashMap::default() }
    }

    /// The part.
    pub fn soc(&self) -> &Soc {
        &self.soc
    }

    /// From now on kernels whose case is among these take so many microseconds.
    pub(super) fn record(&mut self, times: FxHashMap<String, f64>) {
        self.recorded = times;
    }

    /// What one launch takes. Fails as [`simulate::price`] does: for a kernel that cannot run on the part.
    pub fn kernel(&mut self, kernel: &Kernel) -> Result<Priced> {
        let case = match &kernel.work {
            Work::Exchange(exchange) => {
                let time = self.links.time(exchange);
                return Ok(Priced { time, bound: "links".to_owned(), known: true, start_us: 0.0 });
            }
            Work::Case(_) => cold_case(kernel, self.soc.l2_size).to_string(),
        };
        let recorded = self.recorded.get(&case).copied();
        let mut priced = self.of_case(case, kernel.op_type())?;
        if let Some(us) = recorded {
            // The model errs the same way about both tilings.
            let scaled = priced.time.interval_us.map(|ends| ends.map(|end| end * us / priced.time.us));
            priced.time = Time { us, interval_us: scaled };
        }
        let start = priced.start_us;
        let interval_us = priced.time.interval_us.map(|ends| ends.map(|end| end + start));
        Ok(Priced { time: Time { us: priced.time.us + start, interval_us }, ..priced })
    }

    /// Why one of these kernels does not fit into the part's memory by itself; `None` where each does, or the memory is
    /// not known.
    pub(super) fn too_large(&self, kernels: &[Kernel]) -> Option<String> {
        let memory = self.soc.memory_size;
        let large = |kernel: &Kernel| {
            let needed = total_bytes(kernel.priced_case()?);
            (memory > 0 && needed > memory)
                .then(|| format!("{} needs {needed} bytes, {} has {memory}", kernel.op_type(), self.soc.name))
        };
        kernels.iter().find_map(large)
    }

    fn of_case(&mut self, case: String, op_type: &str) -> Result<Priced> {
        if let Some(known) = self.known.get(&case) {
            return Ok(known.clone());
        }
        let priced = self.case(&case, op_type)?;
        self.known.insert(case, priced.clone());
        Ok(priced)
    }

    fn case(&mut self, case: &str, op_type: &str) -> Result<Priced> {
        let internal = |message: String| Error::Internal { place: "serving".into(), message };
        let answer = simulate::price(case, &mut self.parts)?;
        let answer: Value = serde_json::from_str(&answer).map_err(|e| internal(e.to_string()))?;
        let us = answer["time_us"].as_f64().ok_or_else(|| internal(format!("no time in {answer}")))?;
        let interval_us =
            answer["interval_us"].as_array().and_then(|ends| Some([ends.first()?.as_f64()?, ends.get(1)?.as_f64()?]));
        let bound = answer["bound"].as_str().unwrap_or_default().to_owned();
        let known = answer["approximated"].as_array().is_none_or(Vec::is_empty);
        Ok(Priced { time: Time { us, interval_us }, bound, known, start_us: start_beside(&answer, op_type) })
    }

    /// What a step of these kernels takes, launched as one graph or one by one. Fails as [`Pricer::kernel`] does.
    pub fn step(&mut self, step: Step, kernels: &[Kernel], graph: bool) -> Result<StepTime> {
        let mut sum = StepTime {
            step,
            time: Time::default(),
            launches: 0,
            launch_us: 0.0,
            classes: BTreeMap::new(),
            bounds: BTreeMap::new(),
            unknown: BTreeSet::new(),
        };
        for kernel in kernels {
            let priced = self.kernel(kernel)?;
            let count = kernel.count as f64;
            sum.time = sum.time.plus(priced.time, count);
            sum.launches += kernel.count;
            let class = sum.classes.entry(kernel.class).or_default();
            class.time = class.time.plus(priced.time, count);
            class.launches += kernel.count;
            *sum.bounds.entry(priced.bound).or_default() += priced.time.us * count;
            if !priced.known {
                sum.unknown.insert(kernel.op_type().to_owned());
            }
        }
        let launches = sum.launches as f64;
        let handed_over = launches * GRAPH_GAP_US;
        // Prompts are never part of a graph; their kernels are long enough to hide most launches. The device hands over
        // from kernel to kernel either way.
        sum.launch_us = if graph && !step.prefill {
            handed_over
        } else {
            (launches * HOST_LAUNCH_US - sum.time.us).max(handed_over)
        };
        sum.time = sum.time.plus(Time::exact(sum.launch_us), 1.0);
        *sum.bounds.entry("launches".to_owned()).or_default() += sum.launch_us;
        Ok(sum)
    }
}

/// Microseconds of the start of a kernel in a running network that an answer of the simulator lacks: what a calibration
/// corrected was learned of launches in one, and has them.
pub(super) fn start_beside(answer: &Value, op_type: &str) -> f64 {
    if answer["calibration"]["class"].is_string() { 0.0 } else { served_start_us(op_type) }
}

/// The case of a kernel whose weights and caches lie in device memory, activations in L2 as far as they fit.
pub(super) fn cold_case(kernel: &Kernel, l2_bytes: u64) -> Value {
    let Some(mut case) = kernel.priced_case().cloned() else { return Value::Null };
    if kernel.cold_bytes > 0 {
        let warm = total_bytes(&case).saturating_sub(kernel.cold_bytes);
        case["missed_bytes"] = (kernel.cold_bytes + warm.saturating_sub(l2_bytes)).into();
    }
    case
}

/// Bytes of all operands of a case.
fn total_bytes(case: &Value) -> u64 {
    let bits = |name: &Value| name.as_str().and_then(DataType::from_name).map_or(16, |dtype| u64::from(dtype.bits()));
    if let [Some(m), Some(k), Some(n)] = ["m", "k", "n"].map(|size| case[size].as_u64()) {
        let elements = m.saturating_mul(k).saturating_add(k.saturating_mul(n)).saturating_add(m.saturating_mul(n));
        return elements.saturating_mul(bits(&case["dtype"])) / 8;
    }
    case_bytes(case)
}
