//! Measuring processes and their tuning, killed at any moment: no orphan, no lock, no broken bank.

use crate::stand_in::{Machine, Product, SMALL, Tuned};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How many tunings are killed; the nightly run sets more.
const KILLS: &str = "LIBAOE_TEST_KILLED_TUNINGS";
const PATIENCE: Duration = Duration::from_secs(60);

fn kills() -> u64 {
    std::env::var(KILLS).ok().and_then(|count| count.parse().ok()).unwrap_or(4)
}

/// Waits for something to become so.
#[track_caller]
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "still not so: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Measuring processes that the machine has started so far and that got as far as their kernel.
fn runs(machine: &Machine) -> u64 {
    std::fs::read_to_string(machine.path("state/runs")).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// Begins a tuning of one product.
fn begin(machine: &Machine, arguments: &[&str]) -> Child {
    machine.products(&[SMALL, Product::new(256, 512, 512)]);
    let usual = ["--singleop=ops.json", "--job_type=2", "--progress_bar=off", "--backend=ascend", "--algorithm=random"];
    machine.aoe(&[&usual, arguments].concat()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(signal: &str, process: u32) {
    let status = Command::new("kill").args([signal, &process.to_string()]).status().unwrap();
    assert!(status.success(), "{signal} {process}");
}

/// Every line of the bank is a whole record.
fn assert_bank_is_whole(machine: &Machine) {
    for line in machine.records() {
        let record: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert!(record["knowledge"]["usedCoreNum"].is_u64(), "{line}");
    }
}

#[test]
fn a_tuning_killed_at_any_moment_leaves_no_process_and_no_lock_and_the_next_one_cleans_up() {
    let Some(machine) = Machine::new() else { return };
    for kill in 0..kills() {
        let before = runs(&machine);
        let mut tuning = begin(&machine, &["--max_tuning_count=40", "--tuning_parallel_num=2"]);
        // At some moment of a later measurement each time.
        wait_until("it measures", || runs(&machine) > before + kill % 5);
        std::thread::sleep(Duration::from_millis(kill * 7 % 40));
        tuning.kill().unwrap();
        tuning.wait().unwrap();
        wait_until("no process of it lives", || machine.processes().is_empty());
        assert_bank_is_whole(&machine);
        // Its folder is there, and is the next tuning's to remove.
        assert_eq!(machine.left_behind().len(), 1);
    }
    machine.tune(&[("backend", "ascend"), ("max_tuning_count", "2")]).expect(0, &[]);
    assert!(machine.left_behind().is_empty(), "{:?}", machine.left_behind());
}

/// The numbers of the measuring processes of a machine.
fn measuring(machine: &Machine) -> Vec<u32> {
    let is_measuring = |process: &u32| {
        let line = std::fs::read(Path::new("/proc").join(process.to_string()).join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains("measure-candidate")
    };
    machine.processes().into_iter().filter(is_measuring).collect()
}

#[test]
fn a_measuring_process_that_is_killed_costs_its_candidate() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("STAND_IN_FAULTS", "some:aclrtRecordEvent=hang");
    let mut tuning = begin(&machine, &["--max_tuning_count=8", "--tuning_parallel_num=1"]);
    // Only those hang; they are killed one by one until the tuning is done.
    let deadline = Instant::now() + PATIENCE;
    let (mut seen, mut killed): (Vec<u32>, u32) = (Vec::new(), 0);
    while tuning.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(300));
        let now = measuring(&machine);
        for process in now.iter().filter(|process| seen.contains(process)) {
            let _ = Command::new("kill").args(["-KILL", &process.to_string()]).status();
            killed += 1;
        }
        seen = now;
    }
    Tuned::of(tuning.wait_with_output().unwrap()).expect(0, &[]);
    assert!(killed > 0, "none hung");
}

#[test]
fn an_interrupt_ends_even_what_hangs_and_saves_what_was_found() {
    let Some(machine) = Machine::new() else { return };
    // The first operator is small enough to be done; then every candidate hangs for an hour.
    let machine = machine.with("STAND_IN_FAULTS", "some:aclnnMatmul=hang");
    let tuning = begin(&machine, &["--max_tuning_count=30", "--tuning_parallel_num=1", "--measuring_timeout=3600"]);
    wait_until("a candidate hangs", || {
        let now = measuring(&machine);
        std::thread::sleep(Duration::from_millis(400));
        !now.is_empty() && measuring(&machine) == now
    });
    let started = Instant::now();
    signal("-INT", tuning.id());
    Tuned::of(tuning.wait_with_output().unwrap()).expect(130, &["saving what was found"]);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(machine.processes().is_empty() && machine.left_behind().is_empty());
    assert_bank_is_whole(&machine);
}

#[test]
fn an_interrupt_ends_the_wait_for_a_runtime_that_hangs_when_it_is_asked() {
    let Some(machine) = Machine::new() else { return };
    let machine = machine.with("STAND_IN_FAULTS", "aclrtGetDeviceCount=hang");
    let tuning = begin(&machine, &["--measuring_timeout=3600"]);
    wait_until("it is asked", || !measuring(&machine).is_empty());
    signal("-INT", tuning.id());
    Tuned::of(tuning.wait_with_output().unwrap()).expect(130, &[]);
    assert!(machine.processes().is_empty() && machine.left_behind().is_empty());
}

/// Helpers that stay in the group of the process that starts them, and such that leave it.
const HELPERS: [&str; 2] = ["aclnnMatmul=orphan", "aclnnMatmul=daemon"];

/// A machine whose operators start a helper each, those of this scope, and hang.
fn with_helpers(scope: &str, helper: &str) -> Option<Machine> {
    Some(Machine::new()?.with("STAND_IN_FAULTS", &format!("{scope}:{helper}")))
}

/// Whether a helper has been started, and has left the group if it does.
fn has_helper(machine: &Machine) -> bool {
    let line = |process: u32| std::fs::read(Path::new("/proc").join(process.to_string()).join("cmdline"));
    machine.processes().into_iter().any(|process| line(process).is_ok_and(|line| line.starts_with(b"sleep")))
}

#[test]
fn what_a_measuring_process_starts_ends_with_it() {
    for helper in HELPERS {
        let Some(machine) = with_helpers("candidate", helper) else { return };
        let tuning = begin(&machine, &["--max_tuning_count=2", "--measuring_timeout=1"]);
        Tuned::of(tuning.wait_with_output().unwrap()).expect(0, &[]);
        wait_until("nothing lives", || machine.processes().is_empty());
    }
}

#[test]
fn what_a_measuring_process_starts_ends_where_the_tuning_is_killed() {
    for (scope, helper) in ["all", "candidate"].into_iter().flat_map(|scope| HELPERS.map(|helper| (scope, helper))) {
        let Some(machine) = with_helpers(scope, helper) else { return };
        for _ in 0..kills() {
            let mut tuning = begin(&machine, &["--max_tuning_count=2", "--measuring_timeout=3600"]);
            wait_until("a helper was started", || has_helper(&machine));
            tuning.kill().unwrap();
            tuning.wait().unwrap();
            wait_until("nothing lives", || machine.processes().is_empty());
        }
    }
}

/// The sockets of a process, as a child that it forked would keep them; `None`, said aloud, where the system has no
/// way to get at them.
fn sockets_of(process: &Child) -> Option<Vec<OwnedFd>> {
    let handle = pidfd_open(Pid::from_child(process), PidfdFlags::empty());
    let folder = std::fs::read_dir(Path::new("/proc").join(process.id().to_string()).join("fd")).unwrap();
    let is_socket = |path: &Path| path.read_link().is_ok_and(|to| to.to_string_lossy().starts_with("socket:"));
    let paths = folder.map(|entry| entry.unwrap().path()).filter(|path| is_socket(path));
    let numbers = paths.map(|path| path.file_name().unwrap().to_str().unwrap().parse().unwrap());
    let copies = handle.and_then(|handle| {
        numbers.map(|number| pidfd_getfd(&handle, number, PidfdGetfdFlags::empty())).collect::<Result<Vec<_>, _>>()
    });
    copies.inspect_err(|error| eprintln!("not tested, no copies of a process's files: {error}")).ok()
}

#[test]
fn a_measuring_process_ends_with_a_killed_tuning_whose_end_of_the_line_somebody_keeps_open() {
    for helper in HELPERS {
        let Some(machine) = with_helpers("all", helper) else { return };
        let mut tuning = begin(&machine, &["--max_tuning_count=2", "--measuring_timeout=3600"]);
        wait_until("a helper was started", || has_helper(&machine));
        let kept = sockets_of(&tuning);
        tuning.kill().unwrap();
        tuning.wait().unwrap();
        assert!(kept.as_ref().is_none_or(|kept| !kept.is_empty()));
        wait_until("nothing lives", || machine.processes().is_empty());
        drop(kept);
    }
}

#[test]
fn two_tunings_at_once_share_a_machine() {
    let Some(machine) = Machine::new() else { return };
    let tunings = [0, 1].map(|_| begin(&machine, &["--max_tuning_count=6"]));
    for tuning in tunings {
        Tuned::of(tuning.wait_with_output().unwrap()).expect(0, &[]);
    }
    assert_bank_is_whole(&machine);
    assert!(machine.left_behind().is_empty());
}

/// Who ignores SIGCHLD never gets to know the status of a child.
#[test]
fn a_host_that_ignores_its_children_measures_all_the_same() {
    let Some(machine) = Machine::new() else { return };
    machine.products(&[SMALL]);
    let mut command = machine.on(Path::new("/bin/sh"));
    command.args(["-c", "trap '' CHLD; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_aoe"), "--singleop=ops.json"]);
    command.args(["--job_type=2", "--backend=ascend", "--algorithm=random", "--max_tuning_count=2"]);
    let tuned = Tuned::of(command.output().unwrap()).expect(0, &["Measured by  ascend"]);
    assert!(!tuned.said.contains("Failed"), "{}", tuned.said);
}

