//! What a process does in a world, through libaoe.

use super::disk::Disk;
use super::ledger::{Found, Ledger};
use super::plan::{Action, Find, Life, PROBLEMS, workload};
use super::process::Process;
use aoe::bank::{BankPaths, Entry, OperatorBank, merge_on};
use aoe::soc::Soc;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// A process from its beginning to its end.
pub fn live(disk: &Arc<Disk>, ledger: &Ledger, process: usize, life: &Life) {
    for action in &life.actions {
        match action {
            Action::Wait => shuttle::thread::yield_now(),
            Action::Look(bank) => look(disk, ledger, process, *bank, life.day),
            Action::Save(bank, finds) => save(disk, ledger, process, *bank, life.day, finds),
            Action::Merge(from, into) => drop(merge(disk, ledger, process, from, *into)),
        }
        if !disk.lives(process) {
            return;
        }
    }
}

fn soc() -> &'static Soc {
    static SOC: OnceLock<Soc> = OnceLock::new();
    SOC.get_or_init(|| Soc::find("Ascend910B2").expect("a built-in part"))
}

/// Where a bank lies.
pub fn directory(bank: u8) -> PathBuf {
    PathBuf::from(format!("/bank{bank}/Ascend910B2/unified_bank"))
}

pub fn open(disk: &Arc<Disk>, process: usize, bank: u8, day: u8) -> OperatorBank {
    let paths = BankPaths { custom: directory(bank), also_read: Vec::new() };
    let storage = Arc::new(Process { disk: Arc::clone(disk), id: process });
    OperatorBank::with_storage(paths, soc(), storage, format!("2026-01-{day:02}"))
}

fn found(entry: Entry) -> Found {
    (entry.schedule, entry.measured.map(|measured| measured.after_us))
}

/// Whatever a process finds was recorded by somebody, and nothing acknowledged before is lost.
pub fn look(disk: &Arc<Disk>, ledger: &Ledger, process: usize, bank: u8, day: u8) {
    let acknowledged = ledger.acknowledged(bank);
    let opened = open(disk, process, bank, day);
    for problem in 0..PROBLEMS {
        let entry = opened.lookup(&workload(problem));
        if !disk.lives(process) {
            return;
        }
        // A read that failed says so; it does not say that there is nothing.
        let Ok(entry) = entry else { continue };
        let found = entry.map(found);
        disk.tell(|| format!("{process} finds {problem}: {:?}", found.as_ref().map(|(_, time)| time)));
        ledger.check(bank, problem, found.as_ref(), &acknowledged);
    }
    check_warnings(ledger, &opened.warnings());
}

/// Nothing is damaged. What only a later version reads is told, too; and where a record without a time gives way, its new
/// measurement is there a moment before the new record is, as if another program had changed that, or one byte of it.
fn check_warnings(ledger: &Ledger, warnings: &[String]) {
    let is_unmeasured = ledger.has_unmeasured();
    let changed = ["changed by another program since", "one byte is not as it was written here", "damaged; set aside"];
    let is_right = |warning: &&String| {
        warning.contains("kept but not used") || is_unmeasured && changed.iter().any(|text| warning.contains(text))
    };
    let wrong: Vec<_> = warnings.iter().filter(|warning| !is_right(warning)).collect();
    assert!(wrong.is_empty(), "nothing is damaged, and yet: {wrong:?}");
}

/// What a bank has for each problem, where nothing fails.
pub fn contents(disk: &Arc<Disk>, process: usize, bank: u8) -> Vec<Option<Found>> {
    let opened = open(disk, process, bank, 1);
    let of = |problem| opened.lookup(&workload(problem)).expect("without a fault a bank is read").map(found);
    (0..PROBLEMS).map(of).collect()
}

fn save(disk: &Arc<Disk>, ledger: &Ledger, process: usize, bank: u8, day: u8, finds: &[Find]) {
    let mut opened = open(disk, process, bank, day);
    let mut under_way = Vec::new();
    for find in finds {
        let workload = workload(find.problem);
        let Ok(seen) = opened.lookup(&workload) else { return };
        if opened.record(&workload, &find.schedule(), &find.measured()).is_err() {
            return;
        }
        under_way.push(ledger.attempt(process, bank, *find, seen.map(|entry| entry.schedule)));
    }
    disk.tell(|| format!("{process} saves {finds:?} in bank {bank}"));
    let saved = opened.save();
    if saved.is_ok() && disk.lives(process) {
        disk.tell(|| format!("{process} saved"));
        ledger.acknowledge(&under_way, bank);
    }
}

/// Merges banks into one. Once that is said to be done, it has all that they had. Returns whether it was.
pub fn merge(disk: &Arc<Disk>, ledger: &Ledger, process: usize, from: &[u8], into: u8) -> bool {
    let certain = ledger.merge(from, into);
    disk.tell(|| format!("{process} merges {from:?} into {into}"));
    let sources: Vec<PathBuf> = from.iter().map(|&bank| directory(bank)).collect();
    let storage = Process { disk: Arc::clone(disk), id: process };
    let Ok(outcome) = merge_on(&storage, &sources, &directory(into)) else { return false };
    if !disk.lives(process) {
        return false;
    }
    check_warnings(ledger, &outcome.warnings);
    disk.tell(|| format!("{process} merged"));
    ledger.acknowledge(&certain, into);
    true
}
