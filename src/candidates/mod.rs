//! Candidates for kernel authors: which configurations of a tile program fit a part, and the fastest of them by the
//! model. The engine of `AoeCandidates`.
//!
//! A question is JSON: a `case` of the simulator, the `configurations` to choose from (as an autotuner lists them), what
//! the program keeps in each buffer where it says so, and how many are wanted. Without configurations the tilings are
//! those of CANN's own kernel for the case.

mod buffers;
mod configuration;
mod own;
mod product;
#[cfg(test)]
mod tests;
mod vector;

use crate::cases::{Parts, json};
use crate::simulate;
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::Workload;
use buffers::Buffer;
use configuration::Configuration;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Most configurations of a question.
const MOST_CONFIGURATIONS: usize = 100_000;
/// Longest question in bytes.
const LONGEST: usize = 64 << 20;

/// A question as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    case: Map<String, Value>,
    configurations: Option<Vec<Map<String, Value>>>,
    #[serde(default)]
    buffers: Vec<Buffer>,
    #[serde(default = "ten")]
    best: usize,
}

fn ten() -> usize {
    10
}

/// The answer.
#[derive(Debug, Serialize)]
struct Answer {
    /// Configurations that fit the part.
    legal: usize,
    /// The best of them, fastest first.
    best: Vec<Candidate>,
    /// Those that do not, each with the first rule that it breaks.
    illegal: Vec<Illegal>,
}

/// A configuration that fits.
#[derive(Debug, Serialize)]
struct Candidate {
    /// Its place in the question; of tilings that the question did not list none.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
    time_us: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval_us: Option<Value>,
    bound: Value,
    /// The tiling that it comes to; written into the case it has this time.
    schedule: Value,
}

/// One that does not fit.
#[derive(Debug, Serialize)]
struct Illegal {
    index: usize,
    reason: String,
}

/// Answers a question.
///
/// Fails with [`Error::Case`] for one that is malformed, and as [`simulate::price`] does for a case that cannot be priced
/// whatever its tiling.
pub fn candidates(question: &str, parts: &mut Parts) -> Result<String> {
    let wrong = |reason: String| Error::Case { reason };
    if question.len() > LONGEST {
        let length = question.len();
        return Err(wrong(format!(
            "a question of {length} bytes is longer than {LONGEST}: ask for fewer configurations at a time"
        )));
    }
    let value = json(question).map_err(|e| wrong(format!("no JSON as a question has it: {e}")))?;
    let asked: Question =
        serde_path_to_error::deserialize(value).map_err(|e| wrong(format!("`{}`: {}", e.path(), e.inner())))?;
    let named = asked.case.get("soc").and_then(Value::as_str);
    let soc = parts.of(named)?.0.clone();
    let mut parts = Parts::only(soc.clone());
    let case = Value::Object(asked.case).to_string();
    // Whatever is wrong with the case itself is told once.
    let job = simulate::read(&case, &soc)?;
    let answer = match asked.configurations {
        None => own::best_of(&job, &case, asked.best, &mut parts)?,
        Some(list) if list.len() > MOST_CONFIGURATIONS => {
            let count = list.len();
            return Err(wrong(format!(
                "`configurations`: {count} are more than {MOST_CONFIGURATIONS}: ask for fewer at a time"
            )));
        }
        Some(list) => {
            let program = Program { workload: &job.workload, case: &case, buffers: &asked.buffers, soc: &soc };
            program.choose(&list, asked.best, &mut parts)
        }
    };
    serde_json::to_string(&answer).map_err(|e| Error::Internal { place: "candidates".into(), message: e.to_string() })
}

/// What configurations are for.
struct Program<'a> {
    workload: &'a Workload,
    case: &'a str,
    buffers: &'a [Buffer],
    soc: &'a Soc,
}

impl Program<'_> {
    fn choose(&self, list: &[Map<String, Value>], most: usize, parts: &mut Parts) -> Answer {
        let (mut legal, mut illegal) = (Vec::new(), Vec::new());
        for (index, written) in list.iter().enumerate() {
            match self.schedule(written).and_then(|schedule| priced(self.case, schedule, Some(index), parts)) {
                Ok(candidate) => legal.push(candidate),
                Err(reason) => illegal.push(Illegal { index, reason }),
            }
        }
        best(legal, illegal, most)
    }

    /// The tiling of a configuration, or the rule that it breaks.
    fn schedule(&self, written: &Map<String, Value>) -> std::result::Result<Value, String> {
        if let Workload::Fused(parts) = self.workload
            && parts.iter().filter(|part| part.is_cube()).count() > 1
        {
            return Err(
                "a program of several products, as attention is, has no rules here: ask for each of its products"
                    .to_owned(),
            );
        }
        let configuration = Configuration::read(written)?;
        buffers::check(self.buffers, &configuration, self.soc)?;
        match self.workload.cube() {
            Some(shape) => product::schedule(&shape, &configuration, self.soc),
            None => vector::schedule(self.workload, &configuration, self.buffers, self.soc),
        }
    }
}

/// The fastest first; of equal ones the first of the list.
fn best(mut legal: Vec<Candidate>, illegal: Vec<Illegal>, most: usize) -> Answer {
    legal.sort_by(|a, b| a.time_us.total_cmp(&b.time_us));
    let count = legal.len();
    legal.truncate(most);
    Answer { legal: count, best: legal, illegal }
}

/// A case with this tiling, priced; or why the part cannot run it.
fn priced(
    case: &str,
    schedule: Value,
    index: Option<usize>,
    parts: &mut Parts,
) -> std::result::Result<Candidate, String> {
    let mut fields: Map<String, Value> = serde_json::from_str(case).map_err(|e| e.to_string())?;
    fields.insert("schedule".to_owned(), schedule.clone());
    let answer = simulate::price(&Value::Object(fields).to_string(), parts).map_err(|e| e.to_string())?;
    let mut answer: Map<String, Value> = serde_json::from_str(&answer).map_err(|e| e.to_string())?;
    let time_us = answer.get("time_us").and_then(Value::as_f64).ok_or("the simulator gave no time")?;
    let bound = answer.remove("bound").unwrap_or_default();
    Ok(Candidate { index, time_us, interval_us: answer.remove("interval_us"), bound, schedule })
}
