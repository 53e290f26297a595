//! Any bytes as a case: one line of JSON with an error, or with the finite time of a schedule that is legal;
//! never a panic.
//!
//! Run with `cargo +nightly fuzz run simulate_case`.
#![no_main]

use aoe::simulate::{Parts, price, read};
use aoe::soc::Soc;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use std::sync::LazyLock;

static SOC: LazyLock<Soc> = LazyLock::new(|| Soc::find("Ascend910B2").expect("the default part is known"));

fuzz_target!(|data: &[u8]| {
    let Ok(case) = std::str::from_utf8(data) else { return };
    let Ok(answer) = price(case, &mut Parts::only(SOC.clone())) else { return };
    let answer: Value = serde_json::from_str(&answer).expect("an answer is JSON");
    let time = answer["time_us"].as_f64().expect("an answer has a time");
    assert!(time.is_finite() && time > 0.0);
    let job = read(case, &SOC).expect("what was priced can be read");
    aoe::workload::check(&job.workload, &job.schedule, &SOC).expect("what was priced is legal");
});
