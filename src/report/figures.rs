//! Numbers as reports print them.

/// Microseconds in the unit that fits them: `870 ns`, `36.9 µs`, `1.25 ms`, `2.5 s`.
pub fn time(us: f64) -> String {
    match us {
        _ if !us.is_finite() => "–".to_owned(),
        us if us.abs() >= 999.5e3 => format!("{} s", digits(us / 1e6)),
        us if us.abs() >= 999.5 => format!("{} ms", digits(us / 1e3)),
        us if us.abs() >= 0.9995 || us == 0.0 => format!("{} µs", digits(us)),
        us => format!("{} ns", digits(us * 1e3)),
    }
}

/// A count and what is counted, by its singular and its plural.
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A number in three digits that count.
pub fn digits(x: f64) -> String {
    match x.abs() {
        _ if !x.is_finite() => "–".to_owned(),
        0.0 => "0".to_owned(),
        size if size >= 1e6 => format!("{x:.2e}"),
        size if size >= 99.95 => format!("{x:.0}"),
        size if size >= 9.995 => format!("{x:.1}"),
        size if size >= 0.0995 => format!("{x:.2}"),
        _ => format!("{x:.2e}"),
    }
}

/// Microseconds to the nanosecond.
pub fn microseconds(us: f64) -> f64 {
    (us * 1e3).round() / 1e3
}

/// Microseconds as milliseconds, to the nanosecond.
pub fn milliseconds(us: f64) -> f64 {
    (us * 1e3).round() / 1e6
}

/// How much better `after` is, as AOE prints it: (before - after) / after in per cent with two
/// decimals, for example `35.35%`. `0.00%` where there is no time to divide by.
pub fn improvement(before: f64, after: f64) -> String {
    let percent = if after > 0.0 { (before - after) / after * 100.0 } else { 0.0 };
    let text = format!("{percent:.2}%");
    if text == "-0.00%" { "0.00%".into() } else { text }
}

/// [`improvement`] of times in microseconds as they are printed, to the nanosecond: the same for readers who have only these.
pub fn gain(before_us: f64, after_us: f64) -> String {
    improvement(microseconds(before_us), microseconds(after_us))
}

/// [`improvement`] as AOE prints it for subgraphs: cut off behind the second decimal, not rounded.
pub fn truncated_improvement(before: f64, after: f64) -> String {
    let percent = if after > 0.0 { (before - after) / after * 100.0 } else { 0.0 };
    // A value that is exact in two decimals must not fall below them in binary.
    let text = format!("{:.2}%", (percent * 100.0 + percent.signum() * 1e-6).trunc() / 100.0);
    if text == "-0.00%" { "0.00%".into() } else { text }
}
