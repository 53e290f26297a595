//! Splits that others make: hccl's default, equal ones, and what CANN makes of a bank entry.

use super::cluster::Cluster;
use super::split::Step;
use crate::bank::gradient::Gradients;
use crate::sim::collective::Algorithm;

/// The share of the bytes in the first of the two segments that hccl cuts by default.
const DEFAULT_SHARE: f64 = 0.9654;

/// Segments that CANN takes from a bank at most.
const MOST_SEGMENTS: usize = 8;

/// hccl's default: two segments, the first with 96.54 % of the bytes. Where no gradient ends there, the nearest one
/// that does; a single gradient is one segment.
pub fn hccl_default(step: &Step) -> Vec<usize> {
    let n = step.bytes.len();
    if n < 2 {
        return vec![n];
    }
    vec![nearest(&step.sums(), DEFAULT_SHARE, 1, n - 1), n]
}

/// So many segments of as many gradients each, as nearly as they divide.
pub fn uniform_by_count(gradients: usize, segments: usize) -> Vec<usize> {
    (1..=segments).map(|k| gradients * k / segments).collect()
}

/// So many segments of as many bytes each, as nearly as whole gradients allow, none empty.
pub fn uniform_by_size(step: &Step, segments: usize) -> Vec<usize> {
    let (n, sums) = (step.bytes.len(), step.sums());
    let mut ends = Vec::with_capacity(segments);
    for k in 1..segments {
        let first = ends.last().map_or(1, |end| end + 1);
        ends.push(nearest(&sums, k as f64 / segments as f64, first, n - (segments - k)));
    }
    ends.push(n);
    ends
}

/// The place from `first` to `last` whose sum is nearest to a share of the whole.
fn nearest(sums: &[f64], share: f64, first: usize, last: usize) -> usize {
    let wanted = share * sums.last().copied().unwrap_or(0.0);
    let above = sums.partition_point(|&sum| sum < wanted).clamp(first, last);
    if above > first && (wanted - sums[above - 1]) < (sums[above] - wanted) { above - 1 } else { above }
}

/// What CANN's graph compiler makes of a bank entry on this cluster, by the rule and the constants that its sources
/// have; `None` where it keeps hccl's default, because nothing beats one segment. The cluster's links stand for what
/// it asks the device for. Single precision, as there, but for the sums of bytes and nanoseconds, which are exact.
pub fn from_bank(entry: &Gradients, cluster: &Cluster) -> Option<Vec<usize>> {
    let n = entry.size.len();
    if entry.time.len() != n || n < 2 {
        return None;
    }
    let rule = Rule::new(entry, CannCost::of(cluster));
    let mut best = (rule.cost.ms(rule.mib(0, n)), 0);
    for first in 1..n {
        if let Some(trailing) = rule.starting_with(first, |_| ())
            && trailing < best.0
        {
            best = (trailing, first);
        }
    }
    let (_, first) = best;
    let mut ends = Vec::new();
    (first > 0).then(|| rule.starting_with(first, |end| ends.push(end)))?;
    Some(ends)
}

/// CANN's rule over one entry: MiB and milliseconds.
struct Rule {
    cost: CannCost,
    /// Bytes, and nanoseconds, of the first so many gradients. Of the times the first is none.
    bytes: Vec<u128>,
    ns: Vec<u128>,
}

