//! Texts are those of Python's `json`.

use super::Value;

#[test]
fn text_is_that_of_pythons_json_dumps() {
    // Left what is read, right what json.dumps(json.loads(..)) of CPython 3.11 gives.
    let cases = [
        (r#"{"b":1,"a":[true,null,false],"c":{}}"#, r#"{"b": 1, "a": [true, null, false], "c": {}}"#),
        (r#"{"a":1,"b":2,"a":3}"#, r#"{"a": 3, "b": 2}"#),
        ("-0", "0"),
        ("-0.0", "-0.0"),
        ("1E5", "100000.0"),
        ("1e16", "1e+16"),
        ("9999999999999998.0", "9999999999999998.0"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("0.0001", "0.0001"),
        ("0.00001", "1e-05"),
        ("1.5e-7", "1.5e-07"),
        ("1e-300", "1e-300"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("1e400", "Infinity"),
        ("225.54", "225.54"),
        ("0.1", "0.1"),
        ("1.0", "1.0"),
        ("100000000000000000.0", "1e+17"),
        (
            r#""é\u00e9 😀 \ud83d\ude00 \u007f \/ \b\f\n\r\t \" \\ \u0001""#,
            r#""\u00e9\u00e9 \ud83d\ude00 \ud83d\ude00 \u007f / \b\f\n\r\t \" \\ \u0001""#,
        ),
        ("[[], [ ], {} ]", "[[], [], {}]"),
    ];
    for (read, written) in cases {
        assert_eq!(Value::parse(read).unwrap().dumps(), written, "{read}");
    }
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(Value::parse(&nested(60)).is_ok());
    assert!(Value::parse(&nested(100)).unwrap_err().contains("deeper"));
    assert!(Value::parse(&nested(100_000)).is_err());
}
