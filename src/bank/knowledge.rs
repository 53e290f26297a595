//! What a record says: a tiling in the fields of the operator that reads it.

use super::unified::{self, Dict, Operator};
use super::{binary, conv2d, conv3d, matmul, quant};
use crate::soc::{Arch, Soc};
use crate::status::{Error, Result};
use crate::tiling::{Platform, conv2d_v2, conv3d_v2, inexpressible, matmul_v3, quant_batch_matmul_v3};
use crate::workload::{Held, Schedule, Workload, check, held};
use serde_json::{Map, Value};

/// `knowledge` as a form understands it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Knowledge {
    /// `MatMulV3`'s tiling.
    Tiling(matmul::Tiling),
    /// `QuantBatchMatmulV3`'s tiling.
    Quant(quant::Tiling),
    /// `Conv2DV2`'s tiling.
    Conv2d(conv2d::Tiling),
    /// The tiling of `Conv3DV2` on 910B.
    Conv3d(conv3d::Tiling),
    /// The fields of an operator of TBE's for its binary kernels.
    Binary(binary::Operator, Map<String, Value>),
    /// The fields of an operator of CANN's whose tiling has no canonical schedule.
    Opaque(Map<String, Value>),
    /// The text of a `knowledge` of the unified bank.
    Unified(Operator, String),
    /// A canonical schedule.
    Schedule(Schedule),
}

/// Why a part does not run a record: the rule that it breaks in one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// CANN stops with an error when it meets it.
    Refused(String),
    /// CANN takes it, and its kernel does not compute the result.
    WouldNotCompute(String),
    /// It breaks a limit of the hardware, or is no tiling of the operator.
    Illegal(String),
    /// Whether it runs is not known.
    NotJudged(String),
}

impl Unfit {
    /// Of an error: what is no rule that the record breaks leaves it unjudged.
    fn of(error: Error, broken: fn(String) -> Unfit) -> Unfit {
        match error {
            Error::IllegalSchedule { rule } => broken(rule),
            other => Unfit::NotJudged(other.to_string()),
        }
    }

    /// The sentence.
    pub fn rule(self) -> String {
        use Unfit::{Illegal, NotJudged, Refused, WouldNotCompute};
        let (Refused(rule) | WouldNotCompute(rule) | Illegal(rule) | NotJudged(rule)) = self;
        rule
    }
}

/// The field under which the text of a unified bank's `knowledge` stands among fields.
pub(super) const TEXT: &str = "text";

impl Knowledge {
    /// The schedule for a workload, where a part runs it. This is the one judgement of a record: banks are looked up,
    /// verified, merged and imported by it.
    pub fn fit(&self, workload: &Workload, soc: &Soc) -> std::result::Result<Schedule, Unfit> {
        if matches!(self, Knowledge::Opaque(_) | Knowledge::Binary(..)) {
            return Err(Unfit::NotJudged("its tiling fields are not decoded".into()));
        }
        // What CANN and its kernels do comes before what the tiling says as a schedule: a repair asks for these two.
        self.check_accepted(workload, soc).map_err(|e| Unfit::of(e, Unfit::Refused))?;
        self.check_computes(workload, soc).map_err(|e| Unfit::of(e, Unfit::WouldNotCompute))?;
        let schedule = self.schedule(workload).map_err(|e| Unfit::of(e, Unfit::Illegal))?;
        check(workload, &schedule, soc).map_err(|e| Unfit::of(e, Unfit::Illegal))?;
        Ok(schedule)
    }

    /// Fails with [`Error::IllegalSchedule`] where CANN would stop with an error when it meets it.
    pub fn check_accepted(&self, workload: &Workload, soc: &Soc) -> Result<()> {
        match (self, workload) {
            (Knowledge::Tiling(tiling), Workload::MatMul(w)) => tiling.check_split(w, soc.ai_core_cnt),
            (Knowledge::Conv2d(tiling), Workload::Conv(w)) => {
                let judged = conv2d_v2::legality::check(tiling, w, &Platform::of(soc));
                judged.map_err(|broken| inexpressible(conv2d_v2::OP_TYPE, broken))
            }
            (Knowledge::Quant(tiling), Workload::MatMul(w)) => {
                let judged = quant_batch_matmul_v3::legality::check(tiling, w, &Platform::of(soc));
                judged.map_err(|broken| inexpressible(quant_batch_matmul_v3::OP_TYPE, broken))
            }
            (Knowledge::Unified(_, text), _) => unified::accepts(&dict(text)?, workload, soc),
            // Of another kind of work: `schedule` refuses it.
            (Knowledge::Tiling(_) | Knowledge::Conv2d(_) | Knowledge::Quant(_), _) => Ok(()),
            // CANN stops at none of these; `check_computes` judges the first.
            (Knowledge::Conv3d(_) | Knowledge::Binary(..) | Knowledge::Opaque(_) | Knowledge::Schedule(_), _) => Ok(()),
        }
    }

