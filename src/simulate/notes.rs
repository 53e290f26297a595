//! What an answer says beside its time: where the model stands in for a kernel that is not known.

use crate::graph::{DataType, op};
use crate::soc::{Arch, Soc};
use crate::workload::{ConvKind, Workload};

/// What an answer says of an operator that no list has, whose name has the words of some that are known.
pub(super) fn name(op: &str) -> Option<String> {
    let is_listed = op::prototype::prototype(op).is_some() || op::family(op).is_some() || op.starts_with("FusionOp_");
    (!is_listed).then(|| format!("no list of CANN's operators has {op}: it is priced by the words of its name"))
}

/// What an answer of cube work says where the part multiplies no such numbers, though operators take them.
pub(super) fn types(workload: &Workload, soc: &Soc) -> Option<String> {
    let rounded = workload.dtype() == Some(DataType::Float) && matches!(soc.arch, Arch::C100 | Arch::M200);
    (rounded && workload.is_cube()).then(|| {
        let part = &soc.name;
        format!(
            "the cube of {part} multiplies no float32, and CANN rounds to fp16 first: the time is that of a later cube"
        )
    })
}

/// Most steps and taps of a window that the cube's loads of images have, by axis (facts: `ascend-hardware.md`).
const MOST_STRIDE: u64 = 63;
const MOST_DILATION: u64 = 255;
const MOST_PADDING: u64 = 255;
const MOST_TAPS: u64 = 511;

/// What an answer of a convolution says whose window is beyond what the loads of images have.
pub(super) fn window(workload: &Workload) -> Option<String> {
    let parts = if let Workload::Fused(parts) = workload { parts } else { std::slice::from_ref(workload) };
    let conv = parts.iter().find_map(|part| match part {
        Workload::Conv(conv) if conv.kind == ConvKind::Forward => Some(conv),
        _ => None,
    })?;
    let limits = [
        ("stride", conv.stride.as_slice(), MOST_STRIDE),
        ("dilation", &conv.dilation, MOST_DILATION),
        ("padding", &conv.pads, MOST_PADDING),
        ("kernel", &[conv.kh, conv.kw], MOST_TAPS),
    ];
    let beyond = limits.iter().find_map(|(name, sizes, most)| {
        let size = sizes.iter().find(|size| *size > most)?;
        Some(format!("a {name} of {size} is more than the {most}"))
    })?;
    Some(format!("{beyond} that the cube's loads of images have: CANN refuses it or runs another kernel than this one"))
}

#[cfg(test)]
mod tests {
    use super::super::{Parts, answer};
    use serde_json::{Value, json};

    #[test]
    fn windows_beyond_what_images_are_loaded_by_are_told() {
        let note = |kernel: u64, stride: u64| {
            let rows = (2048 - kernel) / stride + 1;
            let case = json!({"op": "Conv2D", "soc": "Ascend910B2", "attrs": {"strides": [1, 1, stride, stride], "pads": [0, 0, 0, 0]},
                "inputs": [{"shape": [1, 16, 2048, 2048], "dtype": "float16", "format": "NCHW"},
                    {"shape": [16, 16, kernel, kernel], "dtype": "float16", "format": "NCHW"}],
                "outputs": [{"shape": [1, 16, rows, rows], "dtype": "float16", "format": "NCHW"}]});
            let mut parts = Parts::new(None, Vec::new(), None).unwrap();
            let answer: Value = serde_json::from_str(&answer(&case.to_string(), &mut parts)).unwrap();
            assert!(answer["time_us"].is_number(), "{answer}");
            answer["note"].as_str().unwrap_or("").to_owned()
        };
        assert!(note(64, 64).contains("a stride of 64 is more than the 63"), "{}", note(64, 64));
        assert!(note(512, 32).contains("a kernel of 512 is more than the 511"), "{}", note(512, 32));
        assert!(!note(511, 63).contains("more than the"), "{}", note(511, 63));
    }
}
