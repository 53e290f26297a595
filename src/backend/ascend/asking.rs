//! Asking a runtime in a process of its own: one that hangs or crashes when it is asked takes nobody with it.

use super::job::{Answer, Work};
use super::places::{Place, places};
use super::process::{self, Circumstances, End};
use super::program;
use super::report::{Attempt, Origin, Outcome, Probe};
use super::symbols::{ACL_RT, ASCENDCL};
use super::workshop::Workshop;
use crate::backend::{Measuring, RuntimeEnv};
use crate::status::{Error, Result};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Time that a runtime may take to say what it is, where candidates may take more. CANN's answer in a second or two.
const MOST_TIME: Duration = Duration::from_secs(60);

/// Looks for a runtime as [`super::probe`] does, in a process of its own. One that hangs or crashes then is an
/// attempt with [`Outcome::Silent`].
///
/// A runtime that this process has loaded is asked here, for it is this one that will be used; and so is any where
/// there is no program to ask with, without which nothing is measured either. Fails with [`Error::Cancelled`] only.
pub fn ask_apart(env: &RuntimeEnv, measuring: &Measuring, cancel: &AtomicBool) -> Result<Probe> {
    if super::loaded_by_host(env).is_some() {
        return Ok(super::probe(env));
    }
    let Ok(program) = program::find(measuring.program.as_deref()) else { return Ok(super::probe(env)) };
    let circumstances = Circumstances {
        program: &program,
        under: &[],
        turn: &Mutex::new(()),
        cancel,
        timeout: measuring.timeout.min(MOST_TIME),
        parallel_compiler: measuring.parallel_compiler,
    };
    match asked(env, &circumstances) {
        Ok(End::Answered(Answer::Probed(probe))) => Ok(*probe),
        Ok(End::Answered(Answer::Failed { reason, .. }) | End::Lost(reason) | End::Unstarted(reason)) => {
            Ok(silent(env, &reason))
        }
        Ok(End::Answered(Answer::Described(_) | Answer::Compiled | Answer::Timed(_))) => {
            Ok(silent(env, "a wrong answer"))
        }
        Ok(End::Cancelled) => Err(Error::Cancelled),
        Err(error) => Ok(silent(env, &error.to_string())),
    }
}

fn asked(env: &RuntimeEnv, circumstances: &Circumstances<'_>) -> Result<End> {
    let workshop = Workshop::open(env.temporary())?;
    Ok(process::run(Work::Probe(env.clone()), &workshop.bench()?, circumstances))
}

/// What is known where nobody answered: which library was to be asked first.
fn silent(env: &RuntimeEnv, reason: &str) -> Probe {
    let names = |place: &Place| [ASCENDCL, ACL_RT].map(|name| (place.origin, place.path_of(name)));
    let mut all = places(env).into_iter().flat_map(|place| names(&place));
    let first = all.find(|(origin, path)| *origin == Origin::SystemLoader || path.exists());
    let (origin, path) = first.unwrap_or_else(|| (Origin::SystemLoader, Path::new(ASCENDCL).to_owned()));
    let reason = format!("asking it what it is came to nothing, {reason}");
    Probe { attempts: vec![Attempt { origin, path, outcome: Outcome::Silent(reason) }], runtime: None }
}
