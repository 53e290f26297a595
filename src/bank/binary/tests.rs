//! Records for binary kernels: their keys, their tilings, and that nobody gets them who did not ask.

use super::Operator;
use crate::bank::{BankPaths, Form, Measured, OperatorBank};
use crate::graph::{DataType, Format};
use crate::soc::Soc;
use crate::tiling::tbe::conv2d;
use crate::workload::tbe::TbeTiling;
use crate::workload::{
    Buffers, Conv, ConvKind, Cores, DefaultOrigin, L0Tile, L1Tile, MatMul, MatMulKernel, Panel, Schedule, Workload,
};
use serde_json::{Value, json};

fn soc() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

/// The gradient of the page's vector: fp16, dy 1x64x56x56, x 56x56, 64 channels, 3x3, pads 1.
fn gradient() -> Conv {
    Conv {
        out_dtype: DataType::Float,
        format: Format::Nc1hwc0,
        ..Conv::image(ConvKind::BackpropFilter, 1, [64, 64], 56, 3)
    }
}

fn product() -> MatMul {
    MatMul { kernel: MatMulKernel::Tbe, ..MatMul::new(512, 1024, 768) }
}

/// Tiles of so many rows and columns by 64, panels of L1 so deep, and tasks along columns and rows.
fn tiling([m, n]: [u32; 2], depth: u32, [along_n, along_m]: [u32; 2]) -> TbeTiling {
    let panel = L1Tile::Panel(Panel { k: depth, tiles: 1, batch: 1 });
    TbeTiling {
        cores: Cores { batch: 1, m: along_m, n: along_n, k: 1 },
        l1_a: panel,
        l1_b: panel,
        l0: L0Tile { m, n, k_a: 64, k_b: 64 },
        buffers: Buffers { l1_a: 2, l1_b: 2, l0_a: 2, l0_b: 2, l0_c: 1 },
    }
}

fn of_product() -> Schedule {
    Schedule::Cube(tiling([128, 128], 256, [6, 4]).schedule(&product().cube()).unwrap())
}

fn of_gradient() -> Schedule {
    Schedule::Cube(conv2d::schedule(&tiling([64, 144], 448, [4, 1]), &gradient()).unwrap())
}

#[test]
fn keys_are_those_of_the_public_structures() {
    let form = Form::runtime("Conv2DBackpropFilter");
    assert_eq!(form.key_of(&Workload::Conv(gradient())).unwrap().id(), 2_679_496_211);
    let mut info = json!({"bias_dtype": 0, "a_shape_n": 1, "b_shape_n": 64, "b_shape_c": 64, "b_shape_h": 3,
        "b_shape_w": 3, "groups": 1, "stride_expand_h": 1, "stride_expand_w": 1, "dilation_h": 1, "dilation_w": 1,
        "bias_flag": false, "hf32_flag": false, "cub_double_num": 0.0, "fused_double_operand_num": 0.0});
    for name in ["a_dtype", "b_dtype", "c_dtype", "pad_u", "pad_d", "pad_l", "pad_r"] {
        info[name] = json!(1);
    }
    for name in ["a_shape_h", "a_shape_w", "c_shape_h", "c_shape_w"] {
        info[name] = json!(56);
    }
    for name in ["a_format", "b_format", "c_format"] {
        info[name] = json!(0);
    }
    for i in 1..=5 {
        info[format!("reserved_params{i}")] = json!(0);
    }
    for op_type in ["Conv2DBackpropInput", "Conv2DTranspose"] {
        assert_eq!(Form::runtime(op_type).key(&info).unwrap().id(), 2_699_761_287, "{op_type}");
    }
}

