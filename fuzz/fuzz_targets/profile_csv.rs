//! Any bytes as a profile that `aoe --profile`, `aoe kernels --against` and `aoe calibrate` read: an error with its line, or
//! kernels whose sums are those of the file; never a panic. The time of a profile is that of its kernels, told or not.
//!
//! Run with `cargo +nightly fuzz run profile_csv`.
#![no_main]

use aoe::kernels::{Measured, Profile};
use libfuzzer_sys::fuzz_target;
use std::path::PathBuf;
use std::sync::LazyLock;

static PLACE: LazyLock<PathBuf> =
    LazyLock::new(|| std::env::temp_dir().join(format!("aoe_fuzz_{}_kernel_details.csv", std::process::id())));

fuzz_target!(|data: &[u8]| {
    std::fs::write(&*PLACE, data).expect("there is room for a profile");
    let measured = Measured::read(&PLACE);
    let soc = aoe::soc::Soc::find("Ascend910B2").expect("it is known");
    let Ok(profile) = Profile::read(&PLACE, &soc) else { return };
    let told: f64 = profile.kernels.iter().map(|kernel| kernel.us).sum();
    let all = told + profile.without_operands_us;
    assert!((all - profile.total_us).abs() <= profile.total_us * 1e-6, "{all} of {}", profile.total_us);
    for kernel in &profile.kernels {
        let _ = aoe::simulate::read(&kernel.case.to_string(), &soc);
    }
    if let Ok(measured) = measured {
        let us: f64 = measured.types.values().map(|counted| counted.us).sum::<f64>() * measured.runs as f64;
        let all = profile.total_us + profile.left_out.us;
        assert!((us - all).abs() <= us * 1e-6, "{us} and {all}");
    }
});
