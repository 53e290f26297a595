//! What is told of graphs of GE's that are tuned all the same, by a tuning and by `aoe model check`.

use super::Place;

fn desc(field: &str, dtype: &str, dims: &[i64]) -> String {
    let dims = dims.iter().map(|dim| format!("dim: {dim}")).collect::<Vec<_>>().join(" ");
    format!("{field} {{ dtype: {dtype} shape {{ {dims} }} layout: \"NCHW\" }}\n")
}

fn ints(name: &str, values: &[i64]) -> String {
    let values = values.iter().map(|value| format!("i: {value}")).collect::<Vec<_>>().join(" ");
    format!("attr {{ key: \"{name}\" value {{ list {{ {values} val_type: VT_LIST_INT }} }} }}\n")
}

fn data(name: &str, index: i64, dtype: &str, dims: &[i64]) -> String {
    let (input, output) = (desc("input_desc", dtype, dims), desc("output_desc", dtype, dims));
    format!(
        "op {{ name: \"{name}\" type: \"Data\" attr {{ key: \"index\" value {{ i: {index} }} }} {input} {output} }}\n"
    )
}

/// A convolution of x [1,64,56,56] with w [64,`taken`,3,3] of another type, its strides, and its place among the inputs.
fn convolution(dtype: &str, taken: i64, index: i64, strides: &[i64]) -> String {
    let attrs = [ints("strides", strides), ints("pads", &[1, 1, 1, 1])].concat();
    let nodes = [
        data("x", 0, "DT_FLOAT16", &[1, 64, 56, 56]),
        data("w", index, dtype, &[64, taken, 3, 3]),
        format!("op {{ name: \"conv\" type: \"Conv2D\" input: \"x:0\" input: \"w:0\" {attrs} output_desc {{ }} }}\n"),
        "op { name: \"out\" type: \"NetOutput\" input: \"conv:0\" }".to_owned(),
    ];
    format!("graph {{ name: \"g\"\n{}\n}}\n", nodes.concat())
}

#[test]
fn what_ge_would_not_take_as_it_is_read_here_is_told_by_name() {
    let place = Place::new();
    let second = "graph { name: \"other\" op { name: \"y\" type: \"Data\" } }\n";
    let plain = convolution("DT_FLOAT16", 64, 1, &[1, 1, 1, 1]);
    let cases = [
        (format!("{plain}{second}"), "nothing calls graph `other`: `g`, the first of the file, is the network"),
        (convolution("DT_FLOAT16", 64, 0, &[1, 1, 1, 1]), "node `w` (Data) has attribute `index` 0, as input `x` has"),
        (
            convolution("DT_FLOAT", 64, 1, &[1, 1, 1, 1]),
            "node `conv` (Conv2D) multiplies float16 at `x` with float32 at `filter`",
        ),
        (
            convolution("DT_FLOAT16", 64, 1, &[2, 1, 1, 1]),
            "node `conv` (Conv2D) has 2 for the images in `strides` [2, 1, 1, 1]",
        ),
        (
            convolution("DT_FLOAT16", 1, 1, &[1, 1, 1, 1]),
            "groups are read off the channels of image and filter, as no attribute states them: `conv` (64)",
        ),
    ];
    let told = |text: &str| {
        std::fs::write(place.path("g.txt"), text).unwrap();
        place.tune(&["-m", "g.txt", "--log=info"]).expect(0, &[]).stderr
    };
    let nothing = told(&plain);
    for (text, said) in cases {
        assert!(!nothing.contains(said), "{nothing}");
        let answer = told(&text);
        assert_eq!(answer.matches(said).count(), 1, "`{said}` once in: {answer}");
        // What the reading of groups is, GE's own is, too.
        let (_, finding) = said.split_once(") ").unwrap_or(("", said));
        if !said.starts_with("groups") {
            let checked = place.run(&["model", "check", "g.txt"]);
            assert!(checked.stdout.contains(finding), "`{finding}` is missing in: {checked:#?}");
        }
    }
}

#[test]
fn operators_of_detectors_end_no_network_and_a_cast_to_no_type_is_an_error() {
    let place = Place::new();
    let detector = |op_type: &str, attrs: &str| {
        let nodes = [
            data("x", 0, "DT_FLOAT16", &[1, 255, 13, 13]),
            format!("op {{ name: \"head\" type: \"{op_type}\" input: \"x:0\" {attrs} output_desc {{ }} }}\n"),
            "op { name: \"r\" type: \"Relu\" input: \"head:0\" output_desc { } }\n".to_owned(),
            "op { name: \"out\" type: \"NetOutput\" input: \"r:0\" }".to_owned(),
        ];
        std::fs::write(place.path("g.txt"), format!("graph {{ name: \"g\"\n{}\n}}\n", nodes.concat())).unwrap();
        place.tune(&["-m", "g.txt"])
    };
    let stride = "attr { key: \"stride\" value { i: 13 } }";
    let sizes = "attr { key: \"min_size\" value { list { f: 30.0 val_type: VT_LIST_FLOAT } } }";
    for (op_type, attrs) in [("Yolo", ""), ("SPP", ""), ("PriorBox", sizes), ("Reorg", stride), ("Aipp", "")] {
        let answer = detector(op_type, attrs).expect(0, &[]);
        assert!(!answer.stderr.contains("left out"), "{op_type}: {answer:#?}");
    }
    let wrong = "attr { key: \"dst_type\" value { i: 999 } }";
    detector("Cast", wrong).expect(1, &["node `head` (Cast)", "`dst_type` is 999, which is no element type"]);
    let checked = place.run(&["model", "check", "g.txt"]);
    assert!(checked.stdout.contains("`dst_type` is 999"), "{checked:#?}");
}
