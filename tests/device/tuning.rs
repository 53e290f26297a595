//! The whole loop, from the command line to the bank.

use crate::stand_in::{ADDED, Machine, Product, SMALL, Tuned};
use aoe::simulate::{self, Parts};
use serde_json::{Value, json};

/// Options of a short tuning that spends little time on choosing.
const QUICK: [(&str, &str); 3] = [("backend", "ascend"), ("algorithm", "annealing"), ("max_tuning_count", "8")];

/// Products through both entries of CANN: plain, transposed, with a bias, in each type.
const PRODUCTS: [Product; 3] = [
    Product { trans_b: true, dtype: "bfloat16", ..Product::new(256, 768, 3072) },
    Product { bias: true, ..Product::new(384, 512, 512) },
    Product { trans_a: true, bias: true, trans_b: true, ..Product::new(128, 1024, 640) },
];

#[test]
fn one_product_is_measured_and_its_best_tiling_kept() {
    let Some(machine) = Machine::new() else { return };
    machine.products(&[SMALL]);
    machine
        .tune(&[("backend", "ascend"), ("max_tuning_count", "12")])
        .expect(0, &["backend ascend", "24 cores", ADDED]);
    assert_eq!(machine.records().len(), 1);
    let kernel = &machine.kernels()[0];
    assert_eq!(kernel["backend"], "ascend");
    // What the stand-in takes its times from.
    let told = kernel["after_us"].as_f64().unwrap();
    assert!((told / price(SMALL, &kernel["after"]) - 1.0).abs() < 1e-4, "{kernel}");
    assert!(machine.left_behind().is_empty(), "{:?}", machine.left_behind());
}

/// Microseconds that the simulator gives a tiling.
fn price(product: Product, schedule: &Value) -> f64 {
    let Product { m, k, n, dtype, trans_a, trans_b, bias } = product;
    let case = json!({"op": "MatMulV3", "m": m, "k": k, "n": n, "dtype": dtype, "trans_a": trans_a,
        "trans_b": trans_b, "bias": bias, "schedule": schedule});
    let mut parts = Parts::new(Some("Ascend910B2"), Vec::new(), None).unwrap();
    let answer: Value = serde_json::from_str(&simulate::price(&case.to_string(), &mut parts).unwrap()).unwrap();
    answer["time_us"].as_f64().unwrap()
}

/// The tilings after tuning, in the order of the operators.
fn tilings(machine: &Machine) -> Vec<Value> {
    machine.kernels().iter().map(|kernel| kernel["after"].clone()).collect()
}

#[test]
fn noisy_devices_find_tilings_as_good_as_the_simulators() {
    let Some(device) = Machine::new() else { return };
    let device = device.with("STAND_IN_NOISE", "0.02").with("STAND_IN_SEED", "5");
    device.products(&PRODUCTS);
    device
        .tune(&[("backend", "ascend"), ("max_tuning_count", "16"), ("tuning_parallel_num", "2"), ("device", "0,1")])
        .expect(0, &[]);
    for used in ["state/device-0", "state/device-1"] {
        assert!(device.path(used).exists(), "{used}: operators are shared among the devices");
    }
    let Some(simulator) = Machine::new() else { return };
    simulator.products(&PRODUCTS);
    simulator.tune(&[("backend", "simulator"), ("soc_version", "Ascend910B2")]).expect(0, &[]);
    for ((product, measured), simulated) in PRODUCTS.into_iter().zip(tilings(&device)).zip(tilings(&simulator)) {
        let (measured, simulated) = (price(product, &measured), price(product, &simulated));
        assert!(measured <= simulated * 1.05, "{product:?}: {measured} us, and {simulated} us by the simulator");
    }
}

#[test]
fn what_noise_pretends_is_no_gain() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("STAND_IN_NOISE", "0.03");
    machine.products(&[SMALL]);
    machine.tune(&QUICK).expect(0, &[]);
    let best = price(SMALL, &tilings(&machine)[0]);
    // Whatever is found now is hardly better: the record stays unless it is, beyond doubt.
    let machine = machine.with("REPEAT_TUNE", "True");
    machine.tune(&[&QUICK[..], &[("seed", "9")]].concat()).expect(0, &[]);
    let again = price(SMALL, &tilings(&machine)[0]);
    assert!(again <= best * 1.01, "{again} us replaced {best} us");
}

