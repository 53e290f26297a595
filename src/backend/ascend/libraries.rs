//! The libraries of one runtime: the one that was found, and its companions of the split generations.

use super::library::{Loaded, Symbol};
use super::places::Place;
use super::report::{Attempt, Outcome};
use std::collections::HashMap;

/// The libraries of one runtime; companions are loaded when first needed.
pub struct Libraries<'a> {
    main: &'a Loaded,
    place: &'a Place,
    companions: HashMap<&'static str, Option<Loaded>>,
    /// Companions that could not be loaded, and why.
    pub attempts: Vec<Attempt>,
}

impl<'a> Libraries<'a> {
    /// The libraries around the one that was found in a place.
    pub fn of(main: &'a Loaded, place: &'a Place) -> Libraries<'a> {
        Libraries { main, place, companions: HashMap::new(), attempts: Vec::new() }
    }

    /// The function of a symbol, from the first library that has it.
    ///
    /// # Safety
    /// As [`Loaded::function`]: `F` is the function pointer type of its prototype.
    pub unsafe fn function<F: Copy>(&mut self, symbol: &Symbol) -> Option<F> {
        // SAFETY: the caller's promise.
        if let Some(function) = unsafe { self.main.function(symbol.name) } {
            return Some(function);
        }
        symbol.libraries.iter().find_map(|name| {
            let library = self.companion(name)?;
            // SAFETY: the caller's promise.
            unsafe { library.function(symbol.name) }
        })
    }

    /// Whether some library has a symbol.
    pub fn has(&mut self, symbol: &Symbol) -> bool {
        self.main.has(symbol.name)
            || symbol.libraries.iter().any(|name| self.companion(name).is_some_and(|library| library.has(symbol.name)))
    }

    fn companion(&mut self, name: &'static str) -> Option<&Loaded> {
        let (place, attempts) = (self.place, &mut self.attempts);
        let load = || {
            let path = place.path_of(name);
            let library = place.load(&path);
            library.map_err(|outcome: Outcome| attempts.push(Attempt { origin: place.origin, path, outcome })).ok()
        };
        self.companions.entry(name).or_insert_with(load).as_ref()
    }
}
