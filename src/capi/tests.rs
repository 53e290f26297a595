//! The border from its own side, without a shared library: these run under miri.

use super::api::{AOE_API_VERSION, AoeGetApi};
use super::attributes::*;
use super::error::{AoeGetLastError, AoeGetStatusName};
use super::graph::*;
use super::guard::{guard, guard_destroy};
use super::option::{AOE_MAX_OPTIONS, AoeOption};
use super::tensor::{AOE_MAX_RANK, AoeTensor};
use crate::graph::Constant;
use crate::status::{Error, Status};
use std::ffi::{CStr, c_char};
use std::ptr::{null, null_mut};

fn last_error() -> String {
    // SAFETY: the text stays until this thread's next call.
    unsafe { CStr::from_ptr(AoeGetLastError()) }.to_str().unwrap().to_owned()
}

/// Asserts a failure whose text names all of `culprits`.
#[track_caller]
fn refused(status: i32, expected: Status, culprits: &[&str]) {
    let message = last_error();
    assert_eq!(Status::from_code(status), Some(expected), "{message}");
    assert!(culprits.iter().all(|c| message.contains(c)), "{message}");
}

#[track_caller]
fn accepted(status: i32) {
    assert_eq!(status, 0, "{}", last_error());
    assert_eq!(last_error(), "", "a success leaves no error text");
}

fn tensor(dims: &[i64], data_type: i32) -> AoeTensor {
    let (data, data_size, reserved) = (null(), 0, null());
    AoeTensor { dims: dims.as_ptr(), dim_count: dims.len(), data_type, format: 2, data, data_size, reserved }
}

struct Owned(*mut AoeGraph);

impl Owned {
    fn new() -> Owned {
        let mut graph = null_mut();
        // SAFETY: both pointers are valid.
        accepted(unsafe { AoeGraphCreate(c"net".as_ptr(), &raw mut graph) });
        Owned(graph)
    }

    fn input(&self, name: &CStr, desc: &AoeTensor) -> Result<AoeNodeId, i32> {
        let mut node = u32::MAX;
        // SAFETY: all pointers are valid.
        match unsafe { AoeGraphAddInput(self.0, name.as_ptr(), desc, &raw mut node) } {
            0 => Ok(node),
            status => Err(status),
        }
    }

    fn node(&self, name: &CStr, outputs: usize) -> Result<AoeNodeId, i32> {
        let mut node = u32::MAX;
        // SAFETY: all pointers are valid.
        match unsafe { AoeGraphAddNode(self.0, name.as_ptr(), c"Relu".as_ptr(), outputs, &raw mut node) } {
            0 => Ok(node),
            status => Err(status),
        }
    }

    fn edge(&self, from: (u32, u32), to: (u32, u32)) -> i32 {
        // SAFETY: the graph lives.
        unsafe { AoeGraphAddEdge(self.0, from.0, from.1, to.0, to.1) }
    }

    fn content(&self) -> &crate::graph::Graph {
        // SAFETY: the graph lives and nobody changes it meanwhile.
        &unsafe { &*self.0 }.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the last use.
        unsafe { AoeGraphDestroy(self.0) };
    }
}

#[test]
fn a_panic_becomes_a_status_and_names_its_place() {
    // resume_unwind panics without the hook, which would clutter the test's output.
    let status = guard("AoeSomething", || std::panic::resume_unwind(Box::new("at sea".to_owned())));
    refused(status, Status::Internal, &["AoeSomething", "at sea", "report it"]);
    let status = guard("AoeSomething", || std::panic::resume_unwind(Box::new("a fixed text")));
    refused(status, Status::Internal, &["a fixed text"]);
    accepted(guard("AoeSomething", || Ok(())));
}

#[test]
fn a_panic_payload_that_panics_when_dropped_is_never_dropped() {
    struct Grenade;
    impl Drop for Grenade {
        fn drop(&mut self) {
            unreachable!("the payload was dropped");
        }
    }
    let status = guard("AoeSomething", || std::panic::resume_unwind(Box::new(Grenade)));
    refused(status, Status::Internal, &["AoeSomething"]);
}

#[test]
fn a_destructor_clears_the_last_error_unless_it_panics() {
    let _ = guard("AoeSomething", || Err(Error::param("here", "is wrong")));
    guard_destroy("AoeSomethingDestroy", || Ok(()));
    assert_eq!(last_error(), "");
    guard_destroy("AoeSomethingDestroy", || std::panic::resume_unwind(Box::new("at sea")));
    assert!(last_error().contains("AoeSomethingDestroy") && last_error().contains("at sea"), "{}", last_error());
}