    /// Fails with [`Error::IllegalSchedule`], which says the rule in one sentence, for a tiling that CANN takes and
    /// with which its kernel does not compute the result: its operators check little of what a record says.
    pub fn check_computes(&self, workload: &Workload, soc: &Soc) -> Result<()> {
        let platform = Platform::of(soc);
        let broken = match (self, workload) {
            (Knowledge::Tiling(tiling), Workload::MatMul(w)) if matches!(soc.arch, Arch::C220 | Arch::M200) => {
                match matmul_v3::accepts(tiling, w, &platform) {
                    // Too many cores are a limit of the part, as `workload::check` has them.
                    Ok(()) | Err(matmul_v3::Broken::Cores { .. }) => None,
                    Err(broken) => Some(broken.to_string()),
                }
            }
            (Knowledge::Conv3d(tiling), Workload::Conv(w)) if soc.arch == Arch::C220 => {
                conv3d_v2::legality::check(tiling, w, &platform).err().map(|broken| broken.to_string())
            }
            (Knowledge::Unified(operator, _), _) => {
                let schedule = self.schedule(workload)?;
                let overflows = held(workload, &schedule, soc).into_iter().find(|held| held.bytes > held.size);
                let overflows =
                    overflows.map(|Held { buffer, bytes, size }| format!("{buffer} needs {bytes} bytes of {size}"));
                overflows.or_else(|| too_many_blocks(*operator, &schedule, soc))
            }
            // What is known of these, `check_accepted` judges.
            (Knowledge::Tiling(_) | Knowledge::Conv3d(_) | Knowledge::Quant(_) | Knowledge::Conv2d(_), _) => None,
            (Knowledge::Binary(..) | Knowledge::Opaque(_) | Knowledge::Schedule(_), _) => None,
        };
        broken.map_or(Ok(()), |rule| Err(Error::IllegalSchedule { rule }))
    }

    /// The schedule for a workload. Fails with [`Error::IllegalSchedule`] for a tiling without one.
    pub fn schedule(&self, workload: &Workload) -> Result<Schedule> {
        match (self, workload) {
            (Knowledge::Tiling(tiling), Workload::MatMul(w)) => Ok(Schedule::Cube(tiling.narrowed(w).schedule(w)?)),
            (Knowledge::Quant(tiling), Workload::MatMul(w)) => Ok(Schedule::Cube(tiling.schedule(w)?)),
            (Knowledge::Conv2d(tiling), Workload::Conv(w)) => Ok(Schedule::Cube(tiling.schedule(w)?)),
            (Knowledge::Conv3d(tiling), Workload::Conv(w)) => Ok(Schedule::Cube(tiling.schedule(w)?)),
            (Knowledge::Tiling(_) | Knowledge::Quant(_) | Knowledge::Conv2d(_) | Knowledge::Conv3d(_), _) => {
                Err(Error::Workload {
                    workload: workload.to_string(),
                    reason: "the record is one of another kind of work".into(),
                })
            }
            (Knowledge::Unified(_, text), _) => Ok(Schedule::Cube(unified::schedule(&dict(text)?, workload)?)),
            (Knowledge::Opaque(_) | Knowledge::Binary(..), _) => {
                Err(Error::IllegalSchedule { rule: "bank record: its tiling fields are not decoded".into() })
            }
            (Knowledge::Schedule(schedule), _) => Ok(schedule.clone()),
        }
    }

    /// What of the record no public file or text proves, by the names of the fields.
    pub const fn unproven(&self) -> &'static [&'static str] {
        match self {
            Knowledge::Unified(operator, _) => operator.unproven(),
            Knowledge::Conv3d(_) => conv3d::UNPROVEN,
            Knowledge::Binary(operator, _) => operator.unproven(),
            Knowledge::Tiling(_) | Knowledge::Quant(_) | Knowledge::Conv2d(_) => &[],
            Knowledge::Opaque(_) | Knowledge::Schedule(_) => &[],
        }
    }

    /// The fields as they stand in a record.
    pub fn to_fields(&self) -> Result<Map<String, Value>> {
        let schedule = match self {
            Knowledge::Tiling(tiling) => return Ok(tiling.to_knowledge()),
            Knowledge::Quant(tiling) => return Ok(tiling.to_knowledge()),
            Knowledge::Conv2d(tiling) => return Ok(tiling.to_knowledge()),
            Knowledge::Conv3d(tiling) => return Ok(tiling.to_knowledge()),
            Knowledge::Unified(_, text) => return Ok(Map::from_iter([(TEXT.to_owned(), text.as_str().into())])),
            Knowledge::Opaque(fields) | Knowledge::Binary(_, fields) => return Ok(fields.clone()),
            Knowledge::Schedule(schedule) => schedule,
        };
        match serde_json::to_value(schedule) {
            Ok(Value::Object(fields)) => Ok(fields),
            other => Err(Error::Internal { place: "bank".into(), message: format!("a schedule became {other:?}") }),
        }
    }
}

/// The rule that more blocks than cores break. What stops TBE's compilation of a product is not known, but its cores
/// wait for each other where they share K, and none that was ever measured has more. Of convolutions
/// [`Knowledge::check_accepted`] judges it.
fn too_many_blocks(operator: Operator, schedule: &Schedule, soc: &Soc) -> Option<String> {
    let Schedule::Cube(cube) = schedule else { return None };
    let (blocks, cores) = (cube.used_cores, soc.ai_core_cnt);
    let asks = operator == Operator::MatMul && u64::from(blocks) > u64::from(cores);
    asks.then(|| format!("block_dim asks for {blocks} cores, the part has {cores}"))
}

/// An object as Python writes it.
fn dict(text: &str) -> Result<Dict> {
    let parsed = unified::Value::parse(text).ok().and_then(|value| value.as_dict().cloned());
    parsed.ok_or_else(|| Error::IllegalSchedule { rule: "unified bank record: its knowledge is no object".into() })
}
