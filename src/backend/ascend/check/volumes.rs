//! The convolutions of volumes that a machine is tried with, and their records.

use super::templates::Trial;
use crate::graph::Format;
use crate::soc::{Arch, Soc};
use crate::tiling::Platform;
use crate::tiling::conv3d_v2::{self, OP_TYPE, Problem, Record};
use crate::workload::{Conv, ConvKind, Depth, Schedule, Workload};

/// A convolution of one image without bias: its channels, the sides of the image, filters and the side of their kernel,
/// with as much padding that the result is as large as the image.
fn volume(cin: u64, [depth, height, width]: [u64; 3], cout: u64, kernel: u64) -> Conv {
    let pad = kernel / 2;
    Conv {
        hi: height,
        ho: height,
        format: Format::Ndc1hwc0,
        depth: Some(Depth { input: depth, output: depth, kernel, stride: 1, pads: [pad; 2], dilation: 1 }),
        ..Conv::image(ConvKind::Forward, depth, [cin * kernel, cout], width, kernel)
    }
}

/// CANN's own tiling of a convolution as a record, for so many cores, and what stays in L1 with it.
fn record(w: &Conv, soc: &Soc, cores: u32) -> Result<(Schedule, &'static str), String> {
    if soc.arch != Arch::C220 {
        return Err(format!("on {} CANN reads no bank for convolutions of volumes", soc.name));
    }
    let platform = Platform { cores: u64::from(cores), ..Platform::of(soc) };
    let choice = Problem::of(w).and_then(|problem| conv3d_v2::default(&problem, &platform));
    let chosen = choice.ok_or_else(|| format!("{w} has no tiling on {}", soc.name))?.tiling;
    let held = match (chosen.al1_full_load, chosen.bl1_full_load) {
        (0, 0) => "parts",
        (0, _) => "weights whole",
        (_, 0) => "image whole",
        _ => "both whole",
    };
    let schedule = Record::chosen(&chosen, w).and_then(|record| record.schedule(w));
    schedule.map(|schedule| (Schedule::Cube(schedule), held)).map_err(|error| error.to_string())
}

/// A convolution with a record for each thing that L1 may hold whole, and the doubt that CANN takes them.
pub fn forms(soc: &Soc, doubt: Option<&str>) -> Vec<Trial> {
    let all = [
        volume(32, [8, 28, 28], 64, 3),
        volume(64, [2, 128, 128], 16, 3),
        volume(256, [4, 14, 14], 256, 3),
        volume(1536, [1, 128, 8], 1024, 1),
    ];
    let trial = |w: Conv| {
        let record = record(&w, soc, soc.ai_core_cnt);
        let name = record.as_ref().map_or(OP_TYPE.to_owned(), |(_, held)| format!("{OP_TYPE} {held}"));
        let schedule = record.map(|(schedule, _)| Some(schedule));
        Trial { name, workload: Workload::Conv(w), schedule, doubt: doubt.map(str::to_owned) }
    };
    all.map(trial).into()
}

/// A convolution with a record that leaves all cores but one idle.
pub fn on_one_core(soc: &Soc) -> Result<(Workload, Schedule), String> {
    let w = volume(64, [8, 56, 56], 64, 3);
    record(&w, soc, 1).map(|(schedule, _)| (Workload::Conv(w), schedule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bank::Writable;
    use std::collections::BTreeSet;

    #[test]
    fn every_form_is_tried_with_a_record_that_may_be_written() {
        for soc in ["Ascend910B2", "Ascend910B4"] {
            let soc = Soc::find(soc).unwrap();
            let trials = forms(&soc, None);
            let names: BTreeSet<&str> = trials.iter().map(|trial| trial.name.as_str()).collect();
            let held = ["both whole", "image whole", "parts", "weights whole"].map(|held| format!("Conv3DV2 {held}"));
            assert_eq!(names, held.iter().map(String::as_str).collect(), "{}", soc.name);
            for trial in &trials {
                let schedule = trial.schedule.as_ref().unwrap().as_ref().unwrap();
                Writable::of(&trial.workload, &soc).check(schedule).unwrap_or_else(|e| panic!("{}: {e}", trial.name));
            }
            let (workload, schedule) = on_one_core(&soc).unwrap();
            Writable::of(&workload, &soc).check(&schedule).unwrap();
            let Schedule::Cube(schedule) = schedule else { panic!("{schedule:?}") };
            assert_eq!(schedule.cores.tasks(), 1);
        }
        assert!(on_one_core(&Soc::find("Ascend310P3").unwrap()).unwrap_err().contains("Ascend310P3"));
    }
}
