//! Integer arithmetic as tiling rules use it. Nothing here divides by zero or wraps.

/// Ceiling division; a divisor of 0 counts as 1.
pub(in crate::tiling) const fn cd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { a.div_ceil(b) }
}

/// The least multiple of `b` that is not below `a`.
pub(in crate::tiling) const fn up(a: u64, b: u64) -> u64 {
    cd(a, b).saturating_mul(if b == 0 { 1 } else { b })
}

/// The largest multiple of `b` that is not above `a`.
#[expect(clippy::manual_checked_ops, reason = "a constant function, where `checked_div` is no shorter")]
pub(in crate::tiling) const fn dn(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { a / b * b }
}

/// Floor division; a divisor of 0 counts as 1.
#[expect(clippy::manual_checked_ops, reason = "a constant function, where `checked_div` is no shorter")]
pub(in crate::tiling) const fn fl(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { a / b }
}

/// The larger of two.
pub(in crate::tiling) const fn max(a: u64, b: u64) -> u64 {
    if a > b { a } else { b }
}

/// The smaller of two.
pub(in crate::tiling) const fn min(a: u64, b: u64) -> u64 {
    if a < b { a } else { b }
}

/// The product of all, saturating.
pub(in crate::tiling) fn product<const N: usize>(factors: [u64; N]) -> u64 {
    factors.into_iter().fold(1, u64::saturating_mul)
}

#[allow(dead_code, reason = "for the operators built upon this one")]
/// The largest power of 2 that is not above `a`; 1 for 0.
pub(in crate::tiling) const fn last_pow2(a: u64) -> u64 {
    if a == 0 { 1 } else { 1 << a.ilog2() }
}

#[allow(dead_code, reason = "for the operators built upon this one")]
/// The least power of 2 that is not below `a`, as far as there is one.
pub(in crate::tiling) const fn next_pow2(a: u64) -> u64 {
    match a.checked_next_power_of_two() {
        Some(power) => power,
        None => 1 << 63,
    }
}
