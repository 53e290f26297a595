//! Graphs that hang on sizes: of an `If` whose condition follows from the sizes of inputs, the reader takes one graph.
//! With other sizes the network is another one.

use crate::graph::{Attr, Constant, Graph, Node, Port};
use crate::spelling;
use crate::status::{Error, Result};

/// Attribute of a node whose result decided between graphs while the model was read: what it was.
pub const CHOOSES: &str = "_aoe_chooses";

/// The single truth value that a node is, where it is known.
pub fn truth(node: &Node) -> Option<bool> {
    match node.value.as_ref()? {
        Constant::Ints(values) => <&[i64; 1]>::try_from(values.as_slice()).ok().map(|[value]| *value != 0),
        Constant::Floats(values) => <&[f64; 1]>::try_from(values.as_slice()).ok().map(|[value]| *value != 0.0),
        Constant::Stored(_) | Constant::Opaque => None,
    }
}

/// The single truth value that a tensor is, where it is known.
pub fn truth_of(graph: &Graph, port: Port) -> Option<bool> {
    truth(graph.node(port.node)).filter(|_| port.output == 0)
}

/// Fails where the sizes that are bound by now would have chosen otherwise; says where they leave it open.
pub fn check(graph: &Graph) -> Result<()> {
    let mut open = Vec::new();
    for (_, node) in graph.iter() {
        let Some(Attr::Bool(was)) = node.attrs.get(CHOOSES) else { continue };
        match truth(node) {
            Some(is) if is != *was => {
                let reason = format!(
                    "the model was read for sizes that make it {was}, and an `If` was laid out by that; with the sizes \
                     given now it is {is}: give them where the model is read (input_shape)"
                );
                return Err(Error::graph(format!("node `{}` ({})", node.name, node.op_type), reason));
            }
            Some(_) => {}
            None => open.push(node.name.as_str()),
        }
    }
    if !open.is_empty() {
        let names = spelling::listed(&open);
        log::warn!("an `If` was laid out by sizes that are open now; the graph is that for the sizes then: {names}");
    }
    Ok(())
}
