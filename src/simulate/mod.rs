//! Cases in, predictions out: the engine of `aoe simulate` and `AoeSimulate`.
//!
//! A case is one JSON object a line: cube work by its sizes and tiling, or any kernel by its operands.
//! Every line gets one answer; a line that cannot be priced gets an error by name.

mod deal;
mod explain;
mod job;
#[cfg(test)]
mod kernel_tests;
mod notes;
#[cfg(test)]
mod tests;
mod tiling;

pub use crate::cases::exact_case as case;
use crate::cases::{Case, stream};
pub use crate::cases::{Count, Parts};
use crate::sim::calibration::{Group, correction, group_of, near, own};
use crate::sim::interval::{self, Class, Interval};
use crate::sim::{Cache, Constants, Model, Pipes, Places, Prediction};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::{ConvRecord, MatMulKernel, Schedule, Workload};
pub use explain::Explanation;
use explain::Trace;
use serde::Serialize;
use std::io::{BufRead, Write};

/// A case made ready: what is to be computed, and how.
#[derive(Debug, Clone)]
pub struct Job {
    /// The case's own id, whatever JSON value it was.
    pub id: serde_json::Value,
    /// The work.
    pub workload: Workload,
    /// The case's tiling, or CANN's default one.
    pub schedule: Schedule,
    /// Bytes of its data that the case says to be in device memory, all else in L2.
    pub missed: Option<f64>,
    /// Where the case says all its operands to lie.
    pub cache: Option<Cache>,
    /// Bytes of its inputs in device memory, where the case says of each where it lies.
    pub apart: Option<f64>,
    /// Where the case says that its inputs lie.
    pub places: Option<Places>,
    /// Microseconds of the unit that the answer is in: rows of tiling repositories have one of their own.
    pub unit: f64,
    /// Whether the operands are plain matrices that TBE's kernel turns into fractals.
    pub plain: bool,
    /// The convolution's tiling from a repository, where the case has one.
    pub record: Option<ConvRecord>,
}

/// One line of output.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    id: &'a serde_json::Value,
    time_us: f64,
    interval_us: [f64; 2],
    pipes: Pipes,
    bound: crate::sim::Bound,
    context: &'static str,
    schedule: Tiling<'a>,
    /// Operators in it that are priced as the movement of their data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    approximated: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration: Option<Corrected>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// What an answer says in place of the class where the calibration knows the very kernel.
const KNOWN: &str = "known";
/// What it says of one that others of its type alone correct.
const TYPE: &str = "type";

/// What a calibration did to a time.
#[derive(Debug, Serialize)]
struct Corrected {
    file: String,
    /// The class of kernel that it corrected; null where it has nothing to say of this one.
    class: Option<&'static str>,
    /// The time before.
    model_us: f64,
}

/// A schedule with what it has to say of its kernel, where the operator of a case may leave that open: the same tiling
/// takes `MatMulV3`'s kernels and TBE's a different time.
#[derive(Debug, Serialize)]
struct Tiling<'a> {
    #[serde(flatten)]
    schedule: &'a Schedule,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<&'static str>,
}

/// Reads one case. The schedule is the case's own, or what CANN would choose, on `block_dim` cores where
/// the case says so.
///
/// Fails with [`Error::Case`] for a malformed case, [`Error::Workload`] for sizes that cannot be, and
/// [`Error::IllegalSchedule`] for a tiling that the SoC cannot run.
pub fn read(line: &str, soc: &Soc) -> Result<Job> {
    Job::of(Case::parse(line)?, soc)
}

