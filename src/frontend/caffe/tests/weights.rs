//! Files of weights, and what they contradict.

use super::{layer, named, net, shape};
use crate::frontend::caffe::weights::{Blob, BlobShape, Layer, Net, OldLayer};
use crate::frontend::{Framework, ModelOptions, load_memory};
use crate::graph::Graph;
use crate::status::Result;
use prost::Message;

fn blob(dims: &[i64]) -> Blob {
    Blob { shape: Some(BlobShape { dim: dims.to_vec() }), ..Blob::default() }
}

/// A layer with blobs of these shapes.
fn with(name: &str, blobs: &[&[i64]]) -> Layer {
    let blobs = blobs.iter().map(|dims| blob(dims).encode_to_vec().into()).collect();
    Layer { name: name.to_owned(), blobs }
}

fn file(layers: &[Layer]) -> Vec<u8> {
    Net { layer: layers.iter().map(|layer| layer.encode_to_vec().into()).collect(), layers: Vec::new() }.encode_to_vec()
}

fn load(text: &str, weights: &[u8]) -> Result<Graph> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("net.caffemodel");
    std::fs::write(&path, weights).unwrap();
    let options = ModelOptions { weights: Some(path), ..ModelOptions::default() };
    load_memory(text.as_bytes(), "test", Some(Framework::Caffe), &options)
}

fn conv() -> String {
    net(&[1, 6, 9, 9], &layer("Convolution", "convolution_param { num_output: 4 kernel_size: 3 group: 2 }"))
}

#[test]
fn weights_that_agree_leave_the_net_as_it_is_without_them() {
    let rest = "layer { name: 'n' type: 'BatchNorm' bottom: 'y' top: 'n' }
        layer { name: 's' type: 'Scale' bottom: 'n' top: 's' scale_param { bias_term: true } }
        layer { name: 'f' type: 'InnerProduct' bottom: 's' top: 'f' inner_product_param { num_output: 5 } }";
    let text = conv() + rest;
    let weights = file(&[
        with("y", &[&[4, 3, 3, 3], &[4]]),
        with("n", &[&[4], &[4], &[1]]),
        with("s", &[&[4], &[4]]),
        with("f", &[&[5, 196], &[5]]),
        with("a layer of the training net", &[&[7]]),
    ]);
    let plain = super::load(&text).unwrap();
    assert_eq!(format!("{:?}", load(&text, &weights).unwrap()), format!("{plain:?}"));
}

#[test]
fn old_files_state_four_sizes_and_the_old_form_of_layers() {
    let four = |[num, channels, height, width]: [i32; 4]| Blob {
        num: Some(num),
        channels: Some(channels),
        height: Some(height),
        width: Some(width),
        data: vec![0; 4 * (num * channels * height * width) as usize].into(),
        ..Blob::default()
    };
    let blobs = [[4, 3, 3, 3], [1, 1, 1, 4]].map(|dims| four(dims).encode_to_vec().into()).to_vec();
    let layers = vec![OldLayer { name: "y".to_owned(), blobs }.encode_to_vec().into()];
    let weights = Net { layers, layer: Vec::new() }.encode_to_vec();
    assert_eq!(shape(&load(&conv(), &weights).unwrap(), "y/filter"), "[4,3,3,3]");
}

#[test]
fn what_the_weights_contradict_is_named_with_layer_and_file() {
    let whole = "convolution_param { num_output: 4 kernel_size: 3 }";
    let conv = net(&[1, 6, 9, 9], &layer("Convolution", whole));
    for (blobs, parts) in [
        (vec![], &["`y` (Convolution)", "0 blobs", "filter"][..]),
        (vec![&[4, 6, 3, 3][..]], &["`y`", "1 blobs", "bias"]),
        (vec![&[8, 6, 3, 3], &[4]], &["`y`", "filter", "[4,?,3,3] in the net", "[8,6,3,3]", "net.caffemodel"]),
        (vec![&[4, 6, 5, 5], &[4]], &["filter", "[4,6,5,5]"]),
        (vec![&[4, 6, 3, 3], &[5]], &["bias", "[4]", "[5]"]),
        (vec![&[4, 6, 3, 3], &[4], &[1]], &["3 blobs", "asks for 2"]),
        (vec![&[4, 5, 3, 3], &[4]], &["`y`", "channels"]),
        (vec![&[4, -6, 3, 3], &[4]], &["layer `y`", "blob 0", "which is none"]),
    ] {
        let others = [with("other", &[&[1]]), with("y", &blobs)];
        let message = load(&conv, &file(&others)).unwrap_err().to_string();
        assert!(parts.iter().all(|part| message.contains(part)), "{parts:?}: {message}");
    }
}

