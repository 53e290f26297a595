//! The rates that predictions use, as `examples/calibrate --records` prints them.

use super::rates::{Rates, Shared, Table};

const fn of([start, core, gm, memory, out, even, odd, plain, spread]: [f64; 9]) -> Rates {
    Rates { start, core, gm, memory, out, even, odd, plain, spread }
}

impl Table {
    /// The rates that predictions use.
    pub const FITTED: Table = TABLE;
}

#[rustfmt::skip]
const TABLE: Table = Table {
    shared: Shared {
        load_cycles: 9.08, transfer_cycles: 32.7, tile_cycles: 45.8, sum_rate: 304.0, bias_rate: 133.0,
        spread_cycles: 101.0, overlap: 1.9, single_buffer: 0.147, fused_share: 0.349, added_share: 1.58,
    },
    parts: [
        // C100 with many cores
        [
            of([0.199, 0.135, 512.0, 2.84, 128.0, 1.02, 0.556, 1.46, 245.0]), // forward
            of([0.202, 0.142, 512.0, 3.31, 128.0, 1.62, 0.556, 1.53, 512.0]), // input
            of([0.392, 0.124, 512.0, 2.83, 97.0, 1.77, 0.556, 0.486, 247.0]), // volume input
            of([0.218, 0.159, 512.0, 2.95, 128.0, 0.636, 0.54, 1.42, 245.0]), // filter
            of([0.16, 0.118, 186.0, 3.64, 105.0, 0.811, 0.567, 1.94, 245.0]), // volume filter
            of([0.193, 0.115, 347.0, 2.25, 78.4, 2.23, 0.556, 5.64, 245.0]), // depthwise
            of([1.61, 0.118, 443.0, 0.955, 119.0, 1.22, 0.794, 1.85, 245.0]), // depthwise filter
        ],
        // C100 with few
        [
            of([2.31, 1.0, 44.2, 2.83, 33.4, 2.0, 1.03, 1.49, 87.5]), // forward
            of([1.67, 0.777, 26.5, 5.67, 82.9, 2.18, 1.03, 3.9, 47.7]), // input
            of([0.919, 0.445, 174.0, 0.63, 84.7, 2.0, 1.03, 1.13, 103.0]), // volume input
            of([2.31, 1.0, 44.2, 2.83, 33.4, 2.0, 1.03, 1.49, 87.5]), // filter
            of([2.31, 1.0, 44.2, 2.83, 33.4, 2.0, 1.03, 1.49, 87.5]), // volume filter
            of([2.67, 1.0, 48.3, 1.59, 60.0, 1.45, 1.02, 3.45, 87.5]), // depthwise
            of([3.19, 1.0, 23.5, 2.41, 6.62, 1.73, 1.03, 1.48, 87.5]), // depthwise filter
        ],
        // M200
        [
            of([0.591, 0.174, 512.0, 8.0, 128.0, 0.892, 1.75, 1.46, 512.0]), // forward
            of([1.29, 0.18, 244.0, 8.0, 32.6, 0.89, 1.71, 1.33, 512.0]), // input
            of([0.711, 0.161, 512.0, 8.0, 128.0, 0.833, 1.71, 1.43, 512.0]), // volume input
            of([0.711, 0.161, 512.0, 8.0, 128.0, 0.833, 1.71, 1.43, 512.0]), // filter
            of([0.711, 0.161, 512.0, 8.0, 128.0, 0.833, 1.71, 1.43, 512.0]), // volume filter
            of([0.711, 0.161, 512.0, 8.0, 128.0, 0.833, 1.71, 1.43, 512.0]), // depthwise
            of([0.725, 0.161, 512.0, 8.0, 128.0, 4.66, 1.71, 1.46, 512.0]), // depthwise filter
        ],
    ],
};