/// Prices one case and returns its answer, a line of JSON without line break. Fails as [`read`] does, and with
/// [`Error::UnknownSoc`] where the case has to name its SoC and names none that is known.
pub fn price(case: &str, parts: &mut Parts) -> Result<String> {
    let parsed = Case::parse(case)?;
    let (soc, part_note) = parts.of(parsed.soc())?;
    let (field_note, name_note) = (parsed.note(), notes::name(&parsed.op));
    let is_dealt = parsed.is_dealt();
    let mut job = Job::of(parsed, soc)?;
    let state_note = as_measured(soc, &mut job, is_dealt)?;
    let prediction = job.predict(soc, &Constants::FITTED)?;
    let approximated = crate::sim::approximated(&job.workload);
    let model_note = (!approximated.is_empty()).then(|| {
        format!("the model does not know {}: it is priced as the movement of its data", approximated.join(", "))
    });
    let [types_note, window_note] = [notes::types(&job.workload, soc), notes::window(&job.workload)];
    let name_note = name_note.filter(|_| approximated.is_empty() && !job.workload.is_cube());
    let notes = [part_note.map(str::to_owned), model_note, name_note, types_note, window_note, field_note, state_note];
    let notes: Vec<_> = notes.into_iter().flatten().collect();
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    let Prediction { time_us, model_us, pipes, bound, .. } = prediction;
    if !time_us.is_finite() || time_us <= 0.0 {
        // No number at all is better than one that cannot be.
        return Err(Error::Workload { workload: job.workload.to_string(), reason: "it has no finite time".into() });
    }
    let is_tbe = job.workload.product_kernel() == Some(MatMulKernel::Tbe);
    let schedule = Tiling { schedule: &job.schedule, kernel: is_tbe.then_some(tiling::TBE) };
    let class = job.class();
    let kernel = interval::Kernel::of(&job.workload, class, &prediction, job.is_apart());
    let interval = Interval::of(&kernel, soc);
    let calibration = corrected(soc, &job, model_us);
    to_json(&Answer {
        id: &job.id,
        time_us,
        interval_us: interval.around(time_us),
        pipes,
        bound,
        context: job.context(),
        schedule,
        approximated,
        calibration,
        note,
    })
}

/// Has a kernel that the calibration knows priced where its operands lay and in the blocks that it ran in when it was measured,
/// unless its case says where they lie, or how it is cut (then it is not `dealt`); answers what is to be said of that.
fn as_measured(soc: &Soc, job: &mut Job, is_dealt: bool) -> Result<Option<String>> {
    let Some(own) = own(soc, &job.workload).filter(|_| job.record.is_none()) else { return Ok(None) };
    let is_told = job.missed.is_some() || job.cache.is_some() || job.apart.is_some() || job.places.is_some();
    let (mut states, mut fields) = (Vec::new(), Vec::new());
    if let Some(missed) = own.missed_bytes.filter(|_| !is_told) {
        job.missed = Some(missed);
        states.push(format!("with {missed:.0} bytes of its operands in device memory"));
        fields.push("`cache` or `missed_bytes`");
    }
    if let Some(blocks) = own.block_dim.filter(|_| is_dealt) {
        job.put_on(blocks, soc)?;
        states.push(format!("in {blocks} blocks"));
        fields.push("`block_dim` or `schedule`");
    }
    let (states, fields) = (states.join(" and "), fields.join(", and "));
    Ok((!states.is_empty())
        .then(|| format!("the calibration measured this kernel {states}, and so it is priced; {fields} say otherwise")))
}

/// What a calibration did to a time, where there is one.
fn corrected(soc: &Soc, job: &Job, model_us: f64) -> Option<Corrected> {
    let corrections = soc.corrections.as_ref()?;
    let is_known = job.record.is_none() && own(soc, &job.workload).is_some();
    let group = correction(soc, job.class()).and_then(|_| group_of(job.class())).map(Group::name);
    let of_type = job.record.is_none() && near(soc, &job.workload).is_some();
    let class = if is_known { Some(KNOWN) } else { group.or(of_type.then_some(TYPE)) };
    Some(Corrected { file: corrections.file.display().to_string(), class, model_us })
}

/// The answer to one case line: [`price`], or what is wrong with the case.
pub fn answer(line: &str, parts: &mut Parts) -> String {
    price(line, parts).unwrap_or_else(|error| stream::failure(&crate::cases::id_of(line), &error.to_string()))
}

/// What is written of each case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The answer, a line of JSON.
    Answers,
    /// The timeline of the busiest core's pipes as text of at most 100 columns.
    Text,
    /// The same as one Chrome trace for all cases, which Perfetto opens.
    Trace,
}

