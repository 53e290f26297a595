//! What reports are about: the outcomes of the jobs of one tuning.

use super::gdat::GdatOutcome;
use super::outcome::{OpatOutcome, Tuning};
use super::sgat::SgatOutcome;
use std::time::Duration;

/// What was tuned so far: subgraphs, operators, or first the ones and then the others; or gradients.
#[derive(Debug, Clone, Copy)]
pub enum Tuned<'a> {
    /// Gradients.
    Gradients(&'a GdatOutcome),
    /// Subgraphs alone.
    Subgraphs(&'a SgatOutcome),
    /// Operators; those of the network with the strategies that CANN reads, where subgraphs were tuned before.
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
    /// Operator tuning begins with the network as CANN runs it with the strategies that it reads: what both save adds up. A
    /// device's times and the simulator's have no sum: where a device measured the operators, the times are theirs.
    pub fn times_us(self) -> (f64, f64) {
        match self {
            Tuned::Gradients(gradients) => gradients.times_us(),
            Tuned::Subgraphs(subgraphs) => {
                let before_us = subgraphs.before_us();
                (before_us, before_us - subgraphs.taken_gain_us())
            }
            Tuned::Operators(_, operators) => {
                let Some(subgraphs) = self.alike_subgraphs() else {
                    return (operators.before_us(), operators.taken_us());
                };
                let (before_us, after_us) = Tuned::Subgraphs(subgraphs).times_us();
                (before_us, after_us - (operators.before_us() - operators.taken_us()))
            }
        }
    }

    /// Time with all that was found, also in records that CANN does not read. The strategies and the tilings among these
    /// are each found for the network as CANN runs it, and need not go together: of both those that save more.
    pub fn found_us(self) -> f64 {
        if let Tuned::Gradients(gradients) = self {
            return gradients.best_us();
        }
        let (_, taken_us) = self.times_us();
        let strategies = self.alike_subgraphs().map_or(0.0, |subgraphs| {
            let (_, after_us) = Tuned::Subgraphs(subgraphs).times_us();
            after_us - subgraphs.after_us()
        });
        let tilings = self.operators().map_or(0.0, |operators| operators.taken_us() - operators.after_us());
        taken_us - strategies.max(tilings)
    }

    /// The subgraphs, where their times are of the same kind as those of the operators.
    pub fn alike_subgraphs(self) -> Option<&'a SgatOutcome> {
        let backend = self.operators().map(|operators| &operators.tuning.backend.name);
        self.subgraphs().filter(|subgraphs| backend.is_none_or(|name| *name == subgraphs.tuning.backend.name))
    }

    /// What is known of the last job's tuning.
    pub fn tuning(self) -> &'a Tuning {
        match self {
            Tuned::Gradients(gradients) => &gradients.tuning,
            Tuned::Subgraphs(subgraphs) => &subgraphs.tuning,
            Tuned::Operators(_, operators) => &operators.tuning,
        }
    }

    /// The same behind the job that was done before it.
    #[must_use]
    pub fn behind(self, earlier: Option<&'a SgatOutcome>) -> Tuned<'a> {
        if let Tuned::Operators(_, operators) = self { Tuned::Operators(earlier, operators) } else { self }
    }

    /// Whether it ended before anything was dealt with.
    pub fn is_empty(self) -> bool {
        match self {
            Tuned::Operators(Some(_), _) => false,
            last => !last.tuning().finished && last.has_nothing(),
        }
    }

    /// Whether the last job has dealt with nothing.
    pub fn has_nothing(self) -> bool {
        match self {
            Tuned::Gradients(gradients) => gradients.found.is_none(),
            Tuned::Subgraphs(subgraphs) => subgraphs.subgraphs.is_empty(),
            Tuned::Operators(_, operators) => operators.cases.is_empty(),
        }
    }

    /// Time that all jobs took so far.
    pub fn elapsed(self) -> Duration {
        let earlier = if let Tuned::Operators(earlier, _) = self { earlier } else { None };
        self.tuning().elapsed + earlier.map_or(Duration::ZERO, |outcome| outcome.tuning.elapsed)
    }
}
