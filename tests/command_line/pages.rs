//! Every command of every page, run as a reader would type it.
//!
//! A page is `README.md` or a file below `docs/`. Its shell blocks run one after the other in one directory, with a home
//! that is empty. What a block needs stands before it in the page, in a comment that a reader does not see:
//!
//! ```text
//! <!-- given: cp "$SMALL" resnet50.onnx -->        shell that makes the files which the commands name
//! <!-- not run: needs a device -->                 why the block cannot run here
//! ```
//!
//! `$SMALL` is a small network, `$STAND_INS` the folder of other small files that stand in for a reader's own, and
//! `$EXAMPLES` that of the examples.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
/// Seconds that one block may take, on a machine that is busy with other tests.
const LIMIT: &str = "240";

/// What a comment before a block says about it.
#[derive(Debug, PartialEq)]
enum Mark {
    None,
    Given(String),
    NotRun(String),
}

/// A fenced block of a page.
struct Block {
    /// Of the opening fence, from 1.
    line: usize,
    language: String,
    text: String,
    mark: Mark,
}

impl Block {
    fn is_shell(&self) -> bool {
        ["sh", "bash", "console", "shell"].contains(&self.language.as_str())
    }

    /// Commands that stand in a block which does not say that it is one of commands.
    fn hides_commands(&self) -> bool {
        let starts = |line: &str| line.starts_with("aoe ") || line.starts_with("$ ");
        matches!(self.language.as_str(), "" | "text") && self.text.lines().any(starts)
    }

    /// In a block of `console`, lines with a prompt are commands and the others what they print.
    fn script(&self) -> String {
        if self.language != "console" {
            return self.text.clone();
        }
        self.text.lines().filter_map(|line| line.strip_prefix("$ ")).fold(String::new(), |all, line| all + line + "\n")
    }
}

/// The mark in the comment that ends right before a block, if there is one.
fn mark(before: &str) -> Mark {
    let Some(open) = before.trim_end().strip_suffix("-->") else { return Mark::None };
    let comment = open.rsplit("<!--").next().unwrap_or("").trim();
    match comment.split_once(':') {
        Some(("given", shell)) => Mark::Given(shell.trim().to_owned()),
        Some(("not run", why)) => Mark::NotRun(why.trim().to_owned()),
        _ => Mark::None,
    }
}

fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    let mut before = String::new();
    for (index, line) in page.lines().enumerate() {
        let fence = line.trim_start().strip_prefix("```");
        match (fence, open.take()) {
            (Some(language), None) => {
                let language = language.trim().to_owned();
                let mark = mark(&before);
                open = Some(Block { line: index + 1, language, text: String::new(), mark });
                before.clear();
            }
            (Some(_), Some(block)) => found.push(block),
            (None, Some(mut block)) => {
                writeln!(block.text, "{line}").unwrap();
                open = Some(block);
            }
            (None, None) => writeln!(before, "{line}").unwrap(),
        }
    }
    assert!(open.is_none(), "a block has no end");
    found
}

