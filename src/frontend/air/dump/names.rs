//! Which dump of a folder is which graph, and at which stage of its compilation.
//!
//! CANN names them `ge_proto_00000000_graph_0_PreRunBegin.txt` (number of the dump, graph, stage), and those of single
//! operators `ge_proto_00000_MatMulV2.txt`; `ge_onnx_*.pbtxt` is the view of the same. Up to 8.0 the graph was not named
//! (`ge_proto_00000001_PreRunBegin.txt`): eight digits tell that a graph is meant, operators have five.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// The stage that CANN's tuner gets, the graph as the framework made it before anything was done to it; and what other
/// versions and ways of running have in its place, the best first.
const FIRST_STAGES: [&str; 3] = ["PreRunBegin", "GraphPreRunBegin", "FlowGraphPreRunBegin"];

/// How many digits the number of a graph's dump has.
const STAGE_DIGITS: usize = 8;

/// How the stage of a part of a graph begins, where the graph is not named.
const PART: &str = "partition";

/// Whether a file is a dump in the form for people (`ge_readable_*.txt`), which nothing reads.
pub fn is_readable_form(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"ge_readable_"))
}

/// Whether a file has the name of a dump that is read.
pub fn is_named_as_one(path: &Path) -> bool {
    Name::of(path).is_some()
}

/// What the name of a dump says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Name {
    /// Whether it is the view.
    is_view: bool,
    number: u64,
    /// The graph's number, empty where it is not named; none for a single operator.
    graph: Option<String>,
    /// The stage, or the operator.
    what: String,
}

impl Name {
    fn of(path: &Path) -> Option<Name> {
        let name = path.file_name()?.to_str()?;
        let (is_view, rest) = match name.strip_prefix("ge_onnx_") {
            Some(rest) => (true, rest.strip_suffix(".pbtxt")?),
            None => (false, name.strip_prefix("ge_proto_")?.strip_suffix(".txt")?),
        };
        let (digits, what) = rest.split_once('_')?;
        let number = digits.parse().ok()?;
        let of_graph = what.strip_prefix("graph_").and_then(|rest| rest.split_once('_'));
        let of_graph = of_graph.filter(|(graph, _)| graph.parse::<u64>().is_ok());
        let unnamed = (digits.len() >= STAGE_DIGITS).then(String::new);
        let (graph, what) = of_graph.map_or((unnamed, what), |(graph, stage)| (Some(graph.to_owned()), stage));
        Some(Name { is_view, number, graph, what: what.to_owned() })
    }

    /// Whether it is a part of a graph that is not named, which is cut for its compilation.
    fn is_part(&self) -> bool {
        self.graph.as_deref() == Some("") && self.what.starts_with(PART)
    }
}

/// The files of a folder that are to be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Them, in the order of their paths, each with what has to be said of it.
    pub taken: Vec<(PathBuf, Option<String>)>,
    /// Those that show what a taken one shows, and why they are left.
    pub left: Vec<(PathBuf, String)>,
    /// Those taken that are cut off, and what to do about it.
    pub cut: Vec<(PathBuf, String)>,
}

/// Takes of dumps that show one graph the one from before it was compiled, and of two forms of one dump the `ge_proto`, which has
/// everything. Other files are taken as they are.
pub fn choose(files: Vec<PathBuf>) -> Choice {
    let mut choice = Choice::default();
    // By folder and, where the name has one, graph.
    let mut graphs = Groups::new();
    for path in files {
        match Name::of(&path) {
            Some(name) => {
                let folder = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
                graphs.entry((folder, name.graph.clone())).or_default().push((path, name));
            }
            None => choice.taken.push((path, None)),
        }
    }
    choice.leave_parts(&mut graphs);
    choice.leave_cut(&mut graphs);
    for ((_, graph), mut dumps) in graphs {
        let shown: Vec<PathBuf> = dumps.iter().map(|(path, _)| path.clone()).collect();
        let before = choice.taken.len();
        // Of two with one number, the view comes last.
        dumps.sort_by(|(_, a), (_, b)| (a.number, &a.what, a.is_view).cmp(&(b.number, &b.what, b.is_view)));
        match graph {
            None => choice.operators(dumps),
            Some(graph) => choice.stages(&graph, dumps),
        }
        choice.note_cut(before, &shown);
    }
    choice.taken.sort();
    choice.left.sort();
    choice.cut.sort();
    choice
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Dumps by folder and, where the name has one, graph.
type Groups = BTreeMap<(PathBuf, Option<String>), Vec<(PathBuf, Name)>>;

/// What a graph is called.
fn called(graph: &str) -> String {
    if graph.is_empty() { "the graph".to_owned() } else { format!("graph {graph}") }
}

/// Bytes at the end of a dump that are looked at.
const TAIL: u64 = 4096;

/// Whether a text ends in the middle: its last line closes nothing, or something within the graph.
fn is_cut(path: &Path) -> bool {
    let tail = || {
        let mut file = File::open(path).ok().filter(|_| path.is_file())?;
        let size = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(TAIL))).ok()?;
        let mut tail = Vec::new();
        file.take(TAIL).read_to_end(&mut tail).ok()?;
        Some(String::from_utf8_lossy(&tail).into_owned())
    };
    let Some(tail) = tail() else { return false };
    let last = tail.lines().map(str::trim_end).rfind(|line| !line.is_empty()).unwrap_or_default();
    !last.ends_with(['}', '>']) || last.starts_with(char::is_whitespace) && last.trim_start().len() == 1
}

