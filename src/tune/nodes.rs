//! Nodes of the network, as outcomes and reports name them.

use crate::graph::NodeId;
use crate::lower::Priced;

/// A node of the graph, as reports name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TunedNode {
    /// Name of the node, with the variant's label where there are several variants.
    pub name: String,
    /// Which variant of the graph it belongs to.
    pub variant: usize,
    /// The node in that variant.
    pub id: NodeId,
    /// Ascend operator type.
    pub op_type: String,
    /// Times that its kernel is launched for one run of the network.
    pub launches: u32,
}

/// Why an operator runs no kernel that has a time, where the reader of the model says nothing else.
pub const UNKNOWN: &str = "how its operator works is not known";

/// A node of which it is not known how its operator works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedKernel {
    /// Name of the node.
    pub name: String,
    /// What the framework calls the operator.
    pub origin_type: String,
    /// Whether a time of it counts: that of [`Priced::Movement`], or none.
    pub priced: Priced,
    /// Why it is no operator of Ascend's, where the reader knew.
    pub reason: Option<String>,
}

impl SkippedKernel {
    /// Which node it is and why it is none of Ascend's, in words.
    pub fn in_words(&self) -> String {
        let Self { name, origin_type, .. } = self;
        let why = self.reason.as_deref().unwrap_or(UNKNOWN);
        format!("node `{name}` ({origin_type}): {why}")
    }
}
