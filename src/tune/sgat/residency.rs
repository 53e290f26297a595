//! What a cut group holds in L2, and so which groups there are: one is a group only if everything fits.

use super::network::Network;
use super::price::Run;
use crate::lower::{Read, Source};
use crate::soc::Soc;
use std::ops::Range;

/// What consecutive kernels hold in L2 while they run one after the other on one part of the batch.
///
/// What a kernel of the group makes is held from there to the last kernel of the group that reads it; what comes from
/// outside, weights among it, while the kernel that reads it runs. Kernels count in the order of the network, each by
/// itself: also what fusion will keep inside the core. What is held only grows with the group, so that no group holds
/// one that is refused.
#[derive(Debug)]
pub struct Residency<'n> {
    network: &'n Network<'n>,
    parts: u64,
    from: u32,
    kernels: Vec<Held>,
    /// Bytes of all weights.
    weights: u64,
    /// The most bytes held at one kernel, without weights.
    widest: u64,
    /// The same with the weights of that kernel.
    fullest: u64,
}

/// What L2 holds while a kernel runs, in bytes.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// Tensors that pass the kernel, or wait for a later one.
    tensors: u64,
    /// The kernel's own weights.
    weights: u64,
    /// The kernel's result, held until `last` has run.
    result: u64,
    last: u32,
}

impl<'n> Residency<'n> {
    /// Of a group that begins at this kernel and is still empty.
    pub fn new(network: &'n Network<'n>, from: u32, parts: u64) -> Residency<'n> {
        Residency { network, parts, from, kernels: Vec::new(), weights: 0, widest: 0, fullest: 0 }
    }

    /// Takes in the next kernel.
    pub fn push(&mut self) {
        let network = self.network;
        let at = self.from + self.kernels.len() as u32;
        let stage = network.stage(at);
        let result = stage.written / self.parts;
        let mut here = Held { tensors: result, weights: 0, result, last: at };
        for (index, read) in stage.reads.iter().enumerate() {
            let is_again = stage.reads[..index].iter().any(|earlier| earlier.origin == read.origin);
            match read.source {
                _ if is_again => {}
                Source::Constant => here.weights = here.weights.saturating_add(read.bytes),
                Source::Kernel(maker) if maker >= self.from => {}
                Source::Kernel(_) | Source::Input => here.tensors = here.tensors.saturating_add(self.slice(read)),
            }
        }
        self.kernels.push(here);
        self.weights = self.weights.saturating_add(here.weights);
        self.note(at);
        for read in &stage.reads {
            if let Source::Kernel(maker) = read.source
                && maker >= self.from
            {
                self.hold(maker, at);
            }
        }
    }

    /// How the group runs; `None` where L2 cannot hold it.
    pub fn run(&self, soc: &Soc) -> Option<Run> {
        let keeps_weights = self.weights.saturating_add(self.widest) <= soc.l2_size;
        let to = self.from + self.kernels.len() as u32;
        (self.fullest <= soc.l2_size).then_some(Run { parts: self.parts, from: self.from, to, keeps_weights })
    }

    /// How these kernels run as a group; `None` where L2 cannot hold it.
    pub fn of(network: &'n Network<'n>, kernels: &Range<u32>, parts: u64, soc: &Soc) -> Option<Run> {
        let mut residency = Residency::new(network, kernels.start, parts);
        kernels.clone().for_each(|_| residency.push());
        residency.run(soc)
    }

    /// Bytes of a tensor from outside that one part reads.
    fn slice(&self, read: &Read) -> u64 {
        if self.network.carries(read) { read.bytes / self.parts } else { read.bytes }
    }

    /// Has what a kernel made wait for this one.
    fn hold(&mut self, maker: u32, reader: u32) {
        let Held { result, last, .. } = self.kernels[(maker - self.from) as usize];
        for at in last + 1..=reader {
            let held = &mut self.kernels[(at - self.from) as usize];
            held.tensors = held.tensors.saturating_add(result);
            self.note(at);
        }
        self.kernels[(maker - self.from) as usize].last = last.max(reader);
    }

    fn note(&mut self, at: u32) {
        let Held { tensors, weights, .. } = self.kernels[(at - self.from) as usize];
        self.widest = self.widest.max(tensors);
        self.fullest = self.fullest.max(tensors.saturating_add(weights));
    }
}
