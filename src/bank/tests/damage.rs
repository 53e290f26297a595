//! Damaged files: no panic, no wrong record, everything else kept and the damage named.

use super::memory::Memory;
use super::*;
use crate::bank::file::BankFile;

use crate::bank::side::Verdict;
use proptest::prelude::*;
use std::path::Path;

fn bank_file() -> PathBuf {
    Path::new(DIRECTORY).join(FILE)
}

/// What a record is said to be that was written here and reads differently now.
const CHANGED: &str = "changed by another program";

/// Checks that a damaged file or side file yields only what was written, with its time or none, and names
/// every line that is not as it was. Returns how many records are lost.
fn lost(storage: &Arc<Memory>) -> usize {
    let written: Vec<_> = PRODUCTS.iter().map(|&m| (matmul_v3().key_of(&product_of(m)).unwrap(), m)).collect();
    let file = BankFile::new(&**storage, Path::new(DIRECTORY), FILE, matmul_v3(), "MatMulV3");
    let (document, side) = file.read().unwrap().unwrap();
    for record in document.records() {
        let (key, m) = written.iter().find(|(key, _)| *key == record.key).expect("a record that was never written");
        let knowledge = matmul_v3().knowledge_of(&tiling(*m, 64), &product_of(*m)).unwrap();
        assert_eq!(record.knowledge, knowledge, "m = {m}");
        if let Verdict::Vouched(time) = side.verdict(key, &record.knowledge) {
            assert_eq!(time.after_us.to_bits(), (*m as f64).to_bits());
        }
    }
    let lost = PRODUCTS.len() - document.records().count();
    assert!(lost == 0 || !document.lines.findings().is_empty(), "lost without a word");
    let places = [format!("{FILE}:"), format!("{FILE}.side.jsonl:")];
    assert!(file.findings(&document, &side).iter().all(|text| places.iter().any(|place| text.contains(place))));
    lost
}

/// Every text that differs from this one in one byte, so far as that is likely to be misread: each bit of
/// each byte flipped, each digit replaced by every other, by a blank and by a sign; and each byte left out.
/// With the place of the byte.
fn flipped(content: &[u8]) -> impl Iterator<Item = (usize, Vec<u8>)> {
    content.iter().enumerate().flat_map(move |(at, &byte)| {
        let bits = (0..8).map(move |bit| byte ^ (1 << bit));
        let others = (b'0'..=b'9').chain(*b" -+.e").filter(move |_| byte.is_ascii_digit());
        let replaced = bits.chain(others).filter(move |&b| b != byte).map(move |b| {
            let mut damaged = content.to_vec();
            damaged[at] = b;
            damaged
        });
        let without = [&content[..at], &content[at + 1..]].concat();
        replaced.chain([without]).map(move |damaged| (at, damaged))
    })
}

#[test]
fn every_flipped_byte_loses_at_most_the_records_it_touches_and_changes_none() {
    let storage = saved();
    let content = storage.get(bank_file()).unwrap();
    for (at, damaged) in flipped(&content) {
        storage.put(bank_file(), damaged.clone());
        let most = if content[at] == b'\n' { 2 } else { 1 };
        assert!(lost(&storage) <= most, "{}", String::from_utf8_lossy(&damaged));
    }
}

#[test]
fn every_damaged_file_is_set_aside_before_it_is_written_over_and_what_it_held_is_kept() {
    let storage = saved();
    let files = storage.files();
    let content = storage.get(bank_file()).unwrap();
    for at in 0..content.len() {
        let mut damaged = content.clone();
        damaged[at] ^= 0x04;
        let storage = Arc::new(Memory::with(files.clone()));
        storage.put(bank_file(), damaged.clone());
        let before: Vec<_> = PRODUCTS.iter().map(|&m| bank(&storage).lookup(&product_of(m)).unwrap()).collect();
        let mut writer = bank(&storage);
        writer.record(&product_of(640), &tiling(640, 64), &measured(6.0)).unwrap();
        writer.save().unwrap();
        let copy = storage.get(Path::new(DIRECTORY).join(format!("{FILE}.damaged-1")));
        let now = storage.get(bank_file()).unwrap();
        assert!(copy.as_ref() == Some(&damaged) || now.starts_with(&damaged), "byte {at}: a line is gone, and no copy");
        for (m, before) in PRODUCTS.iter().zip(before) {
            assert_eq!(bank(&storage).lookup(&product_of(*m)).unwrap(), before, "byte {at}, m = {m}");
        }
    }
}

