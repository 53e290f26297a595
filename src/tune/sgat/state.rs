//! What an interrupted subgraph tuning had found: a subgraph bank of its own, which a later one goes on from.

use crate::bank::subgraph::{Feature, Record, Strategy, SubgraphBank};
use crate::status::{Error, Result};
use crate::tune::BankStatus;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Name of the file in a job's directory.
const FILE: &str = "subgraphs.json";
/// The directory in which a bank keeps its lock.
const LOCKS: &str = ".aoe";
/// Field of a strategy: what became of the subgraph.
const STATUS: &str = "status";

/// Where the state of an unfinished tuning lies in its job's directory.
pub fn state_file(directory: &Path) -> PathBuf {
    directory.join(FILE)
}

/// The state of one tuning.
#[derive(Debug)]
pub struct State {
    bank: SubgraphBank,
}

impl State {
    /// The state in a job's directory, where there is one; else an empty one, which is written there.
    pub fn of(directory: &Path) -> State {
        State { bank: SubgraphBank::of_file(&state_file(directory)) }
    }

    /// Whether nothing is known of an interrupted tuning, or nothing that can be read.
    pub fn is_empty(&self) -> bool {
        self.bank.is_empty()
    }

    /// Fails with [`Error::Directory`] or [`Error::Bank`] where the state could not be written.
    pub fn check_writable(&self) -> Result<()> {
        self.bank.check_writable()
    }

    /// What became of a subgraph before the interruption.
    pub fn finished(&self, feature: &Feature) -> Result<Option<(&Strategy, BankStatus)>> {
        let known = self.bank.lookup(feature)?;
        Ok(known.and_then(|strategy| Some((strategy, status(strategy.other.get(STATUS)?)?))))
    }

    /// Takes in a finished subgraph, to be written by [`State::save`].
    pub fn finish(&mut self, mut record: Record, status: &BankStatus) {
        record.strategy.other.insert(STATUS.to_owned(), Value::from(name(status)));
        self.bank.record(record);
    }

    /// Writes what was taken in.
    pub fn save(&mut self) -> Result<()> {
        self.bank.save()
    }

    /// Removes the state: the tuning has ended. A directory that held nothing else goes too.
    pub fn clear(&self) -> Result<()> {
        let file = self.bank.file();
        match std::fs::remove_file(file) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Error::file("remove", file, e)),
            _ => {}
        }
        if let Some(directory) = file.parent() {
            remove_emptied(directory);
        }
        Ok(())
    }
}

/// Removes a directory in which nothing but the lock of its bank, which guards nothing now, is left.
fn remove_emptied(directory: &Path) {
    let holds_only = |path: &Path, name: &str| {
        std::fs::read_dir(path).is_ok_and(|entries| entries.flatten().all(|entry| entry.file_name() == name))
    };
    let own = directory.join(LOCKS);
    if holds_only(directory, LOCKS) && holds_only(&own, "lock") {
        // What is left behind does no harm.
        let _ = std::fs::remove_file(own.join("lock"));
        let _ = std::fs::remove_dir(own);
        let _ = std::fs::remove_dir(directory);
    }
}

const NAMED: [(BankStatus, &str); 4] = [
    (BankStatus::Added, "added"),
    (BankStatus::Updated, "updated"),
    (BankStatus::Reserved, "reserved"),
    (BankStatus::Unsatisfied, "unsatisfied"),
];

fn name(status: &BankStatus) -> &'static str {
    NAMED.iter().find(|(known, _)| known == status).map_or("", |(_, name)| name)
}

fn status(text: &Value) -> Option<BankStatus> {
    NAMED.iter().find(|(_, name)| text == name).map(|(status, _)| status.clone())
}
