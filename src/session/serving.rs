//! The options of `aoe llm` that it shares with tuning: the part, and where records go.

use super::environment::Environment;
use super::options::{OptionMap, OptionSpec, restrict};
use super::simulation;
use crate::bank::{BankPaths, OperatorBank};
use crate::soc::Soc;
use crate::status::Result;

/// The options that count, from the one table.
pub fn options() -> impl Iterator<Item = &'static OptionSpec> {
    simulation::pricing_options()
}

/// The part that these options name.
///
/// Fails with [`crate::status::Error::Option`] for an option of tuning, which would have no effect, and as
/// [`simulation::pricing`] does.
pub fn part(options: &OptionMap) -> Result<Soc> {
    restrict(options, &simulation::PRICING, "aoe llm")?;
    simulation::priced_part(options, &Environment::read())
}

/// The bank that a tuning for this part would write. Fails as [`BankPaths::operator`] does.
pub fn bank(soc: &Soc) -> Result<OperatorBank> {
    let environment = Environment::read();
    let paths = BankPaths::operator(&environment.bank_places(None), soc)?;
    Ok(OperatorBank::open(paths.over(environment.toolkit().operator_banks(soc)), soc))
}
