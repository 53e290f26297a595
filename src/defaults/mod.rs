//! Cases in, CANN's default tilings out: the engine of `aoe tiling` and `AoeTiling`.
//!
//! A case is one of `aoe simulate`; of it the operator, its operands and attributes count. Where CANN's rules are
//! public the answer holds what its host code chooses, by CANN's names. Where they are closed it is an estimate and
//! says so.

mod conv;
mod estimate;
mod knowledge;
mod product;
#[cfg(test)]
mod tests;
mod text;
mod vector;

use crate::cases::{Case, Count, Parts, check_types, stream, wrong};
use crate::graph::op;
use crate::soc::Soc;
use crate::spelling::{beginning, nearest};
use crate::status::{Error, Result};
use crate::workload::Workload;
use knowledge::Knowledge;
use serde::Serialize;
use serde_json::Value;
use std::io::{BufRead, Write};

/// A rule: its name, and what it says.
type Rule = (&'static str, &'static str);

/// What CANN chooses for a kernel.
#[derive(Debug, Clone, PartialEq)]
struct Tiling {
    /// The operator whose host code chooses.
    op: String,
    /// Which of its kernels.
    template: String,
    /// The numbers by CANN's names.
    knowledge: Knowledge,
    /// Whether vector cores rewrite A and B first; of products only.
    nd2nz: Option<[bool; 2]>,
    /// Whether all rules that decided are public.
    public: bool,
    rules: Vec<Rule>,
    note: Option<&'static str>,
}

/// One line of output.
#[derive(Serialize)]
struct Answer<'a> {
    id: &'a Value,
    op: &'a str,
    template: &'a str,
    knowledge: &'a Knowledge,
    #[serde(skip_serializing_if = "Option::is_none")]
    nd2nz: Option<[u8; 2]>,
    default: &'static str,
    rules: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Answers one case with CANN's default tiling, a line of JSON without line break.
///
/// Fails with [`Error::Case`] for a malformed case and for an operator that is not known, [`Error::Workload`] for
/// sizes that cannot be, and [`Error::UnknownSoc`] where the case has to name its SoC and names none that is known.
pub fn tiling(case: &str, parts: &mut Parts) -> Result<String> {
    let asked = Asked::read(case, parts)?;
    let Asked { case, tiling, note } = &asked;
    let answer = Answer {
        id: &case.id,
        op: &tiling.op,
        template: &tiling.template,
        knowledge: &tiling.knowledge,
        nd2nz: tiling.nd2nz.map(|flags| flags.map(u8::from)),
        default: if tiling.public { "public" } else { "estimated" },
        rules: tiling.rules.iter().map(|rule| rule.0).collect(),
        note: note.clone(),
    };
    serde_json::to_string(&answer).map_err(|e| Error::Internal { place: "defaults".into(), message: e.to_string() })
}

/// The answer to one case line: [`tiling`], or what is wrong with the case.
pub fn answer(line: &str, parts: &mut Parts) -> String {
    tiling(line, parts).unwrap_or_else(|error| stream::failure(&crate::cases::id_of(line), &error.to_string()))
}

/// Which rules decided a case's default tiling, in words of at most 100 columns. Fails as [`tiling`] does.
pub fn explain(case: &str, parts: &mut Parts) -> Result<String> {
    let asked = Asked::read(case, parts)?;
    Ok(text::explanation(&asked.case.id, &asked.tiling, asked.note.as_deref()))
}

/// What is written of each case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The answer, a line of JSON.
    Answers,
    /// Which rules decided, in words.
    Text,
}

/// Answers every line of `cases` in order; empty lines get no answer. An error answer names its line.
///
/// Fails only when reading or writing does.
pub fn run(cases: &mut dyn BufRead, answers: &mut dyn Write, parts: &mut Parts, form: Form) -> std::io::Result<Count> {
    let count = stream::each(cases, |case, place| match form {
        Form::Answers => stream::write_answer(answers, case.and_then(|case| tiling(case, parts)), place),
        Form::Text => {
            let text = case.and_then(|case| explain(case, parts));
            let explained = text.is_ok();
            answers.write_all(text.unwrap_or_else(|error| place.words(&error) + "\n\n").as_bytes())?;
            Ok(explained)
        }
    })?;
    answers.flush()?;
    Ok(count)
}

/// A case with its tiling.
struct Asked {
    case: Case,
    tiling: Tiling,
    note: Option<String>,
}

impl Asked {
    fn read(line: &str, parts: &mut Parts) -> Result<Asked> {
        let case = Case::parse(line)?;
        let (soc, part_note) = parts.of(case.soc())?;
        let tiling = default(&case, soc)?;
        let notes = [part_note.map(str::to_owned), tiling.note.map(str::to_owned), case.note_but(&["attrs"])];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        let note = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(Asked { case, tiling, note })
    }
}

/// The default tiling of a case's kernel on a part: the one place that says which rules an operator has.
fn default(case: &Case, soc: &Soc) -> Result<Tiling> {
    if case.is_exact()
        && !matches!(case.workload(soc)?, Workload::MatMul(_) | Workload::Vector(_) | Workload::Reduce(_))
    {
        return estimate::workload(case, soc);
    }
    match case.op.as_str() {
        "MatMul" | "MatMulV3" | "BatchMatMul" | "BatchMatMulV3" => product::float(case, soc),
        "QuantBatchMatmulV3" | "QuantBatchMatMulV3" => product::quant(case, soc),
        "Conv3D" | "Conv3DV2" => conv::conv3d(case, soc),
        "MatMulV2" | "BatchMatMulV2" => product::tbe(case, soc),
        name if name.contains("MatMul") || name.contains("Matmul") => estimate::workload(case, soc),
        name if name.starts_with("FusionOp_") => estimate::workload(case, soc),
        name => match op::family(name) {
            Some(family) => vector::of_kind(case, family.kind, soc),
            None => Err(unknown(name)),
        },
    }
}

fn unknown(name: &str) -> Error {
    let near = nearest(name, op::known_types()).map(|n| format!("; did you mean {n}?")).unwrap_or_default();
    wrong(format!("`op`: no operator {} is known, so neither is its tiling{near}", beginning(name)))
}

/// Refuses cube work that the part cannot do.
fn check(workload: &Workload, soc: &Soc) -> Result<()> {
    check_types(workload, soc)
}
