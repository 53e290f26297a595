//! Tests of the gradient bank.

mod store;

use super::*;
use crate::bank::Content;
use crate::bank::tests::mutate::{damage, damaged};
use proptest::prelude::*;

fn gradients(times: &[u64]) -> Gradients {
    Gradients { time: times.to_vec(), size: times.iter().map(|t| 4 * t).collect() }
}

fn bank() -> Bank {
    let mut bank = Bank::default();
    bank.put(15_294_858_920_613_849_201, gradients(&[9, 100, 7]));
    bank.put(2, gradients(&[1, 2]));
    bank
}

const TEXT: &str = r#"[{"modelhash":"15294858920613849201","modelvalue":{"gradientSize":[36,400,28],"gradientTime":[9,100,7]}},{"modelhash":"2","modelvalue":{"gradientSize":[4,8],"gradientTime":[1,2]}}]"#;

#[test]
fn the_file_is_written_as_cann_writes_it() {
    assert_eq!(String::from_utf8(bank().render()).unwrap(), TEXT);
    assert_eq!(Bank::default().render(), b"[]");
    let read = Bank::parse(TEXT.as_bytes());
    assert_eq!(read.entries().collect::<Vec<_>>(), bank().entries().collect::<Vec<_>>());
    assert_eq!((read.findings(), read.is_damaged()), (&[][..], false));
    assert_eq!(Bank::parse(b"").findings(), []);
}

