//! Processes that write one bank: killed at any moment, and several at once. Nothing that `save`
//! acknowledged may be lost.

use aoe::bank::{BankPaths, Measured, OperatorBank};
use aoe::soc::Soc;
use aoe::workload::{
    Buffers, Cores, CubeSchedule, Extents, L0Tile, L1Tile, L2Tiling, LoopOrder, MatMul, OutputPath, Schedule, SplitK,
    Workload,
};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a child process writes; without it the `writer` test does nothing.
const JOB: &str = "LIBAOE_TEST_JOB";
/// Where it writes.
const DIRECTORY: &str = "LIBAOE_TEST_BANK";
/// How many processes are killed; the nightly run sets more.
const KILLS: &str = "LIBAOE_TEST_KILLS";

/// Name of the bank file.
const FILE: &str = "Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json";

fn soc() -> Soc {
    Soc::find("Ascend910B2").unwrap()
}

fn open(directory: &Path) -> OperatorBank {
    OperatorBank::open(BankPaths { custom: directory.to_owned(), also_read: Vec::new() }, &soc())
}

/// Which records a process writes: numbers from `first` on, modulo `of`, some at a time, each time as of a
/// round.
#[derive(Debug, Clone, Copy)]
struct Job {
    first: u64,
    count: u64,
    of: u64,
    at_a_time: u64,
    round: u64,
}

impl Job {
    fn text(self) -> String {
        [self.first, self.count, self.of, self.at_a_time, self.round].map(|n| n.to_string()).join(" ")
    }

    fn parse(text: &str) -> Job {
        let numbers: Vec<u64> = text.split(' ').map(|n| n.parse().unwrap()).collect();
        let [first, count, of, at_a_time, round] = numbers[..] else { panic!("{text}") };
        Job { first, count, of, at_a_time, round }
    }

    /// The numbers in the order of writing.
    fn numbers(self) -> Vec<u64> {
        (self.first..self.first + self.count).map(|n| n % self.of).collect()
    }
}

fn product(number: u64) -> Workload {
    Workload::MatMul(MatMul::new(16 * (number + 1), 256, 256))
}

/// The tiling of a record in a round: each round another than the one before.
fn tiling(number: u64, round: u64) -> Schedule {
    let base_k = [64, 32, 16][(round % 3) as usize];
    Schedule::Cube(CubeSchedule {
        used_cores: 1,
        cores: Cores { batch: 1, m: number as u32 + 1, n: 1, k: 1 },
        single: Extents { batch: 1, m: 16, n: 256, k: 256 },
        l0: L0Tile { m: 16, n: 256, k_a: base_k, k_b: base_k },
        l1_a: L1Tile::panel(base_k, 1),
        l1_b: L1Tile::panel(base_k, 1),
        buffers: Buffers { l1_a: 2, l1_b: 2, l0_a: 2, l0_b: 2, l0_c: 1 },
        order: LoopOrder::MFirst,
        l2: L2Tiling { m_tiles: 1, n_tiles: 1, ..L2Tiling::default() },
        split_k: SplitK::None,
        output: OutputPath::Direct,
        unmodelled: BTreeMap::new(),
    })
}

/// The time tells the round.
fn measured(round: u64) -> Measured {
    Measured {
        before_us: 1e9,
        after_us: round as f64,
        backend: "simulator".into(),
        space: 1,
        default: aoe::workload::DefaultOrigin::Estimated,
    }
}

fn save(bank: &mut OperatorBank, numbers: impl IntoIterator<Item = u64>, round: u64) -> aoe::status::Result<()> {
    for number in numbers {
        bank.record(&product(number), &tiling(number, round), &measured(round))?;
    }
    bank.save().map(|_| ())
}

/// The round of a record. Fails unless the tiling is that round's.
fn round_of(bank: &OperatorBank, number: u64) -> Option<u64> {
    let entry = bank.lookup(&product(number)).unwrap()?;
    let round = entry.measured.expect("a record written here has its time").after_us as u64;
    assert_eq!(entry.schedule, tiling(number, round), "record {number}");
    Some(round)
}

