//! Spaces of known size, large spaces, samples, and messages.

use super::super::group::{Set, is_hopeless};
use super::{Parameter, Space, Value, integers, product};
use crate::{Algorithm, Domain, Outcome, Search, Settings, StopReason};
use aoe_base::status::Error;
use std::collections::{BTreeMap, HashSet};

const GEMM: [&str; 8] = [
    "KWG % KWI == 0",
    "MWG % (MDIMC * VWM) == 0",
    "NWG % (NDIMC * VWN) == 0",
    "MWG % (MDIMA * VWM) == 0",
    "NWG % (NDIMB * VWN) == 0",
    "KWG % ((MDIMC * NDIMC) / MDIMA) == 0",
    "KWG % ((MDIMC * NDIMC) / NDIMB) == 0",
    "not (MWG == 128 and NWG == 128 and MDIMC == 8 and NDIMC == 8)",
];

fn gemm() -> Vec<Parameter> {
    let (tiles, threads, widths, switch) = ([16, 32, 64, 128], [8, 16, 32], [1, 2, 4, 8], [0, 1]);
    vec![
        integers("MWG", &tiles),
        integers("NWG", &tiles),
        integers("KWG", &tiles[..2]),
        integers("MDIMC", &threads),
        integers("NDIMC", &threads),
        integers("MDIMA", &threads),
        integers("NDIMB", &threads),
        integers("KWI", &[2]),
        integers("VWM", &widths),
        integers("VWN", &widths),
        integers("STRM", &switch),
        integers("STRN", &switch),
        integers("SA", &switch),
        integers("SB", &switch),
    ]
}

/// The matrix product of a known library: 663,552 combinations, of which 116,928 are legal.
#[test]
fn the_matrix_product_has_its_known_size() {
    let space = Space::new(gemm(), &GEMM).unwrap();
    assert_eq!(space.sizes().iter().product::<u32>(), 663_552);
    assert_eq!(space.count(), Some(116_928));
    let flat = space.enumerate(116_928).unwrap();
    let rows: Vec<&[u32]> = flat.chunks_exact(14).collect();
    assert!(rows.is_sorted_by(|a, b| a < b));
    let value = |row: &[u32], name: &str| {
        let (_, value) = space.named(row).find(|(n, _)| *n == name).unwrap();
        let Value::Integer(value) = *value else { panic!("{name} is an integer") };
        value
    };
    // The constraints once more, in this language.
    let legal = |row: &[u32]| {
        let v = |name| value(row, name);
        let divides = |a: i64, b: i64| b % a == 0;
        divides(v("KWI"), v("KWG"))
            && divides(v("MDIMC") * v("VWM"), v("MWG"))
            && divides(v("NDIMC") * v("VWN"), v("NWG"))
            && divides(v("MDIMA") * v("VWM"), v("MWG"))
            && divides(v("NDIMB") * v("VWN"), v("NWG"))
            && divides(v("MDIMC") * v("NDIMC") / v("MDIMA"), v("KWG"))
            && divides(v("MDIMC") * v("NDIMC") / v("NDIMB"), v("KWG"))
            && [v("MWG"), v("NWG"), v("MDIMC"), v("NDIMC")] != [128, 128, 8, 8]
    };
    assert!(rows.iter().all(|row| legal(row)));
    // Rows are distinct and each is legal, so that none is missing when there are as many as brute force finds.
    let brute = product(space.sizes()).iter().filter(|row| legal(row)).count();
    assert_eq!(rows.len(), brute);
}

