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
        load_cycles: 11.3, transfer_cycles: 36.3, tile_cycles: 38.2, sum_rate: 236.0, bias_rate: 130.0,
        spread_cycles: 108.0, overlap: 1.96, single_buffer: 0.116, fused_share: 0.171, added_share: 2.0,
    },
    parts: [
        // C100 with many cores
        [
            of([0.184, 0.132, 512.0, 5.2, 128.0, 1.05, 0.556, 1.43, 247.0]), // forward
            of([0.186, 0.143, 512.0, 4.52, 128.0, 1.73, 0.556, 1.61, 512.0]), // input
            of([0.262, 0.132, 480.0, 3.76, 98.2, 1.72, 0.556, 0.492, 247.0]), // volume input
            of([0.193, 0.16, 512.0, 4.36, 128.0, 0.654, 0.545, 1.74, 247.0]), // filter
            of([0.184, 0.107, 183.0, 4.87, 97.7, 0.84, 0.573, 1.61, 247.0]), // volume filter
            of([0.183, 0.131, 342.0, 4.24, 96.4, 2.22, 0.556, 5.44, 247.0]), // depthwise
            of([0.291, 0.175, 402.0, 5.05, 115.0, 1.35, 0.81, 2.06, 247.0]), // depthwise filter
        ],
        // C100 with few
        [
            of([2.82, 0.743, 43.7, 2.12, 35.6, 1.96, 1.03, 1.43, 86.7]), // forward
            of([1.95, 0.608, 25.7, 4.0, 82.1, 2.26, 1.03, 3.94, 48.6]), // input
            of([1.07, 0.366, 178.0, 0.629, 86.2, 2.13, 1.03, 0.913, 102.0]), // volume input
            of([2.82, 0.743, 43.7, 2.12, 35.6, 1.96, 1.03, 1.43, 86.7]), // filter
            of([2.82, 0.743, 43.7, 2.12, 35.6, 1.96, 1.03, 1.43, 86.7]), // volume filter
            of([2.8, 0.83, 53.6, 1.27, 64.1, 1.37, 1.0, 4.08, 86.7]), // depthwise
            of([4.81, 0.885, 35.0, 0.756, 10.2, 1.67, 1.03, 1.39, 86.7]), // depthwise filter
        ],
        // M200
        [
            of([0.643, 0.165, 512.0, 8.0, 128.0, 0.875, 1.74, 1.46, 512.0]), // forward
            of([1.34, 0.164, 233.0, 8.0, 30.8, 0.892, 1.67, 1.44, 512.0]), // input
            of([0.772, 0.148, 512.0, 8.0, 128.0, 0.794, 1.67, 1.41, 512.0]), // volume input
            of([0.772, 0.148, 512.0, 8.0, 128.0, 0.794, 1.67, 1.41, 512.0]), // filter
            of([0.772, 0.148, 512.0, 8.0, 128.0, 0.794, 1.67, 1.41, 512.0]), // volume filter
            of([0.772, 0.148, 512.0, 8.0, 128.0, 0.794, 1.67, 1.41, 512.0]), // depthwise
            of([0.788, 0.148, 512.0, 8.0, 128.0, 4.58, 1.67, 1.44, 512.0]), // depthwise filter
        ],
    ],
};
