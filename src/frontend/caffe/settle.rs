//! Sizes of weights that follow from what a layer reads.

use crate::graph::{Graph, Node, NodeId, Shape, UNKNOWN_DIM, infer};
use crate::status::{Error, Result};

/// Completes the weights whose sizes follow from shapes that are known by now, and lets the shapes be checked with
/// them. A size of a weight that follows from what is still open stays open.
///
/// Fails with [`Error::Graph`] that names the layer whose input cannot go with its parameters.
pub fn settle(graph: &mut Graph) -> Result<()> {
    let mut completed = false;
    for index in 0..graph.len() {
        let node = graph.node(NodeId(index as u32));
        let Some(x) = node.input(0).and_then(|port| graph.desc(port).shape.dims().map(<[i64]>::to_vec)) else {
            continue;
        };
        let weights = weights(node, &x).map_err(|reason| {
            let place = format!("layer `{}` ({})", node.name, node.origin_type);
            Error::graph(place, format!("{reason}; it reads a tensor of shape {}", Shape::new(x.as_slice())))
        })?;
        let ports: Vec<_> = weights.into_iter().map(|(slot, shape)| (node.input(slot), shape)).collect();
        for (port, shape) in ports {
            let Some(port) = port.filter(|port| graph.node(port.node).op_type == crate::graph::CONST) else { continue };
            let output = &mut graph.node_mut(port.node).outputs[port.output as usize];
            if output.shape.known().is_none() {
                let filled = fill(&output.shape, shape);
                completed |= filled != output.shape;
                output.shape = filled;
            }
        }
    }
    if completed { infer::infer(graph) } else { Ok(()) }
}

/// The stated sizes, with the open ones taken from the other shape.
fn fill(stated: &Shape, found: Vec<i64>) -> Shape {
    match stated.dims() {
        Some(dims) if dims.len() == found.len() => {
            Shape::new(dims.iter().zip(found).map(|(&d, f)| if d < 0 { f } else { d }).collect::<Vec<_>>())
        }
        Some(_) => stated.clone(),
        None => Shape::new(found),
    }
}

/// The shapes of a layer's weights by input slot, -1 where the layer's parameters tell the size.
fn weights(node: &Node, x: &[i64]) -> Result<Vec<(usize, Vec<i64>)>, String> {
    let channels = x.get(1).copied().ok_or("it has no channel axis");
    Ok(match node.op_type.as_str() {
        "Conv2D" | "Conv3D" => {
            let (channels, groups) = (channels?, node.attrs.int("groups").unwrap_or(1).max(1));
            if channels > 0 && channels % groups != 0 {
                return Err(format!("{channels} channels do not divide into {groups} groups"));
            }
            let mut sizes = vec![-1; x.len()];
            sizes[1] = if channels > 0 { channels / groups } else { UNKNOWN_DIM };
            vec![(1, sizes)]
        }
        "Deconvolution" => {
            let mut sizes = vec![-1; x.len()];
            sizes[0] = channels?;
            vec![(1, sizes)]
        }
        "FullyConnection" => {
            let flat = &x[axis(node, x.len())?..];
            let inner = flat.iter().try_fold(1i64, |n, &d| n.checked_mul(d));
            let inner = if flat.contains(&UNKNOWN_DIM) { Some(UNKNOWN_DIM) } else { inner };
            let inner = inner.ok_or("the sizes multiply to more than 64 bits can count")?;
            vec![(1, vec![if node.attrs.bool("transpose") == Some(true) { inner } else { -1 }, inner])]
        }
        "BNInference" => vec![(1, vec![channels?]), (2, vec![channels?])],
        "PRelu" => vec![(1, vec![channels?])],
        "Scale" | "Bias" => {
            let start = axis(node, x.len())?;
            let count = node.attrs.int("num_axes").and_then(|n| usize::try_from(n).ok()).unwrap_or(x.len() - start);
            let end = start.checked_add(count).filter(|&end| end <= x.len());
            let along = x[start..end.ok_or("`axis` and `num_axes` reach beyond its axes")?].to_vec();
            vec![(1, along.clone()), (2, along)]
        }
        _ => Vec::new(),
    })
}

/// Attribute `axis`, counted from the front.
fn axis(node: &Node, rank: usize) -> Result<usize, String> {
    axis_of(node.attrs.int("axis").unwrap_or(1), rank)
}

fn axis_of(axis: i64, rank: usize) -> Result<usize, String> {
    let front = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    usize::try_from(front)
        .ok()
        .filter(|&axis| axis < rank)
        .ok_or_else(|| format!("`axis` {axis} is none of its {rank}"))
}
