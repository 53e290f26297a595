//! Everything at once: what `aoe llm` answers.

use super::expand::{Step, kernels};
use super::figures::Figures;
use super::kernel::{Kernel, Work};
use super::levers::{Lever, Unpriced, levers, unpriced};
use super::load::Load;
use super::memory::{Memory, cached_tokens};
use super::price::{Priced, Pricer};
use super::ranges::{Choice, Sample, choose, looked_at};
use super::records::{self, Banks, Given, Problem, Reach, Tuned};
use super::{Class, Deployment, Model, Parameters};
use crate::bank::OperatorBank;
use crate::cases::check_types;
use crate::graph::DataType;
use crate::report::counted;
use crate::shard::Shard;
use crate::soc::{CorrectedBy, Soc};
use crate::status::{Error, Result};
use crate::tune::evaluate::Settings;
use crate::workload::{MatMul, Workload};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Most numbers of tokens that are looked at for the choice of those to tune: every key of records up to 8192.
const MOST_KEYS: usize = 512;

/// What is asked.
#[derive(Debug, Clone)]
pub struct Study {
    /// The model.
    pub model: Model,
    /// How it is served.
    pub deployment: Deployment,
    /// Batches and lengths.
    pub load: Load,
    /// How products are searched; `None`: they are not.
    pub search: Option<Settings>,
    /// The part of the products that is searched here; `None`: all.
    pub shard: Option<Shard>,
    /// Records to choose for steps of any number of tokens; 0: no choice is made.
    pub records: usize,
}

/// What came out.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The part.
    pub soc: String,
    /// The calibration that corrected the times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<CorrectedBy>,
    /// The model.
    pub model: Model,
    /// How it is served.
    pub deployment: Deployment,
    /// Devices in all.
    pub devices: u64,
    /// The model's parameters.
    pub parameters: Parameters,
    /// Bytes on one of them.
    pub memory: Memory,
    /// Times with default tilings, or those of the bank.
    pub figures: Figures,
    /// Times with what this run recorded; `None` where nothing came to run.
    pub with_records: Option<Figures>,
    /// What its records give; `None` where no product was tuned.
    pub records: Option<Given>,
    /// The products, tuned.
    pub products: Vec<Tuned>,
    /// Bank files that were changed.
    pub files: Vec<PathBuf>,
    /// Those of the bank to measure.
    pub to_measure: Vec<PathBuf>,
    /// What could be done instead, for every batch and length.
    pub levers: Vec<Lever>,
    /// What could be done, too, and has no price.
    pub unpriced: Vec<Unpriced>,
    /// Numbers of tokens to tune for steps of any number.
    pub range: Option<Choice>,
    /// The same were all gains true that are not sure; `None` where all are.
    pub range_if_true: Option<Choice>,
    /// The kernels of every step.
    pub kernels: Vec<Launches>,
    /// What is to be known about these figures.
    pub notes: Vec<String>,
}

/// The kernels of a step.
#[derive(Debug, Clone, Serialize)]
pub struct Launches {
    /// The step.
    pub step: Step,
    /// Each kind once.
    pub kernels: Vec<Launch>,
}

/// One kind of launch.
#[derive(Debug, Clone, Serialize)]
pub struct Launch {
    /// What it is for.
    pub class: Class,
    /// The part of the model.
    pub role: &'static str,
    /// The operator's type.
    pub op: String,
    /// Launches in the step.
    pub count: u64,
    /// What a launch takes.
    #[serde(flatten)]
    pub priced: Priced,
    /// What it does: a case of `aoe simulate`, or an exchange.
    pub case: Value,
}

impl Study {
    /// Does all of it. Where products are searched, records are written to the banks.
    ///
    /// Fails with [`Error::Option`] for what the model or the part cannot do, with [`Error::Cancelled`] where `cancel` was
    /// set (records found until then are written), as a kernel's price does, and as the bank does.
    pub fn run(&self, soc: &Soc, mut banks: Banks<'_>, cancel: &AtomicBool) -> Result<Report> {
        let Study { model, deployment, load, .. } = self;
        self.check(soc)?;
        let mut pricer = Pricer::new(soc);
        let figures = Figures::of(model, deployment, load, &mut pricer)?;
        let kernels = self.launches(&figures, &mut pricer)?;
        let steps: Vec<Step> = figures.steps.iter().map(|step| step.step).collect();
        let mut products = Vec::new();
        let [mut files, mut to_measure] = [Vec::new(), Vec::new()];
        if let Some(settings) = &self.search {
            let problems = self.mine(records::problems(model, deployment, &steps, soc)?, soc)?;
            let reached = problems.iter().filter(|problem| problem.reach(soc) == Reach::Bank);
            banks.bank.check_writable(reached.map(Problem::workload))?;
            products = records::tune(problems, soc, banks.bank, settings, cancel)?;
            [files, to_measure] = records::write(&mut products, soc, &mut banks)?;
        }
        if records::stopped(cancel) {
            return Err(Error::Cancelled);
        }
        let [range, range_if_true] = self.range(soc, banks.bank, &mut pricer, cancel)?;
        let levers = levers(model, deployment, load, &mut pricer)?;
        let unpriced = unpriced(model, deployment, load);
        let given = self.search.as_ref().map(|_| Given::of(&products));
        let times = records::times(&products);
        let with_records = if times.is_empty() {
            None
        } else {
            pricer.record(times);
            Some(Figures::of(model, deployment, load, &mut pricer)?)
        };
        let memory = Memory::of(model, deployment, soc);
        let notes = self.notes(&figures, memory, soc);
        let parameters = model.parameters();
        let calibration = soc.corrections.as_ref().map(|corrections| corrections.named());
        let (soc, devices) = (soc.name.clone(), deployment.devices());
        let (model, deployment) = (model.clone(), deployment.clone());
        Ok(Report {
            soc,
            calibration,
            model,
            deployment,
            devices,
            parameters,
            memory,
            figures,
            with_records,
            records: given,
            products,
            files,
            to_measure,
            levers,
            unpriced,
            range,
            range_if_true,
            kernels,
            notes,
        })
    }

