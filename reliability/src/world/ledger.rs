//! What was recorded and acknowledged in a world, and what may have taken its place.

use super::plan::Find;
use aoe::workload::Schedule;
use std::sync::{Mutex, MutexGuard};

/// The process that wrote what was there before a world began.
const NOBODY: usize = usize::MAX;

/// What a bank has for a problem: the tiling, and its time where that is known.
pub type Found = (Schedule, Option<f64>);

/// One record that a process tried to save.
#[derive(Debug, Clone)]
struct Attempt {
    process: usize,
    bank: u8,
    problem: u8,
    schedule: Schedule,
    /// Microseconds, where it was recorded with them.
    time: Option<f64>,
    /// What the process had seen there, which it decided to replace.
    seen: Option<Schedule>,
    /// The banks that are known to have it, or what took its place: a bit for each.
    acknowledged: u8,
}

impl Attempt {
    /// Whether this one, written after the other, rightly takes its place.
    fn replaces(&self, other: &Attempt) -> bool {
        let us = |attempt: &Attempt| attempt.time.unwrap_or(f64::INFINITY);
        us(self) <= us(other) || self.seen.as_ref() == Some(&other.schedule)
    }
}

/// What was tried.
#[derive(Debug, Default)]
struct Tried {
    attempts: Vec<Attempt>,
    /// From which bank into which one was merged, or was tried to.
    merges: Vec<(u8, u8)>,
}

impl Tried {
    /// The banks that may have what was saved in one: a bit for each.
    fn reached_from(&self, bank: u8) -> u8 {
        let mut reached = 1 << bank;
        loop {
            let further = self.merges.iter().filter(|(from, _)| reached >> from & 1 == 1);
            let all = further.fold(reached, |all, (_, into)| all | 1 << into);
            if all == reached {
                return all;
            }
            reached = all;
        }
    }

    /// The attempts at a problem that a bank may have.
    fn of(&self, bank: u8, problem: u8) -> Vec<&Attempt> {
        let may_be_there = |a: &&Attempt| a.problem == problem && self.reached_from(a.bank) >> bank & 1 == 1;
        self.attempts.iter().filter(may_be_there).collect()
    }
}

/// All of it. Locked without a step of the world in between: no order of steps hangs on it.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Tried>);

impl Ledger {
    fn tried(&self) -> MutexGuard<'_, Tried> {
        self.0.lock().expect("a world that panicked is over")
    }

    /// Notes what is about to be saved; gives its number.
    pub fn attempt(&self, process: usize, bank: u8, find: Find, seen: Option<Schedule>) -> usize {
        let attempts = &mut self.tried().attempts;
        let (problem, schedule, time) = (find.problem, find.schedule(), Some(f64::from(find.time_us)));
        attempts.push(Attempt { process, bank, problem, schedule, time, seen, acknowledged: 0 });
        attempts.len() - 1
    }

    /// Notes what a bank had before the world began.
    pub fn laid(&self, bank: u8, problem: u8, (schedule, time): Found) {
        let (process, acknowledged) = (NOBODY, 1 << bank);
        let attempt = Attempt { process, bank, problem, schedule, time, seen: None, acknowledged };
        self.tried().attempts.push(attempt);
    }

    /// Whether there was a record that nobody measured.
    pub fn has_unmeasured(&self) -> bool {
        self.tried().attempts.iter().any(|attempt| attempt.time.is_none())
    }

    /// Whether somebody in the world measured a tiling.
    pub fn is_measured(&self, problem: u8, schedule: &Schedule) -> bool {
        let is_it = |a: &Attempt| a.problem == problem && a.schedule == *schedule && a.process != NOBODY;
        self.tried().attempts.iter().any(is_it)
    }

    /// Notes that banks are about to be merged into one; gives what is certain to be in one of them.
    pub fn merge(&self, from: &[u8], into: u8) -> Vec<usize> {
        let mut certain: Vec<usize> = from.iter().flat_map(|&bank| self.acknowledged(bank)).collect();
        certain.sort_unstable();
        certain.dedup();
        self.tried().merges.extend(from.iter().map(|&from| (from, into)));
        certain
    }

    /// Notes that a bank has these.
    pub fn acknowledge(&self, numbers: &[usize], bank: u8) {
        let attempts = &mut self.tried().attempts;
        numbers.iter().for_each(|&number| attempts[number].acknowledged |= 1 << bank);
    }

    /// Those that are certain by now to be in a bank.
    pub fn acknowledged(&self, bank: u8) -> Vec<usize> {
        let attempts = &self.tried().attempts;
        (0..attempts.len()).filter(|&number| attempts[number].acknowledged >> bank & 1 == 1).collect()
    }

    pub fn is_acknowledged_to(&self, process: usize) -> bool {
        self.tried().attempts.iter().any(|attempt| attempt.process == process && attempt.acknowledged != 0)
    }

    /// Fails unless what was found in a bank was recorded by somebody, and each record that was acknowledged before is it or
    /// was rightly replaced by it, at once or by way of others.
    pub fn check(&self, bank: u8, problem: u8, found: Option<&Found>, acknowledged: &[usize]) {
        let tried = self.tried();
        let attempts = tried.of(bank, problem);
        let is_found = |attempt: &Attempt| {
            found.is_some_and(|(schedule, time)| *schedule == attempt.schedule && *time == attempt.time)
        };
        assert!(
            found.is_none() || attempts.iter().any(|attempt| is_found(attempt)),
            "problem {problem} has {found:?} in bank {bank}, which nobody recorded: {:?}",
            told(&attempts)
        );
        for number in acknowledged {
            let from = &tried.attempts[*number];
            assert!(
                from.problem != problem || reaches(&attempts, from, is_found),
                "problem {problem}: {:?} us were acknowledged to be in bank {bank} and are lost; there is {:?} of {:?}",
                from.time,
                found.map(|(_, time)| time),
                told(&attempts)
            );
        }
    }
}

/// Who recorded, with what time, and which banks are known to have it.
fn told(attempts: &[&Attempt]) -> Vec<(usize, Option<f64>, u8)> {
    attempts.iter().map(|attempt| (attempt.process, attempt.time, attempt.acknowledged)).collect()
}

/// Whether replacements lead from an attempt to one that is wanted.
fn reaches(attempts: &[&Attempt], from: &Attempt, is_wanted: impl Fn(&Attempt) -> bool) -> bool {
    let (mut seen, mut open) = (vec![false; attempts.len()], vec![from]);
    while let Some(now) = open.pop() {
        if is_wanted(now) {
            return true;
        }
        for (next, attempt) in attempts.iter().enumerate() {
            if !seen[next] && attempt.replaces(now) {
                seen[next] = true;
                open.push(attempt);
            }
        }
    }
    false
}
