//! The page is the report's and nothing else, whatever names the network has.

use super::*;
use crate::report::html::pages;
use proptest::prelude::*;

fn page_of(report: &str) -> String {
    pages(report, Path::new("report.json")).unwrap().first
}

/// A page of both jobs in which every name is this.
fn page_with(name: &str) -> String {
    let (mut subgraphs, mut operators) = (sgat::subgraphs(true), outcome(true));
    (subgraphs.tuning.graph, operators.tuning.graph) = (name.to_owned(), name.to_owned());
    for case in &mut operators.cases {
        case.nodes.iter_mut().for_each(|node| (node.name, node.op_type) = (name.to_owned(), name.to_owned()));
    }
    for subgraph in &mut subgraphs.subgraphs {
        subgraph.names = vec![name.to_owned(), format!("{name}2")];
        subgraph.op_types = vec![name.to_owned(); 2];
        subgraph.places.iter_mut().for_each(|place| place.first = name.to_owned());
        subgraph.after.groups[0].scopes = vec![subgraph.names.clone()];
    }
    let mut runs = runs::of_sizes([4096, 8192].into_iter());
    for launched in runs.before.iter_mut().chain(&mut runs.after) {
        let name = || Some(name.to_owned());
        (launched.name, launched.op_type, launched.workload) = (name(), name(), name());
    }
    let options = [(name.to_owned(), name.to_owned())].into();
    let context = Context { options, runs: Some(runs), ..context(Path::new(name)) };
    page_of(&full_report(Tuned::Operators(Some(&subgraphs), &operators), &context).unwrap())
}

/// The tags of a page, text and values of attributes left out.
fn skeleton(page: &str) -> Vec<String> {
    let tags = page.split('<').skip(1).map(|tag| tag.split(['>', ' ']).next().unwrap_or_default().to_owned());
    tags.collect()
}

#[test]
fn the_same_report_gives_the_same_page_with_every_section() {
    let text = full_report(Tuned::Operators(None, &outcome(true)), &context(Path::new("."))).unwrap();
    let page = page_of(&text);
    assert_eq!(page, page_of(&text));
    for id in ["headline", "operators", "network", "time", "convergence", "scopes", "roofline", "backend", "bank"] {
        assert!(page.contains(&format!(" id=\"{id}\"")), "{id}");
    }
    assert!(page.contains("43.71%") && page.contains("Predicted, not measured."), "{page}");
}

#[test]
fn what_is_to_be_measured_is_said_with_the_line_that_runs_it() {
    let mut operators = outcome(true);
    let page = |outcome: &OpatOutcome| {
        page_of(&full_report(Tuned::Operators(None, outcome), &context(Path::new("/w"))).unwrap())
    };
    assert!(!page(&operators).contains("to measure"));
    let case = &mut operators.cases[3];
    case.status = BankStatus::ToMeasure;
    case.unsure = Some(Timed { schedule: case.after.clone(), us: 1.0 });
    operators.to_measure = Some("/work/apart".into());
    let page = page(&operators);
    assert!(page.contains("of it to measure") && page.contains("export TUNE_BANK_PATH=/work/apart"), "{page}");
    assert!(page.contains("Records of 1 kind of kernel may save"));
}

#[test]
fn the_page_fetches_nothing() {
    let page = page_with("http://example.org/x.js");
    let policy = r#"content="default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-"#;
    assert!(page.contains(policy));
    let links = page.split("href=\"").skip(1).chain(page.split("src=\"").skip(1));
    assert!(links.into_iter().all(|link| link.starts_with('#')), "only places of the page itself");
    // The one that the policy names, and JSON, which none runs.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("<script id=\"details\" type=\"application/json\">").count(), 1);
    for loaded in ["<link", "@import", "url(", "fetch(", "XMLHttpRequest", "import("] {
        assert!(!page.contains(loaded), "{loaded}");
    }
}

