//! Convolutions of volumes: the key of the bank `Conv3D`, its fields, and what a tuning does with it.

use super::memory::Memory;
use super::*;
use crate::bank::conv3d::{self, Tiling};
use crate::bank::layout::Layout;
use crate::bank::{BankPaths, Measured, OperatorBank, Writable};
use crate::tiling::Platform;
use crate::tiling::conv3d_v2::legality;
use crate::workload::{Conv, ConvKind, DefaultOrigin, Depth};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// 2 volumes of 8 planes of 28 x 28 pixels, 64 to 128 channels, 3 x 3 x 3 taps.
fn volume() -> Conv {
    Conv {
        dtype: DataType::Bfloat16,
        out_dtype: DataType::Bfloat16,
        bias: true,
        format: Format::Ndc1hwc0,
        depth: Some(Depth { input: 8, output: 8, kernel: 3, stride: 1, pads: [1, 1], dilation: 1 }),
        ..Conv::image(ConvKind::Forward, 2 * 8, [64 * 3, 128], 28, 3)
    }
}

fn b2() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

/// 2 images by 4 runs of planes by 3 parts of 784 pixels; tiles of 144 x 128, K in blocks of 16 channels with 9 taps.
fn good() -> Tiling {
    Tiling {
        batch_dim: 2,
        do_dim: 4,
        m_dim: 3,
        n_dim: 1,
        group_dim: 1,
        single_core_do: 2,
        single_core_m: 272,
        single_core_co: 128,
        m_l0: 144,
        n_l0: 128,
        k_l0: 48,
        m_al1: 144,
        n_bl1: 128,
        k_al1: 432,
        k_bl1: 432,
        p_buffer_flag: 27,
        ..Tiling::own(&volume()).unwrap()
    }
}

#[test]
fn the_key_is_that_of_the_page_s_structure() {
    let layout = Layout::of(conv3d::OP_TYPE).unwrap();
    let infos = conv3d::info_dicts(&volume());
    // The one public row with a bias has bfloat16 operands, device formats, and a bias of float32.
    assert_eq!((infos.len(), infos[0].len()), (1, layout.fields().len()));
    let key = layout.pack(&infos[0]).unwrap();
    assert_eq!(key.bytes().len(), 229);
    // Four types of 4 bytes, twelve sizes of 8, three formats of 4, thirteen numbers of 8, one flag.
    let number = |at: usize| u64::from_le_bytes(key.bytes()[at..at + 8].try_into().unwrap());
    let small = |at: usize| u32::from_le_bytes(key.bytes()[at..at + 4].try_into().unwrap());
    assert_eq!([0, 4, 8, 12].map(small), [27, 27, 27, 0]);
    let sizes: Vec<u64> = (0..12).map(|i| number(16 + 8 * i)).collect();
    assert_eq!(sizes, [2, 8, 28, 28, 128, 64, 3, 3, 3, 8, 28, 28]);
    assert_eq!([112, 116, 120].map(small), [32, 33, 32]);
    assert_eq!((0..13).map(|i| number(124 + 8 * i)).collect::<Vec<_>>(), [1; 13]);
    assert_eq!(key.bytes()[228], 1);
    // What is not public has a key for each value.
    let half = Conv { dtype: DataType::Float16, out_dtype: DataType::Float16, ..volume() };
    let types = |w: &Conv| conv3d::info_dicts(w).iter().map(|info| info["biasDtype"].clone()).collect::<Vec<_>>();
    assert_eq!(types(&half), [json!(1), json!(0)]);
    assert_eq!(types(&Conv { bias: false, ..volume() }), [json!(0), json!(1)]);
}

#[test]
fn what_has_no_key_says_why() {
    let refused = |w: Conv, word: &str| {
        let reason = conv3d::not_expressible(&w).expect(word);
        assert!(reason.contains(word), "{reason}");
        assert!(conv3d::info_dicts(&w).is_empty());
        assert_eq!(Form::of(&Workload::Conv(w), &b2()), Form::Canonical);
    };
    refused(Conv { groups: 2, ..volume() }, "bShapeC");
    refused(Conv { dtype: DataType::Float, out_dtype: DataType::Float, ..volume() }, "aDtype");
    refused(Conv { kind: ConvKind::BackpropFilter, ..volume() }, "Conv3DBackpropFilter");
    refused(Conv { ho: 0, ..volume() }, "aShapeN");
    // CANN's sizes have a sign.
    refused(Conv { hi: 1 << 63, ..volume() }, "aShapeN");
    assert!(conv3d::not_expressible(&Conv { depth: None, ..volume() }).is_some());
    // The part has to ask it.
    let w = Workload::Conv(volume());
    assert_eq!(Form::of(&w, &b2()), Form::runtime("Conv3D"));
    assert_eq!(Form::of(&w, &Soc::find("Ascend310P3").unwrap()), Form::Canonical);
}

