//! What was recorded and acknowledged in a world, and what may have taken its place.

use super::plan::Find;
use aoe::workload::Schedule;
use std::sync::{Mutex, MutexGuard};

/// One record that a process tried to save.
#[derive(Debug, Clone)]
struct Attempt {
    process: usize,
    find: Find,
    schedule: Schedule,
    /// What the process had seen there, which it decided to replace.
    seen: Option<Schedule>,
    is_acknowledged: bool,
}

impl Attempt {
    /// Whether this one, written after the other, rightly takes its place.
    fn replaces(&self, other: &Attempt) -> bool {
        self.find.time_us <= other.find.time_us || self.seen.as_ref() == Some(&other.schedule)
    }
}

/// All of them. Locked without a step of the world in between: no order of steps hangs on it.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Vec<Attempt>>);

impl Ledger {
    fn attempts(&self) -> MutexGuard<'_, Vec<Attempt>> {
        self.0.lock().expect("a world that panicked is over")
    }

    /// Notes what is about to be saved; gives its number.
    pub fn attempt(&self, process: usize, find: Find, seen: Option<Schedule>) -> usize {
        let mut attempts = self.attempts();
        attempts.push(Attempt { process, find, schedule: find.schedule(), seen, is_acknowledged: false });
        attempts.len() - 1
    }

    pub fn acknowledge(&self, numbers: &[usize]) {
        let mut attempts = self.attempts();
        numbers.iter().for_each(|&number| attempts[number].is_acknowledged = true);
    }

    /// Those that are certain by now.
    pub fn acknowledged(&self) -> Vec<usize> {
        let attempts = self.attempts();
        (0..attempts.len()).filter(|&number| attempts[number].is_acknowledged).collect()
    }

    pub fn is_acknowledged_to(&self, process: usize) -> bool {
        self.attempts().iter().any(|attempt| attempt.process == process && attempt.is_acknowledged)
    }

    /// Fails unless what was found was recorded by somebody, and each record that was acknowledged before is it or was
    /// rightly replaced by it, at once or by way of others.
    pub fn check(&self, problem: u8, found: Option<(&Schedule, Option<f64>)>, acknowledged: &[usize]) {
        let attempts = self.attempts();
        let is_found = |attempt: &Attempt| {
            attempt.find.problem == problem
                && found.is_some_and(|(schedule, time)| {
                    *schedule == attempt.schedule && time == Some(f64::from(attempt.find.time_us))
                })
        };
        assert!(
            found.is_none() || attempts.iter().any(is_found),
            "problem {problem} has {found:?}, which nobody recorded: {:?}",
            told(&attempts, problem)
        );
        for &number in acknowledged.iter().filter(|&&number| attempts[number].find.problem == problem) {
            assert!(
                reaches(&attempts, number, is_found),
                "problem {problem}: {:?} was acknowledged and is lost; there is {:?} of {:?}",
                attempts[number].find,
                found.map(|(_, time)| time),
                told(&attempts, problem)
            );
        }
    }
}

fn told(attempts: &[Attempt], problem: u8) -> Vec<(usize, Find, bool)> {
    let of_it = attempts.iter().filter(|attempt| attempt.find.problem == problem);
    of_it.map(|attempt| (attempt.process, attempt.find, attempt.is_acknowledged)).collect()
}

/// Whether replacements lead from an attempt to one that is wanted.
fn reaches(attempts: &[Attempt], from: usize, is_wanted: impl Fn(&Attempt) -> bool) -> bool {
    let problem = attempts[from].find.problem;
    let (mut seen, mut open) = (vec![false; attempts.len()], vec![from]);
    while let Some(now) = open.pop() {
        if is_wanted(&attempts[now]) {
            return true;
        }
        for (next, attempt) in attempts.iter().enumerate().filter(|(_, attempt)| attempt.find.problem == problem) {
            if !seen[next] && attempt.replaces(&attempts[now]) {
                seen[next] = true;
                open.push(next);
            }
        }
    }
    false
}
