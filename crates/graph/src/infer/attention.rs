//! Rules and geometry of fused attention.

use super::dim::{Reason, UNKNOWN};
use super::{Call, Inference, Inferred};
use crate::{DataType, Shape, TensorDesc};

/// Sizes of softmax(Q K^T) V; -1 where one is not known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Geometry {
    /// Sequences.
    pub batch: i64,
    /// Query heads.
    pub heads: i64,
    /// Rows of Q.
    pub queries: i64,
    /// Rows of K and V.
    pub keys: i64,
    /// Elements of one head.
    pub depth: i64,
}

impl Geometry {
    /// Reads query (input 0) and key (input 1) by `input_layout`; `None` while a rank is not known.
    pub fn of(call: &Call<'_>) -> Result<Option<Geometry>, Reason> {
        let (Some(q), Some(k)) = (call.dims(0)?, call.dims(1)?) else { return Ok(None) };
        let heads = call.int(&["head_num", "num_heads"]).unwrap_or(1);
        if heads < 1 {
            return Err(format!("{heads} heads"));
        }
        let layout = call.str("input_layout").unwrap_or("BSH");
        let of_hidden = |hidden: i64| if hidden < 0 { UNKNOWN } else { hidden / heads };
        let found = match (layout, q, k) {
            ("BSH", &[batch, queries, hidden], &[_, keys, _]) | ("SBH", &[queries, batch, hidden], &[keys, _, _]) => {
                Geometry { batch, heads, queries, keys, depth: of_hidden(hidden) }
            }
            ("BNSD", &[batch, heads, queries, depth], &[_, _, keys, _])
            | ("BSND", &[batch, queries, heads, depth], &[_, keys, _, _]) => {
                Geometry { batch, heads, queries, keys, depth }
            }
            // Packed sequences: lengths are not in the shapes, so they count as one long sequence.
            ("TND", &[queries, heads, depth], &[keys, _, _]) => Geometry { batch: 1, heads, queries, keys, depth },
            _ => return Err(format!("query and key do not have layout {layout}")),
        };
        Ok(Some(found))
    }
}

/// `FlashAttentionScore`: row maxima, row sums, probabilities (not kept), result.
pub(crate) fn flash_attention(call: &Call<'_>) -> Inference {
    let query = call.need(0)?;
    let rows = match Geometry::of(call)? {
        Some(at) => Shape::new([at.batch, at.heads, at.queries, 8]),
        None => Shape::unknown_rank(),
    };
    let statistics = TensorDesc::new(DataType::Float, rows);
    let probabilities = TensorDesc::new(query.dtype, Shape::new([0]));
    if call.results() == 1 {
        return Inferred::all(vec![query.clone()]);
    }
    Inferred::all(vec![statistics.clone(), statistics, probabilities, query.clone()])
}
