//! Fusion scopes: which kernels may run as one, and what that one does.

use super::network::{Network, Role};
use super::rules::{self, Pass};
use crate::graph::Port;
use crate::lower::Source;
use crate::soc::Arch;
use crate::workload::{Move, Operand, Reduce, Vector, Workload};
use rustc_hash::FxHashSet;
use std::borrow::Cow;

pub use crate::frontend::air::tuned::MOST_MEMBERS;

/// A kernel that could follow others within a scope.
pub struct Follower<'n> {
    network: &'n Network<'n>,
    arch: Arch,
    at: u32,
    /// Kernels whose results a conversion of the layout hands to it: that is a kernel between the two.
    converted: FxHashSet<u32>,
}

impl<'n> Follower<'n> {
    /// Looks at a kernel's reads once, of which there may be very many.
    pub fn new(network: &'n Network<'n>, arch: Arch, at: u32) -> Follower<'n> {
        let converted = network.stage(at).reads.iter().filter(|read| read.converted);
        let converted = converted.filter_map(|read| match read.source {
            Source::Kernel(from) => Some(from),
            Source::Constant | Source::Input => None,
        });
        Follower { network, arch, at, converted: converted.collect() }
    }

    /// Whether it could follow a kernel that it reads, as far as the two of them tell.
    pub fn follows(&self, first: u32) -> bool {
        let (a, b) = (self.network.stage(first), self.network.stage(self.at));
        if self.converted.contains(&first) {
            return false;
        }
        match (a.role, b.role) {
            (Role::Cube, _) => {
                let is_only = !a.leaves && a.users.len() == 1 && a.elements == b.domain;
                let moves = || self.network.op_type(self.at) == "ConfusionTransposeD";
                let hangs_on = b.role == Role::Elementwise || b.role == Role::Alone && moves();
                is_only && hangs_on && rules::follows_cube(self.network, self.arch, first, self.at)
            }
            // A smaller operand is stretched inside the core.
            (Role::Elementwise, Role::Elementwise) => {
                let fits = a.elements == b.domain || a.elements < b.domain && !a.leaves;
                fits && [first, self.at].iter().all(|&at| rules::joins(self.network, self.arch, at))
            }
            (Role::Elementwise, Role::Reducing) => {
                a.elements == b.domain && rules::joins(self.network, self.arch, first)
            }
            _ => false,
        }
    }
}

/// The pass that fuses these kernels, ascending; `None` where they may not be one kernel. That no path
/// leaves the set and comes back is for the caller to see to.
pub fn pass(network: &Network<'_>, arch: Arch, members: &[u32]) -> Option<Pass> {
    found(network, arch, members).filter(|pass| network.settings().ub_off.is_on(pass.name()))
}

/// The pass of CANN for these kernels, whether or not it is switched on.
fn found(network: &Network<'_>, arch: Arch, members: &[u32]) -> Option<Pass> {
    let (&leader, rest) = members.split_first()?;
    if members.len() > MOST_MEMBERS {
        return None;
    }
    let follows = |&at: &u32| {
        let follower = Follower::new(network, arch, at);
        made_inside(network, members, at).all(|from| follower.follows(from))
    };
    if !is_connected(network, members) || !rest.iter().all(follows) {
        return None;
    }
    if network.stage(leader).role != Role::Cube {
        return joined(network, arch, members);
    }
    // Whatever is behind a cube kernel hangs on its result, one on the other, and one result goes out.
    let heads = members.iter().filter(|&&at| made_inside(network, members, at).next().is_none()).count();
    let results = members.iter().filter(|&&at| is_result(network, members, at)).count();
    let whole = |at: &u32| network.stage(*at).domain == network.stage(leader).elements;
    let chain = heads == 1 && results == 1 && !is_result(network, members, leader) && rest.iter().all(whole);
    if chain && !rest.is_empty() { rules::behind_cube(network, arch, leader, rest) } else { None }
}

/// The pass that joins kernels without a cube: elementwise ones, of which side branches may come together, and behind
/// them at most one reduction. What is smaller than the rest is stretched in UB, and read by the rest alone.
fn joined(network: &Network<'_>, arch: Arch, members: &[u32]) -> Option<Pass> {
    let (&last, before) = members.split_last()?;
    let domain = members.iter().map(|&at| network.stage(at).domain).max()?;
    let ends = |at: u32| network.stage(at).role == Role::Reducing && network.stage(at).domain == domain;
    let is_elementwise = |at: u32| {
        let stage = network.stage(at);
        let fits = stage.domain == domain || !is_result(network, members, at);
        stage.role == Role::Elementwise && fits && rules::joins(network, arch, at)
    };
    let fits = before.iter().all(|&at| is_elementwise(at)) && (is_elementwise(last) || ends(last));
    (fits && arch != Arch::C310).then_some(Pass::AutomaticUbFusion)
}

/// Members whose results a member reads.
fn made_inside<'n>(network: &'n Network<'_>, members: &'n [u32], at: u32) -> impl Iterator<Item = u32> + use<'n> {
    network.stage(at).reads.iter().filter_map(|read| match read.source {
        Source::Kernel(from) if members.contains(&from) => Some(from),
        _ => None,
    })
}

