//! What the bank knows of near workloads is tried early.

use super::*;
use crate::graph::Format;
use crate::workload::{Cores, CubeSchedule, Extents, L0Tile, L1Tile, L2Tiling, MatMul, check};

/// Keeps what each workload is measured with, in order.
struct Recorder {
    inner: Simulator,
    tried: std::sync::Mutex<Vec<(Workload, Schedule)>>,
}

impl Recorder {
    fn new() -> Recorder {
        Recorder { inner: Simulator::new(soc()), tried: std::sync::Mutex::default() }
    }

    /// What was tried for a product of so many columns: the baseline, and then the trials.
    fn of(&self, n: u64) -> Vec<Schedule> {
        let tried = self.tried.lock().unwrap();
        let its = tried.iter().filter(|(w, _)| matches!(w, Workload::MatMul(w) if w.n == n));
        its.map(|(_, schedule)| schedule.clone()).collect()
    }
}

impl Backend for Recorder {
    fn describe(&self) -> Description {
        self.inner.describe()
    }

    fn soc(&self) -> &Soc {
        self.inner.soc()
    }

    fn measuring_time(&self) -> Option<std::time::Duration> {
        self.inner.measuring_time()
    }

    fn prepare<'a>(&'a self, workload: &Workload) -> Result<Box<dyn Measure + 'a>> {
        let inner = self.inner.prepare(workload)?;
        Ok(Box::new(RecorderMeasure { inner, workload: workload.clone(), owner: self }))
    }
}

struct RecorderMeasure<'a> {
    inner: Box<dyn Measure + 'a>,
    workload: Workload,
    owner: &'a Recorder,
}

impl Measure for RecorderMeasure<'_> {
    fn measure(&mut self, schedule: &Schedule) -> Measurement {
        self.owner.tried.lock().unwrap().push((self.workload.clone(), schedule.clone()));
        self.inner.measure(schedule)
    }
}

/// A bank with one product of 512 x 1024 by this many columns at a tiling that no search would begin with.
fn bank_with(directory: &std::path::Path, product: &MatMul) -> Schedule {
    let workload = Workload::MatMul(product.clone());
    let Schedule::Cube(default) = crate::space::default_policy(&workload, &soc()).unwrap() else { panic!("a cube") };
    let tasks = |extent: u64, single: u64| extent.div_ceil(single) as u32;
    let block = CubeSchedule {
        l0: L0Tile { m: 48, n: 80, k_a: 32, k_b: 32 },
        single: Extents { batch: 1, m: 48, n: 80, ..default.single },
        cores: Cores { batch: product.batch as u32, m: tasks(product.m, 48), n: tasks(product.n, 80), k: 1 },
        used_cores: 24,
        l1_a: L1Tile::panel(64, 1),
        l1_b: L1Tile::panel(64, 1),
        l2: L2Tiling { m_tiles: 1, n_tiles: 1, ..L2Tiling::default() },
        ..default
    };
    let schedule = Schedule::Cube(block);
    check(&workload, &schedule, &soc()).unwrap();
    let mut bank = bank_in(directory);
    let measured = crate::bank::Measured {
        before_us: 2.0,
        after_us: 1.0,
        backend: "simulator".into(),
        space: 1,
        default: DefaultOrigin::Estimated,
    };
    bank.record(&workload, &schedule, &measured).unwrap();
    bank.save().unwrap();
    schedule
}

/// Whether a schedule has the blocks of [`bank_with`].
fn has_its_blocks(schedule: &Schedule) -> bool {
    matches!(schedule, Schedule::Cube(s) if (s.l0.m, s.l0.n, s.l0.k_a) == (48, 80, 32))
}

#[test]
fn a_near_workload_of_the_bank_is_an_early_trial() {
    let dir = tempfile::tempdir().unwrap();
    bank_with(dir.path(), &MatMul::new(512, 1024, 2048));
    let backend = Recorder::new();
    run(&backend, &mut bank_in(dir.path()), &settings()).unwrap();
    for n in [1024, 4096] {
        // The baseline's measurement, the default as first trial, then the neighbour.
        let tried = backend.of(n);
        let place = tried.iter().position(has_its_blocks);
        assert_eq!(place, Some(2), "n = {n}: {:?}", &tried[..4]);
    }
}

