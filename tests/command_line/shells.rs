//! `aoe completions` and `aoe manual`: what shells and `man` are told of the command line.

use aoe::session::options::OPTIONS;
use std::path::Path;
use std::process::{Command, Output};

fn aoe(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_aoe")).args(arguments).env_clear().output().unwrap()
}

/// The completions of a shell.
fn completions(shell: &str) -> String {
    let output = aoe(&["completions", shell]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What bash offers for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    let script = r#"
        source <("$0" completions bash)
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _aoe aoe "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", script, env!("CARGO_BIN_EXE_aoe")]).args(words);
    let output = bash.output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_options_and_their_words() {
    assert_eq!(offered(&["aoe", "--job_ty"]), ["--job_type"]);
    assert_eq!(offered(&["aoe", "tune", "--model_p"]), ["--model_path"]);
    assert_eq!(offered(&["aoe", "bank", "sh"]), ["show"]);
    assert_eq!(offered(&["aoe", "completions", "z"]), ["zsh"]);
    assert!(offered(&["aoe", "--soc_version", "Ascend310"]).contains(&"Ascend310P3".to_owned()));
    assert_eq!(offered(&["aoe", "--progress_bar", "of"]), ["off"]);
    assert_eq!(offered(&["aoe", "--no_such"]), [""], "nothing begins so");
}

#[test]
fn bash_completes_files_where_an_option_takes_one() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("network.onnx");
    std::fs::write(&model, "").unwrap();
    let typed = folder.path().join("netw");
    assert_eq!(offered(&["aoe", "--model", typed.to_str().unwrap()]), [model.to_str().unwrap()]);
}

#[test]
fn who_names_no_shell_or_another_is_told_those_that_there_are() {
    for (arguments, told) in [
        (&["completions", "tcsh"][..], "there is: bash, zsh, fish"),
        (&["completions", "bsh"], "did you mean `bash`?"),
        (&["completions"], "bash|zsh|fish"),
        (&["bank"], "there is: show, verify, check"),
    ] {
        let output = aoe(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(told), "{arguments:?}: {said}");
    }
}

#[test]
fn every_shell_knows_every_option_and_command() {
    for shell in ["bash", "zsh", "fish"] {
        let text = completions(shell);
        for spec in OPTIONS {
            assert!(text.contains(spec.name), "{shell} does not know --{}", spec.name);
        }
        for word in ["simulate", "calibrate", "merge", "Ascend910B4"] {
            assert!(text.contains(word), "{shell} does not know {word}");
        }
        assert!(!text.contains("measure-candidate"), "{shell} shows what no user calls");
    }
}

#[test]
fn the_manual_has_a_page_for_each_command_and_names_every_option() {
    let folder = tempfile::tempdir().unwrap();
    let output = aoe(&["manual", folder.path().to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    let page = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let first = page("aoe.1");
    for spec in OPTIONS {
        // roff takes a bare hyphen for one that may break a line.
        let name = spec.name.replace('-', "\\-");
        assert!(first.contains(&format!("\\-\\-{name}")), "aoe.1 lacks --{}", spec.name);
    }
    for (name, part) in
        [("aoe-simulate.1", "aoe simulate"), ("aoe-bank-merge.1", "aoe bank merge"), ("aoe-manual.1", "DIR")]
    {
        assert!(page(name).contains(&part.replace('-', "\\-")), "{name} lacks {part}");
    }
    let pages: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!pages.iter().any(|name| name.to_string_lossy().contains("measure-candidate")), "{pages:?}");
}

#[test]
fn a_manual_that_cannot_be_written_names_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let output = aoe(&["manual", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains(&*file.display().to_string()), "{told}");
    assert_eq!(std::fs::read_to_string(Path::new(&file)).unwrap(), "mine");
}

#[test]
fn a_shell_without_completions_is_a_mistake() {
    let output = aoe(&["completions", "tcsh"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("tcsh"));
}
