//! What profiles teach of operator types: where the model is off on one kernel, it is off likewise on others of the type that
//! take about as long, whatever their class.

use super::problem::{Problem, RIGHT, percent};
use crate::sim::calibration::{Correction, FEWEST, Group, Near, Types, is_better};
use std::collections::BTreeMap;

/// Most kernels of a type that are kept; of more, as many evenly through their times.
const MOST: usize = 64;

/// A kernel of a type, with what it took.
struct Member {
    near: Near,
    /// What its class's correction makes of its time.
    class_us: f64,
    measured_us: f64,
}

/// The kernels of each type, for others of it; the reason where those held out are predicted no better by them. `class` is the
/// correction of each class.
pub(super) fn learn<'a>(
    problems: impl Iterator<Item = &'a Problem>,
    class: impl Fn(Group) -> Option<Correction>,
) -> Result<Types, String> {
    let mut types: BTreeMap<(Group, &str), Vec<Member>> = BTreeMap::new();
    for problem in problems.filter(|problem| !problem.contradicts()) {
        types.entry((problem.group, &problem.op_type)).or_default().push(Member::of(problem, class(problem.group)));
    }
    types.values_mut().for_each(thin);
    let (mut compared, mut sums) = (0, [0.0; 2]);
    for members in types.values().filter(|members| members.len() > 1) {
        for (at, held) in members.iter().enumerate() {
            let others = members.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, member)| &member.near);
            let factor = Near::factor(others, held.near.model_us);
            let off = |us: f64| (us / held.measured_us - 1.0).abs();
            sums = [sums[0] + off(held.class_us), sums[1] + off(held.class_us * factor)];
            compared += 1;
        }
    }
    if compared < FEWEST {
        return Err(format!("too few kernels with another one of their type: {compared} of at least {FEWEST}"));
    }
    let [error_before, error_after] = sums.map(|sum| sum / compared as f64);
    if !is_better(error_before, error_after) {
        let [before, after] = [error_before, error_after].map(percent);
        return Err(format!("no gain on kernels held out ({before} before, {after} after)"));
    }
    if error_before < RIGHT {
        return Err(format!("the model has them right as it is ({} off)", percent(error_before)));
    }
    let mut of: BTreeMap<Group, BTreeMap<String, Vec<Near>>> = BTreeMap::new();
    for ((group, op_type), members) in types {
        let near = members.into_iter().map(|member| member.near).collect();
        of.entry(group).or_default().insert(op_type.to_owned(), near);
    }
    Ok(Types { compared, error_before, error_after, of })
}

impl Member {
    fn of(problem: &Problem, class: Option<Correction>) -> Member {
        let measured_us = problem.point().measured_us;
        let class_us = class.map_or(problem.model_us, |class| class.time_us(problem.model_us));
        let factor = (measured_us / class_us).ln().clamp(-Near::FARTHEST, Near::FARTHEST).exp();
        Member { near: Near { model_us: problem.model_us, factor }, class_us, measured_us }
    }
}

/// Puts kernels in the order of their times and leaves so many of them.
fn thin(members: &mut Vec<Member>) {
    members.sort_by(|a, b| a.near.model_us.total_cmp(&b.near.model_us).then(a.measured_us.total_cmp(&b.measured_us)));
    let count = members.len();
    if count > MOST {
        let mut at = 0;
        members.retain(|_| {
            at += 1;
            // The first of each of as many equal parts.
            (at * MOST) / count > ((at - 1) * MOST) / count
        });
    }
}
