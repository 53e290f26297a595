//! How to run with what was found.

use super::text::time;
use crate::report::counted;
use crate::report::model::Report;
use crate::report::shell::quoted;
use maud::{Markup, html};

/// The section.
pub fn bank(report: &Report<'_>) -> Markup {
    let operators = &*report.bank.custom;
    let soc = report.soc.name();
    // What the variable names has the SoC's directory in it, and that the bank.
    let root = report.bank.root.as_deref();
    let root = root.or_else(|| operators.strip_suffix(&format!("/{soc}/unified_bank")));
    // The line for CANN would promise what it cannot keep.
    let is_read = report.gains.as_ref().is_none_or(|gains| !gains.readers.is_empty());
    let subgraphs = report.subgraphs.as_ref().and_then(|subgraphs| subgraphs.bank.as_ref());
    html! {
        section #bank {
            h2 { "How to use the bank" }
            @if !report.kernels.is_empty() {
                p { "The tilings of the operators lie in " code { (operators) } "." }
                @if !is_read {
                    p { "It has no record of this network that CANN reads." }
                } @else if let Some(root) = root {
                    p {
                        "CANN's compiler"
                        @if report.bank.is_default { " looks there by itself; one up to CANN 8.3" }
                        " looks there when it runs for " (soc) " with"
                    }
                    pre { code { "export TUNE_BANK_PATH=" (quoted(root)) } }
                    p { "set: compile the model again (" code { "atc" } ", TensorFlow, PyTorch or MindSpore), and it takes the tilings from the bank. A kernel that was compiled before keeps its old tiling: compile with " code { "op_compiler_cache_mode=force" } ", or delete " code { "kernel_cache" } " first." }
                }
                p {
                    "CANN reads the files that end in " code { "_runtime_kb.json" } ", and TBE those that are named after its operators, as "
                    code { "_conv2d.json" } "; those that end in " code { "_aoe_kb.json" }
                    " hold operators for which CANN has no such form, and only libaoe reads them."
                }
            }
            @if let Some(apart) = report.gains.as_ref().map(|gains| &gains.worth_measuring).filter(|apart| !apart.run_with.is_empty()) {
                p {
                    "Records of " (counted(apart.count as u64, "kind of kernel", "kinds of kernels")) " may save " (time(apart.saved_us))
                    ", or nothing. They lie in a bank of their own, which nothing reads by itself:"
                }
                pre { code { (apart.run_with) } }
                p { "has CANN run them. To know, " (apart.decided_by) "." }
            }
            @if let Some(path) = subgraphs {
                p { "The fusion scopes and cuts of the subgraphs lie in " code { (path) } "; CANN finds them there, or where option " code { "ge.mdl_bank_path" } " says." }
            }
            @if let Some(gradients) = &report.gradients {
                @if gradients.is_of_others {
                    p .warning {
                        "The bank in " code { (operators) } " keeps the times and sizes of other gradients of this number and type, which CANN cannot tell from these: "
                        code { "REPEAT_TUNE=True" } " replaces them."
                    }
                } @else { p {
                    "Times and sizes of the gradients lie in " code { (operators) } "; CANN's graph compiler cuts by them when it compiles the training graph"
                    @if report.bank.is_default { ": it looks there by itself." }
                    @else { " and finds the bank through " code { "TUNE_BANK_PATH" } "." }
                } }
            } @else if report.kernels.is_empty() && subgraphs.is_none() { p .none { "Nothing was written into a bank." } }
        }
    }
}
