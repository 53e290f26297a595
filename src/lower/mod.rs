//! From graph nodes to workloads.
//!
//! What a node becomes follows from the kind of its operator type ([`crate::graph::op::Kind`]): `cube`
//! lowers products and convolutions, `vector` elementwise work and reductions, `movement` the rest.
//! Sizes come from the same readings of a node that shape inference uses, so the two cannot disagree.
//! Before that, [`graph_fusion()`] does to a graph what CANN's graph fusion does at inference.

mod batch;
mod before;
mod collapse;
mod conversion;
mod convolution;
mod cube;
mod device;
mod flow;
mod formats;
mod graph_fusion;
mod in_place;
mod layout;
mod merged;
mod movement;
mod order;
mod precision;
mod residency;
mod stored;
mod switches;
mod tensors;
#[cfg(test)]
mod tests;
mod transpose;
mod vector;
mod within;

pub use batch::Batch;
pub use conversion::with_conversions;
pub use device::Stored;
pub use flow::{Flows, flows, written_bytes};
pub use formats::{device_formats, device_layouts};
pub use graph_fusion::{FUSED_NODES, Fused, STATED_TYPE, graph_fusion};
pub use layout::DeviceLayout;
pub use precision::Precision;
pub use residency::settle;
pub use stored::as_stored;
pub use switches::{Known, PASSES, Stage, Switches, UbOff};
pub use tensors::{Layouts, Read, Source, stored as stored_by};
pub use transpose::transposed;

use crate::graph::infer::{Call, Values};
use crate::graph::op::{self, Kind, OpClass};
use crate::graph::{DataType, Graph, Node, NodeId, Port, TensorDesc};
use crate::sim;
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::{Operand, Workload};

/// What decides how a graph is lowered, besides the graph and the SoC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// Types the network runs in (`precision_mode`).
    pub precision: Precision,
    /// float32 products may round their operands to HF32 (`allow_hf32`).
    pub allow_hf32: bool,
    /// UB passes that the user switched off.
    pub ub_off: UbOff,
    /// GE's own passes are closed, which have no names to switch (`oo_level` below O3): a transpose of axes of size 1
    /// is a kernel, movers side by side stay two, and joined tensors are copied.
    pub ge_closed: bool,
}

/// A graph as the kernels that run it, in topological order.
#[derive(Debug, Clone, Default)]
pub struct Lowered {
    /// One entry for every node that runs a kernel.
    pub kernels: Vec<Kernel>,
    /// Nodes without a known Ascend operator type, and products of types that no cube multiplies; they are
    /// in `kernels` too, as data movement: [`Priced`] says whether that counts.
    pub unmapped: Vec<NodeId>,
}

impl Lowered {
    /// Adds a kernel of one node.
    fn add(&mut self, kernel: Kernel) {
        if kernel.priced != Priced::Recipe {
            self.unmapped.push(kernel.node);
        }
        self.kernels.push(kernel);
    }

    /// The kernels that are launched.
    pub fn launched(&self) -> impl Iterator<Item = &Kernel> {
        self.kernels.iter().filter(|kernel| kernel.launches > 0)
    }
}

/// One kernel.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The node it runs; where several are fused into it, the first of them.
    pub node: NodeId,
    /// The other nodes that are fused into it, in the order in which they work.
    pub fused: Vec<NodeId>,
    /// What one launch of it does.
    pub workload: Workload,
    /// Times that it is launched: once for each part of a batch that is cut; 0 for a joined tensor whose parts are
    /// written in place.
    pub launches: u32,
    /// Bytes of its data that each launch finds in device memory, where what ran before it decides that ([`settle`]);
    /// `None` where nothing but its own size does.
    pub missed: Option<f64>,
    /// CANN's pass that fuses its nodes, where there are several.
    pub pass: Option<&'static str>,
    /// How its time is told.
    pub priced: Priced,
}

/// How the time of a kernel is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priced {
    /// By what its operator does.
    #[default]
    Recipe,
    /// What its operator does is known by the words of its name alone (a norm, a softmax): its time is that of such work
    /// while all of its data moves once.
    Movement,
    /// Not at all. What is known are its tensors, which do not bound its time: it may take a few rows of a cache, or
    /// multiply all of a weight by each row of another. None is counted.
    None,
}

impl Priced {
    /// Whether a time counts.
    pub const fn is_timed(self) -> bool {
        !matches!(self, Priced::None)
    }

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Priced::Recipe => "recipe",
            Priced::Movement => "movement",
            Priced::None => "none",
        }
    }
}

impl Kernel {
    /// A kernel of one node that is launched once.
    pub fn new(node: NodeId, workload: Workload) -> Kernel {
        Kernel { node, fused: Vec::new(), workload, launches: 1, missed: None, pass: None, priced: Priced::Recipe }
    }

