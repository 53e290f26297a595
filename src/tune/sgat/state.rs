//! What an interrupted subgraph tuning had found: a subgraph bank of its own, which a later one goes on from.

use super::settings::SgatSettings;
use crate::bank::hash::digest;
use crate::bank::subgraph::{Feature, Record, Strategy, SubgraphBank};
use crate::bank::{DISK, clear_abandoned};
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::tune::BankStatus;
use rustc_hash::FxHashSet;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Name of the file in a job's directory.
const FILE: &str = "subgraphs.json";
/// The directory in which a bank keeps its lock.
const LOCKS: &str = ".aoe";
/// Field of a strategy: what became of the subgraph.
const STATUS: &str = "status";
/// Field of a strategy: the SoC tuned for.
const SOC: &str = "soc";
/// Field of a strategy: digest of all that is known of that SoC, which decides the prices, and of what may be cut.
const PART: &str = "part";
/// Option that names a state, for errors.
const RELOAD: &str = "reload";

/// Where the state of an unfinished tuning lies in its job's directory.
pub fn state_file(directory: &Path) -> PathBuf {
    directory.join(FILE)
}

/// The state of one tuning.
#[derive(Debug)]
pub struct State {
    bank: SubgraphBank,
    soc: String,
    part: String,
}

impl State {
    /// An empty state, which is written into a job's directory.
    pub fn new(directory: &Path, soc: &Soc, settings: &SgatSettings) -> State {
        let bank = SubgraphBank::of_file(&state_file(directory));
        State { bank, soc: soc.name.clone(), part: part(soc, settings) }
    }

    /// The state in a job's directory.
    ///
    /// Fails with [`Error::Option`] where it has no record that can be read, or is of a tuning for another SoC,
    /// for the same with another number of cores or other fields, or with another `nonhomo_split`.
    pub fn reload(directory: &Path, soc: &Soc, settings: &SgatSettings) -> Result<State> {
        let state = State::new(directory, soc, settings);
        if !state.is_reloaded() {
            return Err(state.unusable("has no record that can be used"));
        }
        let soc = |record: &Record| {
            record.strategy.other.get(SOC).and_then(Value::as_str).unwrap_or("an unnamed SoC").to_owned()
        };
        let other = state.bank.records().map(soc).find(|soc| *soc != state.soc);
        match other {
            Some(other) => Err(state.unusable(&format!("is of a tuning for {other}, not for {}", state.soc))),
            None if state
                .bank
                .records()
                .all(|record| record.strategy.other.get(PART) == Some(&Value::from(&*state.part))) =>
            {
                Ok(state)
            }
            None => Err(state.unusable(&format!(
                "is of a tuning for {} with other cores, sizes, rates or cuts; give the same aicore_num, soc_set and \
                 nonhomo_split",
                state.soc
            ))),
        }
    }

    /// Fails with [`Error::Option`] where the state has a subgraph that is none of these: it is of another network.
    pub fn check_network(&self, name: &str, subgraphs: &FxHashSet<u64>) -> Result<()> {
        match self.bank.records().filter(|record| !subgraphs.contains(&record.graph_id)).count() {
            0 => Ok(()),
            count => Err(self.unusable(&format!(
                "is of a tuning of another network, or of other shapes: `{name}` has not {count} of its subgraphs"
            ))),
        }
    }

    fn unusable(&self, reason: &str) -> Error {
        Error::option(RELOAD, format!("`{}` {reason}", self.bank.file().display()))
    }

    /// Whether it is that of an interrupted tuning.
    pub fn is_reloaded(&self) -> bool {
        self.bank.records().next().is_some()
    }

    /// Fails with [`Error::Directory`] or [`Error::Bank`] where the state could not be written.
    pub fn check_writable(&self) -> Result<()> {
        self.bank.check_writable()
    }

    /// What became of a subgraph before the interruption.
    pub fn finished(&self, feature: &Feature) -> Result<Option<(&Strategy, BankStatus)>> {
        let known = self.bank.lookup(feature)?;
        Ok(known.and_then(|(strategy, _)| Some((strategy, status(strategy.other.get(STATUS)?)?))))
    }

    /// Takes in a finished subgraph, to be written by [`State::save`].
    pub fn finish(&mut self, mut record: Record, status: &BankStatus) {
        record.strategy.other.insert(STATUS.to_owned(), Value::from(name(status)));
        record.strategy.other.insert(SOC.to_owned(), Value::from(self.soc.as_str()));
        record.strategy.other.insert(PART.to_owned(), Value::from(self.part.as_str()));
        self.bank.record(record);
    }

    /// Writes what was taken in.
    pub fn save(&mut self) -> Result<()> {
        self.bank.save()
    }

    /// Removes what a tuning that was killed while it wrote its state left besides it in a job's directory.
    pub fn sweep(directory: &Path) {
        clear_abandoned(&DISK, &state_file(directory));
    }

    /// Removes the state: the tuning has ended, and all that it leaves is written. A directory that held nothing else goes too.
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

/// Sixteen hexadecimal digits that differ with every field of a SoC and with the strategies that may be chosen.
fn part(soc: &Soc, settings: &SgatSettings) -> String {
    format!("{:016x}", digest(format!("{soc:?} {}", settings.mixed).as_bytes()))
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

const NAMED: [(BankStatus, &str); 5] = [
    (BankStatus::Added, "added"),
    (BankStatus::Updated, "updated"),
    (BankStatus::Reserved, "reserved"),
    (BankStatus::Unsatisfied, "unsatisfied"),
    (BankStatus::Unsaved, "unsaved"),
];

fn name(status: &BankStatus) -> &'static str {
    NAMED.iter().find(|(known, _)| known == status).map_or("", |(_, name)| name)
}

fn status(text: &Value) -> Option<BankStatus> {
    NAMED.iter().find(|(_, name)| text == name).map(|(status, _)| status.clone())
}
