//! Which constraints leave a space without a legal configuration.

use super::constraint::Constraint;
use super::group::good_order;
use super::parameter::Parameter;
use super::program::{Choices, Ended, Program};
use aoe_base::status::Error;

/// Values that one trial with fewer constraints may try; the constraint is named where they do not suffice.
const STEPS: u64 = 1 << 20;

/// The error for some constraints that nothing meets together: it names a smallest set of them that does it.
/// `choices` are all values, by parameter.
pub fn error(parameters: &[Parameter], choices: &[Choices], constraints: &[&Constraint]) -> Error {
    let guilty = smallest(choices, constraints);
    let mut places: Vec<String> = guilty.iter().map(|constraint| constraint.place()).collect();
    places.dedup();
    let about: Vec<String> = members(&guilty).iter().map(|&p| values(&parameters[p as usize])).collect();
    let reason = format!("there is no legal configuration: {} of {}", fault(places.len()), about.join(", "));
    Error::space(places.join(" and "), reason)
}

/// Constraints that nothing meets together, none of which can be left out. Half of them are tried without at
/// first, then ever smaller pieces: of many constraints few are guilty.
fn smallest<'a>(choices: &[Choices], constraints: &[&'a Constraint]) -> Vec<&'a Constraint> {
    let mut guilty = constraints.to_vec();
    let mut piece = guilty.len().div_ceil(2);
    loop {
        let mut at = 0;
        while guilty.len() > 1 && at < guilty.len() {
            let end = (at + piece).min(guilty.len());
            let without = [&guilty[..at], &guilty[end..]].concat();
            if !without.is_empty() && is_empty(choices, &without) {
                guilty = without;
            } else {
                at = end;
            }
        }
        if piece <= 1 {
            return guilty;
        }
        piece = piece.div_ceil(2);
    }
}

fn fault(constraints: usize) -> &'static str {
    if constraints == 1 { "no value meets this constraint" } else { "no value meets these constraints together" }
}

/// The parameters that constraints depend on, ascending.
fn members(constraints: &[&Constraint]) -> Vec<u32> {
    let mut members: Vec<u32> = constraints.iter().flat_map(|c| c.parameters.iter().copied()).collect();
    members.sort_unstable();
    members.dedup();
    members
}

/// Whether it is certain that nothing meets the constraints.
fn is_empty(choices: &[Choices], constraints: &[&Constraint]) -> bool {
    let members = members(constraints);
    let order = good_order(&members, choices, constraints);
    let program = Program::new(&order, choices, constraints.iter().copied());
    let mut steps = STEPS;
    program.walk(&mut program.start(), 0, &mut steps, |_| false) == Ended::Complete
}

/// A parameter with its values, for a message.
fn values(parameter: &Parameter) -> String {
    let all = parameter.values();
    match all {
        [.., last] if all.len() > 6 => {
            format!("{} ({} to {}, {} values)", parameter.name(), all[0], last, all.len())
        }
        _ => {
            let values: Vec<String> = all.iter().map(ToString::to_string).collect();
            format!("{} ({})", parameter.name(), values.join(", "))
        }
    }
}
