//! Properties of the two ways to read a line.

use super::{LineReader, Reading};
use crate::bank::form::Form;
use crate::bank::json::to_sorted_text;
use crate::bank::layout::Layout;
use crate::bank::matmul::Tiling;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Numbers and near-numbers, usual and unusual.
const TOKENS: [&str; 30] = [
    "0",
    "1",
    "16",
    "4096",
    "4294967295",
    "4294967296",
    "2147483648",
    "999999999999999999",
    "9999999999999999999",
    "18446744073709551615",
    "18446744073709551616",
    "-1",
    "-0",
    "007",
    "00",
    "1.0",
    "0.0",
    "1.00",
    "01.0",
    "1.5",
    "1.",
    ".5",
    "9999999.0",
    "16777217.0",
    "1e3",
    "1E400",
    "true",
    "false",
    "null",
    "\"5\"",
];

/// A record of an operator with numbers that depend on a seed.
fn record(op_type: &str, seed: u64) -> Value {
    let layout = Layout::of(op_type).unwrap();
    let key: Vec<u8> = (0..layout.bytes()).map(|i| ((seed >> (i % 24)) & 1) as u8).collect();
    let mut info = layout.unpack(&key).unwrap();
    for field in layout.fields() {
        if field.kind == crate::bank::FieldType::F32 {
            info.insert(field.name.into(), json!((seed % 3) as f32));
        }
    }
    let knowledge: Map<String, Value> =
        Tiling::NAMES.iter().enumerate().map(|(i, name)| ((*name).to_owned(), json!(seed % (i as u64 + 2)))).collect();
    json!({"id": seed, "info_dict": info, "knowledge": knowledge, "op": op_type, "version": 0})
}

/// The text of a record in one of the ways in which programs write it.
fn line(op_type: &str, seed: u64, way: u8) -> String {
    let mut record = record(op_type, seed);
    match way % 6 {
        0 => to_sorted_text(&record),
        1 => serde_json::to_string_pretty(&record).unwrap().replace('\n', " "),
        2 => {
            record["knowledge"]["unknown"] = json!(seed as f64 + 0.5);
            record["knowledge"]["flag"] = json!(seed.is_multiple_of(2));
            record["cost"] = json!([1.25, {"id": 7, "knowledge": {"baseM": 3}}]);
            to_sorted_text(&record)
        }
        3 => {
            record["knowledge"].as_object_mut().unwrap().remove("tilingEnable");
            to_sorted_text(&record)
        }
        4 => to_sorted_text(&record).replace("\"baseM\"", "\"base\\u004d\""),
        _ => to_sorted_text(&record).replace("\"baseM\":", "\"baseM\":5,\"baseM\":"),
    }
}

/// What one reading gives, in one form for both ways.
type Told = Result<(Vec<u8>, u64, bool, crate::bank::knowledge::Knowledge, Value), super::Unusable>;

fn told(reading: &Reading<'_>) -> Told {
    let text = serde_json::from_slice(&reading.text()).unwrap();
    Ok((reading.key.to_vec(), reading.id, reading.is_complete, reading.knowledge()?, text))
}

fn by_value(reader: &LineReader<'_>, line: &[u8]) -> Told {
    let general = reader.read_value(line)?;
    let knowledge = reader.form.knowledge(&general.knowledge)?;
    Ok((general.key, general.id, general.is_complete, knowledge, general.knowledge))
}

/// Both ways say the same of a line, in a reader that knows others.
fn check(op_type: &str, known: &[String], line: &[u8]) {
    let mut reader = LineReader::new(Form::runtime(op_type), op_type);
    for known in known {
        reader.read(known.as_bytes()).unwrap();
    }
    let expected = by_value(&reader, line);
    let found = reader.read(line).and_then(|reading| told(&reading));
    assert_eq!(found, expected, "{}", String::from_utf8_lossy(line));
}

/// Where numbers and words of a line begin and end.
fn scalars(line: &str) -> Vec<(usize, usize)> {
    let bytes = line.as_bytes();
    let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'+');
    let starts = (1..bytes.len()).filter(|&i| is_part(bytes[i]) && matches!(bytes[i - 1], b':' | b' ' | b'[' | b','));
    starts.map(|start| (start, start + bytes[start..].iter().take_while(|&&b| is_part(b)).count())).collect()
}

#[test]
fn every_way_of_writing_a_number_is_read_alike_in_every_place() {
    for op_type in ["MatMulV3", "Conv2DV2"] {
        for way in [0, 2] {
            let known = [line(op_type, 11, way)];
            let other = line(op_type, 12, way);
            for (start, end) in scalars(&other) {
                for token in TOKENS {
                    let changed = [&other[..start], token, &other[end..]].concat();
                    check(op_type, &known, changed.as_bytes());
                }
            }
        }
    }
}

#[test]
fn a_line_like_the_last_one_is_read_by_its_skeleton() {
    for op_type in Layout::all().iter().map(Layout::op_type) {
        let mut reader = LineReader::new(Form::runtime(op_type), op_type);
        for seed in 0..50 {
            let line = line(op_type, seed, 0);
            let reading = reader.read(line.as_bytes()).unwrap();
            assert!(matches!(reading.content, super::Content::Found { .. }));
        }
        assert_eq!(reader.skeletons.len(), 1, "{op_type}");
    }
}

#[test]
fn files_of_many_shapes_keep_few_skeletons() {
    let mut reader = LineReader::new(Form::runtime("MatMulV3"), "MatMulV3");
    for i in 0..100 {
        let mut record = record("MatMulV3", i);
        record[format!("field{i}")] = json!(1);
        reader.read(record.to_string().as_bytes()).unwrap();
        assert!(reader.skeletons.len() <= super::MOST_SKELETONS);
    }
}

proptest! {
    #[test]
    fn both_ways_agree_on_lines_with_any_damage(
        op in 0..3usize,
        (way, known_way) in (0u8..6, 0u8..6),
        (seed, known_seed) in (any::<u32>(), any::<u32>()),
        edits in prop::collection::vec((0u8..4, any::<prop::sample::Index>(), any::<u8>(), 0..TOKENS.len()), 0..4),
    ) {
        let op_type = ["MatMulV3", "Conv2DV2", "Conv3DBackpropInputV2"][op];
        let known = [line(op_type, known_seed.into(), known_way), line(op_type, seed.into(), way)];
        let mut bytes = line(op_type, u64::from(seed) + 1, way).into_bytes();
        for (kind, at, byte, token) in edits {
            let at = at.index(bytes.len().max(1));
            match kind {
                0 if at < bytes.len() => bytes[at] = byte,
                1 if at < bytes.len() => drop(bytes.remove(at)),
                2 => bytes.insert(at.min(bytes.len()), byte),
                _ => {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    if let Some(&(start, end)) = scalars(&text).get(at % 60) {
                        bytes = [&text[..start], TOKENS[token], &text[end..]].concat().into_bytes();
                    }
                }
            }
        }
        check(op_type, &known, &bytes);
    }
}
