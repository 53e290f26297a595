//! What is written is read back by the same types, and nothing is lost on the way.

use super::*;
use crate::report::model::Report;
use crate::report::{OmWriter, TunedModel};
use crate::status::{Error, Result};

fn read(text: &str) -> Result<Report<'static>> {
    Report::read(text, Path::new("some/report.json"))
}

/// A report read and written again.
fn again(text: &str) -> Value {
    serde_json::to_value(read(text).unwrap()).unwrap()
}

/// A context that fills every part of a report.
fn whole_context() -> Context {
    let model = TunedModel {
        air: "net.air".into(),
        om: "net.om".into(),
        om_by: OmWriter::Libaoe(None),
        gear: Some("batch=1".into()),
    };
    let second = TunedModel { gear: Some("batch=4".into()), ..model.clone() };
    Context {
        bank_root: Some("/work".into()),
        dry_run: true,
        subgraph_bank: Some("/bank/subgraphs.json".into()),
        timeline: Some("timeline.json".into()),
        gradient_summary: Some("summary.csv".into()),
        tuned_models: vec![model, second],
        profiles: Some(["before".into(), "after".into()]),
        runs: Some(runs::of_sizes([4096, 8192].into_iter())),
        options: [("job_type".to_owned(), "1,2".to_owned())].into(),
        earlier: vec![serde_json::from_value(json!({
            "after_us": 1.0, "before_us": 2.0, "began": "20260101_000000000", "graph": "net", "improvement": "100.00%",
            "interval": ["90.00%", "110.00%"], "is_part": false
        })).unwrap()],
        ..context(Path::new("."))
    }
}

#[test]
fn every_report_is_read_and_written_again_as_it_was() {
    let (subgraphs, mut operators) = (sgat::subgraphs(true), outcome(true));
    let tiling = Timed { schedule: schedule(4), us: 1.0 };
    (operators.cases[0].banked, operators.cases[3].unsure) = (Some(tiling.clone()), Some(tiling));
    operators.cases[4].status = BankStatus::Failed("no such kernel".into());
    operators.tuning.gears = vec!["batch=1".into()];
    let (one, two) = (gdat::gradients(), gdat::of_two_groups());
    let contexts = [whole_context(), context(Path::new(".")), Context { soc: None, ..context(Path::new(".")) }];
    for context in contexts {
        for tuned in [
            Tuned::Operators(Some(&subgraphs), &operators),
            Tuned::Operators(None, &outcome(false)),
            Tuned::Subgraphs(&subgraphs),
            Tuned::Gradients(&one),
            Tuned::Gradients(&two),
        ] {
            let text = full_report(tuned, &context).unwrap();
            assert_eq!(again(&text), serde_json::from_str::<Value>(&text).unwrap());
            assert_eq!(counts::to_text(&read(&text).unwrap()).unwrap(), text, "the order of the keys stays");
        }
    }
}

#[test]
fn what_is_no_report_and_a_later_layout_are_named_with_the_file() {
    let whole = full_report(Tuned::Operators(None, &outcome(true)), &context(Path::new("."))).unwrap();
    let later = whole.replace("\"layout\": 1", "\"layout\": 2");
    let broken = &whole[..whole.len() / 2];
    let without = whole.replacen("\"after_us\": 233.126,", "", 1);
    for (text, said) in [
        (later.as_str(), "layout is 2"),
        (broken, "not a report of a tuning: "),
        (without.as_str(), "missing field `after_us`"),
        ("{\"layout\": 0}", "layout is 0"),
        ("[]", "not a report"),
    ] {
        let error = read(text).unwrap_err();
        assert!(matches!(error, Error::File { .. }), "{error:?}");
        let error = error.to_string();
        assert!(error.contains("some/report.json") && error.contains(said), "{said}: {error}");
    }
}

/// Whether everything of one value is in the other; what came later may be there besides.
fn holds(new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Object(new), Value::Object(old)) => {
            old.iter().all(|(key, old)| new.get(key).is_some_and(|new| holds(new, old)))
        }
        (Value::Array(new), Value::Array(old)) => {
            new.len() == old.len() && new.iter().zip(old).all(|(new, old)| holds(new, old))
        }
        (new, old) => new == old,
    }
}

#[test]
fn reports_of_earlier_versions_are_read_and_none_of_their_fields_is_lost() {
    let fuzzed: Value = serde_json::from_str(include_str!("../../../fuzz/reports.json")).unwrap();
    let mut texts: Vec<String> = fuzzed.as_array().unwrap().iter().map(Value::to_string).collect();
    texts.push(include_str!("../../../tests/reports/operators_and_subgraphs.json").to_owned());
    let versions = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/versions");
    let reports =
        std::fs::read_dir(versions).unwrap().map(|version| version.unwrap().path().join("results/report.json"));
    texts.extend(reports.filter(|path| path.is_file()).map(|path| std::fs::read_to_string(path).unwrap()));
    assert!(texts.len() > 3, "those of a fuzz target, one from before the report was read back, and of each version");
    for text in texts {
        let old: Value = serde_json::from_str(&text).unwrap();
        let new = again(&text);
        assert!(holds(&new, &old), "{new}\n{old}");
    }
}
