//! What subgraph tuning found: the plain data that reports are made from.

use super::price::Traffic;
use crate::tune::{BankStatus, Tuning};

/// Result of subgraph tuning.
#[derive(Debug, Clone)]
pub struct SgatOutcome {
    /// What every tuning tells; its backend is the simulator, whatever measures operators.
    pub tuning: Tuning,
    /// The distinct subgraphs, in the order in which they first occur. While tuning runs: those finished so far.
    pub subgraphs: Vec<SubgraphOutcome>,
    /// Time of each variant as CANN runs it by default, in microseconds.
    pub gears_before_us: Vec<f64>,
}

/// Result for one distinct subgraph: all that are the same problem.
#[derive(Debug, Clone)]
pub struct SubgraphOutcome {
    /// Place among the distinct subgraphs, counted from 0.
    pub index: usize,
    /// Where it stands; never empty.
    pub places: Vec<Place>,
    /// Ascend operator types of its kernels.
    pub op_types: Vec<String>,
    /// Names of the nodes of its kernels at the first place.
    pub names: Vec<String>,
    /// Which of its kernels reads the result of which: the maker, then the reader, by their place in `names`.
    pub edges: Vec<[u32; 2]>,
    /// What it is called in the bank.
    pub repo_key: String,
    /// How CANN runs it by default: fused as by its own rules, without cuts.
    pub before: Plan,
    /// Microseconds with the bank's strategy, where the bank had one that fits.
    pub banked_us: Option<f64>,
    /// How it runs now; as the bank has it, or equal to `before`, where nothing better was found.
    pub after: Plan,
    /// Microseconds as CANN will run it: `after` where it reads the record, by default elsewhere. What it runs before it
    /// changes what either finds in L2.
    pub taken_us: f64,
    /// Whether CANN's graph compiler reads its record.
    pub is_read_by_cann: bool,
    /// What this means for the bank.
    pub status: BankStatus,
}

/// One occurrence of a subgraph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Which variant of the graph it belongs to.
    pub variant: usize,
    /// Name of its first node, with the variant's label where there are several variants.
    pub first: String,
    /// Its kernels, counted in that variant.
    pub kernels: std::ops::Range<u32>,
}

/// How a subgraph runs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// Microseconds for the whole batch, of its kernels as they stand in the network, on average over its places. While
    /// tuning runs the time before times what the search saved.
    pub us: f64,
    /// What is launched and moved.
    pub traffic: Traffic,
    /// Its groups, in order.
    pub groups: Vec<PlanGroup>,
}

/// Scopes that run on one part of the batch after the other.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlanGroup {
    /// Parts of the batch; 1 for all at once.
    pub parts: u64,
    /// Names of the nodes of each scope, in order.
    pub scopes: Vec<Vec<String>>,
}

impl SubgraphOutcome {
    /// Occurrences in one run of the network, over all its variants.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Name of the first node of the first occurrence.
    pub fn name(&self) -> &str {
        self.places.first().map_or("", |place| &place.first)
    }
}

impl SgatOutcome {
    /// Time of the whole network as CANN runs it by default, in microseconds.
    pub fn before_us(&self) -> f64 {
        self.subgraphs.iter().fold(0.0, |sum, s| sum + s.before.us * s.count() as f64)
    }

    /// Time of the whole network with all that was found in microseconds, also in records that CANN does not read.
    pub fn after_us(&self) -> f64 {
        self.subgraphs.iter().fold(0.0, |sum, s| sum + s.after.us * s.count() as f64)
    }

    /// Microseconds that CANN takes of what was found.
    pub fn taken_gain_us(&self) -> f64 {
        self.subgraphs.iter().fold(0.0, |sum, s| sum + (s.before.us - s.taken_us) * s.count() as f64)
    }

    /// Number of distinct subgraphs with this status.
    pub fn count(&self, wanted: &BankStatus) -> usize {
        self.subgraphs.iter().filter(|s| &s.status == wanted).count()
    }

    /// The same, of records only those that the bank's file has.
    pub fn count_on_disk(&self, wanted: &BankStatus) -> usize {
        let is_there = |s: &&SubgraphOutcome| !s.status.is_new() || s.index < self.tuning.saved;
        self.subgraphs.iter().filter(|s| &s.status == wanted).filter(is_there).count()
    }

    /// What the network launches and moves before and after.
    pub fn traffic(&self) -> (Traffic, Traffic) {
        let mut sums = (Traffic::default(), Traffic::default());
        for subgraph in &self.subgraphs {
            for _ in 0..subgraph.count() {
                sums.0 += subgraph.before.traffic;
                sums.1 += subgraph.after.traffic;
            }
        }
        sums
    }
}
