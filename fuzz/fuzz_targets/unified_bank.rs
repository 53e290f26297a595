//! Any bytes as a unified bank and as a tiling repository: what is damaged is named, what is written can be
//! read again and holds the same; never a panic.
//!
//! Run with `cargo +nightly fuzz run unified_bank`.
#![no_main]

use aoe::bank::Content;
use aoe::bank::unified::{Bank, Repository, key, knowledge, schedule, workload};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let bank = Bank::parse(data);
    for element in bank.entries().flat_map(|entry| entry.elements()) {
        assert_eq!(key(element.info_dict()).len(), 32);
        let Ok(product) = workload(element.info_dict()) else { continue };
        let Ok(tiling) = schedule(element.knowledge(), &product) else { continue };
        let back = knowledge(&tiling, &product, Some(element.knowledge())).expect("what was read can be said");
        assert_eq!(back.dumps(), element.knowledge().dumps());
    }
    let written = bank.render();
    let again = Bank::parse(&written);
    assert!(!again.is_damaged(), "{:?}", again.findings());
    assert_eq!(again.entries().count(), bank.entries().count());
    let mut merged = Bank::default();
    bank.entries().filter_map(|entry| entry.best()).for_each(|element| merged.adopt(element));
    let again = Bank::parse(&merged.render());
    assert!(again.findings().is_empty(), "{:?}", again.findings());
    assert_eq!(again.entries().count(), bank.entries().count());
    for row in Repository::parse(data).rows() {
        assert!(row.cost_us.is_none_or(|us| us >= 0.0));
    }
});
