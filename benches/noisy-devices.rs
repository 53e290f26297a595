//! How near to the optimum operator tuning comes where each measurement scatters and takes its time, as on a device.
//!
//! Run with `scripts/bench noisy-devices`; DATA names a folder whose ONNX models are tuned as well. The device is played
//! by the simulator with noise: a level of its own for each measurement, as a process has it, what its samples carry
//! from one to the next, and outliers, of which the median of five counts. Every matrix product of the models whose
//! tiling CANN reads is tuned with 64 candidates, and what was recorded is priced without noise beside the best of
//! 20,000 candidates of a search without noise.
//!
//! Goal: a median of 0.97 of the optimum. Three devices: one as the simulator thinks it is, whose prior is perfect; one
//! whose memory, L2 and buffers are slower by different amounts, whose prior misleads; and one that no simulator knows.

use aoe::backend::simulator::Simulator;
use aoe::backend::{Backend, Description, Measure, Measurement};
use aoe::bank::{BankPaths, OperatorBank, Writable};
use aoe::frontend::{ModelOptions, load_file};
use aoe::graph::infer;
use aoe::lower::{Kernel, Lowered, Settings, lower};
use aoe::search::Algorithm;
use aoe::soc::Soc;
use aoe::status::Result;
use aoe::tune::{BankStatus, CaseOutcome, OpFilter, OpatJob, OpatSettings, Variant, opat};
use aoe::workload::{Schedule, Workload};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const SOC: &str = "Ascend910B2";
/// Relative standard deviation of one measurement.
const NOISE: f64 = 0.02;
const CANDIDATES: usize = 64;
const OPTIMUM_CANDIDATES: usize = 20_000;
const SEEDS: u64 = 3;

fn main() {
    let variants = models().iter().filter_map(|path| products(path)).collect::<Vec<_>>();
    let modelled = Soc::find(SOC).expect("the part is built in");
    let other = slower(&modelled);
    println!(
        "{:<34} {:>9} {:>8} {:>8} {:>8} {:>7} {:>7} {:>7}",
        "device", "products", "median", "mean", "least", ">=0.97", "worse", "trials"
    );
    for (name, truth, prior) in [
        ("as simulated", &modelled, true),
        ("slower than simulated", &other, true),
        ("unknown to the simulator", &other, false),
    ] {
        let mut shares = Vec::new();
        let (mut worse, mut trials) = (0, 0);
        for variant in &variants {
            let optimum = tuned(variant, &Simulator::new(truth.clone()), OPTIMUM_CANDIDATES, 0);
            for seed in 0..SEEDS {
                let device = Noisy::new(modelled.clone(), truth.clone(), prior, seed);
                let found = tuned(variant, &device, CANDIDATES, seed);
                for (case, best) in found.iter().zip(&optimum) {
                    let [now, before, least] =
                        [&case.after, &case.before, &best.after].map(|schedule| price(truth, &case.workload, schedule));
                    shares.push(least.min(now) / now);
                    worse += usize::from(now > before && case.status == BankStatus::Added);
                    trials += case.trials;
                }
            }
        }
        report(name, shares, worse, trials);
    }
}

/// Prints what came out for one device.
fn report(name: &str, mut shares: Vec<f64>, worse: usize, trials: usize) {
    shares.sort_by(f64::total_cmp);
    let count = shares.len();
    if count == 0 {
        println!("{name:<34} no products");
        return;
    }
    let mean = shares.iter().sum::<f64>() / count as f64;
    let good = shares.iter().filter(|&&share| share >= 0.97).count() as f64 / count as f64;
    let (median, least) = (shares[count / 2], shares[0]);
    let each = trials as f64 / count as f64;
    println!("{name:<34} {count:>9} {median:>8.3} {mean:>8.3} {least:>8.3} {good:>7.2} {worse:>7} {each:>7.1}");
}

/// The bundled models and those in DATA.
fn models() -> Vec<PathBuf> {
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models");
    let given = std::env::var_os("DATA").filter(|data| !data.is_empty()).map(PathBuf::from);
    let mut models: Vec<PathBuf> = Vec::new();
    for folder in [Some(bundled), given].into_iter().flatten() {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        models
            .extend(entries.flatten().map(|entry| entry.path()).filter(|p| p.extension().is_some_and(|e| e == "onnx")));
    }
    models.sort();
    models
}

