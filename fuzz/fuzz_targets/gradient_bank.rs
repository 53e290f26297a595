//! Any bytes as a gradient bank: what is written can be read again and holds the same; never a panic.
//!
//! Run with `cargo +nightly fuzz run gradient_bank`.
#![no_main]

use aoe::bank::Content;
use aoe::bank::gradient::{Bank, Gradients};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut bank = Bank::parse(data);
    let again = Bank::parse(&bank.render());
    assert!(!again.is_damaged(), "{:?}", again.findings());
    assert!(again.entries().eq(bank.entries()));
    let mut merged = Bank::default();
    bank.entries().for_each(|(hash, _)| merged.adopt(&bank, hash));
    let again = Bank::parse(&merged.render());
    assert!(again.findings().is_empty() && again.entries().eq(bank.entries()), "{:?}", again.findings());
    bank.put(1, Gradients::placeholder());
    assert!(bank.entries().any(|(hash, _)| hash == 1));
});
