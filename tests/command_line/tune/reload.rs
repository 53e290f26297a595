//! Subgraph tuning that was interrupted, by the user or by force, and goes on.

use super::{Answer, Place};
use aoe::bank::Content;
use aoe::bank::subgraph::{Bank, Kind};
use aoe::frontend::save_file;
use aoe::graph::{Constant, DataType, Graph, Node, Port, Shape, TensorDesc};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{PipeReader, Read, Write, pipe};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Blocks of products and activations on tensors beyond L2, each block of another width: enough for 32 subgraphs, so that the state is
/// written before a quarter of them is done.
const BLOCKS: i64 = 500;
/// Twice a prime number: one way to cut the batch.
const ROWS: i64 = 2 * 32_771;
/// What a pipe holds that was not made otherwise.
const PIPE: usize = 65_536;
/// Room for one of the lines that tell of the progress, but not for three.
const ROOM: usize = 600;

/// A network whose subgraphs all differ. The name makes each line that tells of its progress a long one.
fn network(place: &Place, blocks: i64) -> String {
    let mut graph = Graph::new("net");
    let desc = |dims: [i64; 2]| TensorDesc::new(DataType::Float16, Shape::new(dims));
    let mut x = graph.add_input("x", desc([ROWS, 64])).unwrap();
    for block in 0..blocks {
        let mut add = |kind: &str, name: &str, inputs: &[Port]| {
            let node = Node::new(format!("b{block}.{name}"), kind).with_inputs(inputs.iter().copied());
            Port::first(graph.add(node).unwrap())
        };
        let sigmoid = add("Sigmoid", "sigmoid", &[x]);
        let gated = add("Mul", "mul", &[x, sigmoid]);
        let width = 64 + 16 * block;
        let weight = |graph: &mut Graph, name: &str, dims| {
            graph.add_const(format!("b{block}.{name}"), desc(dims), Constant::Opaque).unwrap()
        };
        let down = weight(&mut graph, "down", [64, width]);
        let up = weight(&mut graph, "up", [width, 64]);
        let mut add = |kind: &str, name: &str, inputs: &[Port]| {
            let node = Node::new(format!("b{block}.{name}"), kind).with_inputs(inputs.iter().copied());
            Port::first(graph.add(node).unwrap())
        };
        let narrow = add("MatMulV2", "narrow", &[gated, down]);
        let relu = add("Relu", "relu", &[narrow]);
        let wide = add("MatMulV2", "wide", &[relu, up]);
        let sum = add("Add", "add", &[wide, x]);
        x = add("SoftmaxV2", "softmax", &[sum]);
    }
    graph.add_output(x);
    let file = place.path(&format!("{}.air", "n".repeat(240)));
    save_file(&graph, &file).unwrap();
    file.to_str().unwrap().to_owned()
}

fn arguments(model: &str) -> [String; 4] {
    ["--job_type=1", "--backend=simulator", "--soc_version=Ascend310P3", &format!("--model={model}")].map(str::to_owned)
}

fn tune(place: &Place, model: &str, more: &[&str]) -> Answer {
    let arguments = arguments(model);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
    place.run(&arguments)
}

/// A tuning that stands still between its first quarter and its last: its standard error is full.
struct Halted {
    child: Child,
    stderr: PipeReader,
    state: PathBuf,
}

impl Halted {
    /// Starts a tuning and waits until it has written its state.
    fn begin(place: &Place, model: &str) -> Halted {
        let arguments = arguments(model);
        Halted::amid(place, &arguments.each_ref().map(String::as_str), ROOM, || true)
    }

    /// Starts a tuning that stands still when it has told so many bytes, and waits until it is where it is wanted and
    /// has written its state.
    fn amid(place: &Place, arguments: &[&str], room: usize, is_there: impl Fn() -> bool) -> Halted {
        let (stderr, mut filled) = pipe().unwrap();
        filled.write_all(&vec![b'\n'; PIPE - room]).unwrap();
        let mut command = place.command(arguments);
        let mut child = command.stdout(Stdio::piped()).stderr(filled).spawn().unwrap();
        // The copy that the command holds would keep the pipe open.
        drop(command);
        let begun = Instant::now();
        let state = loop {
            if let Some(state) = state_file(&place.path("work/aoe_workspace")).filter(|_| is_there()) {
                break state;
            }
            assert_eq!(child.try_wait().unwrap(), None, "it ended without a state");
            assert!(begun.elapsed() < Duration::from_secs(300), "it has no state");
            std::thread::yield_now();
        };
        Halted { child, stderr, state }
    }

    /// Ends it by force; its state.
    fn kill(mut self) -> PathBuf {
        self.child.kill().unwrap();
        let state = self.state.clone();
        assert_eq!(self.end().1, None, "it was killed before its end");
        state
    }

