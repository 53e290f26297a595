//! A calibration from real profiles: the engine of `aoe calibrate`.

use super::known;
use super::problem::{CONTRADICTION, Problem, RIGHT, percent};
use super::seen::{Profile, Seen};
use super::types;
use crate::report::counted;
use crate::sim::calibration::{
    Calibration, FEWEST, Group, Known, Learned, Point, Types, VERSION, fit, group_of, held_out, type_of,
};
use crate::simulate;
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::canonical_json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Problems from which on a calibration is not called thin.
const ENOUGH: usize = 20;
/// Of kernels that were launched more than once the share from which on it is told that launches contradict each other: of a few it
/// is what else the device did.
const MANY: f64 = 0.1;

/// What profiles hold, made ready.
#[derive(Debug, Default)]
struct Gathered {
    /// By their cases as text.
    problems: BTreeMap<String, Problem>,
    files: Vec<PathBuf>,
    priced: u64,
    /// Launches that could not be priced.
    unpriced: u64,
    /// Launches read that never came to a price: without a time, without operands, or beyond the most kernels.
    unseen: u64,
    /// Of them those without operands that are known.
    without_operands: u64,
    /// Why the first of them could not.
    reason: Option<String>,
    /// What is to be said of launches whose times count nowhere.
    left_out: Vec<String>,
}

/// Learns a calibration for this part from profiles.
///
/// Fails with [`Error::File`] as [`Profile::read`] does, and where no class of kernels gains: a calibration that makes nothing
/// better is refused.
pub fn calibrate(profiles: &[PathBuf], soc: &Soc, cann_version: Option<&str>) -> Result<Calibration> {
    let mut gathered = Gathered::default();
    for path in profiles {
        gathered.add(&Profile::read(path, soc)?, soc);
    }
    let first = profiles.first().map_or(Path::new(""), PathBuf::as_path);
    gathered.learn(soc, cann_version).map_err(|reason| Error::file("learn from", first, reason))
}

/// The same from a profile that was read.
///
/// Fails with the reason where nothing gains.
pub fn calibrate_profile(profile: &Profile, soc: &Soc) -> std::result::Result<Calibration, String> {
    let mut gathered = Gathered::default();
    gathered.add(profile, soc);
    gathered.learn(soc, None)
}

impl Gathered {
    fn learn(self, soc: &Soc, cann_version: Option<&str>) -> std::result::Result<Calibration, String> {
        let gathered = self;
        let groups = gathered.groups();
        let classes: BTreeMap<Group, Learned> = groups.iter().map(|(group, of)| (*group, learn(of))).collect();
        let kept: Vec<(&Group, &Learned)> =
            classes.iter().filter(|(_, learned)| learned.correction.is_some()).collect();
        let of_class = |group: Group| classes.get(&group).and_then(|learned| learned.correction);
        let (known, types) =
            match (known::learn(gathered.problems.values()), types::learn(gathered.problems.values(), of_class)) {
                (Err(known), Err(types)) if kept.is_empty() => {
                    return Err(refusal(&classes, [&types, &known], &gathered));
                }
                (known, types) => (known.ok(), types.ok()),
            };
        let (problems, [error_before, error_after]) = verdict(&kept, known.as_ref(), types.as_ref());
        Ok(Calibration {
            version: VERSION,
            date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
            part: soc.name.clone(),
            cores: soc.ai_core_cnt,
            cann_version: cann_version.map(str::to_owned),
            rows: [gathered.priced + gathered.nothing_learned(), gathered.nothing_learned()],
            good_for: good_for(&kept, known.as_ref().map_or(0, Known::corrected), types.as_ref(), soc),
            error_before,
            error_after,
            doubts: doubts(problems, &gathered),
            profiles: gathered.files,
            classes,
            known,
            types,
        })
    }

    /// Launches of which nothing is learned.
    fn nothing_learned(&self) -> u64 {
        self.unpriced + self.unseen
    }

    fn add(&mut self, profile: &Profile, soc: &Soc) {
        for seen in &profile.kernels {
            self.note(seen, soc);
        }
        self.files.extend(profile.files.iter().cloned());
        self.unseen += profile.left_out.launches + profile.without_operands + profile.beyond;
        self.without_operands += profile.without_operands;
        self.left_out.extend(profile.said());
    }

    fn note(&mut self, seen: &Seen, soc: &Soc) {
        let (text, measured_us) = (seen.case.to_string(), seen.us / seen.count.max(1) as f64);
        match predicted(&text, soc) {
            Ok(Some(new)) => {
                self.priced += seen.count;
                let problem = self.problems.entry(text).or_insert(new);
                problem.launches += seen.count;
                problem.measured_us.push(measured_us);
                problem.halves = problem.halves.or(seen.halves());
                problem.spread = problem.spread.max(seen.spread);
                problem.missed_bytes = seen.case["missed_bytes"].as_f64();
                problem.block_dim = seen.case["block_dim"].as_u64();
            }
            Ok(None) => self.unpriced += seen.count,
            Err(error) => {
                self.unpriced += seen.count;
                self.reason.get_or_insert_with(|| format!("{}: {error}", seen.op));
            }
        }
    }

    fn groups(&self) -> BTreeMap<Group, Vec<&Problem>> {
        let mut groups: BTreeMap<Group, Vec<&Problem>> = BTreeMap::new();
        self.problems.values().for_each(|problem| groups.entry(problem.group).or_default().push(problem));
        groups
    }
}