#[test]
fn a_second_tuning_measures_the_record_and_keeps_it() {
    let Some(machine) = Machine::new() else { return };
    machine.products(&[SMALL]);
    machine.tune(&QUICK).expect(0, &[ADDED]);
    let (records, after) = (machine.records(), machine.kernels()[0]["after_us"].clone());
    machine.tune(&QUICK).expect(0, &["\"status\": \"reserved\""]);
    assert_eq!(machine.records(), records);
    let kernel = &machine.kernels()[0];
    assert_eq!((&kernel["banked"]["us"], &kernel["after_us"]), (&after, &after), "what runs today is the record");
    assert!(kernel["before_us"].as_f64() > after.as_f64(), "and before is what CANN chooses itself");
}

#[test]
fn auto_measures_what_the_device_can_and_simulates_the_rest() {
    let Some(machine) = Machine::new() else { return };
    machine.operators(&[SMALL.text(), addition()]);
    let tuned = machine.tune(&[("algorithm", "annealing"), ("max_tuning_count", "4")]);
    tuned.expect(0, &["backend ascend", "what it cannot measure is simulated"]);
    let backends: Vec<Value> = machine.kernels().iter().map(|kernel| kernel["backend"].clone()).collect();
    assert_eq!(backends, ["ascend", "simulator"]);
}

#[test]
fn ascend_alone_says_what_it_cannot_measure() {
    let Some(machine) = Machine::new() else { return };
    machine.operators(&[SMALL.text(), addition()]);
    let tuned = machine.tune(&QUICK);
    tuned.expect(0, &["CANN reads no tiling of Add from its runtime bank"]);
    let kernel = &machine.kernels()[1];
    assert_eq!((&kernel["status"], &kernel["backend"]), (&json!("not_measured"), &json!("simulator")));
    assert!(kernel["before_us"].as_f64() > Some(0.0), "it counts with CANN's default as the simulator has it");
}

#[test]
fn ascend_alone_has_nothing_to_tune_where_it_can_measure_nothing() {
    let Some(machine) = Machine::new() else { return };
    machine.operators(&[addition()]);
    let tuned = machine.tune(&QUICK);
    tuned.expect(1, &["nothing to tune: backend ascend can measure no operator", "no tiling of Add", "[WARN]"]);
    assert_eq!(machine.kernels()[0]["status"], "not_measured");
    assert!(machine.records().is_empty());
    let mut command = machine.aoe(&["--singleop=ops.json", "--job_type=2", "--backend=ascend"]);
    Tuned::of(command.output().unwrap()).expect(1, &["backend ascend can measure no operator"]);
}

