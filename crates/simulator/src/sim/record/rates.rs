//! Rates of the kernels that TBE generated for convolutions with a tiling from a repository, by kernel and part.
//!
//! `examples/calibrate --records` fits them to the repositories of the 310P3, the 910A and the 310, of each to the problems
//! that the split lets it see. What does not depend on the kernel is a constant of its own; the table holds what a kernel
//! reaches of each pipe.

use crate::soc::{Arch, Soc};
use crate::workload::{ConvKind, ConvRecord};

/// Units of the M200's repositories in a microsecond: its cube would otherwise do 161 TFLOP/s where the
/// part has 69.5, and its device memory give 500 GB/s of 205, both 2.4 times too much.
pub(super) const UNIT_M200: f64 = 0.42;
/// Cores of the first generation from which a part counts as large.
const MANY_CORES: u32 = 8;

/// Declares numbers that a fit moves: field, range, meaning.
macro_rules! numbers {
    ($(#[$doc:meta])* $of:ident { $($(#[$field_doc:meta])* $name:ident [$low:expr, $high:expr],)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct $of { $($(#[$field_doc])* pub $name: f64,)* }

        impl $of {
            /// Names of its numbers, in order.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];
            /// Least and greatest value that make physical sense.
            pub const RANGES: &'static [[f64; 2]] = &[$([$low, $high]),*];

            /// Its numbers, in order.
            pub fn numbers(&mut self) -> Vec<&mut f64> {
                vec![$(&mut self.$name),*]
            }
        }
    };
}

numbers! {
    /// What all kernels share.
    Shared {
        /// Cycles of a load into L0 beyond its bytes, both operands of a step together.
        load_cycles [1.0, 200.0],
        /// Cycles of a transfer to L1 beyond its bytes.
        transfer_cycles [1.0, 1000.0],
        /// Cycles of a tile of L0C beyond its bytes, on its way to UB.
        tile_cycles [1.0, 1000.0],
        /// Bytes a cycle in which sums pass from L0C to UB and are converted.
        sum_rate [16.0, 1024.0],
        /// The same where a bias is added.
        bias_rate [16.0, 1024.0],
        /// Cycles of a transfer through UB where the gradient is spread.
        spread_cycles [1.0, 1000.0],
        /// Power with which the pipes' times add up: two buffers hide much, and not all.
        overlap [1.0, 8.0],
        /// Part of a pipe's time that does not hide where it has a single buffer.
        single_buffer [0.01, 1.0],
        /// Share of fused operands' bytes that device memory serves.
        fused_share [0.1, 1.0],
        /// Share of device memory's traffic that a result costs for each core that adds to it.
        added_share [0.1, 2.0],
    }
}

numbers! {
    /// What a kernel reaches.
    Rates {
        /// Microseconds until it starts.
        start [0.1, 20.0],
        /// Microseconds for each further core.
        core [0.001, 1.0],
        /// Bytes a cycle that a core brings to L1.
        gm [8.0, 512.0],
        /// Times of device memory's bandwidth; L2 holds much of small operands.
        memory [0.5, 8.0],
        /// Bytes a cycle from UB to memory.
        out [4.0, 128.0],
        /// Times of a fractal load's own cycles that im2col takes where pixels go evenly.
        even [0.25, 8.0],
        /// The same where each pixel goes by itself.
        odd [0.25, 8.0],
        /// The same of plain loads.
        plain [0.25, 16.0],
        /// Bytes a cycle of the spread gradient.
        spread [8.0, 512.0],
    }
}

/// The kernels that have rates of their own, in the order of a part's rates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum Kernel {
    Forward,
    Input,
    VolumeInput,
    Filter,
    VolumeFilter,
    Depthwise,
    DepthwiseFilter,
}

impl Kernel {
    fn of(r: &ConvRecord) -> Kernel {
        match (r.conv.kind, r.depthwise, r.conv.is_volume()) {
            (ConvKind::BackpropFilter, true, _) => Kernel::DepthwiseFilter,
            (_, true, _) => Kernel::Depthwise,
            (ConvKind::Forward, false, _) => Kernel::Forward,
            (ConvKind::BackpropInput, false, false) => Kernel::Input,
            (ConvKind::BackpropInput, false, true) => Kernel::VolumeInput,
            (ConvKind::BackpropFilter, false, false) => Kernel::Filter,
            (ConvKind::BackpropFilter, false, true) => Kernel::VolumeFilter,
        }
    }
}

/// Names of a part's kernels, in order.
pub const KERNELS: [&str; 7] =
    ["forward", "input", "volume input", "filter", "volume filter", "depthwise", "depthwise filter"];
/// Names of the kinds of part, in order: the 910; the 310; the 310P, and the 610, which is built alike.
pub const PARTS: [&str; 3] = ["C100 with many cores", "C100 with few", "M200"];

/// The rates of all kernels on all parts that take such records.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What all share.
    pub shared: Shared,
    /// By kind of part and kernel.
    pub parts: [[Rates; KERNELS.len()]; PARTS.len()],
}

/// The places of a record's kind of part and kernel in a [`Table`], and how many of its units are a microsecond; `None` for
/// parts whose kernels leave L0C through fixpipe and take no such record.
pub fn place(r: &ConvRecord, soc: &Soc) -> Option<([usize; 2], f64)> {
    let (part, unit) = match soc.arch {
        Arch::C100 if soc.ai_core_cnt >= MANY_CORES => (0, 1.0),
        Arch::C100 => (1, 1.0),
        Arch::M200 => (2, UNIT_M200),
        Arch::C220 | Arch::M300 | Arch::C310 => return None,
    };
    Some(([part, Kernel::of(r) as usize], unit))
}