    /// Lets it write on; what it wrote and its exit status, `None` after a signal.
    fn end(mut self) -> (String, Option<i32>) {
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        (said, self.child.wait().unwrap().code())
    }
}

/// The state of the one tuning in a workspace, once it is there.
fn state_file(workspace: &Path) -> Option<PathBuf> {
    let jobs = std::fs::read_dir(workspace).ok()?.flatten();
    jobs.map(|job| job.path().join("subgraphs.json")).find(|state| state.is_file())
}

fn bank(place: &Place) -> Vec<u8> {
    std::fs::read(place.path("bank/ascend310p3_l2cache_aoe.json")).unwrap()
}

/// The files of all banks.
fn banks(place: &Place) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![place.path("bank")];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                // What is in there is no bank: locks, and times of measurements.
                open.extend((path.file_name() != Some(".aoe".as_ref())).then_some(path));
            } else {
                let name = path.strip_prefix(place.path("bank")).unwrap().to_owned();
                files.insert(name, std::fs::read(path).unwrap());
            }
        }
    }
    files
}

/// The results of subgraph tuning that are complete, without what the clock has put into them.
fn results(place: &Place) -> Vec<Value> {
    let is_whole = |result: &Value| result[0]["basic"].get("tuning_time(s)").is_some();
    let whole = place.results().into_iter().filter(is_whole);
    whole.filter_map(|result| result[1].get("SGAT").cloned()).collect()
}

/// Checks that a tuning that was ended goes on to the end of one that was not.
fn goes_on(place: &Place, model: &str, state: &Path, more: &[&str]) {
    let whole = Place::new();
    tune(&whole, model, &[]).expect(0, &[]);
    let done = std::fs::read_to_string(state).unwrap().lines().count();
    assert!(done > 8, "{done} lines of state");
    tune(place, model, more).expect(0, &[]);
    assert_eq!(results(place), results(&whole));
    assert!(bank(place) == bank(&whole), "the banks differ");
    assert!(!state.exists(), "what has ended has no state");
}

#[test]
fn a_tuning_that_was_killed_goes_on_with_reload_and_finds_what_it_would_have_found() {
    let place = Place::new();
    let model = network(&place, BLOCKS);
    let state = Halted::begin(&place, &model).kill();
    goes_on(&place, &model, &state, &["--reload"]);
}

#[test]
fn a_tuning_that_was_interrupted_goes_on_with_reload_and_finds_what_it_would_have_found() {
    let place = Place::new();
    let model = network(&place, BLOCKS);
    let halted = Halted::begin(&place, &model);
    let asked = Command::new("kill").args(["-INT", &halted.child.id().to_string()]).status().unwrap();
    assert!(asked.success());
    let state = halted.state.clone();
    let (said, status) = halted.end();
    assert_eq!(status, Some(130), "{}", said.trim());
    assert!(said.contains("interrupted") && said.contains("cancelled"), "{}", said.trim());
    let job = format!("--reload={}", state.parent().unwrap().display());
    goes_on(&place, &model, &state, &[&job]);
}

#[test]
fn a_tuning_that_was_killed_among_its_operators_goes_on_with_the_subgraphs_that_it_had() {
    let (place, whole) = (Place::new(), Place::new());
    let model = format!("--model={}", network(&place, 12));
    let arguments =
        ["--job_type=1,2", "--backend=simulator", "--soc_version=Ascend310P3", "--max_tuning_count=8", &model];
    let told = whole.run(&arguments).expect(0, &[]);
    // Room for what is told of subgraphs and of the beginning of operators, and for no line more.
    let begun = told.stderr.find(" operators\n").unwrap() + " operators\n".len();
    let tunes_operators = || {
        std::fs::read_dir(place.path("work"))
            .unwrap()
            .flatten()
            .any(|entry| entry.file_name().to_string_lossy().starts_with("aoe_result_opat_"))
    };
    let state = Halted::amid(&place, &arguments, begun + 64, tunes_operators).kill();
    place.run(&[&arguments[..], &["--reload"]].concat()).expect(0, &[]);
    let expected = results(&whole).remove(0);
    assert_eq!(results(&place), [expected.clone(), expected], "the one that was killed and the one that went on");
    assert_eq!(banks(&place), banks(&whole));
    assert!(!state.exists(), "what has ended has no state");
}

