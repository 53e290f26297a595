//! Tests of the orders in which banks are looked for; `bank::tests::disk` has those of the operator bank.

use super::{BankEnvironment, BankPaths, Reader, Toolkit};
use crate::soc::Soc;
use std::fs;
use std::path::{Path, PathBuf};

fn soc() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

fn paths(list: &[&str]) -> Vec<PathBuf> {
    list.iter().map(PathBuf::from).collect()
}

/// An environment in which everything is set, but for what the tests take away.
fn full(tune: &Path) -> BankEnvironment {
    BankEnvironment {
        tune_bank_path: Some(tune.to_owned()),
        op_bank_path: Some("/op".into()),
        ascend_cache_path: Some("/cache".into()),
        home: Some("/home/me".into()),
        toolkit: Toolkit::default(),
    }
}

#[test]
fn the_default_follows_the_cann_that_is_installed_and_both_are_read() {
    let of = |is_older: bool| {
        let root = if is_older { "/opt/Ascend/ascend-toolkit/latest" } else { "/opt/Ascend/cann-8.5.0" };
        let toolkit = Toolkit { opp: None, home: Some(root.into()) };
        let environment = BankEnvironment { home: Some("/home/me".into()), toolkit, ..BankEnvironment::default() };
        BankPaths::operator(&environment, &soc()).unwrap()
    };
    let older = Path::new("/home/me/Ascend/latest/data/aoe/custom/op/Ascend910B2");
    let newer = Path::new("/home/me/Ascend/cann/data/aoe/custom/op/Ascend910B2/unified_bank");
    assert_eq!((of(true).custom.as_path(), of(false).custom.as_path()), (older, newer));
    assert!(
        of(true).also_read.iter().any(|path| path == newer) && of(false).also_read.iter().any(|path| path == older)
    );
}

#[test]
fn operators_put_the_variable_first_and_subgraphs_the_option() {
    let directory = tempfile::tempdir().unwrap();
    let tune = directory.path();
    let mdl = Some(Path::new("/mdl"));
    let graph_default = "/home/me/Ascend/latest/data/aoe/custom/graph/Ascend910B2";
    for reader in [Reader::Tuner, Reader::Compiler] {
        let is_tuner = reader == Reader::Tuner;
        let mut environment = full(tune);
        let operator = |e: &BankEnvironment| BankPaths::operator_for(reader, e, &soc()).unwrap();
        let subgraph = |e: &BankEnvironment, mdl| BankPaths::subgraph(reader, e, mdl, &soc()).unwrap();
        assert_eq!(operator(&environment).custom, tune.join("Ascend910B2/unified_bank"));
        assert_eq!(subgraph(&environment, mdl).custom, Path::new("/mdl"));
        assert_eq!(subgraph(&environment, None).custom, tune);
        environment.tune_bank_path = None;
        assert_eq!(operator(&environment).custom, Path::new("/op/Ascend910B2/unified_bank"));
        assert_eq!(
            subgraph(&environment, Some(Path::new(""))).custom,
            Path::new(if is_tuner { "/cache/aoe_data" } else { graph_default })
        );
        environment.op_bank_path = None;
        let default = "/home/me/Ascend/cann/data/aoe/custom/op/Ascend910B2/unified_bank";
        assert_eq!(
            operator(&environment).custom,
            Path::new(if is_tuner { "/cache/aoe_data/Ascend910B2/unified_bank" } else { default })
        );
        environment.ascend_cache_path = None;
        assert_eq!(operator(&environment).custom, Path::new(default));
        let older = "/home/me/Ascend/latest/data/aoe/custom/op/Ascend910B2";
        assert_eq!(operator(&environment).also_read, paths(&[&format!("{older}/unified_bank"), older]));
        assert_eq!(subgraph(&environment, None).custom, Path::new(graph_default));
        environment.home = None;
        assert!(BankPaths::subgraph(reader, &environment, None, &soc()).unwrap_err().to_string().contains("HOME"));
    }
}

#[test]
fn gradients_never_look_at_the_cache() {
    let directory = tempfile::tempdir().unwrap();
    let mut environment = full(directory.path());
    assert_eq!(BankPaths::gradient(&environment, &soc()).unwrap().custom, directory.path());
    environment.tune_bank_path = None;
    let found = BankPaths::gradient(&environment, &soc()).unwrap();
    assert_eq!(found.custom, Path::new("/home/me/Ascend/latest/data/aoe/custom/graph/Ascend910B2"));
    assert_eq!(found.also_read, paths(&["/home/me/Ascend/cann/data/aoe/custom/graph/Ascend910B2"]));
    environment.tune_bank_path = Some(directory.path().join("missing"));
    for result in
        [BankPaths::gradient(&environment, &soc()), BankPaths::subgraph(Reader::Compiler, &environment, None, &soc())]
    {
        let error = result.unwrap_err();
        assert!(error.id() == Some("EG0002") && error.to_string().contains("TUNE_BANK_PATH"), "{error}");
    }
}