#[test]
fn the_last_error_belongs_to_its_thread() {
    let _ = guard("AoeSomething", || Err(Error::param("here", "is wrong")));
    std::thread::spawn(|| assert_eq!(last_error(), "")).join().unwrap();
    assert!(last_error().contains("here"));
}

#[test]
fn an_error_text_with_nul_inside_is_readable_to_its_end() {
    let _ = guard("AoeSomething", || Err(Error::graph("node `a\0b`", "is odd")));
    assert!(last_error().contains("a\u{fffd}b") && last_error().contains("is odd"));
}

#[test]
fn status_names_are_c_strings() {
    for status in Status::ALL {
        // SAFETY: a constant.
        let name = unsafe { CStr::from_ptr(AoeGetStatusName(*status as i32)) };
        assert_eq!(name.to_str(), Ok(status.name()));
    }
    // SAFETY: a constant.
    assert_eq!(unsafe { CStr::from_ptr(AoeGetStatusName(77)) }, c"AOE_STATUS_UNKNOWN");
}

#[test]
fn the_table_has_its_size_and_unknown_versions_have_none() {
    // SAFETY: a constant.
    let api = unsafe { AoeGetApi(AOE_API_VERSION).as_ref() }.unwrap();
    assert_eq!(api.struct_size, size_of_val(api));
    assert!(AoeGetApi(0).is_null() && AoeGetApi(AOE_API_VERSION + 1).is_null());
}

#[test]
fn a_graph_is_built_call_by_call() {
    let graph = Owned::new();
    let x = graph.input(c"x", &tensor(&[1, -1], 1)).unwrap();
    let relu = graph.node(c"relu", 1).unwrap();
    accepted(graph.edge((x, 0), (relu, 2)));
    // SAFETY: the graph lives and the arrays are valid.
    unsafe {
        accepted(AoeGraphSetAttrInts(graph.0, relu, c"axes".as_ptr(), [1i64, 2].as_ptr(), 2));
        accepted(AoeGraphSetAttrInts(graph.0, relu, c"none".as_ptr(), null(), 0));
        accepted(AoeGraphSetAttrBool(graph.0, relu, c"keep".as_ptr(), 1));
        accepted(AoeGraphSetAttrString(graph.0, relu, c"mode".as_ptr(), c"SAME".as_ptr()));
        accepted(AoeGraphSetAttrDataType(graph.0, relu, c"dst".as_ptr(), 27));
        accepted(AoeGraphSetOutputDesc(graph.0, relu, 0, &tensor(&[-2], 0)));
        accepted(AoeGraphAddOutput(graph.0, relu, 0));
    }
    let content = graph.content();
    content.validate().unwrap();
    let node = content.node(content.find("relu").unwrap());
    assert_eq!((node.inputs.len(), node.input(0), node.input(2).is_some()), (3, None, true));
    assert_eq!((node.attrs.ints("axes"), node.attrs.ints("none")), (Some(&[1, 2][..]), Some(&[][..])));
    assert_eq!((node.attrs.bool("keep"), node.attrs.str("mode")), (Some(true), Some("SAME")));
    assert_eq!(node.outputs[0].shape.rank(), None, "the one dimension -2 is an unknown rank");
    assert_eq!(
        content.desc(content.node(content.find("relu").unwrap()).input(2).unwrap()).shape.dims(),
        Some(&[1, -1][..])
    );
}

#[test]
fn constants_keep_small_values_and_their_size_is_checked() {
    let graph = Owned::new();
    let values: Vec<u8> = [-1i64, 7].iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut value = AoeTensor { data: values.as_ptr().cast(), data_size: 16, ..tensor(&[2], 9) };
    let mut node = 0;
    // SAFETY: all pointers are valid.
    let mut add =
        |name: &CStr, value: &AoeTensor| unsafe { AoeGraphAddConst(graph.0, name.as_ptr(), value, &raw mut node) };
    accepted(add(c"shape", &value));
    value.data_size = 15;
    refused(add(c"short", &value), Status::InvalidParam, &["value", "15", "[2]"]);
    accepted(add(c"weight", &tensor(&[1 << 20, 1 << 10], 1)));
    refused(add(c"open", &tensor(&[-1], 1)), Status::InvalidParam, &["open"]);
    refused(add(c"vast", &tensor(&[i64::from(i32::MAX); 3], 1)), Status::InvalidParam, &["vast"]);
    let value = |name| graph.content().node(graph.content().find(name).unwrap()).value.clone().unwrap();
    assert_eq!((value("shape"), value("weight")), (Constant::Ints(vec![-1, 7]), Constant::Opaque));
}

