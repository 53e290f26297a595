//! Products and tilings in TBE's terms and in ours.

use super::*;

#[test]
fn a_product_is_what_its_info_dict_says() {
    let w = workload(&info(0)).unwrap();
    assert_eq!((w.m, w.k, w.n, w.trans_a, w.trans_b, w.bias), (5120, 16, 32, false, true, false));
    let w = workload(&info(1)).unwrap();
    assert_eq!((w.m, w.k, w.n, w.trans_a, w.trans_b, w.bias), (2000, 8560, 1024, false, false, true));
    assert_eq!(w.out_dtype, DataType::Float);
    for (field, value) in [
        ("op_type", "\"pooling\""),
        ("A_shape", "[1, 1, 320, 16]"),
        ("A_shape", "[1, 2, 320, 16, 16]"),
        ("A_shape", "[1, 1, 9223372036854775807, 16, 16]"),
        ("B_shape", "null"),
        ("A_dtype", "\"float17\""),
        ("B_dtype", "\"int8\""),
        ("C_dtype", "1"),
        ("dilationH", "5"),
        ("group", "2"),
        ("bias_flag", "0"),
    ] {
        let mut wrong = info(0);
        wrong.set(field, Value::parse(value).unwrap());
        let error = workload(&wrong).unwrap_err().to_string();
        assert!(error.contains(field), "{field} = {value}: {error}");
    }
    let refused = |w: MatMul, field: &str| assert!(info_dict(&w).unwrap_err().to_string().contains(field), "{field}");
    refused(MatMul { batch: 2, a_shared: true, ..MatMul::new(16, 16, 16) }, "batch_type");
    refused(MatMul::new(0, 16, 16), "A_shape");
    refused(MatMul::new(17, 16, 16), "shape_a_align");
    refused(MatMul::new(16, 16, 15), "shape_b_align");
}

/// The rows of CANN's repository for the 910B2 have 0 for two matrices, 2 for a stack and one matrix, 3 for two stacks.
#[test]
fn stacks_of_products_are_asked_for_by_what_has_a_batch() {
    let one = MatMul {
        kernel: MatMulKernel::Tbe,
        a_format: Format::FractalNz,
        b_format: Format::FractalNz,
        ..MatMul::new(64, 32, 48)
    };
    let types = |w: &MatMul| -> Vec<u64> {
        let asked = info_dicts(&Workload::MatMul(w.clone())).unwrap();
        let mut types: Vec<u64> = asked.iter().filter_map(|info| info.get("batch_type")?.as_u64()).collect();
        types.dedup();
        types
    };
    let stack = MatMul { batch: 12, ..one.clone() };
    let shared = MatMul { b_shared: true, ..stack.clone() };
    assert_eq!(types(&one), [0, 2, 3], "the operator may have a batch of one");
    assert_eq!((types(&stack), types(&shared)), (vec![3], vec![2]));
    for w in [one, stack, shared] {
        let asked = info_dict(&w).unwrap();
        assert_eq!(asked.get("A_shape").unwrap().as_list().unwrap()[0].as_u64(), Some(w.batch));
        let read = workload(&asked).unwrap();
        assert_eq!(MatMul { kernel: MatMulKernel::Tbe, ..read }, w);
    }
}

/// A change that makes a schedule one that TBE's form cannot say.
type Change = fn(&mut CubeSchedule);

#[test]
fn what_the_form_cannot_say_is_an_error_that_names_the_field() {
    let w = workload(&info(0)).unwrap();
    let fine = schedule_of(&w, 20, 128, 16);
    let cases: [(&str, Change); 7] = [
        ("single", |s| s.single.m = 512),
        ("used_cores", |s| s.used_cores = 19),
        ("order", |s| s.order = if s.order == LoopOrder::MFirst { LoopOrder::NFirst } else { LoopOrder::MFirst }),
        ("l2", |s| s.l2.m_tiles = 1),
        ("split_k", |s| s.split_k = SplitK::Deterministic),
        ("unmodelled", |s| s.unmodelled = [("tilingEnable".to_owned(), 10_000)].into()),
        ("l0.k_a", |s| s.l0.k_a = 8),
    ];
    for (field, change) in cases {
        let mut s = fine.clone();
        change(&mut s);
        let error = knowledge(&s, &w, None).unwrap_err().to_string();
        assert!(error.contains(field), "{field}: {error}");
    }
    for (field, value) in [
        ("block_dim", "[1, 1]"),
        ("AL1_shape", "null"),
        ("BL1_shape", "[16, 1]"),
        ("AL0_matrix", "[]"),
        ("AL0_matrix", "[4, 1, 16, 16, 1, 1, 0]"),
        ("BL0_matrix", "[1, 9, 16, 16, 1, 1, 0]"),
        ("CL0_matrix", "[2, 8, 16, 16, 2, 1, 0]"),
        ("manual_pingpong_buffer", "{\"AL1_pbuffer\": 300}"),
    ] {
        let mut wrong = tiling();
        wrong.set(field, Value::parse(value).unwrap());
        let error = schedule(&wrong, &w).unwrap_err().to_string();
        assert!(error.contains(field) || error.contains("AL1_pbuffer"), "{field} = {value}: {error}");
    }
}

