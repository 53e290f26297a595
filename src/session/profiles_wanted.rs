//! Which profiles a tuning call is to write, by option and environment.

use super::environment::Environment;
use crate::profile::Options;
use crate::status::{Error, Result};

/// The profiles that a tuning writes.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// What they hold.
    pub options: Options,
    /// Whether the caller asked for them; else they belong to the results folder, and the tuning does without them
    /// where they cannot be made.
    pub is_asked: bool,
}

/// What is profiled: options first, then the environment, where only `true` counts, as GE has it. Where neither says
/// anything, a results folder has profiles.
///
/// Fails with [`Error::Option`] or [`Error::Environment`] that names what is wrong in the profiling options.
pub fn wanted(
    mode: Option<bool>,
    options: Option<&str>,
    environment: &Environment,
    has_folder: bool,
) -> Result<Option<Wanted>> {
    let given = options.map(Options::parse).transpose()?;
    let of = |options, is_asked| Ok(Some(Wanted { options, is_asked }));
    match (mode, environment.get("PROFILING_MODE")) {
        (Some(true), _) => of(given.unwrap_or_default(), true),
        (None, Some(mode)) if mode == "true" => {
            let text = environment.get("PROFILING_OPTIONS").unwrap_or_default().to_string_lossy();
            let read = Options::parse(&text).map_err(|error| match error {
                Error::Option { reason, .. } => Error::Environment { name: "PROFILING_OPTIONS".into(), reason },
                other => other,
            });
            of(read?, true)
        }
        (None, None) if has_folder => of(given.unwrap_or_default(), false),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::{Environment, wanted};

    fn environment(variables: &[(&'static str, &str)]) -> Environment {
        Environment::from_variables(variables, "/w")
    }

    #[test]
    fn the_option_beats_the_environment_where_only_true_counts() {
        let on = environment(&[("PROFILING_MODE", "true"), ("PROFILING_OPTIONS", r#"{"output":"/e"}"#)]);
        let output =
            |mode, options| wanted(mode, options, &on, true).unwrap().map(|wanted| wanted.options.output.unwrap());
        assert_eq!(output(None, None), Some("/e".into()));
        assert_eq!(output(Some(true), Some(r#"{"output":"/o"}"#)), Some("/o".into()));
        assert_eq!(output(Some(false), None), None);
        assert!(wanted(None, None, &environment(&[("PROFILING_MODE", "1")]), true).unwrap().is_none());
        assert!(wanted(Some(true), None, &environment(&[]), false).unwrap().unwrap().options.training_trace);
    }

    #[test]
    fn a_results_folder_has_profiles_unless_they_are_switched_off() {
        let none = environment(&[]);
        let is_asked = |mode, has_folder| wanted(mode, None, &none, has_folder).unwrap().map(|wanted| wanted.is_asked);
        assert_eq!((is_asked(None, true), is_asked(Some(true), true)), (Some(false), Some(true)));
        assert_eq!((is_asked(Some(false), true), is_asked(None, false)), (None, None));
        let level = wanted(None, Some(r#"{"task_time":"l0"}"#), &none, true).unwrap().unwrap().options.tasks;
        assert_eq!(level, crate::profile::Level::Times);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_source() {
        let broken = environment(&[("PROFILING_MODE", "true"), ("PROFILING_OPTIONS", "{")]);
        let message = wanted(None, None, &broken, false).unwrap_err().to_string();
        assert!(message.contains("environment variable PROFILING_OPTIONS"), "{message}");
        // A malformed option is one although it asks for nothing.
        assert!(wanted(None, Some("{"), &environment(&[]), false).is_err());
    }
}
