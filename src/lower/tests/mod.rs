//! What nodes become, field by field.

mod batch;
mod conversion;
mod cube;
mod fractals;
mod in_place;
mod moving;
mod residency;
mod stored;
mod vector;
mod within;

use super::{Precision, Priced, Settings, lower, with_conversions};
use crate::graph::infer::infer;
use crate::graph::{Attr, Constant, DataType, Graph, Node, NodeId, Port, Shape, TensorDesc};
use crate::soc::Soc;
use crate::status::Result;
use crate::workload::{Operand, Workload};

/// The operator under test: a graph with its inputs.
pub(super) struct Case {
    graph: Graph,
    node: Node,
}

/// A case for an operator of this type with one output.
pub(super) fn op(op_type: &str) -> Case {
    Case { graph: Graph::new("test"), node: Node::new("op", op_type) }
}

impl Case {
    /// A float32 tensor known at run time.
    pub fn x(self, dims: &[i64]) -> Self {
        self.typed(DataType::Float, dims)
    }

    /// A tensor of another type known at run time.
    pub fn typed(mut self, dtype: DataType, dims: &[i64]) -> Self {
        let name = format!("in{}", self.node.inputs.len());
        let port = self.graph.add_input(name, TensorDesc::new(dtype, Shape::new(dims))).unwrap();
        self.node.inputs.push(Some(port));
        self
    }

    /// A weight.
    pub fn w(mut self, dims: &[i64]) -> Self {
        let name = format!("in{}", self.node.inputs.len());
        let desc = TensorDesc::new(DataType::Float, Shape::new(dims));
        let port = self.graph.add_const(name, desc, Constant::Opaque).unwrap();
        self.node.inputs.push(Some(port));
        self
    }

    /// A constant list of integers.
    pub fn ints(mut self, values: &[i64]) -> Self {
        let name = format!("in{}", self.node.inputs.len());
        let desc = TensorDesc::new(DataType::Int64, Shape::new([values.len() as i64]));
        let port = self.graph.add_const(name, desc, Constant::Ints(values.to_vec())).unwrap();
        self.node.inputs.push(Some(port));
        self
    }

    pub fn absent(mut self) -> Self {
        self.node.inputs.push(None);
        self
    }

    pub fn set(mut self, name: &str, value: Attr) -> Self {
        self.node.attrs.set(name, value);
        self
    }

    pub fn list(self, name: &str, values: &[i64]) -> Self {
        self.set(name, Attr::Ints(values.to_vec()))
    }

    pub fn text(self, name: &str, value: &str) -> Self {
        self.set(name, Attr::Str(value.to_owned()))
    }

    pub fn flag(self, name: &str) -> Self {
        self.set(name, Attr::Bool(true))
    }

    pub fn outputs(mut self, count: usize) -> Self {
        self.node.outputs = vec![TensorDesc::unknown(); count];
        self
    }

    /// What the file says of the first output.
    pub fn known(mut self, dims: &[i64]) -> Self {
        self.node.outputs[0] = TensorDesc::new(DataType::Float, Shape::new(dims));
        self
    }

    /// The graph with its shapes, and the operator in it.
    pub fn built(mut self) -> (Graph, NodeId) {
        let id = self.graph.add(self.node).unwrap();
        self.graph.add_output(Port::first(id));
        infer(&mut self.graph).unwrap();
        (self.graph, id)
    }

    /// The workloads of the graph on a SoC.
    pub fn on(mut self, soc: &str, settings: Settings) -> Result<Vec<Workload>> {
        let id = self.graph.add(self.node).unwrap();
        self.graph.add_output(Port::first(id));
        infer(&mut self.graph)?;
        let lowered = lower(&self.graph, &Soc::find(soc)?, &settings)?;
        Ok(lowered.kernels.into_iter().map(|k| k.workload).collect())
    }

    /// The one workload with CANN's default precision on 910B2.
    #[track_caller]
    pub fn one(self) -> Workload {
        let mut all = self.on("Ascend910B2", Settings::default()).unwrap();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }
}

pub(super) fn settings(precision: Precision) -> Settings {
    Settings { precision, ..Settings::default() }
}

pub(super) fn shapes(operands: &[Operand]) -> Vec<Vec<u64>> {
    operands.iter().map(|o| o.shape.clone()).collect()
}

