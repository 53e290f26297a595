//! CANN's `profiling_options`: which parts of a profile are wanted, as a JSON object.

use super::metrics::Metrics;
use crate::json_text::UniqueKeys;
use crate::spelling;
use crate::status::{Error, Result};
use serde_json::Value;
use std::path::PathBuf;

/// Name of the option, in errors.
const OPTION: &str = "profiling_options";

/// What a profile is to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, as CANN's object has them")]
pub struct Options {
    /// Directory for the profiles; `None` leaves it to the caller.
    pub output: Option<PathBuf>,
    /// `task_trace`, `task_time`: how much is told of each task.
    pub tasks: Level,
    /// `training_trace`: the iterations.
    pub training_trace: bool,
    /// `hccl`: exchanges between devices, by themselves.
    pub hccl: bool,
    /// `l2`: what L2 serves of each operator's data.
    pub l2: bool,
    /// `runtime_api`: the thread that waits for the network.
    pub runtime_api: bool,
    /// `aic_metrics`: the counters of the cores; `None` where none are wanted.
    pub metrics: Option<Metrics>,
    /// `fp_point`: node with which the forward pass begins; `None` finds it.
    pub fp_point: Option<String>,
    /// `bp_point`: node with which the backward pass ends; `None` finds it.
    pub bp_point: Option<String>,
    /// Keys that ask for what only a device has; they leave no trace in the profile.
    pub of_devices: Vec<&'static str>,
}

/// How much is told of each task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Nothing.
    Off,
    /// When each task began and ended (`l0`).
    Times,
    /// That, and the operators (`on`, `l1` and above).
    Operators,
}

impl Default for Options {
    /// What CANN takes where profiling is switched on and nothing more is said.
    fn default() -> Options {
        Options { training_trace: true, hccl: true, ..Options::unset() }
    }
}

/// What a key may have as its value.
enum Form {
    /// `on` or `off`.
    Switch,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Any of these words, separated by commas.
    Words(&'static [&'static str]),
    /// A JSON number: a whole one in this range.
    Frequency(u64, u64),
    /// A path.
    Path,
    /// A node's name.
    Node,
    /// Megabytes: `200MB`.
    Megabytes,
    /// The name of a group of counters.
    Metrics,
}

use Form::{Frequency, Megabytes, Node, OneOf, Path, Switch, Words};

const LEVELS: &[&str] = &["on", "off", "l0", "l1", "l2", "l3"];

/// The keys, in the order of CANN's manual, and whether only a device has what they ask for.
const KEYS: &[(&str, Form, bool)] = &[
    ("output", Path, false),
    ("storage_limit", Megabytes, true),
    ("training_trace", Switch, false),
    ("task_trace", OneOf(LEVELS), false),
    ("task_time", OneOf(LEVELS), false),
    ("ge_api", OneOf(&["off", "l0", "l1"]), true),
    ("hccl", Switch, false),
    ("aicpu", Switch, true),
    ("fp_point", Node, false),
    ("bp_point", Node, false),
    ("aic_metrics", Form::Metrics, false),
    ("l2", Switch, false),
    ("msproftx", Switch, true),
    ("runtime_api", Switch, false),
    ("ascendcl", Switch, true),
    ("task_memory", Switch, true),
    ("sys_hardware_mem_freq", Frequency(1, 10_000), true),
    ("llc_profiling", OneOf(&["read", "write"]), true),
    ("sys_io_sampling_freq", Frequency(1, 100), true),
    ("dvpp_freq", Frequency(1, 100), true),
    ("sys_interconnection_freq", Frequency(1, 50), true),
    ("sys_cpu_freq", Frequency(1, 50), true),
    ("host_sys", Words(&["cpu", "mem", "disk", "network", "osrt", "numa"]), true),
    ("host_sys_usage", Words(&["cpu", "mem"]), true),
    ("host_sys_usage_freq", Frequency(1, 50), true),
    ("instr_profiling", Switch, true),
    ("instr_profiling_freq", Frequency(300, 30_000), true),
];

impl Options {
    /// No key given: CANN's defaults for each.
    fn unset() -> Options {
        Options {
            output: None,
            tasks: Level::Operators,
            training_trace: false,
            hccl: false,
            l2: false,
            runtime_api: false,
            metrics: Some(Metrics::PipeUtilization),
            fp_point: None,
            bp_point: None,
            of_devices: Vec::new(),
        }
    }

