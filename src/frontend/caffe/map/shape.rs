//! Layers that move or rename elements.

use super::{
    Default::{Bool, Int},
    Parameter, Rule, same, with,
};
use crate::frontend::caffe::op::Op;
use crate::graph::Attr;
use crate::status::Result;

#[rustfmt::skip] // one row, one line
pub const RULES: &[Rule] = &[
    with("Concat", concat),
    with("Slice", slice),
    same("Flatten", "FlattenV2", "flatten_param", &[Parameter("axis", "axis", Int(1)), Parameter("end_axis", "end_axis", Int(-1))]),
    with("Reshape", reshape),
    with("Permute", permute),
    same("Crop", "Crop", "crop_param", &[Parameter("axis", "axis", Int(2))]),
    same("Tile", "TileWithAxis", "tile_param", &[Parameter("axis", "axis", Int(1)), Parameter("tiles", "tiles", Int(1))]),
    same("Reorg", "PassThrough", "reorg_param", &[Parameter("stride", "stride", Int(2)), Parameter("reverse", "reverse", Bool(false))]),
    same("ShuffleChannel", "ShuffleChannel", "shuffle_channel_param", &[Parameter("group", "group", Int(1))]),
    same("ROIPooling", "ROIPooling", "roi_pooling_param", &[Parameter("pooled_h", "pooled_h", Int(1)), Parameter("pooled_w", "pooled_w", Int(1))]),
];

fn concat(op: &mut Op) -> Result<()> {
    let param = op.param("concat_param")?;
    let axis = op.field(param.int("axis"))?;
    let axis = if axis.is_some() { axis } else { op.field(param.int("concat_dim"))? }.unwrap_or(1);
    let inputs = op.bottoms().to_vec();
    let mut node = op.node("ConcatD");
    node.attrs.set("concat_dim", Attr::Int(axis));
    node.attrs.set("N", Attr::Int(inputs.len() as i64));
    op.finish(node.with_inputs(inputs))
}

/// In equal parts, or at the given points.
fn slice(op: &mut Op) -> Result<()> {
    let (x, param) = (op.bottom()?, op.param("slice_param")?);
    let axis = op.field(param.int("axis"))?;
    let axis = if axis.is_some() { axis } else { op.field(param.int("slice_dim"))? }.unwrap_or(1);
    let points = op.field(param.ints("slice_point"))?;
    let parts = op.tops().len();
    if !points.is_empty() && points.len() + 1 != parts {
        return Err(op.error(format!("{} `slice_point` for {parts} tops", points.len())));
    }
    let mut node = op.node(if points.is_empty() { "SplitD" } else { "SplitVD" }).with_inputs([x]);
    node.attrs.set("split_dim", Attr::Int(axis));
    node.attrs.set("num_split", Attr::Int(parts as i64));
    if !points.is_empty() {
        let starts = std::iter::once(0).chain(points.iter().copied());
        let mut sizes = Vec::with_capacity(parts);
        for (start, &end) in starts.zip(&points) {
            if end <= start {
                return Err(op.error(format!("`slice_point` {end} does not lie behind {start}")));
            }
            sizes.push(end - start);
        }
        sizes.push(-1);
        node.attrs.set("size_splits", Attr::Ints(sizes));
    }
    op.finish(node)
}

/// Sizes of 0 are copied, one of -1 takes what is left; `axis` and `num_axes` limit the axes replaced.
fn reshape(op: &mut Op) -> Result<()> {
    let (x, param) = (op.bottom()?, op.param("reshape_param")?);
    let shape = op.field(param.message("shape"))?.ok_or_else(|| op.error("it has no `shape`"))?;
    let sizes = op.field(shape.ints("dim"))?;
    let sizes = op.ints("shape", sizes)?;
    let mut node = op.node("Reshape").with_inputs([x, sizes]);
    node.attrs.set("axis", Attr::Int(op.field(param.int("axis"))?.unwrap_or(0)));
    node.attrs.set("num_axes", Attr::Int(op.field(param.int("num_axes"))?.unwrap_or(-1)));
    op.finish(node)
}

fn permute(op: &mut Op) -> Result<()> {
    let order = op.field(op.param("permute_param")?.ints("order"))?;
    let mut node = op.node("Permute").with_inputs([op.bottom()?]);
    node.attrs.set("order", Attr::Ints(order));
    op.finish(node)
}
