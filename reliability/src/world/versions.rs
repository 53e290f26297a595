//! Banks as other versions left them: what lies on the disk before a world begins, and what has to stay of it.

use super::acts::{contents, directory, open};
use super::disk::Disk;
use super::later::{FOREIGN, MARKS, NO_MEASUREMENT};
use super::ledger::{Found, Ledger};
use super::plan::{Old, RELEASED_PROBLEM, Writer, workload};
use aoe::bank::OperatorBank;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What version 0.1.0 wrote of an operator.
const RELEASED: [(&str, &str); 2] = [
    (
        "Ascend910B2_24_AiCore_Add_aoe_kb.json",
        include_str!(
            "../../../tests/versions/0.1.0/bank/Ascend910B2/unified_bank/Ascend910B2_24_AiCore_Add_aoe_kb.json"
        ),
    ),
    (
        ".aoe/Ascend910B2_24_AiCore_Add_aoe_kb.json.side.jsonl",
        include_str!(
            "../../../tests/versions/0.1.0/bank/Ascend910B2/unified_bank/.aoe/Ascend910B2_24_AiCore_Add_aoe_kb.json.side.jsonl"
        ),
    ),
];

/// Id and time of its record of the one problem that a world writes over.
const RELEASED_ID: &str = "\"id\":341256030,";
const RELEASED_US: f64 = 2.065_543_967_918_188;

/// What has to stay of a bank.
#[derive(Debug, Default)]
pub struct Kept {
    bank: u8,
    /// Lines, whatever happens.
    lines: Vec<(PathBuf, String)>,
    /// Records in a file that have a field more.
    marked: Vec<(PathBuf, usize)>,
    /// Lines of side files, as long as their record stands and nobody measured it anew.
    measured: Vec<(u8, Found, PathBuf, String)>,
}

/// Lays a bank on the disk, and notes what it has.
pub fn lay(disk: &Arc<Disk>, ledger: &Ledger, old: &Old) -> Kept {
    let process = disk.process(Vec::new());
    let mut kept = Kept { bank: old.bank, ..Kept::default() };
    if old.writer == Writer::Released {
        for (name, content) in RELEASED {
            let path = directory(old.bank).join(name);
            disk.lay(&path, content.as_bytes());
            let is_other = |line: &&str| !line.contains(RELEASED_ID);
            kept.lines.extend(content.lines().filter(is_other).map(|line| (path.clone(), line.to_owned())));
        }
    } else {
        let mut bank = open(disk, process, old.bank, 1);
        for find in &old.finds {
            bank.record(&workload(find.problem), &find.schedule(), &find.measured()).expect("a legal tiling");
        }
        bank.save().expect("nothing fails yet");
        disk.settle(|path, text| written_by(old.writer, path, text));
    }
    let there = contents(disk, process, old.bank);
    check_read(old, &there);
    if old.writer == Writer::Later {
        kept.note(disk, &open(disk, process, old.bank, 1), old);
    }
    for (problem, found) in there.into_iter().enumerate() {
        if let Some(found) = found {
            ledger.laid(old.bank, problem as u8, found);
        }
    }
    kept
}

/// This version reads what was written, with its time where that was written too.
fn check_read(old: &Old, there: &[Option<Found>]) {
    for find in &old.finds {
        let time = (old.writer != Writer::Other).then(|| f64::from(find.time_us));
        let found = &there[usize::from(find.problem)];
        assert_eq!(*found, Some((find.schedule(), time)), "what another version wrote is not read: {old:?}");
    }
    if old.writer == Writer::Released {
        let time = there[usize::from(RELEASED_PROBLEM)].as_ref().map(|(_, time)| *time);
        assert_eq!(time, Some(Some(RELEASED_US)), "what version 0.1.0 wrote is not read");
    }
}

/// A file as another version would have written it; `None` where it would have written none.
fn written_by(writer: Writer, path: &Path, text: &str) -> Option<String> {
    let is_side = path.to_string_lossy().ends_with(".side.jsonl");
    let is_bank = path.to_string_lossy().ends_with("_kb.json");
    let each = |change: fn(&str) -> String| text.lines().map(|line| change(line) + "\n").collect::<String>();
    match writer {
        Writer::Other if is_side => None,
        Writer::Earlier if is_side => Some(each(earlier)),
        Writer::Later if is_side => Some(each(later) + &summed(NO_MEASUREMENT) + "\n"),
        Writer::Later if is_bank => Some(each(|line| marked(line, MARKS[0])) + FOREIGN + "\n"),
        _ => Some(text.to_owned()),
    }
}

/// A measurement of before there were versions of spaces and origins of defaults.
fn earlier(line: &str) -> String {
    let line = without_sum(line).replace(r#","space":1"#, "").replace(r#""default":"estimated","#, "");
    summed(&line)
}

/// A measurement that says more than this version knows.
fn later(line: &str) -> String {
    summed(&marked(&without_sum(line), MARKS[1]))
}

fn marked(line: &str, mark: &str) -> String {
    line.strip_suffix('}').expect("a line is one object").to_owned() + mark
}

/// A line of a side file but for its sum.
fn without_sum(line: &str) -> String {
    let start = line.find(r#","sum":""#).expect("a side file's line has a sum");
    let end = start + r#","sum":"0123456789abcdef""#.len();
    format!("{}{}", &line[..start], &line[end..])
}

/// A line, whose fields are in order, with its sum: 64 bits of FNV-1a.
fn summed(line: &str) -> String {
    let add = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let sum = line.bytes().fold(0xcbf2_9ce4_8422_2325, add);
    marked(line, &format!(r#","sum":"{sum:016x}"}}"#))
}

impl Kept {
    /// Takes in what a later version left.
    fn note(&mut self, disk: &Disk, bank: &OperatorBank, old: &Old) {
        for path in disk.files_ending("_kb.json") {
            self.marked.push((path.clone(), disk.text(&path).matches(MARKS[0]).count()));
            self.lines.push((path, FOREIGN.to_owned()));
        }
        for path in disk.files_ending(".side.jsonl") {
            self.lines.push((path, summed(NO_MEASUREMENT)));
        }
        for find in &old.finds {
            let name = bank.record_name(&workload(find.problem)).expect("a problem has a key");
            let (file, key) = name.split_once('#').expect("a file and a key");
            let path = directory(old.bank).join(format!(".aoe/{file}.side.jsonl"));
            let line = disk.text(&path).lines().find(|line| line.contains(key)).map(str::to_owned);
            let line = line.expect("a record that was saved has a measurement");
            self.measured.push((find.problem, (find.schedule(), Some(f64::from(find.time_us))), path, line));
        }
    }

    /// Fails unless all of it is there.
    pub fn check(&self, disk: &Arc<Disk>, ledger: &Ledger) {
        let there = contents(disk, disk.process(Vec::new()), self.bank);
        for (path, line) in &self.lines {
            assert!(disk.text(path).lines().any(|l| l == line), "{} has lost {line}", path.display());
        }
        for (path, count) in &self.marked {
            let now = disk.text(path).matches(MARKS[0]).count();
            assert!(
                now >= *count,
                "{}: of {count} records with a field of a later version {now} are left",
                path.display()
            );
        }
        for (problem, found, path, line) in &self.measured {
            let stands = there[usize::from(*problem)].as_ref() == Some(found);
            if stands && !ledger.is_measured(*problem, &found.0) {
                assert!(disk.text(path).lines().any(|l| l == line), "{} has lost {line}", path.display());
            }
        }
    }
}
