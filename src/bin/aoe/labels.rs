//! Lines with a label in front, as the end of a tuning is told.

/// Nodes of a kind that are named before the rest is only counted.
const NAMED: usize = 5;

/// A line with its label.
pub fn labelled(label: &str, text: &str) -> String {
    format!("{label:<12} {text}")
}

/// The first few names, and how many more there are.
pub fn some_of(names: &[String]) -> String {
    let first = names[..names.len().min(NAMED)].join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
