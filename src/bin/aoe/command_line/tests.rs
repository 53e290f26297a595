use super::*;
use crate::arguments::{HEADINGS, heading};
use aoe::session::options::Kind;
use std::fmt::Write as _;

fn tune(arguments: &[&str]) -> Result<Settings> {
    match parse(["aoe"].iter().chain(arguments).map(OsString::from))? {
        Request::Tune(settings) => Ok(settings),
        _ => panic!("not a tuning"),
    }
}

#[test]
fn dashes_within_an_option_stand_for_underscores() {
    let spelled = |text: &str| spelled(text.to_owned());
    assert_eq!(spelled("--dry-run"), "--dry_run");
    assert_eq!(spelled("--tuning-time-limit=1-2"), "--tuning_time_limit=1-2");
    assert_eq!(spelled("--ge.op_bank_path=a-b"), "--ge.op_bank_path=a-b");
    for other in ["--fail-below=1", "-m", "a-b", "--"] {
        assert_eq!(spelled(other), other);
    }
}

/// A name that the table of options has too is given its underscores before a command sees it.
#[test]
fn every_command_takes_its_options_as_its_help_writes_them() {
    fn walk(command: &Command) {
        for argument in command.get_arguments() {
            let names = argument.get_long_and_visible_aliases().into_iter().flatten();
            for name in names.filter(|name| name.contains('-')) {
                let spelled = spelled(format!("--{name}"));
                let taken = argument.get_all_aliases().unwrap_or_default();
                let is_taken = spelled[2..] == *name || taken.contains(&&spelled[2..]);
                assert!(is_taken, "{} takes no {spelled}, which is made of --{name}", command.get_name());
            }
        }
        command.get_subcommands().for_each(walk);
    }
    for command in COMMANDS {
        walk(&(command.arguments)());
    }
}

#[test]
fn clap_accepts_the_table() {
    command().debug_assert();
}

#[test]
fn every_option_reads_alike_with_an_equals_sign_and_with_a_space() {
    for spec in OPTIONS.iter().filter(|spec| spec.name != "config") {
        let value = sample(spec);
        let joined = tune(&[&format!("--{}={value}", spec.name)]).unwrap();
        assert_eq!(joined.get(spec.name), Some(value), "{}", spec.name);
        if spec.kind != Kind::Flag {
            assert_eq!(tune(&[&format!("--{}", spec.name), value]).unwrap(), joined, "{}", spec.name);
        }
        if let Some(letter) = spec.short {
            assert_eq!(tune(&[&format!("-{letter}"), value]).unwrap(), joined, "{}", spec.name);
        }
    }
}

/// A well-formed value.
fn sample(spec: &OptionSpec) -> &'static str {
    match spec.kind {
        _ if spec.name == "output" => "net.om",
        Kind::OneOf(words) => words[0],
        Kind::Integer(..) => "1",
        Kind::Flag => "true",
        Kind::Shapes => "x:1,3",
        Kind::IntegerList | Kind::Devices => "1,2",
        Kind::IntegerLists => "1,2;3,4",
        Kind::OutNodes => "node:0",
        Kind::Assignments => "k=v",
        Kind::Profiling => r#"{"l2":"on"}"#,
        Kind::File | Kind::Path | Kind::Job | Kind::Text => "a b/c.d",
    }
}

#[test]
fn an_empty_value_is_accepted_and_means_not_set() {
    for spec in OPTIONS {
        let settings = tune(&[&format!("--{}=", spec.name)]).unwrap();
        assert_eq!(settings.get(spec.name), None, "{}", spec.name);
    }
    assert_eq!(tune(&["--output", ""]).unwrap().get("output"), None);
}

#[test]
fn defaults_are_not_settings() {
    assert_eq!(tune(&["--model="]).unwrap().get("job_type"), None);
}

#[test]
fn a_word_alone_is_the_model_or_a_directory_of_models() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    assert_eq!(tune(&["--seed=1", "net.onnx", "-j", "2"]).unwrap().get("model"), Some("net.onnx"));
    assert_eq!(tune(&["tune", path]).unwrap().get("model_path"), Some(path));
}

#[test]
fn an_output_is_a_directory_unless_it_is_a_file_or_a_models() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(at("old.om"), "").unwrap();
    std::fs::write(at("file"), "").unwrap();
    for (name, end) in
        [("out", "/"), ("out/", ""), ("net.om", ""), ("net.air", ""), ("old", ""), ("file", ""), ("a.b", "/")]
    {
        let settings = tune(&[&format!("--output={}", at(name))]).unwrap();
        assert_eq!(settings.get("output"), Some(format!("{}{end}", at(name)).as_str()), "{name}");
    }
}

#[test]
fn a_command_line_without_anything_is_answered_with_the_first_steps() {
    let Ok(Request::Print(text)) = parse([OsString::from("aoe")].into_iter()) else { panic!("no text") };
    assert!(text.contains("aoe resnet50.onnx") && text.contains("aoe help TOPIC"), "{text}");
}

#[test]
fn a_flag_takes_no_value_after_a_space() {
    let settings = tune(&["--Fdeeper_opat", "--seed", "7"]).unwrap();
    assert_eq!((settings.get("Fdeeper_opat"), settings.get("seed")), (Some("true"), Some("7")));
    assert!(tune(&["--Fdeeper_opat", "true"]).is_err());
}

