//! How far a tuning is: a bar on a terminal, a line at the start and at each quarter otherwise.

use crate::console::{Console, log_on_stdout};
use crate::settings::Settings;
use crate::table::middle_cut;
use aoe::report::{improvement, time};
use aoe::tune::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Arc;
use std::time::Duration;

/// Terminals of this many columns or fewer get no bar, as with CANN's tuner.
const MIN_COLUMNS: u16 = 20;
/// Columns that the bar with its network time needs; narrower terminals get the bar alone.
const WIDE_COLUMNS: u16 = 110;
/// Columns of the model's name beside the bar.
const NAME_COLUMNS: usize = 24;

/// Shows the progress of one tuning.
pub struct Meter {
    console: Arc<Console>,
    model: String,
    bar: Option<ProgressBar>,
    /// Quarters told so far, where there is no bar.
    quarters: usize,
}

impl Meter {
    /// A meter for the tuning of one model.
    pub fn new(console: &Arc<Console>, settings: &Settings, model: &str) -> Meter {
        let bar = bar(settings.get("progress_bar") != Some("off"), model);
        console.set_bar(bar.clone());
        Meter { console: Arc::clone(console), model: model.to_owned(), bar, quarters: 0 }
    }

    /// Shows how far the tuning is.
    pub fn update(&mut self, progress: &Progress) {
        let network = best_so_far(progress);
        match &self.bar {
            Some(bar) => {
                bar.set_length(progress.total as u64);
                let unit = progress.unit;
                bar.set_message(if network.is_empty() { unit.to_owned() } else { format!("{unit}, {network}") });
                bar.set_position(progress.done as u64);
            }
            None => self.tell(progress, &network),
        }
    }

    fn tell(&mut self, progress: &Progress, network: &str) {
        // Lines are for what is finished.
        if progress.searching > 0 {
            return;
        }
        let Progress { done, total, unit, .. } = *progress;
        let quarters = (done * 4).checked_div(total).unwrap_or(0);
        if done == 0 {
            self.console.notice("INFO", &format!("{}: {total} distinct {unit}", self.model));
        } else if quarters > self.quarters && done < total {
            let network = if network.is_empty() { String::new() } else { format!(", {network}") };
            self.console.notice("INFO", &format!("{}: {done} of {total} {unit}{network}", self.model));
        }
        self.quarters = quarters;
    }
}

/// The time of what is finished before and now, and how long the rest will take.
fn best_so_far(progress: &Progress) -> String {
    let (before, now) = (progress.baseline_us, progress.network_us);
    let gain = if now > 0.0 { format!(" (gain {})", improvement(before, now)) } else { String::new() };
    // Of operators what CANN will take counts; which strategies it reads is known when all subgraphs are tuned.
    let of = if progress.unit == "subgraphs" { " with all that was found" } else { "" };
    let left = progress.remaining_s.filter(|_| progress.done < progress.total);
    let left = left.map(|seconds| format!(", {} left", duration(seconds))).unwrap_or_default();
    // Of gradients nothing is known until every kernel is measured.
    if before <= 0.0 {
        return left.trim_start_matches(", ").to_owned();
    }
    format!("their time {} -> {}{of}{gain}{left}", time(before), time(now))
}

/// A duration in the unit that fits it: `3s`, `12min`, `2.5h`.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 99.5 => format!("{s:.0}s"),
        s if s < 99.5 * 60.0 => format!("{:.0}min", s / 60.0),
        s => format!("{:.1}h", s / 3600.0),
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        self.console.set_bar(None);
    }
}

/// A bar that bears a name, where it is wanted and stderr is a terminal wide enough.
pub fn bar(wanted: bool, name: &str) -> Option<ProgressBar> {
    let term = console::Term::stderr();
    let (_, columns) = term.size_checked().filter(|_| wanted && !log_on_stdout() && term.features().is_attended())?;
    if columns <= MIN_COLUMNS {
        return None;
    }
    let template = if columns < WIDE_COLUMNS {
        "[{wide_bar}] {percent:>3}%"
    } else {
        "{prefix} [{wide_bar}] {pos} of {len} {msg}, {elapsed} gone"
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    // Letters that every terminal and every locale shows.
    let style = style.progress_chars("=> ");
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style);
    bar.set_prefix(middle_cut(name, NAME_COLUMNS));
    bar.enable_steady_tick(Duration::from_millis(500));
    Some(bar)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_of_subgraphs_is_not_said_to_be_what_cann_takes() {
        let progress = Progress { unit: "subgraphs", ..progress(1, None) };
        assert_eq!(best_so_far(&progress), "their time 380 µs -> 305 µs with all that was found (gain 24.59%)");
    }

    fn progress(done: usize, remaining_s: Option<f64>) -> Progress {
        let (baseline_us, network_us) = if done > 0 { (380.0, 305.0) } else { (0.0, 0.0) };
        let (unit, node) = ("operators", String::new());
        let (elapsed_s, trials, searching) = (1.0, 9, 0);
        Progress { unit, done, total: 4, node, searching, network_us, baseline_us, elapsed_s, trials, remaining_s }
    }

    #[test]
    fn the_best_so_far_and_the_time_left_are_told_as_far_as_they_are_known() {
        assert_eq!(best_so_far(&progress(0, None)), "");
        assert_eq!(best_so_far(&progress(1, Some(3.2))), "their time 380 µs -> 305 µs (gain 24.59%), 3s left");
        assert_eq!(best_so_far(&progress(4, Some(0.0))), "their time 380 µs -> 305 µs (gain 24.59%)");
        assert_eq!([600.0, 9000.0].map(duration), ["10min", "2.5h"]);
    }
}
