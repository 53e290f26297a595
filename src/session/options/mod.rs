//! Every option there is: name, what values it takes, where it counts, what it does.
//!
//! The command line, `AoeInitialize` and `AoeTuningGraph` read the same table, so an option has one
//! name and one meaning everywhere. Keys that begin with `ge.` belong to GE; those not listed are
//! accepted and ignored, as CANN's clients expect. Any other unknown key is an error that proposes the
//! nearest name. An empty value means "not set".

mod spec;
mod table;
mod values;

pub use spec::{Effect, Kind, NEWEST, NEWEST_IF_ANY, OptionSpec};
pub use table::OPTIONS;
pub use values::{devices, flag, integer_lists, integers, out_nodes};

use crate::spelling;
use crate::status::{Error, Result};
use Effect::CommandLine;
use std::collections::BTreeMap;

/// The option of this name.
pub fn find(name: &str) -> Option<&'static OptionSpec> {
    OPTIONS.iter().find(|o| o.name == name)
}

/// Checks one key and value as they come through the API.
///
/// Returns the option, or `None` for a `ge.` key that only GE knows. Fails with [`Error::Option`] for
/// an unknown key or a malformed value.
pub fn check(key: &str, value: &str) -> Result<Option<&'static OptionSpec>> {
    match find(key) {
        Some(spec) => spec.check(value).map(|()| Some(spec)),
        None if key.starts_with("ge.") => Ok(None),
        None => {
            let hint = nearest(key).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default();
            Err(Error::option(key, format!("there is no such option{hint}")))
        }
    }
}

/// Judges an option on behalf of a caller who passes on what others have sent it: its name, and its value where
/// there is one.
///
/// Fails with [`Error::NotFound`] for a name that has no meaning to a caller of the library, be it unknown or one of the
/// command line's; with [`Error::Option`] for a malformed value.
pub fn judge(key: &str, value: Option<&str>) -> Result<()> {
    match check(key, value.unwrap_or_default()) {
        Ok(Some(spec)) if spec.effect == CommandLine => {
            Err(Error::NotFound { what: format!("option `{key}` (which only the command line has)") })
        }
        Err(_) if find(key).is_none() => {
            let hint = nearest(key).map(|n| format!(" (the nearest is `{n}`)")).unwrap_or_default();
            Err(Error::NotFound { what: format!("option `{key}`{hint}") })
        }
        judged => judged.map(drop),
    }
}

/// Options by name, as a caller gave them.
pub type OptionMap = BTreeMap<String, String>;

/// Checks a caller's options and gathers them; those of the command line are refused, and of a repeated key the last counts, except `soc_set`,
/// whose values add up.
pub fn gather<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<OptionMap> {
    let mut map = OptionMap::new();
    for (key, value) in pairs {
        match check(key, value)? {
            Some(spec) if spec.effect == CommandLine && !value.is_empty() => {
                return Err(Error::option(key, "belongs to the command line and cannot be given here"));
            }
            Some(_) => {}
            None => log::debug!("option `{key}` is GE's and has no effect on tuning"),
        }
        match map.get_mut(key) {
            Some(earlier) if key == "soc_set" => *earlier = format!("{earlier};{value}"),
            _ => drop(map.insert(key.to_owned(), value.to_owned())),
        }
    }
    Ok(map)
}

/// Refuses options that `user`, which knows only some, would not act on. GE's own keys have no effect anywhere.
pub fn restrict(options: &OptionMap, known: &[&str], user: &str) -> Result<()> {
    let ignored =
        |(key, value): &(&String, &String)| !value.is_empty() && find(key).is_some() && !known.contains(&key.as_str());
    match options.iter().find(ignored) {
        Some((key, _)) => Err(Error::option(key, format!("has no effect on {user}, which knows {}", known.join(", ")))),
        None => Ok(()),
    }
}

/// The known name closest to a mistyped one, when one is close.
pub fn nearest(key: &str) -> Option<&'static str> {
    spelling::nearest(key, OPTIONS.iter().map(|o| o.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_letters_are_unique_and_defaults_are_valid() {
        for (i, a) in OPTIONS.iter().enumerate() {
            assert!(
                OPTIONS[..i].iter().all(|b| a.name != b.name && (a.short.is_none() || a.short != b.short)),
                "{}",
                a.name
            );
            a.check(a.default).unwrap();
        }
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest_name_and_ge_keys_pass() {
        let message = check("job-tpye", "2").unwrap_err().to_string();
        assert!(message.contains("job-tpye") && message.contains("`job_type`"), "{message}");
        assert!(check("ge.exec.whatever", "x").unwrap().is_none());
        assert!(check("zzzzzz", "").is_err());
    }

    #[test]
    fn a_name_without_meaning_is_told_from_a_malformed_value() {
        assert!(judge("job_type", None).is_ok() && judge("job_type", Some("2")).is_ok());
        assert!(judge("ge.whatever", Some("x")).is_ok());
        assert!(matches!(judge("job_type", Some("9")), Err(Error::Option { .. })));
        for key in ["job-type", "config", "zzzzzz", ""] {
            let error = judge(key, Some("x")).unwrap_err();
            assert!(matches!(error, Error::NotFound { .. }) && error.to_string().contains(key), "{error}");
        }
    }

    #[test]
    fn a_device_that_comes_twice_is_told_from_one_that_cannot_be() {
        for (value, reason) in [("0,1,0", "device 0 is named twice"), ("0,1024", "`1024` is no device"), ("1,,0", "``")]
        {
            let message = check("device", value).unwrap_err().to_string();
            assert!(message.contains(reason) && message.contains(value), "{message}");
        }
    }

    #[test]
    fn malformed_values_name_option_and_value() {
        for (key, value) in [
            ("job_type", "9"),
            ("tuning_parallel_num", "0"),
            ("seed", "-1"),
            ("dynamic_batch_size", "1,,4"),
            ("input_shape", "x:1,a"),
            ("dynamic_image_size", "224,0"),
            ("dynamic_dims", "1,-1"),
            ("out_nodes", ";;"),
            ("out_nodes", ":0"),
            ("out_nodes", "node:0;:"),
            ("soc_set", "=3"),
            ("Fdeeper_opat", "perhaps"),
            ("device", "0,0"),
            ("device", "1024"),
            ("device", "0,,1"),
            ("profiling_options", "{"),
            ("profiling_mode", "perhaps"),
        ] {
            let message = check(key, value).unwrap_err().to_string();
            assert!(message.contains(key), "{message}");
            assert!(check(key, "").is_ok(), "an empty {key} is not set");
        }
    }
}