#[test]
fn extents_of_a_key_lead_back_to_the_convolution() {
    let uneven = Depth { input: 9, output: 4, kernel: 2, stride: 2, pads: [0, 1], dilation: 2 };
    let w = Conv { batch: 3 * 4, cin: 32 * 2, pads: [0, 1, 2, 3], stride: [2, 1], depth: Some(uneven), ..volume() };
    let info = &conv3d::info_dicts(&w)[0];
    let extents: Vec<u64> = conv3d::EXTENTS.iter().map(|name| info[*name].as_u64().unwrap()).collect();
    // Of the convolution that it is like only what is no extent stays.
    let other = conv3d::of_extents(&volume(), &(100..125).collect::<Vec<u64>>()).unwrap();
    assert_eq!(conv3d::of_extents(&other, &extents), Some(w));
}

#[test]
fn cores_along_images_planes_and_pixels_become_tasks_along_m() {
    let s = good().schedule(&volume()).unwrap();
    // One image, two planes, 272 of 784 pixels.
    assert_eq!((s.cores.m, s.single.m, s.single.k, s.unmodelled.len()), (24, 2 * 272, 64 * 27, 0));
    assert_eq!((s.l0.m, s.l1_a, s.l1_b), (144, L1Tile::panel(432, 1), L1Tile::panel(432, 1)));
    crate::workload::check(&Workload::Conv(volume()), &Schedule::Cube(s.clone()), &b2()).unwrap();
    assert_eq!(Tiling::from_schedule(&s, &volume()).unwrap(), good());
    // Another deal of as many tasks is told from it.
    let other = Tiling { batch_dim: 1, do_dim: 8, single_core_do: 1, ..good() };
    let s = other.schedule(&volume()).unwrap();
    assert_eq!(s.single.m, 2 * 272);
    assert_eq!(Tiling::from_schedule(&s, &volume()).unwrap(), other);
}

#[test]
fn weights_that_stay_are_a_full_load() {
    let stays = Tiling {
        p_buffer_flag: 11,
        k_bl1: 1728,
        bl1_full_load: 1,
        n_l0: 64,
        n_bl1: 64,
        n_dim: 2,
        m_dim: 1,
        single_core_m: 784,
        single_core_co: 64,
        ..good()
    };
    let s = stays.schedule(&volume()).unwrap();
    assert_eq!((s.l1_b, s.unmodelled.len()), (L1Tile::FULL, 0), "{:?}", s.unmodelled);
    assert_eq!(Tiling::from_schedule(&s, &volume()).unwrap(), stays);
}

const FILE: &str = "Ascend910B2_24_AiCore_Conv3D_runtime_kb.json";

fn open(storage: &Arc<Memory>) -> OperatorBank {
    let paths = BankPaths { custom: "/bank".into(), also_read: Vec::new() };
    OperatorBank::with_storage(paths, &b2(), storage.clone(), "2026-01-02".into())
}