fn hotspot() -> (Vec<Parameter>, [&'static str; 3]) {
    let block: Vec<i64> = [1, 2, 4, 8].into_iter().chain((1..=32).map(|i| 32 * i)).chain([16]).collect();
    let ten: Vec<i64> = (1..=10).collect();
    let parameters = vec![
        integers("block_size_x", &block),
        integers("block_size_y", &[1, 2, 4, 8, 16, 32]),
        integers("tile_size_x", &ten),
        integers("tile_size_y", &ten),
        integers("temporal_tiling_factor", &ten),
        integers("loop_unroll_factor_t", &ten),
        integers("sh_power", &[0, 1]),
    ];
    let constraints = [
        "32 <= block_size_x * block_size_y <= 1024",
        "temporal_tiling_factor % loop_unroll_factor_t == 0",
        "(block_size_x * tile_size_x + temporal_tiling_factor * 2) * (block_size_y * tile_size_y + \
         temporal_tiling_factor * 2) * (2 + sh_power) * 4 <= 49152",
    ];
    (parameters, constraints)
}

/// A stencil with a limit on shared memory: 4,440,000 combinations, of which 82,984 are legal.
#[test]
fn the_stencil_has_its_known_size() {
    let (parameters, constraints) = hotspot();
    let space = Space::new(parameters, &constraints).unwrap();
    assert_eq!(space.sizes().iter().map(|&n| u64::from(n)).product::<u64>(), 4_440_000);
    assert_eq!(space.count(), Some(82_984));
    assert_eq!(space.enumerate(82_984).unwrap().len(), 82_984 * 7);
    assert_eq!(space.enumerate(82_983), None);
}

#[test]
fn independent_groups_multiply_beyond_what_can_be_listed() {
    // Thirty pairs of which 10 of 16 each are legal: 10^30 configurations.
    let mut parameters = Vec::new();
    let mut constraints = Vec::new();
    for i in 0..30 {
        parameters.push(integers(&format!("a{i}"), &[1, 2, 3, 4]));
        parameters.push(integers(&format!("b{i}"), &[1, 2, 3, 4]));
        constraints.push(format!("a{i} <= b{i}"));
    }
    let space = Space::new(parameters, &constraints).unwrap();
    let count = 10_u128.pow(30);
    assert_eq!(space.count(), Some(count));
    assert_eq!(space.enumerate(usize::MAX), None);
    for index in [0, 1, 999, count / 3, count - 1] {
        let configuration = space.configuration(index).unwrap();
        assert!(space.is_legal(&configuration));
        assert_eq!(space.index(&configuration), Some(index));
    }
    assert_eq!(space.configuration(count), None);
}

#[test]
fn a_count_beyond_128_bits_is_not_told_but_all_else_works() {
    let parameters: Vec<_> = (0..200).map(|i| integers(&format!("p{i}"), &[1, 2, 3, 4])).collect();
    let space = Space::new(parameters, &["p0 < p199"]).unwrap();
    assert_eq!((space.count(), space.configuration(0), space.enumerate(9)), (None, None, None));
    let sample = space.sample(&mut fastrand::Rng::with_seed(3)).unwrap();
    assert!(space.is_legal(&sample) && sample[0] < sample[199]);
}

fn eighteen(operator: &str, constraint: &str) -> Space {
    let ten: Vec<i64> = (1..=10).collect();
    let names: Vec<String> = (0..18).map(|i| format!("p{i}")).collect();
    let parameters = names.iter().map(|name| integers(name, &ten)).collect();
    Space::new(parameters, &[format!("{} {constraint}", names.join(operator))]).unwrap()
}

/// One constraint ties eighteen parameters of ten values together: 10^18 combinations in one group.
#[test]
fn a_group_too_large_to_list_is_merged() {
    // Sums by counting how many ways there are with one parameter more, the other way round.
    let mut ways = vec![0_u128; 181];
    ways[0] = 1;
    for _ in 0..18 {
        ways = (0..181).map(|sum| (1..=10.min(sum)).map(|value| ways[sum - value]).sum()).collect();
    }
    for (constraint, count) in [
        ("<= 40", ways[..=40].iter().sum::<u128>()),
        ("== 19", 18),
        ("== 99", ways[99]),
        (">= 120", ways[120..].iter().sum()),
    ] {
        let space = eighteen(" + ", constraint);
        assert_eq!(space.count(), Some(count), "{constraint}");
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..20 {
            let sample = space.sample(&mut rng).unwrap();
            assert!(space.is_legal(&sample));
            assert_eq!(space.configuration(space.index(&sample).unwrap()), Some(sample));
        }
    }
    // 2^20 * 3^5 in eighteen factors from 1 to 10.
    let product = eighteen(" * ", "== 254803968");
    let sample = product.sample(&mut fastrand::Rng::with_seed(7)).unwrap();
    assert_eq!(sample.iter().map(|&index| u64::from(index) + 1).product::<u64>(), 254_803_968);
    assert!(product.may_extend(&[7, 7, 7, 5]) && !product.may_extend(&[4]) && !product.may_extend(&[6]));
}

/// What follows depends on every value before, so that nothing can be shared.
#[test]
fn a_walked_group_finds_its_few_combinations() {
    let eight: Vec<i64> = (0..8).collect();
    let parameters: Vec<_> = (0..8).map(|i| integers(&format!("p{i}"), &eight)).collect();
    let pairs: Vec<String> = (0..8).flat_map(|i| (0..i).map(move |j| format!("p{i} != p{j}"))).collect();
    let listed = Space::new(parameters, &pairs).unwrap();
    assert_eq!(listed.count(), Some(40_320));
    let space = listed.walked(&pairs).unwrap();
    assert_eq!((space.count(), space.enumerate(usize::MAX), space.configuration(0)), (None, None, None));
    let mut rng = fastrand::Rng::with_seed(7);
    for _ in 0..20 {
        let sample = space.sample(&mut rng).unwrap();
        assert!(listed.is_legal(&sample) && space.is_legal(&sample), "{sample:?}");
    }
    assert!(space.may_extend(&[3, 5]) && !space.may_extend(&[3, 3]) && !space.is_legal(&[0; 8]));
}

/// Where the rest of a prefix is soon walked, it is known whether it leads anywhere; where it is not, it may.
#[test]
fn of_a_walked_set_short_looks_tell_which_prefixes_lead_nowhere() {
    let lists = |length: i64| {
        let values: Vec<i64> = (0..length).collect();
        ["a", "b", "c"].map(|name| integers(name, &values)).to_vec()
    };
    let constraint = ["(a * 7 + b * 11 + c * 13) % 101 == 5"];
    let few = Space::of_walked(lists(9), &constraint).unwrap();
    let legal = |c: &[u32]| (c[0] * 7 + c[1] * 11 + c[2] * 13) % 101 == 5;
    let mut dead = 0;
    for (a, b) in (0..9).flat_map(|a| (0..9).map(move |b| (a, b))) {
        let leads = (0..9).any(|c| legal(&[a, b, c]));
        assert_eq!(few.may_extend(&[a, b]), leads, "{a} {b}");
        dead += usize::from(!leads);
    }
    assert!(0 < dead && dead < 81, "{dead}");
    let never = Space::of_walked(lists(200), &["(a * 2 + b * 4 + c * 6) % 1000 == 7"]).unwrap();
    assert!(never.may_extend(&[0, 0]), "200 values are more than a short look");
}

/// Pearson's statistic against equal shares; 1 in 1000 fair samples exceeds the bound for 99 degrees of freedom.
#[test]
fn samples_are_fair() {
    const BOUND: f64 = 148.2;
    let ten: Vec<i64> = (1..=10).collect();
    let pair = vec![integers("a", &ten), integers("b", &ten), integers("c", &[1, 2, 4])];
    let constraints = ["a + b >= 2", "a * c >= 1", "c == 2"];
    let listed = Space::new(pair, &constraints).unwrap();
    let (walked, merged) = (listed.walked(&constraints).unwrap(), listed.merged(&constraints).unwrap());
    for space in [listed, walked, merged] {
        let mut rng = fastrand::Rng::with_seed(11);
        let mut counts: BTreeMap<Vec<u32>, f64> = BTreeMap::new();
        for _ in 0..20_000 {
            *counts.entry(space.sample(&mut rng).unwrap()).or_default() += 1.0;
        }
        assert_eq!(counts.len(), 100);
        let statistic: f64 = counts.values().map(|count| (count - 200.0).powi(2) / 200.0).sum();
        assert!(statistic < BOUND, "{statistic}");
    }
}

#[test]
fn a_listed_space_takes_little_memory() {
    let (parameters, constraints) = hotspot();
    let space = Space::new(parameters, &constraints).unwrap();
    let bytes: usize = space.groups.iter().map(super::super::group::Group::bytes).sum();
    // 64 bytes for each of 82,984 configurations and 7 parameters are allowed.
    assert!(bytes <= 82_984 * 7 * 4 + 1024, "{bytes}");
}

#[track_caller]
fn fails(json: &str, parts: &[&str]) -> String {
    let error = Space::from_json(json).unwrap_err();
    assert!(matches!(error, Error::Space { .. }), "{error:?}");
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
    message
}

fn with_constraints(constraints: &str) -> String {
    format!(
        r#"{{"parameters":[{{"name":"A","values":[1,2,4]}},{{"name":"B","values":[8,16]}}],"constraints":{constraints}}}"#
    )
}

#[test]
fn what_is_wrong_with_a_space_is_named() {
    fails("", &["JSON, line 1 column 0"]);
    fails("[]", &["JSON, line 1"]);
    fails(r#"{"parameters":[],"constrains":[]}"#, &["unknown field `constrains`", "`constraints`"]);
    fails(r#"{"constraints":[]}"#, &["missing field `parameters`"]);
    fails(r#"{"parameters":[]}"#, &["parameters", "at least one"]);
    let one = |values: &str| format!(r#"{{"parameters":[{{"name":"A","values":{values}}}]}}"#);
    fails(&one("[]"), &["parameter `A`", "no values"]);
    fails(&one("[1,2,1]"), &["parameter `A`", "values[2], the number 1, repeats values[0]"]);
    fails(&one("[1,1.0]"), &["values[1]", "repeats values[0]"]);
    fails(&one("[1,null]"), &["parameters[0] `A`", "values[1]", "neither a number nor"]);
    fails(&one("[1,\"x\"]"), &["values[1] is the text \"x\" and values[0] is the number 1"]);
    fails(&one("[18446744073709551615]"), &["values[0]", "beyond 64-bit"]);
    fails(r#"{"parameters":[{"name":"","values":[1]}]}"#, &["the name is empty"]);
    fails(
        r#"{"parameters":[{"name":"A","values":[1]},{"name":"B","values":[1]},{"name":"A","values":[1]}]}"#,
        &["parameter `A`", "parameters[0] and parameters[2]"],
    );
    fails(&with_constraints(r#"["A < B","B % = 2"]"#), &["constraints[1] `B % = 2`, column 5", "found `=`"]);
    fails(&with_constraints(r#"["A < C"]"#), &["constraints[0]", "column 5", "no parameter is called `C`", "A, B"]);
    let long = format!("{}A < C", "A > 0 and ".repeat(100_000));
    let message = fails(&with_constraints(&format!(r#"["{long}"]"#)), &["column 1000005", "`... and A > 0", "A < C`"]);
    assert!(message.len() < 1000, "{message}");
    fails(&with_constraints(r#"["1 > 2"]"#), &["constraints[0] `1 > 2`", "does not depend"]);
    fails(&with_constraints("[3]"), &["JSON, line 1", "expected a string"]);
}

#[test]
fn what_leaves_nothing_is_named() {
    fails(&with_constraints(r#"["A > 0", "A > 5"]"#), &["constraints[1] `A > 5`", "no value meets", "A (1, 2, 4)"]);
    fails(
        &with_constraints(r#"["A * B > 1", "A * B >= 32", "A + B <= 11"]"#),
        &["constraints[1] `A * B >= 32` and constraints[2] `A + B <= 11`", "together"],
    );
    fails(&with_constraints(r#"["A > 1 and B > 99"]"#), &["constraints[0]", "of B (8, 16)"]);
    // Each leaves something of A, together they do not.
    fails(
        &with_constraints(r#"["A > 2", "B == 8", "A * B != 32"]"#),
        &["constraints[0] `A > 2` and constraints[1] `B == 8`", "constraints[2] `A * B != 32`"],
    );
    fails(&with_constraints(r#"["B % (A - A) == 0"]"#), &["constraints[0]", "no value meets this constraint"]);
}

#[test]
fn up_to_six_values_are_named_and_of_more_the_ends() {
    let message = |values: &str| {
        let json = format!(r#"{{"parameters":[{{"name":"A","values":{values}}}],"constraints":["A > 99"]}}"#);
        fails(&json, &["no value meets"])
    };
    let six = message("[3,4,5,6,7,8]");
    assert!(six.contains("of A (3, 4, 5, 6, 7, 8)"), "{six}");
    let seven = message("[3,4,5,6,7,8,9]");
    assert!(seven.contains("of A (3 to 9, 7 values)"), "{seven}");
}

#[test]
fn two_guilty_constraints_are_found_among_thousands() {
    let mut constraints: Vec<String> = (0..3000).map(|i| format!("A + B > -{i}")).collect();
    constraints[700] = "B * A < 16".into();
    constraints[2300] = "B + A > 12".into();
    let json = with_constraints(&serde_json::to_string(&constraints).unwrap());
    let message = fails(&json, &["constraints[700] `B * A < 16` and constraints[2300] `B + A > 12`", "together"]);
    assert_eq!(message.matches("constraints[").count(), 2, "{message}");
}

#[test]
fn given_configurations_are_the_legal_set() {
    let space = |configurations: &str| {
        format!(
            r#"{{"parameters":[{{"name":"A","values":[4,1,2]}},{{"name":"L","values":["row","column"]}}],
                "constraints":["A < 4 or L == 'row'"],"configurations":{configurations}}}"#
        )
    };
    let listed = Space::from_json(&space("[[1,0],[0,0],[2,1]]")).unwrap();
    assert_eq!(listed.count(), Some(3));
    let all = listed.enumerate(3).unwrap();
    let named: Vec<String> = all
        .chunks_exact(2)
        .map(|row| listed.named(row).map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
        .collect();
    // Numbers are ascending inside, whatever the order given.
    assert_eq!(named, ["A=1 L=row", "A=2 L=column", "A=4 L=row"]);
    let given: Vec<u32> = all.chunks_exact(2).map(|row| listed.parameters()[0].given_index(row[0])).collect();
    assert_eq!(given, [1, 2, 0]);
    fails(&space("[]"), &["configurations", "none"]);
    fails(&space("[[0,0],[1]]"), &["configurations[1]", "1 indices", "2 parameters"]);
    fails(&space("[[0,0],[3,0]]"), &["configurations[1]", "index 3", "3 values of `A`"]);
    fails(&space("[[0,0],[1,1],[0,0]]"), &["configurations[2]", "repeats configurations[0]"]);
    fails(&space("[[0,1]]"), &["configurations[0]", "breaks constraints[0]"]);
    fails(&space("[[0,-1]]"), &["JSON"]);
}

#[test]
fn texts_and_truth_values_can_be_constrained() {
    let texts = Parameter::new("layout", ["row", "tile"].map(|t| Value::Text(t.into())).to_vec()).unwrap();
    let truths = Parameter::new("fast", vec![Value::Boolean(false), Value::Boolean(true)]).unwrap();
    let reals = Parameter::new("share", [0.25, 0.5, 0.75].map(Value::Real).to_vec()).unwrap();
    let constraints = ["not fast or layout in ['tile']", "fast + share * 4 <= 3"];
    let space = Space::new(vec![texts, truths, reals], &constraints).unwrap();
    assert_eq!(space.count(), Some(3 + 3 + 2));
}

/// One combination in 200,000 is legal, and one in 10,000 of the last prefixes leads anywhere.
fn scarce() -> Space {
    let twenty: Vec<i64> = (0..20).collect();
    let parameters = ["a", "b", "c", "d", "e", "f", "g"].map(|name| integers(name, &twenty)).to_vec();
    let sum = "a * 7919 + b * 104729 + c * 1299709 + d * 15485863 + e * 32452843 + f * 49979687 + g * 67867967";
    Space::of_walked(parameters, &[format!("({sum}) % 200003 == 12345")]).unwrap()
}

#[test]
fn where_legal_configurations_are_far_between_trials_still_come_from_everywhere() {
    let space = scarce();
    let settings = Settings { algorithm: Algorithm::Random, max_trials: 16, ..Settings::default() };
    let mut search = Search::new(&space, settings).unwrap();
    let mut first = HashSet::new();
    while let Some(trial) = search.ask() {
        assert!(space.is_legal(&trial.configuration));
        first.insert([trial.configuration[0], trial.configuration[1]]);
        search.tell(trial.id, Outcome::Failed).unwrap();
    }
    assert_eq!((search.stop_reason(), search.asked()), (Some(StopReason::Budget), 16));
    assert!(first.len() > 12, "{first:?}");
}

/// A set far too large is not listed to find that out; one that fits is, and one that nothing meets is found empty.
#[test]
fn listing_is_given_up_only_where_it_is_hopeless() {
    let places = |count: i64| {
        let values: Vec<i64> = (0..count).collect();
        let parameters: Vec<_> = (0..count).map(|i| integers(&format!("p{i}"), &values)).collect();
        let pairs: Vec<String> = (0..count).flat_map(|i| (0..i).map(move |j| format!("p{i} != p{j}"))).collect();
        Space::of_walked(parameters, &pairs).unwrap()
    };
    let program = |space: &Space| match &space.groups[0].set {
        Set::Walked(program) => program.clone(),
        other => panic!("{other:?}"),
    };
    assert!(!is_hopeless(&program(&places(8))), "40,320 orders of eight");
    assert!(is_hopeless(&program(&places(16))), "10^13 orders of sixteen");
    assert!(!is_hopeless(&program(&scarce())), "no dive finds one of the few");
}
