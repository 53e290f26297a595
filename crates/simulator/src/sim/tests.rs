use super::{Bound, Cache, Model, Places, Roofs, Work};
use crate::soc::Soc;
use crate::workload::*;
use aoe_graph::{DataType, Format};

fn schedule(m: u64, n: u64, k: u64, cores: u32) -> Schedule {
    Schedule::Cube(CubeSchedule {
        used_cores: cores,
        cores: Cores { batch: 1, m: cores, n: 1, k: 1 },
        single: Extents { batch: 1, m: m.div_ceil(u64::from(cores)), n, k },
        l0: L0Tile { m: 128, n: 128, k_a: 64, k_b: 64 },
        l1_a: L1Tile::panel(256, 1),
        l1_b: L1Tile::panel(256, 1),
        buffers: Buffers { l1_a: 2, l1_b: 2, l0_a: 2, l0_b: 2, l0_c: 2 },
        order: LoopOrder::default(),
        l2: L2Tiling::default(),
        split_k: SplitK::None,
        output: OutputPath::Direct,
        unmodelled: std::collections::BTreeMap::new(),
    })
}

#[test]
fn a_large_product_runs_near_but_below_the_peak() {
    let soc = Soc::find("Ascend910B2").unwrap();
    let (m, k, n) = (24 * 256, 4096, 4096);
    let model = Model::new(&Workload::MatMul(MatMul::new(m, k, n)), &soc).unwrap();
    let time = model.predict(&schedule(m, n, k, 24)).unwrap().time_us;
    let ideal = (m * k * n) as f64 / (24.0 * 4096.0 * soc.cube_freq_mhz);
    assert!(time > ideal && time < 2.0 * ideal, "{time} us against {ideal}");
}

/// A k between two whole fractals costs what the larger one does, not a second round of core tasks.
#[test]
fn an_odd_k_is_one_core_task() {
    let soc = Soc::find("Ascend910B2").unwrap();
    let price = |k: u64| {
        let nz = MatMul { a_format: Format::FractalNz, b_format: Format::FractalNz, ..MatMul::new(1536, k, 1536) };
        let model = Model::new(&Workload::MatMul(nz), &soc).unwrap();
        model.predict(&schedule(1536, 1536, k, 24)).unwrap().time_us
    };
    let (odd, whole) = (price(1000), price(1008));
    assert!((odd / whole - 1.0).abs() < 0.01, "{odd} us against {whole}");
}

#[test]
fn more_bytes_take_longer_on_vector_cores() {
    let soc = Soc::find("Ascend910B4").unwrap();
    let price = |elements: u64| {
        let operand = Operand::new([elements], DataType::Float);
        let work =
            Vector { op_type: "Add".into(), inputs: vec![operand.clone(), operand.clone()], outputs: vec![operand] };
        let schedule =
            VectorSchedule { cores: 40, ub_tile_bytes: 16384, double_buffer: true, template: VectorTemplate::Flat };
        Model::new(&Workload::Vector(work), &soc).unwrap().predict(&Schedule::Vector(schedule)).unwrap().time_us
    };
    assert!(price(1 << 24) > 1.8 * price(1 << 23));
}

/// Microseconds of an operator on so many operands of these elements, in a network on a 910B1.
fn vector_us(op_type: &str, inputs: usize, elements: u64, dtype: DataType) -> f64 {
    let soc = Soc::find("Ascend910B1").unwrap();
    // Plain rows of fp32 would count as parameters, which lie in device memory.
    let operand = Operand::new([16, 16, elements / 256], dtype);
    let work = Vector { op_type: op_type.into(), inputs: vec![operand.clone(); inputs], outputs: vec![operand] };
    let schedule =
        VectorSchedule { cores: 48, ub_tile_bytes: 16384, double_buffer: true, template: VectorTemplate::Flat };
    Model::new(&Workload::Vector(work), &soc).unwrap().predict(&Schedule::Vector(schedule)).unwrap().time_us
}

#[test]
fn a_small_kernel_in_a_network_waits_for_each_operand() {
    let us = |inputs| vector_us("AddN", inputs, 1024, DataType::Float);
    let waits = [us(2) - us(1), us(3) - us(2), us(4) - us(3)];
    assert!(waits.iter().all(|wait| (0.1..0.4).contains(wait)), "{waits:?}");
}

