//! The C ABI is what `include/aoe.h` says: the header, the Rust exports and the built library agree.

mod header;
mod library;
mod released;

use aoe::graph::{DataType, Format};
use aoe::status::Status;
use header::{Header, differences};
use library::Library;
use std::collections::BTreeMap;

const WRITTEN: &str = include_str!("../../include/aoe.h");
const GENERATED: &str = include_str!(concat!(env!("OUT_DIR"), "/aoe_generated.h"));

/// What the exports imply: cbindgen's declarations, and the constants that are tables in Rust.
fn implied() -> Header {
    let mut header = Header::parse(GENERATED);
    // Not for the public; the C harness declares it itself.
    assert!(header.functions.remove("AoeTestPanic").is_some());
    let mut constant = |name: String, value: i32| header.constants.insert(name, i64::from(value));
    for status in Status::ALL {
        constant(status.name().to_owned(), *status as i32);
    }
    for dtype in DataType::ALL {
        constant(format!("AOE_DT_{}", ge_name(*dtype)), dtype.ge_number());
    }
    for format in Format::ALL {
        constant(format!("AOE_FORMAT_{}", format.name()), format.ge_number());
    }
    for (part, value) in [
        ("MAJOR", env!("CARGO_PKG_VERSION_MAJOR")),
        ("MINOR", env!("CARGO_PKG_VERSION_MINOR")),
        ("PATCH", env!("CARGO_PKG_VERSION_PATCH")),
    ] {
        constant(format!("AOE_VERSION_{part}"), value.parse().unwrap());
    }
    header
}

/// The name in `ge::DataType`, without `DT_`.
fn ge_name(dtype: DataType) -> String {
    match dtype {
        DataType::Float => "FLOAT".to_owned(),
        DataType::Bfloat16 => "BF16".to_owned(),
        other => other.name().to_uppercase(),
    }
}

#[test]
fn header_and_exports_agree_in_every_name_parameter_and_constant() {
    let differences = differences(&Header::parse(WRITTEN), &implied());
    assert!(differences.is_empty(), "include/aoe.h differs from src/capi:\n{}", differences.join("\n"));
}

#[test]
fn any_single_change_of_the_header_is_noticed_and_named() {
    for (from, to, culprit) in [
        ("AoeStatus AoeFinalize(void)", "AoeStatus AoeFinalise(void)", "AoeFinalise"),
        ("AoeStatus AoeFinalize(void);", "", "AoeFinalize"),
        ("uint32_t AoeGetVersion(void)", "int32_t AoeGetVersion(void)", "AoeGetVersion"),
        ("AoeStatus AoeCancel(AoeSessionId session)", "AoeStatus AoeCancel(AoeSessionId id)", "AoeCancel"),
        ("AoeStatus AoeCancel(AoeSessionId session)", "AoeStatus AoeCancel(AoeNodeId session)", "AoeCancel"),
        ("AoeStatus AoeCancel(AoeSessionId session)", "AoeStatus AoeCancel(void)", "AoeCancel"),
        ("AoeGraphSaveFile(const AoeGraph *graph,", "AoeGraphSaveFile(AoeGraph *graph,", "AoeGraphSaveFile"),
        ("    const char *key;\n    const char *value;", "    const char *value;\n    const char *key;", "AoeOption"),
        ("typedef uint64_t AoeSessionId", "typedef uint32_t AoeSessionId", "AoeSessionId"),
        ("typedef int32_t (*AoeProgressCallback)", "typedef void (*AoeProgressCallback)", "AoeProgressCallback"),
        ("(*Cancel)(AoeSessionId session)", "(*Cancel)(AoeSessionId session, int x)", "AoeApi"),
        ("AOE_ERROR_BUSY = 6", "AOE_ERROR_BUSY = 106", "AOE_ERROR_BUSY"),
        ("AOE_DT_BF16 = 27", "AOE_DT_BF17 = 27", "AOE_DT_BF16"),
        ("AOE_FORMAT_NCL = 47", "AOE_FORMAT_NCL = 47, AOE_FORMAT_NEW = 48", "AOE_FORMAT_NEW"),
        ("#define AOE_MAX_RANK 64", "#define AOE_MAX_RANK 63", "AOE_MAX_RANK"),
        ("#define AOE_VERSION_MAJOR ", "#define AOE_VERSION_MAJOR 9", "AOE_VERSION_MAJOR"),
        ("uint32_t AoeGetVersion(void);", "uint32_t AoeGetVersion(void); void AoeNew(void);", "AoeNew"),
    ] {
        assert!(WRITTEN.contains(from), "{from} is no longer in the header");
        let doctored = Header::parse(&WRITTEN.replacen(from, to, 1));
        let differences = differences(&doctored, &Header::parse(WRITTEN));
        assert!(differences.iter().any(|d| d.contains(culprit)), "{from} -> {to}: {differences:?}");
    }
}

