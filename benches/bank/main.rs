//! What a bank of a million records costs: opening, memory, queries, merging; beside a C++ program that does what
//! CANN's loader does.
//!
//! Run with `scripts/bench bank [RECORDS]`. The files lie in a temporary folder (TMPDIR) and take 1 GB for each
//! million records, three times.

mod programs;
mod records;

use aoe::bank::{Index, MergeOutcome, Part, merge};
use records::{FILE, key, write_bank};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

const RECORDS: u64 = 1_000_000;
/// Openings of which the median counts.
const OPENINGS: usize = 5;
/// Queries timed at once: reading the clock takes as long as a query does.
const BATCH: usize = 100;
const BATCHES: usize = 2_000;

/// The median of measurements.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn seconds<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed().as_secs_f64(), result)
}

/// Resident bytes of this process.
fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<f64>().ok()).unwrap_or_default() * 4096.0
}

/// Keys of a bank in an order that no cache foresees; `offset` beyond the bank's records makes misses.
fn keys(count: u64, offset: u64, seed: u64) -> Vec<[u8; 183]> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..BATCH * BATCHES).map(|_| key(random.u64(0..count) + offset)).collect()
}

/// Nanoseconds of one query: the median of many batches.
fn query_ns(keys: &[[u8; 183]], mut query: impl FnMut(&[u8; 183])) -> f64 {
    let batches = keys.chunks(BATCH).map(|batch| {
        let start = Instant::now();
        batch.iter().for_each(&mut query);
        start.elapsed().as_nanos() as f64 / batch.len() as f64
    });
    median(batches.collect())
}

/// As [`query_ns`] in two threads at once; the slower counts.
fn two_threads(count: u64, query: impl Fn(&[u8; 183]) + Sync) -> f64 {
    let barrier = std::sync::Barrier::new(2);
    let run = |seed| {
        let keys = keys(count, 0, seed);
        barrier.wait();
        query_ns(&keys, &query)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run(2));
        run(1).max(other.join().expect("a query does not panic"))
    })
}

fn row(what: &str, value: &str, goal: &str) {
    println!("{what:<52} {value:>16}   {goal}");
}

fn open_and_query(directory: &Path, count: u64) {
    let layers = [directory.to_owned()];
    let open = || Index::open(&layers, &Part::default()).expect("the bank can be read");
    let before = resident();
    let index = open();
    let resident = resident() - before;
    assert_eq!(index.records() as u64, count);
    assert!(index.warnings().is_empty(), "{:?}", index.warnings());
    let openings = (0..OPENINGS).map(|_| seconds(open).0).collect();
    row("open, page cache warm", &format!("{:.2} s", median(openings)), "(goal: 2 s)");
    row("memory a record", &format!("{:.0} bytes", index.memory() as f64 / count as f64), "(goal: 600 bytes)");
    row("resident memory a record", &format!("{:.0} bytes", resident / count as f64), "");

    let find = |key: &[u8; 183]| _ = black_box(index.find("MatMulV3", black_box(key)));
    let (hits, misses) = (keys(count, 0, 1), keys(count, count, 1));
    row("query, hit", &format!("{:.0} ns", query_ns(&hits, find)), "(goal: 200 ns)");
    row("query, miss", &format!("{:.0} ns", query_ns(&misses, find)), "(goal: 200 ns)");
    row("query, hit, each of two threads", &format!("{:.0} ns", two_threads(count, find)), "(goal: as one)");
    let mut text = Vec::new();
    let written = query_ns(&hits, |key| {
        text.clear();
        text.extend_from_slice(black_box(index.find("MatMulV3", black_box(key)).expect("a hit")));
    });
    row("query, hit, knowledge as JSON", &format!("{written:.0} ns"), "(goal: 200 ns)");
}

/// How long the file system takes to write and sync so many bytes without us.
fn plain_write(path: &Path, bytes: u64) -> f64 {
    use std::io::Write;
    let block = vec![0x20; 1 << 20];
    let (took, ()) = seconds(|| {
        let mut file = std::fs::File::create(path).expect("the folder can be written");
        for _ in 0..bytes.div_ceil(1 << 20) {
            file.write_all(&block).expect("there is space");
        }
        file.sync_all().expect("the file can be synced");
    });
    std::fs::remove_file(path).expect("the file is ours");
    took
}

fn merge_banks(root: &Path, into: &Path, count: u64) {
    let source = root.join("source");
    // Every second record of the source has a key of the other bank's.
    write_bank(&source, count / 2..count / 2 + count, 1);
    let (took, outcome) = seconds(|| merge(std::slice::from_ref(&source), into, &[]).expect("the banks can be merged"));
    let MergeOutcome { added, updated, kept, refused, .. } = outcome;
    // Of the tilings, made by chance, many would not compute.
    assert_eq!((added + updated + kept + refused) as u64, count);
    let bytes = std::fs::metadata(into.join(FILE)).expect("the bank is there").len();
    let what = format!("merge: {added} added, {updated} updated");
    row(&what, &format!("{took:.2} s"), "(goal: 5 s)");
    std::fs::remove_dir_all(&source).expect("the folder is ours");
    let plain = plain_write(&root.join("plain"), bytes);
    row(
        &format!("  of which writing and syncing {:.2} GB plainly takes", bytes as f64 / 1e9),
        &format!("{plain:.2} s"),
        "",
    );
}

fn main() {
    let number = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let count: u64 = number.unwrap_or(RECORDS).max(2);
    let root = tempfile::tempdir().expect("a temporary folder can be made");
    let bank: PathBuf = root.path().join("bank");
    let (took, bytes) = seconds(|| write_bank(&bank, 0..count, 0));
    println!("{count} records of MatMulV3, {:.2} GB, written in {took:.1} s", bytes as f64 / 1e9);
    open_and_query(&bank, count);
    programs::compare(root.path(), &bank.join(FILE), count);
    merge_banks(root.path(), &bank, count);
}
