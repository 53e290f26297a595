//! What one run of the network launches, before tuning and after: the section of our own report that says where the
//! time goes, whatever was tuned.

use crate::profile::{Kind, Timed};
use crate::sim::{Bound, Work};
use serde::Serialize;
use std::collections::BTreeMap;

/// Kernels of a run that are told one by one: those that take longest. The others are summed by what bounds them, so
/// that the report of a network of a million unlike nodes stays one that is read at once.
const MOST: usize = 4000;

/// The runs before and after.
#[derive(Debug, Clone, Serialize)]
pub struct Runs {
    pub(super) after: Vec<Launched>,
    pub(super) before: Vec<Launched>,
}

/// Kernels that are alike, or many short ones that have nothing in common but what bounds them.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Launched {
    /// What each launch waits for most, by the performance model.
    pub bound: Option<Bound>,
    /// Launches in one run.
    pub count: u64,
    /// First node of the first of them.
    pub name: Option<String>,
    pub op_type: Option<String>,
    /// What runs them, by CANN's name.
    pub task_type: &'static str,
    /// All launches together.
    pub us: f64,
    /// What one launch computes and moves.
    pub work: Option<Work>,
    pub workload: Option<String>,
}

impl Runs {
    /// The runs of a network with the times of its kernels before and after.
    pub fn of([before, after]: &[Timed<'_>; 2]) -> Runs {
        Runs { after: launched(after), before: launched(before) }
    }
}

/// The kinds of a run, the longest first.
fn launched(timed: &Timed<'_>) -> Vec<Launched> {
    let mut kinds: Vec<&Kind<'_>> = timed.kinds().iter().collect();
    // Stable: those that take as long stay in the order of the network.
    kinds.sort_by(|a, b| b.total_us.total_cmp(&a.total_us));
    let rest = kinds.split_off(kinds.len().min(MOST));
    kinds.into_iter().map(|kind| one(timed, kind)).chain(summed(&rest)).collect()
}

fn one(timed: &Timed<'_>, kind: &Kind<'_>) -> Launched {
    Launched {
        bound: bound(kind),
        count: kind.launches,
        name: Some(timed.name(kind)),
        op_type: Some(kind.workload.op_type().to_owned()),
        task_type: kind.engine.task_type(),
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
        task_type,
        us,
        work: None,
        workload: None,
    })
}