/// What the model alone says of a case; none of a kernel whose class is not corrected.
fn predicted(case: &str, soc: &Soc) -> Result<Option<Problem>> {
    let job = simulate::read(case, soc)?;
    let time_us = job.predict(soc, &crate::sim::Constants::FITTED)?.time_us;
    if !time_us.is_finite() || time_us <= 0.0 {
        return Err(Error::Workload { workload: job.workload.to_string(), reason: "it has no finite time".into() });
    }
    Ok(group_of(job.class()).map(|group| Problem {
        group,
        workload: canonical_json(&job.workload).to_string(),
        op_type: type_of(&job.workload),
        model_us: time_us,
        launches: 0,
        measured_us: Vec::new(),
        halves: None,
        spread: 1.0,
        missed_bytes: None,
        block_dim: None,
    }))
}

/// The correction of one group, or why there is none.
fn learn(problems: &[&Problem]) -> Learned {
    let points: Vec<Point> = problems.iter().map(|problem| problem.point()).collect();
    let (fewest, longest) = points
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), point| (low.min(point.model_us), high.max(point.model_us)));
    let off = |point: &Point| (point.model_us / point.measured_us - 1.0).abs();
    let mut learned = Learned {
        problems: points.len(),
        rows: problems.iter().map(|problem| problem.launches).sum(),
        error_before: points.iter().map(off).sum::<f64>() / points.len().max(1) as f64,
        error_after: None,
        model_us: [fewest, longest],
        correction: None,
        refused: None,
    };
    if points.len() < FEWEST {
        learned.refused = Some(format!("too few distinct problems: {} of at least {FEWEST}", points.len()));
        return learned;
    }
    let verdict = held_out(&points, fit);
    learned.error_after = Some(verdict.after);
    if verdict.before < RIGHT {
        let before = percent(verdict.before);
        learned.refused =
            Some(format!("no gain on problems held out: the model has them right as it is ({before} off)"));
    } else if verdict.is_gain() {
        learned.correction = Some(fit(&points));
    } else {
        let [before, after] = [verdict.before, verdict.after].map(percent);
        learned.refused = Some(format!(
            "no gain on problems held out ({before} before, {after} after): the model is as right as a factor and a constant make it, or rows contradict each other"
        ));
    }
    learned
}

/// How many problems a calibration comes from, and its mean error before and after: of the classes that gain, else of types, else
/// of single kernels.
fn verdict(kept: &[(&Group, &Learned)], known: Option<&Known>, types: Option<&Types>) -> (usize, [f64; 2]) {
    if let [_, ..] = kept {
        let problems: usize = kept.iter().map(|(_, learned)| learned.problems).sum();
        let mean = |of: fn(&Learned) -> f64| {
            kept.iter().map(|(_, learned)| of(learned) * learned.problems as f64).sum::<f64>() / problems as f64
        };
        let after = mean(|learned| learned.error_after.unwrap_or(learned.error_before));
        return (problems, [mean(|learned| learned.error_before), after]);
    }
    let of_types = types.map(|types| (types.compared, [types.error_before, types.error_after]));
    let of_kernels = known.map(|own| (own.problems.len(), [own.error_before, own.error_after]));
    of_types.or(of_kernels).unwrap_or_default()
}

fn refusal(classes: &BTreeMap<Group, Learned>, [of_types, of_kernels]: [&str; 2], gathered: &Gathered) -> String {
    if classes.is_empty() {
        let reason = gathered.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        return format!("no launch of it could be priced{reason}; it needs kernels with shapes, types and formats");
    }
    let one = |(group, learned): (&Group, &Learned)| {
        format!("{}: {}", group.name(), learned.refused.as_deref().unwrap_or_default())
    };
    let reasons: Vec<String> = classes.iter().map(one).collect();
    format!(
        "no class of kernels gains, so no calibration is written; {}; operator types: {of_types}; single kernels: {of_kernels}",
        reasons.join("; ")
    )
}

fn good_for(kept: &[(&Group, &Learned)], known: usize, types: Option<&Types>, soc: &Soc) -> String {
    let one = |(group, learned): &(&Group, &Learned)| {
        format!("{} of {:.1} to {:.1} us", group.name(), learned.model_us[0], learned.model_us[1])
    };
    let mut classes: Vec<String> = kept.iter().map(one).collect();
    let types = types.map_or(0, |types| types.of.values().map(BTreeMap::len).sum());
    if types > 0 {
        classes.push(format!("{types} operator types near the kernels of the profiles"));
    }
    if known > 0 {
        classes.push(format!("{known} kernels of the profiles themselves"));
    }
    format!("kernels in networks on {}, by predicted time: {}", soc.name, classes.join(", "))
}

fn doubts(problems: usize, gathered: &Gathered) -> Vec<String> {
    let mut doubts = Vec::new();
    if problems < ENOUGH {
        doubts.push(format!("it comes from {problems} distinct problems; {ENOUGH} or more tell more"));
    }
    let contradicting = gathered.problems.values().filter(|problem| problem.contradicts()).count();
    if contradicting > 0 {
        doubts.push(format!(
            "{contradicting} problems take times in the profiles that differ by more than a factor {CONTRADICTION}"
        ));
    }
    let repeated = gathered.problems.values().filter(|problem| problem.halves.is_some()).count();
    let scattered = gathered.problems.values().filter(|problem| problem.is_scattered()).count();
    if scattered as f64 > MANY * repeated as f64 {
        doubts.push(format!(
            "launches of {scattered} of {repeated} kernels that were launched more than once differ by more than a factor {CONTRADICTION} in one profile"
        ));
    }
    doubts.extend(gathered.left_out.iter().cloned());
    if gathered.without_operands > 0 {
        let launches = counted(gathered.without_operands, "launch has", "launches have");
        doubts.push(format!("{launches} no operands in the profile, or of types or formats that are not known"));
    }
    if let Some(reason) = &gathered.reason {
        doubts.push(format!("{} launches could not be priced, the first: {reason}", gathered.unpriced));
    }
    doubts
}
