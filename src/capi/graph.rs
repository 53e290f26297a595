//! Graphs: built call by call, or read from a model file.

use super::convert::{TextOut, array, options, out, reference, reference_mut, tensor, text};
use super::error::AoeStatus;
use super::guard::{guard, guard_destroy};
use super::option::{AoeOption, pairs};
use super::tensor::AoeTensor;
use crate::frontend;
use crate::graph::{Attr, CONST, Constant, DATA, Graph, Node, NodeId, Port, TensorDesc, Weight};
use crate::session::inputs::model_options;
use crate::session::options::gather;
use crate::status::{Error, Result};
use prost::bytes::Bytes;
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::path::Path;

/// A graph in a caller's hands.
#[derive(Debug)]
pub struct AoeGraph(pub(super) Graph);

// `const AoeGraph *` may be used by several threads at once.
const _: fn() = || {
    fn shared<T: Send + Sync>() {}
    shared::<AoeGraph>();
};

/// Index of a node in its graph.
pub type AoeNodeId = u32;

/// Inputs, and outputs, that one node can have; a number beyond it is a mistake, not a node.
pub const AOE_MAX_NODE_PORTS: usize = 65536;

/// Gives a new graph to the caller.
pub(super) fn hand_out(graph: &mut MaybeUninit<*mut AoeGraph>, content: Graph) {
    graph.write(Box::into_raw(Box::new(AoeGraph(content))));
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphCreate(name: *const c_char, graph: *mut *mut AoeGraph) -> AoeStatus {
    guard("AoeGraphCreate", || {
        // SAFETY: the header's contract.
        let (name, graph) = unsafe { (text(name, "name")?, out(graph, "graph")?) };
        hand_out(graph, Graph::new(name));
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphLoadFile(
    path: *const c_char,
    options: *const AoeOption,
    option_count: usize,
    graph: *mut *mut AoeGraph,
) -> AoeStatus {
    guard("AoeGraphLoadFile", || {
        // SAFETY: the header's contract.
        let (path, options, graph) =
            unsafe { (text(path, "path")?, self::options(options, option_count)?, out(graph, "graph")?) };
        let (framework, inputs) = model_options(&gather(pairs(&options))?)?;
        hand_out(graph, frontend::load_file(Path::new(path), framework, &inputs)?);
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphLoadMemory(
    data: *const c_void,
    size: usize,
    options: *const AoeOption,
    option_count: usize,
    graph: *mut *mut AoeGraph,
) -> AoeStatus {
    guard("AoeGraphLoadMemory", || {
        // SAFETY: the header's contract.
        let (data, options, graph) = unsafe {
            (array(data.cast::<u8>(), size, "data")?, self::options(options, option_count)?, out(graph, "graph")?)
        };
        let (framework, inputs) = model_options(&gather(pairs(&options))?)?;
        hand_out(graph, frontend::load_memory(data, "memory", framework, &inputs)?);
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphSaveFile(graph: *const AoeGraph, path: *const c_char) -> AoeStatus {
    guard("AoeGraphSaveFile", || {
        // SAFETY: the header's contract.
        let (graph, path) = unsafe { (reference(graph, "graph")?, text(path, "path")?) };
        frontend::save_file(&graph.0, Path::new(path))
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphAddInput(
    graph: *mut AoeGraph,
    name: *const c_char,
    desc: *const AoeTensor,
    node: *mut AoeNodeId,
) -> AoeStatus {
    guard("AoeGraphAddInput", || {
        // SAFETY: the header's contract.
        let (graph, name, (desc, _), node) =
            unsafe { (reference_mut(graph, "graph")?, text(name, "name")?, tensor(desc, "desc")?, out(node, "node")?) };
        if desc.shape.dims().is_some_and(|dims| dims.contains(&0)) {
            return Err(Error::param("desc", format!("input `{name}` has no elements: its shape is {}", desc.shape)));
        }
        node.write(graph.0.add(Node::new(name, DATA).with_outputs(vec![desc]))?.0);
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphAddConst(
    graph: *mut AoeGraph,
    name: *const c_char,
    value: *const AoeTensor,
    node: *mut AoeNodeId,
) -> AoeStatus {
    guard("AoeGraphAddConst", || {
        // SAFETY: the header's contract.
        let (graph, name, (desc, data), node) = unsafe {
            (reference_mut(graph, "graph")?, text(name, "name")?, tensor(value, "value")?, out(node, "node")?)
        };
        let constant = constant(name, &desc, data)?;
        let mut content = Node::new(name, CONST).with_outputs(vec![desc]);
        content.value = Some(constant);
        node.write(graph.0.add(content)?.0);
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphAddNode(
    graph: *mut AoeGraph,
    name: *const c_char,
    op_type: *const c_char,
    output_count: usize,
    node: *mut AoeNodeId,
) -> AoeStatus {
    guard("AoeGraphAddNode", || {
        // SAFETY: the header's contract.
        let (graph, name, op_type, node) = unsafe {
            (reference_mut(graph, "graph")?, text(name, "name")?, text(op_type, "op_type")?, out(node, "node")?)
        };
        if op_type.is_empty() {
            return Err(Error::param("op_type", format!("node `{name}` has none")));
        }
        if output_count > AOE_MAX_NODE_PORTS {
            return Err(Error::param("output_count", format!("{output_count} is more than {AOE_MAX_NODE_PORTS}")));
        }
        let outputs = vec![TensorDesc::unknown(); output_count];
        node.write(graph.0.add(Node::new(name, op_type).with_outputs(outputs))?.0);
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphAddEdge(
    graph: *mut AoeGraph,
    source: AoeNodeId,
    source_output: u32,
    target: AoeNodeId,
    target_input: u32,
) -> AoeStatus {
    guard("AoeGraphAddEdge", || {
        // SAFETY: the header's contract.
        let graph = unsafe { reference_mut(graph, "graph") }?;
        let port = port(&graph.0, source, "source", source_output, "source_output")?;
        let node = node_mut(&mut graph.0, target, "target")?;
        let slot = target_input as usize;
        if slot >= AOE_MAX_NODE_PORTS {
            return Err(Error::param("target_input", format!("{slot} is not below {AOE_MAX_NODE_PORTS}")));
        }
        if node.input(slot).is_some() {
            return Err(Error::graph(format!("node `{}`, input {slot}", node.name), "is connected already"));
        }
        if node.inputs.len() <= slot {
            node.inputs.resize(slot + 1, None);
        }
        node.inputs[slot] = Some(port);
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphAddOutput(graph: *mut AoeGraph, node: AoeNodeId, output: u32) -> AoeStatus {
    guard("AoeGraphAddOutput", || {
        // SAFETY: the header's contract.
        let graph = unsafe { reference_mut(graph, "graph") }?;
        let port = port(&graph.0, node, "node", output, "output")?;
        graph.0.add_output(port);
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphSetOutputDesc(
    graph: *mut AoeGraph,
    node: AoeNodeId,
    output: u32,
    desc: *const AoeTensor,
) -> AoeStatus {
    guard("AoeGraphSetOutputDesc", || {
        // SAFETY: the header's contract.
        let (graph, (desc, _)) = unsafe { (reference_mut(graph, "graph")?, tensor(desc, "desc")?) };
        let port = port(&graph.0, node, "node", output, "output")?;
        graph.0.node_mut(port.node).outputs[port.output as usize] = desc;
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphGetNodeCount(graph: *const AoeGraph, node_count: *mut usize) -> AoeStatus {
    guard("AoeGraphGetNodeCount", || {
        // SAFETY: the header's contract.
        let (graph, node_count) = unsafe { (reference(graph, "graph")?, out(node_count, "node_count")?) };
        node_count.write(graph.0.len());
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphFindNode(
    graph: *const AoeGraph,
    name: *const c_char,
    node: *mut AoeNodeId,
) -> AoeStatus {
    guard("AoeGraphFindNode", || {
        // SAFETY: the header's contract.
        let (graph, name, node) = unsafe { (reference(graph, "graph")?, text(name, "name")?, out(node, "node")?) };
        node.write(find(&graph.0, name)?.0);
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphGetNodeAttrString(
    graph: *const AoeGraph,
    node_name: *const c_char,
    attr_name: *const c_char,
    buffer: *mut c_char,
    size: *mut usize,
) -> AoeStatus {
    guard("AoeGraphGetNodeAttrString", || {
        // SAFETY: the header's contract.
        let (graph, node_name, attr_name, text) = unsafe {
            let graph = reference(graph, "graph")?;
            (&graph.0, text(node_name, "node_name")?, text(attr_name, "attr_name")?, TextOut::new(buffer, size)?)
        };
        text.write(string_attr(graph, node_name, attr_name)?)
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGraphDestroy(graph: *mut AoeGraph) {
    guard_destroy("AoeGraphDestroy", || {
        if !graph.is_null() {
            // SAFETY: it came from `hand_out`, and this is its last use.
            drop(unsafe { Box::from_raw(graph) });
        }
        Ok(())
    });
}

/// The node of a name; fails with [`Error::NotFound`].
fn find(graph: &Graph, name: &str) -> Result<NodeId> {
    graph.find(name).ok_or_else(|| Error::NotFound { what: format!("node `{name}` in graph `{}`", graph.name) })
}

/// The text of a node's attribute.
fn string_attr<'a>(graph: &'a Graph, node: &str, name: &str) -> Result<&'a str> {
    match graph.node(find(graph, node)?).attrs.get(name) {
        Some(Attr::Str(text)) => Ok(text),
        Some(_) => Err(Error::param("attr_name", format!("attribute `{name}` of node `{node}` is no string"))),
        None => Err(Error::NotFound { what: format!("attribute `{name}` of node `{node}`") }),
    }
}

/// The node with an id that a caller gave.
pub(super) fn node_mut<'a>(graph: &'a mut Graph, id: AoeNodeId, parameter: &'static str) -> Result<&'a mut Node> {
    if graph.get(NodeId(id)).is_none() {
        return Err(no_node(graph, id, parameter));
    }
    Ok(graph.node_mut(NodeId(id)))
}

/// The output of a node, both as a caller gave them.
fn port(
    graph: &Graph,
    id: AoeNodeId,
    parameter: &'static str,
    output: u32,
    output_parameter: &'static str,
) -> Result<Port> {
    let node = graph.get(NodeId(id)).ok_or_else(|| no_node(graph, id, parameter))?;
    let count = node.outputs.len();
    if output as usize >= count {
        let reason = format!("node `{}` has {count} outputs, not one with index {output}", node.name);
        return Err(Error::param(output_parameter, reason));
    }
    Ok(Port { node: NodeId(id), output })
}

fn no_node(graph: &Graph, id: AoeNodeId, parameter: &'static str) -> Error {
    Error::param(parameter, format!("graph `{}` has {} nodes, none with id {id}", graph.name, graph.len()))
}

/// What a constant's bytes hold: numbers, as far as shapes may depend on them; else the bytes as they are, copied once
/// and shared by all copies of the graph.
fn constant(name: &str, desc: &TensorDesc, data: Option<&[u8]>) -> Result<Constant> {
    let Some(elements) = desc.shape.elements().filter(|_| desc.bytes().is_some_and(|b| i64::try_from(b).is_ok()))
    else {
        return Err(Error::param("value", format!("constant `{name}` has shape {}, which is no size", desc.shape)));
    };
    Ok(match data {
        Some(data) if elements <= Constant::MAX_VALUES => match Constant::from_bytes(desc.dtype, data) {
            Constant::Opaque => stored(data),
            numbers => numbers,
        },
        Some(data) => stored(data),
        None => Constant::Opaque,
    })
}

fn stored(data: &[u8]) -> Constant {
    Constant::Stored(Weight::Bytes(Bytes::copy_from_slice(data)))
}
