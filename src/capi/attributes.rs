//! Attributes of a graph's nodes.

use super::convert::{array, reference_mut, text};
use super::error::AoeStatus;
use super::graph::{AoeGraph, AoeNodeId, node_mut};
use super::guard::guard;
use super::tensor::AoeDataType;
use crate::graph::{Attr, DataType};
use crate::status::{Error, Result};
use std::ffi::c_char;

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphSetAttrInt(
    graph: *mut AoeGraph,
    node: AoeNodeId,
    name: *const c_char,
    value: i64,
) -> AoeStatus {
    // SAFETY: the header's contract.
    guard("AoeGraphSetAttrInt", || unsafe { set_attr(graph, node, name, || Ok(Attr::Int(value))) })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphSetAttrFloat(
    graph: *mut AoeGraph,
    node: AoeNodeId,
    name: *const c_char,
    value: f64,
) -> AoeStatus {
    // SAFETY: the header's contract.
    guard("AoeGraphSetAttrFloat", || unsafe { set_attr(graph, node, name, || Ok(Attr::Float(value))) })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphSetAttrBool(
    graph: *mut AoeGraph,
    node: AoeNodeId,
    name: *const c_char,
    value: i32,
) -> AoeStatus {
    let truth = || match value {
        0 | 1 => Ok(Attr::Bool(value == 1)),
        _ => Err(Error::param("value", format!("{value} is neither 0 nor 1"))),
    };
    // SAFETY: the header's contract.
    guard("AoeGraphSetAttrBool", || unsafe { set_attr(graph, node, name, truth) })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphSetAttrString(
    graph: *mut AoeGraph,
    node: AoeNodeId,
    name: *const c_char,
    value: *const c_char,
) -> AoeStatus {
    // SAFETY: the header's contract.
    let string = || Ok(Attr::Str(unsafe { text(value, "value") }?.to_owned()));
    // SAFETY: the header's contract.
    guard("AoeGraphSetAttrString", || unsafe { set_attr(graph, node, name, string) })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphSetAttrDataType(
    graph: *mut AoeGraph,
    node: AoeNodeId,
    name: *const c_char,
    value: AoeDataType,
) -> AoeStatus {
    let dtype = || match DataType::from_ge(value) {
        Some(dtype) => Ok(Attr::Type(dtype)),
        None => Err(Error::param("value", format!("{value} is no data type"))),
    };
    // SAFETY: the header's contract.
    guard("AoeGraphSetAttrDataType", || unsafe { set_attr(graph, node, name, dtype) })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphSetAttrInts(
    graph: *mut AoeGraph,
    node: AoeNodeId,
    name: *const c_char,
    values: *const i64,
    value_count: usize,
) -> AoeStatus {
    // SAFETY: the header's contract.
    let list = || Ok(Attr::Ints(unsafe { array(values, value_count, "values") }?.to_vec()));
    // SAFETY: the header's contract.
    guard("AoeGraphSetAttrInts", || unsafe { set_attr(graph, node, name, list) })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphSetAttrFloats(
    graph: *mut AoeGraph,
    node: AoeNodeId,
    name: *const c_char,
    values: *const f64,
    value_count: usize,
) -> AoeStatus {
    // SAFETY: the header's contract.
    let list = || Ok(Attr::Floats(unsafe { array(values, value_count, "values") }?.to_vec()));
    // SAFETY: the header's contract.
    guard("AoeGraphSetAttrFloats", || unsafe { set_attr(graph, node, name, list) })
}

/// Sets an attribute, whose value is read after the node is found.
///
/// # Safety
/// `graph` and `name` are as the header demands.
unsafe fn set_attr(
    graph: *mut AoeGraph,
    node: AoeNodeId,
    name: *const c_char,
    value: impl FnOnce() -> Result<Attr>,
) -> Result<()> {
    // SAFETY: passed on.
    let (graph, name) = unsafe { (reference_mut(graph, "graph")?, text(name, "name")?) };
    if name.is_empty() {
        return Err(Error::param("name", "is empty"));
    }
    let node = node_mut(&mut graph.0, node, "node")?;
    node.attrs.set(name, value()?);
    Ok(())
}
