//! Giving the dimensions of a graph's inputs their values.

use super::limits::MAX_DIM;
use super::restate::{Change, Restated};
use super::{DIM_NAMES, Gear, ModelOptions, chooses};
use crate::graph::{Attr, Graph, Node, NodeId, Shape, UNKNOWN_DIM, WHY_UNMAPPED, infer};
use crate::spelling;
use crate::status::{Error, Result};
use rustc_hash::{FxHashMap, FxHashSet};

/// Option that gives the shapes of inputs by name.
pub const SHAPE_OPTION: &str = "input_shape";
/// Attribute of an input: the dimensions that the model leaves open, also once they are bound.
pub const OPEN_DIMS: &str = "_aoe_open_dims";

/// Binds the inputs of a graph to what the caller says of them, and infers the shapes behind them.
///
/// What `input_shape` gives counts, also where the model states another size; -1 opens the dimension. The shapes that
/// a model states behind such an input give way to what follows from the new sizes. A symbol that is bound in one
/// input is bound in all.
///
/// Fails with [`Error::Option`] where the options contradict the graph, each other or reason, and with
/// [`Error::Graph`] where an input's own shape makes no sense; the graph is then as it was. Fails with
/// [`Error::Graph`] that names the node too where the graph cannot take the sizes, or was read for others.
pub fn bind_inputs(graph: &mut Graph, options: &ModelOptions) -> Result<()> {
    let inputs = bound(graph, options)?;
    let restated = Restated::forget(graph, &inputs.changes(graph))?;
    let batches = inputs.batches();
    inputs.write(graph);
    let (named, believed) = (layouts(graph), believed(graph));
    let inferred = infer::infer(graph);
    tell_layouts(graph, &named);
    tell_believed(graph, &believed);
    // A branch that other sizes chose may not take these.
    chooses::check(graph)?;
    restated.explain(graph, inferred, &batches)
}

/// Nodes with the layouts that their attributes name.
fn layouts(graph: &Graph) -> Vec<(NodeId, String)> {
    let named = |(id, node): (NodeId, &Node)| Some((id, node.attrs.str("data_format")?.to_owned()));
    graph.iter().filter_map(named).collect()
}

/// Names the nodes whose attribute `data_format` gave way to what their windows or filters take.
fn tell_layouts(graph: &Graph, named: &[(NodeId, String)]) {
    let other = |(id, was): &(NodeId, String)| {
        let node = graph.node(*id);
        let is = node.attrs.str("data_format").filter(|is| is != was)?;
        Some(format!("{} ({is} instead of {was})", node.name))
    };
    let changed: Vec<String> = named.iter().filter_map(other).collect();
    if !changed.is_empty() {
        let names: Vec<&str> = changed.iter().map(String::as_str).collect();
        let names = spelling::listed(&names);
        log::warn!(
            "images without a format do not fit attribute `data_format`, so the layout that fits counts: {names}"
        );
    }
}

/// Nodes whose stated shapes count though their inputs make others of them.
fn believed(graph: &Graph) -> FxHashSet<NodeId> {
    graph.iter().filter(|(_, node)| node.attrs.get(infer::BELIEVED_SHAPES).is_some()).map(|(id, _)| id).collect()
}

/// Names those that are believed now and were not before.
fn tell_believed(graph: &Graph, before: &FxHashSet<NodeId>) {
    let mut new: Vec<NodeId> = believed(graph).difference(before).copied().collect();
    new.sort_unstable();
    if !new.is_empty() {
        let names: Vec<&str> = new.iter().map(|&id| graph.node(id).name.as_str()).collect();
        let names = spelling::listed(&names);
        log::warn!("the file states other shapes than are inferred here; what GE inferred is believed: {names}");
    }
}

