//! Numbers as reports print them.

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

/// [`improvement`] of times in microseconds as they are printed, to the nanosecond: the same for who only has these.
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
