//! What holds for every product on every part.

use super::super::{Mode, Rule, Tiling, default, default_in, fits, nd2nz_of, prepass, runs, templates_for};
use crate::soc::Soc;
use crate::tiling::Platform;
use crate::workload::MatMul;
use aoe_graph::{DataType, Format};
use proptest::prelude::*;
use proptest::sample::select;

fn extent() -> impl Strategy<Value = u64> {
    prop_oneof![
        1u64..600,
        (1u64..600).prop_map(|e| e * 16),
        (1u64..600).prop_map(|e| e * 256),
        1u64..100_000,
        1u64..=i32::MAX as u64,
        Just(u64::MAX),
    ]
}

fn product() -> impl Strategy<Value = MatMul> {
    let types = select(vec![DataType::Float, DataType::Float16, DataType::Bfloat16]);
    let format = || prop_oneof![4 => Just(Format::Nd), 1 => Just(Format::FractalNz)];
    let extents = (extent(), extent(), extent());
    (extents, types.clone(), types, any::<[bool; 4]>(), format(), format()).prop_map(
        |((m, k, n), dtype, out_dtype, [trans_a, trans_b, bias, hf32], a_format, b_format)| MatMul {
            dtype,
            out_dtype,
            trans_a,
            trans_b,
            bias,
            a_format,
            b_format,
            hf32,
            ..MatMul::new(m, k, n)
        },
    )
}

fn any_part() -> impl Strategy<Value = Platform> {
    let parts: Vec<Platform> = Soc::names().iter().map(|name| Platform::of(&Soc::find(name).unwrap())).collect();
    (select(parts), proptest::option::of(1u64..70))
        .prop_map(|(part, cores)| Platform { cores: cores.unwrap_or(part.cores), ..part })
}

proptest! {
    #![proptest_config(aoe_testing::cases(2048))]
    #[test]
    fn the_default_runs_and_fits(w in product(), p in any_part()) {
        let c = default(&w, &p);
        // Rules count with the largest extent that CANN knows.
        let most = i32::MAX as u64;
        let w = MatMul { m: w.m.min(most), k: w.k.min(most), n: w.n.min(most), ..w };
        prop_assert_eq!(default(&w, &p), c, "the same question has the same answer");
        prop_assert!(runs(&c.tiling, &w, &p).is_ok(), "{}: {:?}", runs(&c.tiling, &w, &p).unwrap_err(), c);
        if c.public && !c.rules.has(Rule::FullBRefused) {
            prop_assert!(fits(&c.tiling, &w, &p).is_ok(), "{}: {:?}", fits(&c.tiling, &w, &p).unwrap_err(), c);
        }
        prop_assert_eq!(nd2nz_of(&c.tiling, &w, &p), [c.nd2nz_a, c.nd2nz_b]);
        let tiles = prepass(&c.tiling, &w, &p);
        prop_assert!(tiles.iter().flatten().all(|tile| tile.rows > 0 && tile.width > 0));
    }

    #[test]
    fn the_default_is_a_schedule_and_back(w in product(), p in any_part()) {
        let t = default(&w, &p).tiling;
        if let Ok(schedule) = t.schedule(&w) {
            prop_assert_eq!(Tiling::from_schedule(&schedule).unwrap(), t);
        } else {
            prop_assert!(w.m.max(w.n).max(w.k) > 100_000, "{w}: {t:?}");
        }
    }

    #[test]
    fn the_base_mode_has_the_base_template(w in product(), p in any_part()) {
        let c = default_in(&w, &p, Mode::Base);
        prop_assert_eq!(c.template, 0);
        prop_assert!(c.tiling.single_core_m <= c.tiling.base_m && c.tiling.single_core_n <= c.tiling.base_n);
    }

    #[test]
    fn defaults_name_templates_that_exist(w in product(), p in any_part()) {
        let template = default(&w, &p).template;
        prop_assert!(matches!(template, 5 | 6) || templates_for(&w, &p).any(|t| t == template), "{template}");
    }
}
