//! Names in messages: what a mistyped one may have meant, long ones cut, and none that plays with a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Names that a message lists before it gives up.
const LISTED: usize = 12;
/// Letters by which a name that is close may differ.
const CLOSE: usize = 2;

/// The name closest to a mistyped one, when one is close; capitals and the choice of `-` or `_` do not count.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let normal = |s: &str| s.trim_start_matches('-').replace('-', "_").to_lowercase();
    let word = normal(word);
    let letters = word.chars().count();
    // As many letters as the lengths differ by are wrong: a word of millions is compared with nothing.
    let may_be = |name: &&str| normal(name).chars().count().abs_diff(letters) <= CLOSE;
    let distances = names.into_iter().filter(may_be).map(|name| (edit_distance(&word, &normal(name)), name));
    distances.min().filter(|&(distance, name)| distance <= CLOSE && distance < name.len()).map(|(_, name)| name)
}

/// Letters from which on a part of a name tells the name.
const TELLING: usize = 3;

/// What a message about a word that is none of `names` ends in: a question after the nearest, or the shortest that holds the
/// word (`warn` for `warning`); nothing where none is near.
pub fn meant<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let part = word.to_lowercase();
    let holds = |name: &&&str| part.chars().count() >= TELLING && name.to_lowercase().contains(&part);
    let holding = || names.iter().filter(holds).min_by_key(|name| name.len()).copied();
    let near = nearest(word, names.iter().copied()).or_else(holding);
    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

/// Some names for a message, and how many there are beyond.
pub fn listed(names: &[&str]) -> String {
    let shown = names[..names.len().min(LISTED)].join(", ");
    match names.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Letters of the longest name that a message gives whole, and those it gives of a longer one.
const LONGEST_NAME: usize = 200;
const HEAD: usize = 100;
const TAIL: usize = 50;

/// A name for a message, cut in the middle where it is longer than anyone reads: names come out of model files, which
/// may be made of anything.
pub fn shortened(name: &str) -> Cow<'_, str> {
    let count = if name.len() > LONGEST_NAME { name.chars().count() } else { 0 };
    if count <= LONGEST_NAME {
        return Cow::Borrowed(name);
    }
    let part = |from: usize, letters: usize| name.chars().skip(from).take(letters).collect::<String>();
    Cow::Owned(format!("{}...{}", part(0, HEAD), part(count - TAIL, TAIL)))
}

/// The beginning of a text of any length that a user wrote, on one line.
pub fn beginning(text: &str) -> String {
    const LETTERS: usize = 60;
    let start: String = text.chars().take(LETTERS).flat_map(char::escape_default).collect();
    if text.chars().nth(LETTERS).is_some() { start + "..." } else { start }
}

/// A reason with the last line that a program wrote, as far as a message bears it.
pub fn with_last_line(reason: &str, written: &str) -> String {
    const QUOTED: usize = 200;
    match written.lines().rev().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => format!("{reason}: {}", line.chars().take(QUOTED).collect::<String>()),
        None => reason.to_owned(),
    }
}

/// A message whose names, which stand between backquotes, are [`shortened`].
pub fn with_short_names(message: String) -> String {
    if message.len() <= LONGEST_NAME {
        return message;
    }
    let short = |(at, part)| if at % 2 == 1 { shortened(part) } else { Cow::Borrowed(part) };
    message.split('`').enumerate().map(short).collect::<Vec<_>>().join("`")
}

/// A text for a line of a terminal or a cell of a table: what would break the line, move the cursor or turn the direction
/// of writing is written as an escape. Names come out of model files, which may be made of anything.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_shown(c) {
            clean.push(c);
        } else {
            let _ = write!(clean, "{}", c.escape_default());
        }
    }
    Cow::Owned(clean)
}

/// Whether a character stays where it is put: no control, no mark that turns the direction of writing or breaks lines.
pub fn is_shown(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_no_character = matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') || u32::from(c) & 0xfffe == 0xfffe;
    !(c.is_control() || turns || is_no_character || ('\u{fdd0}'..='\u{fdef}').contains(&c))
}

/// Levenshtein distance, by rows.
pub fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let substitute = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = substitute.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_close_or_there_is_none() {
        let names = ["MWG", "block_size_x", "block_size_y"];
        assert_eq!(nearest("block-size-x", names), Some("block_size_x"));
        assert_eq!(nearest("mwg", names), Some("MWG"));
        assert_eq!(nearest("blok_size_y", names), Some("block_size_y"));
        assert_eq!(nearest("colour", names), None);
        // Were it compared, this would take hours.
        assert_eq!(nearest(&"x".repeat(20_000_000), std::iter::repeat_n("block_size_x", 100)), None);
        // Nothing is left of a name that is all mistakes.
        assert_eq!(nearest("x", ["a", "b"]), None);
    }

    #[test]
    fn a_part_of_a_name_means_the_shortest_that_holds_it_and_two_letters_mean_nothing() {
        let names = ["force_fp16", "cube_fp16in_fp32out", "warning"];
        assert_eq!(meant("fp16", names), "; did you mean `force_fp16`?");
        assert_eq!(meant("warn", names), "; did you mean `warning`?");
        assert_eq!(meant("warnimg", names), "; did you mean `warning`?");
        assert_eq!([meant("fp", names), meant("null", names), meant("", names)].concat(), "");
    }

    #[test]
    fn what_would_move_the_cursor_or_turn_the_writing_is_escaped_and_letters_are_kept() {
        assert_eq!(printable("conv\u{1b}[2J\n卷积é"), "conv\\u{1b}[2J\\n卷积é");
        assert_eq!(printable("a\u{202e}cba\u{2069}"), "a\\u{202e}cba\\u{2069}");
        assert!(matches!(printable("conv1"), Cow::Borrowed("conv1")));
    }

    #[test]
    fn a_long_list_is_cut() {
        assert_eq!(listed(&["a", "b"]), "a, b");
        assert!(listed(&["x"; 20]).ends_with(" and 8 more"));
    }

    #[test]
    fn names_of_any_length_leave_a_message_readable() {
        let long = "\u{5377}".repeat(100_000);
        let message = with_short_names(format!("node `{long}` reads `x`, {}", "and so on ".repeat(30)));
        assert!(message.len() < 1000 && message.contains("...") && message.contains("reads `x`"), "{message}");
        assert!(message.ends_with("and so on "), "what is no name stays");
        assert_eq!(shortened("conv1"), "conv1");
    }
}
