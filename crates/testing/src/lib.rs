//! How many cases the tests of properties try.
#![forbid(unsafe_code)]

use proptest::prelude::ProptestConfig;

/// What a property is tried with: `usual` cases, or more where `PROPTEST_CASES` asks for more than proptest's own
/// number. A property that is slow or wide has its own usual number, which proptest would take whatever the variable
/// says.
pub fn cases(usual: u32) -> ProptestConfig {
    const PLAIN: u64 = 256;
    let asked = u64::from(ProptestConfig::default().cases);
    let cases = (u64::from(usual) * asked).div_ceil(PLAIN);
    ProptestConfig::with_cases(u32::try_from(cases).unwrap_or(u32::MAX))
}