#[test]
fn a_flipped_byte_in_our_own_form_yields_the_record_or_says_so() {
    let storage = saved();
    let name = "Ascend910B2_24_AiCore_Gelu_aoe_kb.json";
    let path = Path::new(DIRECTORY).join(name);
    let content = storage.get(&path).unwrap();
    for (_, damaged) in flipped(&content) {
        storage.put(&path, damaged.clone());
        let reader = bank(&storage);
        match reader.lookup(&gelu()).unwrap() {
            Some(entry) => assert_eq!(entry.schedule, vector_tiling(8)),
            None => assert!(reader.warnings()[0].contains(&format!("{name}:1")), "{:?}", reader.warnings()),
        }
        let is_named = reader.warnings().iter().any(|w| w.contains(&format!("{name}:1")));
        let text = String::from_utf8_lossy(&damaged);
        assert!(is_named || damaged.trim_ascii() == content.trim_ascii(), "damaged without a word: {text}");
    }
}

#[test]
fn a_cut_file_keeps_every_whole_line_and_names_the_other() {
    let storage = saved();
    let content = storage.get(bank_file()).unwrap();
    for length in 0..content.len() {
        storage.put(bank_file(), &content[..length]);
        let reader = bank(&storage);
        let found = PRODUCTS.iter().filter(|&&m| reader.lookup(&product_of(m)).unwrap().is_some()).count();
        // A line that lacks its line feed alone is whole.
        let ends = content[..=length].split(|&b| b == b'\n').count() - 1;
        assert_eq!(found, ends, "after {length} bytes");
        let is_cut = length > 0 && content[length] != b'\n' && content[length - 1] != b'\n';
        assert_eq!(reader.warnings().len(), usize::from(is_cut), "{:?}", reader.warnings());
        assert!(reader.warnings().iter().all(|w| w.contains(&format!("{FILE}:{}", ends + 1))));
    }
}

#[test]
fn every_flipped_byte_and_every_cut_of_a_side_file_costs_only_what_it_said() {
    let storage = saved();
    let path = Path::new(DIRECTORY).join(".aoe").join(format!("{FILE}.side.jsonl"));
    let content = storage.get(&path).unwrap();
    let cut = (0..content.len()).map(|length| (length, content[..length].to_vec()));
    for (_, damaged) in flipped(&content).chain(cut) {
        storage.put(&path, damaged);
        assert_eq!(lost(&storage), 0);
    }
}

#[test]
fn a_damaged_file_is_set_aside_once_before_it_is_written_over() {
    let storage = saved();
    let mut damaged = storage.get(bank_file()).unwrap();
    let at = damaged.iter().position(|&b| b == b':').unwrap();
    damaged[at] = b'?';
    storage.put(bank_file(), damaged.clone());
    let mut writer = bank(&storage);
    writer.record(&product_of(640), &tiling(640, 64), &measured(6.0)).unwrap();
    writer.save().unwrap();
    let copy = |n: u32| storage.get(Path::new(DIRECTORY).join(format!("{FILE}.damaged-{n}")));
    assert_eq!(copy(1).as_ref(), Some(&damaged));
    assert!(writer.warnings().iter().any(|w| w.contains(&format!("{FILE}:1"))), "{:?}", writer.warnings());
    assert!(writer.warnings().iter().any(|w| w.contains("damaged-1")), "{:?}", writer.warnings());
    let found = |m| bank(&storage).lookup(&product_of(m)).unwrap().is_some();
    assert_eq!(PRODUCTS.iter().filter(|&&m| found(m)).count(), 1);
    assert!(found(640));
    // The file is whole again; another kind of damage gets another copy.
    storage.put(bank_file(), "{}\n");
    writer.record(&product_of(640), &tiling(640, 64), &measured(6.0)).unwrap();
    writer.save().unwrap();
    assert_eq!(copy(2).as_deref(), Some(&b"{}\n"[..]));
    assert_eq!(copy(3), None);
}