    /// Its name as CANN makes it: those of its nodes one behind the other.
    pub fn name(&self, graph: &Graph) -> String {
        std::iter::once(self.node).chain(self.fused.iter().copied()).map(|id| graph.node(id).name.as_str()).collect()
    }
}

/// Lowers every node of a graph whose shapes are known. Nodes that run no kernel (inputs, constants,
/// folded nodes, reshapes, casts to the same type, results without elements) leave no trace.
///
/// Fails with [`Error::Dynamic`] that names a tensor of unknown shape, with [`Error::Graph`] that names
/// a node whose sizes contradict each other or whose work 64 bits cannot count, and with
/// [`Error::Option`] where the precision mode asks for a type that the part's cube does not have.
pub fn lower(graph: &Graph, soc: &Soc, settings: &Settings) -> Result<Lowered> {
    let values = Values::default();
    let mut lowered = Lowered::default();
    for id in graph.validated_order()? {
        if let Some(kernel) = kernel_of(graph, id, soc, *settings, &values)? {
            lowered.add(kernel);
        }
    }
    Ok(lowered)
}

/// The kernel that a node runs; `None` where it runs none.
fn kernel_of(graph: &Graph, id: NodeId, soc: &Soc, settings: Settings, values: &Values) -> Result<Option<Kernel>> {
    let Some((workload, modelled)) = lower_node(graph, id, soc, settings, values)? else { return Ok(None) };
    let node = graph.node(id);
    // Of what only moves data by our lights the model may know the work all the same; of a product no word tells it, nor of
    // what CANN does not declare, whatever its name.
    let is_declared = || node.mapped && op::prototype::prototype(&node.op_type).is_some();
    let is_vector = || is_declared() && !node.op_type.to_ascii_lowercase().contains("matmul");
    let priced = match modelled {
        true => Priced::Recipe,
        false if is_vector() && sim::approximated(&workload).is_empty() => Priced::Movement,
        false => Priced::None,
    };
    Ok(Some(Kernel { priced, ..Kernel::new(id, workload) }))
}

/// Whether it is known what a node does.
fn is_known(node: &Node) -> bool {
    node.mapped && op::family(&node.op_type).is_some()
}

/// What a node does, and whether it is known how that works; `None` where it runs no kernel.
fn lower_node(
    graph: &Graph,
    id: NodeId,
    soc: &Soc,
    settings: Settings,
    values: &Values,
) -> Result<Option<(Workload, bool)>> {
    let node = graph.node(id);
    if node.value.is_some() {
        return Ok(None);
    }
    let known = is_known(node);
    let kind = if known { op::kind(&node.op_type) } else { Kind::Move };
    if kind == Kind::None {
        return Ok(None);
    }
    let mut scene = Scene { call: Call::new(graph, node, values), graph, id, soc, settings: &settings, kind };
    let modelled = known && scene.has_cube_type();
    if !modelled {
        scene.kind = Kind::Move;
    }
    Ok(scene.lower()?.map(|workload| (workload, modelled)))
}

/// One node on its way to a workload.
struct Scene<'a> {
    call: Call<'a>,
    graph: &'a Graph,
    id: NodeId,
    soc: &'a Soc,
    settings: &'a Settings,
    kind: Kind,
}

impl<'a> Scene<'a> {
    fn lower(&self) -> Result<Option<Workload>> {
        self.check_static()?;
        // What an unknown operator writes may not be known: then only its reading is priced.
        let results = self.results()?;
        if !results.is_empty() && results.iter().all(|o| o.elements() == 0) {
            return Ok(None);
        }
        match self.kind {
            Kind::None => Ok(None),
            Kind::MatMul | Kind::Einsum | Kind::Attention | Kind::Recurrent => self.product(),
            Kind::Within(within) => self.within(within),
            Kind::Conv(pass) => self.convolution(pass),
            Kind::Elementwise | Kind::PerChannel => self.elementwise(),
            Kind::Transpose if !self.settings.ge_closed && self.moves_nothing()? => Ok(None),
            Kind::Transpose | Kind::Join | Kind::Split | Kind::Slice | Kind::Gather | Kind::Move => self.movement(),
            Kind::Collective => self.collective(),
            _ => self.reduction(),
        }
    }

    /// Whether cube work has operands that some cube can multiply, of sizes that are told; true for all other work. Where the
    /// types are wrong for a part that the mode could help, the error comes later.
    fn has_cube_type(&self) -> bool {
        let operand = match self.kind.class() {
            _ if !self.tells_product() => return false,
            OpClass::MatMul => self.call.dtype(self.multiplied()),
            OpClass::Conv => self.image_type(),
            _ => return true,
        };
        precision::has_cube_arithmetic(self.stored(operand))
    }