#[test]
fn statistics_scales_and_slopes_that_do_not_go_with_the_channels_are_named() {
    let rest = "layer { name: 'n' type: 'BatchNorm' bottom: 'y' top: 'n' }
        layer { name: 's' type: 'Scale' bottom: 'n' top: 's' scale_param { bias_term: true } }
        layer { name: 'p' type: 'PReLU' bottom: 's' top: 'p' }";
    let text = conv() + rest;
    for (place, at) in [("`n`", 0), ("`n`", 1), ("`s`", 3), ("`s`", 4), ("`p`", 5)] {
        let mut sizes = [[4], [4], [1], [4], [4], [4]];
        sizes[at] = [5];
        let [mean, variance, momentum, scale, bias, slope] = &sizes;
        let weights = file(&[
            with("y", &[&[4, 3, 3, 3], &[4]]),
            with("n", &[mean, variance, momentum]),
            with("s", &[scale, bias]),
            with("p", &[slope]),
        ]);
        let message = load(&text, &weights).unwrap_err().to_string();
        assert!(message.contains(place) && message.contains("[5]"), "{place} {at}: {message}");
    }
}

#[test]
fn files_that_hold_no_weights_are_refused() {
    let values = Blob { data: vec![0; 12].into(), ..blob(&[4]) }.encode_to_vec().into();
    let wrong = Layer { name: "y".to_owned(), blobs: vec![values] };
    let twice = [with("y", &[&[4]]), with("y", &[&[4]])];
    let no_shape = Layer { name: "y".to_owned(), blobs: vec![Blob::default().encode_to_vec().into()] };
    for (bytes, part) in [
        (b"layer { name: 'y' }".to_vec(), "no .caffemodel"),
        (file(&[]), "no layer in it has weights"),
        (file(&[wrong]), "3 values for the shape [4]"),
        (file(&[no_shape]), "blob 0 has no shape"),
        (file(&twice), "a second layer"),
    ] {
        let message = load(&conv(), &bytes).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains("net.caffemodel"), "{part}: {message}");
    }
    let absent = ModelOptions { weights: Some("/nowhere/net.caffemodel".into()), ..ModelOptions::default() };
    let error = load_memory(conv().as_bytes(), "test", Some(Framework::Caffe), &absent).unwrap_err();
    assert!(error.to_string().contains("/nowhere/net.caffemodel"), "{error}");
}

#[test]
fn a_damaged_file_never_panics() {
    let whole = file(&[with("y", &[&[4, 3, 3, 3], &[4]])]);
    load(&conv(), &whole).unwrap();
    for at in 0..whole.len() {
        let _ = load(&conv(), &whole[..at]);
        for change in [0x01, 0x08, 0x40, 0x80, 0xff] {
            let mut changed = whole.clone();
            changed[at] ^= change;
            let _ = load(&conv(), &changed);
        }
    }
}

#[test]
fn weights_of_another_framework_are_refused() {
    let options = ModelOptions { weights: Some("net.caffemodel".into()), ..ModelOptions::default() };
    let message = load_memory(b"[]", "test", Some(Framework::SingleOp), &options).unwrap_err().to_string();
    assert!(message.contains("weight") && message.contains("Caffe"), "{message}");
}

#[test]
fn weights_give_an_unknown_layer_nothing_to_contradict() {
    let text = net(&[1, 6, 9, 9], "layer { name: 'y' type: 'Odd' bottom: 'x' top: 'x' }");
    let graph = load(&text, &file(&[with("y", &[&[3]])])).unwrap();
    assert!(!named(&graph, "y").mapped);
}
