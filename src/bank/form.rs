//! The forms of operator records: CANN's, one for each operator that queries its bank, and ours for
//! everything else.
//!
//! All are JSON lines with the same five fields; they differ in what `info_dict` and `knowledge` hold
//! and in the file's name, so that CANN never opens a file of ours.

mod knowledge;
mod writable;

pub use writable::Writable;

use super::key::{Key, Unusable};
use super::layout::Layout;
use super::names::{LONGEST_OP_TYPE, file_safe, soc_name};
use super::unified::{self, Operator};
use super::{binary, conv2d, conv3d, hash, json, matmul, quant};
use crate::soc::{Arch, Soc};
use crate::status::{Error, Result};
use crate::workload::{MatMulKernel, Workload, canonical_json};
use serde_json::Value;

/// Which form a bank file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// CANN's runtime bank of an operator whose key structure is known.
    Runtime(&'static Layout),
    /// CANN's runtime bank of any other operator: its records are kept and none is used.
    Unknown,
    /// CANN's unified bank, which TBE's cube operators ask: one object in a file, keyed by the text of `info_dict`.
    Unified(Operator),
    /// Our form: canonical workload and canonical schedule.
    Canonical,
}

/// Whose tiling fields the knowledge of a runtime bank holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Terms {
    /// `MatMulV3`'s.
    MatMul,
    /// `QuantBatchMatmulV3`'s.
    Quant,
    /// `Conv2DV2`'s.
    Conv2d,
    /// Those of `Conv3DV2` on 910B.
    Conv3d,
    /// Those of an operator that are not decoded.
    Opaque,
}

impl Terms {
    fn of(layout: &Layout) -> Terms {
        match layout.op_type() {
            "MatMulV3" | "Mc2MatMulV3" => Terms::MatMul,
            "QuantBatchMatmulV3" | "Mc2QuantBatchMatmulV3" => Terms::Quant,
            "Conv2DV2" => Terms::Conv2d,
            conv3d::OP_TYPE => Terms::Conv3d,
            _ => Terms::Opaque,
        }
    }
}

impl Form {
    /// The form that holds the records of a workload on a SoC: CANN's where its operator on such a part asks
    /// the bank for it and what its kernels do with a tiling is known, else ours.
    ///
    /// `MatMulV3` asks on 910B, 910C and 310P (on 950 its other implementation does not), quantised products
    /// on 310P, `Conv2DV2` on 950, `Conv3DV2` on 910B and 910C. What TBE compiles asks the unified bank on 910B, 910C and 310B.
    pub fn of(workload: &Workload, soc: &Soc) -> Form {
        if let Some(operator) = Operator::of(workload, soc) {
            return Form::Unified(operator);
        }
        let op_type = match (workload, soc.arch) {
            (Workload::MatMul(w), Arch::C220 | Arch::M200)
                if w.kernel == MatMulKernel::AscendC && matmul::has_key(w) =>
            {
                matmul::OP_TYPE
            }
            (Workload::MatMul(w), Arch::M200)
                if !matches!(w.kernel, MatMulKernel::QuantV4 | MatMulKernel::Grouped | MatMulKernel::Fused)
                    && quant::has_key(w) =>
            {
                quant::OP_TYPE
            }
            (Workload::Conv(w), Arch::C310) if conv2d::has_key(w) => conv2d::OP_TYPE,
            (Workload::Conv(w), Arch::C220) if conv3d::not_expressible(w).is_none() => conv3d::OP_TYPE,
            _ => return Form::Canonical,
        };
        Form::runtime(op_type)
    }

    /// Why what is recorded of cube work on a SoC stands in our own form, which CANN does not read; `None` where it
    /// reads it, and for work whose operators ask no bank.
    pub fn why_own(workload: &Workload, soc: &Soc) -> Option<String> {
        if Form::of(workload, soc) != Form::Canonical || !workload.is_cube() {
            return None;
        }
        let no_bank = || format!("`{}` asks no bank on {}", workload.op_type(), soc.name);
        Some(match (workload, soc.arch) {
            (Workload::MatMul(w), Arch::C220 | Arch::M200) if w.kernel == MatMulKernel::AscendC && w.batch > 1 => {
                "CANN's operator takes most fields of a hit from its own rules for batches, so that a record does not \
                 decide its tiling"
                    .into()
            }
            (Workload::Conv(w), Arch::C220) if w.is_volume() => conv3d::not_expressible(w).unwrap_or_else(no_bank),
            (_, Arch::C220 | Arch::M300) => unified::why_not(workload).unwrap_or_else(no_bank),
            _ => no_bank(),
        })
    }

    /// The form of CANN's runtime bank of an operator type.
    pub fn runtime(op_type: &str) -> Form {
        Layout::of(op_type).map_or(Form::Unknown, Form::Runtime)
    }

