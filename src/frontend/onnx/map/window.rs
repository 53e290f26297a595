//! What convolutions and pools share: a window that moves over one to three spatial dimensions.

use crate::frontend::onnx::op::Op;
use crate::graph::{Attr, Node};
use crate::status::Result;

/// Number of spatial dimensions of a windowed operator: from the attributes that list one number
/// per dimension, else from the rank of the given inputs.
pub fn spatial_rank(op: &Op, inputs: &[usize]) -> Result<usize> {
    let found = inputs.iter().find_map(|&i| op.found_rank(i)).map(|rank| rank.saturating_sub(2));
    for (name, ends) in [("kernel_shape", 1), ("strides", 1), ("dilations", 1), ("output_padding", 1), ("pads", 2)] {
        let Some(stated) = op.ints(name)?.map(|list| list.len() / ends) else { continue };
        if found.is_some_and(|found| found != stated) {
            let (found, numbers) = (found.unwrap_or_default(), stated * ends);
            let reason = format!("attribute `{name}` has {numbers} numbers for {found} spatial dimensions");
            return Err(op.error(reason));
        }
        return check_rank(op, stated);
    }
    match found {
        Some(spatial) => check_rank(op, spatial),
        None => {
            Err(op.error("the number of spatial dimensions is not known: neither kernel_shape nor a shape says it"))
        }
    }
}

fn check_rank(op: &Op, spatial: usize) -> Result<usize> {
    if (1..=3).contains(&spatial) {
        return Ok(spatial);
    }
    Err(op.error(format!("{spatial} spatial dimensions; 1 to 3 are known")))
}

/// A list with one number per spatial dimension, in Ascend's form.
///
/// Two and three spatial dimensions carry leading ones for N and C; one stands alone.
pub fn full(op: &Op, name: &str, spatial: usize, least: i64) -> Result<Option<Vec<i64>>> {
    let Some(list) = op.ints(name)? else { return Ok(None) };
    if list.len() != spatial {
        return Err(op.error(format!("attribute `{name}` has {} numbers for {spatial} spatial dimensions", list.len())));
    }
    if let Some(bad) = list.iter().find(|&&v| v < least || v > i64::from(i32::MAX)) {
        return Err(op.error(format!("attribute `{name}` holds {bad}, which is out of range")));
    }
    Ok(Some(lead(list)))
}

/// Leading ones for N and C, except with one spatial dimension.
pub fn lead(mut list: Vec<i64>) -> Vec<i64> {
    if list.len() > 1 {
        list.splice(0..0, [1, 1]);
    }
    list
}

/// Sets `strides`, `dilations` (all ones where absent) and the pads.
pub fn set_window(op: &Op, node: &mut Node, spatial: usize) -> Result<()> {
    for name in ["strides", "dilations"] {
        let list = full(op, name, spatial, 1)?.unwrap_or_else(|| lead(vec![1; spatial]));
        node.attrs.set(name, Attr::Ints(list));
    }
    set_pads(op, node, spatial)?;
    node.attrs.set("data_format", Attr::Str(if spatial == 3 { "NCDHW" } else { "NCHW" }.to_owned()));
    Ok(())
}

/// ONNX lists all beginnings, then all ends; Ascend the two ends of each dimension together.
fn set_pads(op: &Op, node: &mut Node, spatial: usize) -> Result<()> {
    let mut pads = vec![0; 2 * spatial];
    match op.str("auto_pad")?.as_deref() {
        None | Some("NOTSET" | "") => {
            if let Some(given) = op.ints("pads")? {
                if given.len() != 2 * spatial {
                    let reason =
                        format!("attribute `pads` has {} numbers for {spatial} spatial dimensions", given.len());
                    return Err(op.error(reason));
                }
                if let Some(bad) = given.iter().find(|v| v.unsigned_abs() > u64::from(u32::MAX >> 1)) {
                    return Err(op.error(format!("attribute `pads` holds {bad}, which is out of range")));
                }
                for (axis, pair) in pads.chunks_exact_mut(2).enumerate() {
                    pair.copy_from_slice(&[given[axis], given[axis + spatial]]);
                }
            }
        }
        Some("VALID") => {}
        Some(same @ ("SAME_UPPER" | "SAME_LOWER")) => node.attrs.set("auto_pad", Attr::Str(same.to_owned())),
        Some(other) => return Err(op.error(format!("attribute `auto_pad` is `{other}`, which ONNX does not know"))),
    }
    node.attrs.set("pads", Attr::Ints(pads));
    Ok(())
}
