//! The event schedule against the closed form.

use super::{Pipe, Timeline};
use crate::sim::Model;
use crate::soc::Soc;
use crate::space::default_policy;
use crate::workload::{MatMul, Operand, Schedule, Vector, Workload};
use aoe_graph::DataType;

/// Largest difference of the two totals over CANN's own tilings, as a factor: where the steady state takes
/// nine tenths of the core's time, and everywhere. In short loops the closed form adds the first transfers to
/// a steady state that holds them already; the queues do not.
const LONG: f64 = 1.4;
const SHORT: f64 = 1.8;

fn timeline(workload: &Workload, soc: &Soc, change: impl FnOnce(&mut Schedule)) -> Timeline {
    let mut schedule = default_policy(workload, soc).unwrap();
    change(&mut schedule);
    Model::new(workload, soc).unwrap().timeline(&schedule).unwrap()
}

fn product(m: u64, k: u64, n: u64) -> Workload {
    Workload::MatMul(MatMul::new(m, k, n))
}

fn addition(elements: u64) -> Workload {
    let operand = Operand::new([elements], DataType::Float);
    Workload::Vector(Vector { op_type: "Add".into(), inputs: vec![operand.clone(); 2], outputs: vec![operand] })
}

/// What must hold of every timeline.
fn holds(t: &Timeline, name: &str) {
    for lane in &t.lanes {
        assert!(lane.bars.windows(2).all(|b| b[0].end_us <= b[1].start_us + 1e-9), "{name}: {:?} overlaps", lane.pipe);
        assert!(lane.bars.iter().all(|b| b.end_us <= t.total_us * (1.0 + 1e-9)), "{name}: {:?} ends late", lane.pipe);
    }
    assert!(t.phases[0].start_us == 0.0 && (t.phases[3].end_us - t.total_us).abs() < 1e-9, "{name}");
    assert!(
        t.phases.windows(2).all(|p| (p[0].end_us - p[1].start_us).abs() < 1e-9 && p[0].start_us <= p[0].end_us),
        "{name}"
    );
}

#[test]
fn the_events_take_about_as_long_as_the_closed_form_says() {
    let mut worst = [(1.0, String::new()), (1.0, String::new())];
    for name in ["Ascend910A", "Ascend910B", "Ascend910B2", "Ascend910B4", "Ascend310P3", "Ascend950PR_9589"] {
        let soc = Soc::find(name).unwrap();
        let sizes = [64, 256, 1024, 3000, 8192];
        let products = sizes.iter().flat_map(|&m| sizes.iter().flat_map(move |&k| sizes.map(|n| product(m, k, n))));
        let vectors = [1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 26].map(addition);
        for workload in products.chain(vectors) {
            let t = timeline(&workload, &soc, |_| {});
            let label = format!("{name} {workload}: {} against {}", t.total_us, t.prediction.time_us);
            holds(&t, &label);
            let ratio = t.total_us / t.prediction.time_us;
            let factor = ratio.max(1.0 / ratio);
            let [start, _, steady, _] = t.phases[..] else { panic!("{label}: {:?}", t.phases) };
            let short = steady.end_us - steady.start_us < 0.9 * (t.total_us - start.end_us);
            if factor > worst[usize::from(short)].0 {
                worst[usize::from(short)] = (factor, label);
            }
        }
    }
    assert!(worst[0].0 < LONG && worst[1].0 < SHORT, "{worst:?}");
}

#[test]
fn a_missing_second_buffer_shows_as_waiting() {
    let soc = Soc::find("Ascend910B2").unwrap();
    let workload = product(4096, 4096, 4096);
    let double = timeline(&workload, &soc, |_| {});
    let single = timeline(&workload, &soc, |s| {
        if let Schedule::Cube(s) = s {
            (s.buffers.l1_a, s.buffers.l1_b) = (1, 1);
        }
    });
    let waits = |t: &Timeline| t.waits.iter().map(|(_, us)| us).sum::<f64>();
    assert!(single.total_us > double.total_us && waits(&single) > waits(&double));
    assert!(matches!(single.waits[0].0, Pipe::Mte2 | Pipe::Memory), "{:?}", single.waits);
}

#[test]
fn each_pipe_is_as_busy_as_the_closed_form_says() {
    let soc = Soc::find("Ascend910B4").unwrap();
    let workload = product(2048, 3072, 1024);
    let schedule = default_policy(&workload, &soc).unwrap();
    let model = Model::new(&workload, &soc).unwrap();
    let (busy, t) = (model.times(&schedule).busy, model.timeline(&schedule).unwrap());
    for (pipe, expected) in [(Pipe::Cube, busy.mac), (Pipe::Mte1, busy.mte1), (Pipe::Fixpipe, busy.fixpipe)] {
        let lane = t.lanes.iter().find(|lane| lane.pipe == pipe).unwrap();
        assert!((lane.busy_us / expected - 1.0).abs() < 1e-9, "{pipe:?}: {} against {expected}", lane.busy_us);
    }
}

#[test]
fn loops_of_any_length_end_soon_and_are_said_to_be_sampled() {
    let soc = Soc::find("Ascend910B2").unwrap();
    for workload in [product(1 << 20, 1 << 20, 256), product(16, 1 << 30, 16), addition(1 << 36)] {
        let t = timeline(&workload, &soc, |_| {});
        holds(&t, &workload.to_string());
        // Or short enough to be gone through: a split k has few steps in a tile.
        assert!(t.tiles[1] < t.tiles[0] || t.steps_joined > 1 || t.tiles[0] < 1 << 20, "{workload}: {:?}", t.tiles);
        let ratio = t.total_us / t.prediction.time_us;
        assert!((0.5..2.0).contains(&ratio), "{workload}: {ratio}");
    }
}
