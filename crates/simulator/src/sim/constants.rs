//! The model's own constants: what no SoC description holds, each with its source.
//!
//! `measured`: read off a published micro-benchmark or a documented rate. `fit`: found by
//! `examples/calibrate` on the measured kernels; the doc says on which.

/// Declares the constants once: name, value, origin, and the range that fitting may search.
macro_rules! constants {
    ($($(#[$doc:meta])* $name:ident = $value:expr, $origin:ident [$low:expr, $high:expr];)*) => {
        /// The model's constants.
        #[derive(Debug, Clone, PartialEq)]
        pub struct Constants { $($(#[$doc])* pub $name: f64,)* }

        impl Constants {
            /// The constants that predictions use.
            pub const FITTED: Constants = Constants { $($name: $value,)* };

            /// Every constant: name, origin, range.
            pub const ALL: &'static [Entry] = &[$(Entry {
                name: stringify!($name),
                origin: Origin::$origin,
                range: [$low, $high],
            },)*];

            /// The value of this name.
            pub fn get(&self, name: &str) -> Option<f64> {
                match name { $(stringify!($name) => Some(self.$name),)* _ => None }
            }

            /// Changes the value of this name; false when there is none.
            pub fn set(&mut self, name: &str, value: f64) -> bool {
                match name { $(stringify!($name) => self.$name = value,)* _ => return false }
                true
            }
        }
    };
}

/// One constant, for the fitting program.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Where its value comes from.
    pub origin: Origin,
    /// Smallest and largest value that make physical sense.
    pub range: [f64; 2],
}

/// Where a constant's value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "written as a word in the table")]
pub enum Origin {
    /// A measurement or a document.
    measured,
    /// The bank of the 24-core 910B2.
    fit_cube,
    /// Cube kernels of the 30-core 910.
    fit_910_cube,
    /// Pairs of tilings of one product on the 310P.
    fit_310p,
    /// Linear layers of a 24-core 910B, weights cold and warm.
    fit_linear,
    /// Attention of a 24-core 910B.
    fit_attention,
    /// Attention of the 910B2 and the 950PR, kernel by kernel with a cold L2.
    fit_alone,
    /// Quantised linear layers of a 24-core 910B.
    fit_quant,
    /// Vector kernels of the 30-core 910.
    fit_910_vector,
    /// The 20-core trace.
    fit_trace,
    /// Operators of the 310.
    fit_310,
    /// Single kernels of the 910B2 and the 950PR that find L2 cold.
    fit_cold,
}

impl Default for Constants {
    fn default() -> Self {
        Constants::FITTED
    }
}

constants! {
    // Cube cores of every generation.
    /// Cycles from issuing a transfer out of GM to its first byte in L1: 1 KiB takes 173 cycles on 910B1.
    gm_latency = 173.0, measured [100.0, 300.0];
    /// Cycles that each transfer from GM keeps its pipe beyond its bytes.
    transfer_cycles = 101.5, fit_cube [0.0, 200.0];
    /// Cycles that each contiguous run inside a transfer adds.
    burst_cycles = 2.124, fit_cube [0.0, 20.0];
    /// Cycles that a row of an ND matrix adds whose pitch is no multiple of 32 bytes: each row then is a
    /// transfer of its own (910B2 bank, rows of 32 bytes take 12.8 cycles).
    unaligned_row_cycles = 12.8, measured [0.0, 30.0];
    /// Cycles in which fixpipe brings 128 columns of a plain result's row out of L0C, whose kernel it is: published times
    /// of a 24-core part put 128 columns of 16 bits at about 6, and split-K records that were tuned on devices could
    /// not win were fp32 dearer. (What the 20-core trace counts as busy is four times that, and holds fixpipe's wait
    /// for the last MMADs under the unit flag.)
    result_cycles = 6.0, measured [2.0, 50.0];
    /// Cycles of an L1 to L0 load beyond its bytes.
    l0_load_cycles = 24.49, fit_cube [0.0, 200.0];
    /// Cycles of an MMAD instruction and its hand-over beyond its steps.
    mmad_cycles = 22.19, fit_cube [0.0, 200.0];
    /// The same on the first generation.
    mmad_cycles_c100 = 70.0, fit_910_cube [0.0, 1000.0];
    /// Cycles that the scalar unit takes to issue one L0C tile.
    tile_cycles = 125.3, fit_cube [0.0, 1000.0];
    /// Cycles of an L1 to L0 load beyond its bytes in TBE's products on the 310P.
    l0_load_cycles_m200 = 75.0, fit_310p [0.0, 200.0];
    /// Times its bytes that A costs there on the way to L0A: a fractal of 512 bytes takes 16 cycles, one 32-byte row each,
    /// where the path has one cycle for all.
    a_load_m200 = 17.0, fit_310p [1.0, 32.0];
    /// Bytes a cycle in which results leave UB there.
    ub_out_rate_m200 = 12.4, fit_310p [4.0, 114.0];
    /// Power of the norm that joins the pipes' times there.
    overlap_power_m200 = 1.75, fit_310p [1.0, 8.0];
    /// Part of a tile's way out for which a single buffer of L0C keeps the cube waiting there.
    l0_c_wait_m200 = 0.3, fit_310p [0.0, 1.0];
    /// Bytes beyond L2's size each evict one more that would have been used again.
    thrash_factor = 2.516, fit_cube [1.0, 4.0];
    /// Share of device memory bandwidth that reads of many cores reach.
    hbm_efficiency = 0.7592, fit_cube [0.3, 1.0];
    /// Share of device memory bandwidth that reads reach which nothing has brought to L2: weights of a decode step.
    cold_read_efficiency = 0.8831, fit_linear [0.5, 1.0];
    /// Power with which the blocks of the other operand that are at work beside each other (of `MatMulV3`: of its
    /// default tilings) multiply the traffic of a cold one.
    fetch_exponent = 0.816, fit_linear [0.0, 1.0];
    /// Power with which cores beyond six that read one panel at the same time take longer, 910B: L2 serves one line to one
    /// core after the other.
    reader_exponent = 0.2, fit_linear [0.0, 1.0];
    /// Simple instructions that vector cores take as long as for 64 sums of a quantised product: convert, scale by column
    /// and by row, convert, and the waits between.
    scale_steps = 12.0, fit_quant [1.0, 12.0];
    /// Cycles of a vector core for 64 scores of attention: scale, mask, largest, difference, exponential, sum, convert.
    softmax_cycles = 17.0, fit_attention [8.0, 40.0];
    /// Cycles of a core for each row of queries: its running maximum and sum, its context scaled and added up.
    attention_row_cycles = 46.66, fit_attention [0.0, 400.0];
    /// Cycles that a block of attention takes before its pipes run beside each other.
    attention_task_cycles = 3429.0, fit_attention [0.0, 20000.0];
    /// Microseconds until cube and vector cores of an attention kernel work together: the median of what mixed kernels
    /// take beyond their cores' own time is 55.
    attention_start_us = 57.7, fit_attention [0.0, 60.0];
    /// The same of a kernel that runs by itself, without the gap that a stream's mixed kernels have before them.
    attention_alone_us = 25.0, fit_alone [0.0, 60.0];
    /// Cycles for 64 scores on the 950, whose scores pass from L0C to UB and stay in registers.
    softmax_cycles_c310 = 4.25, fit_alone [2.0, 40.0];
    /// Cycles that a block of attention takes there before its pipes run beside each other.
    attention_task_cycles_c310 = 1107.0, fit_alone [0.0, 20000.0];
    /// Microseconds until its cores work together there.
    attention_start_us_c310 = 16.0, fit_alone [0.0, 60.0];
    /// Factor by which rows that are a multiple of 32 KiB apart take longer: they share a bank.
    conflict_factor = 1.287, fit_linear [1.0, 4.0];
    /// Cycles for each step along k in which B, stored by its columns, comes to the cube where A has hardly any rows: about
    /// 660 for a panel of 256, a way to L2 and back and the panel's loads one after the other.
    turn_cycles = 3.014, fit_linear [0.5, 8.0];
    /// Microseconds in which a cube kernel of the 910B brings its code and parameters from device memory.
    fetch_us_c220 = 5.5, fit_cold [0.0, 12.0];
    /// The same on the 950.
    fetch_us_c310 = 3.0, fit_cold [0.0, 12.0];
    /// Times that transfers of blocks of columns take longer there which lie multiples of 1 MiB apart: one channel of device
    /// memory has them all. Products of 32,768 rows in fractals run 4 to 5 times slower than their work, those of 16,384 do not.
    channel_factor_c100 = 6.1, fit_910_cube [1.0, 16.0];
    /// Times that a cube step of an input's gradient takes on the first generation whose dy is spread out by the stride.
    spread_factor_c100 = 1.2, fit_910_cube [1.0, 4.0];
    /// Cycles that the sums of each 16 channels of an image take to leave a fused kernel of the first generation.
    plane_cycles_c100 = 283.0, fit_910_cube [0.0, 1000.0];
    /// Power of the norm that joins the pipes' times of TBE's products on the first 910.
    overlap_power_c100 = 1.8, fit_910_cube [1.0, 8.0];
    /// Microseconds of a 910B kernel that computes nothing.
    start_us_c220 = 0.4329, fit_cube [0.1, 5.0];
    /// Microseconds by which each further core starts later on the 910B.
    core_start_us_c220 = 0.03068, fit_cube [0.0, 0.3];
    /// Microseconds that a vector kernel of the 910B takes longer to start in a network.
    vector_start_us_c220 = 0.7193, fit_trace [0.0, 3.0];
    /// Microseconds more for each operand that it reads there: the first tile waits for one after the other.
    operand_us_c220 = 0.2073, fit_trace [0.0, 1.0];
    /// Microseconds that a vector kernel that runs alone takes longer to start.
    vector_alone_us_c220 = 0.5848, fit_cold [0.0, 3.0];
    /// Microseconds of a kernel of the first generation that computes nothing.
    start_us_c100 = 1.0, fit_910_vector [0.1, 5.0];
    /// Microseconds by which each further core starts later on the first generation.
    core_start_us_c100 = 0.1073, fit_910_vector [0.0, 0.3];
    // Vector cores. Cycles are for 256 bytes.
    /// Simple instructions with two operands: table of 910B1 (one operand takes 1 cycle).
    simple_cycles = 2.0, measured [1.0, 3.0];
    /// Division on the 910B: table of 910B1.
    divide_cycles_c220 = 4.0, measured [2.0, 8.0];
    /// Square root and exponential on the 910B: table of 910B1, fp32 2, fp16 4.
    root_cycles_c220 = 3.0, measured [2.0, 8.0];
    /// Division on the first generation.
    divide_cycles_c100 = 11.74, fit_910_vector [4.0, 40.0];
    /// Square root and exponential on the first generation.
    root_cycles_c100 = 21.43, fit_910_vector [4.0, 60.0];
    /// Cycles that each row costs that is reduced along its last axis, first generation.
    row_cycles_c100 = 96.52, fit_910_vector [0.0, 600.0];
    /// The same on the 910B and later: `RmsNorm` 6, its gradient 33 (vector time of the 20-core trace over
    /// rows of 128 and of 1024).
    row_cycles_c220 = 15.0, measured [0.0, 600.0];
    /// Cycles of each contiguous run of a transfer to or from UB, first generation.
    run_cycles_c100 = 6.588, fit_910_vector [0.0, 200.0];
    /// The same on the 910B and later.
    run_cycles_c220 = 40.28, fit_trace [0.0, 200.0];
    /// Cycles of each row that is read or written by index, first generation: its address passes the scalar
    /// unit.
    index_cycles_c100 = 83.65, fit_910_vector [0.0, 400.0];
    /// The same on the 910B and later.
    index_cycles_c220 = 414.0, measured [0.0, 1000.0];
    /// Cycles of each tile's transfers beyond their bytes.
    tile_transfer_cycles = 200.0, measured [100.0, 400.0];
    /// Share of device memory bandwidth that a copy reaches; reading or writing alone reaches all of it
    /// (20-core part: writes 99 %, reads 94 %, copies 73 to 85 %).
    hbm_copy_efficiency = 0.76, measured [0.4, 1.0];
    /// Share of a kernel's data that is not in L2 though it would fit: parameters, gradients and optimizer
    /// state.
    cold_share = 0.9712, fit_910_vector [0.0, 1.0];
    /// Share of L2 that still holds what was made some kernels before: a cache that drops what was used
    /// longest ago keeps more than half.
    reach = 0.5, fit_910_vector [0.5, 1.0];
    /// The same on the 910B and later: kernels of 157 to 210 MB take less than half of them from device memory on a part with 192.
    reach_c220 = 0.9, fit_trace [0.5, 1.0];
    /// Share of L2's bandwidth that vector kernels reach on all cores.
    l2_efficiency = 0.5202, fit_910_vector [0.3, 1.0];
    /// The same of kernels that have L2 to themselves, on the 910B and later: `Mul` and `Relu` on operands that lie
    /// there pass 6.0 to 6.4 of 7 TB/s.
    l2_efficiency_c220 = 0.85, measured [0.3, 1.0];
    /// Share of L2 that takes in what a kernel writes before any of it has to leave for device memory, after others
    /// have filled L2 with what they wrote.
    write_share = 0.4, fit_cold [0.1, 1.0];
    /// Cycles by which 32 bytes of a row that is reduced raise its own cost, 910B, up to that of a long row.
    row_block_cycles_c220 = 12.0, fit_cold [0.0, 30.0];
    /// Cycles of each row that an operand with one value a row is spread along, 910B.
    spread_row_cycles_c220 = 70.0, fit_cold [0.0, 300.0];
    /// Cycles of each row whose two halves are combined, 910B: two loads and a store that are not whole.
    halved_row_cycles_c220 = 143.0, fit_cold [0.0, 300.0];
    /// Cycles of a run on the 950.
    run_cycles_c310 = 12.0, fit_cold [0.0, 100.0];
    /// Times that a row taken by index costs more where it fills no whole blocks of UB, 910B.
    odd_index_factor = 2.5, fit_cold [1.0, 5.0];
    /// Times that finding the place of a value costs more where the axis is not the last, 910B: places are selected
    /// lane by lane, too.
    ranked_lanes_factor = 2.8, fit_cold [1.0, 5.0];
    /// Cycles of an instruction on integers of 64 bits for each element: the 910B's vector unit has none.
    long_integer_cycles = 4.0, fit_cold [1.0, 16.0];
    /// Cycles for each byte of a tensor whose last axis changes places, turned block by block in UB.
    turn_byte_cycles = 0.18, fit_cold [0.0, 2.0];
    /// What an instruction takes on the 950, whose vector unit works from registers, of what it takes on the 910B.
    register_share = 0.5, fit_cold [0.05, 1.0];
    /// The same of a row's own cost.
    register_row_share = 0.1, fit_cold [0.0, 1.0];
    /// Cycles of each element that TBE's instance norm takes of a plain tensor, first generation.
    plane_element_cycles_c100 = 1.4, fit_310 [0.2, 4.0];
    /// Cycles of each row of lanes there where the planes fill no whole blocks: three passes, each waiting for its
    /// transfers.
    odd_plane_row_cycles_c100 = 700.0, fit_310 [0.0, 2000.0];
    /// Cycles more where a row is longer than one instruction and its end is masked.
    masked_row_cycles_c100 = 300.0, fit_310 [0.0, 2000.0];
}
