//! What a listing of a bank shows is found in it, whatever its form.

use super::{Index, Part, gelu, soc};
use crate::bank::Content as _;
use crate::bank::form::Form;
use crate::bank::inspect::{Item, Source, files, items};
use crate::bank::layout::Layout;
use crate::bank::unified::{self, Dict, Operator, Value as Python};
use crate::workload::{Schedule, VectorSchedule, VectorTemplate};
use serde_json::{Map, Value, json};
use std::path::Path;

/// A bank with a record of every form that is looked up in: CANN's by packed keys, our own, TBE's.
fn every_form(directory: &Path) -> usize {
    let write = |name: &str, content: Vec<u8>| std::fs::write(directory.join(name), content).unwrap();
    for layout in Layout::all() {
        let form = Form::runtime(layout.op_type());
        let info = Value::Object(layout.unpack(&vec![0; layout.bytes()]).unwrap());
        let mut knowledge: Map<String, Value> =
            form.knowledge_fields().iter().map(|name| ((*name).to_owned(), json!(1))).collect();
        knowledge.insert("note".into(), json!(layout.op_type()));
        write(&form.file_name(layout.op_type(), &soc()), line(form, layout.op_type(), &info, &knowledge));
    }
    let own = Form::of(&gelu(), &soc());
    let schedule = Schedule::Vector(VectorSchedule {
        cores: 8,
        ub_tile_bytes: 4096,
        double_buffer: true,
        template: VectorTemplate::Flat,
    });
    let schedule = serde_json::to_value(schedule).unwrap();
    let schedule = schedule.as_object().unwrap();
    write(&own.file_name("Gelu", &soc()), line(own, "Gelu", &own.info_dict(&gelu()), schedule));
    for operator in Operator::ALL {
        let mut bank = unified::Bank::default();
        bank.put(&info(operator, ["stride", "fm_shape"]), &tiling(1), 2.5).unwrap();
        write(&unified::file_name(operator.op_type(), &soc()), bank.render());
    }
    Layout::all().len() + 1 + Operator::ALL.len()
}

fn line(form: Form, op: &str, info: &Value, knowledge: &Map<String, Value>) -> Vec<u8> {
    let id = form.key(info).unwrap().id();
    json!({"id": id, "info_dict": info, "knowledge": knowledge, "op": op, "version": 0}).to_string().into_bytes()
}

