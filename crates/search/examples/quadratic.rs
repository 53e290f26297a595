//! Tunes a function that knows its minimum: two parameters, one constraint, sixty measurements.

use aoe_search::space::{Parameter, Space, Value};
use aoe_search::{Outcome, Search, Settings};

fn main() -> aoe_base::status::Result<()> {
    let steps = |end: i64| (0..end).map(Value::Integer).collect();
    let parameters = vec![Parameter::new("x", steps(40))?, Parameter::new("y", steps(40))?];
    let space = Space::new(parameters, &["x + y < 50"])?;
    let mut search = Search::new(&space, Settings { max_trials: 60, ..Settings::default() })?;
    while let Some(trial) = search.ask() {
        let [x, y] = [0, 1].map(|p| f64::from(trial.configuration[p]));
        search.tell(trial.id, Outcome::Cost((x - 31.0).powi(2) + (y - 7.0).powi(2)))?;
    }
    if let Some((&[x, y], cost)) = search.best().map(|(best, cost)| (best.first_chunk().expect("two parameters"), cost))
    {
        println!("best of {} legal configurations: x {x}, y {y}, cost {cost}", space.count().unwrap_or(0));
    }
    Ok(())
}
