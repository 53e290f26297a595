//! Work of the vector unit and of the copy engines.

use aoe_graph::{DataType, Format};

/// One tensor that a kernel reads or writes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Operand {
    /// Sizes as stored in memory.
    pub shape: Vec<u64>,
    /// Element type.
    pub dtype: DataType,
    /// Memory layout.
    pub format: Format,
}

impl Operand {
    /// An operand in format ND.
    pub fn new(shape: impl Into<Vec<u64>>, dtype: DataType) -> Self {
        Operand { shape: shape.into(), dtype, format: Format::Nd }
    }

    /// Number of elements; saturates.
    pub fn elements(&self) -> u64 {
        self.shape.iter().fold(1u64, |n, &d| n.saturating_mul(d))
    }

    /// Size in bytes, rounded up; saturates.
    pub fn bytes(&self) -> u64 {
        self.elements().saturating_mul(u64::from(self.dtype.bits())).div_ceil(8)
    }
}

/// Elementwise work: every output element depends on the matching (or broadcast) input elements.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Vector {
    /// Ascend operator type; decides the instructions per element.
    pub op_type: String,
    /// Tensors read; smaller ones are broadcast.
    pub inputs: Vec<Operand>,
    /// Tensors written.
    pub outputs: Vec<Operand>,
}

/// Work along an axis: `outer` independent rows of `axis` elements with `inner` contiguous lanes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reduce {
    /// Ascend operator type (`SoftmaxV2`, `LayerNorm`, `ReduceMean`, `MaxPoolV3`, ...).
    pub op_type: String,
    /// Independent rows.
    pub outer: u64,
    /// Elements of the reduced axis (the window, for pooling).
    pub axis: u64,
    /// Contiguous elements below the axis; 1 when the last axis is reduced.
    pub inner: u64,
    /// Tensors read.
    pub inputs: Vec<Operand>,
    /// Tensors written.
    pub outputs: Vec<Operand>,
}

/// Pure data movement.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Move {
    /// Ascend operator type, or the framework's for an operator that has no mapping.
    pub op_type: String,
    /// Contiguous bytes that stay together (the innermost run that is not reordered); 0 where the
    /// whole tensor does.
    pub run_bytes: u64,
    /// Tensors read.
    pub inputs: Vec<Operand>,
    /// Tensors written.
    pub outputs: Vec<Operand>,
}

/// Kinds of exchange between devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CollectiveKind {
    /// Every device gets the sum.
    AllReduce,
    /// Every device gets every part.
    AllGather,
    /// Every device gets its part of the sum.
    ReduceScatter,
    /// Every device gets its part of what each has.
    AllToAll,
    /// One device's data goes to all.
    Broadcast,
}

impl CollectiveKind {
    /// Ascend operator type.
    pub const fn op_type(self) -> &'static str {
        match self {
            CollectiveKind::AllReduce => "HcomAllReduce",
            CollectiveKind::AllGather => "HcomAllGather",
            CollectiveKind::ReduceScatter => "HcomReduceScatter",
            CollectiveKind::AllToAll => "HcomAllToAll",
            CollectiveKind::Broadcast => "HcomBroadcast",
        }
    }
}

/// Exchange of one buffer between devices.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Collective {
    /// What is exchanged how.
    pub kind: CollectiveKind,
    /// Bytes of the buffer on one device.
    pub bytes: u64,
}

fn write_operands(f: &mut std::fmt::Formatter<'_>, op: &str, operands: &[Operand]) -> std::fmt::Result {
    write!(f, "{op}")?;
    operands.iter().try_for_each(|o| write!(f, " {:?} {}", o.shape, o.dtype.name()))
}

impl std::fmt::Display for Vector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write_operands(f, &self.op_type, &self.inputs)
    }
}

impl std::fmt::Display for Reduce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}x{}x{}", self.op_type, self.outer, self.axis, self.inner)
    }
}

impl std::fmt::Display for Move {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write_operands(f, &self.op_type, &self.inputs)
    }
}

impl std::fmt::Display for Collective {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} B", self.kind.op_type(), self.bytes)
    }
}
