//! What physics demands of any prediction, whatever the model's constants: bounds from the SoC's fields alone,
//! and directions in which time may not go.

use aoe::graph::{DataType, Format};
use aoe::sim::{Cache, Model, Places};
use aoe::soc::Soc;
use aoe::space::default_policy;
use aoe::tiling::{Platform, batch_matmul_v3};
use aoe::workload::{
    Buffers, Cores, CubeSchedule, Extents, L0Tile, L1Tile, L2Tiling, LoopOrder, MatMul, Move, Operand, OutputPath,
    Reduce, Schedule, SplitK, Vector, VectorSchedule, VectorTemplate, Workload, check,
};
use proptest::prelude::*;
use proptest::sample::select;

const PARTS: [&str; 8] = [
    "Ascend910A",
    "Ascend910B",
    "Ascend910B1",
    "Ascend910B2",
    "Ascend910B4",
    "Ascend310P3",
    "Ascend310B1",
    "Ascend950PR_9589",
];
/// Parts whose kernels and default tilings are public: on others a default tiling of ours may be a step of its own.
const PUBLIC: [&str; 4] = ["Ascend910B1", "Ascend910B2", "Ascend910B4", "Ascend950PR_9589"];
/// Fields of which less is never better, with the factors tried.
const RATES: [&str; 10] = [
    "cube_freq_mhz",
    "vec_freq_mhz",
    "hbm_gb_s",
    "l2_rate",
    "gm_to_l1_rate",
    "gm_to_ub_rate",
    "l1_to_l0_a_rate",
    "l1_to_l0_b_rate",
    "l0_c_out_rate",
    "ub_to_gm_rate",
];
/// The first fill and the last drain are those of the mean tile, which is smaller where the last one is.
const MEAN_TILE: f64 = 0.99;
/// What doubling an operand may cost beyond the work: another round of tasks, the start of more cores.
const CLIFF_US: f64 = 20.0;
/// What rounding may add up to.
const ROUNDING: f64 = 1.0 - 1e-9;

fn time(workload: &Workload, schedule: &Schedule, soc: &Soc) -> f64 {
    Model::new(workload, soc).unwrap().predict(schedule).unwrap().time_us
}

/// Sizes as likely around 16 as around 4096, on fractal borders and off them.
fn size() -> impl Strategy<Value = u64> {
    (4u32..13, 0.5f64..1.0, any::<bool>()).prop_map(|(log, part, even)| {
        let size = ((1u64 << log) as f64 * part) as u64;
        if even { size.next_multiple_of(16) } else { size.max(1) }
    })
}

/// Elementwise work of little and of much arithmetic, work along rows, sums of columns, and movement.
const VECTOR_WORK: [&str; 9] =
    ["Add", "Relu", "Gelu", "SoftmaxV2", "LayerNorm", "ReduceSumD", "ReduceSumD of columns", "Transpose", "ConcatD"];

/// A vector kernel on a matrix of this size.
fn vector_work(op: &str, rows: u64, columns: u64, dtype: DataType) -> Workload {
    let of = |shape: &[u64]| Operand::new(shape, dtype);
    let whole = || of(&[rows, columns]);
    let op_type = op.split(' ').next().unwrap_or(op).to_owned();
    match op {
        "Add" => Workload::Vector(Vector { op_type, inputs: vec![whole(), whole()], outputs: vec![whole()] }),
        "Relu" | "Gelu" => Workload::Vector(Vector { op_type, inputs: vec![whole()], outputs: vec![whole()] }),
        "ReduceSumD" | "ReduceSumD of columns" => {
            let [outer, axis, inner] = if op == "ReduceSumD" { [rows, columns, 1] } else { [1, rows, columns] };
            let outputs = vec![of(&[outer * inner])];
            Workload::Reduce(Reduce { op_type, outer, axis, inner, inputs: vec![whole()], outputs })
        }
        "Transpose" => {
            Workload::Move(Move { op_type, run_bytes: 512, inputs: vec![whole()], outputs: vec![of(&[columns, rows])] })
        }
        "ConcatD" => Workload::Move(Move {
            op_type,
            run_bytes: columns * u64::from(dtype.bits()) / 8,
            inputs: vec![whole(), whole()],
            outputs: vec![of(&[rows, 2 * columns])],
        }),
        _ => {
            let (inputs, outputs) = (vec![whole()], vec![whole()]);
            Workload::Reduce(Reduce { op_type, outer: rows, axis: columns, inner: 1, inputs, outputs })
        }
    }
}

