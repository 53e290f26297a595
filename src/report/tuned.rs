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

    /// Time of the network as CANN runs it by default, and with what it will take of all that was found; of gradients, of
    /// the step until they are exchanged.
    ///
    /// Operator tuning begins with the kernels that subgraph tuning left: by default the network takes as long as these do
    /// by default, and what subgraph tuning saved. A device's times and the simulator's have no sum: where a device
    /// measured the operators, the times are theirs.
    pub fn times_us(self) -> (f64, f64) {
        self.times(OpatOutcome::taken_us, SgatOutcome::taken_gain_us)
    }

    /// The same with all that was found, also in records that CANN does not read.
    pub fn found_us(self) -> f64 {
        self.times(OpatOutcome::after_us, |outcome| outcome.before_us() - outcome.after_us()).1
    }

    fn times(self, after: fn(&OpatOutcome) -> f64, saved: fn(&SgatOutcome) -> f64) -> (f64, f64) {
        match self {
            Tuned::Gradients(gradients) => gradients.times_us(),
            Tuned::Subgraphs(subgraphs) => (subgraphs.before_us(), subgraphs.before_us() - saved(subgraphs)),
            Tuned::Operators(Some(subgraphs), operators) if operators.backend.name == subgraphs.pricer.name => {
                // Operators that were not dealt with yet are as subgraph tuning left them.
                let left = if operators.finished { operators.before_us() } else { subgraphs.after_us() };
                let before = left + subgraphs.before_us() - subgraphs.after_us();
                (before, before - saved(subgraphs) - (operators.before_us() - after(operators)))
            }
            Tuned::Operators(_, operators) => (operators.before_us(), after(operators)),
        }
    }

    /// Name of the network.
    pub fn graph(self) -> &'a str {
        match self {
            Tuned::Gradients(gradients) => &gradients.graph,
            Tuned::Subgraphs(subgraphs) => &subgraphs.graph,
            Tuned::Operators(_, operators) => &operators.graph,
        }
    }

    /// Whether all was dealt with.
    pub fn finished(self) -> bool {
        match self {
            Tuned::Gradients(gradients) => gradients.finished,
            Tuned::Subgraphs(subgraphs) => subgraphs.finished,
            Tuned::Operators(_, operators) => operators.finished,
        }
    }

    /// Whether it ended before anything was dealt with.
    pub fn is_empty(self) -> bool {
        match self {
            Tuned::Gradients(gradients) => !gradients.finished && gradients.found.is_none(),
            Tuned::Subgraphs(subgraphs) => !subgraphs.finished && subgraphs.subgraphs.is_empty(),
            Tuned::Operators(None, operators) => !operators.finished && operators.cases.is_empty(),
            Tuned::Operators(Some(_), _) => false,
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