#[test]
fn of_three_operands_that_exceed_l2_together_hardly_any_is_left_in_it() {
    // 302 MB in a training step on this part, with 192 MB of L2, took 220 and 237 us: the rate of device memory.
    let [half, whole] = [1 << 24, 48 << 20].map(|elements| vector_us("Add", 2, elements, DataType::Float16));
    assert!(whole > 1.5 * 3.0 * half, "{half} {whole}");
}

#[test]
fn what_fp16_is_too_coarse_for_passes_fp32_from_the_910b_on() {
    let ratio = |op_type: &str| {
        let us = |dtype| vector_us(op_type, 1, 1 << 22, dtype);
        us(DataType::Float16) / us(DataType::Float)
    };
    assert!(ratio("FastGelu") > 0.95, "{}", ratio("FastGelu"));
    assert!(ratio("Relu") < 0.75, "{}", ratio("Relu"));
}

/// The sum of steps of the first generation whose lanes cores share: one lane more, and one row less for each core, cost
/// about what they hold.
#[test]
fn a_sum_along_a_leading_axis_has_no_cliff_at_a_width() {
    for (part, dtype) in
        [("Ascend310P3", DataType::Float16), ("Ascend910A", DataType::Float), ("Ascend910B2", DataType::Float)]
    {
        let soc = Soc::find(part).unwrap();
        let us = |outer: u64, axis: u64, inner: u64| {
            let (x, y) = (Operand::new([outer, axis, inner], dtype), Operand::new([outer, inner], dtype));
            let op_type = "ReduceSumD".to_owned();
            let work = Workload::Reduce(Reduce { op_type, outer, axis, inner, inputs: vec![x], outputs: vec![y] });
            let schedule = crate::space::default_policy(&work, &soc).unwrap();
            Model::new(&work, &soc).unwrap().predict(&schedule).unwrap().time_us
        };
        for axis in [64, 1024, 8192] {
            for inner in [255, 511, 1023, 2047, 4095, 16_383] {
                let (less, more) = (us(1, axis, inner), us(1, axis, inner + 1));
                assert!(
                    more < 1.6 * less + 1.0 && less < 1.6 * more + 1.0,
                    "{part} {axis} x {inner}: {less}, {more} us"
                );
            }
        }
        // Wide steps are a transfer each, 200 cycles.
        let steps = us(1, 640, 21_128);
        assert!(part == "Ascend910B2" || steps > 640.0 * 0.2, "{part}: {steps}");
    }
}

#[test]
fn sizes_that_cannot_be_are_errors() {
    let soc = Soc::find("Ascend910B2").unwrap();
    for (m, k, n) in [(0, 1, 1), (1, 0, 1), (1, 1, 0), (u64::MAX, 1, 1), (1 << 40, 1 << 40, 1)] {
        assert!(Model::new(&Workload::MatMul(MatMul::new(m, k, n)), &soc).is_err(), "{m} {k} {n}");
    }
}

#[test]
fn work_counts_each_operation_and_each_byte_once_also_in_a_fused_kernel() {
    let soc = Soc::find("Ascend910B2").unwrap();
    let work = |workload: &Workload| Model::new(workload, &soc).unwrap().work();
    let product = Workload::MatMul(MatMul::new(100, 208, 300));
    let of_product = Work {
        bytes: 2.0 * (100.0 * 208.0 + 208.0 * 300.0 + 100.0 * 300.0),
        cube_operations: 2.0 * 100.0 * 208.0 * 300.0,
        vector_operations: 0.0,
    };
    assert_eq!(work(&product), of_product);
    let operand = || Operand::new([100, 300], DataType::Float16);
    let vector =
        |op_type: &str, inputs| Workload::Vector(Vector { op_type: op_type.into(), inputs, outputs: vec![operand()] });
    let add = vector("Add", vec![operand(), operand()]);
    assert_eq!(work(&add), Work { bytes: 3.0 * 6e4, cube_operations: 0.0, vector_operations: 3e4 });
    // The sum's other operand is all that it adds to the traffic; a rectifier adds none.
    let fused = work(&Workload::Fused(vec![product, add, vector("Relu", vec![operand()])]));
    let expected = Work { bytes: of_product.bytes + 6e4, vector_operations: 6e4, ..of_product };
    assert_eq!(fused, expected);
}