    /// Operator type of the records of a workload.
    pub fn op_type(self, workload: &Workload) -> &str {
        match self {
            Form::Runtime(layout) => layout.op_type(),
            Form::Unified(operator) => operator.op_type(),
            Form::Unknown | Form::Canonical => workload.op_type(),
        }
    }

    /// Whether records of this version are understood. CANN's are 0 everywhere and CANN does not look;
    /// ours is raised when the canonical workload or schedule changes its meaning.
    pub fn reads_version(self, version: u64) -> bool {
        self != Form::Canonical || version == 0
    }

    /// Name of the bank file of an operator type. Characters that a file name should not hold become
    /// `-` and their hexadecimal code; a very long type is cut and told apart by its digest.
    pub fn file_name(self, op_type: &str, soc: &Soc) -> String {
        if let Form::Unified(operator) = self {
            return unified::file_name(operator.op_type(), soc);
        }
        let mut op = file_safe(op_type, b"_");
        if op.len() > LONGEST_OP_TYPE {
            op.truncate(LONGEST_OP_TYPE);
            op = format!("{op}-{:016x}", hash::digest(op_type.as_bytes()));
        }
        let form = match self {
            Form::Runtime(_) | Form::Unknown => "runtime_kb",
            Form::Canonical | Form::Unified(_) => "aoe_kb",
        };
        format!("{}_{}_AiCore_{op}_{form}.json", soc_name(soc), soc.ai_core_cnt)
    }

    /// The `info_dict` of a workload, the likeliest of [`Form::info_dicts`].
    pub fn info_dict(self, workload: &Workload) -> Value {
        self.info_dicts(workload).into_iter().next().unwrap_or_else(|| canonical_json(workload))
    }

    /// Every `info_dict` that a workload may be asked for under, the likeliest first: more than one where a field of it
    /// is not public. Those of the unified bank are texts, over which its keys are summed.
    pub fn info_dicts(self, workload: &Workload) -> Vec<Value> {
        if let Form::Unified(_) = self {
            let texts = unified::info_dicts(workload).unwrap_or_default();
            return texts.iter().map(|info| Value::from(info.dumps())).collect();
        }
        let terms = if let Form::Runtime(layout) = self { Terms::of(layout) } else { Terms::Opaque };
        let one = match (terms, workload) {
            (Terms::MatMul, Workload::MatMul(w)) => Value::Object(matmul::info_dict(w)),
            (Terms::Quant, Workload::MatMul(w)) => Value::Object(quant::info_dict(w)),
            (Terms::Conv2d, Workload::Conv(w)) => Value::Object(conv2d::info_dict(w)),
            (Terms::Conv3d, Workload::Conv(w)) => {
                return conv3d::info_dicts(w).into_iter().map(Value::Object).collect();
            }
            (Terms::MatMul | Terms::Quant | Terms::Conv2d | Terms::Conv3d | Terms::Opaque, _) => self
                .binary()
                .and_then(|operator| operator.info_dict(workload))
                .map_or_else(|| canonical_json(workload), Value::Object),
        };
        vec![one]
    }

    /// The operator whose binary kernels these records would be for.
    fn binary(self) -> Option<binary::Operator> {
        match self {
            Form::Runtime(layout) => binary::Operator::find(layout.op_type()),
            _ => None,
        }
    }

    /// The key of an `info_dict`.
    pub fn key(self, info: &Value) -> Result<Key, Unusable> {
        if let Form::Unified(_) = self {
            let text = info.as_str().ok_or_else(|| Unusable::Foreign("it is no question of TBE's".into()))?;
            return Ok(Key::new(text.as_bytes().to_vec()));
        }
        let fields = json::object(info, "info_dict").map_err(Unusable::Damaged)?;
        match self {
            Form::Runtime(layout) => layout.pack(fields),
            Form::Unknown => Err(Unusable::Foreign("the key structure of this operator is not known".into())),
            Form::Canonical | Form::Unified(_) => Ok(Key::new(json::to_sorted_text(info).into_bytes())),
        }
    }

    /// The keys of [`Form::info_dicts`]; all hold the same.
    pub fn keys_of(self, workload: &Workload) -> Result<Vec<Key>> {
        let infos = self.info_dicts(workload);
        if infos.is_empty() {
            return Ok(vec![self.key_of(workload)?]);
        }
        infos.iter().map(|info| self.key(info).map_err(|why| no_key(workload, &why))).collect()
    }

    /// The key of a workload.
    pub fn key_of(self, workload: &Workload) -> Result<Key> {
        self.key(&self.info_dict(workload)).map_err(|why| no_key(workload, &why))
    }
}

/// The error for a workload without a key.
fn no_key(workload: &Workload, why: &Unusable) -> Error {
    Error::Workload { workload: workload.to_string(), reason: format!("has no bank key: {why}") }
}