#[test]
fn a_tiling_says_in_blocks_what_the_schedule_does() {
    let soc = soc();
    let product = Workload::MatMul(product());
    let fields = Operator::MatMulV2.knowledge(&of_product(), &product, &soc).unwrap();
    let field = |name: &str| fields[name].as_u64().unwrap();
    let said = ["batch_dim", "n_dim", "m_dim", "k_dim", "m_l0", "k_l0", "n_l0", "m_al1", "k_al1", "k_bl1", "n_bl1"];
    assert_eq!(said.map(field), [1, 6, 4, 1, 8, 4, 8, 1, 16, 16, 1]);
    assert_eq!(["db_al1", "db_bl1", "db_l0a", "db_l0b", "db_l0c"].map(field), [2, 2, 2, 2, 1]);
    let gradient = Workload::Conv(gradient());
    let fields = Operator::BackpropFilter.knowledge(&of_gradient(), &gradient, &soc).unwrap();
    let field = |name: &str| fields[name].as_u64().unwrap();
    assert_eq!(said.map(field), [1, 4, 1, 1, 4, 4, 9, 1, 28, 28, 1]);
    assert_eq!(field("group_dim"), 1);
    // CANN divides by these.
    for operator in Operator::ALL {
        let (schedule, workload) =
            if operator == Operator::MatMulV2 { (of_product(), &product) } else { (of_gradient(), &gradient) };
        assert_eq!(Operator::of(workload, &soc), Some(operator));
        let fields = operator.knowledge(&schedule, workload, &soc).unwrap();
        assert_eq!(fields.len(), operator.knowledge_fields().len());
        assert!(fields.values().all(|value| value.as_u64() > Some(0)), "{fields:?}");
    }
}

#[test]
fn a_tiling_that_the_fields_cannot_say_is_refused_by_name() {
    let wide = tiling([64, 48], 448, [12, 1]);
    let schedule = Schedule::Cube(conv2d::schedule(&wide, &gradient()).unwrap());
    let workload = Workload::Conv(gradient());
    let refused = Operator::BackpropFilter.knowledge(&schedule, &workload, &soc()).unwrap_err().to_string();
    assert!(refused.contains("n_dim") || refused.contains("BL1_shape"), "{refused}");
}

#[test]
fn they_are_written_on_request_only_and_say_what_is_inferred() {
    let soc = soc();
    let workload = Workload::MatMul(product());
    let schedule = of_product();
    let written = |binary: bool| {
        let dir = tempfile::tempdir().unwrap();
        let paths = BankPaths { custom: dir.path().to_owned(), also_read: Vec::new() };
        let mut bank = OperatorBank::open(paths, &soc).with_binary(binary);
        bank.check_writable([&workload]).unwrap();
        let measured = Measured {
            before_us: 10.0,
            after_us: 8.0,
            backend: "simulator".into(),
            space: 1,
            default: DefaultOrigin::Estimated,
        };
        bank.record(&workload, &schedule, &measured).unwrap();
        bank.save().unwrap();
        assert_eq!(bank.warnings(), [""; 0]);
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).ok();
        let side = std::fs::read_dir(dir.path().join(".aoe")).unwrap();
        let side: String = side.filter_map(|file| std::fs::read_to_string(file.unwrap().path()).ok()).collect();
        (read("Ascend910B2_24_AiCore_matmul.json"), read("Ascend910B2_24_AiCore_MatMulV2_runtime_kb.json"), side)
    };
    let (unified, runtime, side) = written(false);
    assert!(unified.is_some() && runtime.is_none() && !side.contains("whether the operator asks"));
    let (unified, runtime, side) = written(true);
    assert!(unified.is_some() && side.contains("whether the operator asks"), "{side}");
    let record: Value = serde_json::from_str(runtime.unwrap().trim_end()).unwrap();
    assert_eq!(record["op"], "MatMulV2");
    assert_eq!(record["info_dict"]["m"], 512);
    assert!(record["knowledge"]["m_l0"].as_u64() > Some(0), "{record}");
}

#[test]
fn parts_whose_results_pass_vector_buffers_and_other_work_have_none() {
    let products = [Workload::MatMul(product()), Workload::Conv(gradient())];
    for soc in ["Ascend310P3", "Ascend910A", "Ascend950PR_9589"] {
        let soc = Soc::find(soc).unwrap();
        assert!(products.iter().all(|workload| Operator::of(workload, &soc).is_none()), "{}", soc.name);
    }
    let third = Workload::MatMul(MatMul { kernel: MatMulKernel::AscendC, ..product() });
    let stacked = Workload::MatMul(MatMul { batch: 8, ..product() });
    let forward = Workload::Conv(Conv { kind: ConvKind::Forward, ..gradient() });
    assert!([third, stacked, forward].iter().all(|workload| Operator::of(workload, &soc()).is_none()));
}
