//! What a tuning call tunes: the graph that was given, with sizes, for every gear that was asked for.

use super::settings::Settings;
use super::state::Session;
use super::tuned_graph;
use crate::frontend::air::tuned;
use crate::frontend::{self, Gear, ModelOptions};
use crate::graph::infer::{self, LeftOut, Static};
use crate::graph::op::{self, prototype};
use crate::graph::{Format, Graph, Node, NodeId, TensorDesc, WHY_UNMAPPED};
use crate::lower::{Fused, Kernel, graph_fusion, with_conversions};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::tune::{UNKNOWN, Variant};
use crate::workload::Workload;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// What a tuning call tunes.
#[derive(Default)]
pub struct Material {
    /// The graph with every input bound and then fused, as far as its sizes are known: once for every gear.
    pub variants: Vec<Variant>,
    /// Each of them as it was before it was fused.
    pub stated: Vec<Graph>,
    /// What graph fusion did to it.
    pub fused: Vec<Fused>,
    /// Nodes that are left out because nothing tells their sizes, or how often they run.
    pub left_out: Vec<LeftOut>,
}

impl Session {
    /// The graph that was given, cut off where the options say so.
    pub(super) fn stated_graph(&self, settings: &Settings) -> Result<Arc<Graph>> {
        let mut graph = self.given().graph.clone().ok_or(Error::NoGraph)?;
        self.describe_inputs(&mut graph);
        if !settings.model.out_nodes.is_empty() {
            frontend::cut(Arc::make_mut(&mut graph), &settings.model.out_nodes)?;
        }
        Ok(graph)
    }

    /// Gives inputs that the graph does not describe the types and formats of the tensors that the client gave, and those
    /// of which it leaves only the order of the axes open that. Their shapes are bound with everybody else's.
    fn describe_inputs(&self, graph: &mut Arc<Graph>) {
        let given = self.given().inputs.clone();
        let described = |(id, desc): (NodeId, TensorDesc)| {
            let stated = graph.node(id).outputs.first()?;
            let dtype = if stated.shape.rank().is_none() { desc.dtype } else { stated.dtype };
            let format = if stated.format == Format::Nd { desc.format } else { stated.format };
            let input = TensorDesc { dtype, format, ..stated.clone() };
            (input != *stated).then_some((id, input))
        };
        let inputs: Vec<_> = graph.inputs().map(|(id, _)| id).zip(given).filter_map(described).collect();
        for (id, input) in inputs {
            if let Some(output) = Arc::make_mut(graph).node_mut(id).outputs.first_mut() {
                *output = input;
            }
        }
    }

    /// The caller's shapes: by option, and by the real inputs the client gave, which must fit the graph.
    pub(super) fn input_options(&self, settings: &Settings, graph: &Graph) -> Result<ModelOptions> {
        let mut options = settings.model.clone();
        let given = self.given();
        let names: Vec<_> = graph.inputs().map(|(_, node)| node.name.clone()).collect();
        if given.inputs.len() > names.len() {
            let reason = format!("{} tensors given, the graph has {} inputs", given.inputs.len(), names.len());
            return Err(Error::param("input_count", reason));
        }
        for (index, ((_, node), desc)) in graph.inputs().zip(&given.inputs).enumerate() {
            let stated = node.outputs.first().map(|o| &o.shape);
            if let Some(stated) = stated.filter(|stated| !stated.accepts(&desc.shape)) {
                let reason = format!(
                    "tensor {index} has shape {}, but input `{}` of the graph has {stated}",
                    desc.shape, node.name
                );
                return Err(Error::param("inputs", reason));
            }
            if desc.shape.dims().is_some_and(|dims| dims.contains(&0)) {
                let reason = format!("tensor {index} has no elements: its shape is {}", desc.shape);
                return Err(Error::param("inputs", reason));
            }
        }
        for (name, desc) in names.into_iter().zip(&given.inputs) {
            let known = options.shapes.iter().any(|(n, _)| *n == name);
            if let Some(dims) = desc.shape.dims().filter(|_| !known) {
                options.shapes.push((name, dims.to_vec()));
            }
        }
        Ok(options)
    }
}

/// The error of a graph whose kernels are all of operators that nobody knows.
fn nothing_known(graph: &Graph, node: &Node) -> Error {
    let is_declared = prototype::prototype(&node.op_type).is_some();
    let near = prototype::nearest(&node.op_type).filter(|_| node.mapped && !is_declared);
    let meant = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let read = node.input(0).map(|port| graph.desc(port).dtype.name()).filter(|_| node.mapped && is_declared);
    let why = match (node.attrs.str(WHY_UNMAPPED).filter(|_| !node.mapped), read) {
        (Some(why), _) => why.to_owned(),
        (None, Some(dtype)) => format!("how its operator works on {dtype} is not known"),
        (None, None) => UNKNOWN.to_owned(),
    };
    let reason = format!("leaves nothing to tune: {why}, and there is no other kernel{meant}");
    Error::graph(format!("node `{}` ({})", node.name, node.origin_type), reason)
}

