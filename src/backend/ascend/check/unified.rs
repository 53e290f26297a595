//! Whether TBE finds our records in its unified bank: the names and fields of some are inferred.

use super::{Step, Verdict};
use crate::backend::ascend::backend::{Ascend, Refused};
use crate::graph::{DataType, Format};
use crate::soc::{Arch, Soc};
use crate::status::{Error, Result};
use crate::workload::tbe::TbeTiling;
use crate::workload::{
    Buffers, Conv, ConvKind, Cores, CubeShape, L0Tile, L1Tile, MatMul, MatMulKernel, Panel, Schedule, Workload,
};
use serde_json::json;

/// A kernel that TBE compiles, and a tiling for its record; why there is none.
type Trial = std::result::Result<(Workload, Schedule), String>;

/// Makes a trial.
type Make = fn() -> Trial;

/// The names of the steps, and what each tries.
const STEPS: [(&str, Make); 2] = [("unified bank", product), ("unified bank of Conv2D", convolution)];

/// The names of the steps.
pub fn names() -> impl Iterator<Item = &'static str> {
    STEPS.into_iter().map(|(name, _)| name)
}

/// A tiling on one core whose tiles have so many terms in L1 and in L0.
fn on_one_core(cube: &CubeShape, l1_k: u32, l0_k: u32) -> std::result::Result<Schedule, String> {
    let panel = L1Tile::Panel(Panel { k: l1_k, tiles: 1, batch: 1 });
    let tiling = TbeTiling {
        cores: Cores { batch: 1, m: 1, n: 1, k: 1 },
        l1_a: panel,
        l1_b: panel,
        l0: L0Tile { m: 64, n: 64, k_a: l0_k, k_b: l0_k },
        buffers: Buffers { l1_a: 2, l1_b: 2, l0_a: 2, l0_b: 2, l0_c: 1 },
    };
    tiling.schedule(cube).map(Schedule::Cube)
}

fn product() -> Trial {
    let product = MatMul { kernel: MatMulKernel::Tbe, ..MatMul::new(512, 1024, 768) };
    let schedule = on_one_core(&product.cube(), 256, 64)?;
    Ok((Workload::MatMul(product), schedule))
}

/// A convolution with a bias, as it stands in ResNet-50.
fn convolution() -> Trial {
    let convolution = Conv {
        kind: ConvKind::Forward,
        batch: 1,
        cin: 64,
        hi: 56,
        wi: 56,
        cout: 128,
        ho: 56,
        wo: 56,
        kh: 3,
        kw: 3,
        stride: [1; 2],
        pads: [1; 4],
        dilation: [1; 2],
        groups: 1,
        dtype: DataType::Float16,
        out_dtype: DataType::Float16,
        bias: true,
        format: Format::Nc1hwc0,
        hf32: false,
        depth: None,
    };
    // All taps of a block of channels in L0, of all channels in L1.
    let schedule = on_one_core(&convolution.cube(), 576, 144)?;
    Ok((Workload::Conv(convolution), schedule))
}

/// Has kernels compiled, each with a bank that holds a record for it, when its step is asked for.
pub fn steps(ascend: &Ascend, soc: &Soc) -> impl Iterator<Item = Result<Step>> {
    STEPS.into_iter().map(|(name, trial)| step(ascend, soc, name, trial()))
}

fn step(ascend: &Ascend, soc: &Soc, name: &str, trial: Trial) -> Result<Step> {
    if !matches!(soc.arch, Arch::C220 | Arch::M300) {
        let reason = format!("on {} TBE asks no unified bank", soc.name);
        return Ok(Step::new(name, Verdict::NotPossible, reason, ""));
    }
    let (workload, schedule) = match trial {
        Ok(trial) => trial,
        Err(reason) => return Ok(Step::new(name, Verdict::NotPossible, reason, "")),
    };
    let op_type = workload.op_type();
    let by_hand = format!("compile a {op_type} with op_debug_level 3 and look for KBHit in kernel_meta/*.json by hand");
    let hits = match ascend.bank_hits(&workload, &schedule) {
        Ok(hits) => hits,
        Err(Refused::Cancelled) => return Err(Error::Cancelled),
        Err(Refused::Failed(reason) | Refused::Ended(reason)) => {
            return Ok(Step::new(name, Verdict::NotPossible, format!("{workload}: {reason}"), &by_hand));
        }
    };
    let figures = json!({ "kb_hit": hits });
    let step = if hits.contains(&true) {
        Step::new(name, Verdict::Passed, format!("{workload} was compiled with our record (KBHit)"), "")
    } else if hits.is_empty() {
        let said = format!("{workload} was compiled, and no JSON beside the kernel has KBHit");
        Step::new(name, Verdict::NotPossible, said, &by_hand)
    } else {
        let advice = format!(
            "TBE compiles {op_type} without our records: send the report, with a kernel_meta folder of a build \
             (op_debug_level 3)"
        );
        Step::new(name, Verdict::Failed, format!("{workload} was compiled without our record"), &advice)
    };
    Ok(step.with(&figures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_of_each_trial_can_be_written_wherever_tbe_asks() {
        for soc in ["Ascend910B2", "Ascend910_9391", "Ascend310B1"] {
            let soc = Soc::find(soc).unwrap();
            for (name, trial) in STEPS {
                let (workload, schedule) = trial().unwrap();
                let writable = crate::bank::Writable::of(&workload, &soc);
                assert!(writable.is_read_when_compiled(), "{name} on {}", soc.name);
                writable.check(&schedule).unwrap_or_else(|e| panic!("{name} on {}: {e}", soc.name));
            }
        }
    }
}