    /// Reads a JSON object. An empty text is [`Options::default`]; keys that are left out of an object have
    /// CANN's default for each, but for `aic_metrics`, which is `PipeUtilization`.
    ///
    /// Fails with [`Error::Option`] that names the key at fault.
    pub fn parse(text: &str) -> Result<Options> {
        if text.trim().is_empty() {
            return Ok(Options::default());
        }
        let UniqueKeys(object) = serde_json::from_str(text)
            .map_err(|error| bad(format!("it is not a JSON object with each key once: {error}")))?;
        let mut options = Options::unset();
        for (key, value) in &object {
            let Some((name, form, of_devices)) = KEYS.iter().find(|(name, ..)| name == key) else {
                let near = spelling::nearest(key, KEYS.iter().map(|(name, ..)| *name));
                let hint = near.map_or_else(|| known(&names()), |near| format!("did you mean `{near}`?"));
                return Err(bad(format!("there is no key `{key}`; {hint}")));
            };
            let text = form.text(value).map_err(|reason| bad(format!("`{name}`: {reason}")))?;
            if *of_devices && !matches!(text, "" | "off") {
                options.of_devices.push(name);
            }
            options.set(name, text)?;
        }
        // Two names for one switch: who asks for more counts.
        let levels = ["task_trace", "task_time"].into_iter().filter_map(|key| object.get(key)?.as_str());
        let most = levels.filter(|text| !text.is_empty()).map(level).max();
        options.tasks = most.unwrap_or(options.tasks);
        Ok(options)
    }

    fn set(&mut self, key: &str, text: &str) -> Result<()> {
        let named = || (!text.is_empty()).then(|| text.to_owned());
        match key {
            "output" => self.output = named().map(PathBuf::from),
            "training_trace" => self.training_trace = text == "on",
            "hccl" => self.hccl = text == "on",
            "l2" => self.l2 = text == "on",
            "runtime_api" => self.runtime_api = text == "on",
            "fp_point" => self.fp_point = named(),
            "bp_point" => self.bp_point = named(),
            "aic_metrics" if !text.is_empty() => {
                let metrics = Metrics::from_name(text);
                self.metrics = Some(metrics.ok_or_else(|| bad(format!("`aic_metrics`: {}", no_metrics(text))))?);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Form {
    /// The value as a text, when it is of this form; an empty one means "not set". The text of a number is empty.
    fn text<'a>(&self, value: &'a Value) -> Result<&'a str, String> {
        if let Frequency(low, high) = self {
            let fits = value.as_u64().is_some_and(|number| (*low..=*high).contains(&number));
            return if fits { Ok("on") } else { Err(format!("{value} is not a whole number from {low} to {high}")) };
        }
        let Some(text) = value.as_str() else { return Err(format!("{value} is not a text in quotes")) };
        let fits = match self {
            _ if text.is_empty() => Ok(()),
            Switch => one_of(text, &["on", "off"]),
            OneOf(words) => one_of(text, words),
            Words(words) => text.split(',').try_for_each(|word| one_of(word.trim(), words)),
            Path if text.chars().any(char::is_control) => Err("a path holds no control characters".to_owned()),
            Megabytes => {
                let number = text.strip_suffix("MB").and_then(|number| number.parse().ok());
                let fits = number.is_some_and(|number: u32| number >= 200);
                if fits { Ok(()) } else { Err(format!("`{text}` is not of the form 200MB, nor as much")) }
            }
            Path | Node | Form::Metrics | Frequency(..) => Ok(()),
        };
        fits.map(|()| text)
    }
}

fn level(text: &str) -> Level {
    match text {
        "off" => Level::Off,
        "l0" => Level::Times,
        _ => Level::Operators,
    }
}

fn one_of(text: &str, words: &[&str]) -> Result<(), String> {
    if words.contains(&text) { Ok(()) } else { Err(format!("`{text}` is not one of {}", words.join(", "))) }
}

fn names() -> Vec<&'static str> {
    KEYS.iter().map(|(name, ..)| *name).collect()
}

fn known(names: &[&str]) -> String {
    format!("known are {}", names.join(", "))
}

/// What to say of a group of counters that is not known.
fn no_metrics(text: &str) -> String {
    if text.starts_with("Custom:") {
        return format!("`{text}` asks for registers of a device, which no model counts");
    }
    let names: Vec<_> = Metrics::NAMES.iter().map(|(name, _)| *name).collect();
    let near = spelling::nearest(text, names.iter().copied());
    let hint = near.map_or_else(|| known(&names), |near| format!("did you mean `{near}`?"));
    format!("there is no group `{text}`; {hint}")
}

fn bad(reason: String) -> Error {
    Error::option(OPTION, reason)
}

#[cfg(test)]
mod tests {
    use super::{KEYS, Level, Metrics, Options};
    use std::path::Path;

