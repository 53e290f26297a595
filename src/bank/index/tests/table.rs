//! A table finds what was put into it, however its records are kept.

use crate::bank::index::packed::{Kept, Packed};
use crate::bank::index::table::Table;
use crate::bank::index::template::Template;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn template(texts: &[&str]) -> Template {
    Template::new(&texts.iter().map(|text| text.as_bytes().into()).collect::<Vec<_>>())
}

fn with_room(packed: &Packed, templates: Vec<Template>) -> Table {
    Table::with_room([packed].into_iter(), templates).expect("there is memory")
}

fn text(table: &Table, key: &[u8]) -> Option<String> {
    let mut buffer = b"what was there".to_vec();
    let found = table.get(key)?;
    let text = found.text(&mut buffer);
    Some(String::from_utf8(text.to_vec()).unwrap())
}

#[test]
fn a_record_is_its_template_with_its_numbers() {
    let mut packed = Packed::default();
    assert!(packed.push_tokens(b"one", Kept(0), ["1", "22", ""].iter()));
    assert!(!packed.push_tokens(b"long", Kept(0), ["1".repeat(16)].iter()), "too long for a number");
    packed.push_text(b"two", b"{}");
    assert!(packed.push_tokens(b"three", Kept(1), ["7".repeat(15)].iter()));
    let long = "x".repeat(100);
    let mut table = with_room(&packed, vec![template(&["{", ",", &long, "}"]), template(&["", ""])]);
    assert!(packed.iter().all(|record| table.insert(&record)));
    assert!(packed.iter().all(|record| !table.insert(&record)), "the first record of a key stays");
    assert_eq!(text(&table, b"one"), Some(format!("{{1,22{long}}}")));
    assert_eq!(text(&table, b"two").unwrap(), "{}");
    assert_eq!(text(&table, b"three").unwrap(), "7".repeat(15));
    assert_eq!((text(&table, b"four"), text(&table, b""), table.len()), (None, None, 3));
}

#[test]
fn a_record_that_is_larger_than_nearly_all_others_is_found_too() {
    let mut packed = Packed::default();
    let key = |number: u32| [b"a key has ".as_slice(), &number.to_le_bytes()].concat();
    let value = |number: u32| "v".repeat(if number.is_multiple_of(50) { 1000 } else { 5 + number as usize % 3 });
    (0..200).for_each(|number| packed.push_text(&key(number), value(number).as_bytes()));
    let mut table = with_room(&packed, vec![]);
    assert!(packed.iter().all(|record| table.insert(&record)));
    table.finish();
    assert!(table.memory() < 200 * 40 + 4 * 1100, "{} bytes", table.memory());
    for number in 0..200 {
        assert_eq!(text(&table, &key(number)), Some(value(number)));
    }
    assert_eq!(text(&table, &key(200)), None);
}

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
        (records, others) in prop_oneof![
            (prop::collection::vec((keys(), "\\PC{0,50}"), 0..100), prop::collection::vec(keys(), 0..100)),
            // Of one length.
            (
                prop::collection::vec((keys().prop_filter("long", |key| key.len() == 156), "[a-z]{0,9}"), 0..200),
                prop::collection::vec(keys(), 0..100),
            ),
        ],
    ) {
        let mut packed = Packed::default();
        let mut map = BTreeMap::new();
        for (key, value) in &records {
            packed.push_text(key, value.as_bytes());
            map.entry(key.clone()).or_insert(value.clone());
        }
        let mut table = with_room(&packed, vec![]);
        for record in packed.iter() {
            table.insert(&record);
        }
        prop_assert_eq!(table.len(), map.len());
        // Keys of the table with one byte changed are none of it, mostly.
        let near = map.keys().flat_map(|key| [0, key.len() / 2].map(|at| {
            let mut near = key.clone();
            near.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1);
            near
        }));
        for key in map.keys().cloned().chain(near).chain(others) {
            prop_assert_eq!(text(&table, &key), map.get(&key).cloned());
        }
    }
}

#[test]
fn values_are_counted_by_their_length_up_to_the_longest() {
    let mut packed = Packed::default();
    for length in [0, 3, 3, 128, 129] {
        packed.push_text(b"key", &vec![b'x'; length]);
    }
    let mut lengths = vec![1];
    packed.add_lengths(&mut lengths);
    assert_eq!((lengths.len(), lengths.iter().sum::<u32>()), (129, 5), "one was there, and one is too long");
    assert_eq!((lengths[0], lengths[3], lengths[128]), (2, 2, 1));
}

#[test]
fn a_record_that_hardly_does_not_fit_a_slot_is_found_whole() {
    let mut packed = Packed::default();
    let key = |number: u32| [b"a key has ".as_slice(), &number.to_le_bytes()].concat();
    // Nearly all have 8 letters; of the others one has one more.
    let value = |number: u32| "v".repeat(if number.is_multiple_of(20) { 9 + number as usize / 20 } else { 8 });
    (0..200).for_each(|number| packed.push_text(&key(number), value(number).as_bytes()));
    let mut table = with_room(&packed, vec![]);
    assert!(packed.iter().all(|record| table.insert(&record)));
    table.finish();
    for number in 0..200 {
        assert_eq!(text(&table, &key(number)), Some(value(number)), "{number}");
    }
}

#[test]
fn memory_is_that_of_slots_hashes_rests_templates_and_keys() {
    let mut packed = Packed::default();
    let key = |number: u8| [7, number, 7, 7, 7, 7, 7, 7, 7, 7];
    (0..30).for_each(|number| packed.push_text(&key(number), b"1234567890"));
    let plain = with_room(&packed, vec![]);
    let with = with_room(&packed, vec![template(&["{", ",", "}"])]);
    let pieces = 3 * size_of::<std::ops::Range<u32>>();
    let texts = "{,}".len() + crate::bank::index::template::SLACK;
    assert_eq!(with.memory() - plain.memory(), texts + pieces + size_of::<Template>());
    // 30 records take 40 slots in groups of 8, and one group more; each has a header, a word of the key and its value.
    let (groups, slot) = (30 * 4_usize, 6 + 4 + 10);
    let groups = groups.div_ceil(3 * 8) + 1;
    let slack = crate::bank::index::template::SLACK;
    let keys = 10 + 10 + 2;
    assert_eq!(plain.memory(), groups * 8 + groups * 8 * slot + slack + slack + keys);
}