/// Warns of attributes that are nearly called as one of their operator which is absent: inference and GE take the default of
/// that one.
fn warn_of_misnamed(graph: &Graph) {
    let misnamed = graph.iter().flat_map(|(_, node)| {
        frontend::check::misnamed(node).into_iter().map(move |(name, meant)| {
            format!(
                "node `{}` ({}) has an attribute `{name}`, which is none of its interface; did you mean `{meant}`? The default \
                 of `{meant}` counts",
                node.name, node.op_type
            )
        })
    });
    frontend::warnings::warn(misnamed, "more attributes are misnamed");
}

/// What the kernels of the variants do.
pub fn workloads(variants: &[Variant]) -> impl Iterator<Item = &Workload> {
    variants.iter().flat_map(|variant| &variant.lowered.kernels).map(|kernel| &kernel.workload)
}

impl Material {
    /// Binds, fuses and lowers the graph for every gear asked for.
    ///
    /// Fails with [`Error::Param`] or [`Error::Option`] for sizes that do not fit the graph, and names what keeps a
    /// graph without a single kernel of known size from being tuned.
    pub fn of(graph: &Graph, inputs: &ModelOptions, settings: &Settings, soc: &Soc) -> Result<Material> {
        let gears: Vec<Option<&Gear>> = match settings.gears.as_slice() {
            [] => vec![None],
            gears => gears.iter().map(Some).collect(),
        };
        warn_of_misnamed(graph);
        let mut material = Material { variants: Vec::with_capacity(gears.len()), ..Material::default() };
        for gear in &gears {
            let label = gear.filter(|_| gears.len() > 1).map(Gear::to_string).unwrap_or_default();
            let inputs = ModelOptions { gear: gear.cloned(), ..inputs.clone() };
            material.add(graph.clone(), &inputs, label, settings, soc)?;
        }
        for words in infer::in_words(&material.left_out) {
            log::warn!("{words}");
        }
        Ok(material)
    }

    fn add(
        &mut self,
        mut graph: Graph,
        inputs: &ModelOptions,
        label: String,
        settings: &Settings,
        soc: &Soc,
    ) -> Result<()> {
        // What an earlier tuning found would stand between what this one finds.
        tuned::clear(&mut graph);
        frontend::bind_inputs(&mut graph, inputs)?;
        if self.stated.is_empty() {
            frontend::check::tell(&graph);
        }
        let Static { graph: known, left_out } = infer::split_static(graph.clone())?;
        let (fused, passes) = graph_fusion(known, soc, &settings.lowering(), &settings.switches)?;
        let (mut fused, lowered) = with_conversions(fused, soc, &settings.lowering())?;
        let is_tuned = |kernel: &Kernel| op::tunable(&fused.node(kernel.node).op_type);
        let [subgraphs, _] = settings.job.parts();
        // Of operators that nobody knows no subgraph is made.
        let unknown: FxHashSet<NodeId> = lowered.unmapped.iter().copied().collect();
        let is_known = |kernel: &Kernel| !unknown.contains(&kernel.node);
        let left = |counts: &dyn Fn(&Kernel) -> bool| lowered.kernels.iter().any(counts);
        let leaves_nothing = if subgraphs { !left(&is_known) } else { !left(&is_tuned) };
        if leaves_nothing
            && !left_out.is_empty()
            && let Some(error) = infer::nothing_left(&graph, &left_out)
        {
            return Err(error);
        }
        if !left(&is_known)
            && let Some(node) = lowered.unmapped.first().map(|&id| fused.node(id))
        {
            return Err(nothing_known(&fused, node));
        }
        tuned_graph::set_formats(&mut fused, &lowered, soc, settings.lowering());
        if self.variants.is_empty() {
            self.fused = passes;
        }
        self.stated.push(graph);
        let named = |node: LeftOut| LeftOut { name: format!("{}{label}", node.name), ..node };
        self.left_out.extend(left_out.into_iter().map(named));
        self.variants.push(Variant { label, graph: fused, lowered });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::nothing_known;
    use crate::graph::{Attr, DataType, Graph, Node, Shape, TensorDesc, WHY_UNMAPPED};

    #[test]
    fn what_leaves_nothing_to_tune_says_why() {
        let mut graph = Graph::new("one");
        let x = graph.add_input("x", TensorDesc::new(DataType::Double, Shape::new([1, 3, 8, 8]))).unwrap();
        let said = |node: &Node| nothing_known(&graph, node).to_string();
        // Of an operator that CANN declares the name is right, and the type is why.
        let declared = said(&Node::new("conv", "Conv2D").with_inputs([x, x]));
        assert!(declared.contains("works on double is not known") && !declared.contains("did you mean"), "{declared}");
        let mistyped = said(&Node::new("conv", "Conv2d").with_inputs([x, x]));
        assert!(mistyped.contains("did you mean `Conv2D`?") && !mistyped.contains("double"), "{mistyped}");
        let mut choice = Node::new("if", "If").with_inputs([x]);
        choice.mapped = false;
        choice.attrs.set(WHY_UNMAPPED, Attr::Str("only a run tells".to_owned()));
        assert!(said(&choice).contains("leaves nothing to tune: only a run tells"), "{}", said(&choice));
    }
}
