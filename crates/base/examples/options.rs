//! Reads options from an INI file as a user would write one, and names a wrong one with its line and the nearest right one.
//!
//! ```sh
//! cargo run -p aoe-base --example options -- FILE
//! ```
//!
//! Without a file it reads the text below, which holds a mistake.

use aoe_base::status::{Error, Result};
use aoe_base::{ini, input_file, spelling};
use std::path::{Path, PathBuf};

const KNOWN: [&str; 3] = ["soc_version", "job_type", "output"];
const SAMPLE: &str = "[tuning]\nsoc_version = Ascend910B2\njob_tipe = 2\n";

fn check(text: &str, path: &Path) -> Result<()> {
    for entry in ini::parse(text, path)? {
        if !KNOWN.contains(&entry.key.as_str()) {
            let meant = spelling::meant(&entry.key, KNOWN);
            let reason = format!("line {}: there is no option `{}`{meant}", entry.line, entry.key);
            return Err(Error::file("read", path, reason));
        }
        println!("{} = {}", entry.key, entry.value);
    }
    Ok(())
}

fn main() {
    let file = std::env::args_os().nth(1).map(PathBuf::from);
    let text = file.as_ref().map_or_else(|| Ok(SAMPLE.to_owned()), |file| input_file::read_text(file));
    let name = file.as_deref().unwrap_or(Path::new("options.ini"));
    if let Err(error) = text.and_then(|text| check(&text, name)) {
        eprintln!("{error}");
    }
}
