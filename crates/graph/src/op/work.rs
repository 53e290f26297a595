//! Kinds of work, told apart as far as lowering and shape rules need it.

/// Kind of work an operator is, which decides how it is lowered to a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpClass {
    /// Matrix product (`MatMulV2`, `BatchMatMulV2`, ...).
    MatMul,
    /// Convolution.
    Conv,
    /// Elementwise vector work.
    Elementwise,
    /// Work along an axis: reductions, softmax, norms, pooling.
    Reduce,
    /// Data movement.
    Move,
    /// Exchange between devices.
    Collective,
    /// No kernel: inputs, constants, reshapes.
    None,
}

/// How an operator's sizes become a workload: what [`OpClass`] says, in the detail that lowering needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// No kernel.
    None,
    /// Product of two matrices or stacks of them.
    MatMul,
    /// Products in a kernel that does more.
    Within(Within),
    /// Sum of products given by an `equation`.
    Einsum,
    /// softmax(Q K^T) V in one kernel.
    Attention,
    /// LSTM or GRU over a sequence.
    Recurrent,
    /// One of the kernels of a convolution.
    Conv(ConvPass),
    /// Elementwise; smaller operands broadcast by numpy's rules.
    Elementwise,
    /// Elementwise; one-dimensional operands lie along the channel axis.
    PerChannel,
    /// Reduction over the axes named by input 1 or an attribute (all, where none is).
    ReduceAxes,
    /// Reduction of everything to one number.
    ReduceAll,
    /// Work along one axis that is named by an attribute: softmax, arg-max, top-k, cumulative sums.
    AlongAxis,
    /// Normalisation over `begin_norm_axis` and all axes after it.
    LayerNorm,
    /// Statistics of each channel over all other axes.
    ChannelStats,
    /// Normalisation of each channel of each image.
    InstanceNorm,
    /// Normalisation of `num_groups` channel groups of each image.
    GroupNorm,
    /// Normalisation over a window of neighbouring channels.
    ChannelWindow,
    /// Window that slides over the image.
    Pool,
    /// Window as large as the image.
    GlobalPool,
    /// Reordering of axes.
    Transpose,
    /// Several tensors to one, along an axis.
    Join,
    /// One tensor to several, along an axis.
    Split,
    /// Part of a tensor.
    Slice,
    /// Rows picked by index.
    Gather,
    /// Any other movement: every tensor is read or written once.
    Move,
    /// Exchange between devices.
    Collective,
}

/// Which kernel of a convolution an operator is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConvPass {
    /// y from x and the filter.
    Forward,
    /// The transposed convolution: works as the backward kernel for x.
    Transposed,
    /// The gradient of x.
    BackpropInput,
    /// The gradient of the filter.
    BackpropFilter,
}

impl Kind {
    /// The class this kind belongs to.
    pub const fn class(self) -> OpClass {
        match self {
            Kind::None => OpClass::None,
            Kind::MatMul | Kind::Within(_) | Kind::Einsum | Kind::Attention | Kind::Recurrent => OpClass::MatMul,
            Kind::Conv(_) => OpClass::Conv,
            Kind::Elementwise | Kind::PerChannel => OpClass::Elementwise,
            Kind::ReduceAxes
            | Kind::ReduceAll
            | Kind::AlongAxis
            | Kind::LayerNorm
            | Kind::ChannelStats
            | Kind::InstanceNorm
            | Kind::GroupNorm
            | Kind::ChannelWindow
            | Kind::Pool
            | Kind::GlobalPool => OpClass::Reduce,
            Kind::Transpose | Kind::Join | Kind::Split | Kind::Slice | Kind::Gather | Kind::Move => OpClass::Move,
            Kind::Collective => OpClass::Collective,
        }
    }
}

/// Products in a kernel that does more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Within {
    /// Where their operands are.
    pub reading: Reading,
    /// The input whose type is multiplied: a kernel may quantise rows to the type of the weight.
    pub typed_by: usize,
    /// What the kernel does besides, in order.
    pub besides: &'static [Beside],
}

/// Where the operands of a product are that a kernel does more with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reading {
    /// Inputs 0 and 1.
    Operands,
    /// Inputs 0 and 1 in orders of axes of their own.
    Turned,
    /// Inputs 0 and 1, the rows those of all devices (`rank_size`).
    Gathered,
    /// Inputs 0 and 1, the rows shared among the devices and each as long as those of all (`world_size`).
    Exchanged,
    /// Stacks at inputs 0 and 1 that are gathered as the result is.
    Stack,
    /// Rows dealt out to groups, each with a matrix of its own, which is stored transposed where no attribute says.
    Groups {
        /// Whether it is.
        transposed: bool,
    },
    /// Two products with an activation between them (x, weight1, weight2), of all rows or of those of each expert.
    FeedForward,
}

/// What a kernel does besides a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Beside {
    /// The sum of all devices' results.
    AllReduce,
    /// All devices' rows, before the product.
    AllGather,
    /// A part of the sum of all devices' results.
    ReduceScatter,
    /// A part of each device's rows, before the product.
    SendRows,
    /// A part of each device's result.
    SendResult,
    /// A residual added and the root mean square norm of the sum.
    Norm,
    /// Half of the columns through the other half.
    Gate,
    /// The activation that an attribute names, and the product of what it gives.
    SecondProduct,
    /// The elementwise operation that attribute `fused_op_type` names.
    Epilogue,
    /// Sums over what the result has not got.
    Sum,
}