#[test]
fn a_saved_graph_has_every_element_that_its_constants_were_given() {
    // More numbers than shapes are made of, few, and few of a type that is no number here.
    let large: Vec<u8> = (0..5000u32).flat_map(u32::to_le_bytes).collect();
    let (small, odd) = ([0x3c, 0x40, 0x3d, 0x40], [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]);
    let constants =
        [(c"large", 0, &large[..], &[50i64, 100][..]), (c"small", 1, &small, &[2]), (c"odd", 16, &odd, &[1])];
    let graph = Owned::new();
    for (name, data_type, data, dims) in constants {
        let value = AoeTensor { data: data.as_ptr().cast(), data_size: data.len(), ..tensor(dims, data_type) };
        // SAFETY: all pointers are valid.
        accepted(unsafe { AoeGraphAddConst(graph.0, name.as_ptr(), &raw const value, &mut 0) });
    }
    let written = crate::frontend::air::content(graph.content()).unwrap().to_vec().unwrap();
    for (name, _, data, _) in constants {
        assert!(written.windows(data.len()).any(|bytes| bytes == data), "{name:?}");
    }
}

#[test]
fn null_and_misaligned_pointers_are_named() {
    let graph = Owned::new();
    let (name, mut node) = (c"x".as_ptr(), 0u32);
    let desc = tensor(&[1], 1);
    // SAFETY: NULL and misaligned pointers are what these calls promise to refuse.
    unsafe {
        refused(AoeGraphCreate(null(), &mut null_mut()), Status::InvalidParam, &["`name`", "NULL"]);
        refused(AoeGraphCreate(name, null_mut()), Status::InvalidParam, &["`graph`", "NULL"]);
        refused(AoeGraphAddInput(null_mut(), name, &raw const desc, &raw mut node), Status::InvalidParam, &["`graph`"]);
        refused(AoeGraphAddInput(graph.0, null(), &raw const desc, &raw mut node), Status::InvalidParam, &["`name`"]);
        refused(AoeGraphAddInput(graph.0, name, null(), &raw mut node), Status::InvalidParam, &["`desc`"]);
        refused(AoeGraphAddInput(graph.0, name, &raw const desc, null_mut()), Status::InvalidParam, &["`node`"]);
        let crooked = (&raw mut node).wrapping_byte_add(1);
        refused(
            AoeGraphAddInput(graph.0, name, &raw const desc, crooked),
            Status::InvalidParam,
            &["`node`", "aligned"],
        );
        refused(AoeGraphSetAttrInts(graph.0, 0, name, null(), 1), Status::InvalidParam, &[]);
        AoeGraphDestroy(null_mut());
    }
    assert!(graph.content().is_empty(), "nothing of it reached the graph");
}

#[test]
fn malformed_descriptions_are_refused() {
    let graph = Owned::new();
    let refuse = |desc: &AoeTensor, culprit: &str| {
        refused(graph.input(c"x", desc).unwrap_err(), Status::InvalidParam, &["desc", culprit]);
    };
    refuse(&tensor(&[-3], 1), "-3");
    refuse(&tensor(&[1 << 31], 1), "2147483648");
    refuse(&tensor(&[1, -2], 1), "-2");
    refuse(&tensor(&[1, 0], 1), "[1,0]");
    refuse(&tensor(&[1], 5), "5 is no data type");
    refuse(&tensor(&[1], -1), "-1 is no data type");
    refuse(&AoeTensor { format: 55, ..tensor(&[1], 1) }, "55 is no format");
    refuse(&AoeTensor { format: 0x102, ..tensor(&[1], 1) }, "258 is no format");
    refuse(&tensor(&[1; AOE_MAX_RANK + 1], 1), "65");
    refuse(&AoeTensor { data_size: 2, ..tensor(&[1], 1) }, "data_size");
    let four = [0u8; 4];
    refuse(&AoeTensor { data: four.as_ptr().cast(), data_size: 4, ..tensor(&[-1], 1) }, "whole shape");
    refuse(&AoeTensor { reserved: (&raw const graph).cast(), ..tensor(&[1], 1) }, "reserved");
    refuse(&AoeTensor { dim_count: usize::MAX, ..tensor(&[1], 1) }, "dimensions");
}

