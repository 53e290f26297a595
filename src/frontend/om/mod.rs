//! The om container, as a place for a tuned graph.
//!
//! What [`content`] writes has the layout of CANN's om files and holds GE's IR of the graph with
//! what tuning decided: model type IR, the model in partition `MODEL_DEF`, its constants in
//! `WEIGHTS_DATA`. There are no kernels and no tasks in it: it is not a compiled model, and
//! [`USER_INFO`] in the header says so. [`read`] takes such files only.

mod header;
#[cfg(test)]
mod tests;

pub use header::{Header, MAGIC};

use super::air;
use super::content::Content;
use crate::graph::Graph;
use crate::status::{Error, Result};
use header::partition;
use prost::bytes::Bytes;

/// What the header's field for users says of a file of ours.
pub const USER_INFO: &str = "libaoe tuned IR, no kernels";

/// Model type of GE's IR.
const IR: u8 = 0;

/// Whether a file is an om file, of whatever kind.
pub fn is_om(data: &Bytes) -> bool {
    data.starts_with(&MAGIC.to_le_bytes())
}

/// The bytes of the om file of a graph; fails as [`air::content`] does.
pub fn content(graph: &Graph) -> Result<Content> {
    let (model, weights) = air::content_apart(graph)?;
    let mut parts: Vec<(u32, Content)> = [(partition::MODEL_DEF, model), (partition::WEIGHTS_DATA, weights)]
        .into_iter()
        .filter(|(kind, bytes)| *kind == partition::MODEL_DEF || !bytes.is_empty())
        .collect();
    let parts_length = parts.iter().map(|(_, bytes)| bytes.len()).sum::<u64>();
    if parts_length > air::MAX_MESSAGE {
        // Nobody reads a larger one, we neither; a warning says what is left out.
        parts = vec![(partition::MODEL_DEF, air::content(graph)?)];
    }
    let table = header::encode_table(&parts.iter().map(|(kind, bytes)| (*kind, bytes.len())).collect::<Vec<_>>());
    let length = table.len() as u64 + parts.iter().map(|(_, bytes)| bytes.len()).sum::<u64>();
    let header = Header {
        length: u32::try_from(length).unwrap_or(u32::MAX),
        is_encrypt: false,
        model_type: IR,
        name: graph.name.clone(),
        user_info: USER_INFO.to_owned(),
        model_num: 1,
        model_length: length,
        is_unknown_model: graph.iter().any(|(_, node)| node.outputs.iter().any(|d| d.shape.known().is_none())),
    };
    let mut file = Content::default();
    file.push(&header.encode());
    file.push(&table);
    for (_, part) in parts {
        file.append(part);
    }
    Ok(file)
}

/// All the bytes of [`content`] in memory; fails as [`air::encode_model`] does.
pub fn encode_graph(graph: &Graph) -> Result<Vec<u8>> {
    content(graph)?.to_vec().map_err(|error| Error::graph(format!("graph `{}`", graph.name), error.to_string()))
}

/// Reads the tuned graph in an om file; `name` becomes its name where the file gives none.
///
/// Fails with [`Error::Unsupported`] for a compiled or encrypted model, and with [`Error::Graph`] for a
/// file that is damaged.
pub fn read(data: &Bytes, name: &str) -> Result<Graph> {
    let place = || format!("om file `{name}`");
    let header = Header::decode(data, &place)?;
    if header.model_type != IR || header.is_encrypt {
        return Err(Error::Unsupported {
            what: format!("reading the om model `{name}`"),
            reason: "it is compiled or encrypted already; give the model it was made from".to_owned(),
        });
    }
    if header.model_num > 1 {
        return Err(Error::graph(place(), format!("it holds {} models, not one", header.model_num)));
    }
    let parts = header::partitions(data, &header, &place)?;
    let part = |kind: u32| parts.iter().find(|(k, _)| *k == kind).map(|(_, range)| data.slice(range.clone()));
    let Some(model) = part(partition::MODEL_DEF) else {
        return Err(Error::graph(place(), "it has no model in it (partition MODEL_DEF)"));
    };
    air::read_with_weights(model, part(partition::WEIGHTS_DATA).as_ref(), name)
}