/// The inputs as the options have them.
fn bound(graph: &Graph, options: &ModelOptions) -> Result<Inputs> {
    let mut inputs = Inputs::of(graph);
    let mut given = FxHashSet::default();
    for (name, dims) in &options.shapes {
        if !given.insert(name) {
            return Err(Error::option(SHAPE_OPTION, format!("input `{name}` is given twice")));
        }
        inputs.bind_shape(name, dims)?;
    }
    if let Some(gear) = &options.gear {
        if matches!(gear, Gear::Batch(_)) {
            inputs.spread_symbols();
        }
        let slots = inputs.slots(gear, options)?;
        // Before the gear, so that one that contradicts a symbol is found.
        inputs.spread_symbols();
        inputs.bind_gear(gear, &slots)?;
    }
    inputs.spread_symbols();
    inputs.check(graph)?;
    Ok(inputs)
}

/// One input while it is bound.
pub(super) struct Input {
    id: NodeId,
    pub name: String,
    pub dims: Option<Vec<i64>>,
    symbols: Vec<String>,
    /// Dimensions that the model leaves open, whatever binds them.
    pub open: Vec<usize>,
    /// Why it has no dimensions, where it is no tensor.
    no_tensor: Option<String>,
}

/// All inputs, and what is known of their symbols.
pub(super) struct Inputs {
    pub list: Vec<Input>,
    /// Index of an input by name.
    by_name: FxHashMap<String, usize>,
    /// Value of a symbol and the option that gave it.
    symbols: FxHashMap<String, (i64, String)>,
}

impl Inputs {
    fn of(graph: &Graph) -> Self {
        let list = graph.inputs().map(|(id, node)| {
            let dims = node.outputs.first().and_then(|o| o.shape.dims()).map(<[i64]>::to_vec);
            let were = node.attrs.ints(OPEN_DIMS).unwrap_or_default();
            let is_open = |axis: usize, dim: i64| dim == UNKNOWN_DIM || were.contains(&(axis as i64));
            let open = dims.iter().flatten().enumerate().filter(|&(axis, &dim)| is_open(axis, dim));
            let symbols = match node.attrs.get(DIM_NAMES) {
                Some(Attr::Strs(names)) => names.clone(),
                _ => Vec::new(),
            };
            let no_tensor = node.attrs.str(WHY_UNMAPPED).map(str::to_owned);
            let open = open.map(|(axis, _)| axis).collect();
            Input { id, name: node.name.clone(), open, dims, symbols, no_tensor }
        });
        let list: Vec<Input> = list.collect();
        let by_name = list.iter().enumerate().map(|(at, input)| (input.name.clone(), at)).collect();
        Inputs { list, by_name, symbols: FxHashMap::default() }
    }

    /// The inputs that have other sizes now than in the graph.
    fn changes(&self, graph: &Graph) -> Vec<Change> {
        let change = |input: &Input| {
            let was = graph.node(input.id).outputs.first()?.shape.clone();
            let is = input.dims.as_deref()?;
            let differ =
                was.dims()?.iter().zip(is).enumerate().filter(|(_, (was, is))| **was != UNKNOWN_DIM && was != is);
            let differ: Vec<_> = differ.map(|(axis, _)| axis).collect();
            let symbolic = differ.iter().all(|&axis| input.symbols.get(axis).is_some_and(|s| !s.is_empty()));
            (!differ.is_empty()).then(|| Change { input: input.id, was, is: Shape::new(is), symbolic })
        };
        self.list.iter().filter_map(change).collect()
    }

    /// The first sizes of inputs that are open there.
    fn batches(&self) -> Vec<i64> {
        let batch = |input: &Input| input.dims.as_ref()?.first().copied().filter(|_| input.open.contains(&0));
        self.list.iter().filter_map(batch).collect()
    }

    /// Puts what is bound into the graph.
    fn write(self, graph: &mut Graph) {
        self.spread_to_unmapped(graph);
        for input in self.list {
            let node = graph.node_mut(input.id);
            if let (Some(dims), Some(output)) = (input.dims, node.outputs.first_mut()) {
                output.shape = Shape::new(dims);
            }
            if !input.open.is_empty() {
                node.attrs.set(OPEN_DIMS, Attr::Ints(input.open.iter().map(|&axis| axis as i64).collect()));
            }
        }
    }

