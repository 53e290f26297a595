//! How far a tuning is: a bar on a terminal, a line at the start and at each quarter otherwise.

use crate::console::{Console, log_on_stdout};
use crate::settings::Settings;
use crate::table::middle_cut;
use aoe::tune::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Arc;
use std::time::Duration;

/// Terminals of this many columns or fewer get no bar, as with CANN's tuner.
const MIN_COLUMNS: u16 = 20;
/// Columns that the bar with its network time needs; narrower terminals get the bar alone.
const WIDE_COLUMNS: u16 = 72;
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
        // Of gradients nothing is known until every kernel is measured.
        let is_known = progress.baseline_us > 0.0;
        let network = format!("{:.3} -> {:.3} ms", progress.baseline_us / 1e3, progress.network_us / 1e3);
        let network = if is_known { network } else { String::new() };
        match &self.bar {
            Some(bar) => {
                bar.set_length(progress.total as u64);
                bar.set_message(network);
                bar.set_position(progress.done as u64);
            }
            None => self.tell(progress, &network),
        }
    }

    fn tell(&mut self, progress: &Progress, network: &str) {
        let Progress { done, total, unit, .. } = *progress;
        let quarters = (done * 4).checked_div(total).unwrap_or(0);
        if done == 0 {
            self.console.notice("INFO", &format!("{}: {total} distinct {unit}", self.model));
        } else if quarters > self.quarters && done < total {
            self.console.notice("INFO", format!("{}: {done} of {total} {unit} {network}", self.model).trim_end());
        }
        self.quarters = quarters;
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
        "{prefix} [{wide_bar}] {pos}/{len} {msg} {elapsed}"
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    // Letters that every terminal and every locale shows.
    let style = style.progress_chars("=> ");
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style);
    bar.set_prefix(middle_cut(name, NAME_COLUMNS));
    bar.enable_steady_tick(Duration::from_millis(500));
    Some(bar)
}
