//! The distinct kernels of a profile with their operands, as cases of the simulator.

#[cfg(test)]
mod tests;

use super::case::{case_of, on_blocks};
use super::devices::Devices;
use super::in_network::in_network;
use super::launches::Launches;
use super::measured::files;
use super::table::{Blocks, Table, Took};
use crate::report::counted;
use crate::soc::Soc;
use crate::status::{Error, Result};
use rustc_hash::FxHashMap;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Most distinct kernels that are told apart; of a profile with more the first ones are.
const MOST: usize = 1 << 16;
/// A kernel of a profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The operator's type.
    pub op: String,
    /// It as a case of the simulator, with its operands where a network has them.
    pub case: Value,
    /// Launches whose times count.
    pub count: u64,
    /// Microseconds of all of them.
    pub us: f64,
    /// Of them, every second launch.
    pub seconds: u64,
    /// Microseconds of those.
    pub second_us: f64,
    /// How far apart they are, as a factor: of two the longer over the shorter, of more that of two standard deviations of the
    /// logarithms of their times.
    pub spread: f64,
}

impl Seen {
    /// Mean microseconds of every second launch and of the launches between; `None` of a kernel that was launched once.
    pub fn halves(&self) -> Option<[f64; 2]> {
        let firsts = self.count - self.seconds;
        (self.seconds > 0 && firsts > 0).then(|| {
            let [second, first] = [self.seconds, firsts].map(|launches| launches as f64);
            [(self.us - self.second_us) / first, self.second_us / second]
        })
    }
}

/// What a profile shows of its kernels.
#[derive(Debug, Default)]
pub struct Profile {
    /// The files read.
    pub files: Vec<PathBuf>,
    /// Distinct kernels, those that took longest together first.
    pub kernels: Vec<Seen>,
    /// Microseconds of all kernels.
    pub total_us: f64,
    /// Microseconds of those whose operands the profile does not tell.
    pub without_operands_us: f64,
    /// Launches whose times count nowhere.
    pub left_out: LeftOut,
    /// Launches whose operands the profile does not tell, or in types or formats that are not known.
    pub without_operands: u64,
    /// Launches of kernels that are not told apart: those beyond the most distinct ones.
    pub beyond: u64,
}

/// Launches without a time that could be their kernel's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LeftOut {
    /// How many they are.
    pub launches: u64,
    /// Microseconds that those of them claim which are far from the other launches of their kernel.
    pub us: f64,
    /// Where one of them stands, and what is wrong with it.
    pub example: Option<String>,
}

impl LeftOut {
    fn add(&mut self, launches: u64, us: f64, example: impl FnOnce() -> String) {
        self.launches += launches;
        self.us += us;
        self.example.get_or_insert_with(example);
    }

    /// What is to be said of them; `None` where there are none.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        let example = self.example.as_ref()?;
        let launches = counted(self.launches, "launch is", "launches are");
        Some(format!("{launches} left out for the time that is told of them, such as {example}"))
    }
}

/// What tells kernels apart: the type, and the texts of shapes, types and formats on either side; and the blocks that it ran in.
type KernelKey = ([String; 7], Blocks);

impl Profile {
    /// What is to be said of launches of which nothing is known.
    #[must_use]
    pub fn said(&self) -> Vec<String> {
        let beyond = (self.beyond > 0).then(|| {
            let launches = counted(self.beyond, "launch is of a kernel", "launches are of kernels");
            format!(
                "{launches} beyond the first {MOST} distinct ones, and nothing is learned of them: give fewer steps"
            )
        });
        self.left_out.sentence().into_iter().chain(beyond).collect()
    }

    /// Reads a profile of a network on this part: a file, or a folder that holds one. Launches without a time that could be
    /// their kernel's are left out.
    ///
    /// Fails with [`Error::File`] where there is none or more than one, where a column is missing (also those of operands,
    /// which profilers write at their first level and above), where a value is none, where kernels are of several devices,
    /// and where there is no kernel.
    pub fn read(path: &Path, soc: &Soc) -> Result<Profile> {
        Profile::read_most(path, soc, MOST)
    }