/// What TBE asks for, its fields in an order of their own.
fn info(operator: Operator, names: [&str; 2]) -> Dict {
    let inner = Python::parse(r#"[{"w": 1, "h": 2.0}]"#).unwrap();
    let [first, second] = names.map(|name| (name, inner.clone()));
    Dict::from_iter([("op_type", Python::from(operator.op_type())), first, second])
}

fn tiling(tile: u64) -> Dict {
    Dict::from_iter([("tile", Python::from(tile))])
}

fn listed(directory: &Path) -> Vec<Item> {
    let mut found = Vec::new();
    for file in files(directory).unwrap() {
        let mut source = Source::open(&file).unwrap();
        let bad = items(&mut source, &mut |item| {
            found.push(item);
            Ok(true)
        });
        assert_eq!(bad.unwrap(), 0, "{}", file.display());
    }
    found
}

fn knowledge(index: &Index, op: &str, text: &str) -> Option<Value> {
    let found = index.find_text(op, text.as_bytes()).unwrap()?;
    Some(serde_json::from_slice(found).unwrap())
}

#[test]
fn a_record_of_any_form_is_found_by_the_info_dict_that_a_listing_shows() {
    let root = tempfile::tempdir().unwrap();
    let forms = every_form(root.path());
    let index = Index::open(&[root.path().to_owned()], &Part::default()).unwrap();
    assert_eq!((index.records(), index.warnings()), (forms, &[][..]));
    let items = listed(root.path());
    assert_eq!(items.len(), forms);
    for item in items {
        let info = &item.fields["info_dict"];
        let found = knowledge(&index, &item.op, &info.to_string());
        assert_eq!(found.as_ref(), Some(&item.fields["knowledge"]), "{}: {info}", item.op);
        assert!(index.find_info(&item.op, info).unwrap().is_some(), "{}", item.op);
    }
}

#[test]
fn of_tbe_s_records_with_the_same_fields_the_one_in_the_order_asked_for_is_found() {
    let root = tempfile::tempdir().unwrap();
    let orders = [["stride", "fm_shape"], ["fm_shape", "stride"]].map(|names| info(Operator::Conv2d, names));
    let mut bank = unified::Bank::default();
    for (tile, order) in (1..).zip(&orders) {
        bank.put(order, &tiling(tile), 2.5).unwrap();
    }
    std::fs::write(root.path().join(unified::file_name("conv2d", &soc())), bank.render()).unwrap();
    let index = Index::open(&[root.path().to_owned()], &Part::default()).unwrap();
    for (tile, order) in (1u64..).zip(&orders) {
        assert_eq!(knowledge(&index, "conv2d", &order.dumps()), Some(json!({"tile": tile})));
    }
    // Another value is another key, however its fields stand.
    let other = orders[0].sorted().dumps().replace("2.0", "3.0");
    assert_eq!(knowledge(&index, "conv2d", &other), None);
    assert!(knowledge(&index, "conv2d", &orders[0].sorted().dumps()).is_some());
}

#[test]
fn keys_are_sorted_by_their_fields_when_the_first_one_asks_so_and_not_before() {
    let root = tempfile::tempdir().unwrap();
    let layers = ["custom", "built-in"].map(|name| root.path().join(name));
    let order = ["stride", "fm_shape"];
    let other = |bank: &mut unified::Bank, tile| {
        let apart = Dict::from_iter([
            ("op_type", Python::from("conv2d")),
            ("pads", Python::from(7)),
            ("dilation", Python::from(tile)),
        ]);
        bank.put(&apart, &tiling(tile), 2.5).unwrap();
        apart
    };
    // Both layers have the same fields, in two orders, and a key of their own.
    let orders = [order, [order[1], order[0]]].map(|names| info(Operator::Conv2d, names));
    let mut own = Vec::new();
    for ((layer, key), tile) in layers.iter().zip(&orders).zip(1..) {
        std::fs::create_dir(layer).unwrap();
        let mut bank = unified::Bank::default();
        own.push(other(&mut bank, tile + 10));
        bank.put(key, &tiling(tile), 2.5).unwrap();
        std::fs::write(layer.join(unified::file_name("conv2d", &soc())), bank.render()).unwrap();
    }
    let index = Index::open(&layers, &Part::default()).unwrap();
    let before = index.memory();
    assert_eq!(knowledge(&index, "conv2d", &orders[1].dumps()), Some(json!({"tile": 2})));
    assert_eq!(index.memory(), before, "a key as it stands is found without sorting");
    let third = format!(r#"{{"stride": {0}, "op_type": "conv2d", "fm_shape": {0}}}"#, r#"[{"w": 1, "h": 2.0}]"#);
    assert_eq!(knowledge(&index, "conv2d", &third), Some(json!({"tile": 1})), "the first layer's");
    for (key, tile) in own.iter().zip([11, 12]) {
        assert_eq!(knowledge(&index, "conv2d", &key.sorted().dumps()), Some(json!({"tile": tile})));
    }
    let texts: usize = orders.iter().chain(&own).map(|key| key.dumps().len()).sum();
    // The two of the same fields are one text when they are sorted.
    assert_eq!(index.memory() - before, texts - orders[1].dumps().len());
    let first = Index::open(&layers[..1], &Part::default()).unwrap();
    let before = first.memory();
    assert_eq!(knowledge(&first, "conv2d", &third), Some(json!({"tile": 1})));
    assert!(first.memory() > before, "one layer alone is not sorted on opening either");
}
