//! Any bytes as a subgraph bank, CANN's and ours: records fit their features, what is written can be read again
//! and holds the same; never a panic.
//!
//! Run with `cargo +nightly fuzz run subgraph_bank`.
#![no_main]

use aoe::bank::Content;
use aoe::bank::subgraph::{Bank, Kind};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    for kind in [Kind::Cann, Kind::Ours] {
        let bank = Bank::parse(kind, data);
        for record in bank.records() {
            record.check().expect("a record that was read fits");
            assert!(bank.get(record.graph_id, &record.feature).is_some());
        }
        let again = Bank::parse(kind, &bank.render());
        assert!(!again.is_damaged(), "{:?}", again.findings());
        assert!(again.records().eq(bank.records()));
    }
});
