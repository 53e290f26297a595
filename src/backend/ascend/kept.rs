//! What a runtime answered, kept for one life of the library.

use super::report::Probe;
use super::{ask_apart, loaded_by_host};
use crate::backend::{Measuring, RuntimeEnv};
use crate::status::Result;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

/// The answer of the runtime that was asked last, and whom it was asked of: who looks elsewhere asks anew.
#[derive(Debug, Default)]
pub struct KeptAnswer {
    kept: Mutex<Option<(Asked, Probe)>>,
}

/// Where a runtime was looked for, and whether the process had loaded one by then.
type Asked = (RuntimeEnv, bool);

impl KeptAnswer {
    /// The answer that is kept, else what [`ask_apart`] finds, which is kept then. Fails as that does.
    pub fn or_ask(&self, env: &RuntimeEnv, measuring: &Measuring, cancel: &AtomicBool) -> Result<Probe> {
        let asked = (env.clone(), loaded_by_host(env).is_some());
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, probe)) = &*kept()
            && *of == asked
        {
            return Ok(probe.clone());
        }
        // Not under the lock: it takes as long as the runtime takes to load, and others can be cancelled.
        let probe = ask_apart(env, measuring, cancel)?;
        *kept() = Some((asked, probe.clone()));
        Ok(probe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::ascend::Outcome;

    #[test]
    fn an_answer_is_kept_for_the_same_place_and_asked_anew_of_another() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("lib64")).unwrap();
        let library = folder.path().join("lib64/libascendcl.so");
        std::fs::write(&library, "no library").unwrap();
        let env = RuntimeEnv { ascend_home_path: Some(folder.path().to_owned()), ..RuntimeEnv::default() };
        let (answer, cancel) = (KeptAnswer::default(), AtomicBool::new(false));
        let ask = |env: &RuntimeEnv| answer.or_ask(env, &Measuring::default(), &cancel).unwrap();
        let refused = |probe: &Probe| probe.attempts.iter().any(|a| matches!(a.outcome, Outcome::Refused(_)));
        assert!(refused(&ask(&env)));
        std::fs::remove_file(&library).unwrap();
        assert!(refused(&ask(&env)), "kept");
        assert!(!refused(&ask(&RuntimeEnv::default())), "another place");
        assert!(!refused(&ask(&env)), "asked anew");
    }
}
