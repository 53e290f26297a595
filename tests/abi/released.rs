//! What the last release promised: a program that was built with its header runs with this library.
//!
//! `released/aoe.h` is that header. A release puts its own there. Until 0.1.0 is out it is the one of the day on which this
//! check began.

use super::header::Header;
use std::collections::BTreeMap;

/// The header of the last release.
pub const HEADER: &str = include_str!("released/aoe.h");

/// What of a released header has gone or changed, one line each. Functions and constants may be added, and fields at the
/// end of structures that tell their size.
pub fn broken(released: &Header, current: &Header) -> Vec<String> {
    let mut found = Vec::new();
    let same = |then: &str, now: &str| then == now;
    compare(&released.functions, &current.functions, same, &mut found);
    compare(&released.types, &current.types, may_become, &mut found);
    let numbers = |header: &Header| {
        let constants = header.constants.iter().filter(|(name, _)| !name.starts_with("AOE_VERSION_"));
        constants.map(|(name, value)| (name.clone(), value.to_string())).collect()
    };
    compare(&numbers(released), &numbers(current), same, &mut found);
    found
}

/// Whether a type may take the place of another: the same, or longer where it begins with its size.
fn may_become(then: &str, now: &str) -> bool {
    let fields = then.trim_end_matches('}');
    then == now || then.starts_with("{ size_t struct_size ;") && now.starts_with(fields)
}

fn compare(
    released: &BTreeMap<String, String>,
    current: &BTreeMap<String, String>,
    fits: impl Fn(&str, &str) -> bool,
    found: &mut Vec<String>,
) {
    for (name, then) in released {
        match current.get(name) {
            None => found.push(format!("{name}: gone since the release")),
            Some(now) if !fits(then, now) => found.push(format!("{name}: released as `{then}`, now `{now}`")),
            Some(_) => {}
        }
    }
}
