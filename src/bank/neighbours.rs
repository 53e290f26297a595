//! Records of near workloads: the same operator, types, formats and flags, other extents.
//!
//! A key is taken apart into what must be equal and the numbers that may differ. The distance of two
//! workloads is the sum of the logarithms of their ratios.

use super::form::Form;
use super::key::Key;
use super::knowledge::Knowledge;
use super::{conv2d, conv3d, json, matmul, unified};
use crate::soc::Soc;
use crate::status::Result;
use crate::workload::{MatMul, Schedule, Workload};
use rustc_hash::FxHashMap;
use serde_json::Value;

/// Ratio of an extent beyond which two workloads are not near: what suits one says little of the other.
const FARTHEST: f64 = 8.0;

/// Where a workload lies among those of its operator.
#[derive(Debug)]
struct Place {
    /// Everything but the extents, as bytes.
    kind: Vec<u8>,
    /// The extents, in an order that the kind fixes.
    extents: Vec<u64>,
}

/// A record as a neighbour.
#[derive(Debug)]
struct Neighbour {
    extents: Vec<u64>,
    key: Key,
    knowledge: Knowledge,
}

/// The records of one operator type, by what must be equal.
#[derive(Debug, Default)]
pub struct Index(FxHashMap<Vec<u8>, Vec<Neighbour>>);

impl Index {
    /// Takes in records, each key once.
    pub fn new<'a>(form: Form, records: impl Iterator<Item = (&'a Key, &'a Knowledge)>) -> Index {
        let mut index = Index::default();
        for (key, knowledge) in records {
            if let Some(Place { kind, extents }) = place(form, key) {
                let neighbour = Neighbour { extents, key: key.clone(), knowledge: knowledge.clone() };
                index.0.entry(kind).or_default().push(neighbour);
            }
        }
        index
    }

    /// The tilings of the workloads nearest to one, nearest first, as they are for those workloads. The
    /// workload's own record is none of them, nor one that does not compute what it is for.
    pub fn nearest(&self, form: Form, workload: &Workload, key: &Key, soc: &Soc, count: usize) -> Vec<Schedule> {
        let Some(here) = place(form, key) else { return Vec::new() };
        let Some(kin) = self.0.get(&here.kind) else { return Vec::new() };
        let others = kin.iter().filter(|other| other.key != *key);
        let mut near: Vec<(f64, &Neighbour)> =
            others.filter_map(|other| Some((distance(&here.extents, &other.extents)?, other))).collect();
        near.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.key.cmp(&b.1.key)));
        // A record that says no schedule makes way for the next.
        near.into_iter().filter_map(|(_, other)| other.schedule(workload, soc).ok()).take(count).collect()
    }
}

impl Neighbour {
    /// The schedule for the neighbour itself, which is like `workload` but for its extents.
    fn schedule(&self, workload: &Workload, soc: &Soc) -> Result<Schedule> {
        let own = match (workload, &self.knowledge, &self.extents[..]) {
            (Workload::MatMul(w), Knowledge::Tiling(_) | Knowledge::Quant(_), &[m, k, n]) => {
                Some(Workload::MatMul(MatMul { m, k, n, ..w.clone() }))
            }
            (Workload::Conv(w), Knowledge::Conv2d(_), extents) => conv2d::of_extents(w, extents).map(Workload::Conv),
            (Workload::Conv(w), Knowledge::Conv3d(_), extents) => conv3d::of_extents(w, extents).map(Workload::Conv),
            // Such a key is the text that says the work.
            (_, Knowledge::Unified(..), _) => self.asked(),
            _ => None,
        };
        let own = own.as_ref().unwrap_or(workload);
        self.knowledge.check_computes(own, soc)?;
        self.knowledge.schedule(own)
    }
}

impl Neighbour {
    /// The work that the key of a unified bank's record asks for.
    fn asked(&self) -> Option<Workload> {
        let text = std::str::from_utf8(self.key.bytes()).ok()?;
        unified::workload(unified::Value::parse(text).ok()?.as_dict()?).ok()
    }
}

fn place(form: Form, key: &Key) -> Option<Place> {
    match form {
        Form::Runtime(layout) => {
            let names: &[&str] = match layout.op_type() {
                conv2d::OP_TYPE => &conv2d::EXTENTS,
                conv3d::OP_TYPE => &conv3d::EXTENTS,
                _ => {
                    let (kind, extents) = matmul::split_key(layout, key.bytes())?;
                    return Some(Place { kind, extents: extents.to_vec() });
                }
            };
            let kind = layout.without(key.bytes(), names.iter().copied())?;
            let extent = |name: &&str| layout.field(name)?.read(key.bytes())?.as_u64();
            Some(Place { kind, extents: names.iter().map(extent).collect::<Option<_>>()? })
        }
        Form::Unknown => None,
        Form::Canonical | Form::Unified(_) => {
            let mut info: Value = serde_json::from_slice(key.bytes()).ok()?;
            let mut extents = Vec::new();
            take_numbers(&mut info, &mut extents);
            Some(Place { kind: json::to_sorted_text(&info).into_bytes(), extents })
        }
    }
}

/// Moves all numbers out of a value, in the order of its sorted text.
fn take_numbers(value: &mut Value, numbers: &mut Vec<u64>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| take_numbers(item, numbers)),
        Value::Object(fields) => {
            // The order of the map depends on how serde_json was built.
            let mut fields: Vec<_> = fields.iter_mut().collect();
            fields.sort_unstable_by(|a, b| a.0.cmp(b.0));
            for (_, field) in fields {
                take_numbers(field, numbers);
            }
        }
        Value::Number(number) => {
            if let Some(extent) = number.as_u64() {
                numbers.push(extent);
                *value = Value::Null;
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Sum of the logarithmic ratios; `None` where one is beyond [`FARTHEST`]. One is added to each extent, so
/// that a pad of zero has a logarithm; it changes no extent that matters.
fn distance(here: &[u64], there: &[u64]) -> Option<f64> {
    let mut sum = 0.0;
    for (&a, &b) in here.iter().zip(there) {
        let ratio = ((a as f64 + 1.0) / (b as f64 + 1.0)).ln().abs();
        if ratio > FARTHEST.ln() {
            return None;
        }
        sum += ratio;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::{FARTHEST, distance};

    #[test]
    fn extents_of_zero_are_near_each_other_and_either_may_be_the_larger() {
        assert_eq!(distance(&[0, 8], &[0, 8]), Some(0.0));
        let near = distance(&[0, 8], &[1, 8]).unwrap();
        assert!((near - 2f64.ln()).abs() < 1e-12, "{near}");
        assert_eq!(distance(&[1, 8], &[0, 8]), Some(near));
        let both = distance(&[0, 7], &[1, 3]).unwrap();
        assert!((both - 4f64.ln()).abs() < 1e-12, "{both}");
        let (near, far) = (FARTHEST as u64 - 2, FARTHEST as u64);
        assert!(distance(&[0], &[near]).is_some() && distance(&[near], &[0]).is_some());
        assert_eq!((distance(&[0], &[far]), distance(&[far], &[0])), (None, None));
    }
}
