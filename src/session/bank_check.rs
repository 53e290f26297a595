//! Whether CANN's compiler and operators will find records for a model: `aoe bank check`.

use super::base;
use super::environment::Environment;
use super::kernels::Launched;
use crate::bank::inspect::{Kind, Source, items};
use crate::bank::{BankPaths, Entry, OperatorBank, Reader, RecordReader, Writable};
use crate::status::{Error, Result};
use crate::workload::{Workload, canonical_json};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What CANN finds for one kernel.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum Found {
    /// A record.
    Hit {
        /// The file.
        file: PathBuf,
        /// Whether a record is known to be taken for this key; else the fields that no public text proves.
        unproven: Vec<&'static str>,
    },
    /// None, though its operator asks.
    Miss {
        /// Why not, as far as the bank tells.
        why: String,
    },
    /// Its operator asks no bank.
    NotAsked {
        /// Why not.
        why: String,
    },
}

/// Launches that ask for the same record.
#[derive(Debug, Clone, Serialize)]
pub struct Asked {
    /// Name of the first of them, as CANN makes it.
    pub name: String,
    /// Launches.
    pub count: usize,
    /// The operator type.
    pub op_type: String,
    /// Sizes, types and formats in words.
    pub workload: String,
    /// Predicted microseconds of all of them at CANN's default.
    pub us: f64,
    /// Who would read the record.
    pub reader: RecordReader,
    /// What is found.
    #[serde(flatten)]
    pub found: Found,
}

/// A model beside a bank.
#[derive(Debug, Serialize)]
pub struct BankCheck {
    /// The part.
    pub soc: String,
    /// Where CANN looks, in this order.
    pub places: Vec<PathBuf>,
    /// The kernels, those with the most time first.
    pub kernels: Vec<Asked>,
    /// What was found wrong in the bank's files.
    pub warnings: Vec<String>,
}

impl BankCheck {
    /// Microseconds and kernels of those that were found so.
    pub fn sum(&self, of: impl Fn(&Found) -> bool) -> (f64, usize) {
        let those = self.kernels.iter().filter(|asked| of(&asked.found));
        those.fold((0.0, 0), |(us, count), asked| (us + asked.us, count + asked.count))
    }
}

/// Looks up the record of every kernel that CANN launches for a model.
///
/// `root` is a bank root as `TUNE_BANK_PATH` names one, or a directory with results of a tuning; without it CANN's compiler is followed to where it looks in this
/// environment. Fails as [`Launched::listing`] does, and where a bank file is there and cannot be read.
pub fn check(launched: &Launched, root: Option<&Path>) -> Result<BankCheck> {
    let soc = launched.soc();
    let paths = match root {
        Some(root) if !root.is_dir() => return Err(Error::directory("read", root, "it is no directory")),
        Some(root) => BankPaths::operator_below(&base::root(root), soc),
        None => BankPaths::operator_for(Reader::Compiler, &Environment::read().bank_places(None), soc)?,
    };
    let bank = OperatorBank::open(paths.clone(), soc);
    let mut kernels: Vec<Asked> = Vec::new();
    let mut places: FxHashMap<Workload, usize> = FxHashMap::default();
    let mut missed: BTreeMap<String, Vec<Missed>> = BTreeMap::new();
    for kernel in launched.run()?.kernels {
        let (count, us) = (kernel.launches as usize, kernel.us() * f64::from(kernel.launches));
        let (name, op_type, workload) = (kernel.launched, kernel.op_type, kernel.workload);
        if let Some(&place) = places.get(&workload) {
            kernels[place].count += count;
            kernels[place].us += us;
            continue;
        }
        let writable = Writable::of(&workload, soc);
        let found = found(&bank, &workload, &writable)?;
        if matches!(found, Found::Miss { .. }) {
            let fields = flattened(&workload);
            missed.entry(bank.file_name(&workload)).or_default().push(Missed {
                place: kernels.len(),
                fields,
                nearest: None,
            });
        }
        let (reader, said) = (writable.reader(), workload.to_string());
        places.insert(workload, kernels.len());
        kernels.push(Asked { name, count, op_type, workload: said, us, reader, found });
    }
    for (name, missed) in missed {
        for (place, why) in why_missed(&name, missed, &paths)? {
            kernels[place].found = Found::Miss { why };
        }
    }
    kernels.sort_by(|a, b| b.us.total_cmp(&a.us));
    let places = std::iter::once(paths.custom).chain(paths.also_read).collect();
    Ok(BankCheck { soc: soc.name.clone(), places, kernels, warnings: bank.warnings() })
}

/// What is found; why a record is missing is for [`why_missed`] to say.
fn found(bank: &OperatorBank, workload: &Workload, writable: &Writable<'_>) -> Result<Found> {
    if !writable.reader().is_cann() {
        let why = writable.why_own().unwrap_or_else(|| "its operator asks no bank of CANN's".to_owned());
        return Ok(Found::NotAsked { why });
    }
    Ok(match bank.lookup(workload)? {
        Some(Entry { source, .. }) => Found::Hit { file: source, unproven: writable.unproven().to_vec() },
        None => Found::Miss { why: String::new() },
    })
}

/// A kernel whose record is not there.
struct Missed {
    /// Its place among the kernels.
    place: usize,
    fields: Fields,
    /// How the nearest record that was met differs.
    nearest: Option<Vec<Differing>>,
}

