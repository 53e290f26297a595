//! How operands and attributes tell the sizes of attention, and what is said where they do not.

use super::form::Form;
use super::stated::Stated;
use crate::graph::DataType;
use crate::workload::Operand;
use serde_json::{Value, json};

fn read(q: &[u64], keys: &[u64], attrs: &Value) -> Result<(Form, Vec<String>), String> {
    let operand = |shape: &[u64]| Operand::new(shape.to_vec(), DataType::Bfloat16);
    Form::of(&operand(q), &operand(keys), None, &Stated::of("FusedInferAttentionScore", attrs.as_object())?)
}

fn form(q: &[u64], keys: &[u64], attrs: &Value) -> (Form, String) {
    let (form, notes) = read(q, keys, attrs).unwrap_or_else(|error| panic!("{q:?} {keys:?} {attrs}: {error}"));
    (form, notes.join("; "))
}

/// 16 sequences of 4096 keys in a cache of 2048 pages of 128.
const SERVED: Form = Form { batch: 16, heads: 32, kv_heads: 8, rows: 1, columns: 4096, depth: 128 };

#[test]
fn a_cache_in_pages_gives_the_same_sizes_in_every_layout() {
    let lengths = json!(vec![4096; 16]);
    for (layout, q) in [
        ("BNSD", vec![16, 32, 1, 128]),
        ("BSND", vec![16, 1, 32, 128]),
        ("BSH", vec![16, 1, 4096]),
        ("TND", vec![16, 32, 128]),
    ] {
        for keys in [vec![2048, 128, 1024], vec![2048, 8, 128, 128], vec![2048, 128, 8, 128], vec![2048, 8, 8, 128, 16]]
        {
            for attrs in [
                json!({"actual_seq_lengths_kv": lengths, "block_size": 128, "num_heads": 32, "input_layout": layout}),
                json!({"actual_seq_lengths_kv": lengths, "num_heads": 32, "num_key_value_heads": 8, "input_layout": layout}),
                json!({"layout": "paged, block 128", "seq_len": 4096, "heads": 32, "kv_heads": 8, "batch": 16}),
            ] {
                let (found, note) = form(&q, &keys, &attrs);
                assert_eq!(found, SERVED, "{q:?} {keys:?} {attrs}");
                // Three axes do not say by themselves whose they are.
                assert!(note.is_empty() || (layout == "BSH" && attrs["input_layout"].is_null()), "{note} {q:?}");
            }
        }
    }
}

#[test]
fn lengths_of_a_cache_in_pages_are_those_of_each_sequence() {
    let growing = json!([1024, 2048, 3072, 4096]);
    let attrs = json!({"input_layout": "TND", "actual_seq_lengths": [1, 2, 3, 4], "actual_seq_lengths_kv": growing});
    let (found, note) = form(&[4, 32, 128], &[2048, 128, 1024], &attrs);
    assert_eq!((found.batch, found.rows, found.columns, note.as_str()), (4, 1, 2560, ""));
    // Without pages they are sums of all before.
    let (found, _) = form(&[4, 32, 128], &[4096, 8, 128], &attrs);
    assert_eq!((found.batch, found.rows, found.columns), (4, 1, 1024));
    // Keys beside each other are only as many as their lengths.
    let (found, note) =
        form(&[4, 32, 1, 128], &[4, 8, 4096, 128], &json!({"input_layout": "BNSD", "actual_seq_lengths_kv": growing}));
    assert_eq!((found.columns, note.as_str()), (2560, ""));
    // A few pages, as many as there are sequences.
    let attrs = json!({"input_layout": "BNSD", "actual_seq_lengths_kv": [512, 16, 16, 16], "block_size": 128});
    let (found, note) = form(&[4, 32, 1, 128], &[4, 8, 128, 128], &attrs);
    assert!(found.columns == 140 && note.contains("need 7 pages"), "{found:?} {note}");
}

#[test]
fn what_is_assumed_of_a_cache_is_said() {
    let (q, keys) = ([16, 32, 1, 128], [2048, 128, 1024]);
    for (attrs, said) in [
        (json!({"input_layout": "BNSD"}), "a full cache is taken"),
        (json!({"input_layout": "BNSD", "seq_len": 4096, "block_size": 64}), "pages of 128"),
        (json!({"input_layout": "BNSD", "seq_len": 32_000}), "need 4000 pages, the cache has 2048"),
        (json!({"input_layout": "TND", "seq_len": 4096}), "TND, the query has 4 axes: BNSD is taken"),
        (json!({"layout": "rows", "seq_len": 4096}), "`rows` is no layout"),
        (json!({"input_layout": "BNSD", "seq_len": 4096, "batch": 8}), "`attrs.batch` is 8"),
    ] {
        let (found, note) = form(&q, &keys, &attrs);
        assert!(note.contains(said) && found.heads == 32 && found.batch == 16, "{attrs}: {note}");
    }
}