#[test]
fn assignments_add_up() {
    let settings = tune(&["--soc_set", "a=1", "--soc_set=b=2"]).unwrap();
    assert_eq!(settings.get("soc_set"), Some("a=1;b=2"));
}

#[test]
fn mistakes_name_the_word_and_the_likely_option() {
    for (arguments, parts) in [
        (&["--job-tpye=2"][..], ["--job-tpye", "--job_type"]),
        (&["--zzzzzz"], ["--zzzzzz", "no option"]),
        (&["resnet"], ["`resnet` is neither a file", "search"]),
        (&["tun"], ["`tun` is neither", "did you mean `aoe tune`?"]),
        (&["bnak"], ["`bnak` is neither", "did you mean `aoe bank`?"]),
        (&["a.onnx", "b.onnx"], ["one model at a time", "--model_path"]),
        (&["a.onnx", "--model=b.onnx"], ["`a.onnx`", "--model exclude"]),
        (&["--model"], ["--model", "value is required"]),
        (&["--model", "--job_type", "2"], ["--model", "value is required"]),
        (&["--seed=1", "--seed=2"], ["--seed", "multiple times"]),
        (&["-x"], ["-x", "no option"]),
        (&["soc", "--job_type=2"], ["--job_type", "does not belong"]),
        (&["--job_type=2", "soc"], ["`soc` is a command", "stands first"]),
    ] {
        let error = tune(arguments).unwrap_err();
        assert_eq!(error.id(), Some("EG0000"), "{error}");
        assert!(parts.iter().all(|part| error.to_string().contains(part)), "{arguments:?}: {error}");
    }
    assert_eq!(tune(&["--seed=-1"]).unwrap_err().id(), Some("EG0003"));
}

#[test]
fn the_command_line_wins_over_the_configuration_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), r#"{"job_type": "subgraph", "seed": 3}"#).unwrap();
    let settings = tune(&["--config", file.path().to_str().unwrap(), "-j", "2"]).unwrap();
    assert_eq!((settings.get("job_type"), settings.get("seed")), (Some("2"), Some("3")));
}

#[test]
fn help_names_every_option_and_its_group() {
    let Ok(Request::Print(help)) = parse(["aoe", "-h"].iter().map(OsString::from)) else { panic!("no help") };
    for spec in OPTIONS {
        assert!(help.contains(&format!("--{}", spec.name)) && help.contains(heading(spec)), "{}", spec.name);
    }
}

/// The options as docs/cli.md lists them.
fn documented() -> String {
    let mut text = String::new();
    for group in HEADINGS {
        write!(text, "### {group}\n\n| option | value | default | effect |\n|---|---|---|---|\n").unwrap();
        for spec in OPTIONS.iter().filter(|spec| heading(spec) == group) {
            let short = spec.short.map(|letter| format!(", `-{letter}`")).unwrap_or_default();
            let code = |word: &str| if word.is_empty() { String::new() } else { format!("`{word}`") };
            let value = match spec.kind {
                Kind::OneOf(words) => words.iter().map(|word| code(word)).collect::<Vec<_>>().join(", "),
                Kind::Integer(low, u64::MAX) => format!("whole number from {low}"),
                Kind::Integer(low, high) => format!("{low} to {high}"),
                Kind::Flag => "none".to_owned(),
                Kind::File => "file".to_owned(),
                Kind::Path => "path".to_owned(),
                Kind::Job => "directory, or none".to_owned(),
                Kind::Shapes => "`name:1,3,224,224;...`".to_owned(),
                Kind::IntegerList => "`1,2,4`".to_owned(),
                Kind::Devices => "`0,1`".to_owned(),
                Kind::IntegerLists => "`224,224;448,448`".to_owned(),
                Kind::OutNodes => "`node:0;node2:1`".to_owned(),
                Kind::Assignments => "`key=value`".to_owned(),
                Kind::Profiling => "JSON object ([profiling.md](profiling.md))".to_owned(),
                Kind::Text => "text".to_owned(),
            };
            let (name, default, help) = (spec.name, code(spec.default), spec.help.replace('|', "\\|"));
            writeln!(text, "| `--{name}`{short} | {value} | {default} | {help} |").unwrap();
        }
        text.push('\n');
    }
    text
}

/// `AOE_WRITE_DOCS=1 cargo test --bin aoe` brings the document up to date.
#[test]
fn the_document_lists_the_options_as_they_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let (begin, end) =
        ("<!-- options: generated, see src/bin/aoe/command_line/tests.rs -->\n\n", "<!-- end of options -->");
    let (head, rest) = document.split_once(begin).unwrap();
    let (listed, tail) = rest.split_once(end).unwrap();
    if std::env::var_os("AOE_WRITE_DOCS").is_some() {
        std::fs::write(&path, [head, begin, &documented(), end, tail].concat()).unwrap();
    } else {
        let remedy = "docs/cli.md is out of date: AOE_WRITE_DOCS=1 cargo test --bin aoe";
        for (listed, line) in listed.lines().zip(documented().lines()) {
            assert_eq!(listed, line, "{remedy}");
        }
        assert_eq!(listed.len(), documented().len(), "{remedy}");
    }
}
