//! A record of the subgraph bank: what a network is, and how it is fused and cut.
//!
//! Every structure keeps the fields that are not known here.

use crate::bank::{hash, json};
use crate::status::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A node of a network.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Node {
    /// Ascend operator type.
    pub op: String,
    /// Dimensions of each input, in the device's format; `[-1]` for one that is not connected.
    #[serde(rename = "in")]
    pub inputs: Vec<Vec<i64>>,
    /// Bytes of an element of each input; 0 for one that is not connected.
    #[serde(rename = "dsize")]
    pub element_bytes: Vec<u64>,
    /// Fields that are not known.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A part of a network that is tuned as one; its nodes in topological order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Part {
    /// The nodes.
    #[serde(rename = "struct")]
    pub nodes: Vec<Node>,
    /// Fields that are not known.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// What a network is to the bank.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Feature {
    /// Its parts.
    #[serde(rename = "feature")]
    pub parts: Vec<Part>,
    /// Fields that are not known.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How one part is fused and cut; the lists have one element for each of its nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// Slices of the batch in which the part runs so that its data stays in L2.
    pub cut: Vec<i64>,
    /// Whether the node is fused with its neighbour through L2.
    pub fusion_type: Vec<bool>,
    /// Nodes with the same positive number are one fused operator; a negative one is a node on its own.
    pub scope_id: Vec<i64>,
    /// The fusion passes, each with the scopes it made.
    #[serde(default)]
    pub ub_pass: BTreeMap<String, Vec<i64>>,
    /// Fields that are not known.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How a network is fused and cut.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Strategy {
    /// Name of the network it was found for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_name: Option<String>,
    /// Time of the whole network; nanoseconds, as far as can be told.
    pub end2_end_time: u64,
    /// One group for each part of the feature, in its order.
    #[serde(rename = "group")]
    pub groups: Vec<Group>,
    /// Fields that are not known.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A record of the bank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The number under which it is kept.
    pub graph_id: u64,
    /// What it is for.
    pub feature: Feature,
    /// What it says.
    pub strategy: Strategy,
    /// Fields that are not known.
    pub other: Map<String, Value>,
}

impl Feature {
    /// Our own number of a network: FNV-1a, 64 bits, over the feature as JSON with sorted keys and no blanks.
    /// How CANN makes its `graphID` is not public.
    ///
    /// Fails with [`Error::Internal`] should a feature not be JSON.
    pub fn graph_id(&self) -> Result<u64> {
        Ok(hash::digest(json::to_sorted_text(&value(self)?).as_bytes()))
    }

    /// What CANN's feature of the same network holds: without the fields that CANN does not know.
    #[must_use]
    pub fn bare(&self) -> Feature {
        let node = |node: &Node| Node { other: Map::new(), ..node.clone() };
        let part = |part: &Part| Part { nodes: part.nodes.iter().map(node).collect(), other: Map::new() };
        Feature { parts: self.parts.iter().map(part).collect(), other: Map::new() }
    }
}

impl Record {
    /// A record under our own number.
    pub fn new(feature: Feature, strategy: Strategy) -> Result<Record> {
        Ok(Record { graph_id: feature.graph_id()?, feature, strategy, other: Map::new() })
    }

    /// How reports name the record: the number in decimal digits.
    pub fn repo_key(&self) -> String {
        self.graph_id.to_string()
    }

    /// Whether feature and strategy fit each other. Fails with [`Error::Param`], which names the part, the
    /// node and the list.
    pub fn check(&self) -> Result<()> {
        self.misfit().map_or(Ok(()), |reason| Err(Error::param("record", reason)))
    }

    /// What does not fit, if something does not.
    pub(super) fn misfit(&self) -> Option<String> {
        let (parts, groups) = (&self.feature.parts, &self.strategy.groups);
        if parts.is_empty() {
            return Some("`feature` has no part".into());
        }
        if parts.len() != groups.len() {
            return Some(format!("{} parts in `feature`, but {} in `group`", parts.len(), groups.len()));
        }
        parts.iter().zip(groups).enumerate().find_map(|(index, (part, group))| {
            let count = part.nodes.len();
            if count == 0 {
                return Some(format!("part {index} has no node"));
            }
            let uneven = part.nodes.iter().enumerate().find(|(_, n)| n.inputs.len() != n.element_bytes.len());
            if let Some((at, node)) = uneven {
                let (inputs, sizes) = (node.inputs.len(), node.element_bytes.len());
                return Some(format!("part {index}, node {at}: {inputs} inputs in `in`, but {sizes} in `dsize`"));
            }
            let lists =
                [("cut", group.cut.len()), ("fusionType", group.fusion_type.len()), ("scopeId", group.scope_id.len())];
            let wrong = lists.into_iter().find(|(_, length)| *length != count);
            wrong.map(|(name, length)| format!("part {index}: {count} nodes, but {length} elements in `{name}`"))
        })
    }

    /// The record as an object.
    pub(super) fn fields(&self) -> Result<Map<String, Value>> {
        let mut fields = self.other.clone();
        fields.insert("feature".into(), value(&self.feature)?);
        fields.insert("graphID".into(), self.repo_key().into());
        fields.insert("strategy".into(), value(&self.strategy)?);
        Ok(fields)
    }

    /// The record of an object; an error names the field.
    pub(super) fn of(mut fields: Map<String, Value>) -> Result<Record, String> {
        let mut take = |name: &str| fields.remove(name).ok_or_else(|| format!("`{name}` is missing"));
        let (id, feature, strategy) = (take("graphID")?, take("feature")?, take("strategy")?);
        let number = id.as_str().and_then(json::decimal).ok_or_else(|| format!("`graphID` cannot be {id}"))?;
        let record = Record {
            graph_id: number,
            feature: typed("feature", feature)?,
            strategy: typed("strategy", strategy)?,
            other: fields,
        };
        record.misfit().map_or(Ok(record), Err)
    }
}

fn typed<T: serde::de::DeserializeOwned>(name: &str, value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|e| match e.path().iter().next() {
        Some(_) => format!("`{name}.{}`: {}", e.path(), e.inner()),
        None => format!("`{name}`: {}", e.inner()),
    })
}

fn value(of: &impl Serialize) -> Result<Value> {
    serde_json::to_value(of).map_err(|e| Error::Internal { place: "subgraph bank".into(), message: e.to_string() })
}