#[test]
fn the_roofs_of_a_part_are_its_data_sheet_s() {
    let soc = Soc::find("Ascend910B2").unwrap();
    let roofs = Roofs::of(&soc);
    // 24 cores of 4096 multiply-adds at 1.8 GHz: 353.9 TFLOPS, twice as many for int8.
    assert!((roofs.cube_16_bit / (24.0 * 8192.0 * soc.cube_freq_mhz) - 1.0).abs() < 1e-12);
    assert!((roofs.cube_8_bit / roofs.cube_16_bit - 2.0).abs() < 1e-12);
    assert!((roofs.memory / (soc.hbm_gb_s * 1e3) - 1.0).abs() < 1e-12);
    assert!(roofs.l2 > roofs.memory && roofs.vector_16_bit < roofs.cube_16_bit);
}

#[test]
fn a_long_kernel_whose_transfers_take_turns_is_bound_by_them_and_a_short_one_by_its_start() {
    let soc = Soc::find("Ascend310P3").unwrap();
    let predict = |rows: u64, double_buffer: bool| {
        let operand = || Operand::new([rows, 1024], DataType::Float16);
        let (op_type, inputs, outputs) = ("Transpose".into(), vec![operand()], vec![operand()]);
        let transpose = Workload::Move(Move { op_type, inputs, outputs, run_bytes: 64 });
        let schedule =
            VectorSchedule { cores: 15, ub_tile_bytes: 32768, double_buffer, template: VectorTemplate::Flat };
        Model::new(&transpose, &soc).unwrap().predict(&Schedule::Vector(schedule)).unwrap()
    };
    // Of a single tile nothing overlaps either.
    let single = predict(120, true);
    assert!(matches!(single.bound, Bound::Mte2 | Bound::Mte3), "{single:?}");
    let long = predict(1 << 12, false);
    assert!(long.pipes.mte2 < 0.5 && long.pipes.mte3 < 0.5 && long.pipes.mte2 + long.pipes.mte3 > 0.8, "{long:?}");
    assert!(matches!(long.bound, Bound::Mte2 | Bound::Mte3), "{long:?}");
    let short = predict(16, false);
    assert!(short.bound == Bound::Latency && short.time_us < long.time_us, "{short:?}");
    // Side by side they are busy for most of the time.
    let both = predict(1 << 12, true);
    assert!(both.pipes.mte2.max(both.pipes.mte3) > 0.5 && both.bound != Bound::Latency, "{both:?}");
}

/// A decode product by CANN's default tiling, in microseconds.
fn linear_us(m: u64, k: u64, n: u64, places: &Places) -> f64 {
    let soc = Soc::find("Ascend910B2").unwrap();
    let w = Workload::MatMul(MatMul { trans_b: true, dtype: DataType::Bfloat16, ..MatMul::new(m, k, n) });
    let schedule = crate::space::default_policy(&w, &soc).unwrap();
    Model::new(&w, &soc).unwrap().with_operands(places).predict(&schedule).unwrap().time_us
}

/// Device memory and the cube both bound a kernel whose weights are cold, whatever its tiling; and a cold weight is never
/// read faster than a warm one.
#[test]
fn no_product_is_faster_than_its_roofs() {
    let soc = Soc::find("Ascend910B2").unwrap();
    let roofs = Roofs::of(&soc);
    let (cold, warm) = (Places::new(vec![Cache::Warm, Cache::Cold]), Places::new(vec![Cache::Warm]));
    for m in [1, 16, 64, 256, 1024, 4096] {
        for (k, n) in [(512, 1024), (4096, 4096), (5120, 25600), (7168, 18432), (16384, 2048), (1024, 151_936)] {
            let (fresh, held) = (linear_us(m, k, n, &cold), linear_us(m, k, n, &warm));
            let compute = 2.0 * (m * k * n) as f64 / roofs.cube_16_bit;
            let weight = 2.0 * (k * n) as f64;
            assert!(fresh >= compute.max(weight / roofs.memory), "{m} {k} {n}: {fresh}");
            assert!(held >= compute.max(weight / roofs.l2), "{m} {k} {n}: {held}");
            assert!(fresh >= held * 0.999 || weight > soc.l2_size as f64, "{m} {k} {n}: cold {fresh}, warm {held}");
        }
    }
}

