//! A table finds what was put into it.

use crate::bank::index::table::{Records, Table};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Keys of one length and of several, that differ in few bytes and in all.
fn keys() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::collection::vec(0u8..3, 6).prop_map(|ends| [&ends[..2], &[7; 150], &ends[2..]].concat()),
        1 => prop::collection::vec(0u8..3, 0..9),
        1 => prop::collection::vec(0u8..2, 156),
    ]
}

proptest! {
    #[test]
    fn a_table_finds_what_a_map_finds(
        records in prop::collection::vec((keys(), "\\PC{0,50}"), 0..100),
        others in prop::collection::vec(keys(), 0..100),
    ) {
        let (mut packed, mut map) = (Records::default(), BTreeMap::new());
        let places: Vec<_> = records.iter().map(|(key, value)| packed.push(key, value.as_bytes())).collect();
        let mut table = Table::with_room(places.len(), packed.bytes()).unwrap();
        for (place, (key, value)) in places.into_iter().zip(&records) {
            let is_first = table.insert(&packed, place);
            prop_assert_eq!(is_first, !map.contains_key(key), "the first record of a key stays");
            map.entry(key.clone()).or_insert(value.clone());
        }
        prop_assert_eq!(table.len(), map.len());
        // Keys of the table with one byte changed are none of it, mostly.
        let near = map.keys().flat_map(|key| [0, key.len() / 2].map(|at| {
            let mut near = key.clone();
            near.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1);
            near
        }));
        for key in map.keys().cloned().chain(near).chain(others) {
            prop_assert_eq!(table.get(&key), map.get(&key).map(String::as_bytes));
        }
    }
}

#[test]
fn a_table_takes_what_it_has_room_for() {
    let mut records = Records::default();
    let places: Vec<_> = (0..300_u32).map(|number| records.push(&number.to_le_bytes(), b"{}")).collect();
    let mut table = Table::with_room(places.len() - 1, records.bytes() - 64).unwrap();
    let before = table.memory();
    let taken: Vec<_> = places.iter().map(|place| table.insert(&records, *place)).collect();
    assert!(taken[..299].iter().all(|taken| *taken) && !taken[299], "each record takes 64 bytes");
    assert_eq!((table.memory(), table.len()), (before, 299));
    assert_eq!(table.get(&7_u32.to_le_bytes()), Some(&b"{}"[..]));
    assert!((299 * 64..300 * 96).contains(&before), "{before}");
}
