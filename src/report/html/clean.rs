//! What a page can show: no text longer than it has room for, none with characters that turn what stands around them, no
//! time that no tuning gives. Whatever a report says, the page stays a page.

use super::text::cleaned;
use crate::report::explain::{Layout, Predicted};
use crate::report::gains::{Gains, Over};
use crate::report::gdat::{Gradients, SplitUs};
use crate::report::kernel::Kernel;
use crate::report::model::{Report, SocPart};
use crate::report::runs::{Launched, Runs};
use crate::report::sgat::Subgraph;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Characters of a name: of a node, of an operator type.
const NAME: usize = 96;
/// Characters that tell two nodes apart whose names the page shortens.
const NODE: usize = 512;
/// Characters of a sentence, a path.
const LINE: usize = 4096;

/// Cuts times, rates and sizes that no tuning gives, so that sums of the others stay numbers.
fn measure(value: &mut f64) {
    let least = value.min(1e30);
    *value = if least > 1e-12 { least } else { 0.0 };
}

fn measures<'a>(values: impl IntoIterator<Item = &'a mut f64>) {
    values.into_iter().for_each(measure);
}

fn string(text: &mut String, most: usize) {
    if let Cow::Owned(clean) = cleaned(text, most) {
        *text = clean;
    }
}

fn text(text: &mut Cow<'_, str>, most: usize) {
    if let Cow::Owned(clean) = cleaned(text, most) {
        *text = Cow::Owned(clean);
    }
}

fn strings<'a>(texts: impl IntoIterator<Item = &'a mut String>, most: usize) {
    texts.into_iter().for_each(|text| string(text, most));
}

fn texts<'a, 'b: 'a>(all: impl IntoIterator<Item = &'a mut Cow<'b, str>>, most: usize) {
    all.into_iter().for_each(|one| text(one, most));
}

fn keys<V>(map: &mut BTreeMap<Cow<'_, str>, V>) {
    *map = std::mem::take(map)
        .into_iter()
        .map(|(mut key, value)| {
            text(&mut key, NAME);
            (key, value)
        })
        .collect();
}

/// Makes all of a report that the page shows what it can show.
pub fn clean(report: &mut Report<'static>) {
    measures([&mut report.after_us, &mut report.before_us]);
    texts([&mut report.graph, &mut report.version], NAME);
    string(&mut report.improvement, NAME);
    surroundings(report);
    nodes(report);
    for run in report.earlier.to_mut() {
        measures([&mut run.after_us, &mut run.before_us]);
        strings([&mut run.began, &mut run.graph, &mut run.improvement], NAME);
        strings(run.interval.iter_mut().flatten(), NAME);
    }
    report.gains.iter_mut().for_each(gains);
    report.gradients.iter_mut().for_each(gradients);
    report.kernels.iter_mut().for_each(kernel);
    report.runs.iter_mut().for_each(|of| runs(of.to_mut()));
    if let Some(subgraphs) = &mut report.subgraphs {
        texts(&mut subgraphs.bank, LINE);
        text(&mut subgraphs.priced_by, LINE);
        subgraphs.distinct.iter_mut().for_each(subgraph);
    }
}

/// Who measured on what, and where the files lie.
fn surroundings(report: &mut Report<'static>) {
    text(&mut report.backend.name, NAME);
    texts([&mut report.backend.detail, &mut report.backend.note, &mut report.bank.custom], LINE);
    texts(&mut report.bank.root, LINE);
    let option =
        |(key, value): (&String, &String)| (cleaned(key, NAME).into_owned(), cleaned(value, LINE).into_owned());
    report.options = Cow::Owned(report.options.iter().map(option).collect());
    if let Some(profiles) = &mut report.profiles {
        texts([&mut profiles.after, &mut profiles.before], LINE);
    }
    for files in report.tuned_model.iter_mut().chain(&mut report.tuned_gears) {
        texts([&mut files.air, &mut files.om], LINE);
        string(&mut files.content, LINE);
    }
    match &mut report.soc {
        SocPart::Name(name) => text(name, NAME),
        SocPart::Description(soc) => string(&mut soc.to_mut().name, NAME),
    }
    if let Some(roofs) = &mut report.roofs {
        measures([&mut roofs.cube_16_bit, &mut roofs.cube_8_bit, &mut roofs.vector_16_bit]);
        measures([&mut roofs.l2, &mut roofs.memory]);
    }
}

/// Nodes without sizes, and those of which it is not known how they work.
fn nodes(report: &mut Report<'static>) {
    for node in &mut report.dynamic {
        texts([&mut node.name, &mut node.origin_type, &mut node.source, &mut node.source_type], NAME);
        texts(&mut node.why, LINE);
    }
    for node in &mut report.unmapped {
        texts([&mut node.name, &mut node.origin_type], NAME);
        texts(&mut node.reason, NAME);
    }
}