/// What the processes tell each other holds paths, and a path may be any bytes.
#[test]
fn paths_that_are_no_text_reach_the_measuring_processes() {
    let Some(machine) = Machine::new() else { return };
    machine.products(&[SMALL]);
    let odd = |bytes: &[u8]| machine.folder.path().join(OsStr::from_bytes(bytes));
    let (root, temporary) = (odd(b"c\xe9nn"), odd(b"t\xffmp"));
    let arguments =
        ["--singleop=ops.json", "-j", "2", "--algorithm=random", "--max_tuning_count=2", "--backend=ascend"];
    let mut command = machine.aoe(&arguments);
    std::fs::create_dir(&temporary).unwrap();
    let stand_in = command.get_envs().find(|(name, _)| *name == "ASCEND_HOME_PATH").and_then(|(_, root)| root).unwrap();
    std::os::unix::fs::symlink(stand_in, &root).unwrap();
    command.env("ASCEND_HOME_PATH", &root).env("TMPDIR", &temporary).env("LD_LIBRARY_PATH", odd(b"\x80"));
    Tuned::of(command.output().unwrap()).expect(0, &["Measured by  ascend", "Aoe process finished"]);
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    // What cannot be loaded is named all the same.
    command.env("STAND_IN_FAULTS", "aclrtGetDeviceCount=crash");
    Tuned::of(command.output().unwrap()).expect(1, &["EG0012", "c\u{fffd}nn/lib64/libascendcl.so", "as planted"]);
}