/// Answers every line of `cases` in order; empty lines get no answer. An error answer names its line.
///
/// Fails only when reading or writing does.
pub fn run(cases: &mut dyn BufRead, answers: &mut dyn Write, parts: &mut Parts, form: Form) -> std::io::Result<Count> {
    let mut trace = Trace::default();
    let count = stream::each(cases, |case, place| match form {
        Form::Answers => stream::write_answer(answers, case.and_then(|case| price(case, parts)), place),
        Form::Text => {
            let text = case.and_then(|case| explain(case, parts)).map(|e| e.text());
            let explained = text.is_ok();
            answers.write_all(text.unwrap_or_else(|error| place.words(&error) + "\n\n").as_bytes())?;
            Ok(explained)
        }
        Form::Trace => match case.and_then(|case| explain(case, parts)) {
            Ok(explanation) => trace.add(&explanation, answers).map(|()| true),
            Err(error) => trace.fail(&place.words(&error), answers).map(|()| false),
        },
    })?;
    if form == Form::Trace {
        trace.end(answers)?;
    }
    answers.flush()?;
    Ok(count)
}

/// Explains one case. Fails as [`price`] does.
pub fn explain(case: &str, parts: &mut Parts) -> Result<Explanation> {
    let parsed = Case::parse(case)?;
    let (soc, note) = parts.of(parsed.soc())?;
    let uncorrected =
        soc.corrections.is_some().then(|| "the calibration corrects answers, not this timeline".to_owned());
    let notes = note.map(str::to_owned).into_iter().chain(parsed.note()).chain(uncorrected).collect();
    let job = Job::of(parsed, soc)?;
    if job.record.is_some() {
        return Err(Error::Case {
            reason: "`tiling`: no timeline is drawn of a repository's record; ask for its time".into(),
        });
    }
    let timeline = job.model(soc, &Constants::FITTED)?.timeline(&job.schedule)?;
    Ok(Explanation { id: job.id, workload: job.workload.to_string(), soc: soc.name.clone(), notes, timeline })
}

impl Job {
    /// The class of kernel that its interval is for.
    pub fn class(&self) -> Class {
        if self.record.is_some() { Class::Record } else { Class::of(&self.workload) }
    }

    /// What the time is one of: a kernel `alone`, where the case says what L2 holds, or one in a running `network`.
    pub fn context(&self) -> &'static str {
        if self.is_alone() { "alone" } else { "network" }
    }

    fn is_alone(&self) -> bool {
        self.cache.is_some() || self.apart.is_some()
    }

    /// Whether its interval is that of kernels that were measured alone. Products whose operands are told one by one were measured
    /// in a row of them.
    pub fn is_apart(&self) -> bool {
        self.is_alone() && !(self.workload.is_cube() && self.places.is_some())
    }

    /// Prices the job with these constants.
    pub fn predict(&self, soc: &Soc, constants: &Constants) -> Result<Prediction> {
        if let Some(record) = &self.record {
            return Ok(crate::sim::record::price(record, soc)?.corrected(&correction(soc, self.class()).into()));
        }
        let prediction = self.model(soc, constants)?.predict(&self.schedule)?;
        let (time_us, model_us) = (prediction.time_us * self.unit, prediction.model_us * self.unit);
        Ok(Prediction { time_us, model_us, ..prediction })
    }

    fn model(&self, soc: &Soc, constants: &Constants) -> Result<Model> {
        let model = Model::with_constants(&self.workload, soc, constants)?;
        let model = if self.plain { model.with_plain_operands() } else { model };
        let model = match self.cache {
            Some(cache) => model.with_cache(cache),
            None => model,
        };
        let model = match self.missed {
            Some(bytes) => model.with_missed(bytes),
            None => model,
        };
        Ok(match (&self.places, self.apart) {
            (Some(places), Some(bytes)) => model.with_each_placed(bytes, places),
            (Some(places), None) => model.with_operands(places),
            (None, _) => model,
        })
    }
}

fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::Internal { place: "simulate".into(), message: e.to_string() })
}