fn product() -> impl Strategy<Value = MatMul> {
    let dtype = select(vec![DataType::Float16, DataType::Bfloat16, DataType::Float, DataType::Int8]);
    let format = || select(vec![Format::Nd, Format::FractalNz]);
    ((1u64..9, size(), size(), size()), dtype, any::<[bool; 3]>(), (format(), format())).prop_map(
        |((batch, m, k, n), dtype, [trans_a, trans_b, bias], (a_format, b_format))| {
            let out_dtype = if dtype == DataType::Int8 { DataType::Int32 } else { dtype };
            MatMul { batch, dtype, out_dtype, trans_a, trans_b, bias, a_format, b_format, ..MatMul::new(m, k, n) }
        },
    )
}

/// Tilings of every kind, most of them legal.
fn tiling() -> impl Strategy<Value = Tiling> {
    let cores = (1u32..3, 1u32..9, 1u32..9);
    let l0 = (1u32..17, 1u32..17, 1u32..9);
    let l1 = (prop::option::of((1u32..9, 1u32..3)), prop::option::of((1u32..9, 1u32..3)));
    (cores, l0, l1, any::<[bool; 5]>(), any::<bool>()).prop_map(|(cores, l0, l1, buffers, m_first)| Tiling {
        cores,
        l0,
        l1,
        buffers,
        m_first,
    })
}

/// L0 depths and L0 tiles; the whole operand where none.
type Panel = Option<(u32, u32)>;

#[derive(Debug, Clone)]
struct Tiling {
    cores: (u32, u32, u32),
    /// Fractals along m, n, k.
    l0: (u32, u32, u32),
    /// What of A and of B is brought to L1 at once.
    l1: (Panel, Panel),
    buffers: [bool; 5],
    m_first: bool,
}

impl Tiling {
    /// The schedule of a product.
    fn schedule(&self, w: &MatMul) -> Schedule {
        let (k0, (batch, m, n)) = (w.cube().k0() as u32, self.cores);
        let (l0_m, l0_n, l0_k) = (self.l0.0 * 16, self.l0.1 * 16, self.l0.2 * k0);
        let extent = |whole: u64, blocks: u32, tile: u32| {
            whole.div_ceil(u64::from(tile)).div_ceil(u64::from(blocks)) * u64::from(tile)
        };
        let panel = |panel: Panel| panel.map_or(L1Tile::FULL, |(k, tiles)| L1Tile::panel(k * l0_k, tiles));
        let count = |double: bool| if double { 2 } else { 1 };
        let [l1_a, l1_b, l0_a, l0_b, l0_c] = self.buffers.map(count);
        let cores = Cores { batch, m, n, k: 1 };
        Schedule::Cube(CubeSchedule {
            used_cores: cores.tasks() as u32,
            cores,
            single: Extents {
                batch: w.batch.div_ceil(u64::from(batch)),
                m: extent(w.m, m, l0_m),
                n: extent(w.n, n, l0_n),
                k: w.k,
            },
            l0: L0Tile { m: l0_m, n: l0_n, k_a: l0_k, k_b: l0_k },
            l1_a: panel(self.l1.0),
            l1_b: panel(self.l1.1),
            buffers: Buffers { l1_a, l1_b, l0_a, l0_b, l0_c },
            order: if self.m_first { LoopOrder::MFirst } else { LoopOrder::NFirst },
            l2: L2Tiling::default(),
            split_k: SplitK::None,
            output: OutputPath::Direct,
            unmodelled: std::collections::BTreeMap::new(),
        })
    }
}

