//! How much a walk, a diagram and a sample take, and what they are given.

use super::super::constraint;
use super::super::diagram::{Built, Diagram, Limits};
use super::super::program::{Choices, Ended, Program};
use super::{Parameter, Space, integers};
use crate::Domain;

/// The constraints compiled in the order of the parameters.
fn program(parameters: &[Parameter], constraints: &[&str]) -> Program {
    let (constraints, numbers) = constraint::read(parameters, constraints).unwrap();
    let choices: Vec<Choices> = numbers.into_iter().map(|numbers| (0..).zip(numbers).collect()).collect();
    let order: Vec<u32> = (0..parameters.len() as u32).collect();
    Program::new(&order, &choices, &constraints)
}

/// How many values a full walk tries, and what it finds.
fn walked(parameters: &[Parameter], constraints: &[&str]) -> (u64, Vec<Vec<u32>>) {
    let program = program(parameters, constraints);
    let (mut steps, mut found) = (1_000_000, Vec::new());
    let ended = program.walk(&mut program.start(), 0, &mut steps, |row| {
        found.push(row.to_vec());
        true
    });
    assert_eq!(ended, Ended::Complete);
    (1_000_000 - steps, found)
}

fn three(values: &[i64]) -> Vec<Parameter> {
    ["a", "b", "c"].map(|name| integers(name, values)).to_vec()
}

#[test]
fn a_condition_is_refuted_where_what_is_open_cannot_make_it_hold() {
    let all = three(&[1, 2, 3]);
    for (constraint, tried, found) in [
        // Nothing is refuted before the last value.
        ("a + b + c > 0", 3 + 9 + 27, 27),
        // No value of the first will do.
        ("a + b + c > 9", 3, 0),
        ("a * b * c == 28", 3, 0),
        ("a + b + c < 3", 3, 0),
        // Two begin what there is, of which one goes on with one value only.
        ("a + b + c >= 8", 3 + 6 + 9, 4),
        ("a == 2 and b == 3", 3 + 3 + 3, 3),
        ("c > 3", 0, 0),
        ("c == a + 2", 3 + 3 + 9, 3),
        ("not (a < 3 or b < 3)", 3 + 3 + 3, 3),
        ("min(a, b) == 3", 3 + 3 + 3, 3),
        ("max(a, c) == 1", 3 + 3 + 9, 3),
        ("abs(a - 5) == 4 or b > 5", 3 + 3 + 9, 9),
        ("a % 2 == 0 and c // 3 == 1", 3 + 3 + 9, 3),
    ] {
        let Ok((constraints, _)) = constraint::read(&all, &[constraint]) else { panic!("{constraint}") };
        if constraint == "c > 3" {
            // A condition of one parameter is decided at its level.
            assert_eq!(constraints[0].parameters, [2]);
            assert_eq!(walked(&all, &[constraint]).1.len(), 0);
            continue;
        }
        let (steps, rows) = walked(&all, &[constraint]);
        assert_eq!((steps, rows.len()), (tried, found), "{constraint}");
    }
}

#[test]
fn a_walk_ends_where_its_steps_do_and_where_the_visitor_has_enough() {
    let program = program(&three(&[1, 2, 3]), &["a < b", "b < c"]);
    let walk = |mut steps: u64, enough: usize| {
        let mut found = 0;
        let ended = program.walk(&mut program.start(), 0, &mut steps, |_| {
            found += 1;
            found < enough
        });
        (ended, steps, found)
    };
    // a = 1 with b = 1, 2, 3 of which 2 goes on; a = 2 with b = 3 alone, which ends nowhere; a = 3 is refuted.
    let (ended, left, found) = walk(1000, 100);
    let all = 1000 - left;
    assert_eq!((ended, found), (Ended::Complete, 1));
    assert_eq!(walk(all, 100), (Ended::Complete, 0, 1));
    assert_eq!(walk(all - 1, 100).0, Ended::OutOfSteps);
    assert_eq!(walk(1000, 1).0, Ended::Stopped);
}

#[test]
fn a_diagram_takes_no_more_than_it_is_given_and_no_less_will_do() {
    let parameters = [integers("a", &[0, 1, 2]), integers("b", &[0, 1, 2])];
    let program = program(&parameters, &["a + b <= 2"]);
    let build = |limits: Limits| match Diagram::build(&program, limits) {
        Built::Diagram(diagram) => Some(diagram),
        Built::TooLarge => None,
        Built::Nothing => panic!("there are combinations"),
    };
    // Three ways to begin, with three, two and one to go on; a result tells each from the others.
    let enough = Limits { edges: 3 + 6, tries: 3 + 9, results: 1 + 3 * 2 };
    let diagram = build(enough).unwrap();
    assert_eq!(diagram.count(diagram.root()), 6);
    assert_eq!(diagram.edges(diagram.root()).len(), 3);
    assert_eq!(diagram.combinations(2), [0, 0, 0, 1, 0, 2, 1, 0, 1, 1, 2, 0]);
    let begun = diagram.next(diagram.root(), 2).unwrap();
    assert_eq!((diagram.count(begun), diagram.next(begun, 1), diagram.next(diagram.root(), 3)), (1, None, None));
    for short in [
        Limits { edges: enough.edges - 1, ..enough },
        Limits { tries: enough.tries - 1, ..enough },
        Limits { results: enough.results - 1, ..enough },
    ] {
        assert!(build(short).is_none(), "{short:?}");
    }
}

#[test]
fn what_nothing_tells_apart_goes_on_alike() {
    let many: Vec<Parameter> = (0..40).map(|i| integers(&format!("p{i}"), &[0, 1])).collect();
    let sum: Vec<String> = (0..40).map(|i| format!("p{i}")).collect();
    let program = program(&many, &[&format!("{} == 20", sum.join(" + "))]);
    // The sum so far is all that matters: at most 21 nodes a level.
    let limits = Limits { edges: 40 * 21 * 2, tries: 40 * 21 * 2, results: 40 * 21 * 2 };
    let Built::Diagram(diagram) = Diagram::build(&program, limits) else { panic!("it is small") };
    assert_eq!(diagram.count(diagram.root()), 137_846_528_820, "20 of 40");
}

#[test]
fn paths_are_as_long_as_calls_go_deep() {
    let build = |width: usize| {
        let many: Vec<Parameter> = (0..width).map(|i| integers(&format!("p{i}"), &[7])).collect();
        let limits = Limits { edges: 10_000, tries: 10_000, results: 10_000 };
        Diagram::build(&program(&many, &[]), limits)
    };
    assert!(matches!(build(512), Built::Diagram(diagram) if diagram.count(diagram.root()) == 1));
    assert!(matches!(build(513), Built::TooLarge));
}

#[test]
fn a_sample_takes_a_step_for_each_value_and_none_is_left_out() {
    let space = Space::new(three(&[1, 2, 3]), &["a < b"]).unwrap();
    let mut rng = fastrand::Rng::with_seed(3);
    assert_eq!(space.sample_within(&mut rng, &mut { 2 }), None);
    let mut steps = 10;
    assert!(space.sample_within(&mut rng, &mut steps).is_some());
    assert_eq!(steps, 7);
    let drawn: std::collections::BTreeSet<_> = (0..500).map(|_| space.sample(&mut rng).unwrap()).collect();
    assert_eq!(drawn.len(), 9);
    assert!(drawn.iter().all(|row| space.is_legal(row)));
}