/// Twice the weight takes about twice the time, and no more where it outgrows L2: it was cold before.
#[test]
fn a_cold_weight_has_no_cliff() {
    let cold = Places::new(vec![Cache::Warm, Cache::Cold]);
    for m in [1, 16, 128] {
        for k in [2048, 5120, 8192] {
            for n in [1024, 2048, 4096, 8192, 16384, 32768] {
                let (once, twice) = (linear_us(m, k, n, &cold), linear_us(m, k, 2 * n, &cold));
                assert!(twice < 2.3 * once + 10.0, "{m} {k} {n}: {once}, twice {twice}");
            }
        }
    }
}

/// Attention over twice the cache takes about twice as long, more queries never less, and none less than its keys take
/// from device memory where those are cold.
#[test]
fn attention_follows_its_cache() {
    let soc = Soc::find("Ascend910B2").unwrap();
    let price = |heads: u64, rows: u64, keys: u64, places: Option<&Places>| {
        let product =
            |m, k, n| Workload::MatMul(MatMul { batch: heads, dtype: DataType::Bfloat16, ..MatMul::new(m, k, n) });
        let scores = Operand::new([heads, rows, keys], DataType::Float);
        let softmax = Workload::Reduce(Reduce {
            op_type: "SoftmaxV2".into(),
            outer: heads * rows,
            axis: keys,
            inner: 1,
            inputs: vec![scores.clone()],
            outputs: vec![scores],
        });
        let w = Workload::Fused(vec![product(rows, 128, keys), product(rows, keys, 128), softmax]);
        let schedule = crate::space::default_policy(&w, &soc).unwrap();
        let model = Model::new(&w, &soc).unwrap();
        let model = places.map_or(model.clone(), |places| model.with_operands(places));
        model.predict(&schedule).unwrap().time_us
    };
    let cold = Places::new(vec![Cache::Warm, Cache::Cold, Cache::Cold]);
    for heads in [1, 8, 40, 512] {
        for keys in [256, 1024, 4096, 16384] {
            let once = price(heads, 4, keys, Some(&cold));
            assert!(price(heads, 4, 2 * keys, Some(&cold)) < 2.3 * once, "{heads} {keys}");
            assert!(price(heads, 8, keys, Some(&cold)) >= once, "{heads} {keys}");
            assert!(price(heads, 4, keys, None) <= once, "{heads} {keys}");
            let bytes = (2 * 2 * heads * keys * 128) as f64;
            assert!(once > bytes / Roofs::of(&soc).memory, "{heads} {keys}: {once}");
        }
    }
}

/// CANN's tiling of a 310P says K itself where it is less than a fractal; the kernel loads and multiplies the fractal.
#[test]
fn a_tile_of_all_of_a_short_k_costs_whole_fractals() {
    let soc = Soc::find("Ascend310P3").unwrap();
    for (k, dtype) in [(1, DataType::Float16), (9, DataType::Float16), (5, DataType::Int8)] {
        let product = Workload::MatMul(MatMul { dtype, ..MatMul::new(1024, k, 1024) });
        let Schedule::Cube(base) = schedule(1024, 1024, k, 8) else { unreachable!() };
        let price = |inner: u32| {
            let mut s = base.clone();
            (s.l0.k_a, s.l0.k_b, s.l1_a, s.l1_b) = (inner, inner, L1Tile::panel(inner, 1), L1Tile::panel(inner, 1));
            Model::new(&product, &soc).unwrap().times(&Schedule::Cube(s)).prediction(true).time_us
        };
        let whole = if dtype == DataType::Int8 { 32 } else { 16 };
        assert_eq!(price(k as u32), price(whole), "{product}");
    }
    // Less than the task's K is a step of its own.
    let product = Workload::MatMul(MatMul::new(1024, 64, 1024));
    let Schedule::Cube(base) = schedule(1024, 1024, 64, 8) else { unreachable!() };
    let steps = CubeSchedule { l0: L0Tile { k_a: 8, k_b: 8, ..base.l0 }, ..base.clone() };
    let busy = |s: CubeSchedule| Model::new(&product, &soc).unwrap().times(&Schedule::Cube(s)).busy.mac;
    assert!(busy(steps) > busy(base));
}