/// Runs in a child process: writes records and says so after each save.
#[test]
fn writer() {
    let (Some(directory), Ok(job)) = (std::env::var_os(DIRECTORY), std::env::var(JOB)) else { return };
    let job = Job::parse(&job);
    let mut bank = open(Path::new(&directory));
    let mut out = std::io::stdout();
    for numbers in job.numbers().chunks(job.at_a_time as usize) {
        match save(&mut bank, numbers.iter().copied(), job.round) {
            Ok(()) => writeln!(out, "saved {}", numbers.len()).unwrap(),
            Err(error) => {
                writeln!(out, "failed {error}").unwrap();
                return;
            }
        }
    }
}

fn command(directory: &Path, job: Job) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    prepare(&mut command, directory, job);
    command
}

fn prepare(command: &mut Command, directory: &Path, job: Job) {
    command.args(["--exact", "processes::writer", "--nocapture"]).env(DIRECTORY, directory).env(JOB, job.text());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
}

/// How many records an acknowledgement is for.
fn acknowledged(line: &str) -> Option<usize> {
    line.rsplit_once("saved ").and_then(|(_, count)| count.parse().ok())
}

/// Kills a writer after a time, counted from its start or its first save; returns the number of records that
/// it acknowledged.
fn kill(mut child: Child, after_first: bool, time: Duration) -> usize {
    let started = Instant::now();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let first = if after_first { lines.by_ref().find_map(|line| acknowledged(&line)) } else { None };
    // Where in its work the process dies is left to chance.
    std::thread::sleep(time.saturating_sub(if after_first { Duration::ZERO } else { started.elapsed() }));
    child.kill().unwrap();
    let rest: usize = lines.filter_map(|line| acknowledged(&line)).sum();
    child.wait().unwrap();
    first.unwrap_or(0) + rest
}

fn kills() -> u64 {
    std::env::var(KILLS).ok().and_then(|n| n.parse().ok()).unwrap_or(200)
}

/// Whether a writer died in the middle of a save.
fn has_temporary(directory: &Path) -> bool {
    let side = directory.join(".aoe").join(format!(".{FILE}.side.jsonl.tmp"));
    side.exists() || directory.join(format!(".{FILE}.tmp")).exists()
}

#[test]
fn a_killed_writer_loses_nothing_that_was_acknowledged_and_leaves_no_lock() {
    const RECORDS: u64 = 40;
    let directory = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::with_seed(20);
    let mut rounds: BTreeMap<u64, u64> = BTreeMap::new();
    let (mut saves, mut in_a_save) = (0, 0);
    let started = Instant::now();
    for round in 1..=kills() {
        let job = Job { first: random.u64(0..RECORDS), count: 100_000, of: RECORDS, at_a_time: 1, round };
        let child = command(directory.path(), job).spawn().unwrap();
        // Most die while they write; some while they start or wait for nothing.
        let acknowledged = kill(child, round % 8 != 0, Duration::from_micros(random.u64(0..10_000)));
        saves += acknowledged;
        in_a_save += u64::from(has_temporary(directory.path()));
        let numbers = job.numbers();
        rounds.extend(numbers[..acknowledged].iter().map(|&number| (number, round)));
        // The save that was under way may have come to its end, and what a reader saw must stay.
        let bank = open(directory.path());
        if round_of(&bank, numbers[acknowledged]) == Some(round) {
            rounds.insert(numbers[acknowledged], round);
        }
        for number in 0..RECORDS {
            assert_eq!(round_of(&bank, number), rounds.get(&number).copied(), "record {number} after kill {round}");
        }
        assert_eq!(bank.warnings(), [""; 0], "after kill {round}");
    }
    println!("{saves} saves; {in_a_save} of {} kills in a save; {:?}", kills(), started.elapsed());
    assert!(saves as u64 >= kills() / 2 && in_a_save > 0, "{saves} saves, {in_a_save} kills in a save");
    // A writer that is left alone clears up what the killed ones left.
    save(&mut open(directory.path()), [0], 0).unwrap();
    let names = |path: &Path| {
        let mut names: Vec<_> = std::fs::read_dir(path).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(directory.path()), [".aoe", FILE]);
    assert_eq!(names(&directory.path().join(".aoe")), [format!("{FILE}.side.jsonl").as_str(), "lock"]);
}