#[test]
fn nodes_without_work_leave_no_kernel() {
    for case in [
        op("Reshape").x(&[2, 3]).ints(&[6]),
        op("Identity").x(&[2, 3]),
        op("Shape").x(&[2, 3]),
        op("Transpose").w(&[2, 3]).ints(&[1, 0]),
        op("Transpose").x(&[1, 197, 768]).ints(&[1, 0, 2]),
        op("Transpose").x(&[4, 8]).ints(&[0, 1]),
        op("Relu").x(&[0, 3]),
        op("ConcatD").x(&[2, 0]).x(&[2, 0]).set("concat_dim", Attr::Int(0)),
    ] {
        assert_eq!(case.on("Ascend910B2", Settings::default()).unwrap(), []);
    }
}

#[test]
fn an_unmapped_operator_moves_its_tensors_and_is_listed() {
    let mut graph = Graph::new("test");
    let x = graph.add_input("x", TensorDesc::new(DataType::Float, Shape::new([4, 8]))).unwrap();
    let mut node = Node::new("op", "com.example::Strange").with_inputs([x]);
    node.mapped = false;
    node.outputs = vec![TensorDesc::new(DataType::Float, Shape::new([5]))];
    let id = graph.add(node).unwrap();
    let lowered = lower(&graph, &Soc::find("Ascend910B2").unwrap(), &Settings::default()).unwrap();
    assert_eq!(lowered.unmapped, [id]);
    let Workload::Move(m) = &lowered.kernels[0].workload else { panic!("{:?}", lowered.kernels) };
    assert_eq!(
        (m.op_type.as_str(), shapes(&m.inputs), shapes(&m.outputs)),
        ("com.example::Strange", vec![vec![32]], vec![vec![5]])
    );
}

#[test]
fn what_an_operator_is_not_modelled_for_is_priced_as_movement_or_not_at_all() {
    let priced = |op_type: &str, inputs: &[&[i64]], output: &[i64]| {
        let mut graph = Graph::new("test");
        let half = |dims: &[i64]| TensorDesc::new(DataType::Float16, Shape::new(dims));
        let ports: Vec<_> = inputs
            .iter()
            .enumerate()
            .map(|(at, dims)| graph.add_input(format!("x{at}"), half(dims)).unwrap())
            .collect();
        let node = Node::new("op", op_type).with_inputs(ports).with_outputs(vec![half(output)]);
        let id = graph.add(node).unwrap();
        let lowered = lower(&graph, &Soc::find("Ascend910B2").unwrap(), &Settings::default()).unwrap();
        assert_eq!(lowered.unmapped.contains(&id), lowered.kernels[0].priced != Priced::Recipe);
        lowered.kernels[0].priced
    };
    assert_eq!(priced("Relu", &[&[8, 64]], &[8, 64]), Priced::Recipe);
    assert_eq!(priced("SwiGluQuant", &[&[8, 64]], &[8, 32]), Priced::Movement);
    // Words of a name tell nothing of an operator that CANN does not have.
    for own in ["MySwiGluQuant", "QuantThing", "FastSwiglu"] {
        assert_eq!(priced(own, &[&[8, 64]], &[8, 32]), Priced::None, "{own}");
    }
    assert_eq!(priced("MatmulAllReduce", &[&[8, 64], &[64, 32]], &[8, 32]), Priced::Recipe);
    // It multiplies, by numbers that only attributes and other devices have, and packed words hide columns.
    assert_eq!(priced("AlltoAllvGroupedMatMul", &[&[8, 64], &[4, 64, 32]], &[8, 32]), Priced::None);
    assert_eq!(priced("GroupedMatMulAllReduce", &[&[8, 64], &[64, 32]], &[8, 32]), Priced::None);
    // What its first weight makes, whole or by halves through a gate, is not what its second takes.
    assert_eq!(priced("FFN", &[&[8, 64], &[64, 32], &[32, 16]], &[8, 16]), Priced::Recipe);
    assert_eq!(priced("FFN", &[&[8, 64], &[64, 32], &[24, 16]], &[8, 16]), Priced::None);
}