#[test]
fn what_no_kernel_would_run_is_refused_by_name() {
    let (q, keys) = ([16, 32, 1, 128], [2048, 128, 1024]);
    for (attrs, named, reason) in [
        (json!({"input_layout": "BXYZ"}), "attrs.input_layout", "BXYZ"),
        (json!({"input_layout": 3}), "attrs.input_layout", "no text"),
        (json!({"input_layout": "BNSD", "num_heads": 24}), "attrs.num_heads", "32 heads, not 24"),
        (json!({"num_heads": 24}), "attrs.num_heads", "none of 24"),
        (json!({"input_layout": "BNSD", "num_key_value_heads": 4}), "attrs.num_key_value_heads", "8 heads, not 4"),
        (json!({"input_layout": "BNSD", "actual_seq_lengths_kv": [300_000]}), "attrs.actual_seq_lengths_kv", "300000"),
        (
            json!({"input_layout": "BNSD", "actual_seq_lengths_kv": [1, 2]}),
            "attrs.actual_seq_lengths_kv",
            "2 lengths for 16",
        ),
        (
            json!({"input_layout": "BNSD", "actual_seq_lengths": [9]}),
            "attrs.actual_seq_lengths",
            "9 is more than the 1",
        ),
    ] {
        let error = read(&q, &keys, &attrs).unwrap_err();
        assert!(error.contains(named) && error.contains(reason), "{attrs}: {error}");
    }
    let dense = json!({"input_layout": "BNSD", "actual_seq_lengths_kv": vec![513; 4]});
    assert!(read(&[4, 32, 512, 128], &[4, 8, 512, 128], &dense).unwrap_err().contains("513"));
    let flat = json!({"input_layout": "BSH", "num_heads": 24});
    assert!(read(&[16, 1, 4096], &[2048, 128, 1024], &flat).unwrap_err().contains("24 heads"));
    assert!(read(&q, &[2048, 128, 1000], &json!({"input_layout": "BNSD"})).unwrap_err().contains("inputs[1].shape"));
}

#[test]
fn one_token_at_a_time_has_lengths_of_keys_only() {
    let attrs = json!({"actual_seq_lengths": [4096], "input_layout": "BSH", "num_heads": 32});
    let stated = Stated::of("IncreFlashAttention", attrs.as_object()).unwrap();
    let operand = |shape: &[u64]| Operand::new(shape.to_vec(), DataType::Bfloat16);
    let form = Form::of(&operand(&[16, 1, 4096]), &operand(&[2048, 128, 1024]), None, &stated).unwrap();
    assert_eq!(form, (SERVED, Vec::new()));
}

#[test]
fn every_layout_gives_the_same_sizes() {
    let expected = Form { batch: 4, heads: 32, kv_heads: 8, rows: 512, columns: 512, depth: 128 };
    let lengths = json!([512, 1024, 1536, 2048]);
    for (q, keys, attrs) in [
        (vec![4, 32, 512, 128], vec![4, 8, 512, 128], json!({"input_layout": "BNSD"})),
        (vec![4, 32, 512, 128], vec![4, 8, 512, 128], json!({"heads": 32})),
        (vec![4, 512, 32, 128], vec![4, 512, 8, 128], json!({"input_layout": "BSND"})),
        (vec![4, 512, 4096], vec![4, 512, 1024], json!({"input_layout": "BSH", "num_heads": 32})),
        (vec![512, 4, 4096], vec![512, 4, 1024], json!({"input_layout": "SBH", "num_heads": 32})),
        (vec![2048, 32, 128], vec![2048, 8, 128], json!({"layout": "TND", "actual_seq_lengths": lengths})),
    ] {
        assert_eq!(form(&q, &keys, &attrs), (expected, String::new()), "{q:?} {attrs}");
    }
}

#[test]
fn a_layout_that_does_not_tell_is_said() {
    let (_, note) = form(&[4, 16, 32, 128], &[4, 16, 32, 128], &json!({}));
    assert!(note.contains("input_layout"));
    let (found, note) = form(&[64, 8, 128], &[64, 8, 128], &json!({"input_layout": "TND"}));
    assert!(found.batch == 1 && note.contains("lengths"));
}

#[test]
fn attributes_that_are_no_numbers_are_named() {
    for (attrs, name) in [
        (json!({"num_heads": "many"}), "num_heads"),
        (json!({"num_heads": -1}), "num_heads"),
        (json!({"actual_seq_lengths": [1, "x"]}), "actual_seq_lengths"),
        (json!({"actual_seq_lengths_kv": 3}), "actual_seq_lengths_kv"),
    ] {
        assert!(Stated::of("FlashAttentionScore", attrs.as_object()).unwrap_err().contains(name), "{attrs}");
    }
}
