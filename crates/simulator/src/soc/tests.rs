use super::{Arch, Soc};
use std::io::Write;

fn file(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file
}

#[test]
fn an_override_changes_its_field_and_no_other() {
    let mut soc = Soc::find("Ascend910B2").unwrap();
    let before = soc.clone();
    soc.set("cube_freq_mhz", "1500").unwrap();
    soc.set("ai_core_cnt", "20").unwrap();
    assert_eq!(soc, Soc { cube_freq_mhz: 1500.0, ai_core_cnt: 20, ..before });
}

#[test]
fn a_bad_override_names_field_and_reason_and_changes_nothing() {
    let mut soc = Soc::find("Ascend310P3").unwrap();
    let before = soc.clone();
    for (field, value, part) in [
        ("cube_freq", "1500", "cube_freq_mhz"),
        ("cube_freq_mhz", "fast", "number"),
        ("cube_freq_mhz", "-1", "positive"),
        ("cube_freq_mhz", "0", "positive"),
        ("ai_core_cnt", "0", "between"),
        ("ai_core_cnt", "2.5", "u32"),
        ("l1_size", "99999999999999999", "between"),
        ("cube_m_size", "32", "only cubes of 16 are modelled"),
        ("bt_size", "1", "neither 0"),
        ("arch", "Z80", "variant"),
    ] {
        let message = soc.set(field, value).unwrap_err().to_string();
        assert!(message.contains(field) && message.contains(part), "{field}={value}: {message}");
    }
    assert_eq!(soc, before);
}

#[test]
fn every_known_soc_survives_its_json_form() {
    for name in Soc::names() {
        let soc = Soc::find(&name).unwrap();
        let file = file(&serde_json::to_string(&soc).unwrap());
        assert_eq!(Soc::load(file.path()).unwrap(), soc);
    }
}

#[test]
fn a_json_file_may_change_a_known_soc() {
    let file = file(r#"{"base": "Ascend910B4", "name": "mine", "ai_core_cnt": 16}"#);
    let expected = Soc { name: "mine".into(), ai_core_cnt: 16, ..Soc::find("Ascend910B4").unwrap() };
    assert_eq!(Soc::load(file.path()).unwrap(), expected);
}

#[test]
fn a_field_that_a_json_file_gives_twice_is_named_with_its_line() {
    let path = file("{\"base\": \"Ascend910B4\", \"ai_core_cnt\": 16,\n\"ai_core_cnt\": 20}");
    let error = Soc::load(path.path()).unwrap_err().to_string();
    assert!(error.contains("`ai_core_cnt` is given twice") && error.contains("line 2"), "{error}");
}

#[test]
fn a_toolkit_file_gives_the_soc_that_the_table_has() {
    let text = "[version]\nSoC_version=Ascend910B2\nShort_SoC_version=Ascend910B\nAIC_version=AIC-C-220\n\
        [SoCInfo]\nai_core_cnt=24\ncube_core_cnt=24\nvector_core_cnt=48\nmemory_size=68719476736\nl2_size=201326592\n\
        [AICoreSpec]\ncube_freq=1800\ncube_m_size=16\ncube_n_size=16\ncube_k_size=16\nl0_a_size=65536\n\
        l0_b_size=65536\nl0_c_size=131072\nl1_size=524288\nbt_size=1024\nub_size=196608\n\
        [AICoreMemoryRates]\nddr_rate=32\nl1_to_l0_a_rate=512\n";
    assert_eq!(Soc::load(file(text).path()).unwrap(), Soc::find("Ascend910B2").unwrap());
}

#[test]
fn a_toolkit_file_of_a_fused_part_adds_its_extra_vector_cores() {
    let text = "[version]\nSoC_version=Ascend310P3\nShort_SoC_version=Ascend310P\nAIC_version=AIC-M-200\n\
        [SoCInfo]\nai_core_cnt=8\nvector_core_cnt=7\n[AICoreSpec]\ncube_freq=1060\n\
        [AICoreMemoryRates]\nddr_rate=17\n[VectorCoreSpec]\nvec_freq=1000\n[VectorCoreMemoryRates]\nddr_rate=9\n";
    let soc = Soc::load(file(text).path()).unwrap();
    assert_eq!((soc.arch, soc.ai_core_cnt, soc.vector_core_cnt), (Arch::M200, 8, 15));
    // The part's memory gives 204.8 GB/s.
    assert!((soc.hbm_gb_s - 204.8).abs() < 0.05 * 204.8, "{}", soc.hbm_gb_s);
}

#[test]
fn a_bad_file_is_named_with_its_line() {
    for (text, part) in [
        ("{\"base\": \"Ascend910Z\"}", "Ascend910Z"),
        ("{\n\"name\": }", ":2:"),
        ("{\"base\": \"Ascend910A\", \"colour\": 1}", "colour"),
        ("{\"base\": \"Ascend910A\", \"l2_rate\": -4}", "l2_rate"),
        ("", "SoC_version"),
        ("[version]\nSoC_version=X\nAIC_version=AIC-Q-1\n", "AIC-Q-1"),
        ("[version]\nSoC_version=X\nAIC_version=AIC-C-220\n[SoCInfo]\nai_core_cnt=many\n", ":5:"),
        ("[version]\nnonsense\n", ":2:"),
    ] {
        let message = Soc::load(file(text).path()).unwrap_err().to_string();
        assert!(message.contains(part), "{text:?}: {message}");
    }
    let message = Soc::load("/nonexistent/soc.ini".as_ref()).unwrap_err().to_string();
    assert!(message.contains("/nonexistent/soc.ini"), "{message}");
}
