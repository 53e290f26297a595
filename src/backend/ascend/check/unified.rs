//! Whether TBE finds our records in its unified bank: the names and fields of some are inferred.

use super::{Step, Verdict};
use crate::backend::ascend::backend::{Ascend, Refused};
use crate::soc::{Arch, Soc};
use crate::status::{Error, Result};
use crate::workload::tbe::TbeTiling;
use crate::workload::{Buffers, Cores, L0Tile, L1Tile, MatMul, MatMulKernel, Panel, Schedule};
use serde_json::json;

const NAME: &str = "unified bank";
const ADVICE: &str = "TBE compiles MatMulV2 without our records: send the report, with a kernel_meta folder of a build \
                      (op_debug_level 3)";
const ADVICE_JSON: &str = "compile a MatMulV2 with op_debug_level 3 and look for KBHit in kernel_meta/*.json by hand";

/// A product that TBE compiles, and a tiling on one core.
fn trial() -> std::result::Result<(MatMul, Schedule), String> {
    let product = MatMul { kernel: MatMulKernel::Tbe, ..MatMul::new(512, 1024, 768) };
    let panel = L1Tile::Panel(Panel { k: 256, tiles: 1, batch: 1 });
    let tiling = TbeTiling {
        cores: Cores { batch: 1, m: 1, n: 1, k: 1 },
        l1_a: panel,
        l1_b: panel,
        l0: L0Tile { m: 64, n: 64, k_a: 64, k_b: 64 },
        buffers: Buffers { l1_a: 2, l1_b: 2, l0_a: 2, l0_b: 2, l0_c: 1 },
    };
    let schedule = tiling.schedule(&product.cube())?;
    Ok((product, Schedule::Cube(schedule)))
}

/// Has a product compiled with a bank that holds a record for it.
pub fn step(ascend: &Ascend, soc: &Soc) -> Result<Step> {
    if !matches!(soc.arch, Arch::C220 | Arch::M300) {
        let reason = format!("on {} TBE asks no unified bank", soc.name);
        return Ok(Step::new(NAME, Verdict::NotPossible, reason, ""));
    }
    let (product, schedule) = match trial() {
        Ok(trial) => trial,
        Err(reason) => return Ok(Step::new(NAME, Verdict::NotPossible, reason, "")),
    };
    let hits = match ascend.bank_hits(&product, &schedule) {
        Ok(hits) => hits,
        Err(Refused::Cancelled) => return Err(Error::Cancelled),
        Err(Refused::Failed(reason) | Refused::Ended(reason)) => {
            return Ok(Step::new(NAME, Verdict::NotPossible, format!("{product}: {reason}"), ADVICE_JSON));
        }
    };
    let figures = json!({ "kb_hit": hits });
    let step = if hits.contains(&true) {
        Step::new(NAME, Verdict::Passed, format!("{product} was compiled with our record (KBHit)"), "")
    } else if hits.is_empty() {
        let said = format!("{product} was compiled, and no JSON beside the kernel has KBHit");
        Step::new(NAME, Verdict::NotPossible, said, ADVICE_JSON)
    } else {
        Step::new(NAME, Verdict::Failed, format!("{product} was compiled without our record"), ADVICE)
    };
    Ok(step.with(&figures))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Workload;

    #[test]
    fn the_record_of_the_trial_can_be_written_wherever_tbe_asks() {
        let (product, schedule) = trial().unwrap();
        for soc in ["Ascend910B2", "Ascend910_9391", "Ascend310B1"] {
            let soc = Soc::find(soc).unwrap();
            let workload = Workload::MatMul(product.clone());
            crate::bank::Writable::of(&workload, &soc).check(&schedule).unwrap_or_else(|e| panic!("{}: {e}", soc.name));
        }
    }
}