/// The pages that users read.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![PathBuf::from("README.md")];
    let mut folders = vec![PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(Path::new(ROOT).join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

fn read(page: &Path) -> Vec<Block> {
    blocks(&std::fs::read_to_string(Path::new(ROOT).join(page)).unwrap())
}

/// A directory in which the blocks of one page run, with an `aoe` of its own on the path.
struct Desk {
    dir: tempfile::TempDir,
}

impl Desk {
    fn new() -> Desk {
        let dir = tempfile::Builder::new().prefix("aoe-pages-").tempdir().unwrap();
        for name in ["bin", "home", "work", "tmp"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_aoe"), dir.path().join("bin/aoe")).unwrap();
        Desk { dir }
    }

    fn run(&self, script: &str) -> Output {
        let at = |name: &str| self.dir.path().join(name);
        Command::new("timeout")
            .args([LIMIT, "bash", "-e", "-o", "pipefail", "-c", script])
            .current_dir(at("work"))
            .env_clear()
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", at("bin").display()))
            .env("HOME", at("home"))
            .env("TMPDIR", at("tmp"))
            .env("SMALL", Path::new(ROOT).join("python/tests/small.onnx"))
            .env("STAND_INS", Path::new(ROOT).join("tests/command_line/stand_ins"))
            .env("EXAMPLES", Path::new(ROOT).join("examples"))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

/// Runs the blocks of a page that run; says how many these were, and what failed.
fn run(page: &Path) -> (usize, String) {
    let desk = Desk::new();
    let (mut count, mut failures) = (0, String::new());
    for block in read(page).iter().filter(|block| block.is_shell()) {
        let given = match &block.mark {
            Mark::NotRun(_) => continue,
            Mark::Given(given) => given.as_str(),
            Mark::None => "",
        };
        count += 1;
        let answer = desk.run(&format!("{given}\n{}", block.script()));
        if !answer.status.success() {
            let (out, err) = (String::from_utf8_lossy(&answer.stdout), String::from_utf8_lossy(&answer.stderr));
            let (place, status) = (format!("{}:{}", page.display(), block.line), answer.status);
            writeln!(failures, "{place} ends with {status}\n{}\n{out}{err}", block.text).unwrap();
        }
    }
    (count, failures)
}

#[test]
fn every_command_of_every_page_runs() {
    let pages = Mutex::new(pages());
    let sum = Mutex::new((0, String::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(page) = pages.lock().unwrap().pop() else { return };
                    let (count, failures) = run(&page);
                    let mut sum = sum.lock().unwrap();
                    sum.0 += count;
                    sum.1 += &failures;
                }
            });
        }
    });
    let (count, failures) = sum.into_inner().unwrap();
    assert!(failures.is_empty(), "{failures}");
    assert!(count >= 25, "only {count} blocks ran: are they found?");
}

#[test]
fn every_block_that_does_not_run_says_why() {
    for page in pages() {
        for block in read(&page) {
            let place = format!("{}:{}", page.display(), block.line);
            if let Mark::NotRun(why) = &block.mark {
                assert!(!why.is_empty(), "{place} does not run and does not say why");
            }
            let known = !block.hides_commands() || matches!(block.mark, Mark::NotRun(_));
            assert!(known, "{place} holds commands that do not run: make it ```sh, or say why not");
        }
    }
}

#[test]
fn blocks_are_found_with_their_marks() {
    let page = "<!-- given: a\nb -->\n```sh\none\n```\ntext\n\n```console\n$ two\nout\n```\n<!-- not run: x -->\n\n```\naoe\n```\n";
    let found = blocks(page);
    assert_eq!(found.iter().map(|block| block.line).collect::<Vec<_>>(), [3, 8, 14]);
    assert_eq!(found.iter().map(Block::script).collect::<Vec<_>>(), ["one\n", "two\n", "aoe\n"]);
    let marks = [Mark::Given("a\nb".to_owned()), Mark::None, Mark::NotRun("x".to_owned())];
    assert!(found.iter().map(|block| &block.mark).eq(&marks));
    assert!(blocks("```text\n$ aoe\n```\n")[0].hides_commands());
}

/// The table that `make accuracy` puts on a page.
fn table_of_accuracy(page: &str) -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(ROOT).join(page)).unwrap();
    let inside = text.lines().skip_while(|line| *line != "<!-- the table of make accuracy -->").skip(1);
    inside.take_while(|line| *line != "<!-- its end -->").map(str::to_owned).collect()
}

#[test]
fn the_pages_that_carry_the_table_of_accuracy_carry_the_same() {
    let table = table_of_accuracy("README.md");
    assert!(table.len() > 20, "{table:?}");
    assert_eq!(table, table_of_accuracy("docs/simulator.md"));
}