    /// Binds one input to the dimensions that the caller gives.
    fn bind_shape(&mut self, name: &str, given: &[i64]) -> Result<()> {
        let Some(&at) = self.by_name.get(name) else {
            let names: Vec<_> = self.list.iter().map(|input| format!("`{}`", input.name)).collect();
            let names = spelling::listed(&names.iter().map(String::as_str).collect::<Vec<_>>());
            let reason = format!("the model has no input `{name}`; its inputs are {names}");
            return Err(Error::option(SHAPE_OPTION, reason));
        };
        if let Some(why) = &self.list[at].no_tensor {
            return Err(Error::option(SHAPE_OPTION, format!("`{name}` has no shape: it is {why}")));
        }
        for (axis, &dim) in given.iter().enumerate() {
            if dim != UNKNOWN_DIM {
                check_dim(SHAPE_OPTION, &format!("input `{name}`, dimension {axis}"), dim)?;
            }
        }
        let shape = Shape::new(given);
        if self.list[at].dims.is_none() {
            self.list[at].open = (0..given.len()).collect();
        }
        let dims = self.list[at].dims.clone().unwrap_or_else(|| given.to_vec());
        if dims.len() != given.len() {
            let model = Shape::new(dims);
            let reason = format!("input `{name}` is given as {shape}, but the model has it as {model}");
            return Err(Error::option(SHAPE_OPTION, reason));
        }
        self.list[at].dims = Some(dims.clone());
        for (axis, (&model, &dim)) in dims.iter().zip(given).enumerate() {
            if model != UNKNOWN_DIM && model != dim {
                self.reopen(at, axis);
            }
            if dim == UNKNOWN_DIM {
                let open = &mut self.list[at].open;
                open.insert(open.partition_point(|&other| other < axis), axis);
                open.dedup();
            } else {
                self.bind_open(at, axis, dim, SHAPE_OPTION)?;
            }
        }
        Ok(())
    }

    /// Opens a dimension whose size is stated, and with it those that share its symbol.
    fn reopen(&mut self, at: usize, axis: usize) {
        let symbol = self.list[at].symbols.get(axis).filter(|symbol| !symbol.is_empty()).cloned();
        if let Some(dim) = self.list[at].dims.as_mut().and_then(|dims| dims.get_mut(axis)) {
            *dim = UNKNOWN_DIM;
        }
        let Some(symbol) = symbol else { return };
        for input in &mut self.list {
            let dims = input.dims.iter_mut().flatten().zip(&input.symbols);
            dims.filter(|(_, other)| **other == symbol).for_each(|(dim, _)| *dim = UNKNOWN_DIM);
        }
    }

    /// Gives an open dimension this size, or accepts that it has it.
    pub fn bind_open(&mut self, at: usize, axis: usize, size: i64, option: &'static str) -> Result<()> {
        let input = &mut self.list[at];
        let Some(dim) = input.dims.as_mut().and_then(|dims| dims.get_mut(axis)) else { return Ok(()) };
        if *dim != UNKNOWN_DIM && *dim != size {
            let reason = format!("input `{}`, dimension {axis}: {size} is given, but it is {dim} already", input.name);
            return Err(Error::option(option, reason));
        }
        *dim = size;
        self.bind_symbol(at, axis, size, option)
    }

    /// The size that a dimension has by its symbol and the input that gave it, for a message.
    pub fn by_symbol(&self, at: usize, axis: usize) -> String {
        let symbol = self.list[at].symbols.get(axis);
        let found = symbol.and_then(|symbol| Some((symbol, self.symbols.get(symbol)?)));
        found.map_or_else(String::new, |(symbol, (size, by))| format!(": `{symbol}` is {size} by input `{by}`"))
    }

