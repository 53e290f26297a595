//! `Einsum`: sums of products named by letters.

use super::dim::{self, Reason, UNKNOWN};
use super::{Call, Inference, Inferred};
use rustc_hash::FxHashMap;

/// One axis: a letter, or a place in the ellipsis counted from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Label {
    /// An axis that `...` stands for.
    Ellipsis(usize),
    /// A named axis.
    Letter(char),
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Label::Ellipsis(from_end) => write!(f, "{} from the end of `...`", from_end + 1),
            Label::Letter(letter) => write!(f, "`{letter}`"),
        }
    }
}

/// An equation with the ellipsis written out.
#[derive(Debug, Clone, PartialEq)]
pub struct Equation {
    /// Axes of each operand.
    pub inputs: Vec<Vec<Label>>,
    /// Axes of the result.
    pub output: Vec<Label>,
}

impl Equation {
    /// Reads an equation for operands of these ranks.
    pub fn parse(text: &str, ranks: &[usize]) -> Result<Equation, Reason> {
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match text.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (text.as_str(), None),
        };
        let terms: Vec<_> = left.split(',').collect();
        if terms.len() != ranks.len() {
            return Err(format!("equation `{text}` has {} operands, the node {}", terms.len(), ranks.len()));
        }
        let inputs = terms.iter().zip(ranks).map(|(term, &rank)| labels(term, Some(rank)));
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let dots = inputs.iter().flatten().filter_map(|l| if let Label::Ellipsis(i) = l { Some(i + 1) } else { None });
        let dots = dots.max().unwrap_or(0);
        let output = match right {
            Some(term) => {
                let letters = term.chars().filter(|c| *c != '.').count();
                labels(term, term.contains("...").then_some(letters + dots))?
            }
            None => implicit_output(&inputs, dots),
        };
        if let Some(l) = output.iter().find(|l| !inputs.iter().flatten().any(|i| i == *l)) {
            return Err(format!("equation `{text}` has axis {l} in its result only"));
        }
        let repeated = output.iter().enumerate().find(|(at, label)| output[..*at].contains(label));
        if let Some((_, label)) = repeated {
            return Err(format!("equation `{text}` has axis {label} twice in its result"));
        }
        Ok(Equation { inputs, output })
    }

    /// Size of every label, agreed between the operands.
    pub fn sizes(&self, operands: &[&[i64]]) -> Result<FxHashMap<Label, i64>, Reason> {
        let mut sizes = FxHashMap::default();
        for (labels, dims) in self.inputs.iter().zip(operands) {
            for (&label, &size) in labels.iter().zip(*dims) {
                let known = sizes.entry(label).or_insert(1);
                *known = dim::broadcast(&[*known], &[size])
                    .map_err(|_| format!("axis {label} has sizes {known} and {size}"))?[0];
            }
        }
        Ok(sizes)
    }
}

/// The axes of one term; `rank` says how many axes an ellipsis fills.
fn labels(term: &str, rank: Option<usize>) -> Result<Vec<Label>, Reason> {
    let bad = || {
        let axes = rank.map(|rank| format!(" for {rank} axes")).unwrap_or_default();
        format!("`{term}` is no term of an equation{axes}")
    };
    let (head, tail) = term.split_once("...").unwrap_or((term, ""));
    if !head.chars().chain(tail.chars()).all(char::is_alphabetic) {
        return Err(bad());
    }
    let letters = head.chars().count() + tail.chars().count();
    let dots = match rank {
        Some(rank) if term.contains("...") => rank.checked_sub(letters).ok_or_else(bad)?,
        Some(rank) if rank != letters => return Err(bad()),
        _ => 0,
    };
    let ellipsis = (0..dots).rev().map(Label::Ellipsis);
    Ok(head.chars().map(Label::Letter).chain(ellipsis).chain(tail.chars().map(Label::Letter)).collect())
}

/// Without an arrow, the result has the ellipsis and then every letter that occurs once, sorted.
fn implicit_output(inputs: &[Vec<Label>], dots: usize) -> Vec<Label> {
    let mut counts: std::collections::BTreeMap<char, usize> = std::collections::BTreeMap::new();
    for label in inputs.iter().flatten() {
        if let Label::Letter(c) = label {
            *counts.entry(*c).or_default() += 1;
        }
    }
    let single = counts.into_iter().filter(|(_, n)| *n == 1).map(|(c, _)| Label::Letter(c));
    (0..dots).rev().map(Label::Ellipsis).chain(single).collect()
}

/// `Einsum` with attribute `equation`.
pub(crate) fn einsum(call: &Call<'_>) -> Inference {
    let dtype = call.need(0)?.dtype;
    let text = call.str("equation").ok_or("it has no `equation`")?;
    let operands: Option<Vec<_>> = call.connected().map(|(_, d)| d.shape.dims()).collect();
    let Some(operands) = operands else { return Inferred::unknown(dtype) };
    let equation = Equation::parse(text, &operands.iter().map(|d| d.len()).collect::<Vec<_>>())?;
    let sizes = equation.sizes(&operands)?;
    let output = equation.output.iter().map(|l| sizes.get(l).copied().unwrap_or(UNKNOWN));
    Inferred::dims(dtype, output.collect::<Vec<_>>())
}