#[test]
fn the_policy_names_the_script_that_the_page_has() {
    use sha2::{Digest, Sha256};
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let page = page_with("name");
    let (_, script) = page.rsplit_once("<script>").unwrap();
    let (script, _) = script.split_once("</script>").unwrap();
    let hash = Sha256::digest(script.as_bytes());
    let base64 = |bytes: &[u8]| {
        let bits = bytes.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - bytes.len()));
        (0..4)
            .map(|at| if at <= bytes.len() { char::from(LETTERS[(bits >> (18 - 6 * at) & 63) as usize]) } else { '=' })
            .collect::<String>()
    };
    let wanted = format!("script-src 'sha256-{}'", hash.chunks(3).map(base64).collect::<String>());
    assert!(page.contains(&wanted), "SCRIPT_HASH of html/mod.rs has to be that of {wanted}");
}

#[test]
fn every_operator_has_its_tilings_and_what_they_hold_in_the_table_and_more_when_opened() {
    let page = page_of(&full_report(Tuned::Operators(None, &outcome(true)), &context(Path::new("."))).unwrap());
    let table = page.split_once("id=\"ops\"").unwrap().1.split_once("</table>").unwrap().0;
    assert_eq!(table.matches("1 core · UB tile 4 KiB ×2 · flat").count(), 5, "{table}");
    let details = page.split_once("type=\"application/json\">").unwrap().1.split_once("</script>").unwrap().0;
    let details: Value = serde_json::from_str(details).unwrap();
    assert_eq!(details["o"].as_array().unwrap().len(), 5);
    assert_eq!(details["o"][0]["u"], json!([134.0, 99.0, 2]));
    assert_eq!(details["o"][0]["c"], json!([[99.0, "the best"], [148.5, "4 cores"]]));
}

#[test]
fn an_interrupted_tuning_says_so_and_an_empty_one_has_its_sections() {
    let mut begun = outcome(false);
    let of = |outcome: &OpatOutcome| {
        page_of(&full_report(Tuned::Operators(None, outcome), &context(Path::new("."))).unwrap())
    };
    assert!(of(&begun).contains("was interrupted"));
    begun.cases.clear();
    assert!(of(&begun).contains("No operator was dealt with"));
    let subgraphs = page_of(&full_report(Tuned::Subgraphs(&sgat::subgraphs(true)), &context(Path::new("."))).unwrap());
    assert!(subgraphs.contains("Only subgraphs were tuned"));
}

#[test]
fn a_network_of_thousands_of_operators_and_names_of_a_megabyte_stay_a_page() {
    let mut many = outcome(true);
    many.cases = (0..4000).map(|i| case(i, &["node"], 100.0 + i as f64, 50.0, BankStatus::Added)).collect();
    let report = full_report(Tuned::Operators(None, &many), &context(Path::new("."))).unwrap();
    let pages = pages(&report, Path::new("report.json")).unwrap();
    let (first, more) = (pages.first, pages.more.unwrap());
    let sizes = [first.len(), more.len()];
    assert!(first.contains("3000 operators that take less time") && first.len() < 2_000_000, "{sizes:?}");
    assert!(more.contains("href=\"report.html\"") && more.len() < 10_000_000, "{sizes:?}");
    let rows = |page: &str| page.matches("<tbody><tr><th scope=\"row\"").count();
    assert!(rows(&first) >= 1000 && rows(&more) == 3000, "{} {}", rows(&first), rows(&more));
    assert!(page_with(&"n".repeat(1 << 20)).len() < 1 << 20);
}

#[test]
fn numbers_that_no_tuning_gives_are_shown_as_well_as_they_can_be() {
    let context = Context { runs: Some(runs::of_sizes([4096].into_iter())), ..context(Path::new(".")) };
    let text = full_report(Tuned::Operators(None, &outcome(true)), &context).unwrap();
    for number in ["0", "-5", "1e308", "1e-308", "-0.0"] {
        let mut report: Value = serde_json::from_str(&text).unwrap();
        let number: Value = serde_json::from_str(number).unwrap();
        for kernel in report["kernels"].as_array_mut().unwrap() {
            for field in ["before_us", "after_us"] {
                kernel[field] = number.clone();
            }
            kernel["improvements"] = json!([[0, number], [3, 1.0]]);
        }
        for launched in report["runs"]["after"].as_array_mut().unwrap() {
            launched["us"] = number.clone();
            launched["work"] = json!({"bytes": number, "cube_operations": number, "vector_operations": number});
        }
        report["before_us"] = number;
        let page = page_of(&report.to_string());
        assert!(!page.contains("NaN") && !page.contains("inf\""), "{page}");
    }
}

