//! One kernel's timeline in the two forms that people read: text, and a Chrome trace.

mod text;
mod trace;

pub(super) use trace::Trace;

use crate::sim::timeline::Timeline;

/// A case with its timeline.
#[derive(Debug, Clone)]
pub struct Explanation {
    /// The case's own id.
    pub id: serde_json::Value,
    /// The work in short form.
    pub workload: String,
    /// The SoC.
    pub soc: String,
    /// What has to be said of the case.
    pub notes: Vec<String>,
    /// The timeline.
    pub timeline: Timeline,
}

impl Explanation {
    /// One line that names the kernel.
    fn title(&self) -> String {
        const MOST: usize = 96;
        let id = match &self.id {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(id) => format!("{id}: "),
            other => format!("{other}: "),
        };
        let title: String = format!("{id}{} on {}", self.workload, self.soc)
            .chars()
            .map(|c| if c.is_control() { '?' } else { c })
            .collect();
        if title.chars().count() <= MOST {
            return title;
        }
        let part = format!("... on {}", self.soc);
        let kept = MOST.saturating_sub(part.chars().count());
        title.chars().take(kept).chain(part.chars()).collect()
    }
}
