//! The `--config` file: a JSON object whose keys are option names. Comments, from `//` or `#` to the end of a line, are
//! passed over.

use crate::settings::Settings;
use aoe::input_file::read_text;
use aoe::json_text::{UniqueKeys, without_comments};
use aoe::session::options::{self, Kind};
use aoe::status::{Error, Result};
use serde_json::Value;
use std::path::Path;

/// Reads the options of a file.
///
/// Fails with [`Error::File`] when it cannot be read and with [`Error::Config`], which names file and key, when
/// it is not an object of known options with well-formed values.
pub fn read(path: &Path) -> Result<Settings> {
    let bad = |line, reason: String| Error::Config { path: path.to_owned(), line, reason };
    let text = read_text(path)?;
    let UniqueKeys(object) = serde_json::from_str(&without_comments(&text))
        .map_err(|e| bad(Some(e.line()), format!("not a JSON object: {e}")))?;
    let mut settings = Settings::default();
    for (key, value) in &object {
        set(&mut settings, key, value).map_err(|reason| bad(None, format!("key `{key}`: {reason}")))?;
    }
    Ok(settings)
}

/// Sets one option from its JSON value; the error is the reason alone.
fn set(settings: &mut Settings, key: &str, value: &Value) -> Result<(), String> {
    let text = match value {
        _ if key == "config" => return Err("a configuration file cannot name another".to_owned()),
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        // What is JSON itself needs no quotes around it.
        Value::Object(_) if options::find(key).is_some_and(|spec| spec.kind == Kind::Profiling) => value.to_string(),
        _ => return Err("its value must be a string, a number, true or false".to_owned()),
    };
    settings.set(key, text).map_err(|error| match error {
        Error::Option { reason, .. } => reason,
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn read_text(text: &str) -> Result<Settings> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        read(file.path())
    }

    #[test]
    fn numbers_strings_and_truth_values_are_options() {
        let settings = read_text(
            r#"{"job_type": "operator", "tuning_time_limit": 3600, "Fdeeper_opat": true, "target_metric": "latency"}"#,
        )
        .unwrap();
        let expected = [
            ("Fdeeper_opat", "true"),
            ("job_type", "operator"),
            ("target_metric", "latency"),
            ("tuning_time_limit", "3600"),
        ];
        assert_eq!(settings.options().iter().map(|(k, v)| (k.as_str(), v.as_str())).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_is_json_itself_is_an_option_with_and_without_quotes() {
        let read = |value: &str| read_text(&format!(r#"{{"profiling_options": {value}}}"#));
        let plain = read(r#"{"l2": "on"}"#).unwrap();
        assert_eq!(plain.options()["profiling_options"], r#"{"l2":"on"}"#);
        assert_eq!(read(r#""{\"l2\":\"on\"}""#).unwrap().options(), plain.options());
        assert!(read(r#"{"l2": true}"#).unwrap_err().to_string().contains("`l2`"));
    }

    #[test]
    fn whatever_is_wrong_is_named_with_file_and_key() {
        for (text, culprit) in [
            (r#"{"job_tpye": 2}"#, "`job_tpye`"),
            (r#"{"job_type": 9}"#, "`job_type`"),
            (r#"{"seed": -1}"#, "`seed`"),
            (r#"{"seed": [1]}"#, "`seed`"),
            (r#"{"seed": null}"#, "`seed`"),
            (r#"{"config": "x"}"#, "`config`"),
            ("{\"seed\": 1,\n\"seed\": 2}", "`seed` is given twice"),
            ("{\n\"seed\": 1,\n}", ":3"),
            ("[]", "JSON object"),
            ("", "JSON object"),
        ] {
            let error = read_text(text).unwrap_err();
            assert!(matches!(error, Error::Config { .. }), "{error}");
            assert!(error.to_string().contains(culprit), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_no_regular_file_is_refused() {
        for path in ["/dev/zero", "/"] {
            assert!(matches!(read(Path::new(path)), Err(Error::File { .. })), "{path}");
        }
    }

    #[test]
    fn comments_are_passed_over_and_what_looks_like_one_in_a_text_is_kept() {
        let text = "// a guide's sample\n{ # the job\n \"job_type\": \"2\", // operators\n \"output\": \"a//b#c\\\"//d/\"\n}\n";
        let settings = read_text(text).unwrap();
        assert_eq!((settings.get("job_type"), settings.get("output")), (Some("2"), Some("a//b#c\"//d/")));
        let error = read_text("{\n// one\n\"job_type\": 2,\n}").unwrap_err().to_string();
        assert!(error.contains(":4"), "a mistake keeps its line: {error}");
    }
}
