//! What a report is about: the outcomes of the jobs of one tuning.

use crate::tune::OpatOutcome;
use crate::tune::gdat::GdatOutcome;
use crate::tune::sgat::SgatOutcome;
use std::time::Duration;

/// What was tuned so far: subgraphs, operators, or first the ones and then the others; or gradients.
#[derive(Debug, Clone, Copy)]
pub enum Tuned<'a> {
    /// Gradients.
    Gradients(&'a GdatOutcome),
    /// Subgraphs alone.
    Subgraphs(&'a SgatOutcome),
    /// Operators; those of the network as subgraph tuning left it, where that ran before.
    Operators(Option<&'a SgatOutcome>, &'a OpatOutcome),
}

impl<'a> Tuned<'a> {
    /// What was found of the subgraphs, where they were tuned.
    pub fn subgraphs(self) -> Option<&'a SgatOutcome> {
        match self {
            Tuned::Subgraphs(subgraphs) => Some(subgraphs),
            Tuned::Operators(subgraphs, _) => subgraphs,
            Tuned::Gradients(_) => None,
        }
    }

    /// What was found of the operators, where they were tuned.
    pub fn operators(self) -> Option<&'a OpatOutcome> {
        match self {
            Tuned::Subgraphs(_) | Tuned::Gradients(_) => None,
            Tuned::Operators(_, operators) => Some(operators),
        }
    }

    /// What was found of the gradients, where they were tuned.
    pub fn gradients(self) -> Option<&'a GdatOutcome> {
        if let Tuned::Gradients(gradients) = self { Some(gradients) } else { None }
    }

    /// Time of the network before and after all of it; of gradients, of the step until they are exchanged.
    ///
    /// Operator tuning begins with the kernels that subgraph tuning left, and with the tilings that the bank has
    /// for them: before both the network took so much, and what subgraph tuning saved. A device's times and the
    /// simulator's have no sum: where a device measured the operators, the times are theirs.
    pub fn times_us(self) -> (f64, f64) {
        match self {
            Tuned::Gradients(gradients) => gradients.times_us(),
            Tuned::Subgraphs(subgraphs) => (subgraphs.before_us(), subgraphs.after_us()),
            Tuned::Operators(Some(subgraphs), operators) if operators.backend.name == subgraphs.pricer.name => {
                let (before, after) = (operators.before_us(), operators.after_us());
                // Operators that were not dealt with yet are as subgraph tuning left them.
                let left = if operators.finished { before } else { subgraphs.after_us() };
                (left + subgraphs.before_us() - subgraphs.after_us(), left + after - before)
            }
            Tuned::Operators(_, operators) => (operators.before_us(), operators.after_us()),
        }
    }

    /// Time that the tuning took so far.
    pub fn elapsed(self) -> Duration {
        match self {
            Tuned::Gradients(gradients) => gradients.elapsed,
            Tuned::Subgraphs(subgraphs) => subgraphs.elapsed,
            Tuned::Operators(subgraphs, operators) => {
                operators.elapsed + subgraphs.map_or(Duration::ZERO, |outcome| outcome.elapsed)
            }
        }
    }
}
