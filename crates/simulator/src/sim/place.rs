//! Where each of a kernel's operands lies when it starts.

use super::Cache;

/// Where a kernel's inputs lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places(Vec<Cache>);

impl Places {
    /// The places of the inputs in their order. One alone is for all of them, and those beyond the last lie where it
    /// does; none at all is warm.
    pub fn new(inputs: Vec<Cache>) -> Places {
        Places(inputs)
    }

    /// The place of one input.
    pub fn of(&self, input: usize) -> Cache {
        self.0.get(input).or(self.0.last()).copied().unwrap_or(Cache::Warm)
    }
}
