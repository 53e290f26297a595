//! The rules for one operator.

use super::{Finding, Rule, is_without_value, operands};
use crate::frontend::air::{self, SUBGRAPH_NAMES, conform::attributes};
use crate::frontend::miscount::{Miscount, miscounted};
use crate::graph::op::prototype::{self, Count, Prototype, Slot, TypeSet};
use crate::graph::op::{self, Kind, OpClass};
use crate::graph::{Attr, CONST, DataType, Graph, Node, TensorDesc};
use crate::spelling::listed;

/// Operators whose interface has an input that a graph leaves open: sources of tensors.
const SOURCES: [&str; 6] = ["Variable", "VarHandleOp", "RefData", "AippData", "PlaceHolder", "Data"];

/// Attributes of what slides over an image, which say nothing without a value.
const WINDOW: [&str; 4] = ["strides", "pads", "ksize", "dilations"];

/// Attributes of a node that its interface does not have, each with one of the interface that is absent and nearly of the
/// same name. GE takes the default of that one.
pub fn misnamed(node: &Node) -> Vec<(String, &'static str)> {
    let Some(prototype) = node.mapped.then(|| prototype::prototype(&node.op_type)).flatten() else { return Vec::new() };
    let absent = || prototype.attrs.iter().filter(|rule| node.attrs.get(rule.name).is_none());
    let other = node.attrs.iter().filter(|(name, _)| !name.starts_with('_') && prototype.attr(name).is_none());
    let meant = other.filter_map(|(name, value)| {
        let may_be = absent().filter(|rule| attributes::is_of(rule.kind, value)).map(|rule| rule.name);
        Some((name.to_owned(), crate::spelling::nearest(name, may_be)?))
    });
    meant.collect()
}

/// What the interface of a node's operator requires and the node lacks, in words: inputs, the right number of them where an
/// attribute counts them, and attributes without a default, but for those that convolutions take as their reader says.
pub fn lacking(node: &Node) -> Vec<String> {
    let is_source = SOURCES.contains(&node.op_type.as_str());
    let known = (node.mapped && !is_source).then(|| prototype::prototype(&node.op_type)).flatten();
    let Some(prototype) = known else { return Vec::new() };
    let mut findings = Vec::new();
    Judge { node, findings: &mut findings }.inputs(prototype);
    let required = prototype.attrs.iter().filter(|rule| rule.required && op::class(&node.op_type) != OpClass::Conv);
    let absent = required.filter(|rule| node.attrs.get(rule.name).is_none());
    let attributes = absent.map(|rule| format!("has no attribute `{}`, which has no default", rule.name));
    findings
        .into_iter()
        .map(|finding| finding.reason)
        .chain(attributes)
        .chain(miscounted(node).map(|wrong| wrong.reason))
        .collect()
}

/// Judges one operator.
pub fn judge(graph: &Graph, node: &Node, findings: &mut Vec<Finding>) {
    let mut judge = Judge { node, findings };
    judge.described();
    if node.op_type == CONST {
        judge.value();
        return;
    }
    let known = node.mapped.then(|| prototype::prototype(&node.op_type)).flatten();
    let Some(prototype) = known else {
        if !air::is_frame(&node.op_type) || !node.mapped {
            judge.unknown();
        }
        return;
    };
    judge.attributes(prototype);
    judge.count();
    judge.graphs(prototype);
    if SOURCES.contains(&node.op_type.as_str()) {
        return;
    }
    judge.inputs(prototype);
    judge.outputs(prototype);
    judge.types(graph, prototype);
    judge.operands(graph, prototype);
    judge.alike(graph, prototype);
    findings.extend(operands::steps(graph, node));
}

/// One node and where its findings go.
struct Judge<'a> {
    node: &'a Node,
    findings: &'a mut Vec<Finding>,
}

