//! The container: its bytes by offset, the way there and back, damage.

use super::{Header, USER_INFO, encode_graph, read};
use crate::frontend::{ModelOptions, air, load_memory};
use crate::graph::{Attr, Constant, DataType, Graph, Node, Shape, TensorDesc};
use crate::status::Error;
use prost::bytes::Bytes;

fn desc(dims: &[i64]) -> TensorDesc {
    TensorDesc::new(DataType::Float, Shape::new(dims))
}

fn small() -> Graph {
    let mut graph = Graph::new("a name that is far longer than thirty-two bytes");
    let x = graph.add_input("x", desc(&[2, 3])).unwrap();
    let w = graph.add_const("w", desc(&[3]), Constant::Floats(vec![1.0, 2.0, 3.0])).unwrap();
    let b = graph.add_const("b", desc(&[1]), Constant::Floats(vec![4.0])).unwrap();
    let mut add = Node::new("add", "AddN").with_inputs([x, w, b]).with_outputs(vec![desc(&[2, 3])]);
    add.attrs.set("_aoe_tiling", Attr::Str("{}".into()));
    let add = graph.add(add).unwrap();
    graph.add_output(crate::graph::Port::first(add));
    graph
}

fn u32_at(file: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(file[at..at + 4].try_into().unwrap())
}

fn u64_at(file: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(file[at..at + 8].try_into().unwrap())
}

#[test]
fn every_field_stands_where_canns_loader_looks_for_it() {
    let file = encode_graph(&small()).unwrap();
    assert_eq!(&file[..4], b"IMOD");
    assert_eq!((u32_at(&file, 4), u32_at(&file, 8)), (256, 0x2000_0000));
    assert_eq!(u32_at(&file, 76) as usize, file.len() - 256);
    // Not encrypted, no checksum, IR, made offline.
    assert_eq!(file[80..84], [0, 1, 0, 0]);
    assert_eq!(&file[84..116], b"a name that is far longer than \0");
    assert_eq!(&file[120..120 + USER_INFO.len()], USER_INFO.as_bytes());
    assert_eq!(file[120 + USER_INFO.len()], 0);
    assert_eq!(u32_at(&file, 156), 1);
    assert_eq!(u64_at(&file, 184) as usize, file.len() - 256);
    assert!(file[194..256].iter().all(|&b| b == 0));
    // The table: two partitions, back to back behind it.
    assert_eq!(u32_at(&file, 256), 2);
    let (model, weights) = air::encode_apart(&small()).unwrap();
    for (entry, kind, offset, bytes) in [(264, 0, 0, &model), (288, 1, model.len(), &weights)] {
        assert_eq!(u32_at(&file, entry), kind);
        assert_eq!((u64_at(&file, entry + 8), u64_at(&file, entry + 16)), (offset as u64, bytes.len() as u64));
        assert_eq!(&file[312 + offset..312 + offset + bytes.len()], &bytes[..]);
    }
    assert_eq!(file.len(), 312 + model.len() + weights.len());
    assert_eq!(weights.len(), 512 + 4, "each constant begins at a multiple of 512 bytes");
}

#[test]
fn a_tuned_graph_comes_back_with_its_constants() {
    let graph = small();
    let back = read(&encode_graph(&graph).unwrap().into(), "file").unwrap();
    assert_eq!(air::encode_model(&back).unwrap(), air::encode_model(&graph).unwrap());
    let value = |name: &str| back.node(back.find(name).unwrap()).value.clone();
    assert_eq!(value("w"), Some(Constant::Floats(vec![1.0, 2.0, 3.0])));
    assert_eq!(value("b"), Some(Constant::Floats(vec![4.0])));
    let loaded = load_memory(&encode_graph(&graph).unwrap(), "file", None, &ModelOptions::default()).unwrap();
    assert_eq!(loaded.name, graph.name);
}

#[test]
fn the_compact_table_of_older_files_is_read() {
    let (model, weights) = air::encode_apart(&small()).unwrap();
    let file = encode_graph(&small()).unwrap();
    let mut old = file[..256].to_vec();
    old[184..192].fill(0);
    old.extend_from_slice(&2u32.to_le_bytes());
    for (kind, bytes) in [(0u32, &model), (1, &weights)] {
        // The loader looks at sizes only.
        for number in [kind, 0xdead, bytes.len() as u32] {
            old.extend_from_slice(&number.to_le_bytes());
        }
    }
    old.extend_from_slice(&model);
    old.extend_from_slice(&weights);
    let back = read(&old.into(), "old").unwrap();
    assert_eq!(air::encode_model(&back).unwrap(), air::encode_model(&small()).unwrap());
}

#[test]
fn compiled_and_encrypted_models_are_refused_as_such() {
    for (at, value) in [(82, 1), (80, 1)] {
        let mut file = encode_graph(&small()).unwrap();
        file[at] = value;
        let error = read(&file.into(), "net").unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }) && error.to_string().contains("net"), "{error}");
    }
}

#[test]
fn a_file_cut_anywhere_or_longer_than_it_says_is_an_error() {
    let file = encode_graph(&small()).unwrap();
    for end in 0..file.len() {
        let error = read(&Bytes::copy_from_slice(&file[..end]), "net").expect_err("a cut file must not load");
        assert!(error.to_string().contains("`net`"), "{error}");
    }
    let longer: Vec<u8> = [&file[..], &[0]].concat();
    assert!(read(&longer.into(), "net").unwrap_err().to_string().contains("after its last partition"));
}

#[test]
fn no_byte_that_is_turned_around_makes_the_reader_panic() {
    let file = encode_graph(&small()).unwrap();
    for at in 0..file.len() {
        for flip in [0x01, 0xff] {
            let mut damaged = file.clone();
            damaged[at] ^= flip;
            if let Ok(graph) = read(&damaged.into(), "net") {
                graph.validate().unwrap();
            }
        }
    }
}

#[test]
fn the_header_says_what_it_was_told() {
    let header = Header {
        length: 7,
        is_encrypt: true,
        model_type: 3,
        name: "ünïcödé ".repeat(4),
        user_info: String::new(),
        model_num: 9,
        model_length: u64::MAX - 1,
        is_unknown_model: true,
    };
    let read = Header::decode(&header.encode(), &String::new).unwrap();
    assert!(header.name.starts_with(&read.name) && read.name.len() >= 30, "{}", read.name);
    assert_eq!(Header { name: header.name.clone(), ..read }, header);
}
