//! Ask/tell optimisers over value indices. A search knows how many values each parameter has and
//! which combinations are legal, nothing about tensors or operators.

/// What a search may know of a space.
pub trait Domain: Sync {
    /// Number of values of each parameter.
    fn sizes(&self) -> &[u32];

    /// Whether this full configuration (one value index for each parameter) is legal.
    fn is_legal(&self, configuration: &[u32]) -> bool;

    /// Whether some legal configuration may start with these values. May answer true too often, never
    /// false wrongly; the better the answer, the faster sampling is.
    fn may_extend(&self, prefix: &[u32]) -> bool {
        let _ = prefix;
        true
    }
}

/// How a measurement ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome {
    /// Measured, with this cost (smaller is better).
    Cost(f64),
    /// Could not be measured.
    Failed,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The budget of measurements is used up.
    Budget,
    /// The time limit has passed.
    TimeLimit,
    /// Every legal configuration was measured.
    Exhausted,
    /// The algorithm expects no further gain.
    Converged,
    /// The caller asked to stop.
    Cancelled,
}

/// Which optimiser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// The best mix known.
    #[default]
    Auto,
    /// Uniform sampling without repeats.
    Random,
    /// Genetic search.
    Genetic,
}
