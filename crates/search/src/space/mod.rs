//! Spaces that users describe: named parameters with their values, and constraints as expressions.
//!
//! ```
//! use aoe_search::{Outcome, Search, Settings};
//! use aoe_search::space::{Parameter, Space, Value};
//!
//! let integers = |values: &[i64]| values.iter().map(|&v| Value::Integer(v)).collect();
//! let tile = Parameter::new("tile", integers(&[16, 32, 64, 128]))?;
//! let step = Parameter::new("step", integers(&[1, 2, 3, 4]))?;
//! let space = Space::new(vec![tile, step], &["tile % step == 0 and tile // step <= 32"])?;
//! assert_eq!(space.count(), Some(9));
//!
//! let mut search = Search::new(&space, Settings::default())?;
//! while let Some(trial) = search.ask() {
//!     let cost = if space.value(&trial.configuration, 0) == &Value::Integer(64) { 1.0 } else { 2.0 };
//!     search.tell(trial.id, Outcome::Cost(cost))?;
//! }
//! # Ok::<(), aoe_base::status::Error>(())
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `value`, `parameter` | what can be chosen |
//! | `expression` | the language of constraints: text to checked operations, their results and ranges |
//! | `constraint` | the constraints of a space, split into parts |
//! | `program` | constraints compiled for one order of parameters, and the walk over what they leave |
//! | `rows`, `diagram`, `group`, `set` | the legal set: a product of groups, each listed or, where it is too large, merged or walked |
//! | `conflict` | which constraints leave nothing |
//! | `json`, `named` | the JSON form; a configuration as JSON |
//! | `recorded`, `table` | recorded measurements as a space; reading their tables |

mod conflict;
mod constraint;
mod diagram;
mod expression;
mod group;
mod json;
mod named;
mod parameter;
mod program;
mod recorded;
mod rows;
mod set;
mod table;
#[cfg(test)]
mod tests;
mod value;

pub use named::Named;
pub use parameter::{MAX_NAME_BYTES, MAX_PARAMETERS, MAX_VALUES, Parameter, ValueKind};
pub use recorded::Recorded;
pub use set::Neighbourhood;
pub use value::Value;

use aoe_base::status::{Error, Result};
use constraint::Constraint;
use group::{Found, Group, Set};
use program::{Choices, Program};
use rows::Rows;
use rustc_hash::FxHashMap;

/// Parameters, and the legal configurations of their values.
///
/// A configuration is one index for each parameter, into [`Parameter::values`].
#[derive(Debug, Clone)]
pub struct Space {
    parameters: Vec<Parameter>,
    sizes: Vec<u32>,
    /// The values of each parameter as numbers, where they are ascending ones.
    scales: Vec<Option<Vec<f64>>>,
    groups: Vec<Group>,
    /// Group of each parameter, and its place among the members.
    places: Vec<(usize, usize)>,
}

impl Space {
    /// The space of all configurations that meet the constraints; docs/spaces.md describes their language.
    ///
    /// Fails with [`Error::Space`] for parameters without distinct names, for a constraint that is malformed,
    /// and where no configuration is legal, and names what is at fault.
    pub fn new(parameters: Vec<Parameter>, constraints: &[impl AsRef<str>]) -> Result<Space> {
        parameter::check_all(&parameters)?;
        let (constraints, numbers) = constraint::read(&parameters, constraints)?;
        let all: Vec<Choices> = numbers.into_iter().map(|values| (0..).zip(values).collect()).collect();
        let (single, joint): (Vec<_>, Vec<_>) = constraints.iter().partition(|c| c.parameters.len() == 1);
        let choices = restricted(&parameters, &all, &single)?;
        let mut groups = Vec::new();
        for members in tied_together(parameters.len(), &joint) {
            let concerns = |c: &&&Constraint| members.binary_search(&c.parameters[0]).is_ok();
            let own: Vec<&Constraint> = joint.iter().filter(concerns).copied().collect();
            match Group::find(members, &choices, &own) {
                Found::Group(group) => groups.push(group),
                Found::Nothing => {
                    let related: Vec<&Constraint> =
                        constraints.iter().filter(|c| own.iter().any(|o| shares_parameter(c, o))).collect();
                    return Err(conflict::error(&parameters, &all, &related));
                }
                Found::Unknown(steps) => {
                    let places: Vec<String> = own.iter().map(|constraint| constraint.place()).collect();
                    let reason = format!("no legal configuration was found among the first {steps} values tried");
                    return Err(Error::space(places.join(" and "), reason));
                }
            }
        }
        Ok(Space::of_groups(parameters, groups))
    }