/// Vector work of each class.
fn vector() -> impl Strategy<Value = Workload> {
    let dtype = select(vec![DataType::Float16, DataType::Float]);
    (0usize..6, 1u64..4097, 1u64..4097, dtype).prop_map(|(class, rows, columns, dtype)| {
        let operand = |shape: &[u64]| Operand::new(shape.to_vec(), dtype);
        let whole = || operand(&[rows, columns]);
        match class {
            0..=2 => {
                let op_type = ["Add", "Gelu", "RealDiv"][class].to_owned();
                Workload::Vector(Vector { op_type, inputs: vec![whole(); 2], outputs: vec![whole()] })
            }
            3 | 4 => Workload::Reduce(Reduce {
                op_type: ["SoftmaxV2", "LayerNorm"][class - 3].to_owned(),
                outer: rows,
                axis: columns,
                inner: 1,
                inputs: vec![whole()],
                outputs: vec![whole()],
            }),
            _ => Workload::Move(Move {
                op_type: "Transpose".to_owned(),
                run_bytes: 32,
                inputs: vec![whole()],
                outputs: vec![operand(&[columns, rows])],
            }),
        }
    })
}

fn vector_schedule() -> impl Strategy<Value = Schedule> {
    let template = select(vec![VectorTemplate::Flat, VectorTemplate::FullLoad]);
    (1u32..33, 1u32..2049, any::<bool>(), template).prop_map(|(cores, blocks, double_buffer, template)| {
        Schedule::Vector(VectorSchedule { cores, ub_tile_bytes: blocks * 32, double_buffer, template })
    })
}

/// A legal kernel on some part.
fn kernel() -> impl Strategy<Value = (Workload, Schedule, Soc)> {
    let soc = || select(PARTS.to_vec()).prop_map(|name| Soc::find(name).unwrap());
    let cube = (product(), tiling(), soc()).prop_map(|(w, tiling, soc)| {
        let schedule = tiling.schedule(&w);
        (Workload::MatMul(w), schedule, soc)
    });
    let cube_by_policy = (product(), soc()).prop_map(|(w, soc)| {
        let workload = Workload::MatMul(w);
        let schedule = default_policy(&workload, &soc).unwrap();
        (workload, schedule, soc)
    });
    let legal = |(w, s, soc): &(Workload, Schedule, Soc)| check(w, s, soc).is_ok();
    prop_oneof![
        cube.prop_filter("illegal", legal),
        cube_by_policy,
        (vector(), vector_schedule(), soc()).prop_filter("illegal", legal),
    ]
}

/// The least time in microseconds that the SoC's fields allow for the work, however it is cut.
fn roofline(workload: &Workload, soc: &Soc) -> f64 {
    let (cores, mhz) = (f64::from(soc.ai_core_cnt), soc.cube_freq_mhz);
    let rate = |bytes: f64, rate: f64, cores: f64, mhz: f64| bytes / (rate * cores * mhz);
    let beyond_l2 = |bytes: f64| (bytes - soc.l2_size as f64).max(0.0) / (soc.hbm_gb_s * 1e3);
    let bytes = |operands: &[Operand]| operands.iter().map(|o| o.bytes() as f64).sum::<f64>();
    let vector = |inputs: &[Operand], outputs: &[Operand]| {
        let (vectors, vec_mhz) = (f64::from(soc.vector_core_cnt), soc.vec_freq_mhz);
        let load = rate(bytes(inputs), soc.gm_to_ub_rate, vectors, vec_mhz);
        let store = rate(bytes(outputs), soc.ub_to_gm_rate, vectors, vec_mhz);
        load.max(store).max(beyond_l2(bytes(inputs) + bytes(outputs)))
    };
    match workload {
        Workload::MatMul(w) => {
            let shape = w.cube();
            let passes = if w.dtype == DataType::Float && !w.hf32 { 2.0 } else { 1.0 };
            let step = f64::from(soc.cube_m_size * soc.cube_n_size) * shape.k0() as f64;
            let compute = workload.macs().unwrap_or_default() as f64 * passes / step / cores / mhz;
            let (batch, m, k, n) = (w.batch as f64, w.m as f64, w.k as f64, w.n as f64);
            let read = batch * (m * k + k * n) * w.dtype.bytes() as f64;
            let written = batch * m * n * w.out_dtype.bytes() as f64;
            // Operands may lie in L2, and each must come through it to some core's L1.
            let load = rate(read, soc.l2_rate.min(soc.gm_to_l1_rate), cores, mhz);
            compute.max(load).max(beyond_l2(read + written))
        }
        Workload::Vector(w) => vector(&w.inputs, &w.outputs),
        Workload::Reduce(w) => vector(&w.inputs, &w.outputs),
        Workload::Move(w) => vector(&w.inputs, &w.outputs),
        _ => 0.0,
    }
}