    /// Refuses what the model's sizes, the load or the part do not allow.
    fn check(&self, soc: &Soc) -> Result<()> {
        self.deployment.check(&self.model)?;
        self.load.check(self.deployment.step_tokens)?;
        let dtype = self.deployment.dtype;
        let product = |dtype: DataType| Workload::MatMul(MatMul { dtype, out_dtype: dtype, ..MatMul::new(16, 16, 16) });
        if dtype != DataType::Float16 && check_types(&product(dtype), soc).is_err() {
            let reason = format!("the cube unit of {} does not multiply {}; take fp16", soc.name, dtype.name());
            return Err(Error::option("dtype", reason));
        }
        Ok(())
    }

    /// The products that this machine's part has. Those that share a record are in one part, which then records the best of
    /// them as one machine would; each product is searched equally long.
    fn mine(&self, problems: Vec<Problem>, soc: &Soc) -> Result<Vec<Problem>> {
        let Some(shard) = self.shard else { return Ok(problems) };
        let records = problems.iter().map(|problem| problem.record(soc)).collect::<Result<Vec<_>>>()?;
        let mut efforts: BTreeMap<&(String, Vec<u8>), u64> = BTreeMap::new();
        for record in &records {
            *efforts.entry(record).or_default() += 1;
        }
        let takes = shard.takes(&efforts.values().copied().collect::<Vec<_>>());
        let mine: BTreeSet<_> =
            efforts.keys().zip(takes).filter(|(_, takes)| *takes).map(|(record, _)| *record).collect();
        Ok(problems.into_iter().zip(&records).filter(|(_, record)| mine.contains(record)).map(|(p, _)| p).collect())
    }

    /// Each distinct kernel as a case of the simulator, as it is priced. Fails as [`Study::run`] does before it tunes.
    pub fn cases(&self, soc: &Soc) -> Result<Vec<Value>> {
        self.check(soc)?;
        let figures = Figures::of(&self.model, &self.deployment, &self.load, &mut Pricer::new(soc))?;
        let mut cases = Vec::new();
        for step in &figures.steps {
            for kernel in kernels(&self.model, &self.deployment, step.step, soc.arch) {
                let mut case = super::price::cold_case(&kernel, soc.l2_size);
                if case.is_null() {
                    continue;
                }
                let phase = if step.step.prefill { "prefill" } else { "decode" };
                case["id"] = format!(
                    "{phase} {}x{} of {}: {}",
                    step.step.sequences, step.step.tokens_each, step.step.context, kernel.role
                )
                .into();
                case["soc"] = soc.name.clone().into();
                case["count"] = kernel.count.into();
                cases.push(case);
            }
        }
        Ok(cases)
    }

    fn launches(&self, figures: &Figures, pricer: &mut Pricer) -> Result<Vec<Launches>> {
        let of = |kernel: Kernel, pricer: &mut Pricer| -> Result<Launch> {
            let priced = pricer.kernel(&kernel)?;
            let op = kernel.op_type().to_owned();
            let case = match kernel.work {
                Work::Case(case) => case,
                Work::Exchange(exchange) => serde_json::json!({ "exchange": exchange }),
            };
            Ok(Launch { class: kernel.class, role: kernel.role, op, count: kernel.count, priced, case })
        };
        let of_step = |step: Step, pricer: &mut Pricer| {
            let kernels = kernels(&self.model, &self.deployment, step, pricer.soc().arch).into_iter();
            Ok(Launches { step, kernels: kernels.map(|kernel| of(kernel, pricer)).collect::<Result<_>>()? })
        };
        figures.steps.iter().map(|step| of_step(step.step, pricer)).collect()
    }