/// The products of a model whose tilings CANN reads.
fn products(path: &Path) -> Option<Variant> {
    let soc = Soc::find(SOC).expect("the part is built in");
    let loaded = load_file(path, None, &ModelOptions::default()).and_then(|mut graph| {
        infer::infer(&mut graph)?;
        let lowered = lower(&graph, &soc, &Settings::default())?;
        Ok((graph, lowered))
    });
    let (graph, lowered) = match loaded {
        Ok(loaded) => loaded,
        Err(error) => {
            eprintln!("{}: left out: {error}", path.display());
            return None;
        }
    };
    let is_product = |kernel: &Kernel| {
        matches!(&kernel.workload, Workload::MatMul(_)) && Writable::of(&kernel.workload, &soc).is_read_by_cann()
    };
    let kernels = lowered.kernels.into_iter().filter(is_product).collect();
    Some(Variant { label: String::new(), graph, lowered: Lowered { kernels, unmapped: Vec::new() } })
}

/// A part whose rates differ from what the table says of it.
fn slower(soc: &Soc) -> Soc {
    Soc {
        hbm_gb_s: soc.hbm_gb_s * 0.7,
        l2_rate: soc.l2_rate * 0.75,
        gm_to_l1_rate: soc.gm_to_l1_rate * 0.85,
        l1_to_l0_a_rate: soc.l1_to_l0_a_rate * 0.8,
        l1_to_l0_b_rate: soc.l1_to_l0_b_rate * 1.2,
        l0_c_out_rate: soc.l0_c_out_rate * 0.65,
        ..soc.clone()
    }
}

fn price(soc: &Soc, workload: &Workload, schedule: &Schedule) -> f64 {
    match Simulator::new(soc.clone()).prepare(workload).map(|mut measure| measure.measure(schedule)) {
        Ok(Measurement::Time { us }) => us,
        _ => f64::INFINITY,
    }
}

/// Tunes the products of a model with a bank of its own.
fn tuned(variant: &Variant, backend: &dyn Backend, candidates: usize, seed: u64) -> Vec<CaseOutcome> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let paths = BankPaths { custom: folder.path().join("bank"), also_read: Vec::new() };
    let mut bank = OperatorBank::open(paths, backend.soc());
    let settings = OpatSettings {
        seed,
        algorithm: Algorithm::Auto,
        max_trials: candidates,
        parallel: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        repeat_tune: false,
        filter: OpFilter::default(),
        deadline: None,
        pause: OpatSettings::PAUSE,
    };
    let mut job = OpatJob {
        rescue: None,
        to_measure: None,
        name: "bench",
        variants: std::slice::from_ref(variant),
        backend,
        bank: &mut bank,
        base: None,
        settings: &settings,
        cancel: &AtomicBool::new(false),
    };
    // A model without products has nothing to say.
    opat(&mut job, &mut ()).map_or_else(|_| Vec::new(), |outcome| outcome.cases)
}

/// A device that is played.
struct Noisy {
    /// What it is taken for.
    soc: Soc,
    truth: Simulator,
    /// Whether the simulator is asked first.
    prior: bool,
    noise: Mutex<fastrand::Rng>,
}

impl Noisy {
    fn new(soc: Soc, truth: Soc, prior: bool, seed: u64) -> Noisy {
        Noisy { soc, truth: Simulator::new(truth), prior, noise: Mutex::new(fastrand::Rng::with_seed(seed)) }
    }
}

impl Backend for Noisy {
    fn describe(&self) -> Description {
        Description { name: "noisy".to_owned(), detail: String::new(), noisy: true, is_simulated: false }
    }

    fn soc(&self) -> &Soc {
        &self.soc
    }

    /// A time that is known keeps the simulator from being asked.
    fn measuring_time(&self) -> Option<Duration> {
        (!self.prior).then_some(Duration::from_secs(1))
    }

    fn prepare<'a>(&'a self, workload: &Workload) -> Result<Box<dyn Measure + 'a>> {
        Ok(Box::new(Prepared { device: self, truth: self.truth.prepare(workload)? }))
    }
}

struct Prepared<'a> {
    device: &'a Noisy,
    truth: Box<dyn Measure + 'a>,
}

impl Measure for Prepared<'_> {
    fn measure(&mut self, schedule: &Schedule) -> Measurement {
        match self.truth.measure(schedule) {
            Measurement::Time { us } => Measurement::Time { us: us * self.device.factor() },
            other => other,
        }
    }
}

impl Noisy {
    /// What the median of five samples of one process comes to.
    fn factor(&self) -> f64 {
        let mut rng = self.noise.lock().expect("no thread panics with it");
        let mut normal = || (-2.0 * (1.0 - rng.f64()).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos();
        let level = 0.8 * NOISE * normal();
        let mut carried = 0.0;
        let mut samples = [0.0; 5].map(|_: f64| {
            carried = 0.7 * carried + 0.4 * NOISE * normal();
            carried
        });
        for sample in &mut samples {
            if rng.f64() < 0.02 {
                *sample += 0.3 * rng.f64();
            }
        }
        samples.sort_by(f64::total_cmp);
        (level + samples[2]).exp()
    }
}
