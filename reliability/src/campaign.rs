//! Many seeds on all processors, until one fails.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Something left out on purpose, to see that the campaign finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planted {
    /// Contents of files are never made durable.
    Contents,
    /// Names in directories are never made durable.
    Directories,
    /// Locks keep nobody out.
    Locks,
    /// A merge does not see the last file of a bank.
    Merge,
    /// Reading passes over lines that only a later version knows.
    Versions,
    /// What is one step to all threads is two.
    Torn,
    /// Threads that read a file note its name in one place.
    Shared,
}

/// What the arguments ask for.
#[derive(Debug, Clone, Copy)]
pub struct Campaign {
    pub seeds: u64,
    pub from: u64,
    /// One seed alone, told in full.
    one: bool,
    pub planted: Option<Planted>,
    threads: usize,
}

/// What was found with a seed: how to see it, in lines.
pub type Finding = String;

impl Campaign {
    /// Reads the arguments behind the campaign's name.
    pub fn of(arguments: impl Iterator<Item = String>) -> Result<Campaign, String> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut campaign = Campaign { seeds: 10_000, from: 0, one: false, planted: None, threads };
        for argument in arguments {
            let (name, value) = argument.split_once('=').ok_or_else(|| format!("`{argument}` has no value"))?;
            let number = || value.parse::<u64>().map_err(|e| format!("`{argument}`: {e}"));
            match name {
                "--seeds" => campaign.seeds = number()?,
                "--from" => campaign.from = number()?,
                "--seed" => (campaign.from, campaign.seeds, campaign.one) = (number()?, 1, true),
                "--threads" => campaign.threads = number()?.clamp(1, 1024) as usize,
                "--plant" => campaign.planted = Some(planted(value)?),
                _ => return Err(format!("`{name}` is no option")),
            }
        }
        Ok(campaign)
    }

    /// Runs the seeds and says what came of them.
    pub fn run(self, name: &str, find: fn(u64, Option<Planted>, bool) -> Option<Finding>) -> ExitCode {
        // A failing seed panics in its world, and the finding says what there is to say. Shuttle's first run sets a hook.
        shuttle::check_random(|| {}, 1);
        std::panic::set_hook(Box::new(|_| {}));
        let (begin, end) = (Instant::now(), self.from.saturating_add(self.seeds));
        let next = AtomicU64::new(self.from);
        let search = || -> Option<(u64, Finding)> {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= end {
                    return None;
                }
                if let Some(finding) = find(seed, self.planted, self.one) {
                    next.store(end, Ordering::Relaxed);
                    return Some((seed, finding));
                }
            }
        };
        let found: Vec<(u64, Finding)> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..self.threads).map(|_| scope.spawn(search)).collect();
            workers.into_iter().filter_map(|worker| worker.join().ok().flatten()).collect()
        });
        let first = found.into_iter().min_by_key(|(seed, _)| *seed);
        let seconds = begin.elapsed().as_secs_f64();
        match (first, self.planted) {
            (None, None) => {
                println!("{name}: {} seeds from {}, nothing found, {seconds:.0} s", self.seeds, self.from);
                ExitCode::SUCCESS
            }
            (None, Some(planted)) => {
                println!("{name}: {} seeds, and {planted:?} was not found out, {seconds:.0} s", self.seeds);
                ExitCode::FAILURE
            }
            (Some((seed, finding)), planted) => {
                println!("{name}: seed {seed} of {} fails, {seconds:.0} s\n{finding}", self.seeds);
                let plant = planted.map_or(String::new(), |p| format!(" --plant={}", format!("{p:?}").to_lowercase()));
                println!("repeat: aoe-reliability {name} --seed={seed}{plant}");
                if planted.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
            }
        }
    }
}

fn planted(name: &str) -> Result<Planted, String> {
    match name {
        "contents" => Ok(Planted::Contents),
        "directories" => Ok(Planted::Directories),
        "locks" => Ok(Planted::Locks),
        "merge" => Ok(Planted::Merge),
        "versions" => Ok(Planted::Versions),
        "torn" => Ok(Planted::Torn),
        "shared" => Ok(Planted::Shared),
        _ => Err(format!("`{name}` is no fault: contents, directories, locks, merge, versions, torn, shared")),
    }
}
