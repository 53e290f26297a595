//! Which rules decided, in words.

use super::Tiling;
use crate::spelling::beginning;
use serde_json::Value;
use std::fmt::Write as _;

/// Columns of the text.
const COLUMNS: usize = 100;

/// The explanation of one tiling.
pub(super) fn explanation(id: &Value, tiling: &Tiling, note: Option<&str>) -> String {
    let name = match id {
        Value::String(name) => format!("{}: ", beginning(name)),
        Value::Null => String::new(),
        other => format!("{}: ", beginning(&other.to_string())),
    };
    let kind = if tiling.public { "CANN's default" } else { "an estimate of CANN's default" };
    let mut text = format!("{name}{} {}, {kind}\n", tiling.op, tiling.template);
    wrapped(&mut text, "  ", "  ", &tiling.knowledge.texts().join(", "));
    if let Some([a, b]) = tiling.nd2nz {
        let said = match (a, b) {
            (false, false) => "neither operand is rewritten in fractals first",
            (true, false) => "A is rewritten in fractals first",
            (false, true) => "B is rewritten in fractals first",
            (true, true) => "both operands are rewritten in fractals first",
        };
        wrapped(&mut text, "  ", "  ", &format!("nd2nz: {said}"));
    }
    for (rule, sentence) in &tiling.rules {
        wrapped(&mut text, "  - ", "    ", &format!("{rule}: {sentence}"));
    }
    if let Some(note) = note {
        wrapped(&mut text, "  note: ", "    ", note);
    }
    text.push('\n');
    text
}

/// Appends words in lines that fit; a word that is longer stands alone.
fn wrapped(text: &mut String, first: &str, next: &str, words: &str) {
    let mut line = first.to_owned();
    let mut empty = true;
    for word in words.split(' ') {
        if !empty && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            let _ = writeln!(text, "{line}");
            (line, empty) = (next.to_owned(), true);
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    let _ = writeln!(text, "{line}");
}
