//! Time to the first token and for each output token, for every batch and length.

use super::deployment::Deployment;
use super::expand::{Step, kernels};
use super::load::{Load, Reading};
use super::model::Model;
use super::price::{Pricer, StepTime};
use super::time::Time;
use crate::status::Result;
use serde::Serialize;
use std::collections::BTreeMap;

/// Reading the prompts of a batch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prefill {
    /// Sequences.
    pub batch: u64,
    /// Tokens of each.
    pub prompt: u64,
    /// Time to the first token, the mean over the batch; all arrive together.
    pub ttft: Time,
    /// Time until the last sequence has its first token.
    pub last: Time,
    /// Steps in order, each with how often it is made.
    pub steps: Vec<(Step, u64)>,
}

/// Making output.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decode {
    /// Sequences.
    pub batch: u64,
    /// Tokens that attention looks back over.
    pub context: u64,
    /// Time for each output token.
    pub tpot: Time,
    /// Tokens a second of all groups of devices, one after the other step.
    pub tokens_per_s: f64,
}

/// A batch and a length for which a kernel needs more memory than a device has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unfit {
    /// Whether prompts are read, else output is made.
    pub prefill: bool,
    /// Sequences.
    pub batch: u64,
    /// Tokens of a prompt, or those that attention looks back over.
    pub length: u64,
    /// The kernel, what it needs and what there is.
    pub reason: String,
}

/// All figures of a deployment.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Figures {
    /// For every batch and prompt that a device can hold.
    pub prefill: Vec<Prefill>,
    /// For every batch and context that a device can hold.
    pub decode: Vec<Decode>,
    /// Every distinct step.
    pub steps: Vec<StepTime>,
    /// What has no figures, and why.
    pub does_not_fit: Vec<Unfit>,
}

impl Figures {
    /// Prices a load; what no device can hold is told apart. Fails as [`Pricer::kernel`] does.
    pub fn of(model: &Model, deployment: &Deployment, load: &Load, pricer: &mut Pricer) -> Result<Figures> {
        let unfit = does_not_fit(model, deployment, load, pricer);
        let fits = |prefill: bool, batch: u64, length: u64| {
            !unfit.iter().any(|point| (point.prefill, point.batch, point.length) == (prefill, batch, length))
        };
        let arch = pricer.soc().arch;
        let mut steps: BTreeMap<Step, StepTime> = BTreeMap::new();
        let mut price = |step: Step| -> Result<Time> {
            if let Some(known) = steps.get(&step) {
                return Ok(known.time);
            }
            let priced = pricer.step(step, &kernels(model, deployment, step, arch), deployment.graph)?;
            let time = priced.time;
            steps.insert(step, priced);
            Ok(time)
        };
        let mut figures = Figures::default();
        for &batch in &load.batches {
            for &prompt in load.prompts.iter().filter(|&&prompt| fits(true, batch, prompt)) {
                let reading = Reading::of(batch, prompt, deployment.step_tokens);
                let [ttft, last] = first_tokens(&reading, batch, &mut price)?;
                figures.prefill.push(Prefill { batch, prompt, ttft, last, steps: reading.steps(batch) });
            }
            for &context in load.contexts.iter().filter(|&&context| fits(false, batch, context)) {
                let tpot = price(Step::decode(batch, context))?;
                let tokens_per_s = (batch * deployment.groups()) as f64 / tpot.us * 1e6;
                figures.decode.push(Decode { batch, context, tpot, tokens_per_s });
            }
        }
        figures.steps = steps.into_values().collect();
        figures.does_not_fit = unfit;
        Ok(figures)
    }

    /// A step of these figures.
    pub fn step(&self, step: Step) -> Option<&StepTime> {
        self.steps.iter().find(|priced| priced.step == step)
    }
}

/// The points of a load that have a kernel which the part's memory cannot hold.
fn does_not_fit(model: &Model, deployment: &Deployment, load: &Load, pricer: &Pricer) -> Vec<Unfit> {
    let mut known: BTreeMap<Step, Option<String>> = BTreeMap::new();
    let mut too_large = |step: Step| {
        known
            .entry(step)
            .or_insert_with(|| pricer.too_large(&kernels(model, deployment, step, pricer.soc().arch)))
            .clone()
    };
    let mut unfit = Vec::new();
    for &batch in &load.batches {
        for &length in &load.prompts {
            let steps = Reading::of(batch, length, deployment.step_tokens).steps(batch);
            let reason = steps.into_iter().find_map(|(step, _)| too_large(step));
            unfit.extend(reason.map(|reason| Unfit { prefill: true, batch, length, reason }));
        }
        for &length in &load.contexts {
            let reason = too_large(Step::decode(batch, length));
            unfit.extend(reason.map(|reason| Unfit { prefill: false, batch, length, reason }));
        }
    }
    unfit
}

/// The mean time until the sequences of a batch have their first token, and that of the last one.
fn first_tokens(reading: &Reading, batch: u64, price: &mut dyn FnMut(Step) -> Result<Time>) -> Result<[Time; 2]> {
    let times = |time: Time, count: f64| Time::default().plus(time, count);
    match reading {
        Reading::Pieces(pieces) => {
            let one = pieces.iter().try_fold(Time::default(), |sum, &piece| Ok(sum.plus(price(piece)?, 1.0)))?;
            // The i-th sequence waits for those before it.
            Ok([times(one, (batch + 1) as f64 / 2.0), times(one, batch as f64)])
        }
        Reading::Whole { full: (step, count), rest } => {
            let time = price(*step)?;
            let mut last = times(time, *count as f64);
            let mut sum = times(time, (step.sequences * count * (count + 1)) as f64 / 2.0);
            if let Some(rest) = rest {
                last = last.plus(price(*rest)?, 1.0);
                sum = sum.plus(last, rest.sequences as f64);
            }
            Ok([times(sum, 1.0 / batch as f64), last])
        }
    }
}