    #[test]
    fn keys_left_out_have_canns_defaults_and_nothing_at_all_has_its_defaults() {
        let unset = Options::parse("{}").unwrap();
        assert_eq!((unset.tasks, unset.training_trace, unset.hccl, unset.l2), (Level::Operators, false, false, false));
        let nothing = Options::parse(" ").unwrap();
        assert!(nothing.training_trace && nothing.hccl && nothing.metrics == Some(Metrics::PipeUtilization));
        assert_eq!(Options::parse(r#"{"aic_metrics":"","fp_point":"","task_time":""}"#).unwrap(), unset);
    }

    #[test]
    fn of_two_names_for_one_switch_the_one_counts_that_asks_for_more() {
        let level = |text: &str| Options::parse(text).unwrap().tasks;
        assert_eq!(level(r#"{"task_trace":"off","task_time":"on"}"#), Level::Operators);
        assert_eq!(level(r#"{"task_trace":"off","task_time":"l0"}"#), Level::Times);
        assert_eq!(level(r#"{"task_trace":"","task_time":"off"}"#), Level::Off);
    }

    #[test]
    fn every_key_of_canns_example_is_read() {
        let text = r#"{"output":"/tmp/p","training_trace":"on","task_trace":"l0","hccl":"on","l2":"on",
            "aicpu":"on","aic_metrics":"MemoryUB","fp_point":"a","bp_point":"b","runtime_api":"on","msproftx":"off",
            "sys_hardware_mem_freq":50,"host_sys":"cpu,mem","storage_limit":"200MB"}"#;
        let options = Options::parse(text).unwrap();
        assert_eq!(options.output.as_deref(), Some(Path::new("/tmp/p")));
        assert_eq!((options.tasks, options.metrics), (Level::Times, Some(Metrics::MemoryUB)));
        assert!(options.training_trace && options.hccl && options.l2 && options.runtime_api);
        assert_eq!((options.fp_point.as_deref(), options.bp_point.as_deref()), (Some("a"), Some("b")));
        assert_eq!(options.of_devices, ["aicpu", "host_sys", "storage_limit", "sys_hardware_mem_freq"]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_key() {
        for (text, words) in [
            ("{", &["JSON object"][..]),
            ("[]", &["JSON object"]),
            ("null", &["JSON object"]),
            // The sample of CANN's guide for estimators, which lacks a quote.
            (r#"{"output":"/tmp/x","training_trace":"on",task_trace":"on"}"#, &["JSON object", "column"]),
            (r#"{"output":"p","output":"q"}"#, &["`output` is given twice", "column"]),
            (r#"{"task_tarce":"on"}"#, &["task_tarce", "`task_trace`"]),
            (r#"{"zzz":"on"}"#, &["zzz", "training_trace"]),
            (r#"{"task_trace":true}"#, &["task_trace", "true"]),
            (r#"{"task_trace":"yes"}"#, &["task_trace", "yes", "l0"]),
            (r#"{"hccl":"l1"}"#, &["hccl", "on, off"]),
            (r#"{"aic_metrics":"PipeUtilisation"}"#, &["aic_metrics", "`PipeUtilization`"]),
            (r#"{"aic_metrics":"Custom:0x49"}"#, &["aic_metrics", "registers"]),
            (r#"{"output":"a\nb"}"#, &["output", "control"]),
            (r#"{"sys_cpu_freq":"50"}"#, &["sys_cpu_freq", "50"]),
            (r#"{"sys_cpu_freq":51}"#, &["sys_cpu_freq", "1 to 50"]),
            (r#"{"storage_limit":"199MB"}"#, &["storage_limit", "200MB"]),
            (r#"{"host_sys":"cpu,gpu"}"#, &["host_sys", "gpu"]),
        ] {
            let message = Options::parse(text).unwrap_err().to_string();
            assert!(message.contains("profiling_options"), "{message}");
            assert!(words.iter().all(|word| message.contains(word)), "{text}: {message}");
        }
    }

    #[test]
    fn every_key_takes_an_empty_text_but_numbers() {
        for (key, ..) in KEYS {
            let read = Options::parse(&format!(r#"{{"{key}":""}}"#));
            assert_eq!(read.is_ok(), !key.ends_with("_freq"), "{key}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_more_than_an_error(text in ".*", key in "[a-z_]{1,12}", value in ".{0,20}") {
            let _ = Options::parse(&text);
            let _ = Options::parse(&serde_json::json!({ key: value }).to_string());
        }
    }
}