/// The fields of the table in order. Clients reach them by offset, so that none may move or go: append.
const TABLE: &str = "struct_size GetVersion GetLastError GetStatusName Initialize Finalize GraphCreate \
    GraphLoadFile GraphLoadMemory GraphSaveFile GraphAddInput GraphAddConst GraphAddNode GraphAddEdge \
    GraphAddOutput GraphSetOutputDesc GraphSetAttrInt GraphSetAttrFloat GraphSetAttrBool GraphSetAttrString \
    GraphSetAttrDataType GraphSetAttrInts GraphSetAttrFloats GraphGetNodeCount GraphFindNode GraphDestroy \
    CreateSession DestroySession SetGeSession SetDependGraphs SetDependGraphsInputs SetTuningGraph \
    SetTuningGraphInput TuningGraph Cancel GetReport GetTunedGraph GetSessionError SetProgressCallback \
    SetLogCallback GraphGetNodeAttrString Simulate SearchCreate SearchAsk SearchTell \
    SearchBest SearchGetReport SearchDestroy BankOpen BankQuery BankMerge BankClose RegisterBackend \
    CheckOption Tiling Candidates";

#[test]
fn fields_of_the_table_stay_where_they_are() {
    let fields = Header::parse(WRITTEN).table_fields("AoeApi");
    let names: Vec<_> = fields.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, TABLE.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn the_table_holds_every_function_under_its_name_with_its_signature() {
    let header = Header::parse(WRITTEN);
    let fields = header.table_fields("AoeApi");
    assert_eq!(fields[0], ("struct_size".to_owned(), "size_t struct_size".to_owned()));
    let table: BTreeMap<_, _> = fields[1..].iter().cloned().collect();
    for (name, declaration) in header.functions.iter().filter(|(name, _)| *name != "AoeGetApi") {
        let field = name.trim_start_matches("Aoe");
        let expected = declaration.replacen(&format!("{name} ("), &format!("( * {field} ) ("), 1);
        assert_eq!(table.get(field), Some(&expected), "AoeApi lacks {field} or declares it otherwise");
    }
    assert_eq!(table.len() + 1, header.functions.len(), "AoeApi holds something that is no function");
}

#[test]
fn the_shared_library_has_soname_nodelete_and_exactly_the_declared_exports() {
    let library = Library::read(&library::built());
    let mut expected: Vec<String> = Header::parse(WRITTEN).functions.into_keys().collect();
    if cfg!(feature = "test-hooks") {
        expected.push("AoeTestPanic".to_owned());
    }
    let problems = library.problems(env!("CARGO_PKG_VERSION_MAJOR"), &expected);
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn every_fault_of_a_shared_library_is_noticed() {
    let good = Library::read(&library::built());
    let exports: Vec<String> = good.exports.iter().cloned().collect();
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    assert_eq!(good.problems(major, &exports), Vec::<String>::new());
    let noticed = |culprit: &str, fault: fn(&mut Library)| {
        let mut doctored = good.clone();
        fault(&mut doctored);
        let problems = doctored.problems(major, &exports);
        assert!(problems.iter().any(|p| p.contains(culprit)), "{culprit}: {problems:?}");
    };
    noticed("SONAME", |l| l.soname = None);
    noticed("SONAME", |l| l.soname = Some("libaoe.so".to_owned()));
    noticed("NODELETE", |l| l.nodelete = false);
    noticed("AoeLeaked", |l| assert!(l.exports.insert("AoeLeaked".to_owned())));
    noticed("AoeFinalize", |l| assert!(l.exports.remove("AoeFinalize")));
    // The test program itself is an ELF file that is none of this.
    let other = Library::read(&std::fs::read(std::env::current_exe().unwrap()).unwrap());
    assert!(other.problems(major, &exports).len() >= 3);
}

#[test]
fn a_program_built_with_the_released_header_finds_all_that_it_was_promised() {
    let (released, current) = (Header::parse(released::HEADER), Header::parse(WRITTEN));
    let major = |header: &Header| header.constants["AOE_VERSION_MAJOR"];
    assert_eq!(major(&released), major(&current), "a new major version begins with its own tests/abi/released/aoe.h");
    let broken = released::broken(&released, &current);
    assert!(broken.is_empty(), "the SONAME would have to change:\n{}", broken.join("\n"));
}

#[test]
fn whatever_would_break_a_released_program_is_named_and_additions_are_not() {
    let released = Header::parse(released::HEADER);
    let after = |from: &str, to: &str| {
        assert!(released::HEADER.contains(from), "{from} is not in the released header");
        released::broken(&released, &Header::parse(&released::HEADER.replacen(from, to, 1)))
    };
    for (from, to, culprit) in [
        ("AoeStatus AoeFinalize(void);", "", "AoeFinalize"),
        ("uint32_t AoeGetVersion(void)", "int32_t AoeGetVersion(void)", "AoeGetVersion"),
        ("AoeStatus AoeCancel(AoeSessionId session)", "AoeStatus AoeCancel(void)", "AoeCancel"),
        ("typedef uint64_t AoeSessionId", "typedef uint32_t AoeSessionId", "AoeSessionId"),
        ("    const char *key;\n    const char *value;", "    const char *value;\n    const char *key;", "AoeOption"),
        // A structure that does not tell its size may not grow.
        ("} AoeField;", "    double more;\n} AoeField;", "AoeField"),
        ("    uint64_t added;\n", "    uint64_t first;\n    uint64_t added;\n", "AoeBankMerged"),
        ("    uint64_t added;\n", "", "AoeBankMerged"),
        ("AOE_ERROR_BUSY = 6", "AOE_ERROR_BUSY = 106", "AOE_ERROR_BUSY"),
        ("#define AOE_MAX_RANK 64", "#define AOE_MAX_RANK 63", "AOE_MAX_RANK"),
    ] {
        let broken = after(from, to);
        assert!(broken.iter().any(|line| line.starts_with(culprit)), "{from} -> {to}: {broken:?}");
    }
    for (from, to) in [
        ("uint32_t AoeGetVersion(void);", "uint32_t AoeGetVersion(void); void AoeNew(void);"),
        ("} AoeBankMerged;", "    uint64_t more;\n} AoeBankMerged;"),
        ("#define AOE_MAX_RANK 64", "#define AOE_MAX_RANK 64\n#define AOE_MAX_NEW 7"),
        ("#define AOE_VERSION_MINOR 1", "#define AOE_VERSION_MINOR 2"),
    ] {
        assert_eq!(after(from, to), Vec::<String>::new(), "{from} -> {to}");
    }
}

/// Functions that a map of versions exports by name.
fn named_in(map: &str) -> Vec<&str> {
    map.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.starts_with("Aoe")).collect()
}

#[test]
fn functions_that_came_after_the_release_have_a_version_of_their_own() {
    let (map, current) = (include_str!("../../cmake/libaoe.map"), Header::parse(WRITTEN));
    let released = Header::parse(released::HEADER);
    let version = |header: &Header| ["MAJOR", "MINOR"].map(|part| header.constants[&format!("AOE_VERSION_{part}")]);
    if version(&released) != version(&current) {
        let new: Vec<_> = current.functions.keys().filter(|name| !released.functions.contains_key(*name)).collect();
        let without: Vec<_> = new.iter().filter(|name| !named_in(map).contains(&name.as_str())).collect();
        assert!(
            without.is_empty(),
            "cmake/libaoe.map exports these with the version of the release before: {without:?}"
        );
    }
    assert!(map.contains(include_str!("released/libaoe.map").trim_end()), "a node of a released map has changed");
}