/// How many times as fast as rows time may rise: a few times where a row is bound by what it does not share with
/// others. Where operands outgrow L2, a row's bytes come from device memory, and drive out others (`thrash_factor`,
/// at most 4).
fn steepest(w: &MatMul, soc: &Soc) -> f64 {
    let bytes = w.batch * ((w.m * w.k + w.k * w.n) * w.dtype.bytes() + w.m * w.n * w.out_dtype.bytes());
    if bytes <= soc.l2_size {
        return 4.0;
    }
    let l2_gb_s = soc.l2_rate * f64::from(soc.ai_core_cnt) * soc.cube_freq_mhz * 1e-3;
    4.0 * (l2_gb_s / soc.hbm_gb_s).max(1.0)
}

/// What a kernel may gain where `larger` has smaller tiles in the mean than `small`: a part of its first fill and last
/// drain, which are about those of one tile. A tile of 36 rows takes longer to arrive than the first of two of 25.
fn ends_of_smaller_tiles(small: &MatMul, larger: &MatMul, schedule: &Schedule) -> f64 {
    let Schedule::Cube(s) = schedule else { unreachable!() };
    // Tiles of all cores along an axis.
    let tiles = |extent: u64, single: u64, tile: u32| -> u64 {
        let rest = extent % single;
        extent / single * single.div_ceil(u64::from(tile)) + rest.div_ceil(u64::from(tile))
    };
    let axes = |w: &MatMul| [(w.m, s.single.m, s.l0.m), (w.n, s.single.n, s.l0.n), (w.k, s.single.k, s.l0.k_a)];
    let mean = |(extent, single, tile)| extent as f64 / tiles(extent, single, tile) as f64;
    let kept: f64 = axes(small).into_iter().zip(axes(larger)).map(|(a, b)| (mean(b) / mean(a)).min(1.0)).product();
    let of_a_core = axes(small).map(|(extent, single, tile)| extent.min(single).div_ceil(u64::from(tile)));
    (1.0 - kept) / of_a_core.iter().product::<u64>() as f64
}

