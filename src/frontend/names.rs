//! Names of the nodes of a graph under construction.

use rustc_hash::FxHashMap;

/// Names taken, each with the next number to try when it is wished for again.
#[derive(Debug, Default)]
pub struct Names(FxHashMap<String, u64>);

impl Names {
    /// Reserves a name: the one wished for, or else that one with a number.
    pub fn claim(&mut self, wish: &str) -> String {
        let Some(&first) = self.0.get(wish) else {
            self.0.insert(wish.to_owned(), 1);
            return wish.to_owned();
        };
        let mut number = first;
        let name = loop {
            let name = format!("{wish}_{number}");
            number += 1;
            if !self.0.contains_key(&name) {
                break name;
            }
        };
        self.0.insert(wish.to_owned(), number);
        self.0.insert(name.clone(), 1);
        name
    }
}
