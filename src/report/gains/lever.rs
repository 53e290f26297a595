//! What would have CANN run what was found.

use crate::tune::{BankStatus, CaseOutcome};
use crate::workload::{MatMulKernel, Workload};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What would reach a gain that CANN does not take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lever {
    /// `another operator`, `a fusion`, `a shape`, `a custom kernel` or `a measurement`.
    pub kind: Cow<'static, str>,
    /// What to do.
    pub what: String,
}

fn lever(kind: &'static str, what: impl Into<String>) -> Lever {
    Lever { kind: kind.into(), what: what.into() }
}

impl Lever {
    /// The lever of an operator for which something was found that CANN does not run; `None` where it runs it.
    pub fn of(case: &CaseOutcome) -> Option<Lever> {
        let is_unsure = case.unsure.is_some() && !case.is_recorded();
        if case.reader.is_cann() {
            return is_unsure.then(|| lever("a measurement", deciding(case)));
        }
        if !is_unsure && !case.is_recorded() {
            return None;
        }
        Some(match &case.workload {
            Workload::Fused(parts) if parts.iter().any(Workload::is_cube) => lever(
                "a fusion",
                "CANN reads no record of this fused operator: with the fusion off (--fusion_switch_file) it may read one \
                 of its product; `aoe kernels` says what the kernels apart take",
            ),
            Workload::MatMul(w) if w.batch > 1 && w.kernel == MatMulKernel::AscendC => lever(
                "a shape",
                "fold the batch into the rows where all of it shares the right operand: a product without a batch asks \
                 the bank",
            ),
            cube if cube.is_cube() => lever(
                "another operator",
                "no public form of a record says this operator: one that `aoe kernels` lists with a bank does",
            ),
            _ => lever(
                "a custom kernel",
                "no operator of CANN's asks a bank for this: a kernel of your own (Ascend C, Triton) can use the tiling \
                 of the report",
            ),
        })
    }

    /// The lever of subgraphs.
    pub fn of_subgraph() -> Lever {
        Lever {
            kind: "a fusion".into(),
            what: "CANN's graph compiler reads strategies under numbers of its own only: a fused kernel of your own, or a \
                   fusion pass, would do the same"
                .into(),
        }
    }
}

/// What would decide whether a gain is one.
pub fn deciding(case: &CaseOutcome) -> String {
    let alone = if case.measured_alone { ", or tune it on the device with --backend=ascend" } else { "" };
    if case.status == BankStatus::ToMeasure {
        format!("run the network with its record, which lies in the bank to measure, and without{alone}")
    } else if case.banked.is_some() && case.status == BankStatus::NotSure {
        "profile a run of the network with your bank and one without: `aoe compare` of the two decides".into()
    } else if !case.is_simulated() {
        "more rounds of both by turns, on a device that nobody else uses".into()
    } else if case.measured_alone {
        "time CANN's default and this tiling by turns on the device: tune it there with --backend=ascend".into()
    } else if case.reader.is_cann() {
        "a profile of the network narrows the prediction (`aoe calibrate`): no device times its tilings alone".into()
    } else {
        "time a kernel of your own that uses the tiling of the report: CANN reads none for this operator".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bank::RecordReader;
    use crate::report::tests::case;

    #[test]
    fn what_would_decide_can_be_done_with_the_operator() {
        let decided = |measured_alone, reader, status: BankStatus| {
            deciding(&CaseOutcome { reader, measured_alone, ..case(1, &["op"], 10.0, 9.0, status) })
        };
        let is_on_device = |text: &str| text.contains("--backend=ascend");
        for status in [BankStatus::NotSure, BankStatus::ToMeasure] {
            assert!(is_on_device(&decided(true, RecordReader::RuntimeBank, status.clone())));
            assert!(!is_on_device(&decided(false, RecordReader::UnifiedBank, status)));
        }
        assert!(decided(false, RecordReader::UnifiedBank, BankStatus::ToMeasure).contains("with its record"));
        assert!(decided(false, RecordReader::UnifiedBank, BankStatus::NotSure).contains("aoe calibrate"));
        assert!(decided(false, RecordReader::OwnForm, BankStatus::NotSure).contains("CANN reads none"));
    }
}
