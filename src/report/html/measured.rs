//! Who measured, on what, with which options; and what was written.

use super::text::digits;
use crate::report::model::{Report, SocPart};
use maud::{Markup, html};

/// The section.
pub fn measured(report: &Report<'_>) -> Markup {
    html! {
        section #backend {
            h2 { "Who measured this" }
            table .plain {
                tbody {
                    (row("backend", &html! { (report.backend.name) }))
                    (row("", &html! { (report.backend.note) }))
                    (row("", &html! { (report.backend.detail) }))
                    @if let Some(subgraphs) = &report.subgraphs {
                        (row("subgraphs", &html! { "priced by the simulator, whoever measures operators: " (subgraphs.priced_by) }))
                    }
                    (row("SoC", &soc(&report.soc)))
                    @if let Some(seed) = report.seed { (row("seed", &html! { (seed) })) }
                    @for (option, value) in report.options.iter() { (row("option", &html! { code { "--" (option) "=" (value) } })) }
                    @for model in report.tuned_model.iter().chain(&report.tuned_gears) {
                        (row("tuned model", &html! { code { (model.air) } br; code { (model.om) } br; (model.content) }))
                    }
                    @if let Some(profiles) = &report.profiles {
                        (row("profiles", &html! { code { (profiles.before) } br; code { (profiles.after) } }))
                    }
                    @if let Some(timeline) = report.gradients.as_ref().and_then(|gradients| gradients.timeline.as_ref()) {
                        (row("timeline", &html! { code { (timeline) } }))
                    }
                    (row("libaoe", &html! { (report.version) }))
                }
            }
        }
    }
}

fn row(name: &str, value: &Markup) -> Markup {
    html! { tr { th scope="row" { (name) } td { (value) } } }
}

fn soc(soc: &SocPart<'_>) -> Markup {
    html! {
        (soc.name())
        @if let SocPart::Description(soc) = soc {
            ": " (soc.ai_core_cnt) " cube cores at " (digits(soc.cube_freq_mhz / 1e3)) " GHz, " (soc.vector_core_cnt) " vector cores, "
            (soc.l2_size >> 20) " MiB of L2, " (digits(soc.hbm_gb_s)) " GB/s of device memory"
        }
    }
}
