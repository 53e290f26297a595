//! Where the records of a tuning go.
//!
//! A device's measurements go where AOE puts them. What the simulator found is a prediction: where nobody named a bank for
//! it, it goes to a bank of its own in the work path, which CANN reads when it is told to.

use super::environment::Environment;
use super::leaves::Keeps;
use super::settings::Settings;
use crate::backend::{Backend, Description};
use crate::bank::BankPaths;
use crate::status::Result;
use std::path::{Path, PathBuf};

/// Directory in the work path that takes what the simulator found; in a results folder a copy of what was found goes there
/// where the bank lies elsewhere.
pub const OWN: &str = "aoe_bank";

/// Directory in the work path for records that a measurement is to decide about. CANN reads it only when it is told to, and
/// no tuning does.
pub const TO_MEASURE: &str = "aoe_bank_to_measure";

/// What decides where records go, besides the environment.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    /// Directory for results.
    pub work_path: &'a Path,
    /// The bank that an option names.
    pub named: Option<&'a Path>,
    /// Whether what the simulator found goes where CANN looks by itself, too.
    pub install: bool,
    /// Which of them stay; where they do not, the work path is one that goes.
    pub keeps: Keeps,
    /// Whether the simulator measured.
    pub is_simulated: bool,
}

impl Settings {
    /// Where what this backend measures goes; `named` is the bank that an option names.
    pub(super) fn destination<'a>(&'a self, backend: &Description, named: Option<&'a Path>) -> Destination<'a> {
        let is_simulated = backend.is_simulated;
        let (install, keeps) = (self.install, self.leaves.keeps());
        Destination { work_path: &self.work_path, named, install, keeps, is_simulated }
    }

    /// The same for operators.
    pub(super) fn operator_destination(&self, backend: &dyn Backend) -> Destination<'_> {
        self.destination(&backend.describe(), self.op_bank_path.as_deref())
    }
}

impl Destination<'_> {
    /// The root of the bank in the work path, where records go there.
    pub fn root(&self, environment: &Environment) -> Option<PathBuf> {
        let is_named = self.named.is_some() || environment.path("TUNE_BANK_PATH").is_some();
        let goes_there = self.install || !self.is_simulated && self.keeps == Keeps::All;
        let own = self.keeps == Keeps::Nothing || !is_named && !goes_there;
        own.then(|| environment.current_dir.join(self.work_path).join(OWN))
    }

    /// The root of the bank of what is to be measured.
    pub fn root_to_measure(&self, environment: &Environment) -> PathBuf {
        environment.current_dir.join(self.work_path).join(TO_MEASURE)
    }

    /// The bank: that of AOE, or the one in the work path, which is found by `below` and in front of it. One that nobody
    /// needs, because records go to the work path, may have no place.
    pub fn paths(
        &self,
        environment: &Environment,
        aoe: Result<BankPaths>,
        below: impl FnOnce(&Path) -> BankPaths,
    ) -> Result<BankPaths> {
        let Some(root) = self.root(environment) else { return aoe };
        let own = below(&root);
        Ok(match aoe {
            Ok(aoe) => own.before(aoe),
            Err(error) if self.is_simulated => {
                log::debug!("no bank of CANN's is read: {error}");
                own
            }
            Err(error) => return Err(error),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(is_simulated: bool) -> Destination<'static> {
        Destination { work_path: Path::new("out"), named: None, install: false, keeps: Keeps::All, is_simulated }
    }

    #[test]
    fn what_the_simulator_found_goes_to_the_work_path_unless_a_bank_is_named_or_it_is_installed() {
        let home = Environment::from_variables(&[("HOME", "/home/me")], "/w");
        let named = Environment::from_variables(&[("HOME", "/home/me"), ("TUNE_BANK_PATH", "/bank")], "/w");
        let simulated = destination(true);
        assert_eq!(simulated.root(&home), Some("/w/out/aoe_bank".into()));
        assert_eq!(simulated.root(&named), None);
        assert_eq!(Destination { install: true, ..simulated }.root(&home), None);
        assert_eq!(Destination { named: Some(Path::new("/other")), ..simulated }.root(&home), None);
        assert_eq!(destination(false).root(&home), None, "a device's measurements go where AOE puts them");
    }

    #[test]
    fn without_result_files_a_device_s_measurements_go_into_a_named_bank_or_nowhere() {
        let home = Environment::from_variables(&[("HOME", "/home/me")], "/w");
        let device = Destination { keeps: Keeps::Named, work_path: Path::new("/gone"), ..destination(false) };
        assert_eq!(device.root(&home), Some("/gone/aoe_bank".into()));
        assert_eq!(Destination { named: Some(Path::new("/bank")), ..device }.root(&home), None);
        assert_eq!(Destination { install: true, ..device }.root(&home), None);
    }

    #[test]
    fn a_dry_run_writes_into_no_bank_at_all_and_reads_what_there_is() {
        let named = Environment::from_variables(&[("TUNE_BANK_PATH", "/bank")], "/w");
        for is_simulated in [true, false] {
            let dry = Destination { keeps: Keeps::Nothing, work_path: Path::new("/gone"), ..destination(is_simulated) };
            let live = BankPaths { custom: "/bank/soc".into(), also_read: vec!["/below".into()] };
            let paths = dry.paths(&named, Ok(live), BankPaths::graphs_in).unwrap();
            assert_eq!(paths.custom, Path::new("/gone/aoe_bank"));
            assert_eq!(paths.also_read, [Path::new("/bank/soc"), Path::new("/below")]);
        }
    }
}