#[test]
fn placeholders_are_filled_as_cann_does() {
    let mut bank = bank();
    bank.put(6, Gradients::placeholder());
    assert_eq!((bank.get(6), bank.entries().last().unwrap().1.is_placeholder()), (None, true));
    let text = String::from_utf8(bank.render()).unwrap();
    assert!(text.ends_with(r#","modelvalue":{"gradientSize":[0,0,0,0,0],"gradientTime":[0,0,0,0,0]}}]"#));
    assert_eq!(bank.fill(&gradients(&[3, 4])), 1);
    assert_eq!(bank.get(6), Some(&gradients(&[3, 4])));
    assert_eq!((bank.fill(&gradients(&[5])), bank.get(2)), (0, Some(&gradients(&[1, 2]))));
}

#[test]
fn fields_and_entries_that_are_not_known_stay() {
    let text = "\u{feff}[ {\"note\": [1.50], \"modelhash\": \"7\", \"modelvalue\": {\"x\": 1, \"gradientTime\": [1], \"gradientSize\": [2]}},\n{\"modelhash\":\"7\",\"modelvalue\":{\"gradientTime\":[3],\"gradientSize\":[4]}} ]\n";
    let mut bank = Bank::parse(text.as_bytes());
    assert_eq!(bank.get(7), Some(&Gradients { time: vec![1], size: vec![2] }));
    assert!(matches!(bank.findings(), [f] if f.line == 2 && f.reason.contains("earlier entry")));
    let entries: Vec<_> = text.trim_matches(['\u{feff}', '[', ']', ' ', '\n']).split(",\n").collect();
    assert_eq!(String::from_utf8(bank.render()).unwrap(), format!("[{}]", entries.join(",")));
    bank.put(7, gradients(&[8]));
    let first = r#"{"modelhash":"7","modelvalue":{"gradientSize":[32],"gradientTime":[8],"x":1},"note":[1.5]}"#;
    assert_eq!(String::from_utf8(bank.render()).unwrap(), format!("[{first},{}]", entries[1]));
}

#[test]
fn entries_that_no_bank_holds_are_damaged() {
    for (entry, reason) in [
        (r#"{"modelhash":7,"modelvalue":{}}"#, "modelhash"),
        (r#"{"modelhash":"07","modelvalue":{}}"#, "modelhash"),
        (r#"{"modelhash":"18446744073709551616","modelvalue":{}}"#, "modelhash"),
        (r#"{"modelhash":"7","modelvalue":{"gradientTime":[1]}}"#, "gradientSize"),
        (r#"{"modelhash":"7","modelvalue":{"gradientTime":[1],"gradientSize":[-1]}}"#, "gradientSize"),
        (r#"{"modelhash":"7","modelvalue":{"gradientTime":[1],"gradientSize":[1,2]}}"#, "1 times, but 2 sizes"),
        ("3", "object"),
    ] {
        let bank = Bank::parse(format!("[\n{entry}]").as_bytes());
        assert!(bank.is_damaged() && bank.entries().next().is_none(), "{entry}");
        assert!(matches!(bank.findings(), [f] if f.line == 2 && f.reason.contains(reason)), "{:?}", bank.findings());
    }
}

#[test]
fn every_flipped_or_cut_byte_is_named_and_costs_at_most_the_entries_it_touches() {
    let lines = TEXT.replacen("},{\"m", "},\n{\"m", 9);
    let content = lines.as_bytes();
    let original = Bank::parse(content);
    for at in 0..content.len() {
        for mask in [0, 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x80] {
            let mut damaged = content.to_vec();
            if mask == 0 {
                damaged.truncate(at);
            } else {
                damaged[at] ^= mask;
            }
            let read = Bank::parse(&damaged);
            let kept = original.entries().filter(|(hash, gradients)| read.get(*hash) == Some(gradients)).count();
            if mask == 0 {
                assert!(read.entries().all(|(hash, g)| original.get(hash) == Some(g)), "cut at {at}");
                assert!(at == 0 || (read.is_damaged() && !read.findings().is_empty()), "cut at {at}");
            } else {
                // No sum is over the numbers: another digit, or a blank for the last one, is another number.
                let is_number = content[at].is_ascii_digit() && matches!(damaged[at], b'0'..=b'9' | b' ');
                assert!(kept == 2 || is_number || !read.findings().is_empty(), "byte {at} mask {mask:#x}");
                assert!(kept >= 1, "byte {at} mask {mask:#x}: {:?}", read.findings());
            }
            assert!(serde_json::from_slice::<serde_json::Value>(&read.render()).is_ok(), "byte {at} mask {mask:#x}");
        }
    }
}

proptest! {
    #[test]
    fn what_is_left_of_a_damaged_file_is_written_whole_and_read_again(damage in damage()) {
        let read = Bank::parse(&damaged(&bank().render(), &damage));
        let again = Bank::parse(&read.render());
        prop_assert!(!again.is_damaged(), "{:?}", again.findings());
        prop_assert!(again.entries().eq(read.entries()));
    }

    #[test]
    fn arbitrary_bytes_are_read_and_rendered_safely(content in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut bank = Bank::parse(&content);
        bank.put(1, Gradients::placeholder());
        bank.fill(&gradients(&[1]));
        let read = Bank::parse(&bank.render());
        prop_assert_eq!(read.get(1), Some(&gradients(&[1])));
    }

    #[test]
    fn what_is_put_is_read_back(entries in proptest::collection::btree_map(any::<u64>(), proptest::collection::vec(1u64.., 1..20), 0..10)) {
        let mut bank = Bank::default();
        for (&hash, times) in &entries {
            bank.put(hash, Gradients { time: times.clone(), size: times.clone() });
        }
        let read = Bank::parse(&bank.render());
        prop_assert_eq!(read.entries().count(), entries.len());
        for (&hash, times) in &entries {
            prop_assert_eq!(&read.get(hash).unwrap().time, times);
        }
    }
}

#[test]
fn a_bad_entry_is_named_by_its_place_and_its_network() {
    let bad = r#"{"modelhash":"9","modelvalue":{"gradientTime":[1]}}"#;
    let text = TEXT.replace("},{", &format!("}},{bad},5,{{"));
    let bank = Bank::parse(text.as_bytes());
    let [two, three] = bank.findings() else { panic!("{:?}", bank.findings()) };
    assert!(two.reason.contains("entry 2 (modelhash \"9\"): `gradientSize` is missing"), "{two:?}");
    assert!(three.reason.contains("entry 3: the entry is no JSON object"), "{three:?}");
    assert_eq!(bank.lines().collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn an_entry_is_taken_over_with_fields_that_are_not_known() {
    let entry = |fields: &str, time: u64| {
        let lists = format!(r#""modelvalue":{{"gradientSize":[4],"gradientTime":[{time}]}}"#);
        Bank::parse(format!(r#"[{{"modelhash":"7",{lists},{fields}}}]"#).as_bytes())
    };
    let mut bank = entry(r#""own":1,"both":2"#, 5);
    bank.adopt(&entry(r#""both":3,"theirs":4"#, 6), 7);
    bank.adopt(&entry(r#""x":1"#, 6), 8);
    let said =
        r#"[{"both":3,"modelhash":"7","modelvalue":{"gradientSize":[4],"gradientTime":[6]},"own":1,"theirs":4}]"#;
    assert_eq!(String::from_utf8(bank.render()).unwrap(), said);
}

#[test]
fn what_lies_between_entries_of_a_damaged_file_is_told_by_its_line() {
    let entry =
        |hash: u32| format!(r#"{{"modelhash":"{hash}","modelvalue":{{"gradientTime":[1],"gradientSize":[2]}}}}"#);
    let content = format!("[{},\n{}\nnonsense,\n{}", entry(1), entry(2), entry(3));
    let bank = Bank::parse(content.as_bytes());
    assert_eq!(bank.entries().map(|(hash, _)| hash).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(bank.lines().collect::<Vec<_>>(), [1, 2, 4]);
    let told: Vec<_> = bank.findings().iter().map(|finding| (finding.line, finding.reason.clone())).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().any(|(line, reason)| *line == 2 && reason.contains("not written again")), "{told:?}");
}