fn gains(gains: &mut Gains<'_>) {
    for one in &mut gains.failed {
        text(&mut one.op, NAME);
        text(&mut one.reason, LINE);
    }
    for gear in &mut gains.gears {
        text(&mut gear.name, NAME);
        over(&mut gear.over);
    }
    for left in &mut gains.left {
        texts([&mut left.op, &mut left.op_type], NAME);
        text(&mut left.lever.kind, NAME);
        string(&mut left.lever.what, LINE);
        measure(&mut left.saved_us);
    }
    measures([&mut gains.left_us, &mut gains.not_sure.saved_us, &mut gains.own_form.saved_us]);
    measure(&mut gains.worth_measuring.saved_us);
    let worth = &mut gains.worth_measuring;
    strings([&mut worth.bank, &mut worth.decided_by, &mut worth.run_with], LINE);
    over(&mut gains.over_default);
    over(&mut gains.over_estimated);
    keys(&mut gains.readers);
}

fn over(over: &mut Over) {
    measures([&mut over.after_us, &mut over.before_us]);
    string(&mut over.improvement, NAME);
    strings(over.interval.iter_mut().flatten(), NAME);
}

fn kernel(kernel: &mut Kernel<'_>) {
    measures([&mut kernel.after_us, &mut kernel.before_us]);
    measures(kernel.candidates.iter_mut().map(|candidate| &mut candidate.us));
    texts(kernel.nodes.iter_mut().map(|node| &mut node.name), NODE);
    text(&mut kernel.op_type, NAME);
    texts(&mut kernel.stop, NAME);
    string(&mut kernel.workload, LINE);
    kernel.held_after.iter_mut().chain(&mut kernel.held_before).for_each(layout);
    kernel.predicted_after.iter_mut().chain(&mut kernel.predicted_before).for_each(predicted);
    if let Some(unsure) = &mut kernel.unsure {
        measure(&mut unsure.candidate.us);
        string(&mut unsure.decided_by, LINE);
        unsure.held.iter_mut().for_each(layout);
        unsure.predicted.iter_mut().for_each(predicted);
    }
    if let Some(timeline) = &mut kernel.timeline {
        keys(&mut timeline.phases);
        keys(&mut timeline.waits);
        measures(timeline.phases.values_mut().chain(timeline.waits.values_mut()).chain([&mut timeline.us]));
        strings(timeline.pipes.values_mut(), NAME);
    }
}

fn layout(layout: &mut Layout) {
    keys(&mut layout.buffers);
}

fn predicted(predicted: &mut Predicted) {
    let moved = &mut predicted.moved;
    measures(predicted.cycles.values_mut().chain([&mut predicted.us]));
    measures([&mut moved.gm_to_l1, &mut moved.l1_to_l0_a, &mut moved.l1_to_l0_b]);
    measures([&mut moved.l0_c_to_gm, &mut moved.gm_to_ub, &mut moved.ub_to_gm]);
}

fn runs(runs: &mut Runs) {
    measures(runs.sequence_before.iter_mut().chain(&mut runs.sequence_after).map(|step| &mut step.us));
    runs.before.iter_mut().chain(&mut runs.after).for_each(launched);
}

fn launched(launched: &mut Launched) {
    measure(&mut launched.us);
    strings(launched.name.iter_mut().chain(&mut launched.op_type), NAME);
    strings(&mut launched.workload, LINE);
    text(&mut launched.task_type, NAME);
    if let Some(work) = &mut launched.work {
        measures([&mut work.bytes, &mut work.cube_operations, &mut work.vector_operations]);
    }
}

/// Names of its nodes are compared with those of its scopes, and are cleaned where they are shown.
fn subgraph(subgraph: &mut Subgraph<'_>) {
    measures([&mut subgraph.after.us, &mut subgraph.before.us]);
    strings(subgraph.op_types.to_mut(), NAME);
    texts(&mut subgraph.places, NAME);
}

fn gradients(gradients: &mut Gradients<'_>) {
    texts(&mut gradients.timeline, LINE);
    for scale in &mut gradients.scaling {
        measures([&mut scale.after_us, &mut scale.before_us]);
        measures([&mut scale.trailing_after_us, &mut scale.trailing_before_us]);
    }
    let splits = [&mut gradients.split_after, &mut gradients.split_before, &mut gradients.split_from_bank];
    splits.into_iter().flatten().for_each(split);
}

fn split(split: &mut SplitUs<'_>) {
    measures([&mut split.backward_us, &mut split.end_us, &mut split.trailing_us]);
    for segment in &mut split.segments {
        measures([&mut segment.end_us, &mut segment.ready_us, &mut segment.start_us]);
    }
}