impl Rule {
    fn new(entry: &Gradients, cost: CannCost) -> Rule {
        let sums = |list: &mut dyn Iterator<Item = u64>| {
            let mut sum = 0u128;
            let sums = list.map(|number| {
                sum += u128::from(number);
                sum
            });
            std::iter::once(0).chain(sums.collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        let times = entry.time.iter().skip(1).copied();
        Rule { cost, bytes: sums(&mut entry.size.iter().copied()), ns: sums(&mut std::iter::once(0).chain(times)) }
    }

    fn mib(&self, from: usize, to: usize) -> f32 {
        (self.bytes[to] - self.bytes[from]) as f32 / (1024.0 * 1024.0)
    }

    fn ms(&self, from: usize, to: usize) -> f32 {
        (self.ns[to] - self.ns[from]) as f32 / 1e6
    }

    /// The trailing time of the split whose first segment ends at `first`, and the segments' ends; `None` where it has
    /// too many.
    fn starting_with(&self, first: usize, mut each_end: impl FnMut(usize)) -> Option<f32> {
        let n = self.bytes.len() - 1;
        let mut previous = self.cost.ms(self.mib(0, first));
        let mut trailing = previous + self.ms(0, first);
        let (mut segments, mut begin) = (1, first);
        each_end(first);
        while begin < n {
            if segments == MOST_SEGMENTS {
                return None;
            }
            // What becomes ready while the segment before is exchanged goes along.
            let mut end = self.ready_within(begin, previous + self.cost.startup_ms);
            if end == begin {
                end += 1;
                trailing += self.ms(begin, end) - previous;
            }
            previous = self.cost.ms(self.mib(begin, end));
            trailing += previous;
            (segments, begin) = (segments + 1, end);
            each_end(end);
        }
        Some(trailing - self.ms(0, n))
    }

    /// One past the last gradient that is ready so long after the one before `begin`. The times add up, so that
    /// it is found by halving: near the begin first, because segments are short beside all gradients.
    fn ready_within(&self, begin: usize, ms: f32) -> usize {
        let n = self.bytes.len() - 1;
        let (mut ready, mut step) = (begin, 1);
        while ready + step <= n && self.ms(begin, ready + step) <= ms {
            ready += step;
            step *= 2;
        }
        while step > 1 {
            step /= 2;
            if ready + step <= n && self.ms(begin, ready + step) <= ms {
                ready += step;
            }
        }
        ready
    }
}

/// CANN's cost of an exchange in milliseconds: a constant, and so much for each MiB.
pub(super) struct CannCost {
    constant_ms: f32,
    ms_per_mib: f32,
    /// How long after the end of an exchange gradients still go with the next one.
    pub(super) startup_ms: f32,
}

impl CannCost {
    /// Milliseconds of work that each transfer has beyond its synchronisation, and each port but the first.
    const TRANSFER_MS: f32 = 0.0001 * 5.0;
    const PORT_MS: f32 = 0.0001 * 4.0;
    /// Synchronisation of a transfer within a server (of the devices, and of the ports), and what varies.
    const SERVER_SYNC_MS: f32 = 0.001 + 0.009;
    const SERVER_JITTER_MS: f32 = 0.1;
    /// The same between servers, and the sizes that CANN takes a server and its adder to have.
    const NETWORK_SYNC_MS: f32 = 0.015;
    const NETWORK_JITTER_MS: f32 = 1.0;
    const NETWORK_PLANES: f32 = 8.0;
    const NETWORK_ADDED_GB_S: f32 = 200.0;

    pub(super) fn of(cluster: &Cluster) -> CannCost {
        let mut cost = CannCost { constant_ms: 0.0, ms_per_mib: 0.0, startup_ms: 0.0 };
        let (n, links) = (cluster.devices_per_node, &cluster.node);
        if n > 1 {
            let algorithm = links.algorithm.unwrap_or(Algorithm::Ring);
            let frequency = algorithm.steps(n) as f32;
            let fixed = frequency * Self::TRANSFER_MS + (links.links - 1) as f32 * Self::PORT_MS;
            cost.startup_ms = frequency * Self::SERVER_SYNC_MS + fixed;
            cost.constant_ms = cost.startup_ms + Self::SERVER_JITTER_MS;
            cost.ms_per_mib = algorithm.share(n) as f32 / links.device_gb_s() as f32;
        }
        if let Some(links) = cluster.network.as_ref().filter(|_| cluster.nodes > 1) {
            let servers = cluster.nodes as f32;
            let algorithm = Algorithm::HalvingDoubling;
            let frequency = algorithm.steps(cluster.nodes) as f32;
            let fixed = frequency * Self::TRANSFER_MS + (links.links - 1) as f32 * Self::PORT_MS;
            cost.constant_ms += frequency * Self::NETWORK_SYNC_MS + fixed + Self::NETWORK_JITTER_MS;
            let moved = algorithm.share(cluster.nodes) as f32 / links.device_gb_s() as f32;
            let added = (servers - 1.0) / servers / Self::NETWORK_ADDED_GB_S;
            cost.ms_per_mib += (moved + added) / Self::NETWORK_PLANES;
        }
        cost
    }

    pub(super) fn ms(&self, mib: f32) -> f32 {
        if mib > 0.0 { self.ms_per_mib * mib + self.constant_ms } else { 0.0 }
    }
}
