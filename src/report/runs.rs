//! What one run of the network launches, before tuning and after: the section of our own report that says where the
//! time goes, whatever was tuned.

use crate::profile::{Kind, Timed};
use crate::sim::{Bound, Work};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Kernels of a run that are told one by one: those that take longest. The others are summed by what bounds them, so
/// that the report of a network of a million unlike nodes stays one that is read at once.
const MOST: usize = 4000;
/// Steps of a run that are told in their order, at the most.
const STEPS: usize = 1000;

/// The runs before and after.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Runs {
    pub(super) after: Vec<Launched>,
    pub(super) before: Vec<Launched>,
    #[serde(default)]
    pub(super) sequence_after: Vec<Step>,
    #[serde(default)]
    pub(super) sequence_before: Vec<Step>,
}

/// Launches that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub(super) count: u64,
    /// Place of the one that takes most of the time in the list of its moment; `None` where that does not tell it by
    /// itself.
    pub(super) kernel: Option<usize>,
    /// All of them together.
    pub(super) us: f64,
}

/// Kernels that are alike, or many short ones that have nothing in common but what bounds them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Launched {
    /// What each launch waits for most, by the performance model.
    pub(super) bound: Option<Bound>,
    /// Launches in one run.
    pub(super) count: u64,
    /// First node of the first of them.
    pub(super) name: Option<String>,
    pub(super) op_type: Option<String>,
    /// What runs them, by CANN's name.
    pub(super) task_type: Cow<'static, str>,
    /// All launches together.
    pub(super) us: f64,
    /// What one launch computes and moves.
    pub(super) work: Option<Work>,
    pub(super) workload: Option<String>,
}

impl Runs {
    /// What is launched before and after.
    pub(super) fn moments(&self) -> [&[Launched]; 2] {
        [&self.before, &self.after]
    }

    /// The runs of a network with the times of its kernels before and after.
    pub fn of([before, after]: &[Timed<'_>; 2]) -> Runs {
        let ((before, sequence_before), (after, sequence_after)) = (told(before), told(after));
        Runs { after, before, sequence_after, sequence_before }
    }
}

/// The kinds of a run, the longest first, and the steps in which they run.
fn told(timed: &Timed<'_>) -> (Vec<Launched>, Vec<Step>) {
    let kinds = timed.kinds();
    let mut order: Vec<usize> = (0..kinds.len()).collect();
    // Stable: those that take as long stay in the order of the network.
    order.sort_by(|a, b| kinds[*b].total_us.total_cmp(&kinds[*a].total_us));
    let rest = order.split_off(order.len().min(MOST));
    let rest: Vec<&Kind<'_>> = rest.into_iter().map(|kind| &kinds[kind]).collect();
    let launched = order.iter().map(|kind| one(timed, &kinds[*kind])).chain(summed(&rest)).collect();
    let mut places = vec![None; kinds.len()];
    for (place, kind) in order.into_iter().enumerate() {
        places[kind] = Some(place);
    }
    (launched, sequence(timed, &places))
}

/// A run in its order. Where it has more steps than are told, those that follow each other are joined until they take
/// long enough to be seen.
fn sequence(timed: &Timed<'_>, places: &[Option<usize>]) -> Vec<Step> {
    let steps: Vec<Step> = timed.sequence().map(|(kind, count, us)| Step { count, kernel: places[kind], us }).collect();
    if steps.len() <= STEPS {
        return steps;
    }
    let least_us = steps.iter().map(|step| step.us).sum::<f64>() * 2.0 / STEPS as f64;
    let mut joined: Vec<Step> = Vec::new();
    let mut longest_us = 0.0;
    for step in steps {
        if let Some(last) = joined.last_mut().filter(|last| last.us < least_us) {
            if step.us > longest_us {
                (longest_us, last.kernel) = (step.us, step.kernel);
            }
            last.count += step.count;
            last.us += step.us;
        } else {
            longest_us = step.us;
            joined.push(step);
        }
    }
    joined
}

fn one(timed: &Timed<'_>, kind: &Kind<'_>) -> Launched {
    Launched {
        bound: bound(kind),
        count: kind.launches,
        name: Some(timed.name(kind)),
        op_type: Some(timed.op_type(kind).to_owned()),
        task_type: kind.engine.task_type().into(),
        us: kind.total_us,
        work: kind.work.filter(|_| kind.engine.computes()),
        workload: Some(kind.workload.to_string()),
    }
}

/// What bounds a kernel; an exchange waits for its links, which are no part of the SoC.
fn bound(kind: &Kind<'_>) -> Option<Bound> {
    kind.prediction.filter(|_| kind.engine.computes()).map(|prediction| prediction.bound)
}

fn summed(kinds: &[&Kind<'_>]) -> impl Iterator<Item = Launched> {
    let mut sums: BTreeMap<(&'static str, Option<Bound>), (u64, f64)> = BTreeMap::new();
    for kind in kinds {
        let (count, us) = sums.entry((kind.engine.task_type(), bound(kind))).or_default();
        *count += kind.launches;
        *us += kind.total_us;
    }
    sums.into_iter().map(|((task_type, bound), (count, us))| Launched {
        bound,
        count,
        name: None,
        op_type: None,
        task_type: task_type.into(),
        us,
        work: None,
        workload: None,
    })
}
