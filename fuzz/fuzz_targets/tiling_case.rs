//! Any bytes as a case: an error, or one line of JSON with the default tiling of a kernel; never a panic.
//!
//! Run with `cargo +nightly fuzz run tiling_case`.
#![no_main]

use aoe::cases::Parts;
use aoe::defaults::{explain, tiling};
use aoe::soc::Soc;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use std::sync::LazyLock;

static SOC: LazyLock<Soc> = LazyLock::new(|| Soc::find("Ascend910B2").expect("the default part is known"));

fuzz_target!(|data: &[u8]| {
    let Ok(case) = std::str::from_utf8(data) else { return };
    let Ok(answer) = tiling(case, &mut Parts::only(SOC.clone())) else { return };
    let answer: Value = serde_json::from_str(&answer).expect("an answer is JSON");
    assert!(answer["knowledge"].is_object() && answer["default"].is_string());
    explain(case, &mut Parts::only(SOC.clone())).expect("what is answered can be explained");
});