#[test]
fn a_record_that_another_tool_changed_is_taken_without_our_times_be_it_one_field() {
    // More than one byte: that much a failing disk would not change and leave a record.
    let one: &[_] = &[(r#""usedCoreNum":16"#, r#""usedCoreNum":8"#)];
    let two = &[(r#""baseK":64"#, r#""baseK":32"#), (r#""depthA1":8"#, r#""depthA1":4"#)];
    for edits in [one, two] {
        let storage = saved();
        let text = String::from_utf8(storage.get(bank_file()).unwrap()).unwrap();
        let line = text.lines().find(|line| line.contains(r#""m":128,"#)).unwrap();
        let changed = edits.iter().fold(line.to_owned(), |line, (from, to)| line.replace(from, to));
        assert_ne!(changed, line);
        let file = text.replace(line, &changed);
        storage.put(bank_file(), file.clone());
        let mut user = bank(&storage);
        let entry = user.lookup(&product_of(128)).unwrap().unwrap();
        assert_ne!(entry.schedule, tiling(128, 64));
        assert_eq!(entry.measured, None);
        assert!(matches!(&user.warnings()[..], [only] if only.contains(CHANGED)), "{:?}", user.warnings());
        // Saving something else keeps it, and sets nothing aside.
        user.record(&product_of(640), &tiling(640, 64), &measured(6.0)).unwrap();
        user.save().unwrap();
        let saved = String::from_utf8(storage.get(bank_file()).unwrap()).unwrap();
        assert!(saved.starts_with(&file), "{saved}");
        assert!(!storage.files().keys().any(|path| path.to_string_lossy().contains("damaged")));
        assert_eq!(bank(&storage).warnings(), [""; 0], "its time is forgotten with it");
    }
}

#[test]
fn times_of_another_soc_description_are_void() {
    let storage = saved();
    let faster = Soc { hbm_gb_s: 3200.0, ..soc() };
    let reader = OperatorBank::with_storage(paths(), &faster, storage.clone(), String::new());
    let entry = reader.lookup(&product_of(128)).unwrap().unwrap();
    assert_eq!((entry.schedule, entry.measured), (tiling(128, 64), None));
}

proptest! {
    #![proptest_config(aoe_testing::cases(64))]

    #[test]
    fn any_damage_to_bank_and_side_file_yields_nothing_but_what_was_written(
        cuts in proptest::collection::vec((any::<bool>(), 0usize..10_000, 0usize..40, any::<u8>()), 1..4)
    ) {
        let storage = saved();
        let side = Path::new(DIRECTORY).join(".aoe").join(format!("{FILE}.side.jsonl"));
        let (written, times) = (storage.get(bank_file()).unwrap(), storage.get(&side).unwrap());
        // Stretches of zeros, as a torn page leaves them, and bytes out of place.
        for (is_side, at, length, byte) in cuts {
            let path = if is_side { side.clone() } else { bank_file() };
            let mut content = storage.get(&path).unwrap();
            let at = at % content.len();
            let end = (at + length).min(content.len());
            content[at..end].fill(0);
            content[at] = byte;
            storage.put(&path, content);
        }
        let reader = bank(&storage);
        for m in PRODUCTS {
            let Some(entry) = reader.lookup(&product_of(m)).unwrap() else { continue };
            let is_changed = reader.warnings().iter().any(|w| w.contains(CHANGED));
            let is_vouched = storage.get(&side) == Some(times.clone());
            prop_assert!(entry.schedule == tiling(m, 64) || is_changed || !is_vouched, "{:?}", entry);
            prop_assert!(entry.measured.is_none_or(|t| t == measured(m as f64)));
        }
        let mut writer = bank(&storage);
        let damaged = storage.get(bank_file()).unwrap();
        writer.record(&product_of(640), &tiling(640, 64), &measured(6.0)).unwrap();
        writer.save().unwrap();
        let copy = storage.get(Path::new(DIRECTORY).join(format!("{FILE}.damaged-1")));
        let kept = storage.get(bank_file()).unwrap().starts_with(&damaged);
        prop_assert!(damaged == written || kept || copy == Some(damaged));
    }

    #[test]
    fn arbitrary_bytes_are_read_and_written_over_safely(content in proptest::collection::vec(any::<u8>(), 0..400)) {
        let storage = Arc::new(Memory::default());
        storage.put(bank_file(), content.clone());
        let mut writer = bank(&storage);
        prop_assert_eq!(writer.lookup(&product_of(128)).unwrap(), None);
        writer.record(&product_of(128), &tiling(128, 64), &measured(1.0)).unwrap();
        writer.save().unwrap();
        let kept = storage.get(Path::new(DIRECTORY).join(format!("{FILE}.damaged-1")));
        prop_assert!(content.trim_ascii().is_empty() || kept == Some(content));
        prop_assert_eq!(bank(&storage).lookup(&product_of(128)).unwrap().unwrap().schedule, tiling(128, 64));
    }
}

#[test]
fn a_million_bad_lines_are_summed_and_not_told_one_by_one() {
    let storage = Arc::new(Memory::default());
    storage.put(Path::new(DIRECTORY).join(FILE), "nonsense\n".repeat(1_000_000));
    let bank = bank(&storage);
    assert!(bank.lookup(&product_of(128)).unwrap().is_none());
    let warnings = bank.warnings();
    assert_eq!(warnings.len(), 101);
    assert!(warnings[100].contains("999900 more lines"), "{}", warnings[100]);
}
