//! Why a tiling takes the time that it does: what it lays into the cores' buffers, what the performance model says of its
//! pipes and its traffic, and the timeline of its busiest core.

use crate::sim::timeline::{Blocks, Timeline};
use crate::sim::{Counts, Model};
use crate::soc::Soc;
use crate::workload::{Schedule, Workload, held};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Parts of a timeline, each a digit.
const PARTS: usize = 48;

/// How a kernel is dealt to cores, and what each of them holds.
#[derive(Debug, Serialize, Deserialize)]
pub struct Layout {
    /// Core tasks.
    pub(super) blocks: u64,
    /// Those of the busiest core.
    pub(super) blocks_of_busiest: u64,
    /// What the tiles take of each buffer of a core.
    pub(super) buffers: BTreeMap<Cow<'static, str>, Buffer>,
    /// Cores that get blocks.
    pub(super) cores: u64,
}

/// Bytes that all copies of the tiles take, and bytes that there are.
#[derive(Debug, Serialize, Deserialize)]
pub struct Buffer {
    pub(super) bytes: u64,
    pub(super) size: u64,
}

impl Layout {
    /// That of a schedule which fits the workload.
    pub fn of(workload: &Workload, schedule: &Schedule, soc: &Soc) -> Layout {
        let used = u64::from(schedule.cores());
        let blocks = match schedule {
            Schedule::Cube(s) => Blocks { tasks: s.cores.tasks(), cores: s.cores.tasks().min(used) },
            Schedule::Vector(_) => Blocks { tasks: used, cores: used },
        };
        let buffers = held(workload, schedule, soc);
        Layout {
            blocks: blocks.tasks,
            blocks_of_busiest: blocks.rounds(),
            buffers: buffers
                .into_iter()
                .map(|held| (held.buffer.into(), Buffer { bytes: held.bytes, size: held.size }))
                .collect(),
            cores: blocks.cores,
        }
    }
}

/// What the performance model says of one launch by itself.
#[derive(Debug, Serialize, Deserialize)]
pub struct Predicted {
    /// Cycles in which each pipe of the busiest core works.
    pub(super) cycles: BTreeMap<Cow<'static, str>, f64>,
    /// What all cores together move, and the cycles of their cube units.
    pub(super) moved: Counts,
    pub(super) us: f64,
}

impl Predicted {
    /// Of a schedule; `None` where the model cannot price it.
    pub fn of(model: &Model, workload: &Workload, schedule: &Schedule, soc: &Soc) -> Option<Predicted> {
        let prediction = model.predict(schedule).ok()?;
        let mhz = if workload.is_cube() { soc.cube_freq_mhz } else { soc.vec_freq_mhz };
        let pipes = prediction.pipes;
        let shares = [
            ("mte2", pipes.mte2),
            ("mte1", pipes.mte1),
            ("cube", pipes.mac),
            ("vector", pipes.vec),
            ("fixpipe", pipes.fixpipe),
            ("mte3", pipes.mte3),
        ];
        let cycles = |share: f64| (share * prediction.model_us * mhz).round();
        Some(Predicted {
            cycles: shares
                .into_iter()
                .filter(|pipe| pipe.1 > 0.0)
                .map(|(name, share)| (name.into(), cycles(share)))
                .collect(),
            moved: model.counts(schedule).ok()?,
            us: prediction.time_us,
        })
    }
}

/// The timeline of the busiest core.
#[derive(Debug, Serialize, Deserialize)]
pub struct Lanes {
    /// Where `start`, `fill`, `steady` and `drain` end, in microseconds.
    pub(super) phases: BTreeMap<Cow<'static, str>, f64>,
    /// For each pipe a digit for each equal part of the time: the ninths of it in which the pipe works.
    pub(super) pipes: BTreeMap<Cow<'static, str>, String>,
    pub(super) us: f64,
    /// Microseconds that the unit which computes waited for each pipe.
    pub(super) waits: BTreeMap<Cow<'static, str>, f64>,
}

impl Lanes {
    /// Of a schedule; `None` where the model cannot price it.
    pub fn of(model: &Model, schedule: &Schedule) -> Option<Lanes> {
        let timeline: Timeline = model.timeline(schedule).ok()?;
        let us = timeline.total_us;
        let digit = |share: f64| char::from(b'0' + (share.clamp(0.0, 1.0) * 9.0).round() as u8);
        let digits = |shares: Vec<f64>| shares.into_iter().map(digit).collect::<String>();
        (us > 0.0 && !timeline.lanes.is_empty()).then(|| Lanes {
            phases: timeline.phases.iter().map(|phase| (phase.name.into(), phase.end_us)).collect(),
            pipes: timeline
                .lanes
                .iter()
                .map(|lane| (lane.pipe.name().into(), digits(lane.shares(PARTS, us))))
                .collect(),
            us,
            waits: timeline.waits.iter().map(|(pipe, us)| (pipe.name().into(), *us)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::default_policy;
    use crate::workload::{MatMul, check};

    fn product() -> (Workload, Soc, Schedule) {
        let soc = Soc::find("Ascend910B2").unwrap();
        let workload = Workload::MatMul(MatMul::new(1024, 4096, 2048));
        let schedule = default_policy(&workload, &soc).unwrap();
        (workload, soc, schedule)
    }

    #[test]
    fn what_a_tiling_holds_fits_until_the_rule_book_refuses_it() {
        let (workload, soc, schedule) = product();
        let Schedule::Cube(mut s) = schedule else { panic!("a product has a tiling of cube work") };
        let mut refused = Vec::new();
        for _ in 0..8 {
            let schedule = Schedule::Cube(s.clone());
            let layout = Layout::of(&workload, &schedule, &soc);
            assert_eq!(layout.buffers.keys().collect::<Vec<_>>(), ["L0A", "L0B", "L0C", "L1"]);
            let fits = layout.buffers.values().all(|buffer| (1..=buffer.size).contains(&buffer.bytes));
            let checked = check(&workload, &schedule, &soc);
            assert_eq!(fits, checked.is_ok(), "{layout:?} {checked:?}");
            refused.push(!fits);
            s.l0.m *= 2;
        }
        assert!(!refused[0] && refused[7], "{refused:?}");
    }

    #[test]
    fn cycles_are_those_of_busy_pipes_and_digits_those_of_their_timeline() {
        let (workload, soc, schedule) = product();
        let model = Model::new(&workload, &soc).unwrap();
        let predicted = Predicted::of(&model, &workload, &schedule, &soc).unwrap();
        let whole = predicted.us * soc.cube_freq_mhz;
        assert!(
            predicted.cycles["cube"] > 0.1 * whole && predicted.cycles.values().all(|cycles| *cycles <= whole + 1.0)
        );
        // Two matrices of 16 bits are read at least once.
        assert!(predicted.moved.read() >= f64::from(2 * 4096 * (1024 + 2048)), "{predicted:?}");
        let lanes = Lanes::of(&model, &schedule).unwrap();
        let timeline = model.timeline(&schedule).unwrap();
        for lane in &timeline.lanes {
            let digits = &lanes.pipes[lane.pipe.name()];
            assert_eq!(digits.len(), PARTS);
            let told = digits.bytes().map(|digit| f64::from(digit - b'0') / 9.0).sum::<f64>() / PARTS as f64;
            let busy = lane.busy_us / timeline.total_us;
            assert!((told - busy).abs() < 0.06, "{}: {told} of {busy}", lane.pipe.name());
        }
        assert!(lanes.phases["drain"] <= lanes.us * (1.0 + 1e-9) && lanes.phases["start"] <= lanes.phases["fill"]);
    }
}