#[test]
fn of_8_processes_that_write_at_once_one_is_killed_and_nothing_acknowledged_is_lost() {
    // The more records and saves, the more chances to lose something, and the longer it takes.
    let is_long = kills() > 200;
    let (each, at_a_time, latest_ms) = if is_long { (1000, 25, 2000) } else { (200, 25, 400) };
    let directory = tempfile::tempdir().unwrap();
    let mut random = fastrand::Rng::new();
    let jobs: Vec<_> =
        (0..8).map(|i| Job { first: i * each, count: each, of: u64::MAX, at_a_time, round: 1 }).collect();
    let mut children: Vec<_> = jobs.iter().map(|&job| command(directory.path(), job).spawn().unwrap()).collect();
    let victim = random.usize(0..8);
    let killed = kill(children.remove(victim), true, Duration::from_millis(random.u64(0..latest_ms)));
    for child in children {
        let output = child.wait_with_output().unwrap();
        let saved: usize = String::from_utf8(output.stdout).unwrap().lines().filter_map(acknowledged).sum();
        assert_eq!(saved as u64, each);
    }
    let bank = open(directory.path());
    for (i, job) in jobs.iter().enumerate() {
        let saved = if i == victim { killed } else { each as usize };
        for &number in &job.numbers()[..saved] {
            assert_eq!(round_of(&bank, number), Some(1), "record {number} of process {i}");
        }
    }
    assert_eq!(bank.warnings(), [""; 0]);
}

#[test]
fn readers_see_whole_files_and_never_older_ones_while_processes_and_threads_write() {
    const RECORDS: u64 = 20;
    let directory = tempfile::tempdir().unwrap();
    save(&mut open(directory.path()), 0..RECORDS, 1).unwrap();
    let is_over = AtomicBool::new(false);
    let read = || {
        let mut rounds = [1; RECORDS as usize];
        let mut reads = 0;
        while !is_over.load(Ordering::Acquire) || reads == 0 {
            let bank = open(directory.path());
            for number in 0..RECORDS {
                let round = round_of(&bank, number).expect("a record is never gone");
                assert!(round >= rounds[number as usize], "record {number} went back");
                rounds[number as usize] = round;
            }
            assert_eq!(bank.warnings(), [""; 0]);
            reads += 1;
        }
        rounds
    };
    std::thread::scope(|scope| {
        let readers = [scope.spawn(read), scope.spawn(read)];
        // Each number has one writer, so that its rounds only rise.
        let threads = [0, 5].map(|first| {
            let mut bank = open(directory.path());
            scope.spawn(move || {
                (2..40).for_each(|round| save(&mut bank, first..first + 5, round).unwrap());
            })
        });
        let job = |first| Job { first, count: 5, of: u64::MAX, at_a_time: 1, round: 0 };
        for round in 2..10 {
            let children =
                [10, 15].map(|first| command(directory.path(), Job { round, ..job(first) }).spawn().unwrap());
            for child in children {
                assert!(child.wait_with_output().unwrap().status.success());
            }
        }
        for thread in threads {
            thread.join().unwrap();
        }
        is_over.store(true, Ordering::Release);
        for reader in readers {
            reader.join().unwrap();
        }
    });
    let bank = open(directory.path());
    assert!((0..10).all(|number| round_of(&bank, number) == Some(39)));
    assert!((10..RECORDS).all(|number| round_of(&bank, number) == Some(9)));
}

#[test]
fn a_reader_does_not_wait_for_the_locks_that_writers_hold() {
    let directory = tempfile::tempdir().unwrap();
    save(&mut open(directory.path()), [0], 1).unwrap();
    let locked = [directory.path().join(FILE), directory.path().join(".aoe/lock")].map(|path| {
        let file = std::fs::File::open(path).unwrap();
        file.lock().unwrap();
        file
    });
    assert_eq!(round_of(&open(directory.path()), 0), Some(1));
    drop(locked);
}

