//! What is closed: the schedule that the search begins with stands in.

use super::{Knowledge, Tiling, check};
use crate::cases::Case;
use crate::soc::Soc;
use crate::space::default_policy;
use crate::status::{Error, Result};
use crate::workload::Workload;
use serde_json::Value;

/// Why an answer is an estimate.
const CLOSED: (&str, &str) = (
    "Closed",
    "CANN's rules for this operator on this part are closed: the knowledge is the schedule that stands in for them.",
);

/// The estimate for a case that has no rules.
pub(super) fn workload(case: &Case, soc: &Soc) -> Result<Tiling> {
    let tiling = of(&case.workload(soc)?, soc)?;
    Ok(Tiling { op: case.op.clone(), ..tiling })
}

/// The estimate for a workload.
pub(super) fn of(workload: &Workload, soc: &Soc) -> Result<Tiling> {
    check(workload, soc)?;
    let internal = |message: String| Error::Internal { place: "defaults".into(), message };
    let schedule = default_policy(workload, soc)?;
    let Value::Object(knowledge) = serde_json::to_value(&schedule).map_err(|e| internal(e.to_string()))? else {
        return Err(internal("a schedule is no object".into()));
    };
    Ok(Tiling {
        op: workload.op_type().to_owned(),
        template: "estimate".to_owned(),
        knowledge: Knowledge::Fields(knowledge),
        nd2nz: None,
        public: false,
        rules: vec![CLOSED],
        note: None,
    })
}