impl Judge<'_> {
    fn find(&mut self, rule: Rule, blocks: bool, reason: String, advice: impl Into<String>) {
        let Node { name, op_type, .. } = self.node;
        let (node, op) = (name.clone(), op_type.clone());
        self.findings.push(Finding { node, op, rule, blocks, reason, advice: advice.into() });
    }

    /// Inputs are described as the nodes that make them describe them.
    fn described(&mut self) {
        let Some(Attr::Strs(inputs)) = self.node.attrs.get(air::DESCRIBED_OTHERWISE) else { return };
        for input in inputs {
            self.find(Rule::Shape, true, format!("describes {input}"), "describe the input as it is made");
        }
    }

    /// No interface of the operator is known.
    fn unknown(&mut self) {
        if !self.node.mapped {
            let reason = "is an operator of another framework, for which Ascend has no type".to_owned();
            let advice = "cut the network before it with out_nodes, or replace it in the model";
            return self.find(Rule::Operator, true, reason, advice);
        }
        if op::family(&self.node.op_type).is_some() && op::kind(&self.node.op_type) == Kind::None {
            let reason = "is a task that GE's compiler adds".to_owned();
            let advice = "give the graph from before compilation (a dump of stage PreRunBegin)";
            return self.find(Rule::Operator, true, reason, advice);
        }
        let reason = "is no operator that CANN declares".to_owned();
        let meant =
            prototype::nearest(&self.node.op_type).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        self.find(
            Rule::Operator,
            true,
            reason,
            format!("{meant}An operator of your own needs its package on the machine"),
        );
    }

    /// A constant has its elements.
    fn value(&mut self) {
        if is_without_value(self.node) {
            let reason = "is a constant without elements in attribute `value`".to_owned();
            self.find(Rule::Value, true, reason, "write the graph with the weights of its model");
        }
    }

    /// Kinds of attributes, and those that have to be there.
    fn attributes(&mut self, prototype: &Prototype) {
        for rule in &prototype.attrs {
            match self.node.attrs.get(rule.name) {
                None if rule.required => {
                    let reason = format!("has no attribute `{}`, which has no default", rule.name);
                    self.find(Rule::Attribute, true, reason, format!("set it, as {}", rule.kind.name()));
                }
                Some(value) if !attributes::is_of(rule.kind, value) => {
                    let (is, wanted) = (kind_of(value), rule.kind.name());
                    let reason = format!("has attribute `{}` as {is}, where the interface has {wanted}", rule.name);
                    let advice = match attributes::converted(rule.kind, value) {
                        Some(Attr::Int(number)) => format!("set it as {wanted}: {number}"),
                        _ => format!("set it as {wanted}"),
                    };
                    self.find(Rule::Attribute, true, reason, advice);
                }
                Some(value) if rule.required && WINDOW.contains(&rule.name) && is_empty(value) => {
                    let reason = format!("has attribute `{}` as an empty list, and it has no default", rule.name);
                    self.find(Rule::Attribute, true, reason, "set a value for each axis");
                }
                _ => {}
            }
        }
        for (name, meant) in misnamed(self.node) {
            let reason = format!("has an attribute `{name}`, which GE does not look at, and no `{meant}`");
            self.find(Rule::Attribute, false, reason, format!("did you mean `{meant}`?"));
        }
    }

    /// An attribute that says how many tensors stand for one input of the interface.
    fn count(&mut self) {
        if let Some(Miscount { reason, given }) = miscounted(self.node) {
            self.find(Rule::Attribute, true, reason, format!("set it to {given}, or connect what is missing"));
        }
    }

    /// The graphs that the operator chooses among.
    fn graphs(&mut self, prototype: &Prototype) {
        let given = if let Some(Attr::Strs(names)) = self.node.attrs.get(SUBGRAPH_NAMES) { names.len() } else { 0 };
        if !prototype.graphs.is_empty() && given == 0 {
            let reason = format!("calls no graph, and has to: {}", prototype.graphs.join(", "));
            self.find(Rule::Graph, true, reason, "write the graph with those that its nodes call");
        }
    }

    fn inputs(&mut self, prototype: &Prototype) {
        let slots = &prototype.inputs;
        let given = self.node.inputs.len();
        let is_open = slots.iter().any(|slot| slot.count == Count::Dynamic);
        if !is_open && given > slots.len() {
            let reason = format!("has {given} inputs, where the interface has {}", slots.len());
            self.find(Rule::Input, true, reason, format!("leave it those of the interface: {}", names(slots)));
        }
        // Beside inputs that stand for any number, places say little: what comes first and last is needed.
        let first_open = slots.iter().position(|slot| slot.count == Count::Dynamic).unwrap_or(slots.len());
        for (place, slot) in slots.iter().enumerate().take(first_open) {
            if slot.count == Count::Required && self.node.input(place).is_none() {
                let reason = format!("has nothing at input {place} (`{}`)", slot.name);
                self.find(Rule::Input, true, reason, "connect it, or make it a constant");
            }
        }
        let needed = slots.iter().filter(|slot| slot.count == Count::Required).count();
        if is_open && given < needed {
            let reason = format!("has {given} inputs, and needs {needed} beside those that may be many");
            self.find(Rule::Input, true, reason, format!("connect those of the interface: {}", names(slots)));
        }
    }

    fn outputs(&mut self, prototype: &Prototype) {
        let (slots, given) = (&prototype.outputs, self.node.outputs.len());
        if slots.iter().any(|slot| slot.count == Count::Dynamic)
            || given == slots.len()
            || self.node.op_type == "NetOutput"
        {
            return;
        }
        let reason = format!("has {given} outputs, where the interface has {}", slots.len());
        self.find(Rule::Output, true, reason, format!("describe all of them, read or not: {}", names(slots)));
    }

    /// Element types that no declaration has may still have a kernel: something to look at.
    fn types(&mut self, graph: &Graph, prototype: &Prototype) {
        let is_fixed = |slots: &[Slot]| slots.iter().all(|slot| slot.count != Count::Dynamic);
        let inputs = self.node.inputs.iter().map(|port| port.map(|port| graph.desc(port)));
        let outputs = self.node.outputs.iter().map(Some);
        let mut wrong = Vec::new();
        let mut look = |what: &str, tensor: Option<&TensorDesc>, slot: &Slot| {
            if let Some(tensor) = tensor.filter(|tensor| tensor.shape.dims().is_some() && !slot.types.has(tensor.dtype))
            {
                let may: Vec<&str> = slot.types.iter().map(DataType::name).collect();
                wrong.push((
                    format!("has {} at {what} `{}`, which is not among its types", tensor.dtype.name(), slot.name),
                    format!("convert it: {}", listed(&may)),
                ));
            }
        };
        if is_fixed(&prototype.inputs) {
            inputs.zip(&prototype.inputs).for_each(|(tensor, slot)| look("input", tensor, slot));
        }
        if is_fixed(&prototype.outputs) {
            outputs.zip(&prototype.outputs).for_each(|(tensor, slot)| look("output", tensor, slot));
        }
        for (reason, advice) in wrong {
            self.find(Rule::Type, false, reason, advice);
        }
    }

    /// What a cube multiplies is of one sort: where the interface has the same types for both, no kernel multiplies
    /// integers with real numbers.
    fn operands(&mut self, graph: &Graph, prototype: &Prototype) {
        let class = op::class(&self.node.op_type);
        let is_product = matches!(class, OpClass::MatMul | OpClass::Conv);
        let ([left, right, ..], true) = (prototype.inputs.as_slice(), is_product) else { return };
        let dtype = |place: usize| self.node.input(place).map(|port| graph.desc(port).dtype);
        let (Some(x), Some(y)) = (dtype(0), dtype(1)) else { return };
        let is_told = x != DataType::Undefined && y != DataType::Undefined;
        if is_told && left.types == right.types && left.types != TypeSet::ALL && x.is_float() != y.is_float() {
            let (name, other) = (left.name, right.name);
            let reason = format!("multiplies {} at `{name}` with {} at `{other}`", x.name(), y.name());
            // A public sample of CANN's builds a convolution of both.
            let blocks = class == OpClass::MatMul;
            self.find(Rule::Type, blocks, reason, "convert one of them to the type of the other");
        }
    }

    /// What an operator combines element by element is of one type: two inputs for which the interface has the same types.
    /// Kernels of some versions take real numbers of two lengths.
    fn alike(&mut self, graph: &Graph, prototype: &Prototype) {
        // GE's own programs raise real numbers to whole powers.
        let is_free = self.node.op_type == "Pow" || !op::is_by_element(&self.node.op_type);
        let is_fixed = prototype.inputs.iter().all(|slot| slot.count == Count::Required);
        if is_free || !is_fixed {
            return;
        }
        let slots = || prototype.inputs.iter().enumerate();
        let pair = slots().find_map(|(at, slot)| {
            let mut others = slots().filter(|(other, same)| *other != at && same.types == slot.types);
            let (other, same) = others.next()?;
            others.next().is_none().then_some([(at, slot), (other, same)])
        });
        let Some([(left, x), (right, y)]) = pair else { return };
        let dtype = |place: usize| self.node.input(place).map(|port| graph.desc(port).dtype);
        let (Some(one), Some(other)) = (dtype(left), dtype(right)) else { return };
        if [one, other].contains(&DataType::Undefined) || one == other {
            return;
        }
        let reason =
            format!("reads {} at `{}` and {} at `{}`, which are of one type", one.name(), x.name, other.name(), y.name);
        let blocks = !(one.is_float() && other.is_float());
        self.find(Rule::Type, blocks, reason, "convert one of them to the type of the other");
    }
}

fn is_empty(value: &Attr) -> bool {
    match value {
        Attr::Ints(list) => list.is_empty(),
        Attr::Floats(list) => list.is_empty(),
        _ => false,
    }
}

fn names(slots: &[Slot]) -> String {
    listed(&slots.iter().map(|slot| slot.name).collect::<Vec<_>>())
}

/// What an attribute is, in the words of [`prototype::AttrKind::name`].
fn kind_of(value: &Attr) -> &'static str {
    match value {
        Attr::Int(_) => "int",
        Attr::Float(_) => "float",
        Attr::Bool(_) => "bool",
        Attr::Str(_) => "string",
        Attr::Type(_) => "type",
        Attr::Ints(_) => "ints",
        Attr::Floats(_) => "floats",
        Attr::Bools(_) => "bools",
        Attr::Strs(_) => "strings",
        Attr::IntLists(_) => "int_lists",
        Attr::Opaque(_) => "a value of another kind",
    }
}