/// Most tilings that are drawn are not legal.
fn config() -> ProptestConfig {
    let config = aoe_testing::cases(512);
    let rejects = config.cases.saturating_mul(1 << 11);
    ProptestConfig { max_global_rejects: rejects, max_local_rejects: rejects, ..config }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_kernel_is_faster_than_the_roofline((workload, schedule, soc) in kernel()) {
        let (time, least) = (time(&workload, &schedule, &soc), roofline(&workload, &soc));
        prop_assert!(time >= least * ROUNDING, "{} on {}: {time} us, roofline {least}", workload, soc.name);
    }

    #[test]
    fn less_bandwidth_or_clock_is_never_faster(
        (workload, schedule, soc) in kernel(), field in select(RATES.to_vec()), factor in 0.05f64..0.999,
    ) {
        let mut slower = soc.clone();
        let value = serde_json::to_value(&soc).unwrap()[field].as_f64().unwrap();
        slower.set(field, &(value * factor).to_string()).unwrap();
        let (before, after) = (time(&workload, &schedule, &soc), time(&workload, &schedule, &slower));
        prop_assert!(after >= before * ROUNDING, "{workload} on {}, {field} x {factor}: {before} -> {after}", soc.name);
    }

    #[test]
    fn a_smaller_l2_is_never_faster((workload, schedule, soc) in kernel(), factor in 0.0f64..0.999) {
        let mut smaller = soc.clone();
        smaller.l2_size = (soc.l2_size as f64 * factor) as u64;
        let (before, after) = (time(&workload, &schedule, &soc), time(&workload, &schedule, &smaller));
        prop_assert!(after >= before * ROUNDING, "{workload} on {}: {before} -> {after}", soc.name);
    }

    /// Wherever the operands lie: no time is below the roofline of what has to come from device memory, cold operands
    /// are never faster than warm ones, and twice the operand never takes more than about twice the time.
    #[test]
    fn no_size_of_a_cold_or_warm_operand_is_a_cliff(
        w in product(), part in select(PUBLIC.to_vec()), cold in any::<[bool; 2]>(), share in 0.0f64..1.0,
    ) {
        let soc = Soc::find(part).unwrap();
        // Rows of whole blocks: of others twice the length is another way to load them.
        let [m, k, n] = [w.m, w.k, w.n].map(|size| size.next_multiple_of(128));
        let (batch, dtype) = (1, DataType::Float16);
        let w = MatMul { batch, m, k, n, dtype, out_dtype: dtype, ..w };
        let words = cold.map(|cold| if cold { Cache::Cold } else { Cache::Warm });
        let us = |w: &MatMul, missed: Option<f64>| {
            let workload = Workload::MatMul(w.clone());
            let model = Model::new(&workload, &soc).unwrap();
            let model = match missed {
                Some(bytes) => model.with_missed(bytes),
                None => model.with_operands(&Places::new(words.to_vec())),
            };
            model.predict(&default_policy(&workload, &soc).unwrap()).unwrap().time_us
        };
        let split = |w: &MatMul| {
            let Schedule::Cube(tiling) = default_policy(&Workload::MatMul(w.clone()), &soc).unwrap() else {
                panic!("{w} has no cube tiling");
            };
            tiling.split_k
        };
        let bytes = |w: &MatMul| [(w.m * w.k * 2) as f64, (w.k * w.n * 2) as f64];
        let cold_bytes: f64 = bytes(&w).iter().zip(cold).filter(|(_, cold)| *cold).map(|(bytes, _)| bytes).sum();
        let least = cold_bytes / (soc.hbm_gb_s * 1e3);
        prop_assert!(us(&w, None) >= least * ROUNDING, "{w} on {part}: {} us, roofline {least}", us(&w, None));
        let all: f64 = bytes(&w).iter().sum();
        prop_assert!(us(&w, Some(share * all)) >= us(&w, Some(0.0)) * ROUNDING && us(&w, Some(share * all)) <= us(&w, Some(all)) / ROUNDING);
        for larger in [MatMul { n: 2 * w.n, ..w.clone() }, MatMul { k: 2 * w.k, ..w.clone() }] {
            // CANN's own thresholds are cliffs: from K = 4,608 on, cores no longer share the K of a transposed A.
            if split(&w) != split(&larger) {
                continue;
            }
            let (one, two) = (us(&w, None), us(&larger, None));
            // What outgrows L2 passes device memory, as cold operands do.
            let (results, memory) = ((2 * w.m * w.n) as f64, soc.hbm_gb_s * 1e3);
            let outgrows = bytes(&larger).iter().sum::<f64>() + 2.0 * results > soc.l2_size as f64;
            let one = if outgrows { one.max(us(&w, Some(all)) + results / memory) } else { one };
            prop_assert!(two <= 2.5 * one + CLIFF_US, "{w} on {part}, {words:?}: {one} us, {larger}: {two} us");
        }
    }

    /// The same of vector work and movement on every part: twice the rows or the columns never take more than about twice
    /// the time.
    #[test]
    fn no_size_of_a_vector_kernel_is_a_cliff(
        rows in size(), columns in size(), op in select(VECTOR_WORK.to_vec()), part in select(PARTS.to_vec()),
        dtype in select(vec![DataType::Float16, DataType::Float, DataType::Bfloat16]), cold in any::<bool>(),
    ) {
        let soc = Soc::find(part).unwrap();
        let us = |w: &Workload, cold: bool| {
            let model = Model::new(w, &soc).unwrap().with_cache(if cold { Cache::Cold } else { Cache::Warm });
            model.predict(&default_policy(w, &soc).unwrap()).unwrap().time_us
        };
        // Rows of whole blocks: of others twice the length is another way to load them.
        let columns = columns.next_multiple_of(16);
        let w = vector_work(op, rows, columns, dtype);
        for larger in [vector_work(op, 2 * rows, columns, dtype), vector_work(op, rows, 2 * columns, dtype)] {
            // What outgrows L2 passes device memory, as cold operands do, results among it.
            let (read, written) = larger.operands().unwrap();
            let outgrows = read.iter().chain(written).map(Operand::bytes).sum::<u64>() > soc.l2_size / 2;
            let results: u64 = w.operands().unwrap().1.iter().map(Operand::bytes).sum();
            let evicted = if outgrows { results as f64 / (soc.hbm_gb_s * 1e3) } else { 0.0 };
            let (one, two) = (us(&w, cold || outgrows) + evicted, us(&larger, cold));
            prop_assert!(two <= 2.5 * one + CLIFF_US, "{w} on {part}: {one} us, {larger}: {two} us");
        }
    }

    /// A kernel loses nothing by having its data nearer, also where they exceed L2 by far: layers of large language models.
    #[test]
    fn data_that_may_be_near_are_never_slower_than_cold_ones(
        (m, k, n) in (1u64..2048, 64u64..60_000, 64u64..130_000), part in select(PUBLIC.to_vec()), trans_b in any::<bool>(),
    ) {
        let soc = Soc::find(part).unwrap();
        let workload = Workload::MatMul(MatMul { trans_b, ..MatMul::new(m, k, n) });
        let schedule = default_policy(&workload, &soc).unwrap();
        let us = |model: Model| model.predict(&schedule).unwrap().time_us;
        let model = || Model::new(&workload, &soc).unwrap();
        let cold = us(model().with_cache(Cache::Cold));
        for (word, near) in [("by its size", us(model())), ("warm", us(model().with_cache(Cache::Warm)))] {
            prop_assert!(near <= cold / ROUNDING, "{workload} on {part}: {near} us {word}, {cold} cold");
        }
    }

    /// The same tiling on a part with fewer cores, where it still fits.
    #[test]
    fn fewer_cores_are_never_faster((workload, schedule, soc) in kernel(), less in 1u32..8) {
        let mut fewer = soc.clone();
        let cores = soc.ai_core_cnt.saturating_sub(less).max(1);
        fewer.limit_cores(cores).unwrap();
        prop_assume!(check(&workload, &schedule, &fewer).is_ok());
        // Integer division may leave a split part with a smaller share of vector cores.
        prop_assume!(fewer.vector_core_cnt * soc.ai_core_cnt == soc.vector_core_cnt * fewer.ai_core_cnt);
        let (before, after) = (time(&workload, &schedule, &soc), time(&workload, &schedule, &fewer));
        prop_assert!(after >= before * ROUNDING, "{workload} on {}: {before} -> {after}", soc.name);
    }

    /// Rows, columns or depth added under the same tiling.
    #[test]
    fn more_work_is_never_faster_under_the_same_tiling(
        w in product(), tiling in tiling(), name in select(PARTS.to_vec()), axis in 0usize..4, more in 1u64..512,
    ) {
        let soc = Soc::find(name).unwrap();
        let mut larger = w.clone();
        match axis {
            0 => larger.m += more,
            1 => larger.n += more,
            2 => larger.k += more,
            _ => larger.batch += more % 8 + 1,
        }
        // A row that becomes a whole number of blocks is read faster: compare like with like.
        let pitches = |w: &MatMul| {
            let odd = |elements: u64| !(elements * w.dtype.bytes()).is_multiple_of(32);
            [odd(if w.trans_a { w.m } else { w.k }), odd(if w.trans_b { w.k } else { w.n })]
        };
        prop_assume!(pitches(&w) == pitches(&larger));
        // A batch is another operator's, with kernels of its own, which have other operands rewritten.
        prop_assume!((w.batch == 1) == (larger.batch == 1));
        let rewritten = |w: &MatMul| batch_matmul_v3::rewrites(w, &Platform::of(&soc));
        prop_assume!(w.batch == 1 || rewritten(&w) == rewritten(&larger));
        // The tiling of the larger serves both.
        let schedule = tiling.schedule(&larger);
        let [small, large] = [&w, &larger].map(|w| Workload::MatMul(w.clone()));
        prop_assume!(check(&small, &schedule, &soc).is_ok() && check(&large, &schedule, &soc).is_ok());
        let (before, after) = (time(&small, &schedule, &soc), time(&large, &schedule, &soc));
        let least = before * (MEAN_TILE - ends_of_smaller_tiles(&w, &larger, &schedule));
        prop_assert!(after >= least, "{small} -> {large} on {name}: {before} -> {after}\n{schedule:?}");
    }

    /// One row more, inside the same fractals, costs what its bytes cost and no more.
    #[test]
    fn time_does_not_jump_between_tile_borders(
        w in product(), tiling in tiling(), name in select(PARTS.to_vec()), row in 0u64..15,
    ) {
        let soc = Soc::find(name).unwrap();
        let w = MatMul { trans_a: false, m: w.m.next_multiple_of(16) - 15 + row, ..w };
        prop_assume!(!w.m.is_multiple_of(16));
        let next = MatMul { m: w.m + 1, ..w.clone() };
        let schedule = tiling.schedule(&next);
        let [before, after] = [&w, &next].map(|w| Workload::MatMul(w.clone()));
        prop_assume!(check(&after, &schedule, &soc).is_ok() && check(&before, &schedule, &soc).is_ok());
        let times = [&before, &after].map(|w| time(w, &schedule, &soc));
        let Schedule::Cube(tiles) = &schedule else { unreachable!() };
        let rise = steepest(&next, &soc) / w.m.min(tiles.single.m) as f64;
        prop_assert!(times[1] <= times[0] * (1.0 + rise), "{before} -> {after} on {name}: {times:?}\n{schedule:?}");
    }

    #[test]
    fn more_elements_are_never_faster_in_the_same_tiles(
        elements in 1u64..1 << 24, more in 1u64..1 << 20, schedule in vector_schedule(), name in select(PARTS.to_vec()),
    ) {
        let soc = Soc::find(name).unwrap();
        let work = |elements: u64| {
            let operand = Operand::new([elements], DataType::Float);
            Workload::Vector(Vector { op_type: "Add".into(), inputs: vec![operand.clone(); 2], outputs: vec![operand] })
        };
        prop_assume!(check(&work(elements), &schedule, &soc).is_ok());
        let (before, after) = (time(&work(elements), &schedule, &soc), time(&work(elements + more), &schedule, &soc));
        prop_assert!(after >= before * ROUNDING, "{elements} + {more} on {name}: {before} -> {after}");
    }

    #[test]
    fn the_same_kernel_takes_the_same_time_to_the_last_bit((workload, schedule, soc) in kernel()) {
        let model = Model::new(&workload, &soc).unwrap();
        let first = model.predict(&schedule).unwrap();
        prop_assert_eq!(first, model.clone().predict(&schedule.clone()).unwrap());
        prop_assert_eq!(first.time_us.to_bits(), time(&workload, &schedule, &soc).to_bits());
        let shares = serde_json::to_value(first.pipes).unwrap();
        prop_assert!(shares.as_object().unwrap().values().all(|s| (0.0..=1.0).contains(&s.as_f64().unwrap())));
    }
}
