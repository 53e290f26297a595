//! What one tuning call works on, understood and not yet begun.

use super::profiling::Profiling;
use super::settings::Settings;
use super::tuned_graph::TunedGraph;
use crate::backend::Backend;
use crate::bank::BankPaths;
use crate::tune::Variant;

/// What one tuning call works on, understood and not yet begun.
pub struct Work {
    pub settings: Settings,
    pub backend: Box<dyn Backend>,
    pub variants: Vec<Variant>,
    /// The graph that was given, to which what is found will go back, once for each variant.
    pub tuned: Vec<TunedGraph>,
    pub profiling: Option<Profiling>,
    /// The operator bank, or the subgraph bank where subgraphs alone are tuned.
    pub bank: BankPaths,
}
