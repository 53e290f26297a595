//! Processes that write one bank: killed at any moment, and several at once. Nothing that `save`
//! acknowledged may be lost.

use aoe::bank::{BankPaths, Measured, OperatorBank};
use aoe::soc::Soc;
use aoe::workload::{
    Buffers, Cores, CubeSchedule, Extents, L0Tile, L1Tile, L2Tiling, LoopOrder, MatMul, OutputPath, Schedule, SplitK,
    Workload,
};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Where a child process writes; without it the `writer` test does nothing.
const DIRECTORY: &str = "LIBAOE_TEST_BANK";
/// First record of a child, and how many it writes.
const RANGE: &str = "LIBAOE_TEST_RANGE";
/// How many processes are killed; the nightly run sets more.
const KILLS: &str = "LIBAOE_TEST_KILLS";

fn soc() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

fn open(directory: &Path) -> OperatorBank {
    OperatorBank::open(BankPaths { custom: directory.to_owned(), also_read: Vec::new() }, &soc())
}

fn product(number: u64) -> Workload {
    Workload::MatMul(MatMul::new(16 * (number + 1), 256, 256))
}

fn tiling(number: u64) -> Schedule {
    let m = number as u32 + 1;
    Schedule::Cube(CubeSchedule {
        used_cores: 1,
        cores: Cores { batch: 1, m: 1, n: 1, k: 1 },
        single: Extents { batch: 1, m: u64::from(16 * m), n: 256, k: 256 },
        l0: L0Tile { m: 16, n: 256, k_a: 64, k_b: 64 },
        l1_a: L1Tile::panel(64, 1),
        l1_b: L1Tile::panel(64, 1),
        buffers: Buffers { l1_a: 2, l1_b: 2, l0_a: 2, l0_b: 2, l0_c: 1 },
        order: LoopOrder::MFirst,
        l2: L2Tiling::default(),
        split_k: SplitK::None,
        output: OutputPath::Direct,
        tiling_digits: 0,
    })
}

/// Runs in a child process: writes one record after another and says so after each.
#[test]
fn writer() {
    let (Some(directory), Ok(range)) = (std::env::var_os(DIRECTORY), std::env::var(RANGE)) else { return };
    let (first, count) = range.split_once('+').unwrap();
    let first: u64 = first.parse().unwrap();
    let mut bank = open(Path::new(&directory));
    let mut out = std::io::stdout();
    for number in first..first + count.parse::<u64>().unwrap() {
        let measured = Measured { before_us: 2.0, after_us: 1.0, backend: "simulator".into() };
        bank.record(&product(number), &tiling(number), &measured).unwrap();
        bank.save().unwrap();
        writeln!(out, "saved {number}").unwrap();
    }
}

fn spawn(directory: &Path, first: u64, count: u64) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer", "--nocapture"])
        .env(DIRECTORY, directory)
        .env(RANGE, format!("{first}+{count}"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn acknowledged(line: &str) -> Option<u64> {
    line.rsplit_once("saved ").and_then(|(_, number)| number.parse().ok())
}

/// Fails unless every acknowledged record is there, as it was written, and nothing is wrong.
fn check(directory: &Path, acknowledged: &[u64]) {
    let bank = open(directory);
    for &number in acknowledged {
        let entry = bank.lookup(&product(number)).unwrap();
        assert_eq!(entry.map(|e| e.schedule), Some(tiling(number)), "record {number}");
    }
    assert_eq!(bank.warnings(), [""; 0]);
}

#[test]
fn a_killed_writer_loses_nothing_that_was_acknowledged_and_leaves_no_lock() {
    let kills: u64 = std::env::var(KILLS).ok().and_then(|n| n.parse().ok()).unwrap_or(200);
    let directory = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(20);
    let mut saved = Vec::new();
    for kill in 0..kills {
        // The same few records again and again: updates as well as new ones.
        let mut child = spawn(directory.path(), kill % 50 * 4, 1000);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.by_ref().map_while(Result::ok).find_map(|line| acknowledged(&line));
        // Where in its work the process dies is left to chance.
        std::thread::sleep(Duration::from_micros(random.u64(0..5000)));
        child.kill().unwrap();
        saved.extend(first);
        saved.extend(lines.map_while(Result::ok).filter_map(|line| acknowledged(&line)));
        child.wait().unwrap();
    }
    saved.sort_unstable();
    saved.dedup();
    assert!(saved.len() as u64 >= kills.min(200) / 4, "{} records", saved.len());
    check(directory.path(), &saved);
    let file = "Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json";
    let strange = std::fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).filter(|name| {
        let name = name.to_string_lossy();
        name != file && name != ".aoe" && name != format!(".{file}.tmp")
    });
    assert_eq!(strange.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn processes_that_write_at_once_lose_nothing_even_when_one_is_killed() {
    const EACH: u64 = 20;
    let directory = tempfile::tempdir().unwrap();
    let mut children: Vec<_> = (0..4).map(|i| spawn(directory.path(), i * EACH, EACH)).collect();
    let mut victim = children.remove(0);
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    let first = lines.by_ref().map_while(Result::ok).find_map(|line| acknowledged(&line));
    victim.kill().unwrap();
    victim.wait().unwrap();
    let mut saved: Vec<u64> = first.into_iter().collect();
    saved.extend(lines.map_while(Result::ok).filter_map(|line| acknowledged(&line)));
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    saved.extend(EACH..4 * EACH);
    check(directory.path(), &saved);
}
