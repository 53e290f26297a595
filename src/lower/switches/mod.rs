//! Which fusion passes run: CANN's `fusion_switch_file` and optimisation levels.

mod known;
mod others;
mod read;
#[cfg(test)]
mod tests;

use crate::spelling;
pub use known::{Known, PASSES};
use std::collections::BTreeMap;

/// What a fusion pass works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The graph.
    Graph,
    /// Kernels that become one in the unified buffer or through fixpipe.
    Ub,
}

/// Which passes are switched on and off. The default is CANN's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Switches {
    /// What all graph passes and all UB passes are switched to.
    all: [Option<bool>; 2],
    /// What single passes are switched to, by the names in [`PASSES`].
    named: BTreeMap<&'static str, bool>,
    /// Whether the optimisation level closes passes, those that no switch can close among them.
    closed: bool,
}

impl Switches {
    /// Every pass is off: `oo_level` O1, which closes those of fixpipe too, although no switch does.
    pub fn closed() -> Switches {
        Switches { all: [Some(false); 2], closed: true, ..Switches::default() }
    }

    /// Whether a pass runs; one that is not known does.
    pub fn is_on(&self, pass: &str) -> bool {
        let Some(pass) = find(pass) else { return true };
        let chosen = self.named.get(pass.name).copied().or(self.all[pass.stage as usize]);
        if pass.switchable { chosen.unwrap_or(pass.on) } else { !self.closed || chosen == Some(true) }
    }

    /// Switches one pass, or with `ALL` every pass of a stage. Answers the pass, `None` for `ALL`.
    ///
    /// Fails with the reason for a name that no pass has.
    fn set(&mut self, name: &str, stage: Option<Stage>, on: bool) -> Result<Option<&'static Known>, String> {
        if name.eq_ignore_ascii_case("ALL") {
            match stage {
                Some(stage) => self.all[stage as usize] = Some(on),
                None => self.all = [Some(on); 2],
            }
            return Ok(None);
        }
        // Of passes that change nothing here CANN's own pages do not agree on the section that they belong to.
        let pass = find(name).filter(|pass| !pass.modelled || stage.is_none_or(|stage| stage == pass.stage));
        let Some(pass) = pass else { return Err(unknown(name, stage)) };
        self.named.insert(pass.name, on);
        Ok(Some(pass))
    }
}

/// The UB passes that are switched off, in so little that it goes wherever a graph is lowered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UbOff(u64);

impl UbOff {
    /// Those that the switches close, of the passes that can be.
    pub fn of(switches: &Switches) -> UbOff {
        let places = ub_passes().enumerate().filter(|(_, pass)| !switches.is_on(pass.name));
        UbOff(places.fold(0, |off, (place, _)| off | 1 << place))
    }

    /// Whether a UB pass runs; one that is not known does.
    pub fn is_on(self, pass: &str) -> bool {
        // Asked for each scope that a search looks at; nearly always nothing is off.
        if self.0 == 0 {
            return true;
        }
        let Some(pass) = find(pass) else { return true };
        let place = ub_passes().position(|other| other.name == pass.name);
        place.is_none_or(|place| self.0 >> place & 1 == 0)
    }
}

/// The passes on kernels that change something here: a bit of [`UbOff`] each.
fn ub_passes() -> impl Iterator<Item = &'static Known> {
    PASSES.iter().filter(|pass| pass.stage == Stage::Ub && pass.modelled)
}

/// A pass's name without the word that says that it is one.
fn stem(name: &str) -> &str {
    let name = name.strip_suffix("Pass").or_else(|| name.strip_suffix("pass")).unwrap_or(name);
    name.strip_suffix("UbFusion").or_else(|| name.strip_suffix("Fusion")).unwrap_or(name)
}

/// The pass of this name. CANN's pages and logs write some now with one capital, now with another.
pub fn find(name: &str) -> Option<&'static Known> {
    let alike = |pass: &&Known| stem(pass.name).eq_ignore_ascii_case(stem(name));
    PASSES.iter().find(|pass| pass.name == name).or_else(|| PASSES.iter().find(alike))
}

fn unknown(name: &str, stage: Option<Stage>) -> String {
    let named = |pass: &&Known| stage.is_none_or(|stage| stage == pass.stage);
    let (ours, others): (Vec<&Known>, Vec<&Known>) = PASSES.iter().filter(named).partition(|pass| pass.modelled);
    let kind = match stage {
        Some(Stage::Graph) => "graph fusion pass",
        Some(Stage::Ub) => "UB fusion pass",
        None => "fusion pass",
    };
    let hint = spelling::nearest(name, PASSES.iter().filter(named).map(|pass| pass.name));
    let hint = hint.map_or_else(|| ".".to_owned(), |near| format!("; did you mean `{near}`?"));
    let names = |passes: &[&Known]| passes.iter().map(|pass| pass.name).collect::<Vec<_>>().join(", ");
    format!(
        "there is no {kind} `{}`{hint} It may be one of {}; or one of CANN's that change nothing here: {}",
        spelling::shortened(name),
        names(&ours),
        names(&others)
    )
}
