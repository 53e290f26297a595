//! What the commands of `aoe bank` share.

use crate::arguments::{self, flag};
use crate::settings::Settings;
use aoe::bank::FileName;
use aoe::bank::inspect::{Kind, Source, files};
use aoe::session::simulation;
use aoe::soc::Soc;
use aoe::status::Result;
use clap::{Arg, ArgMatches};
use std::path::{Path, PathBuf};

/// Exit status when something was found: a bad line, a difference, a record left behind.
pub const FOUND: u8 = 1;
/// Exit status when the command line is wrong, or a file cannot be read or written.
pub const TROUBLE: u8 = 2;

/// The bank files behind a path: itself, or those of a directory and the directories below it. What lies there and is no
/// bank is left; there may be none.
pub fn banks(path: &Path) -> Result<Vec<PathBuf>> {
    let mut found = files(path)?;
    if path.is_dir() {
        let mut judged = Vec::new();
        for file in found {
            // A bank of which nothing can be read any more still has the name of one.
            let is_named_so = FileName::of(&file).is_ok() || FileName::of_unified(&file).is_some();
            if is_named_so || Source::open(&file)?.kind() != Kind::Unknown {
                judged.push(file);
            }
        }
        found = judged;
    }
    Ok(found)
}

/// The option that asks for JSON lines in place of a text.
pub fn json_argument() -> Arg {
    flag("json", "Write JSON lines")
}

/// The options that name a SoC.
pub fn soc_arguments() -> impl Iterator<Item = Arg> {
    simulation::options().map(|spec| {
        let argument = arguments::argument(spec).help_heading("SoC");
        if spec.name == "soc_version" {
            argument.help("SoC in place of the one that the file's name tells; a name of `aoe soc`, or a JSON or platform_config file")
        } else {
            argument.requires("soc_version")
        }
    })
}

/// The SoC that the options name.
pub fn soc(matches: &ArgMatches) -> Result<Option<Soc>> {
    let settings = Settings::given(matches, simulation::options())?;
    Ok(simulation::parts(settings.options())?.fixed().cloned())
}