/// Several products at once, as ATC describes them.
fn batched(op: &str) -> String {
    let tensor = |shape: [u32; 3]| format!(r#"{{"format":"ND","shape":{shape:?},"type":"float16"}}"#);
    let (a, b, c) = (tensor([12, 128, 64]), tensor([12, 128, 64]), tensor([12, 128, 128]));
    let attributes = r#"[{"name":"adj_x1","type":"bool","value":false},{"name":"adj_x2","type":"bool","value":true}]"#;
    format!(r#"{{"op":"{op}","input_desc":[{a},{b}],"output_desc":[{c}],"attr":{attributes}}}"#)
}

#[test]
fn batched_products_are_measured_as_cann_runs_them_and_it_is_said_why_no_tiling_is() {
    let Some(machine) = Machine::new() else { return };
    machine.operators(&[SMALL.text(), batched("BatchMatMulV3")]);
    machine.tune(&QUICK).expect(0, &[ADDED]);
    let kernel = &machine.kernels()[1];
    assert_eq!((&kernel["status"], &kernel["backend"]), (&json!("not_tunable"), &json!("ascend")), "{kernel}");
    assert!(kernel["failure"].as_str().unwrap().contains("rules for batches"), "{kernel}");
    let (before, after) = (kernel["before_us"].as_f64().unwrap(), kernel["after_us"].as_f64().unwrap());
    assert!(before > 0.0 && before.to_bits() == after.to_bits(), "{kernel}");
}

#[test]
fn batched_products_that_tbe_compiles_are_measured_with_records_of_their_batch() {
    let Some(machine) = Machine::new() else { return };
    let tensor = |shape: &[u32]| format!(r#"{{"format":"ND","shape":{shape:?},"type":"float16"}}"#);
    let (a, b, c) = (tensor(&[8, 128, 768]), tensor(&[768, 512]), tensor(&[8, 128, 512]));
    let shared = format!(r#"{{"op":"BatchMatMulV2","input_desc":[{a},{b}],"output_desc":[{c}]}}"#);
    machine.operators(&[batched("BatchMatMulV2"), shared]);
    machine.tune(&QUICK).expect(0, &[]);
    for kernel in machine.kernels() {
        assert_eq!((&kernel["op_type"], &kernel["backend"]), (&json!("BatchMatMulV2"), &json!("ascend")), "{kernel}");
        assert_eq!(kernel["failed_trials"], 0, "{kernel}");
        assert_ne!(kernel["status"], "not_tunable", "{kernel}");
    }
}

#[test]
fn what_tbe_compiles_is_measured_with_the_records_of_its_bank() {
    let Some(machine) = Machine::new() else { return };
    let tensor = |shape: &[u32]| format!(r#"{{"format":"ND","shape":{shape:?},"type":"float16"}}"#);
    let (a, b, c) = (tensor(&[1, 512, 1024]), tensor(&[1024, 768]), tensor(&[1, 512, 768]));
    machine.operators(&[format!(r#"{{"op":"BatchMatMulV2","input_desc":[{a},{b}],"output_desc":[{c}]}}"#)]);
    machine.tune(&QUICK).expect(0, &[ADDED]);
    let kernel = &machine.kernels()[0];
    assert_eq!((&kernel["op_type"], &kernel["backend"]), (&json!("BatchMatMulV2"), &json!("ascend")), "{kernel}");
    assert_eq!(kernel["failed_trials"], 0, "{kernel}");
    assert!(kernel["after_us"].as_f64().unwrap() < kernel["before_us"].as_f64().unwrap(), "{kernel}");
    assert!(!machine.records_of("matmul").is_empty());
}

fn addition() -> String {
    let tensor = r#"{"format":"ND","shape":[512,768],"type":"float16"}"#;
    format!(r#"{{"op":"Add","input_desc":[{tensor},{tensor}],"output_desc":[{tensor}]}}"#)
}

#[test]
fn the_bank_is_named_for_the_cores_that_the_device_has() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("STAND_IN_CORES", "20");
    machine.products(&[SMALL]);
    machine.tune(&QUICK).expect(0, &["20 cores", ADDED]);
    let file = "bank/Ascend910B2/unified_bank/Ascend910B2_20_AiCore_MatMulV3_runtime_kb.json";
    assert!(machine.path(file).exists());
}

#[test]
fn a_sample_has_as_many_runs_as_aoe_ini_says() {
    let Some(machine) = Machine::new() else { return };
    machine.products(&[SMALL]);
    std::fs::write(machine.path("aoe.ini"), "[COMMON]\nRUN_LOOP=7\n").unwrap();
    let samples = |machine: &Machine| {
        let names = std::fs::read_dir(machine.path("state")).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).filter(|name| name.starts_with("kernels-")).collect::<Vec<_>>()
    };
    machine.tune(&[&QUICK[..], &[("aoe_ini", "aoe.ini")]].concat()).expect(0, &[ADDED]);
    assert_eq!(samples(&machine), ["kernels-7"]);
    let Some(machine) = Machine::new() else { return };
    machine.products(&[SMALL]);
    machine.tune(&QUICK).expect(0, &[ADDED]);
    assert_eq!(samples(&machine), ["kernels-10"]);
}

#[test]
fn a_plain_product_on_a_310p_is_measured_as_the_operator_that_reads_the_bank() {
    let Some(machine) = Machine::new() else { return };
    // Were it run through `aclnnMatmul`, it would fail.
    let machine = machine.with("STAND_IN_SOC", "Ascend310P3").with("STAND_IN_CORES", "8");
    let machine = machine.with("STAND_IN_FAULTS", "aclnnMatmulGetWorkspaceSize=507015");
    machine.products(&[SMALL]);
    machine.tune(&QUICK).expect(0, &["SoC Ascend310P3"]);
    let kernels = machine.kernels();
    let kernel = kernels.iter().find(|kernel| kernel["failure"].is_null()).unwrap();
    assert_eq!((&kernel["backend"], &kernel["failed_trials"]), (&json!("ascend"), &json!(0)), "{kernel}");
}

#[test]
fn options_that_ask_for_another_device_than_this_are_refused() {
    let Some(machine) = Machine::new() else { return };
    machine.products(&[SMALL]);
    for (option, part) in [
        (("soc_version", "Ascend310P3"), "the device is an Ascend910B2"),
        (("aicore_num", "8"), "the device has 24 AI Cores"),
        (("soc_set", "cube_freq_mhz=1000"), "a device is what it is"),
        (("device", "2"), "the machine has 0 to 1"),
    ] {
        machine.tune(&[("backend", "ascend"), option]).expect(2, &[part]);
    }
}
