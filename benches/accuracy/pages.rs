//! The table on the pages that carry it: `README.md` and `docs/simulator.md`, between two remarks.

use std::path::{Path, PathBuf};

/// The pages.
const PAGES: [&str; 2] = ["README.md", "docs/simulator.md"];
/// What stands before and behind the table there.
const REMARKS: [&str; 2] = ["<!-- the table of make accuracy -->", "<!-- its end -->"];

/// What becomes of the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Nothing: whoever has other data has another table.
    Nothing,
    /// It is an error where one of them has another table.
    Check,
    /// They get the table.
    Write,
}

impl What {
    /// By the command line.
    pub fn of(args: &[String]) -> What {
        let has = |option: &str| args.iter().any(|arg| arg == option);
        match (has("--write-pages"), has("--check-pages")) {
            (true, _) => What::Write,
            (false, true) => What::Check,
            (false, false) => What::Nothing,
        }
    }

    /// Whether an argument says so.
    pub fn is_option(arg: &str) -> bool {
        ["--write-pages", "--check-pages"].contains(&arg)
    }
}

/// Has the pages hold this table, or fails with the first line of one that does not.
pub fn hold(table: &[String], what: What) -> Result<(), String> {
    for page in PAGES.iter().filter(|_| what != What::Nothing) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
        let failed = |reason: String| format!("{}: {reason}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|e| failed(e.to_string()))?;
        let lines: Vec<&str> = text.lines().collect();
        let place = |remark: &str| {
            lines.iter().position(|line| *line == remark).ok_or_else(|| failed(format!("it has no line `{remark}`")))
        };
        let [from, to] = [place(REMARKS[0])? + 1, place(REMARKS[1])?];
        let there = lines.get(from..to).ok_or_else(|| failed("its table ends before it begins".to_owned()))?;
        if what == What::Write {
            let own: Vec<&str> = table.iter().map(String::as_str).collect();
            let text = [&lines[..from], &own, &lines[to..]].concat().join("\n") + "\n";
            write(&path, &text)?;
        } else if there != table {
            let at = (0..table.len().max(there.len()))
                .find(|&at| there.get(at).copied() != table.get(at).map(String::as_str));
            let line = |of: Option<&str>| of.unwrap_or("nothing").to_owned();
            let at = at.unwrap_or_default();
            let (has, wants) = (line(there.get(at).copied()), line(table.get(at).map(String::as_str)));
            return Err(failed(format!(
                "line {} is\n  {has}\nand the table has\n  {wants}\n--write-pages puts it there",
                from + at + 1
            )));
        }
    }
    Ok(())
}

fn write(path: &PathBuf, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}
