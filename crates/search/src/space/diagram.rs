//! A legal set too large to list, as a diagram: paths from the root are the legal combinations.
//!
//! What can follow some values depends only on those intermediate results that later operations still read:
//! of `a + b + c + d == 9`, after `b`, on the sum so far. Prefixes that agree in them share one node, so that
//! sets of 10^18 combinations often take some thousand nodes, and each node knows how many paths it begins.

use super::program::{Program, State};
use super::value::Number;
use rustc_hash::FxHashMap;

/// Longest paths; building goes one call deeper for each of its values.
const MAX_WIDTH: usize = 512;
/// The node at which every path ends.
const END: u32 = 0;

/// Legal combinations as paths.
#[derive(Debug, Clone)]
pub struct Diagram {
    nodes: Vec<Node>,
    /// Value index and next node; those of a node stand together, ascending.
    edges: Vec<(u32, u32)>,
    root: u32,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    first: u32,
    length: u32,
    /// Paths from here to the end.
    count: u128,
}

/// What building a diagram may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Edges, of 8 bytes.
    pub edges: usize,
    /// Values that are tried.
    pub tries: usize,
    /// Intermediate results, of 16 bytes, that tell nodes apart while they are built.
    pub results: usize,
}

/// What building a diagram came to.
#[derive(Debug)]
pub enum Built {
    /// The diagram.
    Diagram(Diagram),
    /// There is no legal combination.
    Nothing,
    /// It would take more than allowed.
    TooLarge,
}

impl Diagram {
    /// Builds the diagram of a program's legal combinations.
    pub fn build(program: &Program, limits: Limits) -> Built {
        if program.width() > MAX_WIDTH {
            return Built::TooLarge;
        }
        let mut builder = Builder {
            program,
            read_later: (0..program.width()).map(|level| program.read_from(level)).collect(),
            known: vec![FxHashMap::default(); program.width()],
            nodes: vec![Node { first: 0, length: 0, count: 1 }],
            edges: Vec::new(),
            left: limits,
        };
        match builder.node(&mut program.start(), 0) {
            Ok(Some(root)) => Built::Diagram(Diagram { nodes: builder.nodes, edges: builder.edges, root }),
            Ok(None) => Built::Nothing,
            Err(TooLarge) => Built::TooLarge,
        }
    }

    /// The node that all paths begin at.
    pub fn root(&self) -> u32 {
        self.root
    }

    /// Paths from a node to the end.
    pub fn count(&self, node: u32) -> u128 {
        self.nodes[node as usize].count
    }

    /// Values that may follow a node, ascending, each with the next node.
    pub fn edges(&self, node: u32) -> &[(u32, u32)] {
        let Node { first, length, .. } = self.nodes[node as usize];
        &self.edges[first as usize..(first + length) as usize]
    }

    /// All combinations of so many values one after the other, in lexicographic order.
    pub fn combinations(&self, width: usize) -> Vec<u32> {
        let mut flat = Vec::new();
        let mut combination = vec![0; width];
        // The edges not yet gone at each level.
        let mut open = vec![self.edges(self.root)];
        while let Some(edges) = open.last_mut() {
            let Some((&(value, next), rest)) = edges.split_first() else {
                open.pop();
                continue;
            };
            *edges = rest;
            let level = open.len() - 1;
            combination[level] = value;
            if next == END {
                flat.extend_from_slice(&combination);
            } else {
                open.push(self.edges(next));
            }
        }
        flat
    }

    /// The node after a value, where it is legal there.
    pub fn next(&self, node: u32, value: u32) -> Option<u32> {
        let edges = self.edges(node);
        edges.binary_search_by_key(&value, |&(value, _)| value).ok().map(|edge| edges[edge].1)
    }
}

/// The results that decide what can follow.
type Key = Box<[(u8, u64)]>;

/// A limit was reached.
struct TooLarge;

struct Builder<'a> {
    program: &'a Program,
    /// For each level, the results that it and later levels read from earlier ones.
    read_later: Vec<Vec<u32>>,
    /// For each level, the node of those results, or none where they lead nowhere.
    known: Vec<FxHashMap<Key, Option<u32>>>,
    nodes: Vec<Node>,
    edges: Vec<(u32, u32)>,
    /// What may still be taken.
    left: Limits,
}

impl Builder<'_> {
    /// The node for what is bound before a level.
    fn node(&mut self, state: &mut State, level: usize) -> Result<Option<u32>, TooLarge> {
        if level == self.program.width() {
            return Ok(Some(END));
        }
        let key: Key = self.read_later[level].iter().map(|&id| bits(state.number(id))).collect();
        if let Some(&node) = self.known[level].get(&key) {
            return Ok(node);
        }
        // One more, so that nodes that nothing tells apart count as well.
        take(&mut self.left.results, key.len() + 1)?;
        let mut edges = Vec::new();
        let mut count = 0_u128;
        for choice in 0..self.program.choices(level).len() {
            take(&mut self.left.tries, 1)?;
            if !self.program.bind(state, level, choice) {
                continue;
            }
            if let Some(next) = self.node(state, level + 1)? {
                edges.push((self.program.choices(level)[choice].0, next));
                count = count.checked_add(self.nodes[next as usize].count).ok_or(TooLarge)?;
            }
        }
        let node = (!edges.is_empty()).then_some(self.nodes.len() as u32);
        if node.is_some() {
            take(&mut self.left.edges, edges.len())?;
            self.nodes.push(Node { first: self.edges.len() as u32, length: edges.len() as u32, count });
            self.edges.append(&mut edges);
        }
        self.known[level].insert(key, node);
        Ok(node)
    }
}

fn take(left: &mut usize, amount: usize) -> Result<(), TooLarge> {
    *left = left.checked_sub(amount).ok_or(TooLarge)?;
    Ok(())
}

/// A number as something that can be a key.
fn bits(number: Number) -> (u8, u64) {
    match number {
        Number::Integer(value) => (0, value as u64),
        Number::Real(value) => (1, value.to_bits()),
        Number::Undefined => (2, 0),
    }
}
