//! The headline is what CANN takes, whichever job found it: subgraphs that are tuned first change nothing that operators are
//! looked up by, and `aoe bank check` finds what the headline counts.

use super::resnet50::{Caffe, resnet50};
use super::{Place, Value, model};

/// What a tuning says of its gain, and what it left.
struct Told {
    place: Place,
    report: Value,
}

/// The network tuned with these options into the folder `out` of a place of its own.
fn tuned(network: &str, options: &[&str], job: &[&str]) -> Told {
    let place = Place::new();
    if !network.starts_with('/') {
        std::fs::write(place.path(network), resnet50(Caffe::new())).unwrap();
    }
    let always = ["-m", network, "--backend=simulator", "--max_tuning_count=60", "--output=out/"];
    place.run(&[&always[..], &["--profiling_mode=true"], options, job].concat()).expect(0, &[]);
    let report = serde_json::from_slice(&std::fs::read(place.path("out/report.json")).unwrap()).unwrap();
    Told { place, report }
}

fn us(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// Nanoseconds, which is what result files tell.
fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() < 2e-3
}

/// The same with numbers rounded: sums of another order differ in their last bits.
fn to_the_nanosecond(value: &Value) -> Value {
    match value {
        Value::Number(number) => format!("{:.3}", number.as_f64().unwrap()).into(),
        Value::Array(items) => items.iter().map(to_the_nanosecond).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), to_the_nanosecond(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

/// Kernels that find a record in the bank of the run, and distinct ones among them.
fn hits(told: &Told, network: &str, options: &[&str]) -> (u64, u64) {
    let bank = format!("--bank={}", told.place.path("bank").display());
    let check = [&["bank", "check", network, &bank, "--json"][..], options].concat();
    let said = told.place.run(&check).stdout;
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let distinct = lines.iter().filter(|line| line["found"] == "hit").count() as u64;
    (lines.last().unwrap()["hits"].as_u64().unwrap(), distinct)
}

/// Every place that tells a time before or after tells the same.
fn is_told_alike_everywhere(told: &Told) {
    let report = &told.report;
    let over = &report["gains"]["over_default"];
    let [before, after] = [us(&over["before_us"]), us(&over["after_us"])];
    let near = |name: &str, value: f64, expected: f64| assert!(is_near(value, expected), "{name}: {value}, {expected}");
    near("report", us(&report["before_us"]), before);
    near("report", us(&report["after_us"]), after);
    for result in told.place.results_in("out") {
        let job = &result[1];
        let job = if job["OPAT"].is_null() { &job["SGAT"] } else { &job["OPAT"] };
        near("baseline of a result file", 1e3 * us(&job["model_baseline_performance(ms)"]), before);
    }
    let gears = report["gains"]["gears"].as_array().unwrap();
    if !gears.is_empty() {
        let sum = |name: &str| gears.iter().map(|gear| us(&gear[name])).sum::<f64>();
        near("gears before", sum("before_us"), before);
        near("gears after", sum("after_us"), after);
    }
    for (moment, expected) in [("before", before), ("after", after)] {
        let launched: f64 = report["runs"][moment].as_array().unwrap().iter().map(|launched| us(&launched["us"])).sum();
        assert!((launched - expected).abs() < 1e-6 * expected, "runs {moment}: {launched}, {expected}");
    }
}

#[test]
fn the_default_job_says_the_gain_that_operators_alone_have_and_cann_finds_every_record_that_it_counts() {
    let (resnet50, bert) = (model("resnet50.onnx"), model("bert_base.onnx"));
    let batch = ["--input_shape=input:8,3,224,224"];
    let gears = ["--input_shape=input:-1,3,224,224", "--dynamic_batch_size=1,8"];
    let networks: [(&str, &[&str]); 4] =
        [(&resnet50, &[]), (&bert, &[]), ("net.prototxt", &batch), ("net.prototxt", &gears)];
    for (network, options) in networks {
        let options = [&["--soc_version=Ascend910B2"], options].concat();
        let (both, operators) = (tuned(network, &options, &[]), tuned(network, &options, &["-j", "2"]));
        for field in ["over_default", "readers", "gears"] {
            let told = [&both, &operators].map(|told| to_the_nanosecond(&told.report["gains"][field]));
            assert_eq!(told[0], told[1], "{network} {options:?}: {field}");
        }
        for told in [&both, &operators] {
            is_told_alike_everywhere(told);
            if options.len() < 3 {
                let readers = told.report["gains"]["readers"].as_object().unwrap();
                let added: u64 = readers.values().map(|reader| reader["added"].as_u64().unwrap()).sum();
                let (hits, distinct) = hits(told, network, &options);
                assert!(
                    distinct == added && hits >= distinct,
                    "{network} {options:?}: {added} added, {distinct} found"
                );
            }
        }
        let found = us(&both.report["before_us"]) - us(&both.report["found_us"]);
        let unsure = us(&both.report["gains"]["not_sure"]["saved_us"]);
        assert!(found > 0.0 || unsure > 0.0, "{network} {options:?} gains nothing: it shows nothing");
    }
}