#[test]
fn operands_that_an_interface_has_in_float32_alone_stay_so() {
    let mut graph = Graph::new("test");
    let float = |dims: &[i64]| TensorDesc::new(DataType::Float, Shape::new(dims));
    let x = graph.add_input("x", TensorDesc::new(DataType::Int32, Shape::new([8, 64]))).unwrap();
    let scales = graph.add_input("scales", float(&[64])).unwrap();
    let rows = graph.add_input("rows", float(&[8])).unwrap();
    let out = vec![TensorDesc::new(DataType::Int8, Shape::new([8, 32])), float(&[8])];
    graph.add(Node::new("op", "DequantSwigluQuant").with_inputs([x, scales, rows]).with_outputs(out)).unwrap();
    graph.add(Node::new("plain", "Relu").with_inputs([rows]).with_outputs(vec![float(&[8])])).unwrap();
    let soc = Soc::find("Ascend910B2").unwrap();
    let (graph, lowered) = with_conversions(graph, &soc, &Settings::default()).unwrap();
    let kernel = |name: &str| lowered.kernels.iter().find(|kernel| graph.node(kernel.node).name == name).unwrap();
    let Workload::Move(op) = &kernel("op").workload else { panic!("{lowered:?}") };
    let types = |operands: &[Operand]| operands.iter().map(|o| o.dtype).collect::<Vec<_>>();
    assert_eq!(types(&op.inputs), [DataType::Int32, DataType::Float, DataType::Float]);
    assert_eq!(types(&op.outputs), [DataType::Int8, DataType::Float]);
    // What takes either type is cast as ever.
    let casts: Vec<_> = lowered.kernels.iter().filter(|k| graph.node(k.node).op_type == "Cast").collect();
    assert_eq!(casts.len(), 1, "{lowered:?}");
    assert_eq!(graph.node(kernel("plain").node).inputs[0].unwrap().node, casts[0].node);
}

#[test]
fn a_shape_that_is_not_known_is_an_error_that_names_its_tensor() {
    let error = op("Relu").x(&[-1, 3]).on("Ascend910B2", Settings::default()).unwrap_err();
    assert!(matches!(error, crate::status::Error::Dynamic { .. }));
    assert!(error.to_string().contains("`in0`"), "{error}");
}

#[test]
fn work_that_64_bits_cannot_count_is_an_error_that_names_its_node() {
    let huge = 1 << 28;
    for case in [
        op("BatchMatMulV2").x(&[huge, huge]).x(&[huge, huge]),
        op("Conv2D").x(&[huge, 64, 1024, 1024]).x(&[1 << 20, 64, 3, 3]),
    ] {
        let error = case.on("Ascend910B2", Settings::default()).unwrap_err().to_string();
        assert!(error.contains("node `op`") && error.contains("64 bits"), "{error}");
    }
}

#[test]
fn precision_modes_decide_the_types() {
    use DataType::{Bfloat16, Float, Float16};
    for (precision, soc, operand, result, vector) in [
        (Precision::ForceFp16, "Ascend910B2", Float16, Float16, Float16),
        (Precision::AllowFp32ToFp16, "Ascend910B2", Float, Float, Float),
        (Precision::AllowFp32ToFp16, "Ascend910A", Float16, Float16, Float),
        (Precision::MustKeepOriginDtype, "Ascend910B2", Float, Float, Float),
        (Precision::AllowMixPrecision, "Ascend910B2", Float16, Float16, Float16),
        (Precision::AllowMixPrecisionBf16, "Ascend910B2", Bfloat16, Bfloat16, Bfloat16),
        (Precision::AllowFp32ToBf16, "Ascend910B2", Float, Float, Float),
        (Precision::CubeFp16InFp32Out, "Ascend910A", Float16, Float, Float),
    ] {
        let product = op("MatMulV2").x(&[16, 16]).x(&[16, 16]).on(soc, settings(precision)).unwrap();
        let Workload::MatMul(m) = &product[0] else { panic!("{product:?}") };
        assert_eq!((m.dtype, m.out_dtype), (operand, result), "{precision:?} on {soc}");
        let sum = op("Add").x(&[16]).x(&[16]).on(soc, settings(precision)).unwrap();
        let Workload::Vector(v) = &sum[0] else { panic!("{sum:?}") };
        assert_eq!(v.outputs[0].dtype, vector, "{precision:?} on {soc}");
    }
}

#[test]
fn a_type_that_the_cube_does_not_have_is_an_error_that_names_option_node_and_part() {
    let keep = settings(Precision::MustKeepOriginDtype);
    let error = op("MatMulV2").x(&[16, 16]).x(&[16, 16]).on("Ascend910A", keep).unwrap_err().to_string();
    for part in ["precision_mode", "must_keep_origin_dtype", "`op`", "float32", "Ascend910A"] {
        assert!(error.contains(part), "{part} is not in: {error}");
    }
}

#[test]
fn names_of_precision_modes_map_back() {
    for (name, mode) in Precision::NAMES {
        assert_eq!(Precision::from_name(name), Some(*mode));
        assert_eq!(Precision::from_name(mode.name()), Some(*mode));
    }
    assert_eq!(Precision::from_name("fp128"), None);
}
