//! Cases in, predictions out: the engine of `aoe simulate` and `AoeSimulate`.
//!
//! A case is one JSON object a line: cube work by its sizes and tiling, or any kernel by its operands.
//! Every line gets one answer; a line that cannot be priced gets an error by name.

mod attention;
mod case;
mod conv;
mod deal;
mod exact;
mod explain;
mod fields;
#[cfg(test)]
mod kernel_tests;
mod limits;
mod operands;
mod parts;
mod product;
mod strict;
#[cfg(test)]
mod tests;
mod tiling;
mod transpose;

use crate::lines;
use crate::sim::{Constants, Model, Pipes, Prediction};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::{Schedule, Workload};
use case::Case;
pub use exact::case;
pub use explain::Explanation;
use explain::Trace;
pub use parts::Parts;
use serde::Serialize;
use std::io::{BufRead, Write};

/// Longest line that is read; longer ones get an error answer.
const MAX_LINE_BYTES: usize = 4 << 20;

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
}

/// One line of output.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    id: &'a serde_json::Value,
    time_us: f64,
    pipes: Pipes,
    bound: crate::sim::Bound,
    schedule: &'a Schedule,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Debug, Serialize)]
struct Failure<'a> {
    id: &'a serde_json::Value,
    error: String,
}

/// Reads one case. The schedule is the case's own, or what CANN would choose, on `block_dim` cores where
/// the case says so.
///
/// Fails with [`Error::Case`] for a malformed case, [`Error::Workload`] for sizes that cannot be, and
/// [`Error::IllegalSchedule`] for a tiling that the SoC cannot run.
pub fn read(line: &str, soc: &Soc) -> Result<Job> {
    Case::parse(line)?.job(soc)
}

/// Prices one case and returns its answer, a line of JSON without line break. Fails as [`read`] does, and with
/// [`Error::UnknownSoc`] where the case has to name its SoC and names none that is known.
pub fn price(case: &str, parts: &mut Parts) -> Result<String> {
    let parsed = Case::parse(case)?;
    let (soc, part_note) = parts.of(parsed.soc())?;
    let field_note = parsed.note();
    let job = parsed.job(soc)?;
    let prediction = job.predict(soc, &Constants::FITTED)?;
    let model_note = (!prediction.known).then(|| {
        format!("the model does not know {}: it is priced as the movement of its data", job.workload.op_type())
    });
    let notes: Vec<_> = [part_note.map(str::to_owned), model_note, field_note].into_iter().flatten().collect();
    let note = (!notes.is_empty()).then(|| notes.join("; "));
    let Prediction { time_us, pipes, bound, .. } = prediction;
    if !time_us.is_finite() || time_us <= 0.0 {
        // No number at all is better than one that cannot be.
        return Err(Error::Workload { workload: job.workload.to_string(), reason: "it has no finite time".into() });
    }
    to_json(&Answer { id: &job.id, time_us, pipes, bound, schedule: &job.schedule, note })
}

/// The answer to one case line: [`price`], or what is wrong with the case.
pub fn answer(line: &str, parts: &mut Parts) -> String {
    price(line, parts).unwrap_or_else(|error| failure(&case::id_of(line), error.to_string()))
}

fn failure(id: &serde_json::Value, error: String) -> String {
    to_json(&Failure { id, error }).unwrap_or_default()
}

/// How many lines had cases, and how many of these got errors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Cases, one answer each.
    pub cases: u64,
    /// Answers that are errors.
    pub failed: u64,
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
    let mut line = Vec::new();
    let mut count = Count::default();
    let mut number: u64 = 0;
    let mut trace = Trace::default();
    while let Some(kind) = lines::next(cases, &mut line, MAX_LINE_BYTES)? {
        number += 1;
        let case = match text(&line, &kind, number) {
            Ok("") => continue,
            case => case,
        };
        count.cases += 1;
        let mut fail = |error: Error| {
            count.failed += 1;
            format!("line {number}: {error}")
        };
        match form {
            Form::Answers => {
                let answer = case.and_then(|case| price(case, parts)).unwrap_or_else(|error| {
                    let id = std::str::from_utf8(&line).map_or(serde_json::Value::Null, case::id_of);
                    failure(&id, fail(error))
                });
                answers.write_all(answer.as_bytes())?;
                answers.write_all(b"\n")?;
            }
            Form::Text => {
                let text = case.and_then(|case| explain(case, parts)).map(|e| e.text());
                answers.write_all(text.unwrap_or_else(|error| fail(error) + "\n\n").as_bytes())?;
            }
            Form::Trace => match case.and_then(|case| explain(case, parts)) {
                Ok(explanation) => trace.add(&explanation, answers)?,
                Err(error) => trace.fail(&fail(error), answers)?,
            },
        }
    }
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
    let notes = note.map(str::to_owned).into_iter().chain(parsed.note()).collect();
    let job = parsed.job(soc)?;
    let timeline = job.model(soc, &Constants::FITTED)?.timeline(&job.schedule)?;
    Ok(Explanation { id: job.id, workload: job.workload.to_string(), soc: soc.name.clone(), notes, timeline })
}

/// The text of a line, without blanks around it.
fn text<'a>(line: &'a [u8], kind: &lines::Line, number: u64) -> Result<&'a str> {
    if let lines::Line::TooLong(bytes) = kind {
        return Err(case::wrong(format!("{bytes} bytes are more than the {MAX_LINE_BYTES} that a case may have")));
    }
    if number == 1 && line.starts_with(&[0x1f, 0x8b]) {
        return Err(case::wrong("the input is compressed by gzip; pass it through `gzip -dc`"));
    }
    let line = if number == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
    let text = std::str::from_utf8(line)
        .map_err(|e| case::wrong(format!("it is not UTF-8 text (byte {})", e.valid_up_to() + 1)))?;
    Ok(text.trim_ascii())
}

impl Job {
    /// Prices the job with these constants.
    pub fn predict(&self, soc: &Soc, constants: &Constants) -> Result<Prediction> {
        self.model(soc, constants)?.predict(&self.schedule)
    }

    fn model(&self, soc: &Soc, constants: &Constants) -> Result<Model> {
        let model = Model::with_constants(&self.workload, soc, constants)?;
        Ok(self.missed.map_or(model.clone(), |bytes| model.with_missed(bytes)))
    }
}

fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::Internal { place: "simulate".into(), message: e.to_string() })
}