/// What the files of one name have in place of records: no file, no record of the operator, or some for something else.
/// Each file is read once, however many kernels miss theirs.
fn why_missed(name: &str, mut missed: Vec<Missed>, paths: &BankPaths) -> Result<Vec<(usize, String)>> {
    let files = std::iter::once(&paths.custom).chain(&paths.also_read).map(|directory| directory.join(name));
    let mut read = false;
    for file in files.filter(|file| file.is_file()) {
        read = true;
        let mut source = Source::open(&file)?;
        if source.kind() == Kind::Empty {
            continue;
        }
        items(&mut source, &mut |item| {
            let Ok(recorded) = item.workload.as_ref().map(flattened) else { return Ok(true) };
            for one in &mut missed {
                let differing = differing(&recorded, &one.fields);
                if one.nearest.as_ref().is_none_or(|nearest| differing.len() < nearest.len()) {
                    one.nearest = Some(differing);
                }
            }
            Ok(true)
        })?;
    }
    let why = |nearest: Option<Vec<Differing>>| match nearest {
        None if read => format!("{name} has no record that can be read"),
        None => format!("there is no {name}"),
        Some(differing) if differing.is_empty() => "its record is not used, see the warnings".to_owned(),
        Some(differing) => format!("the nearest record is of {}", in_words(&differing)),
    };
    Ok(missed.into_iter().map(|one| (one.place, why(one.nearest))).collect())
}

/// What stands for a field that one of two workloads has not.
const NOTHING: &str = "nothing";

/// The fields of a workload by their paths.
type Fields = BTreeMap<String, String>;
/// A field that two workloads do not share: its name, what is recorded, what is asked for.
type Differing = (String, String, String);

fn differing(recorded: &Fields, asked: &Fields) -> Vec<Differing> {
    let value = |of: &Fields, name: &str| of.get(name).map_or_else(|| NOTHING.to_owned(), String::clone);
    let names = recorded.keys().chain(asked.keys().filter(|name| !recorded.contains_key(*name)));
    let differing = names.filter(|name| recorded.get(*name) != asked.get(*name));
    differing.map(|name| (name.clone(), value(recorded, name), value(asked, name))).collect()
}

/// What is fused behind the first piece has names of its own, so that a kernel alone and one with more are told apart by that.
fn flattened(workload: &Workload) -> Fields {
    let mut fields = Fields::new();
    for (at, part) in workload.parts().iter().enumerate() {
        let path = if at == 0 { String::new() } else { format!("fused.{at}") };
        flatten(&path, &canonical_json(part), &mut fields);
    }
    fields
}

fn flatten(path: &str, value: &Value, into: &mut Fields) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| flatten(&below(key), value, into)),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, value)| flatten(&below(&index.to_string()), value, into));
        }
        leaf => {
            into.insert(path.to_owned(), leaf.as_str().map_or_else(|| leaf.to_string(), str::to_owned));
        }
    }
}

/// Fields that a sentence names before it counts the rest.
const NAMED: usize = 4;

/// The fields that differ, and which option or step decides them.
fn in_words(differing: &[Differing]) -> String {
    let fields = differing.iter().take(NAMED).map(|(name, recorded, asked)| format!("{name} {recorded}, not {asked}"));
    let mut text = fields.collect::<Vec<_>>().join("; ");
    if differing.len() > NAMED {
        let _ = write!(text, " and {} more fields", differing.len() - NAMED);
    }
    let leaf = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let any = |words: &[&str]| differing.iter().any(|(name, ..)| words.iter().any(|word| leaf(name).contains(word)));
    let is_one_sided =
        differing.iter().any(|(_, recorded, asked)| [recorded, asked].into_iter().any(|value| value == NOTHING));
    text += if any(&["kind"]) || is_one_sided {
        " (what is fused follows fusion_switch_file and oo_level)"
    } else if any(&["dtype", "type", "hf32"]) {
        " (types follow precision_mode and allow_hf32: are they those of the tuning?)"
    } else if any(&["format"]) {
        " (formats follow input_format and the operators around)"
    } else {
        " (sizes follow input_shape)"
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{MatMul, Vector};

    #[test]
    fn a_miss_names_the_fields_that_differ_and_the_option_behind_them() {
        let of = |m: u64| Workload::MatMul(MatMul::new(m, 512, 256));
        let found = differing(&flattened(&of(1024)), &flattened(&of(2048)));
        assert_eq!(found, [("m".to_owned(), "1024".to_owned(), "2048".to_owned())]);
        let said = in_words(&found);
        assert!(said.contains("m 1024, not 2048") && said.contains("input_shape"), "{said}");
        // With more fused behind it, the same product differs by that alone.
        let relu = Vector { op_type: "Relu".into(), inputs: Vec::new(), outputs: Vec::new() };
        let fused = Workload::Fused(vec![of(1024), Workload::Vector(relu)]);
        let found = differing(&flattened(&of(1024)), &flattened(&fused));
        assert!(found.iter().all(|(name, ..)| name.starts_with("fused.1.")), "{found:?}");
        assert!(in_words(&found).contains("fusion_switch_file"));
        assert!(in_words(&[("a.dtype".into(), "float".into(), "float16".into())]).contains("precision_mode"));
    }
}
