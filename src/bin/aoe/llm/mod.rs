//! `aoe llm`: what a served language model runs, what it takes, and what can be done about it; and `aoe --profile`, the
//! same for what a profiler saw.

pub mod profile;
mod words;

use crate::arguments::{self, Subcommand, flag, given, operand, option, text};
use crate::console::Console;
use crate::exit_status::DONE;
use crate::interrupt::Interrupt;
use crate::json;
use crate::settings::Settings;
use aoe::graph::DataType;
use aoe::output_file::{Patience, Publication, check};
use aoe::serving::{Deployment, Load, Model, Quantization, Study};
use aoe::session::serving;
use aoe::shard::Shard;
use aoe::status::{Error, Result};
use aoe::tune::evaluate;
use clap::{ArgMatches, Command, value_parser};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// `aoe llm CONFIG`.
pub const COMMAND: Subcommand = Subcommand::new(arguments, run);

/// Most numbers of a list.
const MOST_NUMBERS: usize = 1024;

fn arguments() -> Command {
    let value = |name: &'static str, value: &'static str, default: &'static str, help: &'static str| {
        option(name, value, help).default_value(default)
    };
    let number = |name: &'static str, default: &'static str, help: &'static str| {
        value(name, "NUMBER", default, help).value_parser(value_parser!(u64))
    };
    let switch = |name: &'static str, default: &'static str, help: &'static str| {
        value(name, "true|false", default, help).value_parser(value_parser!(bool))
    };
    Command::new("llm")
        .about("Price and tune what a served language model runs, from its config.json")
        .override_usage(
            "aoe llm CONFIG [--soc_version=NAME|FILE] [--tensor_parallel=N] [--expert_parallel=N]\n               \
             [--quantization=none|w8a8|w4a16] [--batch=LIST] [--prompt=LIST] [--shard=I/N] [--output=DIR]\n               \
             [--json|--cases]",
        )
        .after_help(
            "CONFIG is a model's config.json in Hugging Face's form, or a folder with one. LIST is numbers with commas, or\n\
             FIRST..LAST for FIRST and its doubles: 256..8192. What is priced and how: docs/serving.md.\n\
             Records go where `aoe --job_type=2 --backend=simulator` puts them: TUNE_BANK_PATH, else aoe_bank of --output or\n\
             of the work path; with --install where CANN looks by itself.\n\
             Exit status: 0 done, 1 reading or writing failed or a kernel cannot run, 2 a wrong command line or option,\n\
             130 interrupted (what was found is recorded).",
        )
        .arg(operand("config", "CONFIG", "The model's config.json, or a folder with one"))
        .arg(number("tensor_parallel", "1", "Devices over which heads and feed-forward layers are cut"))
        .arg(number("expert_parallel", "1", "Devices over which experts are spread; a multiple of tensor_parallel"))
        .arg(value("quantization", "WORD", "none", "Types of the weights").value_parser(Quantization::NAMES.to_vec()))
        .arg(value("dtype", "WORD", "bf16", "Type of activations").value_parser(["bf16", "fp16"]))
        .arg(value("batch", "LIST", "1,8,32", "Sequences served at a time, by each group of tensor_parallel devices"))
        .arg(value("prompt", "LIST", "512,2048,8192", "Tokens of a prompt"))
        .arg(option("context", "LIST", "Tokens looked back over [default: as prompt]"))
        .arg(number("step_tokens", "8192", "Tokens of a prefill step at most (max_num_batched_tokens)"))
        .arg(switch("nz_weights", "true", "Weights lie in FRACTAL_NZ"))
        .arg(switch("graph", "true", "Output is made in graph mode"))
        .arg(switch("fused", "true", "Sum and norm, gate, and norms of heads and rotation are fused kernels"))
        .arg(switch("sequence_parallel", "true", "Long prompts are cut over the devices between blocks"))
        .arg(number("trials", "200", "Tilings tried for each product; 0: products are not tuned"))
        .arg(number("records", "0", "Choose the numbers of tokens whose tuning serves steps of any number best, for so many records"))
        .arg(option("parallel", "NUMBER", "Products tuned at a time [default: processors]").value_parser(value_parser!(u16)))
        .arg(option("shard", "I/N", "Tune only part I of N of the products; the parts' banks are merged afterwards").conflicts_with_all(["cases", "records"]))
        .arg(option("output", "DIR", "Folder for report.json and report.txt"))
        .arg(flag("json", "Write JSON instead of text"))
        .arg(flag("install", "Put records where CANN looks by itself"))
        .arg(flag("dry_run", "Write nothing").alias("dry-run"))
        .arg(flag("cases", "Write each kernel as a case of aoe simulate, and tune nothing").conflicts_with("json"))
        .args(arguments::search_arguments("Seed of the searches"))
        .args(serving::options().map(|spec| arguments::argument(spec).help_heading("SoC")))
}

