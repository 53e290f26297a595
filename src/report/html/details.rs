//! What a row of the operators opens into, as the JSON that `page.js` draws: keys are of one letter, and what many
//! rows have in common is told once, so that a thousand operators stay one page.
//!
//! | key | holds |
//! |---|---|
//! | `b`, `p`, `m`, `l`, `q` | names of the buffers with their sizes; of pipes, of ways of data, of lanes; what decides |
//! | `o` | the operators, in the order of their rows |
//! | `o.u` | microseconds of one launch before and after, and launches |
//! | `o.n` | candidates measured, failed, known before |
//! | `o.s` | why the search ended |
//! | `o.x` | the work |
//! | `o.d` | whose default it is |
//! | `o.w` | why the tiling is faster |
//! | `o.c` | the best candidates: microseconds, and how the tiling differs from the one after |
//! | `o.q` | place in `q` of what decides about the tiling, where that is not sure to be better |
//! | `o.h`, `o.p`, `o.m` | place in `b`, `p`, `m`, then bytes or cycles before and after |
//! | `o.e` | microseconds predicted before and after |
//! | `o.t` | the timeline: microseconds, those at which its phases end, and for each lane its place in `l` and its digits, the ninths of each part of the time in which it works; a letter behind one says how often it comes, `B` twice, `C` three times |

use super::text::shortened;
use super::tilings::difference;
use super::why::{PIPES, WAYS, cycles, moved, why};
use super::winner::{Winner, is_alike};
use crate::report::explain::{Lanes, Layout};
use crate::report::kernel::{Candidate, Kernel};
use crate::workload::{DefaultOrigin, Schedule};
use serde::Serialize;

/// Characters of the work.
const WORK: usize = 160;
/// Characters of what would decide.
const DECIDING: usize = 160;
/// Lanes of a timeline, in the order in which data pass them.
const LANES: [&str; 7] = ["memory", "mte2", "mte1", "cube", "vector", "fixpipe", "mte3"];
/// Phases of a timeline.
const PHASES: [&str; 4] = ["start", "fill", "steady", "drain"];

/// A timeline: microseconds, ends of its phases, and its lanes.
type Timed = (f64, Vec<f64>, Vec<(usize, String)>);