impl Choice {
    /// Leaves parts of graphs out where a whole one is beside them.
    fn leave_parts(&mut self, graphs: &mut Groups) {
        let is_whole = |(_, name): &(PathBuf, Name)| name.graph.is_some() && !name.is_part();
        let whole: Vec<PathBuf> = graphs
            .iter()
            .filter(|(_, dumps)| dumps.iter().any(is_whole))
            .map(|((folder, _), _)| folder.clone())
            .collect();
        for ((folder, _), dumps) in graphs.iter_mut().filter(|((folder, _), _)| whole.contains(folder)) {
            let (parts, others): (Vec<_>, Vec<_>) =
                std::mem::take(dumps).into_iter().partition(|(_, name)| name.is_part());
            *dumps = others;
            let why = || format!("a part of a graph, which is whole in {}", folder.display());
            self.left.extend(parts.into_iter().map(|(path, _)| (path, why())));
        }
    }

    /// Leaves dumps out that are cut off, where the whole view of the same number is beside them.
    fn leave_cut(&mut self, graphs: &mut Groups) {
        for dumps in graphs.values_mut() {
            let whole_view = |of: &Name| {
                let mut views = dumps.iter().filter(|(_, name)| name.is_view && name.number == of.number);
                views.find(|(path, name)| name.what == of.what && !is_cut(path)).map(|(path, _)| file_name(path))
            };
            let cut = dumps.iter().filter(|(path, name)| !name.is_view && whole_view(name).is_some() && is_cut(path));
            let cut: Vec<(PathBuf, String)> =
                cut.map(|(path, name)| (path.clone(), whole_view(name).unwrap_or_default())).collect();
            dumps.retain(|(path, _)| !cut.iter().any(|(other, _)| other == path));
            self.left.extend(
                cut.into_iter().map(|(path, view)| (path, format!("it is cut off; {view} is whole and taken"))),
            );
        }
    }

    /// Notes which of those taken from a place on are cut off; `shown` are all dumps of the same graph, or of single operators.
    fn note_cut(&mut self, from: usize, shown: &[PathBuf]) {
        for (path, _) in &self.taken[from..] {
            if !is_cut(path) {
                continue;
            }
            let graph = Name::of(path).and_then(|name| name.graph);
            let other = shown.iter().filter(|_| graph.is_some()).find(|other| *other != path && !is_cut(other));
            let instead = other.map_or_else(String::new, |other| {
                format!(", or give {} of the same graph, which is whole, with --model", file_name(other))
            });
            self.cut.push((path.clone(), format!("a dump that is cut off; dump it again{instead}")));
        }
    }

    /// Takes every operator once.
    fn operators(&mut self, dumps: Vec<(PathBuf, Name)>) {
        let mut last: Option<(String, Name)> = None;
        for (path, name) in dumps {
            match &last {
                Some((taken, other)) if (other.number, &other.what) == (name.number, &name.what) => {
                    self.left.push((path, format!("shows the operator of {taken}, which has more in it")));
                }
                _ => {
                    last = Some((file_name(&path), name));
                    self.taken.push((path, None));
                }
            }
        }
    }

    /// Takes one stage of a graph, and one more for each time that it was begun anew.
    fn stages(&mut self, graph: &str, dumps: Vec<(PathBuf, Name)>) {
        let graph = called(graph);
        let first = FIRST_STAGES.into_iter().find(|stage| dumps.iter().any(|(_, name)| name.what == *stage));
        let mut taken: Option<(String, u64)> = None;
        let mut early = Vec::new();
        for (path, name) in dumps {
            let begins = first.map_or(taken.is_none(), |first| name.what == first);
            let is_same = taken.as_ref().is_some_and(|(_, number)| *number == name.number);
            if begins && !is_same {
                taken = Some((file_name(&path), name.number));
                let stage = if first.is_some() {
                    format!("stage {} of {graph}, before its compilation, is taken", name.what)
                } else {
                    let (what, wanted) = (name.what, FIRST_STAGES[0]);
                    format!("stage {what}, the earliest of {graph} in the folder, is taken; {wanted} is not there")
                };
                self.taken.push((path, Some(stage)));
            } else if let Some((taken, _)) = &taken {
                let what = if is_same { "form" } else { "stage" };
                self.left.push((path, format!("another {what} of {graph}, for which {taken} is taken")));
            } else {
                early.push(path);
            }
        }
        if let Some((taken, _)) = taken {
            let why = format!("another stage of {graph}, for which {taken} is taken");
            self.left.extend(early.into_iter().map(|path| (path, why.clone())));
        }
    }
}
