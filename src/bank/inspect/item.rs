//! A recorded thing in this library's terms: work, tiling, time.

use super::describe;
use super::gains::Times;
use super::part::Part;
use crate::bank::form::Form;
use crate::bank::knowledge::{Knowledge, Unfit};
use crate::soc::Soc;
use crate::status::Error;
use crate::workload::{Schedule, Workload, check};
use serde_json::{Map, Value};

/// One recorded thing.
#[derive(Debug, Clone)]
pub struct Item {
    /// Line of the file, counted from 1.
    pub line: usize,
    /// The part it is for, where it or the file's name says so.
    pub part: Option<Part>,
    /// Operator type; the name of the network, for a whole one.
    pub op: String,
    /// What the file keeps it under: id, md5, number of a graph.
    pub id: Value,
    /// Sizes and types in words.
    pub shapes: String,
    /// What is recorded, in words.
    pub tiling: String,
    /// The work; or why it is not known.
    pub workload: Result<Workload, String>,
    /// The tiling for it; or why there is none.
    pub schedule: Result<Schedule, String>,
    /// What it cost: before and after, as a side file has it.
    pub times: Option<Times>,
    /// Microseconds that the file itself states.
    pub cost_us: Option<f64>,
    /// The record, field by field.
    pub fields: Map<String, Value>,
    /// The tiling in CANN's terms, for what CANN asks of it.
    pub(super) knowledge: Option<Knowledge>,
    pub(super) is_network: bool,
    /// Whose terms the record is in, for one of an operator bank.
    pub(super) form: Option<Form>,
}

impl Item {
    /// An item with its words, and nothing known of its place, its part and its times.
    pub(super) fn new(
        op: String,
        id: Value,
        workload: Result<Workload, String>,
        schedule: Result<Schedule, String>,
        fields: Map<String, Value>,
    ) -> Item {
        let (shapes, tiling) = words(&workload, &schedule);
        Item {
            line: 0,
            part: None,
            op,
            id,
            shapes,
            tiling,
            workload,
            schedule,
            times: None,
            cost_us: None,
            fields,
            knowledge: None,
            is_network: false,
            form: None,
        }
    }

    /// Whether it is of a whole network, not of one operator.
    pub fn is_network(&self) -> bool {
        self.is_network
    }

    /// Whether it is for a question that TBE asks the unified bank on a SoC.
    pub(super) fn is_of_unified(&self, soc: &Soc) -> bool {
        self.workload.as_ref().is_ok_and(|workload| matches!(Form::of(workload, soc), Form::Unified(_)))
    }

    /// Why its part does not run it; `None` for what runs.
    pub(super) fn unfit(&self, soc: &Soc) -> Option<Unfit> {
        self.fit(soc).err()
    }

    fn fit(&self, soc: &Soc) -> Result<Schedule, Unfit> {
        let workload = self.workload.as_ref().map_err(|why| Unfit::NotJudged(why.clone()))?;
        if let Some(knowledge) = &self.knowledge {
            return knowledge.fit(workload, soc);
        }
        let schedule = self.schedule.as_ref().map_err(|why| Unfit::NotJudged(why.clone()))?;
        check(workload, schedule, soc).map_err(|e| Unfit::Illegal(rule(e)))?;
        Ok(schedule.clone())
    }

    /// The tiling, where CANN would run it on a SoC and the hardware can; else the broken rule.
    pub fn legal_schedule(&self, soc: &Soc) -> Result<Schedule, String> {
        self.fit(soc).map_err(Unfit::rule)
    }
}

/// The rule that a schedule breaks.
pub(in crate::bank) fn rule(error: Error) -> String {
    match error {
        Error::IllegalSchedule { rule } => rule,
        other => other.to_string(),
    }
}

/// Words for what has, and what lacks, a schedule.
fn words(workload: &Result<Workload, String>, schedule: &Result<Schedule, String>) -> (String, String) {
    let lacking = |why: &String| format!("({why})");
    (workload.as_ref().map_or_else(lacking, describe::shapes), schedule.as_ref().map_or_else(lacking, describe::tiling))
}