/// Runs in a child process whose disk has no room: saves more and more until that fails, then less.
#[test]
fn filler() {
    let (Some(directory), Ok("fill")) = (std::env::var_os(DIRECTORY), std::env::var(JOB).as_deref()) else { return };
    let directory = Path::new(&directory);
    let mut bank = open(directory);
    let mut saved = 0;
    let error = loop {
        match save(&mut bank, saved..saved + 50, 1) {
            Ok(()) => saved += 50,
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains(FILE), "{error}");
    let check = |expected: u64| {
        let bank = open(directory);
        let found = (0..expected + 50).filter(|&number| round_of(&bank, number).is_some()).count();
        assert_eq!((found as u64, bank.warnings()), (expected, Vec::new()));
        assert!(!has_temporary(directory), "a temporary file takes up what little room there is");
    };
    check(saved);
    if let Some(ballast) = std::env::var_os("LIBAOE_TEST_BALLAST") {
        std::fs::remove_file(ballast).unwrap();
        bank.save().unwrap();
        check(saved + 50);
    }
    println!("filled after {saved} records: {error}");
}

/// Runs `filler` under a shell command that sets limits and then executes its arguments; what it printed.
fn fill(directory: &Path, ballast: Option<&Path>, limits: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limits} && exec \"$0\" \"$@\"")]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "processes::filler", "--nocapture"]).env(DIRECTORY, directory).env(JOB, "fill");
    if let Some(ballast) = ballast {
        command.env("LIBAOE_TEST_BALLAST", ballast);
    }
    let output = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    text
}

#[test]
fn a_file_that_may_grow_no_further_keeps_what_it_held() {
    let directory = tempfile::tempdir().unwrap();
    // 512 bytes a block; without the trap the process would be killed.
    let text = fill(directory.path(), None, "trap '' XFSZ; ulimit -f 400");
    assert!(text.contains("filled after") && text.contains("too large"), "{text}");
    save(&mut open(directory.path()), 0..400, 2).unwrap();
    assert_eq!(round_of(&open(directory.path()), 399), Some(2));
}

#[test]
fn a_full_disk_keeps_what_it_held_and_is_written_again_once_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let disk = directory.path().display();
    let mount = format!("mount -t tmpfs -o size=600k tmpfs '{disk}'");
    let may_mount = Command::new("unshare").args(["-rm", "sh", "-c", &mount]).output();
    if !may_mount.is_ok_and(|output| output.status.success()) {
        eprintln!("not run: this system does not let a process mount a file system of its own");
        return;
    }
    let ballast = directory.path().join("ballast");
    let inside = format!("{mount} && head -c 300000 /dev/zero > '{}'", ballast.display());
    let limits = format!("exec unshare -rm sh -c '{}", inside.replace('\'', "'\\''"));
    let text = fill(directory.path(), Some(&ballast), &format!("{limits} && exec \"$0\" \"$@\"' \"$0\" \"$@\""));
    assert!(text.contains("filled after") && text.contains("No space left"), "{text}");
}

/// A container may have a single bank file mounted: no writer can put another in its place.
#[test]
fn a_bank_file_that_is_a_mount_point_is_named_before_anything_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("Ascend910B2/unified_bank");
    std::fs::create_dir_all(&place).unwrap();
    let file = place.join("Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json");
    std::fs::write(&file, "").unwrap();
    let inside = |then: &str| {
        let script = format!("mount --bind '{0}' '{0}' && {then}", file.display());
        Command::new("unshare").args(["-rm", "sh", "-c", &script]).arg(env!("CARGO_BIN_EXE_aoe")).output()
    };
    if !inside("true").is_ok_and(|output| output.status.success()) {
        eprintln!("not run: this system does not let a process mount a file");
        return;
    }
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/models/bert_base.onnx");
    let tune = format!(
        "TUNE_BANK_PATH='{}' ASCEND_WORK_PATH='{0}' exec \"$0\" --job_type=2 --backend=simulator --model='{}'",
        directory.path().display(),
        model.display()
    );
    let output = inside(&tune).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("EC0011") && said.contains("mount point") && said.contains("MatMulV3_runtime_kb"), "{said}");
}