    /// The same with so many distinct kernels at most.
    fn read_most(path: &Path, soc: &Soc, most: usize) -> Result<Profile> {
        let mut profile = Profile { files: files(path)?, ..Profile::default() };
        let (mut kernels, mut devices) = (FxHashMap::default(), Devices::default());
        for file in profile.files.clone() {
            profile.add(&file, &mut kernels, &mut devices, most)?;
        }
        devices.check(path)?;
        // The map has no order, and what is told of one that is left out has to be the same every time.
        let mut kernels: Vec<(KernelKey, Launches)> = kernels.into_iter().collect();
        kernels.sort_by(|a, b| a.0.cmp(&b.0));
        for (key, launches) in kernels {
            profile.settle(&key, &launches, soc);
        }
        if profile.total_us <= 0.0 {
            let left_out = profile.left_out.sentence().map(|sentence| format!(": {sentence}")).unwrap_or_default();
            return Err(Error::file("read", path, format!("it tells of no kernel that took time{left_out}")));
        }
        let mut kernels = std::mem::take(&mut profile.kernels);
        // Equal times in the order of their texts.
        kernels.sort_by_cached_key(|seen| seen.case.to_string());
        kernels.sort_by(|a, b| b.us.total_cmp(&a.us));
        profile.kernels = kernels;
        Ok(profile)
    }

    /// Takes up a kernel with those of its launches whose times count.
    fn settle(&mut self, key: &KernelKey, launches: &Launches, soc: &Soc) {
        let [kept, far] = launches.split();
        if far.count > 0 {
            let mean = |us: f64, count: u64| us / count as f64;
            self.left_out.add(far.count, far.us, || {
                format!(
                    "line {}: {} of {:.3} us where its other launches take {:.3} us",
                    far.line,
                    key.0[0],
                    mean(far.us, far.count),
                    mean(kept.us, kept.count)
                )
            });
        }
        self.total_us += kept.us;
        if let Some(case) = case_of(&key.0) {
            let (op, case) = (key.0[0].clone(), on_blocks(in_network(case, soc.l2_size), key.1, soc));
            let (count, us, seconds, second_us) = (kept.count, kept.us, kept.seconds, kept.second_us);
            let spread = kept.spread();
            self.kernels.push(Seen { op, case, count, us, seconds, second_us, spread });
        } else {
            self.without_operands_us += kept.us;
            self.without_operands += kept.count;
        }
    }

    fn add(
        &mut self,
        path: &Path,
        kernels: &mut FxHashMap<KernelKey, Launches>,
        devices: &mut Devices,
        most: usize,
    ) -> Result<()> {
        let mut table = Table::open(path)?;
        if !table.has_operands() {
            let reason =
                "it has no columns of shapes, types and formats (`Input Shapes`, ...): profile with level 1 or above";
            return Err(Error::file("read", path, reason));
        }
        while let Some(row) = table.next()? {
            devices.note(row.device());
            let us = match &row.took {
                Took::Us(us) => *us,
                Took::Nothing => {
                    self.left_out.add(1, 0.0, || format!("line {}: {} has none", row.line, row.op_type()));
                    continue;
                }
                Took::Absurd(reason) => {
                    self.left_out.add(1, 0.0, || format!("line {}: {reason}", row.line));
                    continue;
                }
            };
            let [read, written] = row.operands().unwrap_or_default();
            let key = [row.op_type(), read[0], read[1], read[2], written[0], written[1], written[2]];
            let blocks =
                row.blocks().map_err(|reason| Error::file("read", path, format!("line {}: {reason}", row.line)))?;
            let key: KernelKey = (key.map(str::to_owned), blocks);
            if kernels.len() >= most && !kernels.contains_key(&key) {
                self.total_us += us;
                self.without_operands_us += us;
                self.beyond += 1;
                continue;
            }
            kernels.entry(key).or_default().add(us, row.line);
        }
        Ok(())
    }
}
