//! One record in the terms of another form, and what that form cannot say of it.

use super::item::Item;
use super::record::{COST_FIELD, PART_FIELD};
use crate::bank::form::Form;
use crate::bank::key::Key;
use crate::bank::knowledge::{Knowledge, Unfit};
use crate::bank::measurement::Stamp;
use crate::bank::side::{Side, soc_digest};
use crate::bank::{Measured, json, unified};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::{CubeSchedule, L2Tiling, LoopOrder, Schedule, Workload, canonical_json};
use serde_json::{Map, Value};

/// A form to convert to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// CANN's runtime bank.
    Runtime,
    /// CANN's older unified bank.
    Unified,
    /// Our own: canonical workload and schedule, with the part and the time beside them.
    Canonical,
}

impl Target {
    /// Every form, by the name that `--to` takes.
    pub const NAMES: [(&'static str, Target); 3] =
        [("runtime", Target::Runtime), ("unified", Target::Unified), ("canonical", Target::Canonical)];

    /// The form of this name.
    pub fn named(name: &str) -> Option<Target> {
        Target::NAMES.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
    }
}

/// A record in another form.
#[derive(Debug, Clone)]
pub struct Converted {
    /// Operator type in that form.
    pub op: String,
    /// What it says there.
    pub content: Content,
    /// What could not be carried over, each with its field.
    pub lost: Vec<String>,
}

/// What a converted record consists of.
#[derive(Debug, Clone)]
pub enum Content {
    /// The fields of a line.
    Record {
        /// Whose terms they are in.
        form: Form,
        /// The five fields and, in our own form, what stands beside them.
        fields: Map<String, Value>,
        /// What the side file keeps of it, where its times are known.
        side: Option<Vec<u8>>,
    },
    /// An element of the unified bank.
    Element {
        /// What it is for.
        info: unified::Dict,
        /// What it says.
        knowledge: unified::Dict,
        /// Microseconds.
        cost_us: f64,
    },
}

/// Converts a record; the error says why it cannot stand in that form at all.
pub fn convert(item: &Item, target: Target, soc: &Soc) -> Result<Converted, String> {
    let workload = item.workload.clone()?;
    let schedule = item.schedule.clone().map_err(|why| format!("its tiling has no canonical schedule: {why}"))?;
    let mut lost = item.unexplained(&workload, &schedule);
    let cost_us = item.times.as_ref().map(|times| times.after_us).or(item.cost_us);
    let (op, content) = match target {
        Target::Runtime => {
            let form = Form::of(&workload, soc);
            if form == Form::Canonical {
                return Err(format!("CANN's operator makes no bank query for it: {workload}"));
            }
            let content = match item.as_it_stands(form, &workload, soc)? {
                Some(line) => {
                    lost = item.beside();
                    line.content(form, item, &workload, soc)?
                }
                None => record(form, item, &workload, &schedule, soc, &mut lost)?,
            };
            if item.times.is_none() && item.cost_us.is_some() {
                lost.push(format!(
                    "{COST_FIELD}: this form has no time, and CANN's own is not known for the side file"
                ));
            }
            (form.op_type(&workload).to_owned(), content)
        }
        Target::Canonical => {
            let Content::Record { form, mut fields, side } =
                record(Form::Canonical, item, &workload, &schedule, soc, &mut lost)?
            else {
                return Err("it is no record".into());
            };
            fields.extend(item.part.as_ref().map(|part| (PART_FIELD.to_owned(), part.to_string().into())));
            fields.extend(cost_us.map(|us| (COST_FIELD.to_owned(), us.into())));
            fields.insert("op".into(), workload.op_type().into());
            (workload.op_type().to_owned(), Content::Record { form, fields, side })
        }
        Target::Unified => (
            unified_op(&workload)?,
            element(
                &workload,
                &schedule,
                cost_us.ok_or("it has no time, and a record of the unified bank states one")?,
                &mut lost,
            )?,
        ),
    };
    lost.sort();
    lost.dedup();
    Ok(Converted { op, content, lost })
}

/// What a line of JSON records says.
struct Line {
    key: Key,
    info: Value,
    /// As the form understands it.
    knowledge: Knowledge,
    /// The fields of it.
    fields: Map<String, Value>,
}

impl Line {
    /// The line with what the side file keeps of it.
    fn content(self, form: Form, item: &Item, workload: &Workload, soc: &Soc) -> Result<Content, String> {
        let side = item.times.as_ref().map(|times| {
            let soc_fields = if times.soc_fields == 0 { soc_digest(soc) } else { times.soc_fields };
            let stamp = Stamp { soc: times.soc.clone(), soc_fields, date: times.date.clone() };
            let measured = Measured {
                before_us: times.before_us,
                after_us: times.after_us,
                backend: times.backend.clone(),
                space: times.space,
                default: times.default,
            };
            let mut side = Side::default();
            side.insert(stamp.measurement(&self.key, &self.knowledge, &measured));
            side.render()
        });
        let mut fields = Map::new();
        fields.insert("id".into(), self.key.id().into());
        fields.insert("info_dict".into(), self.info);
        fields.insert("knowledge".into(), self.fields.into());
        fields.insert("op".into(), form.op_type(workload).into());
        fields.insert("version".into(), 0.into());
        Ok(Content::Record { form, fields, side: side.transpose().map_err(|e| e.to_string())? })
    }
}

/// A line of JSON records, made of the work and its schedule.
fn record(
    form: Form,
    item: &Item,
    workload: &Workload,
    schedule: &Schedule,
    soc: &Soc,
    lost: &mut Vec<String>,
) -> Result<Content, String> {
    let text = |e: Error| e.to_string();
    let (key, info) = (form.key_of(workload).map_err(text)?, form.info_dict(workload));
    let knowledge = form.record_of(schedule, workload, soc).map_err(text)?;
    let back = knowledge.schedule(workload).map_err(text)?;
    note_differences("schedule", schedule_fields(schedule), schedule_fields(&back), lost);
    if let Ok(back) = super::work::workload(form, form.op_type(workload), info.as_object().unwrap_or(&Map::new())) {
        note_differences("workload", canonical_json(workload), canonical_json(&back), lost);
    }
    let fields = knowledge.to_fields().map_err(text)?;
    Line { key, info, knowledge, fields }.content(form, item, workload, soc)
}

/// The operator in the unified bank's terms.
fn unified_op(workload: &Workload) -> Result<String, String> {
    let info = unified::info_dict(workload).map_err(|e| e.to_string())?;
    Ok(unified::op_type(&info).unwrap_or("matmul").to_owned())
}

/// An element of the unified bank.
fn element(workload: &Workload, schedule: &Schedule, cost_us: f64, lost: &mut Vec<String>) -> Result<Content, String> {
    let Schedule::Cube(cube) = schedule else {
        return Err(format!("only products and convolutions are understood in the unified bank, not {workload}"));
    };
    let text = |e: Error| e.to_string();
    let info = unified::info_dict(workload).map_err(text)?;
    // What TBE has no field for is left out, so that the rest can be said.
    let plain = CubeSchedule { order: LoopOrder::default(), l2: L2Tiling::default(), ..cube.clone() };
    let knowledge = unified::knowledge(cube, workload, None).or_else(|_| unified::knowledge(&plain, workload, None));
    let knowledge = knowledge.map_err(text)?;
    let back = unified::workload(&info).and_then(|w| Ok((unified::schedule(&knowledge, &w)?, w)));
    let (cube_back, workload_back) = back.map_err(text)?;
    note_differences("schedule", schedule_fields(schedule), schedule_fields(&Schedule::Cube(cube_back)), lost);
    note_differences("workload", canonical_json(workload), canonical_json(&workload_back), lost);
    Ok(Content::Element { info, knowledge, cost_us })
}

fn schedule_fields(schedule: &Schedule) -> Value {
    serde_json::to_value(schedule).unwrap_or_default()
}

/// Notes the fields that the other form says differently.
fn note_differences(prefix: &str, ours: Value, theirs: Value, lost: &mut Vec<String>) {
    let (Value::Object(ours), Value::Object(theirs)) = (ours, theirs) else { return };
    for (name, value) in &ours {
        let other = theirs.get(name).unwrap_or(&Value::Null);
        if value != other {
            lost.push(format!(
                "{prefix}.{name}: {} becomes {}",
                json::cut(&value.to_string()),
                json::cut(&other.to_string())
            ));
        }
    }
}

impl Item {
    /// The record of a CANN bank as it stands, where it goes into a bank of the same form: a schedule does not hold
    /// all that a tiling of CANN's says, and made of one, a record that CANN ships can come out as another. Fails with
    /// the rule for one that would not run on the part.
    fn as_it_stands(&self, form: Form, workload: &Workload, soc: &Soc) -> Result<Option<Line>, String> {
        let (Form::Runtime(_), Some(own), Some(knowledge)) = (form, self.form, &self.knowledge) else {
            return Ok(None);
        };
        let fields = |name: &str| self.fields.get(name).and_then(Value::as_object);
        let (Some(info), Some(fields)) = (fields("info_dict"), fields("knowledge")) else { return Ok(None) };
        if own != form {
            return Ok(None);
        }
        knowledge.fit(workload, soc).map_err(Unfit::rule)?;
        let info = Value::Object(info.clone());
        let key = form.key(&info).map_err(|why| why.to_string())?;
        Ok(Some(Line { key, info, knowledge: knowledge.clone(), fields: fields.clone() }))
    }

    /// What stands beside the five fields of a record and is not one of ours.
    fn beside(&self) -> Vec<String> {
        let known = ["stored_id", "info_dict", "knowledge", PART_FIELD, COST_FIELD];
        let others = self.fields.iter().filter(|(name, _)| !known.contains(&name.as_str()));
        others.map(|(name, value)| format!("{name}: {}", json::cut(&value.to_string()))).collect()
    }

    /// The fields of the record that its workload and schedule do not explain: what another form cannot be
    /// told of it.
    fn unexplained(&self, workload: &Workload, schedule: &Schedule) -> Vec<String> {
        let Some(form) = self.form else { return self.unread() };
        let mut lost = Vec::new();
        let made = form.info_dict(workload);
        let knowledge = form.knowledge_of(schedule, workload).and_then(|knowledge| knowledge.to_fields());
        for (name, made) in [("info_dict", Some(made)), ("knowledge", knowledge.ok().map(Value::Object))] {
            let (Some(Value::Object(made)), Some(Value::Object(own))) = (made, self.fields.get(name)) else { continue };
            for (field, value) in own {
                match made.get(field) {
                    Some(same)
                        if same == value
                            || json::integer(same) == json::integer(value) && json::integer(value).is_some() => {}
                    _ => lost.push(format!("{name}.{field}: {}", json::cut(&value.to_string()))),
                }
            }
        }
        lost.extend(self.beside());
        lost
    }

    /// The fields of an older form that no other knows.
    fn unread(&self) -> Vec<String> {
        let none = Map::new();
        let fields = |name: &str| self.fields.get(name).and_then(Value::as_object).unwrap_or(&none);
        let plain = self.workload.as_ref().ok().and_then(|workload| match workload {
            Workload::MatMul(_) | Workload::Conv(_) => unified::info_dict(workload).ok(),
            _ => None,
        });
        let cube = match (&self.workload, &self.schedule) {
            (Ok(workload), Ok(Schedule::Cube(cube))) => unified::knowledge(cube, workload, None).ok(),
            _ => None,
        };
        let mut lost = Vec::new();
        let info = if self.fields.contains_key("shape") { "shape" } else { "info_dict" };
        for (name, made) in [(info, plain), ("knowledge", cube)] {
            for (field, value) in fields(name) {
                let same = made.as_ref().and_then(|made| made.get(field)).map(unified::Value::dumps);
                let same: Option<Value> = same.and_then(|text| serde_json::from_str(&text).ok());
                if same.as_ref() != Some(value) {
                    lost.push(format!("{name}.{field}: {}", json::cut(&value.to_string())));
                }
            }
        }
        lost
    }
}