    /// Records the value of a dimension's symbol.
    fn bind_symbol(&mut self, input: usize, axis: usize, dim: i64, option: &'static str) -> Result<()> {
        let input = &self.list[input];
        let Some(symbol) = input.symbols.get(axis).filter(|s| !s.is_empty()) else { return Ok(()) };
        match self.symbols.get(symbol) {
            Some((other, by)) if *other != dim => {
                let reason = format!("`{symbol}` would be {other} by input `{by}` and {dim} by input `{}`", input.name);
                Err(Error::option(option, reason))
            }
            Some(_) => Ok(()),
            None => {
                self.symbols.insert(symbol.clone(), (dim, input.name.clone()));
                Ok(())
            }
        }
    }

    /// Gives every open dimension with a bound symbol the symbol's value.
    fn spread_symbols(&mut self) {
        for input in &mut self.list {
            let Some(dims) = &mut input.dims else { continue };
            for (dim, symbol) in dims.iter_mut().zip(&input.symbols).filter(|(dim, _)| **dim == UNKNOWN_DIM) {
                if let Some(&(value, _)) = self.symbols.get(symbol) {
                    *dim = value;
                }
            }
        }
    }

    /// Does the same for what a file says of the outputs of operators that no rule infers; their
    /// [`DIM_NAMES`] list the dimensions of all outputs.
    fn spread_to_unmapped(&self, graph: &mut Graph) {
        if self.symbols.is_empty() {
            return;
        }
        for index in 0..graph.len() {
            let id = NodeId(index as u32);
            let Some(Attr::Strs(names)) = graph.node(id).attrs.get(DIM_NAMES).filter(|_| !graph.node(id).mapped) else {
                continue;
            };
            let values: Vec<_> = names.iter().map(|name| self.symbols.get(name).map(|(value, _)| *value)).collect();
            let mut values = values.into_iter();
            for output in &mut graph.node_mut(id).outputs {
                let Some(dims) = output.shape.dims() else { continue };
                let bound = dims.iter().zip(values.by_ref());
                let bound = bound.map(|(&dim, value)| if dim == UNKNOWN_DIM { value.unwrap_or(dim) } else { dim });
                output.shape = Shape::new(bound.collect::<Vec<_>>());
            }
        }
    }

    /// Checks what the inputs have become, whoever gave it.
    fn check(&self, graph: &Graph) -> Result<()> {
        for input in &self.list {
            let Some(dims) = &input.dims else { continue };
            let place = || format!("input `{}`", input.name);
            let out_of_range = |d: &i64| *d != UNKNOWN_DIM && !(1..=MAX_DIM).contains(d);
            if let Some((axis, dim)) = dims.iter().enumerate().find(|(_, d)| out_of_range(d)) {
                return Err(Error::graph(place(), format!("dimension {axis} is {dim}, not 1 to {MAX_DIM}")));
            }
            let desc = graph.node(input.id).outputs.first();
            let bits = desc.map_or(0, |o| o.dtype.bits()).max(1);
            let mut known = dims.iter().filter(|d| **d > 0);
            if known.try_fold(i64::from(bits), |n, &d| n.checked_mul(d)).is_none() {
                let reason = format!("the tensor of shape {} is too large", Shape::new(dims.as_slice()));
                let as_it_was = desc.and_then(|o| o.shape.dims()) == Some(dims);
                let given = Error::option(SHAPE_OPTION, format!("{}: {reason}", place()));
                return Err(if as_it_was { Error::graph(place(), reason) } else { given });
            }
        }
        Ok(())
    }
}

pub(super) fn check_dim(option: &'static str, what: &str, dim: i64) -> Result<()> {
    if (1..=MAX_DIM).contains(&dim) {
        return Ok(());
    }
    Err(Error::option(option, format!("{what}: {dim} is not a size from 1 to {MAX_DIM}")))
}
