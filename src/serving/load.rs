//! What is asked of a served model: batches, prompts, contexts; and the steps in which prompts are read.

use super::expand::Step;
use crate::status::{Error, Result};
use serde::Serialize;

/// Most sequences of a batch.
const MOST_SEQUENCES: u64 = 1 << 16;
/// Most tokens of a sequence.
const MOST_TOKENS: u64 = 1 << 22;
/// Fewest tokens of a step, and most steps for a prompt.
const LEAST_STEP: u64 = 128;
const MOST_PIECES: u64 = 1024;
/// Most combinations of batch and length.
const MOST_POINTS: usize = 4096;

/// Batches and lengths to be priced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Load {
    /// Sequences served at a time by each group of devices.
    pub batches: Vec<u64>,
    /// Tokens of a prompt.
    pub prompts: Vec<u64>,
    /// Tokens that attention looks back over while output is made.
    pub contexts: Vec<u64>,
}

impl Load {
    /// Fails with [`Error::Option`] for nothing, for too much, and for numbers that cannot be.
    pub fn check(&self, step_tokens: u64) -> Result<()> {
        if !(LEAST_STEP..=MOST_TOKENS).contains(&step_tokens) {
            return Err(Error::option(
                "step_tokens",
                format!("{step_tokens} is not from {LEAST_STEP} to {MOST_TOKENS}"),
            ));
        }
        let lists = [
            ("batch", &self.batches, MOST_SEQUENCES),
            ("prompt", &self.prompts, MOST_TOKENS),
            ("context", &self.contexts, MOST_TOKENS),
        ];
        for (option, numbers, most) in lists {
            if numbers.is_empty() {
                return Err(Error::option(option, "names no number"));
            }
            if let Some(wrong) = numbers.iter().find(|number| !(1..=most).contains(*number)) {
                return Err(Error::option(option, format!("{wrong} is not from 1 to {most}")));
            }
        }
        if let Some(long) = self.prompts.iter().find(|prompt| prompt.div_ceil(step_tokens) > MOST_PIECES) {
            let reason =
                format!("{long} tokens in steps of {step_tokens} (step_tokens) are more than {MOST_PIECES} steps");
            return Err(Error::option("prompt", reason));
        }
        let points = self.batches.len() * self.prompts.len().max(self.contexts.len());
        if points > MOST_POINTS {
            return Err(Error::option(
                "batch",
                format!("{points} combinations of batch and length are more than {MOST_POINTS}"),
            ));
        }
        Ok(())
    }
}

/// How a batch of prompts is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reading {
    /// So many whole prompts at a time: full steps, and one of the rest where there is a rest.
    Whole {
        /// A full step, and how often it is made.
        full: (Step, u64),
        /// The last one.
        rest: Option<Step>,
    },
    /// Each prompt by itself, in pieces.
    Pieces(Vec<Step>),
}

impl Reading {
    /// A step takes as many whole prompts as it has room for, or a piece of one that is longer.
    pub fn of(batch: u64, prompt: u64, step_tokens: u64) -> Reading {
        if prompt <= step_tokens {
            let at_a_time = (step_tokens / prompt).min(batch);
            let rest = batch % at_a_time;
            let full = (Step::prefill(at_a_time, prompt, prompt), batch / at_a_time);
            return Reading::Whole { full, rest: (rest > 0).then(|| Step::prefill(rest, prompt, prompt)) };
        }
        let piece = |at: u64| {
            let end = ((at + 1) * step_tokens).min(prompt);
            Step::prefill(1, end - at * step_tokens, end)
        };
        Reading::Pieces((0..prompt.div_ceil(step_tokens)).map(piece).collect())
    }

    /// The distinct steps for a batch of so many, each with how often it is made.
    pub fn steps(&self, batch: u64) -> Vec<(Step, u64)> {
        match self {
            Reading::Whole { full, rest } => std::iter::once(*full).chain(rest.map(|rest| (rest, 1))).collect(),
            Reading::Pieces(pieces) => pieces.iter().map(|piece| (*piece, batch)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_of_every_prompt_is_read_once_and_no_step_is_too_large() {
        for (batch, prompt) in [(1, 1), (7, 300), (16, 1000), (3, 8192), (2, 20000), (5, 8193)] {
            let steps = Reading::of(batch, prompt, 8192).steps(batch);
            assert_eq!(steps.iter().map(|(step, count)| step.tokens() * count).sum::<u64>(), batch * prompt);
            assert!(steps.iter().all(|(step, _)| step.tokens() <= 8192 && step.context <= prompt));
        }
    }

    #[test]
    fn a_long_prompt_looks_back_over_its_earlier_pieces() {
        let steps = Reading::of(1, 20000, 8192).steps(1);
        assert_eq!(steps.iter().map(|(step, _)| step.context).collect::<Vec<_>>(), [8192, 16384, 20000]);
    }

    #[test]
    fn nothing_and_too_much_are_refused_by_name() {
        let load = |batches: &[u64], prompts: &[u64]| Load {
            batches: batches.to_vec(),
            prompts: prompts.to_vec(),
            contexts: vec![128],
        };
        for (wrong, named) in [
            (load(&[], &[1]), "batch"),
            (load(&[0], &[1]), "batch"),
            (load(&[1], &[u64::MAX]), "prompt"),
            (load(&vec![1; 5000], &[1]), "5000"),
        ] {
            assert!(wrong.check(8192).unwrap_err().to_string().contains(named));
        }
        load(&[1, 512], &[8192]).check(8192).unwrap();
    }
}
