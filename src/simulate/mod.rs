//! Cases in, predictions out: the engine of `aoe simulate` and `AoeSimulate`.
//!
//! A case is one JSON object a line: cube work by its sizes and tiling, or any kernel by its operands.
//! Every line gets one answer; a line that cannot be priced gets an error by name.

mod attention;
mod case;
mod conv;
mod deal;
mod operands;
mod product;
mod tiling;

use crate::sim::{Constants, Model, Pipes, Prediction};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::{Schedule, Workload};
use case::Case;
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
/// Fails with [`Error::Param`] for a malformed case, [`Error::Workload`] for sizes that cannot be, and
/// [`Error::IllegalSchedule`] for a tiling that the SoC cannot run.
pub fn read(line: &str, soc: &Soc) -> Result<Job> {
    Case::parse(line)?.job(soc)
}

/// Prices one case line and returns its answer line, without line break. Never fails: what is wrong with a
/// case is its answer.
pub fn answer(line: &str, soc: &Soc) -> String {
    let id = case::id_of(line);
    let answered = read(line, soc).and_then(|job| {
        let prediction = job.predict(soc, &Constants::FITTED)?;
        let note = (!prediction.known).then(|| {
            format!("the model does not know {}: it is priced as the movement of its data", job.workload.op_type())
        });
        let Prediction { time_us, pipes, bound, .. } = prediction;
        to_json(&Answer { id: &id, time_us, pipes, bound, schedule: &job.schedule, note })
    });
    match answered {
        Ok(line) => line,
        Err(error) => to_json(&Failure { id: &id, error: error.to_string() }).unwrap_or_default(),
    }
}

/// Answers every line of `cases`; empty lines get no answer. Fails only when reading or writing does.
pub fn run(cases: &mut dyn BufRead, answers: &mut dyn Write, soc: &Soc) -> std::io::Result<()> {
    let mut line = Vec::new();
    while cases.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if line.len() > MAX_LINE_BYTES {
            let error = format!("a case of {} bytes is longer than {MAX_LINE_BYTES}", line.len());
            let failure = Failure { id: &serde_json::Value::Null, error };
            writeln!(answers, "{}", to_json(&failure).unwrap_or_default())?;
        } else if !text.is_empty() {
            writeln!(answers, "{}", answer(text, soc))?;
        }
        line.clear();
    }
    answers.flush()
}

impl Job {
    /// Prices the job with these constants.
    pub fn predict(&self, soc: &Soc, constants: &Constants) -> Result<Prediction> {
        Model::with_constants(&self.workload, soc, constants)?.predict(&self.schedule)
    }
}

fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::Internal { place: "simulate".into(), message: e.to_string() })
}
