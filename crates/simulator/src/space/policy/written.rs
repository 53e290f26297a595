//! A default that becomes another one is noticed, and whether it is CANN's own: `defaults.txt` has one number for each of
//! many workloads, over several parts.
//!
//! `AOE_WRITE_DEFAULTS=1 cargo test -p aoe-simulator defaults` writes the list anew.

use super::{default_origin, default_policy};
use crate::soc::Soc;
use crate::space::drawn::{Digest, parts, workloads};
use crate::workload::Workload;
use std::fmt::Write as _;

const WRITTEN: &str = include_str!("defaults.txt");
/// Products; of other kinds there are fewer.
const COUNT: usize = 320;

/// What runs without a record, and how sure that is.
fn text(workload: &Workload, soc: &Soc) -> String {
    match default_policy(workload, soc) {
        Ok(schedule) => {
            format!("{} {}", default_origin(workload, soc).name(), serde_json::to_string(&schedule).unwrap())
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn defaults_are_those_that_were_written() {
    let (mut list, parts) = (String::new(), parts());
    for workload in workloads(COUNT, 1) {
        let mut digest = Digest::EMPTY;
        for soc in &parts {
            digest.add(&text(&workload, soc));
        }
        writeln!(list, "{:016x} {workload}", digest.0).unwrap();
    }
    if std::env::var_os("AOE_WRITE_DEFAULTS").is_some() {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/space/policy/defaults.txt"), &list).unwrap();
        return;
    }
    let differs: Vec<_> = list.lines().zip(WRITTEN.lines()).filter(|(now, written)| now != written).collect();
    assert!(
        differs.is_empty() && list.lines().count() == WRITTEN.lines().count(),
        "these defaults are others than those that were written; where that is meant, AOE_WRITE_DEFAULTS=1 cargo test -p \
         aoe-simulator defaults writes the list anew: {differs:#?}"
    );
}