fn lines(storage: &Memory) -> Vec<Value> {
    use crate::bank::Storage;
    let content = String::from_utf8(storage.read(&Path::new("/bank").join(FILE)).unwrap().unwrap()).unwrap();
    content.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn measured() -> Measured {
    let default = DefaultOrigin::Public;
    Measured { before_us: 9.0, after_us: 4.5, backend: "simulator".into(), space: 4, default }
}

#[test]
fn a_tiling_is_written_under_every_key_and_read_back_as_a_hit() {
    let storage = Arc::new(Memory::default());
    let w = Workload::Conv(Conv { bias: false, ..volume() });
    let schedule = Schedule::Cube(good().schedule(&volume()).unwrap());
    let mut bank = open(&storage);
    bank.record(&w, &schedule, &measured()).unwrap();
    bank.save().unwrap();
    let written = lines(&storage);
    assert_eq!(
        written.iter().map(|line| line["info_dict"]["biasDtype"].clone()).collect::<Vec<_>>(),
        [json!(0), json!(1)]
    );
    assert!(written.iter().all(|line| line["op"] == "Conv3D" && line["knowledge"]["orgDi"] == 8), "{written:?}");
    let found = open(&storage).lookup(&w).unwrap().unwrap();
    assert_eq!((found.schedule, found.measured), (schedule.clone(), Some(measured())));
    assert!(Writable::of(&w, &b2()).unproven().contains(&"biasDtype"));
    // The second key alone is a hit as well.
    let second = serde_json::to_string(&written[1]).unwrap();
    let other = Arc::new(Memory::default());
    other.put(Path::new("/bank").join(FILE), second.into_bytes());
    assert_eq!(open(&other).lookup(&w).unwrap().unwrap().schedule, schedule);
    // A near volume finds it; the copies of its sizes are its own then.
    let near = Workload::Conv(Conv { hi: 30, ho: 30, bias: false, ..volume() });
    assert_eq!(open(&storage).neighbours(&near, 3).unwrap()[0], schedule);
}

#[test]
fn a_record_that_copies_another_size_is_no_hit_and_is_never_written() {
    let storage = Arc::new(Memory::default());
    let w = Workload::Conv(volume());
    let wrong = Tiling { org_wi: 29, ..good() };
    let schedule = Schedule::Cube(wrong.schedule(&volume()).unwrap());
    let error = open(&storage).record(&w, &schedule, &measured()).unwrap_err();
    assert!(error.to_string().contains("orgWi = 29"), "{error}");
    let info = Value::Object(conv3d::info_dicts(&volume()).remove(0));
    let line = json!({"id": 1, "info_dict": info, "knowledge": wrong.to_knowledge(), "op": "Conv3D", "version": 0});
    storage.put(Path::new("/bank").join(FILE), format!("{line}\n").into_bytes());
    let bank = open(&storage);
    assert_eq!(bank.lookup(&w).unwrap(), None);
    assert!(bank.warnings()[0].contains("orgWi = 29"), "{:?}", bank.warnings());
}

fn any_tiling() -> impl Strategy<Value = Tiling> {
    let dims = (1u32..9, 1u32..9, 1u32..9, 1u32..5);
    let single = (1u32..9, 1u32..900, 1u32..200);
    let tiles = (1u32..20, 1u32..20, 1u32..20, 1u32..300, 1u32..300, 1u32..9, 1u32..9);
    (dims, single, tiles, 0u32..32, (0u32..2, 0u32..2, 0u32..2, 0u32..3)).prop_map(
        |(dims, single, tile, p_buffer_flag, flags)| Tiling {
            batch_dim: dims.0,
            do_dim: dims.1,
            m_dim: dims.2,
            n_dim: dims.3,
            single_core_do: single.0,
            single_core_m: single.1,
            single_core_co: single.2,
            m_l0: 16 * tile.0,
            n_l0: 16 * tile.1,
            k_l0: 16 * tile.2,
            m_al1: tile.3,
            n_bl1: tile.4,
            k_al1: 16 * tile.2 * tile.5,
            k_bl1: 16 * tile.2 * tile.6,
            p_buffer_flag,
            al1_full_load: flags.0,
            bl1_full_load: flags.1,
            iterate_mn_order: flags.2,
            bias_full_load_flag: flags.3,
            ..good()
        },
    )
}

proptest! {
    #[test]
    fn a_tiling_survives_the_canonical_schedule(tiling in any_tiling(), batch in 1u64..5, planes in 1u64..9) {
        let depth = Depth { output: planes, input: planes, ..volume().depth.unwrap() };
        let w = Conv { batch: batch * planes, depth: Some(depth), ..volume() };
        let tiling = Tiling { org_do: planes as u32, org_di: planes as u32, ..tiling };
        let schedule = tiling.schedule(&w).unwrap();
        prop_assert_eq!(Tiling::from_schedule(&schedule, &w).unwrap(), tiling);
        prop_assert_eq!(Tiling::from_knowledge(&tiling.to_knowledge()), Ok(tiling));
    }

    #[test]
    fn no_tiling_panics(
        fields in proptest::collection::vec(any::<u32>(), Tiling::NAMES.len()), sizes: [u64; 6], depth: [u64; 4],
    ) {
        let map = Tiling::NAMES.iter().zip(&fields).map(|(name, &value)| ((*name).to_owned(), value.into())).collect();
        let tiling = Tiling::from_knowledge(&map).unwrap();
        let [batch, cin, cout, ho, kh, hi] = sizes;
        let [input, output, kernel, stride] = depth;
        let depth = Depth { input, output, kernel, stride, pads: [0, 1], dilation: 1 };
        let w = Conv { batch, cin, hi, cout, ho, kh, depth: Some(depth), ..volume() };
        let _ = legality::check_written(&tiling, &w, &Platform::of(&b2()));
        let _ = (conv3d::info_dicts(&w), crate::space::default_policy(&Workload::Conv(w.clone()), &b2()));
        if let Ok(schedule) = tiling.schedule(&w) {
            prop_assert_eq!(Tiling::from_schedule(&schedule, &w).unwrap(), tiling);
            let _ = crate::workload::check(&Workload::Conv(w), &Schedule::Cube(schedule), &b2());
        }
    }
}
