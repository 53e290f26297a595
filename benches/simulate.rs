//! How many tilings of matrix products the simulator prices in a second on one core, legality check included, for how
//! many products CANN's default tiling is found, and how long a million of these take.
//!
//! Run with `cargo bench --bench simulate`. Goals: 500,000 prices and 1,000,000 defaults a second. What counts is the
//! time that the core spent on it, where the system tells: others may be busy.

use aoe::sim::Model;
use aoe::soc::Soc;
use aoe::space::default_policy;
use aoe::tiling::{Platform, matmul_v3};
use aoe::workload::{LoopOrder, MatMul, Schedule, Workload, check};
use std::collections::HashSet;
use std::hint::black_box;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Products of networks: square, wide, deep, few rows, batched.
const PRODUCTS: [(u64, u64, u64, u64); 6] = [
    (1, 4096, 4096, 4096),
    (1, 16384, 768, 3072),
    (1, 512, 16384, 1024),
    (1, 16, 4096, 11008),
    (96, 512, 64, 512),
    (1, 3000, 1000, 777),
];
/// Each measurement takes this long; the median of them counts.
const SLICE: Duration = Duration::from_millis(200);
const SLICES: usize = 9;

/// Legal variations of CANN's own tiling.
fn candidates(workload: &Workload, soc: &Soc) -> Vec<Schedule> {
    let Schedule::Cube(base) = default_policy(workload, soc).expect("a product has a tiling") else {
        unreachable!("a product has a cube tiling")
    };
    let mut found = Vec::new();
    for bits in 0u32..1 << 10 {
        let mut s = base.clone();
        s.l0.m = 16 << (bits & 3);
        s.l0.n = 16 << (bits >> 2 & 3);
        s.l0.k_a = 16 << (bits >> 4 & 3);
        s.l0.k_b = s.l0.k_a;
        s.order = if bits >> 6 & 1 == 0 { LoopOrder::MFirst } else { LoopOrder::NFirst };
        s.buffers.l0_c = 1 + (bits >> 7 & 1) as u8;
        s.buffers.l1_a = 1 + (bits >> 8 & 1) as u8;
        s.buffers.l1_b = 1 + (bits >> 9 & 1) as u8;
        let schedule = Schedule::Cube(s);
        if check(workload, &schedule, soc).is_ok() {
            found.push(schedule);
        }
    }
    assert!(found.len() > 100, "{workload}: {} legal candidates", found.len());
    found
}

fn main() {
    let soc = Soc::find("Ascend910B2").expect("the part is built in");
    let prepared: Vec<_> = PRODUCTS
        .iter()
        .map(|&(batch, m, k, n)| {
            let workload = Workload::MatMul(MatMul { batch, ..MatMul::new(m, k, n) });
            let model = Model::new(&workload, &soc).expect("the sizes are good");
            (model, candidates(&workload, &soc))
        })
        .collect();
    let priced = rate(|| {
        for (model, candidates) in &prepared {
            for candidate in candidates {
                black_box(model.predict(black_box(candidate)).expect("a candidate is legal"));
            }
        }
        prepared.iter().map(|(_, candidates)| candidates.len()).sum()
    });
    println!("{:<40} {:>8.0} thousand/s on one core   (goal: 500)", "MatMul prices", priced / 1e3);
    let platform = Platform::of(&soc);
    for (kind, rows) in [("networks", &[197, 512, 1024, 4096][..]), ("decode", &[1, 8, 16, 32, 64, 96, 128])] {
        let products = distinct(rows);
        let begun = spent();
        for product in &products {
            black_box(matmul_v3::default(black_box(product), &platform));
        }
        let seconds = spent().saturating_sub(begun).as_secs_f64();
        let what = format!("{} default tilings, {kind}", products.len());
        println!("{what:<40} {seconds:>8.2} s on one core   (goal: 1)");
    }
    for (kind, products) in default_products() {
        let found = rate(|| {
            for product in &products {
                black_box(matmul_v3::default(black_box(product), &platform));
            }
            products.len()
        });
        println!(
            "{:<40} {:>8.0} thousand/s on one core   (goal: 1000)",
            format!("Default tilings, {kind}"),
            found / 1e3
        );
    }
}

/// Products by what their default tiling needs: mostly the table of blocks, the search for L2 tiles, and the search for
/// the blocks of few rows.
fn default_products() -> [(&'static str, Vec<MatMul>); 3] {
    let mut random = fastrand::Rng::with_seed(3);
    let mut products = |rows: &[u64], scale: u64| {
        let product = |_| {
            let [k, n] = [(); 2].map(|()| 64 * scale * random.u64(1..=170));
            MatMul { trans_b: true, ..MatMul::new(rows[random.usize(0..rows.len())], k, n) }
        };
        (0..4000).map(product).collect()
    };
    [
        ("networks", products(&[197, 512, 1024, 4096], 1)),
        ("L2 tiles", products(&[9768, 12_288, 40_960, 73_728], 4)),
        ("at most 128 rows", products(&[1, 16, 64, 128], 1)),
    ]
}

/// A million products of these numbers of rows, as linear layers have them, each another one.
fn distinct(rows: &[u64]) -> Vec<MatMul> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut seen = HashSet::new();
    let mut products = Vec::with_capacity(1_000_000);
    while products.len() < 1_000_000 {
        let [k, n] = [(); 2].map(|()| 16 * random.u64(4..=1024));
        let m = rows[random.usize(0..rows.len())];
        if seen.insert((m, k, n)) {
            products.push(MatMul { trans_b: true, ..MatMul::new(m, k, n) });
        }
    }
    products
}

/// Time that this thread has had on a core; where the system does not tell, time that has passed.
fn spent() -> Duration {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let on_core = told.and_then(|text| text.split(' ').next()?.parse().ok());
    on_core.map_or_else(|| BEGUN.elapsed(), Duration::from_nanos)
}

/// How many a second `work` does, which says how many it did: the median of several slices of time.
fn rate(mut work: impl FnMut() -> usize) -> f64 {
    let slice = |_| {
        let (begun, mut done) = (spent(), 0);
        while spent().saturating_sub(begun) < SLICE {
            done += work();
        }
        done as f64 / spent().saturating_sub(begun).as_secs_f64()
    };
    let mut rates: Vec<f64> = (0..SLICES).map(slice).collect();
    rates.sort_by(f64::total_cmp);
    rates[SLICES / 2]
}