#[test]
fn edges_and_nodes_that_do_not_exist_are_refused_by_name() {
    let graph = Owned::new();
    let x = graph.input(c"x", &tensor(&[1], 1)).unwrap();
    let y = graph.node(c"y", 2).unwrap();
    refused(graph.edge((9, 0), (y, 0)), Status::InvalidParam, &["`source`", "9"]);
    refused(graph.edge((x, 1), (y, 0)), Status::InvalidParam, &["`source_output`", "`x`"]);
    refused(graph.edge((x, 0), (7, 0)), Status::InvalidParam, &["`target`", "7"]);
    refused(graph.edge((x, 0), (y, u32::MAX)), Status::InvalidParam, &["`target_input`"]);
    accepted(graph.edge((x, 0), (y, 0)));
    refused(graph.edge((x, 0), (y, 0)), Status::InvalidGraph, &["`y`", "connected"]);
    refused(graph.node(c"y", 1).unwrap_err(), Status::InvalidGraph, &["`y`"]);
    refused(graph.node(c"", 1).unwrap_err(), Status::InvalidGraph, &["empty"]);
    refused(graph.node(c"z", AOE_MAX_NODE_PORTS + 1).unwrap_err(), Status::InvalidParam, &["output_count"]);
    // SAFETY: the graph lives.
    refused(unsafe { AoeGraphAddOutput(graph.0, y, 2) }, Status::InvalidParam, &["`output`", "`y`"]);
    assert_eq!(graph.content().find("y").map(|id| id.0), Some(y), "the refused node did not replace the first");
}

#[test]
fn strings_that_are_not_utf8_are_refused_with_their_start() {
    let mut graph = null_mut();
    // SAFETY: both pointers are valid.
    let status = unsafe { AoeGraphCreate(c"net\xff".as_ptr(), &raw mut graph) };
    refused(status, Status::InvalidParam, &["`name`", "net", "byte 3"]);
    assert!(graph.is_null(), "a failure leaves out-parameters alone");
}

#[test]
fn options_are_checked_entry_by_entry() {
    let load = |options: &[AoeOption], count: usize| {
        let mut graph = null_mut();
        // SAFETY: the array is valid, or its count is one that is refused.
        unsafe { AoeGraphLoadMemory(b"x".as_ptr().cast(), 1, options.as_ptr(), count, &raw mut graph) }
    };
    let option = |key: *const c_char, value: *const c_char| AoeOption { key, value };
    let good = option(c"framework".as_ptr(), c"5".as_ptr());
    refused(load(&[good, option(null(), null())], 2), Status::InvalidParam, &["options", "key", "entry 1"]);
    refused(load(&[option(c"seed".as_ptr(), null())], 1), Status::InvalidParam, &["value", "`seed`"]);
    refused(load(&[option(c"seed".as_ptr(), c"\xfe".as_ptr())], 1), Status::InvalidParam, &["`seed`", "UTF-8"]);
    refused(load(&[good], usize::MAX), Status::InvalidParam, &["option_count"]);
    refused(load(&[good], AOE_MAX_OPTIONS + 1), Status::InvalidParam, &["option_count"]);
    refused(load(&[option(c"framwork".as_ptr(), c"5".as_ptr())], 1), Status::InvalidOptionAttr, &["`framework`"]);
}

#[test]
fn the_buffer_protocol_asks_refuses_and_fills() {
    let write = |buffer: *mut u8, size: *mut usize| {
        // SAFETY: each call below gives a buffer of at least `size` bytes, or NULL.
        guard("AoeSomething", || unsafe { super::convert::TextOut::new(buffer.cast(), size) }?.write("four"))
    };
    let mut buffer = [9u8; 6];
    let mut size = 4;
    refused(write(buffer.as_mut_ptr(), &raw mut size), Status::BufferTooSmall, &["4", "5"]);
    assert_eq!((size, buffer), (5, [9; 6]), "too small: size told, buffer untouched");
    accepted(write(buffer.as_mut_ptr(), &raw mut size));
    assert_eq!((size, &buffer), (5, b"four\0\x09"), "nothing is written past the terminator");
    size = 0;
    accepted(write(null_mut(), &raw mut size));
    assert_eq!(size, 5);
    refused(write(null_mut(), null_mut()), Status::InvalidParam, &["`size`"]);
}
