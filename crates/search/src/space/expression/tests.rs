use super::super::parameter::Parameter;
use super::super::value::{Number, Value};
use super::{Expression, Fault, Names, Node, Range, parse, tokens};

fn parameters() -> Vec<Parameter> {
    let integers =
        |name: &str, values: &[i64]| Parameter::new(name, values.iter().map(|&v| Value::Integer(v)).collect()).unwrap();
    let texts = ["row", "column"].map(|text| Value::Text(text.into())).to_vec();
    vec![
        integers("a", &[0, 3, 6]),
        integers("b", &[-2, 4]),
        Parameter::new("layout", texts).unwrap(),
        Parameter::new("fast", vec![Value::Boolean(false), Value::Boolean(true)]).unwrap(),
        Parameter::new("scale", vec![Value::Real(0.5)]).unwrap(),
    ]
}

fn read(text: &str) -> Result<(Expression, Names), Fault> {
    let tokens = tokens(text)?;
    let names = Names::new(&parameters(), &tokens);
    Ok((parse(&tokens, &names)?, names))
}

/// The value of an expression for a = 6, b = 4, layout = row, fast = true, scale = 0.5.
#[track_caller]
fn value(text: &str) -> Number {
    let (expression, names) = read(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
    let values =
        [Value::Integer(6), Value::Integer(4), Value::Text("row".into()), Value::Boolean(true), Value::Real(0.5)];
    let mut results: Vec<Number> = Vec::new();
    for node in &expression.nodes {
        let number = match *node {
            Node::Constant(number) => number,
            Node::Parameter(parameter) => names.number(&values[parameter as usize]),
            Node::Unary(unary, a) => unary.apply(results[a as usize]),
            Node::Binary(binary, a, b) => binary.apply(results[a as usize], results[b as usize]),
        };
        results.push(number);
    }
    results[expression.root as usize]
}

#[test]
fn expressions_mean_what_python_says() {
    for (text, expected) in [
        ("a + b * 2 - 1", 13),
        ("(a + b) * 2", 20),
        ("-a ** 2", -36),
        ("2 ** 3 ** 2", 512),
        ("2 ** -1 * 4", 2),
        ("a // b * b + a % b", 6),
        ("-7 // 2 + -7 % 2", -3),
        ("a / 3 % 2", 0),
        ("min(a, b, 5) + max(a, b) + abs(-b)", 14),
        ("0x10 + 1_000", 1016),
        ("fast + 1", 2),
    ] {
        let value = value(text).real();
        assert_eq!(value, Some(f64::from(expected)), "{text}");
    }
    assert_eq!(value("a / b"), Number::Real(1.5));
    assert_eq!(value("scale * 1e1 + .5"), Number::Real(5.5));
}

#[test]
fn conditions_mean_what_python_and_c_say() {
    for text in [
        "a == 6 and b == 4",
        "a == 6 && (b != 4 || a > b)",
        "not a == 5",
        "!(a == 5)",
        "!a == 0",
        "not not fast",
        "2 < b < a <= 6",
        "a in [1, 6]",
        "a not in (1, 2,)",
        "a in {b + 2}",
        "layout == 'row'",
        "layout in [\"row\", 'diagonal']",
        "layout != 'column' and 'column' < layout",
        "fast and True and not false",
        "fast == 1",
        "a % 3 == 0 or a / 0 == 1",
        "a",
        "a == 6 or b % (a - 6) == 0",
        "a * scale == 3",
    ] {
        assert_eq!(value(text).truth(), Some(true), "{text}");
    }
    for text in ["a < b < 9", "a != 6 || b", "a in [1] or b == 5 and fast", "not fast", "layout == 'diagonal'"] {
        let expected = text == "a != 6 || b";
        assert_eq!(value(text).truth(), Some(expected), "{text}");
    }
    // A left side that leaves the answer open has the right side's value, or none.
    assert_eq!(value("a != 6 or b % (a - 6) == 0"), Number::Undefined);
    assert_eq!(value("b % (a - 6) == 0 or True"), Number::Undefined);
}

#[test]
fn what_is_wrong_is_told_with_its_column() {
    for (text, column, reason) in [
        ("", 1, "found the end"),
        ("a %% b", 4, "found `%`"),
        ("a % b == ", 10, "found the end"),
        ("(a + b", 7, "expected `)`"),
        ("a + b)", 6, "found `)`"),
        ("a b", 3, "expected an operator, found `b`"),
        ("a = 6", 3, "write `==`"),
        ("a & 1", 3, "write `and` or `&&`"),
        ("a == 6; b == 4", 7, "an entry of its own"),
        ("aa == 6", 1, "no parameter is called `aa`"),
        ("layot == 'row'", 1, "did you mean `layout`?"),
        ("b == 4 and Fats", 12, "did you mean `fast`?"),
        ("a * 'text'", 5, "`*` takes numbers"),
        ("layout + 1 == 2", 1, "`+` takes numbers"),
        ("-layout == 1", 2, "`-` takes numbers"),
        ("layout == 1", 8, "cannot compare a text (column 1) with a number (column 11)"),
        ("layout in [1]", 8, "cannot compare"),
        ("layout", 1, "neither true nor false"),
        ("layout and fast", 1, "`and` takes numbers"),
        ("min(layout, 'x') == 1", 5, "`min` takes numbers"),
        ("a / 0 == 1 / 0", 12, "divides by zero"),
        ("2 ** 80 < a", 3, "beyond 64 bits"),
        ("99999999999999999999 < a", 1, "beyond 64-bit"),
        ("sqrt(a) == 2", 1, "no function `sqrt`"),
        ("abs(a, b) == 2", 8, "takes one value"),
        ("max(a) == 2", 1, "two values or more"),
        ("a in 3", 6, "expected a list"),
        ("a in []", 7, "expected a value, found `]`"),
        ("a not b", 3, "found `not`"),
        ("12ab == a", 1, "`12ab` is not a number"),
        ("layout == 'row", 11, "lacks its closing '"),
        ("a == 6 $", 8, "means nothing here"),
        ("a and or b", 7, "expected a value, found `or`"),
        // Columns count characters, not bytes.
        ("'é' == layout @", 15, "means nothing here"),
    ] {
        let fault = read(text).map(|_| ()).unwrap_err();
        assert_eq!(fault.column, column, "{text}: {fault:?}");
        assert!(fault.reason.contains(reason), "{text}: {fault:?}");
    }
}

#[test]
fn depth_is_bounded_and_length_is_not() {
    for nested in ["(", "not ", "- ", "!", "a ** ", "max(a, "] {
        let text = format!("{}a", nested.repeat(100_000));
        let fault = read(&text).map(|_| ()).unwrap_err();
        assert!(fault.reason.contains("inside each other"), "{nested}: {fault:?}");
    }
    let long = format!("a{} > 0", " + a".repeat(100_000));
    assert_eq!(value(&long).truth(), Some(true));
}

/// Ranges hold whatever the operands in them give.
#[test]
fn ranges_hold_every_result() {
    use super::{Binary, Unary};
    let numbers: Vec<Number> = [-9, -2, -1, 0, 1, 2, 3, 7, (1 << 53) + 1, i64::MAX]
        .map(Number::Integer)
        .into_iter()
        .chain([-2.5, -0.5, 0.25, 3.5, 1e18].map(Number::Real))
        .collect();
    let binaries = [
        Binary::Add,
        Binary::Subtract,
        Binary::Multiply,
        Binary::Divide,
        Binary::DivideDown,
        Binary::Remainder,
        Binary::Power,
        Binary::Minimum,
        Binary::Maximum,
        Binary::Equal,
        Binary::NotEqual,
        Binary::Less,
        Binary::LessOrEqual,
        Binary::And,
        Binary::Or,
    ];
    let holds = |range: Range, number: Number| number == Number::Undefined || range.hull(Range::point(number)) == range;
    let pairs: Vec<(Number, Number)> = numbers.iter().flat_map(|&a| numbers.iter().map(move |&b| (a, b))).collect();
    for &(a, b) in &pairs {
        let left = Range::point(a).hull(Range::point(b));
        for unary in [Unary::Negate, Unary::Magnitude, Unary::Not] {
            let range = Range::unary(unary, left);
            assert!(holds(range, unary.apply(a)) && holds(range, unary.apply(b)), "{unary:?} {a:?} {b:?} {range:?}");
        }
        for &(c, d) in &pairs {
            let right = Range::point(c).hull(Range::point(d));
            for binary in binaries {
                let range = Range::binary(binary, left, right);
                for (x, y) in [(a, c), (a, d), (b, c), (b, d)] {
                    let result = binary.apply(x, y);
                    assert!(holds(range, result), "{binary:?} {x:?} {y:?} = {result:?} in {range:?}");
                    assert!(result.truth() != Some(true) || range.may_hold(), "{binary:?} {x:?} {y:?} {range:?}");
                }
            }
        }
    }
}

#[test]
fn what_has_no_value_or_is_zero_alone_does_not_hold() {
    assert!(!Range::NONE.may_hold() && !Range::point(Number::Integer(0)).may_hold());
    assert!(Range::point(Number::Integer(3)).may_hold() && Range::ALL.may_hold());
    assert!(Range::point(Number::Integer(0)).hull(Range::point(Number::Integer(-1))).may_hold());
}

/// What is too wide refutes too late.
#[test]
fn ranges_of_small_integers_are_as_narrow_as_can_be() {
    use super::{Binary, Unary};
    let between = |low: i64, high: i64| {
        let [low, high] = [low, high].map(|bound| Range::point(Number::Integer(bound)));
        low.hull(high)
    };
    let hull = |results: Vec<Number>| results.into_iter().map(Range::point).fold(Range::NONE, Range::hull);
    let bounds: Vec<(i64, i64)> = (-3..=3).flat_map(|low| (low..=3).map(move |high| (low, high))).collect();
    for &(a, b) in &bounds {
        for unary in [Unary::Negate, Unary::Magnitude, Unary::Not] {
            let exact = hull((a..=b).map(|x| unary.apply(Number::Integer(x))).collect());
            assert_eq!(Range::unary(unary, between(a, b)), exact, "{unary:?} {a} to {b}");
        }
        for &(c, d) in &bounds {
            let results = |binary: Binary| {
                let all = (a..=b).flat_map(|x| (c..=d).map(move |y| (Number::Integer(x), Number::Integer(y))));
                all.map(|(x, y)| binary.apply(x, y)).collect()
            };
            let mut exact = vec![
                Binary::Add,
                Binary::Subtract,
                Binary::Multiply,
                Binary::Minimum,
                Binary::Maximum,
                Binary::Equal,
                Binary::NotEqual,
                Binary::Less,
                Binary::LessOrEqual,
                Binary::And,
                Binary::Or,
            ];
            if c > 0 || d < 0 {
                exact.extend([Binary::Divide, Binary::DivideDown]);
            }
            if a == b && c == d && c > 0 && a >= 0 && a < c {
                exact.push(Binary::Remainder);
            }
            for binary in exact {
                let (found, least) = (Range::binary(binary, between(a, b), between(c, d)), hull(results(binary)));
                assert_eq!(found, least, "{binary:?} {a} to {b}, {c} to {d}");
            }
        }
    }
    // A rest is below the divisor and no more than what is divided, and has the divisor's sign.
    let rest = |a: (i64, i64), b: (i64, i64)| Range::binary(Binary::Remainder, between(a.0, a.1), between(b.0, b.1));
    assert_eq!(rest((2, 5), (7, 9)), between(2, 5));
    assert_eq!(rest((2, 5), (4, 9)), between(0, 5));
    assert_eq!(rest((2, 50), (4, 9)), between(0, 9));
    assert_eq!(rest((-2, 5), (7, 9)), between(0, 9));
    assert_eq!(rest((2, 5), (-9, -4)), between(-9, 0));
    assert_eq!(rest((2, 5), (-4, 3)), between(-4, 3));
    assert_eq!(rest((2, 5), (0, 0)), Range::NONE);
    // What may be divided by zero may be anything.
    assert_eq!(Range::binary(Binary::Divide, between(1, 2), between(-1, 1)), Range::ALL);
    assert_eq!(Range::binary(Binary::Divide, between(1, 2), between(0, 0)), Range::NONE);
    let power = Range::binary(Binary::Power, between(2, 3), between(1, 2));
    assert!(
        power.hull(between(2, 9)) == power && power.hull(between(1, 9)) != power && power.hull(between(2, 10)) != power
    );
    assert_eq!(Range::binary(Binary::Power, between(0, 3), between(1, 2)), Range::ALL);
    assert_eq!(Range::binary(Binary::Power, between(1, 3), between(-1, 2)), Range::ALL);
}

#[test]
fn what_has_no_value_leaves_only_that_open_which_it_decides() {
    use super::{Binary, Unary};
    let (none, no, yes) = (Number::Undefined, Number::Integer(0), Number::Integer(1));
    for (a, b, and, or) in [
        (none, yes, none, none),
        (none, no, none, none),
        (no, none, no, none),
        (yes, none, none, yes),
        (no, yes, no, yes),
        (yes, no, no, yes),
        (Number::Real(0.5), Number::Real(-2.0), yes, yes),
        (no, Number::Real(0.0), no, no),
    ] {
        assert_eq!((Binary::And.apply(a, b), Binary::Or.apply(a, b)), (and, or), "{a:?} {b:?}");
    }
    assert_eq!([none, no, yes].map(|number| Unary::Not.apply(number)), [none, yes, no]);
    let all = [Binary::Equal, Binary::NotEqual, Binary::Less, Binary::LessOrEqual, Binary::Minimum, Binary::Maximum];
    assert!(all.into_iter().all(|binary| binary.apply(none, yes) == none && binary.apply(yes, none) == none));
    // The range of none is none: what it decides is not open.
    let point = Range::point;
    assert_eq!(Range::binary(Binary::And, Range::NONE, point(yes)), Range::NONE);
    assert_eq!(Range::binary(Binary::Or, Range::NONE, point(no)), Range::NONE);
    assert_eq!(Range::binary(Binary::And, point(no), Range::NONE), point(no));
    assert_eq!(Range::binary(Binary::Or, point(yes), Range::NONE), point(yes));
    assert_eq!(Range::binary(Binary::And, point(yes), Range::NONE), Range::NONE);
    assert_eq!(Range::binary(Binary::Or, point(no), Range::NONE), Range::NONE);
}
