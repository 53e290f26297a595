//! What comes out of a search: one line of JSON for each trial and one for the end, and on stderr how far it
//! is.

use super::measured::Measured;
use crate::console::Console;
use crate::json;
use crate::progress;
use aoe::search::space::{Named, Space, Value};
use aoe::search::{Domain, StopReason, Trial};
use aoe::status::{Error, Result};
use indicatif::ProgressBar;
use serde::Serialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The lines of one search.
pub struct Report<'a> {
    console: Arc<Console>,
    space: &'a Space,
    /// Where the lines of the trials go, unless to stdout.
    file: Option<(PathBuf, File)>,
    started: Instant,
    budget: usize,
    bar: Option<ProgressBar>,
    /// Quarters of the budget told so far, where there is no bar.
    quarters: usize,
    /// The first trial of each configuration.
    trials: HashMap<Vec<u32>, u64>,
    measured: usize,
    failed: usize,
    /// The best trial so far.
    best: Option<Best>,
}

#[derive(Debug, Clone, PartialEq)]
struct Best {
    trial: u64,
    configuration: Vec<u32>,
    time: f64,
}

#[derive(Serialize)]
struct TrialLine<'a> {
    trial: u64,
    /// The earlier trial that this one measures again.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats: Option<u64>,
    configuration: Named<'a>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// Lowest time so far; null while nothing was measured.
    best: Option<f64>,
}

#[derive(Serialize)]
struct BestLine<'a> {
    trial: u64,
    time: f64,
    configuration: Named<'a>,
}

#[derive(Serialize)]
struct EndLine<'a> {
    stop: &'static str,
    trials: usize,
    failed: usize,
    elapsed_s: f64,
    best: Option<BestLine<'a>>,
}

impl<'a> Report<'a> {
    /// A report of so many trials at most, whose lines go to a file, or else to stdout.
    pub fn new(console: &Arc<Console>, space: &'a Space, output: Option<&Path>, budget: usize) -> Result<Report<'a>> {
        let create = |path: &Path| {
            let file = File::create(path).map_err(|error| Error::file("create", path, error))?;
            Ok((path.to_owned(), file))
        };
        Ok(Report {
            console: Arc::clone(console),
            space,
            file: output.map(create).transpose()?,
            started: Instant::now(),
            budget,
            bar: None,
            quarters: 0,
            trials: HashMap::new(),
            measured: 0,
            failed: 0,
            best: None,
        })
    }

    /// Says what is searched, and how long it took to find out what is legal.
    pub fn begin(&mut self, path: &Path, found_in: Duration) {
        let all = self.space.sizes().iter().map(|&size| f64::from(size)).product::<f64>();
        let all = if all < 1e15 { format!("{all}") } else { format!("{all:.1e}") };
        let legal = match self.space.count() {
            Some(count) => format!("{count} legal of {all} configurations"),
            None => format!("{all} configurations, the legal ones too many to list"),
        };
        let text = format!(
            "{}: {} parameters, {legal}, found in {:.1} ms",
            path.display(),
            self.space.parameters().len(),
            found_in.as_secs_f64() * 1e3,
        );
        self.console.notice("INFO", &text);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.bar = progress::bar(true, &name);
        self.console.set_bar(self.bar.clone());
        if let Some(bar) = &self.bar {
            bar.set_length(self.budget as u64);
        }
    }

    /// Prints a trial, and says so where it is the best one so far.
    pub fn trial(&mut self, trial: &Trial, measured: &Measured, best: Option<(&[u32], f64)>) -> Result<()> {
        let (status, time, reason) = match measured {
            Measured::Time(time) => ("ok", Some(*time), None),
            Measured::Failed(reason) => ("failed", None, Some(reason.as_str())),
            // Neither measured nor failed.
            Measured::Interrupted => return Ok(()),
        };
        self.measured += 1;
        self.failed += usize::from(reason.is_some());
        self.trials.entry(trial.configuration.clone()).or_insert(trial.id);
        self.note_best(best);
        self.tell_progress();
        self.write(&TrialLine {
            trial: trial.id,
            repeats: trial.repeats,
            configuration: Named(self.space, &trial.configuration),
            status,
            time,
            reason,
            best: self.best.as_ref().map(|best| best.time),
        })
    }

    fn note_best(&mut self, best: Option<(&[u32], f64)>) {
        let Some((configuration, time)) = best else { return };
        let new = self.best.as_ref().is_none_or(|old| old.configuration != configuration);
        if new {
            let trial = self.trials.get(configuration).copied().unwrap_or_default();
            let named = self.described(configuration);
            self.console.notice("INFO", &format!("trial {trial}: best so far {time} with {named}"));
            self.best = Some(Best { trial, configuration: configuration.to_vec(), time });
        } else if let Some(old) = &mut self.best {
            // Measured again, its mean has moved.
            old.time = time;
        }
    }

    fn described(&self, configuration: &[u32]) -> String {
        let pair = |(name, value): (&str, &Value)| format!("{name}={value}");
        let pairs: Vec<String> = self.space.named(configuration).map(pair).collect();
        pairs.join(" ")
    }

    /// Moves the bar, or says at each quarter of the budget how far it is.
    fn tell_progress(&mut self) {
        let best = self.best.as_ref().map_or("none yet".to_owned(), |best| best.time.to_string());
        let quarters = self.measured * 4 / self.budget.max(1);
        match &self.bar {
            Some(bar) => {
                bar.set_message(format!("trials, best {best}"));
                bar.set_position(self.measured as u64);
            }
            None if quarters > self.quarters => {
                let (done, all, failed) = (self.measured, self.budget, self.failed);
                self.console.notice("INFO", &format!("{done} of {all} trials, {failed} failed, best {best}"));
            }
            None => {}
        }
        self.quarters = quarters;
    }

    /// Whether the lines of the trials have nowhere to go any more: the reader of stdout went away, or its disk
    /// is full.
    pub fn is_closed(&self) -> bool {
        self.file.is_none() && self.console.is_closed()
    }

    /// Prints the last line, to stdout also where the file takes no more.
    ///
    /// Fails with [`Error::Tuning`] when every trial failed, and with [`Error::File`] when the file could not be
    /// written.
    pub fn end(&mut self, stop: StopReason) -> Result<()> {
        let best = self.best.as_ref().map(|best| BestLine {
            trial: best.trial,
            time: best.time,
            configuration: Named(self.space, &best.configuration),
        });
        let line = json::line(&EndLine {
            stop: stop.name(),
            trials: self.measured,
            failed: self.failed,
            elapsed_s: self.started.elapsed().as_secs_f64(),
            best,
        })?;
        self.console.text(&line);
        if let Some((path, file)) = &mut self.file {
            file.write_all(line.as_bytes()).map_err(|error| Error::file("write", path, error))?;
        }
        if self.best.is_none() && stop != StopReason::Cancelled {
            let reason = format!("none of {} trials could be measured; the lines above say why", self.measured);
            return Err(Error::Tuning { reason });
        }
        Ok(())
    }

    fn write(&mut self, line: &impl Serialize) -> Result<()> {
        let line = json::line(line)?;
        if let Some((path, file)) = &mut self.file {
            return file.write_all(line.as_bytes()).map_err(|error| Error::file("write", path, error));
        }
        self.console.text(&line);
        Ok(())
    }
}

impl Drop for Report<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        self.console.set_bar(None);
    }
}
