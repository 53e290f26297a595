//! Random small spaces with random constraints against brute force by a second evaluator.

use super::{Neighbourhood, Parameter, Space, Value, product};
use crate::Domain;
use proptest::prelude::*;
use std::fmt::Write as _;

/// An expression that the test can write and evaluate by itself.
#[derive(Debug, Clone)]
enum Tree {
    Number(i64),
    Parameter(usize),
    Not(Box<Tree>),
    Negated(Box<Tree>),
    Call(&'static str, Box<Tree>, Box<Tree>),
    Operator(&'static str, Box<Tree>, Box<Tree>),
    In(Box<Tree>, Vec<i64>),
}

const NAMES: [&str; 5] = ["p", "q", "block_x", "s", "t"];

impl Tree {
    fn text(&self, out: &mut String) {
        let mut put = |before: &str, parts: &[&Tree], between: &str, after: &str| {
            out.push_str(before);
            for (i, part) in parts.iter().enumerate() {
                out.push_str(if i == 0 { "" } else { between });
                part.text(out);
            }
            out.push_str(after);
        };
        match self {
            Tree::Number(value) => put(&value.to_string(), &[], "", ""),
            Tree::Parameter(parameter) => put(NAMES[*parameter], &[], "", ""),
            Tree::Not(a) => put("(not ", &[a], "", ")"),
            Tree::Negated(a) => put("(-", &[a], "", ")"),
            Tree::Call(function, a, b) => put(&format!("{function}("), &[a, b], ", ", ")"),
            Tree::Operator(operator, a, b) => put("(", &[a, b], &format!(" {operator} "), ")"),
            Tree::In(a, list) => put("(", &[a], "", &format!(" in {list:?})")),
        }
    }

    /// The value; integers only, so that a quotient that is no integer has none (no test tree divides so).
    fn value(&self, values: &[i64]) -> Option<i128> {
        Some(match self {
            Tree::Number(value) => i128::from(*value),
            Tree::Parameter(parameter) => i128::from(values[*parameter]),
            Tree::Not(a) => i128::from(a.value(values)? == 0),
            Tree::Negated(a) => -a.value(values)?,
            Tree::Call(function, a, b) => {
                let (a, b) = (a.value(values)?, b.value(values)?);
                if *function == "min" { a.min(b) } else { a.max(b) }
            }
            Tree::In(a, list) => {
                let a = a.value(values)?;
                i128::from(list.iter().any(|&item| i128::from(item) == a))
            }
            Tree::Operator(operator @ ("and" | "or" | "&&" | "||"), a, b) => {
                let decisive = matches!(*operator, "or" | "||");
                if (a.value(values)? != 0) == decisive {
                    i128::from(decisive)
                } else {
                    i128::from(b.value(values)? != 0)
                }
            }
            Tree::Operator(operator, a, b) => {
                let (a, b) = (a.value(values)?, b.value(values)?);
                match *operator {
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "//" | "%" if b == 0 => return None,
                    // Euclid's division differs from the floor's for negative divisors only.
                    "//" if b > 0 => a.div_euclid(b),
                    "//" => (-a).div_euclid(-b),
                    "%" if b > 0 => a.rem_euclid(b),
                    "%" => -((-a).rem_euclid(-b)),
                    "==" => i128::from(a == b),
                    "!=" => i128::from(a != b),
                    "<" => i128::from(a < b),
                    "<=" => i128::from(a <= b),
                    ">" => i128::from(a > b),
                    _ => i128::from(a >= b),
                }
            }
        })
    }
}

fn number(parameters: usize) -> BoxedStrategy<Tree> {
    let leaf = prop_oneof![(0..9_i64).prop_map(Tree::Number), (0..parameters).prop_map(Tree::Parameter)];
    leaf.prop_recursive(3, 12, 2, |inner| {
        let operator = prop::sample::select(vec!["+", "-", "*", "//", "%"]);
        let function = prop::sample::select(vec!["min", "max"]);
        prop_oneof![
            4 => (operator, inner.clone(), inner.clone()).prop_map(|(o, a, b)| Tree::Operator(o, a.into(), b.into())),
            1 => (function, inner.clone(), inner.clone()).prop_map(|(f, a, b)| Tree::Call(f, a.into(), b.into())),
            1 => inner.prop_map(|a| Tree::Negated(a.into())),
        ]
    })
    .boxed()
}

fn condition(parameters: usize) -> BoxedStrategy<Tree> {
    let number = number(parameters);
    let comparison = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let leaf = prop_oneof![
        4 => (comparison, number.clone(), number.clone()).prop_map(|(o, a, b)| Tree::Operator(o, a.into(), b.into())),
        1 => (number, prop::collection::vec(0..9_i64, 1..4)).prop_map(|(a, list)| Tree::In(a.into(), list)),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        let logic = prop::sample::select(vec!["and", "or", "&&", "||"]);
        prop_oneof![
            3 => (logic, inner.clone(), inner.clone()).prop_map(|(o, a, b)| Tree::Operator(o, a.into(), b.into())),
            1 => inner.prop_map(|a| Tree::Not(a.into())),
        ]
    })
    .boxed()
}

/// Values of each parameter, and constraints.
fn spaces() -> impl Strategy<Value = (Vec<Vec<i64>>, Vec<Tree>)> {
    let values = prop::collection::btree_set(-3..20_i64, 1..6).prop_map(|set| set.into_iter().collect::<Vec<_>>());
    prop::collection::vec(values, 1..=NAMES.len()).prop_flat_map(|values| {
        let constraints = prop::collection::vec(condition(values.len()), 0..4);
        (Just(values), constraints)
    })
}

fn described((values, constraints): &(Vec<Vec<i64>>, Vec<Tree>)) -> (Vec<Parameter>, Vec<String>) {
    let parameter = |(name, values): (&&str, &Vec<i64>)| {
        Parameter::new(*name, values.iter().map(|&v| Value::Integer(v)).collect()).unwrap()
    };
    let text = |constraint: &Tree| {
        let mut text = String::new();
        constraint.text(&mut text);
        text
    };
    (NAMES.iter().zip(values).map(parameter).collect(), constraints.iter().map(text).collect())
}

fn legal((values, constraints): &(Vec<Vec<i64>>, Vec<Tree>)) -> Vec<Vec<u32>> {
    let sizes: Vec<u32> = values.iter().map(|v| v.len() as u32).collect();
    let met = |configuration: &Vec<u32>| {
        let values: Vec<i64> = values.iter().zip(configuration).map(|(v, &index)| v[index as usize]).collect();
        constraints.iter().all(|constraint| constraint.value(&values).is_some_and(|value| value != 0))
    };
    product(&sizes).into_iter().filter(met).collect()
}

proptest! {
    #![proptest_config(aoe_testing::cases(400))]

    #[test]
    fn a_space_is_what_brute_force_finds(case in spaces()) {
        let (parameters, constraints) = described(&case);
        let expected = legal(&case);
        let space = match Space::new(parameters.clone(), &constraints) {
            Ok(space) => space,
            Err(error) => {
                let message = error.to_string();
                // What is written there may divide by zero, which is an error of its own.
                prop_assert!(expected.is_empty() || message.contains("divides by zero"), "{message} in {constraints:?}");
                return Ok(());
            }
        };
        let context = || constraints.iter().fold(String::new(), |mut all, text| { let _ = writeln!(all, "{text}"); all });
        prop_assert_eq!(space.count(), Some(expected.len() as u128), "{}", context());
        prop_assert_eq!(space.enumerate(expected.len()).unwrap(), expected.concat(), "{}", context());
        prop_assert_eq!(space.enumerate(expected.len() - 1), None);
        for (index, configuration) in (0..).zip(&expected) {
            prop_assert_eq!(space.index(configuration), Some(index));
            prop_assert_eq!(space.configuration(index), Some(configuration.clone()));
        }
        prop_assert_eq!(space.configuration(expected.len() as u128), None);
        // Every prefix that goes one beyond one that leads somewhere.
        for length in 1..=space.sizes().len() {
            for prefix in product(&space.sizes()[..length]) {
                let leads = |prefix: &[u32]| expected.iter().any(|c| c.starts_with(prefix));
                // What a search asks for only.
                if !leads(&prefix[..length - 1]) {
                    continue;
                }
                let leads = leads(&prefix);
                prop_assert_eq!(space.may_extend(&prefix), leads, "{:?} in {}", prefix, context());
                if length == space.sizes().len() {
                    prop_assert_eq!(space.is_legal(&prefix), leads);
                }
            }
        }
        // The same rows given as such are the same space.
        let listed = Space::listed(parameters, &constraints, &expected.concat()).unwrap();
        prop_assert_eq!(listed.enumerate(usize::MAX), space.enumerate(usize::MAX));
    }

    #[test]
    fn a_merged_space_is_what_brute_force_finds(case in spaces()) {
        let (parameters, constraints) = described(&case);
        let expected = legal(&case);
        let Ok(space) = Space::new(parameters, &constraints) else { return Ok(()) };
        let Some(space) = space.merged(&constraints) else { return Ok(()) };
        prop_assert_eq!(space.count(), Some(expected.len() as u128));
        for (index, configuration) in (0..).zip(&expected) {
            prop_assert_eq!(space.index(configuration), Some(index));
            prop_assert_eq!(space.configuration(index), Some(configuration.clone()));
        }
        for length in 1..=space.sizes().len() {
            for prefix in product(&space.sizes()[..length]) {
                let leads = |prefix: &[u32]| expected.iter().any(|c| c.starts_with(prefix));
                if leads(&prefix[..length - 1]) {
                    prop_assert_eq!(space.may_extend(&prefix), leads(&prefix), "{:?}", prefix);
                }
            }
        }
        for configuration in product(space.sizes()) {
            prop_assert_eq!(space.is_legal(&configuration), expected.contains(&configuration));
        }
        // The only group's diagram has the same combinations as its list.
        if let [group] = &space.groups[..] {
            let super::super::group::Set::Merged(diagram) = &group.set else { unreachable!() };
            prop_assert_eq!(diagram.combinations(space.sizes().len()), expected.concat());
        }
    }

    #[test]
    fn a_walked_space_is_what_brute_force_finds(case in spaces()) {
        let (parameters, constraints) = described(&case);
        let expected = legal(&case);
        let Ok(space) = Space::new(parameters, &constraints) else { return Ok(()) };
        let Some(space) = space.walked(&constraints) else { return Ok(()) };
        prop_assert_eq!(space.enumerate(usize::MAX), None);
        for configuration in product(space.sizes()) {
            prop_assert_eq!(space.is_legal(&configuration), expected.contains(&configuration));
        }
        for configuration in &expected {
            for length in 1..=configuration.len() {
                prop_assert!(space.may_extend(&configuration[..length]), "{:?} {}", configuration, length);
            }
        }
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..20 {
            let sample = space.sample(&mut rng).unwrap();
            prop_assert!(expected.contains(&sample), "{sample:?}");
        }
    }

    #[test]
    fn neighbours_are_those_of_brute_force(case in spaces()) {
        let (parameters, constraints) = described(&case);
        let expected = legal(&case);
        let Ok(space) = Space::new(parameters, &constraints) else { return Ok(()) };
        for from in product(space.sizes()) {
            let one_apart = |c: &&Vec<u32>| c.iter().zip(&from).filter(|(a, b)| a != b).count() == 1;
            let near: Vec<&Vec<u32>> = expected.iter().filter(one_apart).collect();
            let mut hamming = space.neighbours(&from, Neighbourhood::Hamming);
            hamming.sort();
            prop_assert_eq!(hamming.iter().collect::<Vec<_>>(), near.clone());
            // The nearest below and above for each parameter.
            let step = |c: &Vec<u32>| (0..c.len()).find(|&p| c[p] != from[p]).map(|p| (p, c[p] > from[p], c[p].abs_diff(from[p])));
            let nearest = |c: &&&Vec<u32>| {
                let (p, up, distance) = step(c).unwrap();
                near.iter().filter_map(|other| step(other)).all(|(q, v, d)| (q, v) != (p, up) || d >= distance)
            };
            let mut adjacent = space.neighbours(&from, Neighbourhood::Adjacent);
            adjacent.sort();
            prop_assert_eq!(adjacent.iter().collect::<Vec<_>>(), near.iter().filter(nearest).copied().collect::<Vec<_>>());
        }
    }
}

/// Pieces of the language, and of what is none.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "p",
        "q",
        "pq",
        "0",
        "1",
        "9223372036854775807",
        "1e308",
        "0x",
        "'t'",
        "'",
        "+",
        "-",
        "*",
        "**",
        "/",
        "//",
        "%",
        "<",
        "<=",
        "==",
        "!=",
        "=",
        "!",
        "not",
        "in",
        "not in",
        "and",
        "or",
        "&&",
        "||",
        "&",
        "(",
        ")",
        "[",
        "]",
        ",",
        "min(",
        "abs(",
        " ",
        "é",
        "\\",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #![proptest_config(aoe_testing::cases(2000))]

    #[test]
    fn any_text_is_a_constraint_or_an_error_with_a_place(text in pieces()) {
        let parameters = vec![super::integers("p", &[-1, 0, 3]), super::integers("q", &[2, i64::MAX])];
        match Space::new(parameters, &[&text]) {
            Ok(space) => {
                let flat = space.enumerate(6).unwrap();
                prop_assert!(flat.chunks_exact(2).all(|row| space.is_legal(row)));
            }
            Err(aoe_base::status::Error::Space { place, .. }) => prop_assert!(place.contains("constraints[0]"), "{place}"),
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}