proptest! {
    #![proptest_config(aoe_testing::cases(64))]

    #[test]
    fn no_name_becomes_a_part_of_the_page(name in "(?s).{0,12}(</script>|<b|\"|'|&|-->|]]>|<!--|\\x00|\u{202e}|>)?.{0,12}") {
        let (page, plain) = (page_with(&name), page_with("plain"));
        prop_assert_eq!(skeleton(&page), skeleton(&plain));
        let is_shown = |c: char| !c.is_control() || c == '\n';
        prop_assert!(page.chars().all(is_shown));
    }

    #[test]
    fn whatever_is_read_as_a_report_never_panics(text in "\\PC{0,64}", cut in 0usize..4000) {
        let report = full_report(Tuned::Operators(None, &outcome(true)), &context(Path::new("."))).unwrap();
        let cut = (0..=cut.min(report.len())).rev().find(|&at| report.is_char_boundary(at)).unwrap_or(0);
        let _ = pages(&text, Path::new("report.json"));
        prop_assert!(pages(&report[..cut], Path::new("report.json")).is_err());
    }
}

#[test]
fn a_gain_is_the_same_in_every_file() {
    let mut operators = outcome(true);
    // To the nanosecond half as much again, before that more.
    (operators.cases[0].before_us, operators.cases[0].after_us) = (0.015_4, 0.009_6);
    let tuned = Tuned::Operators(None, &operators);
    let text = full_report(tuned, &context(Path::new("."))).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let entry = &report["aoe_result"][1]["OPAT"]["repo_modified_operators"][0]["tune_performance"]["Schedule"];
    assert_eq!(entry["performance_improvement"], "50.00%");
    let summary = summary::summary(tuned, &context(Path::new("."))).unwrap();
    let page = page_of(&text);
    for file in [&summary, &page] {
        assert!(file.contains("50.00%") && !file.contains("60.42%"), "{file}");
    }
}

#[test]
fn the_sum_of_the_table_is_what_cann_runs_and_what_only_libaoe_reads_is_told_beside_it() {
    let with = |reader: &str| {
        let text = full_report(Tuned::Operators(None, &outcome(true)), &context(Path::new("."))).unwrap();
        let mut report: Value = serde_json::from_str(&text).unwrap();
        for kernel in report["kernels"].as_array_mut().unwrap() {
            (kernel["before_us"], kernel["after_us"]) = (10.0.into(), 5.0.into());
            kernel["read_by"] = reader.into();
        }
        let page = page_of(&report.to_string());
        let foot = page.split("<tfoot>").nth(1).unwrap().split("</tfoot>").next().unwrap().to_owned();
        (foot.contains("only libaoe reads"), foot.matches("100.00%").count(), foot.matches("0.00%").count())
    };
    // `100.00%` holds `0.00%`.
    assert_eq!(with("runtime_bank"), (false, 1, 1));
    assert_eq!(with("own_form"), (true, 1, 2));
}

#[test]
fn a_table_of_subgraphs_alone_says_what_its_times_after_are_with() {
    let page = |own: usize| {
        let text = full_report(Tuned::Subgraphs(&sgat::subgraphs(true)), &context(Path::new("."))).unwrap();
        let mut report: Value = serde_json::from_str(&text).unwrap();
        report["gains"]["own_form"]["count"] = own.into();
        page_of(&report.to_string())
    };
    let note = "also with what only libaoe reads";
    assert_eq!([page(0), page(2)].map(|page| page.contains(note)), [false, true]);
}

#[test]
fn the_table_of_operators_says_that_it_begins_where_subgraph_tuning_ended() {
    let note = "with the strategies of subgraphs that CANN reads";
    let subgraphs = sgat::subgraphs(true);
    let page_of = |subgraphs| {
        page_of(&full_report(Tuned::Operators(subgraphs, &outcome(true)), &context(Path::new("."))).unwrap())
    };
    assert!(page_of(Some(&subgraphs)).contains(note) && !page_of(None).contains(note));
}
