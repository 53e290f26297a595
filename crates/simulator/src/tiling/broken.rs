//! What a legality table says of a tiling that breaks one of its rules.

/// A rule that a tiling breaks, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken(pub String);

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Fails where a rule does not hold.
pub(in crate::tiling) fn rule(holds: bool, broken: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken(broken())) }
}

/// Fails where a buffer does not hold what it needs to.
pub(in crate::tiling) fn fits(buffer: &str, what: &str, needed: u64, size: u64) -> Result<(), Broken> {
    rule(needed <= size, || format!("{what} need {needed} bytes of {buffer}, the part has {size}"))
}

/// The product of these fields; saturates.
pub(in crate::tiling) fn product(factors: &[u32]) -> u64 {
    factors.iter().fold(1, |n, &f| n.saturating_mul(f.into()))
}