#[test]
fn workloads_of_another_kind_or_far_away_change_nothing() {
    let tried = |product: Option<MatMul>, algorithm| {
        let dir = tempfile::tempdir().unwrap();
        if let Some(product) = product {
            bank_with(dir.path(), &product);
        }
        let backend = Recorder::new();
        run(&backend, &mut bank_in(dir.path()), &OpatSettings { algorithm, ..settings() }).unwrap();
        backend.tried.into_inner().unwrap()
    };
    let near = MatMul::new(512, 1024, 2048);
    let without = tried(None, Algorithm::Auto);
    assert_ne!(tried(Some(near.clone()), Algorithm::Auto), without);
    for other in [
        MatMul { trans_b: true, ..near.clone() },
        MatMul { bias: true, ..near.clone() },
        MatMul { b_format: Format::FractalNz, ..near.clone() },
        MatMul { dtype: DataType::Float, out_dtype: DataType::Float, ..near.clone() },
        MatMul { batch: 2, ..near.clone() },
        MatMul { m: 512 * 9, ..near.clone() },
    ] {
        assert_eq!(tried(Some(other.clone()), Algorithm::Auto), without, "{other:?}");
    }
    assert_eq!(tried(Some(near), Algorithm::Random), tried(None, Algorithm::Random), "random search stays random");
}

#[test]
fn a_neighbour_found_in_this_tuning_is_none_yet() {
    // More operators than are tuned before the bank is first written.
    let names: Vec<_> = (0..12).map(|i| format!("p{i}")).collect();
    let products: Vec<_> = names.iter().zip(4..).map(|(name, i)| (name.as_str(), 256 * i)).collect();
    let of = |parallel| {
        let dir = tempfile::tempdir().unwrap();
        bank_with(dir.path(), &MatMul::new(512, 2048, 2048));
        let (variants, cancel) = ([chain(&products)], AtomicBool::new(false));
        let (backend, mut bank) = (Recorder::new(), bank_in(dir.path()));
        let settings = OpatSettings { parallel, ..settings() };
        let outcome = tune(&variants, &backend, &mut bank, &settings, &cancel, &mut Watch::default()).unwrap();
        outcome.cases.iter().map(|c| (c.after.clone(), c.after_us.to_bits(), c.trials)).collect::<Vec<_>>()
    };
    assert_eq!(of(1), of(4));
}

/// How far 25 trials come with and without a bank that holds the product of half as many rows, on the simulator.
#[test]
#[ignore = "tunes thirty products for the figure in docs/search.md; a minute or more"]
fn a_bank_of_half_the_rows_saves_measurements() {
    let tuned = |m: i64, (k, n): (i64, i64), bank: &std::path::Path, max_trials: usize, seed: u64| {
        let (variants, cancel) = ([product(m, k, n)], AtomicBool::new(false));
        let settings = OpatSettings { seed, max_trials, ..settings() };
        let (backend, mut bank) = (Simulator::new(soc()), bank_in(bank));
        let outcome = tune(&variants, &backend, &mut bank, &settings, &cancel, &mut Watch::default()).unwrap();
        (outcome.cases[0].before_us, outcome.cases[0].after_us)
    };
    let weights = [(1024, 1024), (1024, 4096), (4096, 1024), (768, 3072), (2304, 768), (5120, 1280)];
    let (mut shapes, mut better, mut worse, mut sums) = (0.0, 0, 0, [0.0; 3]);
    for m in [128, 256, 384, 1024, 2048] {
        for weight in weights {
            for seed in 0..3 {
                let [known, empty, reference] = [(); 3].map(|()| tempfile::tempdir().unwrap());
                tuned(m, weight, known.path(), 200, seed);
                let (before, with) = tuned(2 * m, weight, known.path(), 25, seed);
                let (_, without) = tuned(2 * m, weight, empty.path(), 25, seed);
                let (_, best) = tuned(2 * m, weight, reference.path(), 1000, seed);
                let best = best.min(with).min(without);
                shapes += 1.0;
                better += usize::from(with < without * 0.999);
                worse += usize::from(without < with * 0.999);
                for (sum, time) in sums.iter_mut().zip([with, without, before]) {
                    *sum += best / time;
                }
            }
        }
    }
    let [with, without, before] = sums.map(|sum| sum / shapes);
    println!(
        "default {before:.3}, without {without:.3}, with {with:.3}, better on {better}, worse on {worse} of {shapes}"
    );
    assert!(with > without);
}

/// One product of these extents.
fn product(m: i64, k: i64, n: i64) -> Variant {
    let mut g = Graph::new("net");
    let tensor = |dims: &[i64]| TensorDesc::new(DataType::Float16, Shape::new(dims));
    let x = g.add_input("x", tensor(&[m, k])).unwrap();
    let w = g.add_const("w", tensor(&[k, n]), crate::graph::Constant::Opaque).unwrap();
    let product = g.add(Node::new("product", "MatMulV2").with_inputs([x, w])).unwrap();
    g.add_output(Port::first(product));
    infer::infer(&mut g).unwrap();
    let lowered = lower(&g, &soc(), &lower::Settings::default()).unwrap();
    Variant { label: String::new(), graph: g, lowered }
}