fn run(matches: &ArgMatches, console: &Arc<Console>) -> Result<u8> {
    let settings = Settings::given(matches, serving::options())?;
    let soc = serving::part(settings.options())?;
    let study = study(matches, Model::read(Path::new(text(matches, "config")))?)?;
    if matches.get_flag("cases") {
        study.cases(&soc)?.iter().for_each(|case| console.line(&case.to_string()));
        return Ok(DONE);
    }
    let (install, dry_run) = (matches.get_flag("install"), matches.get_flag("dry_run"));
    let folder = given(matches, "output").filter(|_| !dry_run).map(PathBuf::from);
    // No tuning should begin whose results have no place.
    folder.iter().flat_map(|folder| targets(folder)).try_for_each(|path| check(&path))?;
    let mut place = serving::bank(&soc, folder.as_deref(), install, dry_run)?;
    let (interrupt, cancel) = Interrupt::flag(Interrupt::SAVES, console)?;
    let report = study.run(&soc, place.banks(), &cancel);
    interrupt.on_arrival(None);
    place.bank.warnings().iter().for_each(|warning| console.notice("WARNING", warning));
    let mut report = report?;
    place.keep_written([&mut report.files, &mut report.to_measure], dry_run);
    let json = json::text(&report)?;
    let words = words::of(&report);
    if let Some(folder) = &folder {
        write(folder, &[(REPORT_JSON, &json), (REPORT_TEXT, &words)])?;
    }
    if matches.get_flag("json") {
        console.line(&json);
    } else {
        console.text(&words);
        console.text(&place.lines([&report.files, &report.to_measure]));
    }
    interrupt.check()?;
    Ok(DONE)
}

const REPORT_JSON: &str = "report.json";
const REPORT_TEXT: &str = "report.txt";

fn targets(folder: &Path) -> [PathBuf; 2] {
    [REPORT_JSON, REPORT_TEXT].map(|name| folder.join(name))
}

/// Writes files of these names and texts, all of them or none.
fn write(folder: &Path, files: &[(&str, &str)]) -> Result<()> {
    let mut publication = Publication::new();
    for (name, text) in files {
        publication.file(&folder.join(name), text.as_bytes())?;
    }
    publication.lock(folder, &Patience::default())?;
    publication.commit()
}

fn study(matches: &ArgMatches, model: Model) -> Result<Study> {
    let number = |name: &str| matches.get_one::<u64>(name).copied().unwrap_or_default();
    let switch = |name: &str| matches.get_one::<bool>(name).copied().unwrap_or_default();
    let word = |name: &str| text(matches, name);
    let list = |name: &'static str| numbers(name, word(name));
    let deployment = Deployment {
        tensor_parallel: number("tensor_parallel"),
        expert_parallel: number("expert_parallel"),
        quantization: Quantization::named(word("quantization")).unwrap_or(Quantization::None),
        dtype: if word("dtype") == "fp16" { DataType::Float16 } else { DataType::Bfloat16 },
        nz_weights: switch("nz_weights"),
        graph: switch("graph"),
        fused: switch("fused"),
        sequence_parallel: switch("sequence_parallel"),
        step_tokens: number("step_tokens"),
    };
    let prompts = list("prompt")?;
    let contexts = if matches.contains_id("context") { list("context")? } else { prompts.clone() };
    let load = Load { batches: list("batch")?, prompts, contexts };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let trials = usize::try_from(number("trials")).unwrap_or(usize::MAX);
    let search = (trials > 0).then(|| evaluate::Settings {
        max_trials: trials,
        seed: number("seed"),
        algorithm: arguments::algorithm(matches),
        parallel: matches.get_one::<u16>("parallel").map_or(cores, |&count| count.max(1).into()),
    });
    let records = usize::try_from(number("records")).unwrap_or(usize::MAX);
    let shard = given(matches, "shard").map(Shard::read).transpose()?;
    Ok(Study { model, deployment, load, search, shard, records })
}

/// The numbers of a list: one by one, or the first and its doubles up to the last.
fn numbers(option: &'static str, text: &str) -> Result<Vec<u64>> {
    let wrong = |part: &str| Error::option(option, format!("`{part}` is no number, and no FIRST..LAST"));
    let mut numbers = Vec::new();
    for part in text.split(',').map(str::trim) {
        let number = |text: &str| text.parse::<u64>().map_err(|_| wrong(part));
        match part.split_once("..") {
            None => numbers.push(number(part)?),
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if first == 0 || first > last {
                    return Err(Error::option(option, format!("`{part}` holds no number")));
                }
                numbers.extend(std::iter::successors(Some(first), |n| n.checked_mul(2)).take_while(|n| *n <= last));
            }
        }
        if numbers.len() > MOST_NUMBERS {
            return Err(Error::option(option, format!("names more than {MOST_NUMBERS} numbers")));
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_numbers_and_doubles_in_order_each_once() {
        assert_eq!(numbers("batch", "8, 1,2,1").unwrap(), [1, 2, 8]);
        assert_eq!(numbers("prompt", "256..8192").unwrap(), [256, 512, 1024, 2048, 4096, 8192]);
        assert_eq!(numbers("prompt", "3..10,5").unwrap(), [3, 5, 6]);
        for wrong in ["", "a", "1,,2", "-1", "1.5", "5..3", "0..8", "..", "1..", "99999999999999999999"] {
            assert!(numbers("batch", wrong).unwrap_err().to_string().contains("batch"), "{wrong}");
        }
        assert!(numbers("batch", &vec!["1"; 2000].join(",")).is_err());
    }
}