/// The details of the operators of one page.
#[derive(Debug, Default, Serialize)]
pub struct Details {
    b: Vec<(String, u64)>,
    p: Vec<&'static str>,
    m: Vec<&'static str>,
    l: [&'static str; 7],
    q: Vec<String>,
    o: Vec<Operator>,
}

#[derive(Debug, Serialize)]
struct Operator {
    u: (f64, f64, usize),
    n: [usize; 3],
    #[serde(skip_serializing_if = "String::is_empty")]
    s: String,
    x: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    d: Option<DefaultOrigin>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    w: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    c: Vec<(f64, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    q: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    h: Vec<[u64; 3]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    p: Vec<[u64; 3]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    m: Vec<[u64; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    e: Option<[f64; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    t: Option<Timed>,
}

impl Details {
    /// Those of no operator.
    pub fn new() -> Details {
        Details {
            p: PIPES.map(|pipe| pipe.1).to_vec(),
            m: WAYS.map(|way| way.1).to_vec(),
            l: LANES,
            ..Details::default()
        }
    }

    /// Adds an operator; answers about how many bytes that takes.
    pub fn add(&mut self, kernel: &Kernel<'_>) -> usize {
        let operator = self.operator(kernel);
        // What cannot be written takes nothing; the numbers were cut to those that JSON has when they were read.
        let bytes = serde_json::to_string(&operator).map_or(0, |text| text.len());
        self.o.push(operator);
        bytes
    }

    /// The details as text that can stand in a page: JSON in which no tag can begin or end.
    pub fn text(&self) -> String {
        serde_json::to_string(self)
            .unwrap_or_default()
            .replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026")
    }

    fn operator(&mut self, kernel: &Kernel<'_>) -> Operator {
        let winner = Winner::of(kernel);
        let predicted = kernel.predicted_before.as_ref().zip(winner.predicted);
        Operator {
            u: (rounded(kernel.before_us), rounded(kernel.after_us), kernel.count),
            n: [kernel.trials, kernel.failed_trials, kernel.known_trials],
            s: kernel.stop.as_ref().map(|stop| shortened(stop, 20).replace('_', " ")).unwrap_or_default(),
            x: shortened(&kernel.workload, WORK),
            d: kernel.default,
            w: why(kernel),
            c: candidates(kernel),
            q: kernel.unsure.as_ref().map(|unsure| place(&mut self.q, shortened(&unsure.decided_by, DECIDING))),
            h: self.buffers(kernel.held_before.as_ref(), winner.held),
            p: predicted.map(|(a, b)| indexed(&PIPES, |name| [a, b].map(|of| cycles(of, name)))).unwrap_or_default(),
            m: predicted.map(|(a, b)| indexed(&WAYS, |name| [a, b].map(|of| moved(of, name)))).unwrap_or_default(),
            e: predicted.map(|(before, after)| [before.us, after.us].map(rounded)),
            t: kernel.timeline.as_ref().map(timeline),
        }
    }

    /// The buffers that one of the tilings uses.
    fn buffers(&mut self, before: Option<&Layout>, after: Option<&Layout>) -> Vec<[u64; 3]> {
        let (Some(before), Some(after)) = (before, after) else { return Vec::new() };
        let mut held = Vec::new();
        for (name, buffer) in &after.buffers {
            let place =
                self.b.iter().position(|known| known.0 == *name && known.1 == buffer.size).unwrap_or_else(|| {
                    self.b.push((name.to_string(), buffer.size));
                    self.b.len() - 1
                });
            held.push([place as u64, before.buffers.get(name).map_or(0, |before| before.bytes), buffer.bytes]);
        }
        held
    }
}

/// The best that were measured, before others that are as fast the one that came of them.
fn candidates(kernel: &Kernel<'_>) -> Vec<(f64, String)> {
    let best = Winner::of(kernel).tiling;
    let mut candidates: Vec<&Candidate<'_>> = kernel.candidates.iter().collect();
    candidates
        .sort_by(|a, b| a.us.total_cmp(&b.us).then(is_alike(&b.schedule, best).cmp(&is_alike(&a.schedule, best))));
    let words = |tiling: &Schedule| {
        if is_alike(tiling, &kernel.before) {
            "CANN's default".to_owned()
        } else if is_alike(tiling, best) {
            "the best".to_owned()
        } else {
            difference(tiling, best)
        }
    };
    candidates.into_iter().map(|candidate| (rounded(candidate.us), words(&candidate.schedule))).collect()
}

/// The place of a value in a list, which gets it where it has it not.
fn place<T: PartialEq>(list: &mut Vec<T>, value: T) -> usize {
    list.iter().position(|known| *known == value).unwrap_or_else(|| {
        list.push(value);
        list.len() - 1
    })
}

/// Places of the names with the numbers before and after, as far as there are any.
fn indexed(names: &[(&str, &str)], value: impl Fn(&str) -> [f64; 2]) -> Vec<[u64; 3]> {
    let all = names.iter().enumerate().map(|(at, (name, _))| {
        let [before, after] = value(name).map(|value| value.round() as u64);
        [at as u64, before, after]
    });
    all.filter(|values| values[1].saturating_add(values[2]) > 0).collect()
}

fn timeline(timeline: &Lanes) -> Timed {
    let ends = PHASES.iter().filter_map(|phase| timeline.phases.get(*phase)).map(|us| rounded(*us));
    let lane = |(at, name): (usize, &&str)| Some((at, runs(timeline.pipes.get(*name)?)));
    (rounded(timeline.us), ends.collect(), LANES.iter().enumerate().filter_map(lane).collect())
}

/// Digits with a letter behind each that comes several times.
fn runs(digits: &str) -> String {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_digit).collect();
    // 26 letters: a longer run is several.
    let runs = digits.chunk_by(|a, b| a == b).flat_map(|run| run.chunks(26));
    let letters = runs.flat_map(|run| [run[0], b'A' + (run.len() - 1) as u8].into_iter().take(run.len()));
    letters.map(char::from).collect()
}

/// To the nanosecond, as far as that is one number of few digits.
fn rounded(us: f64) -> f64 {
    if us < 1e12 { (us * 1e3).round() / 1e3 } else { us }
}

#[cfg(test)]
mod tests {
    use super::runs;

    #[test]
    fn digits_that_repeat_are_told_once() {
        assert_eq!(["", "7", "0099910", &"4".repeat(48)].map(runs), ["", "7", "0B9C10", "4Z4V"]);
    }
}
