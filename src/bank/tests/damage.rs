//! Damaged files: no panic, no wrong record, everything else kept and the damage named.

use super::memory::Memory;
use super::*;
use crate::bank::file::BankFile;
use crate::bank::form::Form;
use crate::bank::side::Verdict;
use proptest::prelude::*;
use std::path::Path;

const PRODUCTS: [u64; 2] = [128, 256];

fn saved() -> Arc<Memory> {
    let storage = Arc::new(Memory::default());
    let mut bank = bank(&storage);
    for m in PRODUCTS {
        bank.record(&product_of(m), &tiling(m, 64), &measured(m as f64)).unwrap();
    }
    bank.record(&gelu(), &vector_tiling(8), &measured(3.0)).unwrap();
    bank.save().unwrap();
    storage
}

fn bank_file() -> PathBuf {
    Path::new(DIRECTORY).join(FILE)
}

/// What a record is said to be that was written here and reads differently now.
const CHANGED: &str = "changed by another program";

/// Checks that a damaged file yields what was written, or a tiling that is named as changed and has no
/// time. Returns how many records are lost.
fn lost(storage: &Arc<Memory>) -> usize {
    let written: Vec<_> = PRODUCTS.iter().map(|&m| (Form::MatMulV3.key_of(&product_of(m)).unwrap(), m)).collect();
    let file = BankFile::new(&**storage, Path::new(DIRECTORY), FILE, Form::MatMulV3, "MatMulV3");
    let (document, side) = file.read().unwrap().unwrap();
    for record in document.records() {
        let (key, m) = written.iter().find(|(key, _)| *key == record.key).expect("a record that was never written");
        let knowledge = Form::MatMulV3.knowledge_of(&tiling(*m, 64), &product_of(*m)).unwrap();
        if record.knowledge != knowledge {
            assert_eq!(side.verdict(key, &record.knowledge), Verdict::Changed, "m = {m}");
            assert!(document.findings.iter().any(|f| f.reason.contains(CHANGED)), "changed without a word: m = {m}");
        }
    }
    let lost = PRODUCTS.len() - document.records().count();
    assert!(lost == 0 || !document.findings.is_empty(), "lost without a word");
    assert!(file.findings(&document).iter().all(|text| text.contains(&format!("{FILE}:"))));
    lost
}

#[test]
fn every_flipped_byte_loses_at_most_the_records_it_touches() {
    let storage = saved();
    let content = storage.get(bank_file()).unwrap();
    for at in 0..content.len() {
        for mask in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x80] {
            let mut damaged = content.clone();
            damaged[at] ^= mask;
            storage.put(bank_file(), damaged);
            let most = if content[at] == b'\n' { 2 } else { 1 };
            assert!(lost(&storage) <= most, "byte {at} mask {mask:#x}");
        }
    }
}

#[test]
fn a_flipped_byte_in_our_own_form_yields_the_record_or_says_so() {
    let storage = saved();
    let name = "Ascend910B2_24_AiCore_Gelu_aoe_kb.json";
    let path = Path::new(DIRECTORY).join(name);
    let content = storage.get(&path).unwrap();
    for at in 0..content.len() {
        for mask in [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x80] {
            let mut damaged = content.clone();
            damaged[at] ^= mask;
            storage.put(&path, damaged);
            let reader = bank(&storage);
            match reader.lookup(&gelu()).unwrap() {
                Some(entry) if entry.schedule == vector_tiling(8) => {}
                Some(entry) => {
                    assert_eq!(entry.measured, None, "byte {at} mask {mask:#x}");
                    assert!(reader.warnings()[0].contains(CHANGED), "{:?}", reader.warnings());
                }
                None => assert!(reader.warnings()[0].contains(&format!("{name}:1")), "{:?}", reader.warnings()),
            }
        }
    }
}

#[test]
fn a_cut_file_keeps_every_whole_line() {
    let storage = saved();
    let content = storage.get(bank_file()).unwrap();
    for length in (0..content.len()).step_by(7) {
        storage.put(bank_file(), &content[..length]);
        let whole = content[..length].split(|&b| b == b'\n').count() - 1;
        let reader = bank(&storage);
        let found = PRODUCTS.iter().filter(|&&m| reader.lookup(&product_of(m)).unwrap().is_some()).count();
        assert!(found >= whole, "{found} of {whole} whole lines after {length} bytes");
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
    let one: &[_] = &[(r#""iterateOrder":1"#, r#""iterateOrder":0"#)];
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
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_damaged_side_file_costs_only_what_it_said(at in 0usize..10_000, mask in 1u8.., cut: bool) {
        let storage = saved();
        let path = Path::new(DIRECTORY).join(".aoe").join(format!("{FILE}.side.jsonl"));
        let mut content = storage.get(&path).unwrap();
        let at = at % content.len();
        if cut { content.truncate(at) } else { content[at] ^= mask }
        storage.put(&path, content);
        prop_assert_eq!(lost(&storage), 0);
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
