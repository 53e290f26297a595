//! Ascend operator types: what kind of work each is.

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
