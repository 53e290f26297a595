//! A training step kernel by kernel, as it runs with a split.

use super::cluster::Contention;
use super::outcome::{Case, Found};
use super::plan::moments;
use crate::graph::{Graph, NodeId};
use crate::lower::{self, Lowered};
use crate::workload::{Collective, CollectiveKind, Workload};

/// A step as it runs. Times are microseconds from its begin.
#[derive(Debug)]
pub struct StepRun {
    /// The kernels of forward and backward pass, each launched once, and one for each segment, in the order in which
    /// they begin.
    pub lowered: Lowered,
    /// Begin and end of each.
    pub spans_us: Vec<[f64; 2]>,
    /// Whether the time of each is the performance model's.
    pub is_simulated: Vec<bool>,
    /// When the backward pass is over.
    pub backward_us: f64,
}

impl StepRun {
    /// The step with one of the splits that were found; `lowered` are the kernels of the graph. `None` for a recording,
    /// which tells of gradients and not of kernels.
    pub fn new(
        graph: &Graph,
        lowered: &Lowered,
        found: &Found,
        contention: Contention,
        case: &Case,
    ) -> Option<StepRun> {
        let mut all = computing(lowered, found, contention, case);
        all.extend(exchanging(graph, found, case));
        // Stable: what computes stands before the exchange that begins with it.
        all.sort_by(|a, b| a.1[0].total_cmp(&b.1[0]));
        let mut run = StepRun {
            lowered: Lowered { kernels: Vec::with_capacity(all.len()), unmapped: lowered.unmapped.clone() },
            spans_us: Vec::with_capacity(all.len()),
            is_simulated: Vec::with_capacity(all.len()),
            backward_us: case.plan.backward_us,
        };
        for (kernel, span, is_simulated) in all {
            run.lowered.kernels.push(kernel);
            run.spans_us.push(span);
            run.is_simulated.push(is_simulated);
        }
        (!found.kernels.is_empty()).then_some(run)
    }
}

/// A kernel, its span, and whether that is simulated.
type Ran = (lower::Kernel, [f64; 2], bool);

/// The kernels of both passes, slowed down by the exchanges beside them.
fn computing(lowered: &Lowered, found: &Found, contention: Contention, case: &Case) -> Vec<Ran> {
    let mut all = Vec::with_capacity(found.kernels.len());
    let mut ends = Vec::with_capacity(found.kernels.len());
    let mut now = 0.0;
    for ran in &found.kernels {
        let Some(kernel) = lowered.kernels.get(ran.kernel) else { continue };
        for _ in 0..kernel.launches {
            now += ran.us;
            ends.push(now);
            all.push((lower::Kernel { launches: 1, ..kernel.clone() }, [0.0; 2], ran.is_simulated));
        }
    }
    let ends = moments(&found.training.step(), case.cost, contention, &case.plan, &ends);
    let mut begin = 0.0;
    for ((_, span, _), end) in all.iter_mut().zip(ends) {
        *span = [std::mem::replace(&mut begin, end), end];
    }
    all
}

/// One exchange for each segment: of its first gradient's node, with those of the others fused into it. What they cost
/// is the cluster's description, whoever measured the kernels.
fn exchanging(graph: &Graph, found: &Found, case: &Case) -> impl Iterator<Item = Ran> {
    case.plan.segments.iter().filter_map(|segment| {
        let members = found.sets.get(segment.set)?.members.get(segment.gradients.clone())?;
        let gradients = members.iter().filter_map(|&at| found.training.gradients.get(at));
        let mut nodes = gradients.filter_map(|gradient| graph.find(&gradient.all_reduce));
        let node: NodeId = nodes.next()?;
        let workload = Workload::Collective(Collective { kind: CollectiveKind::AllReduce, bytes: segment.bytes });
        let kernel = lower::Kernel { fused: nodes.collect(), ..lower::Kernel::new(node, workload) };
        Some((kernel, [segment.start_us, segment.end_us], true))
    })
}