#[test]
fn cann_s_own_banks_lie_below_those_of_the_user() {
    let directory = tempfile::tempdir().unwrap();
    let home = directory.path();
    let exists = |below: &str| {
        let path = home.join(below);
        fs::create_dir_all(&path).unwrap();
        path
    };
    let transformer = exists("opp/ops_transformer/built-in/data/op/Ascend910B2/unified_bank");
    let common = exists("opp/built-in/data/op/Ascend910B2/unified_bank");
    let graph = exists(&format!("{}-linux/data/fusion_strategy/build_in", std::env::consts::ARCH));
    let by_home = Toolkit { opp: None, home: Some(home.to_owned()) };
    let by_opp = Toolkit { opp: Some(home.join("opp")), home: None };
    for toolkit in [by_home, by_opp] {
        let custom = BankPaths { custom: "/custom".into(), also_read: paths(&["/older"]) };
        let found = custom.clone().over(toolkit.operator_banks(&soc()));
        assert_eq!(found.also_read, [PathBuf::from("/older"), transformer.clone(), common.clone()]);
        assert_eq!(custom.over(toolkit.graph_banks()).also_read, [PathBuf::from("/older"), graph.clone()]);
    }
    assert_eq!(Toolkit::default().operator_banks(&soc()), paths(&[]));
    assert_eq!(Toolkit::default().graph_banks(), paths(&[]));
}

#[test]
fn files_that_cann_cannot_open_for_writing_are_named_with_its_error_id() {
    let directory = tempfile::tempdir().unwrap();
    let custom = directory.path().to_owned();
    let bank = BankPaths { custom: custom.clone(), also_read: Vec::new() };
    let name = "Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json";
    let environment = full(&custom);
    fs::write(custom.join(name), "").unwrap();
    // Ours is none of CANN's business.
    fs::create_dir(custom.join("Ascend910B2_24_AiCore_Gelu_aoe_kb.json")).unwrap();
    assert_eq!(environment.hindrances(&bank), [""; 0]);
    // What no user may open for writing, whatever the rights: a directory.
    fs::remove_file(custom.join(name)).unwrap();
    fs::create_dir(custom.join(name)).unwrap();
    let told = environment.hindrances(&bank);
    assert!(
        matches!(&told[..], [one] if one.contains("EC0011: custom_file_dir: cannot be opened to read and write") && one.contains(name) && one.contains("no bank at all")),
        "{told:?}"
    );
    let default = BankEnvironment { home: Some("/home/me".into()), ..BankEnvironment::default() };
    assert!(default.hindrances(&bank)[0].contains("ignores the file"));
}

#[test]
fn records_below_the_cache_are_found_where_cann_looks_and_read_where_libaoe_wrote_before() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("aoe_data/Ascend910B2/unified_bank");
    fs::create_dir_all(&place).unwrap();
    assert_eq!(BankPaths::found_in(directory.path(), &soc()), None, "a folder without banks is none");
    fs::write(place.join("Ascend910B2_24_AiCore_conv2d.json"), "{}").unwrap();
    assert_eq!(BankPaths::found_in(directory.path(), &soc()).unwrap().custom, place);
    let environment = BankEnvironment { ascend_cache_path: Some(directory.path().to_owned()), ..Default::default() };
    let paths = BankPaths::operator(&environment, &soc()).unwrap();
    assert_eq!((paths.custom, paths.also_read), (place, vec![directory.path().join("Ascend910B2/unified_bank")]));
}

#[test]
fn cann_does_not_look_where_an_earlier_libaoe_wrote_below_the_cache() {
    let paths = BankPaths { custom: "/cache/aoe_data/Ascend910B2/unified_bank".into(), also_read: Vec::new() };
    let read = |file: &str| paths.is_read_by_cann(Path::new(file));
    assert!(read("/cache/aoe_data/Ascend910B2/unified_bank/a.json"));
    assert!(!read("/cache/Ascend910B2/unified_bank/a.json"));
    assert!(read("/cache/Ascend910B4/unified_bank/a.json") && read("/opt/built-in/a.json"));
    let plain = BankPaths { custom: "/bank/Ascend910B2/unified_bank".into(), also_read: Vec::new() };
    assert!(plain.is_read_by_cann(Path::new("/Ascend910B2/unified_bank/a.json")));
}

#[test]
fn a_bank_is_where_cann_looks_by_itself_only_below_its_own_directories() {
    let of = |custom: &str| BankPaths { custom: custom.into(), also_read: Vec::new() }.is_default();
    assert!(of("/home/me/Ascend/cann/data/aoe/custom/op/Ascend910B2/unified_bank"));
    assert!(of("/home/me/Ascend/latest/data/aoe/custom/op/Ascend910B2/unified_bank"));
    assert!(!of("/home/me/Ascend/cann/data/aoe/op") && !of("/bank/Ascend910B2/unified_bank"));
}