/// Whether the members hang together by the tensors between them.
fn is_connected(network: &Network<'_>, members: &[u32]) -> bool {
    let mut reached = vec![members[0]];
    let mut next = 0;
    while let Some(&at) = reached.get(next) {
        next += 1;
        let users = network.stage(at).users.iter().copied().filter(|user| members.contains(user));
        for other in users.chain(made_inside(network, members, at)) {
            if !reached.contains(&other) {
                reached.push(other);
            }
        }
    }
    reached.len() == members.len()
}

/// Whether a member's result is needed outside the scope.
pub fn is_result(network: &Network<'_>, members: &[u32], at: u32) -> bool {
    let stage = network.stage(at);
    stage.leaves || stage.users.is_empty() || stage.users.iter().any(|user| !members.contains(user))
}

/// What a scope does as one kernel, on one of `parts` parts of the batch. `None` where a member needs the
/// whole batch.
///
/// The first piece moves everything that crosses the scope's border, each tensor once; of the others only
/// what they compute counts, and behind a cube kernel the operands that they fetch themselves.
pub fn workload<'n>(network: &'n Network<'_>, members: &[u32], parts: u64) -> Option<Cow<'n, Workload>> {
    let piece = |at: u32| if parts == 1 { Some(network.stage(at).workload) } else { network.slice(at, parts) };
    if let [only] = members {
        return piece(*only).map(Cow::Borrowed);
    }
    let leader = head(network, members)?;
    let first = piece(leader)?;
    let rest = members.iter().filter(|&&at| at != leader);
    let rest: Vec<(u32, &Workload)> = rest.map(|&at| Some((at, piece(at)?))).collect::<Option<_>>()?;
    let mut border = Border { network, members, parts, seen: Vec::new() };
    let mut fused = Vec::with_capacity(members.len());
    if first.is_cube() {
        // What the cube reads goes to L1: a follower has to fetch it again.
        fused.push(first.clone());
        for (at, work) in rest {
            fused.push(inner(work, border.foreign(at, work))?);
        }
    } else {
        let Workload::Vector(head) = first else { return None };
        let mut head = Vector { inputs: border.foreign(leader, first), ..head.clone() };
        if !is_result(network, members, leader) {
            head.outputs.clear();
        }
        for &(at, work) in &rest {
            head.inputs.extend(border.foreign(at, work));
            if is_result(network, members, at) {
                head.outputs.extend(work.operands()?.1.iter().cloned());
            }
        }
        fused.push(Workload::Vector(head));
        for (_, work) in rest {
            fused.push(inner(work, Vec::new())?);
        }
    }
    Some(Cow::Owned(Workload::Fused(fused)))
}

/// The member whose loop walks over everything: the first, where none before the others is stretched.
fn head(network: &Network<'_>, members: &[u32]) -> Option<u32> {
    let &first = members.first()?;
    if network.stage(first).role == Role::Cube {
        return Some(first);
    }
    let domain = |&at: &u32| network.stage(at).domain;
    let widest = members.iter().map(domain).max()?;
    let elementwise = |at: &u32| network.stage(*at).role == Role::Elementwise;
    members.iter().copied().find(|at| domain(at) == widest && elementwise(at)).or(Some(first))
}

/// A follower: works on a tensor that is there already, and reads these others.
fn inner(work: &Workload, others: Vec<Operand>) -> Option<Workload> {
    let (inputs, outputs) = work.operands()?;
    let walked = inputs.iter().chain(outputs).max_by_key(|o| o.bytes())?.clone();
    let inputs = std::iter::once(walked.clone()).chain(others).collect();
    Some(match work {
        Workload::Reduce(w) => Workload::Reduce(Reduce { inputs, outputs: vec![walked], ..w.clone() }),
        Workload::Move(w) => Workload::Move(Move { inputs, outputs: vec![walked], ..w.clone() }),
        _ => Workload::Vector(Vector { op_type: work.op_type().to_owned(), inputs, outputs: vec![walked] }),
    })
}

/// What comes into a scope from outside.
struct Border<'a> {
    network: &'a Network<'a>,
    members: &'a [u32],
    parts: u64,
    /// Tensors that a member has fetched already.
    seen: Vec<Port>,
}

impl Border<'_> {
    /// The operands of a member that no other member makes or has fetched.
    fn foreign(&mut self, at: u32, work: &Workload) -> Vec<Operand> {
        let mut inputs = work.operands().map_or_else(Vec::new, |(inputs, _)| inputs.to_vec());
        let reads = &self.network.stage(at).reads;
        for read in reads {
            let inside = matches!(read.source, Source::Kernel(from) if self.members.contains(&from));
            if inside || self.seen.contains(&read.origin) {
                // Operands may stand in another order than inputs: a tensor is known by its size, of two of
                // one size by its type.
                let seen = self.network.part_of(at, read, self.parts);
                let size = |o: &Operand| o.elements() == seen;
                let bits = |bytes: u64, elements: u64| u128::from(bytes) * 8 / u128::from(elements.max(1));
                let has_type = |o: &Operand| bits(o.bytes(), o.elements()) == bits(read.bytes, read.elements);
                let exact = inputs.iter().position(|o| size(o) && has_type(o));
                if let Some(index) = exact.or_else(|| inputs.iter().position(size)) {
                    inputs.remove(index);
                }
            }
        }
        self.seen.extend(reads.iter().map(|read| read.origin));
        inputs
    }
}