#[test]
fn what_the_interrupted_tuning_found_is_not_searched_again() {
    let place = Place::new();
    let model = network(&place, BLOCKS);
    let state = Halted::begin(&place, &model).kill();
    // Its strategies are replaced by ones that no search would find: each kernel by itself.
    let mut found = Bank::parse(Kind::Ours, &std::fs::read(&state).unwrap());
    let mut edited = Vec::new();
    for mut record in found.records().cloned().collect::<Vec<_>>() {
        let group = &mut record.strategy.groups[0];
        edited.extend((record.strategy.other["status"] == "added").then_some(record.graph_id));
        group.cut.fill(1);
        group.fusion_type.fill(false);
        (1..).zip(&mut group.scope_id).for_each(|(at, scope)| *scope = -at);
        group.ub_pass.clear();
        found.put(record).unwrap();
    }
    std::fs::write(&state, found.render()).unwrap();
    std::fs::remove_dir_all(place.path("bank")).unwrap();
    std::fs::create_dir(place.path("bank")).unwrap();
    tune(&place, &model, &["--reload"]).expect(0, &[]);
    assert!(!edited.is_empty(), "no strategy was found before it was killed");
    // They are no gain in the network: of them there is no record, as a search would have made.
    let ids = |place: &Place| {
        let files = banks(place);
        let banks = files.values().map(|content| Bank::parse(Kind::Ours, content));
        banks.flat_map(|bank| bank.records().map(|record| record.graph_id).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let fresh = Place::new();
    tune(&fresh, &network(&fresh, BLOCKS), &[]).expect(0, &[]);
    let (found, kept) = (ids(&fresh), ids(&place));
    assert!(edited.iter().all(|id| found.contains(id)), "{edited:?} {found:?}");
    assert!(!edited.iter().any(|id| kept.contains(id)), "{edited:?} {kept:?}");
}

#[test]
fn the_state_of_another_model_or_soc_is_refused_and_left_alone() {
    let place = Place::new();
    let model = network(&place, BLOCKS);
    let state = Halted::begin(&place, &model).kill();
    let (before, recorded) = (std::fs::read(&state).unwrap(), banks(&place));
    let job = format!("--reload={}", state.parent().unwrap().display());
    place
        .run(&["--job_type=1", "--backend=simulator", "--soc_version=Ascend910A", &format!("--model={model}"), &job])
        .expect(2, &["reload", "subgraphs.json", "for Ascend310P3, not for Ascend910A"]);
    let bert = format!("{}/examples/models/bert_base.onnx", env!("CARGO_MANIFEST_DIR"));
    tune(&place, &bert, &[&job]).expect(2, &["reload", "subgraphs.json", "another network"]);
    assert!(std::fs::read(&state).unwrap() == before && banks(&place) == recorded, "they are as they were");
}

#[test]
fn there_must_be_something_to_go_on_with() {
    let place = Place::new();
    let model = network(&place, 2);
    tune(&place, &model, &["--reload"]).expect(2, &["reload", "no interrupted subgraph tuning"]);
    std::fs::create_dir(place.path("job")).unwrap();
    tune(&place, &model, &["--reload=job"]).expect(2, &["reload", "job", "no interrupted subgraph tuning"]);
    std::fs::write(place.path("job/subgraphs.json"), "nothing of the kind").unwrap();
    tune(&place, &model, &["--reload=job"]).expect(2, &["reload", "subgraphs.json", "no record that can be used"]);
    assert!(place.path("job/subgraphs.json").exists(), "what cannot be used is left to the user");
}

#[test]
fn a_workspace_that_cannot_be_written_is_told_of_before_anything_is_tuned() {
    let place = Place::new();
    let model = network(&place, 2);
    std::fs::write(place.path("work/aoe_workspace"), "").unwrap();
    tune(&place, &model, &[]).expect(1, &["EG0010", "aoe_workspace"]);
    assert!(!place.path("bank/ascend310p3_l2cache_aoe.json").exists());
}

#[test]
fn of_the_models_of_a_directory_the_interrupted_one_goes_on_and_the_others_begin_anew() {
    let place = Place::new();
    std::fs::create_dir(place.path("models")).unwrap();
    for (blocks, name) in [(2, "z.air"), (BLOCKS, "n.air")] {
        std::fs::rename(network(&place, blocks), place.path("models").join(name)).unwrap();
    }
    let arguments = ["--job_type=1", "--backend=simulator", "--soc_version=Ascend310P3", "--model_path=models"];
    let state = Halted::amid(&place, &arguments, ROOM, || true).kill();
    let answer = place.run(&[&arguments[..], &["--reload"]].concat()).expect(0, &["of `z`: it begins anew"]);
    assert!(!answer.stderr.contains("of `n`") && !state.exists(), "{answer:#?}");
    let done = ["n", "z"].map(|name| format!("[Aoe]{name} Tuning process finished."));
    assert!(done.iter().all(|line| answer.stdout.contains(line)), "{answer:#?}");
}