#[test]
fn knowledge_goes_through_the_schedule_and_back_unchanged() {
    let w = workload(&info(0)).unwrap();
    let mut record = tiling();
    // What is not understood, what is written in another way, and an empty list for all of B in L0B.
    record.set("vector_block_num", Value::from(3));
    record.set("tbe_compile_para", Value::from("x"));
    record.set("BL0_matrix", Value::List(Vec::new()));
    record.set("block_dim", Value::parse("[1, 1, 20, 1, 7]").unwrap());
    let s = schedule(&record, &w).unwrap();
    assert_eq!(knowledge(&s, &w, Some(&record)).unwrap().dumps(), record.dumps());
    // A changed schedule changes the fields that say it, and nothing else.
    let mut other = schedule_of(&w, 10, 128, 16);
    other.l0.k_b = s.l0.k_b;
    let changed = knowledge(&other, &w, Some(&record)).unwrap();
    let differing: Vec<_> =
        record.iter().filter(|(key, value)| changed.get(key) != Some(value)).map(|(k, _)| k).collect();
    assert_eq!(differing, ["block_dim"]);
    assert_eq!(changed.get("block_dim").unwrap().dumps(), "[1, 1, 10, 1, 7]");
}

/// A line of the tiling repository for the first vector's product.
fn repository_line(cost: &str) -> String {
    let shape = VECTORS[0].0.trim_end_matches('}');
    format!(
        r#"{{"shape": {shape}, "kernel_name": "te_x_1", "model_type": "xgboost"}}, "tiling": [2, false, 1, 20, 1, 16, 2, 1, 1, 1, null, 0, 0, 0, 1, false, 1, [], 1, 1, 1, 1, null, 0, 0, 0, 2, 8, 1, 1, 1, 1, [], 1, 1, 1, 2, 8, 2, 1, 1, 1, 1, 1, 1, 1, false, 1, false, false, false], "cost_time": {cost}}}"#
    )
}

#[test]
fn the_tiling_repository_gives_schedules_and_times() {
    let text = format!(
        "{}\nx\n{}\n{}\n",
        repository_line("4.866"),
        repository_line("1e17"),
        repository_line("3").replace("[2, false, 1, 20", "[2, false, 1, 0")
    );
    let read = Repository::parse(text.as_bytes());
    let rows: Vec<_> = read.rows().collect();
    assert_eq!(rows.iter().map(|r| (r.line, r.cost_us)).collect::<Vec<_>>(), [(1, Some(4.866)), (3, None)]);
    let w = workload(&info(0)).unwrap();
    assert_eq!((&rows[0].workload, rows[0].kernel.as_deref()), (&w, Some("te_x_1")));
    assert_eq!(
        rows[0].schedule,
        CubeSchedule { buffers: Buffers { l0_b: 1, ..rows[0].schedule.buffers }, ..schedule_of(&w, 20, 128, 16) }
    );
    let soc = Soc::find("Ascend910B2").unwrap();
    check(&Workload::MatMul(w), &Schedule::Cube(rows[0].schedule.clone()), &soc).unwrap();
    assert_eq!(read.findings().iter().map(|f| f.line).collect::<Vec<_>>(), [2, 4]);
    assert!(read.findings()[1].reason.contains("cores.m is zero"), "{:?}", read.findings());
}

proptest! {
    #[test]
    fn a_damaged_line_of_a_repository_costs_no_other(at in 0usize..10_000, mask in 1u8..) {
        let lines = [repository_line("1.5"), repository_line("2.5")];
        let mut content = lines.join("\n").into_bytes();
        let at = at % content.len();
        let (is_first, is_between) = (at < lines[0].len(), content[at] == b'\n');
        content[at] ^= mask;
        let read = Repository::parse(&content);
        let w = workload(&info(0)).unwrap();
        let is_kept = |cost| read.rows().any(|row| row.cost_us == Some(cost) && row.workload == w);
        let other = if is_first { 2.5 } else { 1.5 };
        prop_assert!(is_between || is_kept(other));
        prop_assert!(read.rows().count() == 2 || !read.findings().is_empty());
    }

    #[test]
    fn any_schedule_of_the_form_is_said_and_read_back(
        (m, k, n) in (1u64..40, 1u64..40, 1u64..40),
        (blocks_m, blocks_n, groups) in (1u32..6, 1u32..6, 1u32..3),
        (tile_m, tile_n, k_a, k_b) in (1u32..9, 1u32..9, 1u32..9, 1u32..9),
        (full_a, full_b, panel_k, tiles, together) in (any::<bool>(), any::<bool>(), 1u32..300, 1u32..5, 1u32..3),
        counts in proptest::array::uniform5(1u8..3),
    ) {
        let w = MatMul::new(16 * m, 16 * k, 16 * n);
        let panel = |is_full| {
            if is_full { L1Tile::FULL } else { L1Tile::Panel(Panel { k: panel_k, tiles, batch: together }) }
        };
        let [l1_a, l1_b, l0_a, l0_b, l0_c] = counts;
        let s = TbeTiling {
            cores: Cores { batch: 1, m: blocks_m, n: blocks_n, k: groups },
            l1_a: panel(full_a),
            l1_b: panel(full_b),
            l0: L0Tile { m: 16 * tile_m, n: 16 * tile_n, k_a: 16 * k_a, k_b: 16 * k_b },
            buffers: Buffers { l1_a, l1_b, l0_a, l0_b, l0_c },
        }
        .schedule(&w.cube())
        .unwrap();
        let said = knowledge(&s, &w, None).unwrap();
        prop_assert_eq!(&schedule(&said, &w).unwrap(), &s);
        // Over another record too, whose own fields stay.
        let base = tiling();
        let over = knowledge(&s, &w, Some(&base)).unwrap();
        prop_assert_eq!(&schedule(&over, &w).unwrap(), &s);
        prop_assert_eq!(workload(&info_dict(&w).unwrap()).unwrap(), MatMul { a_format: Format::FractalNz, b_format: Format::FractalNz, ..w });
    }
}