    /// The space whose legal configurations are exactly the rows of `flat`, one after the other. Constraints
    /// are not needed to say which those are, but must be met by them.
    ///
    /// Fails as [`Space::new`] does, and for a row that is out of range, comes twice or breaks a constraint.
    pub fn listed(parameters: Vec<Parameter>, constraints: &[impl AsRef<str>], flat: &[u32]) -> Result<Space> {
        parameter::check_all(&parameters)?;
        let width = parameters.len();
        if flat.is_empty() {
            return Err(Error::space("configurations", "there are none; give one at least or leave them out"));
        }
        if !flat.len().is_multiple_of(width) {
            let reason = format!("{} indices are no whole number of rows of {width}", flat.len());
            return Err(Error::space("configurations", reason));
        }
        check_rows(&parameters, constraints, flat)?;
        let group = Group { members: (0..width as u32).collect(), set: Set::Listed(Rows::new(width, flat)) };
        Ok(Space::of_groups(parameters, vec![group]))
    }

    fn of_groups(parameters: Vec<Parameter>, groups: Vec<Group>) -> Space {
        let mut places = vec![(0, 0); parameters.len()];
        for (g, group) in groups.iter().enumerate() {
            for (level, &member) in group.members.iter().enumerate() {
                places[member as usize] = (g, level);
            }
        }
        let sizes = parameters.iter().map(|p| p.values().len() as u32).collect();
        let scales = parameters.iter().map(ascending).collect();
        Space { parameters, sizes, scales, groups, places }
    }

    /// What can be chosen, in the order of a configuration's entries.
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// The value that a configuration has for a parameter.
    pub fn value(&self, configuration: &[u32], parameter: usize) -> &Value {
        &self.parameters[parameter].values()[configuration[parameter] as usize]
    }

    /// Names and values of a configuration.
    pub fn named<'a>(&'a self, configuration: &'a [u32]) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let pair = |(p, parameter): (usize, &'a Parameter)| (parameter.name(), self.value(configuration, p));
        self.parameters.iter().enumerate().map(pair)
    }

    fn in_range(&self, configuration: &[u32]) -> bool {
        configuration.len() == self.sizes.len() && configuration.iter().zip(&self.sizes).all(|(v, n)| v < n)
    }
}

/// The values of a parameter as finite numbers, where each is larger than the one before.
fn ascending(parameter: &Parameter) -> Option<Vec<f64>> {
    if parameter.kind() != ValueKind::Numbers {
        return None;
    }
    let numbers: Option<Vec<f64>> = parameter.values().iter().map(|value| value.number()?.real()).collect();
    numbers.filter(|numbers| numbers.is_sorted_by(|a, b| a < b))
}

/// What constraints of one parameter leave of its values.
fn restricted(parameters: &[Parameter], all: &[Choices], single: &[&Constraint]) -> Result<Vec<Choices>> {
    let mut choices = all.to_vec();
    for (parameter, choices) in choices.iter_mut().enumerate() {
        let own: Vec<&Constraint> = single.iter().filter(|c| c.parameters[0] as usize == parameter).copied().collect();
        if own.is_empty() {
            continue;
        }
        let program = Program::new(&[parameter as u32], all, own.iter().copied());
        let mut state = program.start();
        let mut choice = 0..choices.len();
        choices.retain(|_| choice.next().is_some_and(|choice| program.bind(&mut state, 0, choice)));
        if choices.is_empty() {
            return Err(conflict::error(parameters, all, &own));
        }
    }
    Ok(choices)
}

/// The parameters that constraints tie together, directly or through others; each list ascending, the lists
/// by their first member.
fn tied_together(parameters: usize, constraints: &[&Constraint]) -> Vec<Vec<u32>> {
    fn leader(leaders: &mut [usize], mut parameter: usize) -> usize {
        while leaders[parameter] != parameter {
            leaders[parameter] = leaders[leaders[parameter]];
            parameter = leaders[parameter];
        }
        parameter
    }
    let mut leaders: Vec<usize> = (0..parameters).collect();
    for constraint in constraints {
        let first = leader(&mut leaders, constraint.parameters[0] as usize);
        for &other in &constraint.parameters {
            let other = leader(&mut leaders, other as usize);
            let (low, high) = (first.min(other), first.max(other));
            leaders[high] = low;
        }
    }
    let mut groups: Vec<Vec<u32>> = vec![Vec::new(); parameters];
    for parameter in 0..parameters {
        groups[leader(&mut leaders, parameter)].push(parameter as u32);
    }
    groups.retain(|group| !group.is_empty());
    groups
}