    fn node(&self) -> &'a Node {
        self.call.node
    }

    fn op_type(&self) -> String {
        self.node().op_type.clone()
    }

    /// An error at this node.
    fn error(&self, reason: impl Into<String>) -> Error {
        Error::graph(format!("node `{}` ({})", self.node().name, self.node().op_type), reason)
    }

    fn overflow(&self) -> Error {
        self.error("its sizes multiply to more than 64 bits can count")
    }

    /// Every input and the first output must have a known shape; the latter of a known operator only.
    fn check_static(&self) -> Result<()> {
        let first = is_known(self.node()).then_some(Port::first(self.id));
        for port in self.node().inputs.iter().flatten().copied().chain(first) {
            let desc = self.graph.get(port.node).and_then(|n| n.outputs.get(port.output as usize));
            let Some(desc) = desc else { return Err(self.error("it has no output")) };
            if desc.shape.known().is_none() {
                return Err(crate::graph::infer::dynamic(self.graph, port));
            }
        }
        Ok(())
    }

    /// Sizes of a tensor that is known to be static.
    fn dims(&self, desc: &TensorDesc) -> Result<Vec<u64>> {
        let dims = desc.shape.known().ok_or_else(|| self.error("a shape is not known"))?;
        Ok(dims.iter().map(|&d| d.unsigned_abs()).collect())
    }

    /// Sizes of an input that must be there.
    fn input_dims(&self, input: usize) -> Result<Vec<u64>> {
        self.dims(self.call.need(input).map_err(|reason| self.error(reason))?)
    }

    /// Sizes of the first output.
    fn output_dims(&self) -> Result<Vec<u64>> {
        self.dims(self.node().outputs.first().ok_or_else(|| self.error("it has no output"))?)
    }

    fn product_of(&self, dims: &[u64]) -> Result<u64> {
        collapse::product(dims).ok_or_else(|| self.overflow())
    }

    /// A dimension that inference found, which must be known by now.
    fn size(&self, dim: i64) -> Result<u64> {
        u64::try_from(dim).map_err(|_| self.error("a size is not known"))
    }

    fn stored(&self, dtype: DataType) -> DataType {
        self.settings.precision.stored(dtype)
    }

    /// A tensor as a flat operand.
    fn flat(&self, desc: &TensorDesc) -> Result<Operand> {
        self.flat_of(desc, self.stored(desc.dtype))
    }

    /// A tensor as a flat operand, by the place at which the node reads or writes it.
    fn flat_at(&self, place: usize, desc: &TensorDesc, reads: bool) -> Result<Operand> {
        let stays = precision::is_float_alone(self.node(), place, reads);
        self.flat_of(desc, if stays { desc.dtype } else { self.stored(desc.dtype) })
    }

    /// A tensor as a flat operand of this type.
    fn flat_of(&self, desc: &TensorDesc, dtype: DataType) -> Result<Operand> {
        let elements = self.product_of(&self.dims(desc)?)?;
        let operand = Operand::new([elements], dtype);
        if operand.elements().checked_mul(u64::from(operand.dtype.bits())).is_none() {
            return Err(self.overflow());
        }
        Ok(operand)
    }

    /// Every output whose shape is known, flat; the others are optional ones that nobody reads.
    fn results(&self) -> Result<Vec<Operand>> {
        let known = self.node().outputs.iter().enumerate().filter(|(_, d)| d.shape.known().is_some());
        known.map(|(place, d)| self.flat_at(place, d, false)).collect()
    }

    /// Inputs that the kernel reads as data: all but integer constants (axes, sizes, paddings), which
    /// are part of the kernel.
    /// Each comes with whether it is constant all the same.
    fn data_inputs(&self) -> impl Iterator<Item = (bool, &'a TensorDesc)> + use<'a> {
        self.placed_inputs().map(|(_, constant, desc)| (constant, desc))
    }

    /// The same with their places among the inputs.
    fn placed_inputs(&self) -> impl Iterator<Item = (usize, bool, &'a TensorDesc)> + use<'a> {
        let graph = self.graph;
        let inputs = self.node().inputs.iter().enumerate().filter_map(|(place, port)| Some((place, (*port)?)));
        let inputs = inputs.map(move |(place, port)| (place, graph.node(port.node).value.is_some(), graph.desc(port)));
        inputs.filter(|(_, constant, desc)| !constant || desc.dtype.is_float() || desc.shape.rank() > Some(1))
    }

    fn flat_inputs(&self) -> Result<Vec<Operand>> {
        self.placed_inputs().map(|(place, _, d)| self.flat_at(place, d, true)).collect()
    }
}
