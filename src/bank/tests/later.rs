//! What a later version keeps beside a bank.

use super::merge::bank_of;
use super::{FILE, measured, product_of, soc, tiling};
use crate::bank::hash::digest;
use crate::bank::{BankPaths, OperatorBank, merge};
use std::path::Path;

/// A line that is no measurement, but for its sum.
const ENERGY: &str = r#"{"joules":3,"kind":"energy"}"#;

/// A line whose fields are in order, with its sum.
fn summed(line: &str) -> String {
    let sum = digest(line.as_bytes());
    line.trim_end_matches('}').to_owned() + &format!(r#","sum":"{sum:016x}"}}"#)
}

/// A measurement with a field more, or with other words for one.
fn changed(line: &str, change: impl Fn(&str) -> String) -> String {
    let (fields, _) = line.split_once(",\"sum\":").unwrap();
    summed(&change(&(fields.to_owned() + "}")))
}

fn with_watts(line: &str) -> String {
    changed(line, |line| line.strip_suffix('}').unwrap().to_owned() + r#","watts":7}"#)
}

fn side(bank: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(bank.join(format!(".aoe/{FILE}.side.jsonl"))).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Writes side files as a later version does; gives their lines.
fn rewrite(bank: &Path, change: impl Fn(usize, &str) -> String) -> Vec<String> {
    let lines: Vec<_> =
        side(bank).iter().enumerate().map(|(at, line)| change(at, line)).chain([summed(ENERGY)]).collect();
    std::fs::write(bank.join(format!(".aoe/{FILE}.side.jsonl")), lines.join("\n") + "\n").unwrap();
    lines
}

fn open(directory: &Path) -> OperatorBank {
    OperatorBank::open(BankPaths { custom: directory.to_owned(), also_read: Vec::new() }, &soc())
}

#[test]
fn what_a_later_version_says_of_records_stays_until_they_are_measured_anew() {
    let root = tempfile::tempdir().unwrap();
    let bank = bank_of(&root.path().join("bank"), "2026-01-02", &[(256, 64, measured(5.0)), (512, 64, measured(5.0))]);
    let guessed = |line: &str| line.replace(r#""default":"estimated""#, r#""default":"guessed""#);
    let said = rewrite(&bank, |at, line| if at == 0 { with_watts(line) } else { changed(line, guessed) });
    assert!(said[0].contains("watts") && said[1].contains("guessed"), "{said:?}");
    let mut opened = open(&bank);
    let after = |m| opened.lookup(&product_of(m)).unwrap().unwrap().measured.map(|m| m.after_us);
    assert_eq!([after(256), after(512)], [Some(5.0); 2], "what is known of the lines counts");
    let told = opened.warnings();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("side.jsonl:3: kept but not used: a later version's line"), "{told:?}");
    opened.record(&product_of(1024), &tiling(1024, 64), &measured(5.0)).unwrap();
    opened.save().unwrap();
    let now = side(&bank);
    assert_eq!(now.len(), 4, "{now:?}");
    assert!(said.iter().all(|line| now.contains(line)), "{said:?} {now:?}");
    let mut opened = open(&bank);
    opened.lookup(&product_of(256)).unwrap();
    opened.record(&product_of(256), &tiling(256, 64), &measured(4.0)).unwrap();
    opened.save().unwrap();
    let left = side(&bank).iter().filter(|line| said.contains(line)).count();
    assert_eq!((left, side(&bank).len()), (2, 4), "of a record that was measured anew the new time alone is kept");
}

#[test]
fn a_merge_takes_what_later_versions_say_whatever_the_order() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name);
    let [a, b] = ["a", "b"].map(|name| bank_of(&at(name), "2026-01-02", &[(256, 64, measured(5.0))]));
    let said = rewrite(&a, |_, line| with_watts(line));
    let merged = [[&a, &b], [&b, &a]].map(|sources| {
        let into = at(&format!("into{}", sources[0].ends_with("a")));
        for source in sources {
            merge(std::slice::from_ref(source), &into, &[]).unwrap();
        }
        side(&into)
    });
    assert_eq!(merged, [said.clone(), said]);
}