fn shares_parameter(a: &Constraint, b: &Constraint) -> bool {
    a.parameters.iter().any(|p| b.parameters.contains(p))
}

/// Fails with [`Error::Space`] for a row that is out of range, comes twice or breaks a constraint.
fn check_rows(parameters: &[Parameter], constraints: &[impl AsRef<str>], flat: &[u32]) -> Result<()> {
    let (constraints, numbers) = constraint::read(parameters, constraints)?;
    let choices: Vec<Choices> = numbers.into_iter().map(|values| (0..).zip(values).collect()).collect();
    let width = parameters.len();
    let programs: Vec<(&Constraint, Program)> =
        constraints.iter().map(|c| (c, Program::new(&c.parameters, &choices, [c]))).collect();
    let mut states: Vec<_> = programs.iter().map(|(_, program)| program.start()).collect();
    let mut seen: FxHashMap<&[u32], usize> = FxHashMap::default();
    for (r, row) in flat.chunks_exact(width).enumerate() {
        let place = || format!("configurations[{r}]");
        for (parameter, &index) in parameters.iter().zip(row) {
            let size = parameter.values().len();
            if index as usize >= size {
                let reason = format!("index {index} is beyond the {size} values of `{}`", parameter.name());
                return Err(Error::space(place(), reason));
            }
        }
        if let Some(earlier) = seen.insert(row, r) {
            return Err(Error::space(place(), format!("it repeats configurations[{earlier}]")));
        }
        for ((constraint, program), state) in programs.iter().zip(&mut states) {
            let met = constraint
                .parameters
                .iter()
                .enumerate()
                .all(|(level, &p)| program.bind_index(state, level, row[p as usize]));
            if !met {
                return Err(Error::space(place(), format!("it breaks {}", constraint.place())));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
impl Space {
    /// The space with another set wherever constraints tie parameters together; `None` where none do.
    fn with_sets(&self, constraints: &[impl AsRef<str>], set: impl Fn(Program) -> Set) -> Option<Space> {
        let (constraints, numbers) = constraint::read(&self.parameters, constraints).ok()?;
        let all: Vec<Choices> = numbers.into_iter().map(|values| (0..).zip(values).collect()).collect();
        let mut changed = self.clone();
        let mut any = false;
        for group in changed.groups.iter_mut().filter(|group| group.members.len() > 1) {
            let own: Vec<&Constraint> =
                constraints.iter().filter(|c| c.parameters.iter().all(|p| group.members.contains(p))).collect();
            group.set = set(Program::new(&group.members, &all, own));
            any = true;
        }
        any.then_some(changed)
    }

    /// A space of one walked group, however fast it could be listed.
    fn of_walked(parameters: Vec<Parameter>, constraints: &[impl AsRef<str>]) -> Result<Space> {
        let (constraints, numbers) = constraint::read(&parameters, constraints)?;
        let choices: Vec<Choices> = numbers.into_iter().map(|values| (0..).zip(values).collect()).collect();
        let members: Vec<u32> = (0..parameters.len() as u32).collect();
        let set = Set::Walked(Program::new(&members, &choices, &constraints));
        Ok(Space::of_groups(parameters, vec![Group { members, set }]))
    }

    /// The space with walked sets.
    fn walked(&self, constraints: &[impl AsRef<str>]) -> Option<Space> {
        self.with_sets(constraints, Set::Walked)
    }

    /// The space with merged sets.
    fn merged(&self, constraints: &[impl AsRef<str>]) -> Option<Space> {
        let limits = diagram::Limits { edges: usize::MAX, tries: usize::MAX, results: usize::MAX };
        self.with_sets(constraints, |program| match diagram::Diagram::build(&program, limits) {
            diagram::Built::Diagram(diagram) => Set::Merged(diagram),
            other => panic!("{other:?}"),
        })
    }
}
