//! The two forms of a fusion switch file.

use super::{Known, Stage, Switches};
use crate::input_file::read_text;
use crate::json_text::UniqueKeys;
use crate::spelling;
use crate::status::{Error, Result};
use serde::Deserialize;
use std::path::Path;

/// The JSON form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "Switch")]
    switch: Sections,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sections {
    #[serde(rename = "GraphFusion", default)]
    graph: UniqueKeys,
    #[serde(rename = "UBFusion", default)]
    ub: UniqueKeys,
}

impl Switches {
    /// Reads a switch file on top of what is switched already: lines `Pass:on` and `Pass:off`, or JSON
    /// `{"Switch":{"GraphFusion":{"ALL":"off","Pass":"on"},"UBFusion":{..}}}`. Says of the passes that it names which
    /// cannot be switched off, and which change nothing here.
    ///
    /// Fails with [`Error::File`] where it cannot be read, and with [`Error::Config`] that names line or key for what is
    /// no switch, names no pass or switches one twice.
    pub fn read(mut self, path: &Path) -> Result<Switches> {
        let text = read_text(path)?;
        let named = if text.trim_start().starts_with('{') {
            self.read_json(&text).map_err(|(line, reason)| config(path, line, reason))?
        } else {
            self.read_lines(&text).map_err(|(line, reason)| config(path, Some(line), reason))?
        };
        tell(path, &named);
        Ok(self)
    }

    #[expect(clippy::type_complexity, reason = "the passes named and an error with its line, read by one caller")]
    fn read_json(&mut self, text: &str) -> Result<Vec<(&'static Known, bool)>, (Option<usize>, String)> {
        let line = |e: &serde_json::Error| Some(e.line()).filter(|&line| line > 0);
        let file: File = serde_json::from_str(text).map_err(|e| (line(&e), e.to_string()))?;
        let mut named = Named::default();
        for (stage, UniqueKeys(section)) in [(Stage::Graph, file.switch.graph), (Stage::Ub, file.switch.ub)] {
            for (name, value) in section {
                let state = value.as_str().and_then(state);
                let bad = || (None, format!("`{}` is neither on nor off", spelling::shortened(&name)));
                let on = state.ok_or_else(bad)?;
                let pass = self.set(&name, Some(stage), on).map_err(|reason| (None, reason))?;
                named.add(pass, Some(stage), on).map_err(|reason| (None, reason))?;
            }
        }
        Ok(named.passes)
    }

    fn read_lines(&mut self, text: &str) -> Result<Vec<(&'static Known, bool)>, (usize, String)> {
        let mut named = Named::default();
        for (line, number) in text.lines().zip(1..) {
            // CANN's pages explain such lines behind two slashes.
            let line = line.split("//").next().unwrap_or_default().trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let bad = || (number, format!("`{}` is not of the form Pass:on or Pass:off", spelling::shortened(line)));
            let (name, word) = line.rsplit_once(':').ok_or_else(bad)?;
            let on = state(word.trim()).ok_or_else(bad)?;
            let pass = self.set(name.trim(), None, on).map_err(|reason| (number, reason))?;
            named.add(pass, None, on).map_err(|reason| (number, reason))?;
        }
        Ok(named.passes)
    }
}

/// The switches of a file so far.
#[derive(Default)]
struct Named {
    passes: Vec<(&'static Known, bool)>,
    /// The stages of which all passes are switched.
    all: Vec<Option<Stage>>,
}

impl Named {
    /// Takes one more: a pass, or all of a stage.
    ///
    /// Fails with the reason where it is switched already: whether the first or the last counts, nothing says.
    fn add(&mut self, pass: Option<&'static Known>, stage: Option<Stage>, on: bool) -> Result<(), String> {
        let known = match pass {
            Some(pass) => self.passes.iter().any(|(other, _)| other.name == pass.name),
            None => self.all.contains(&stage),
        };
        if known {
            return Err(format!("`{}` is switched twice; keep one of them", pass.map_or("ALL", |pass| pass.name)));
        }
        match pass {
            Some(pass) => self.passes.push((pass, on)),
            None => self.all.push(stage),
        }
        Ok(())
    }
}

fn config(path: &Path, line: Option<usize>, reason: String) -> Error {
    Error::Config { path: path.to_owned(), line, reason }
}

fn state(word: &str) -> Option<bool> {
    match word {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// Says which of the switches have no effect.
fn tell(path: &Path, named: &[(&'static Known, bool)]) {
    let names = |test: &dyn Fn(&(&Known, bool)) -> bool| -> Vec<&'static str> {
        named.iter().filter(|switch| test(switch)).map(|(pass, _)| pass.name).collect()
    };
    let fixed = names(&|(pass, on)| !pass.switchable && !on);
    if !fixed.is_empty() {
        log::warn!("{}: these passes cannot be switched off: {}", path.display(), spelling::listed(&fixed));
    }
    let idle = names(&|(pass, on)| !pass.modelled && *on != pass.on);
    if !idle.is_empty() {
        log::warn!(
            "{}: these passes of CANN have no counterpart here, so that switching them changes nothing: {}",
            path.display(),
            idle.join(", ")
        );
    }
}