    /// The choice of numbers of tokens for steps whose records a bank serves: by gains that are sure, and by all that are found
    /// where some are not. The steps read prompts; such that make output for as many sequences launch the same products of
    /// layers, but for those with the heads' own weights of latent attention, which ask no bank.
    fn range(
        &self,
        soc: &Soc,
        bank: &OperatorBank,
        pricer: &mut Pricer,
        cancel: &AtomicBool,
    ) -> Result<[Option<Choice>; 2]> {
        let (Some(settings), true) = (&self.search, self.records > 0) else { return Ok([None, None]) };
        let tokens = looked_at(self.deployment.step_tokens, MOST_KEYS);
        let steps: Vec<Step> = tokens.iter().map(|&tokens| Step::prefill(1, tokens, tokens)).collect();
        let problems = records::problems(&self.model, &self.deployment, &steps, soc)?;
        let reached = problems.into_iter().filter(|problem| problem.reach(soc) == Reach::Bank).collect();
        let tuned = records::tune(reached, soc, bank, settings, cancel)?;
        if records::stopped(cancel) {
            return Err(Error::Cancelled);
        }
        let by_case: BTreeMap<&str, &Tuned> = tuned.iter().map(|tuned| (tuned.case.as_str(), tuned)).collect();
        let [mut sure, mut all] = [Vec::new(), Vec::new()];
        let mut most_records = 1;
        let mut last = 0;
        for (step, &tokens) in steps.iter().zip(&tokens) {
            let weight = (tokens - last) as f64;
            last = tokens;
            let (records, [default_us, tuned_us, found_us]) = self.products_us(*step, &by_case, soc, pricer)?;
            most_records = most_records.max(records);
            sure.push(Sample { tokens, weight, default_us, tuned_us });
            all.push(Sample { tokens, weight, default_us, tuned_us: found_us });
        }
        let chosen = |samples: &[Sample]| choose(samples, self.records / most_records);
        let is_open = tuned.iter().any(|tuned| tuned.unsure_us.is_some());
        Ok([Some(chosen(&sure)), is_open.then(|| chosen(&all))])
    }

    /// Records that a step's products can have, and microseconds of these products: by default, with the tilings that are
    /// sure to be better, and with all that were found.
    fn products_us(
        &self,
        step: Step,
        tuned: &BTreeMap<&str, &Tuned>,
        soc: &Soc,
        pricer: &mut Pricer,
    ) -> Result<(usize, [f64; 3])> {
        let mut records = 0;
        let mut sums = [0.0; 3];
        for kernel in
            kernels(&self.model, &self.deployment, step, soc.arch).iter().filter(|kernel| records::is_product(kernel))
        {
            let case = super::price::cold_case(kernel, soc.l2_size).to_string();
            let Priced { time, start_us, .. } = pricer.kernel(kernel)?;
            let default_us = time.us;
            let tuned = tuned.get(case.as_str());
            records += usize::from(tuned.is_some());
            let at_most = |us: f64| (us + start_us).min(default_us);
            let sure = tuned.map_or(default_us, |tuned| at_most(tuned.after_us));
            let found = tuned.map_or(default_us, |tuned| at_most(tuned.unsure_us.unwrap_or(tuned.after_us)));
            for (sum, us) in sums.iter_mut().zip([default_us, sure, found]) {
                *sum += us * kernel.count as f64;
            }
        }
        Ok((records, sums))
    }

    fn notes(&self, figures: &Figures, memory: Memory, soc: &Soc) -> Vec<String> {
        let mut notes = self.model.notes.clone();
        let unknown: BTreeSet<&str> =
            figures.steps.iter().flat_map(|step| step.unknown.iter().map(String::as_str)).collect();
        if !unknown.is_empty() {
            let names: Vec<&str> = unknown.into_iter().collect();
            notes.push(format!("priced as the movement of their data: {}", names.join(", ")));
        }
        let longest = [&self.load.contexts, &self.load.prompts].into_iter().flatten().max().copied().unwrap_or(0);
        if let (Some(usable), false) = (memory.usable, memory.holds_weights()) {
            notes.push(format!(
                "the weights do not fit: a device would hold {} bytes of them, and has {usable} for weights and cache",
                memory.weights
            ));
        } else if let Some(tokens) = memory.tokens {
            let needed = cached_tokens(self.load.batches.iter().max().copied().unwrap_or(1), longest);
            if tokens < needed {
                notes.push(format!(
                    "the largest batch needs a cache of {needed} tokens, and a device has room for {tokens}"
                ));
            }
        }
        if !soc.arch.has_third_products() {
            notes.push(format!(
                "the kernels are those of vLLM-Ascend on 910B and later; what a stack launches on {} is not published",
                soc.name
            ));
        }
        if let [first, ..] = figures.does_not_fit.as_slice() {
            let points = counted(figures.does_not_fit.len() as u64, "point", "points");
            notes.push(format!("{points} of the load do not fit a device: {}", first.reason));
        }
        if let Some(shard) = self.shard {
            notes.push(format!("only part {shard} of the products was tuned here"));
        }
        if self.model.positions > 0 && longest > self.model.positions {
            notes.push(format!(
                "{longest} tokens are more than the {} that the model was made for",
                self.model.positions
            ));
        }
        notes.push("the host's work between steps (scheduling, sampling parameters, text) is not priced".to_owned());
        notes
    }
}
