//! What a cut group holds in L2, and so which groups there are: one is a group only if everything fits.

use super::chains::chained_to;
use super::network::Network;
use crate::graph::Port;
use crate::lower::{Read, Source};
use crate::soc::Soc;
use std::ops::Range;

/// How a scope runs: on how many parts of the batch, and among whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Run {
    /// Parts of the batch, one after the other.
    pub parts: u64,
    /// First kernel of its group: what the group made for the same part is in L2.
    pub from: u32,
    /// First kernel behind its group: what is read there goes through memory.
    pub to: u32,
    /// Whether L2 keeps the group's weights from one part to the next.
    pub keeps_weights: bool,
}

impl Run {
    /// On the whole batch, by itself.
    pub const WHOLE: Run = Run { parts: 1, from: 0, to: 0, keeps_weights: true };
}

/// What consecutive kernels hold in L2 while they run one after the other on one part of the batch.
///
/// Kernels of a chain that fusion keeps inside the core ([`chained_to`]) count as one, which runs where its
/// last kernel stands. What such a link makes is held from there to the last link of the group that reads it; what
/// comes from outside, weights among it, while the link that reads it runs.
#[derive(Debug)]
pub struct Residency<'n> {
    network: &'n Network<'n>,
    parts: u64,
    from: u32,
    kernels: Vec<Held>,
    /// Bytes of all weights.
    weights: u64,
}

/// What L2 holds while a chain that ends with this kernel runs, in bytes.
#[derive(Debug, Clone, Default)]
struct Held {
    /// The chain; empty where a later kernel of the group goes on with it.
    members: Vec<u32>,
    /// What comes from outside, without weights.
    outside: u64,
    /// The chain's weights.
    weights: u64,
    /// Results that pass the kernel, or wait for a later one, its own among them.
    inside: u64,
    /// The kernel's result, held until `last` has run.
    result: u64,
    last: u32,
}

impl Held {
    fn tensors(&self) -> u64 {
        self.outside.saturating_add(self.inside)
    }

    fn all(&self) -> u64 {
        self.tensors().saturating_add(self.weights)
    }
}

impl<'n> Residency<'n> {
    /// Of a group that begins at this kernel and is still empty.
    pub fn new(network: &'n Network<'n>, from: u32, parts: u64) -> Residency<'n> {
        Residency { network, parts, from, kernels: Vec::new(), weights: 0 }
    }

    /// Takes in the next kernel.
    pub fn push(&mut self) {
        let at = self.to();
        let result = self.network.stage(at).written / self.parts;
        let chained = chained_to(self.network, at).filter(|&maker| maker >= self.from);
        let mut members = chained.map_or_else(Vec::new, |maker| {
            let before = std::mem::take(self.held(maker));
            self.weights -= before.weights;
            before.members
        });
        members.push(at);
        self.kernels.push(Held { inside: result, result, last: at, ..Held::default() });
        let mut seen: Vec<Port> = Vec::new();
        for &member in &members {
            for read in &self.network.stage(member).reads {
                if !seen.contains(&read.origin) && !matches!(read.source, Source::Kernel(m) if members.contains(&m)) {
                    seen.push(read.origin);
                    self.read(at, read);
                }
            }
        }
        self.weights = self.weights.saturating_add(self.held(at).weights);
        self.held(at).members = members;
    }

    /// How the group runs; `None` where L2 cannot hold it.
    pub fn run(&self, soc: &Soc) -> Option<Run> {
        let links = || self.kernels.iter().filter(|held| !held.members.is_empty());
        let widest = links().map(Held::tensors).max().unwrap_or(0);
        let keeps_weights = self.weights.saturating_add(widest) <= soc.l2_size;
        let fits = links().all(|held| held.all() <= soc.l2_size);
        fits.then_some(Run { parts: self.parts, from: self.from, to: self.to(), keeps_weights })
    }

    /// Whether L2 cannot hold a longer group either: only a chain that goes on may come to hold less.
    pub fn is_hopeless(&self, soc: &Soc) -> bool {
        let goes_on = |at: u32| {
            let next = self.network.stage(at).users.first();
            next.is_some_and(|&user| user >= self.to() && chained_to(self.network, user) == Some(at))
        };
        let mut links = self.kernels.iter().zip(self.from..).filter(|(held, _)| !held.members.is_empty());
        links.any(|(held, at)| held.all() > soc.l2_size && !goes_on(at))
    }

    /// How these kernels run as a group; `None` where L2 cannot hold it.
    pub fn of(network: &'n Network<'n>, kernels: &Range<u32>, parts: u64, soc: &Soc) -> Option<Run> {
        let mut residency = Residency::new(network, kernels.start, parts);
        kernels.clone().for_each(|_| residency.push());
        residency.run(soc)
    }

    /// The first kernel behind the group.
    fn to(&self) -> u32 {
        self.from + self.kernels.len() as u32
    }

    fn held(&mut self, at: u32) -> &mut Held {
        &mut self.kernels[(at - self.from) as usize]
    }

    /// Has a kernel read a tensor that its own chain did not make.
    fn read(&mut self, at: u32, read: &Read) {
        let slice = if self.network.carries(read) { read.bytes / self.parts } else { read.bytes };
        match read.source {
            Source::Constant => self.held(at).weights = self.held(at).weights.saturating_add(slice),
            Source::Kernel(maker) if maker >= self.from => self.hold(maker, at),
            Source::Kernel(_) | Source::Input => self.held(at).outside = self.held(at).outside.saturating_add(slice),
        }
    }

    /// Has what a kernel made wait for this one.
    fn hold(&mut self, maker: u32, reader: u32) {
        let &mut Held { result, last, .. } = self.held(maker);
        for at in last + 1..=reader {
            self.held(at).inside = self.held(at).inside.saturating_add(result);
        }
        self.held(maker).last = last.max(reader);
    }
}
