//! Searches the tilings of a product on an Ascend 910B2 and prints CANN's default beside the best.

use aoe_search::{Outcome, Search, Settings};
use aoe_simulator::sim::Model;
use aoe_simulator::soc::Soc;
use aoe_simulator::space::{OperatorSpace, default_policy};
use aoe_simulator::workload::{MatMul, Workload};

fn main() -> aoe_base::status::Result<()> {
    let soc = Soc::find("Ascend910B2")?;
    let product = Workload::MatMul(MatMul::new(96, 4096, 11008));
    let model = Model::new(&product, &soc)?;
    let default_us = model.predict(&default_policy(&product, &soc)?)?.time_us;
    let space = OperatorSpace::new(&product, &soc)?;
    let mut search = Search::new(&space, Settings { max_trials: 500, ..Settings::default() })?;
    while let Some(trial) = search.ask() {
        let cost =
            space.schedule(&trial.configuration).and_then(|schedule| Some(model.predict(&schedule).ok()?.time_us));
        search.tell(trial.id, cost.map_or(Outcome::Failed, Outcome::Cost))?;
    }
    if let Some((_, best_us)) = search.best() {
        println!("{product}: default {default_us:.1} us, best of 500 tilings {best_us:.1} us");
    }
    Ok(())
}
