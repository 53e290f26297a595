//! The launches of a subgraph in order, blocks that repeat told once.

use crate::report::sgat::{Strategy, Subgraph};
use std::collections::HashMap;

/// Launches in a row that may be one block.
const LONGEST_BLOCK: usize = 24;

/// One launch: the nodes of one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Its nodes, by place in the subgraph's names.
    pub nodes: Vec<usize>,
    /// Parts of the batch that its group runs on.
    pub parts: u64,
    /// The launches whose results it reads, by place, ascending.
    pub reads: Vec<usize>,
}

/// Launches in a row that come several times in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Its first launch.
    pub start: usize,
    /// Its launches.
    pub len: usize,
    /// Times that it comes.
    pub times: usize,
}

/// The launches of a strategy, in the order in which they run.
pub fn launches(subgraph: &Subgraph<'_>, strategy: &Strategy<'_>) -> Vec<Launch> {
    let places: HashMap<&str, usize> =
        subgraph.names.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
    let scopes = strategy.groups.iter().flat_map(|group| group.scopes.iter().map(move |scope| (group.parts, scope)));
    let mut launches: Vec<Launch> = scopes
        .map(|(parts, scope)| {
            let nodes = scope.iter().filter_map(|name| places.get(name.as_str()).copied()).collect();
            Launch { nodes, parts, reads: Vec::new() }
        })
        .filter(|launch| !launch.nodes.is_empty())
        .collect();
    let mut launch_of: HashMap<usize, usize> = HashMap::new();
    for (at, launch) in launches.iter().enumerate() {
        launch_of.extend(launch.nodes.iter().map(|&node| (node, at)));
    }
    for [maker, reader] in subgraph.edges.iter() {
        let ends = [maker, reader].map(|node| launch_of.get(&(*node as usize)).copied());
        // What runs later cannot be read: such an edge is damaged.
        if let [Some(from), Some(to)] = ends
            && from < to
        {
            launches[to].reads.push(from);
        }
    }
    for launch in &mut launches {
        launch.reads.sort_unstable();
        launch.reads.dedup();
    }
    launches
}

/// The launches as the fewest blocks, in order; one that does not repeat is a block of one that comes once.
pub fn blocks(subgraph: &Subgraph<'_>, launches: &[Launch]) -> Vec<Block> {
    let kinds = kinds(subgraph, launches);
    let times = |start: usize, len: usize| {
        let rest = kinds[start..].chunks(len);
        rest.take_while(|copy| *copy == &kinds[start..start + len]).count()
    };
    // From the end on: how much is drawn of what is left, and the block that this begins with.
    let end = (0, Block { start: launches.len(), len: 0, times: 0 });
    let mut best = vec![end; launches.len() + 1];
    for start in (0..launches.len()).rev() {
        let alone = Block { start, len: 1, times: 1 };
        let longest = LONGEST_BLOCK.min((launches.len() - start) / 2);
        let repeated = (1..=longest).map(|len| Block { start, len, times: times(start, len) });
        // Two launches alone are not worth a frame.
        let framed = repeated.filter(|block| block.len * (block.times - 1) > 1);
        let cost = |block: Block| (block.len + best[start + block.len * block.times].0, block);
        let choices = framed.map(cost);
        best[start] = choices.fold(cost(alone), |a, b| if b.0 < a.0 { b } else { a });
    }
    let next = |block: &Block| Some(best[block.start + block.len * block.times].1).filter(|block| block.len > 0);
    std::iter::successors(Some(best[0].1).filter(|block| block.len > 0), next).collect()
}

/// For each launch a number that it shares with those that fuse the same operators and read from as far back.
fn kinds(subgraph: &Subgraph<'_>, launches: &[Launch]) -> Vec<usize> {
    let mut known = HashMap::new();
    let kind = |(at, launch): (usize, &Launch)| {
        let types: Vec<_> = launch.nodes.iter().map(|&node| subgraph.op_types.get(node)).collect();
        let distances: Vec<_> = launch.reads.iter().map(|from| at - from).collect();
        let next = known.len();
        *known.entry((launch.parts, types, distances)).or_insert(next)
    };
    launches.iter().enumerate().map(kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A chain of convolutions and rectifiers, each pair one scope, of which every second adds what came in before it.
    fn chain(pairs: u32) -> Subgraph<'static> {
        let names: Vec<String> = (0..2 * pairs).map(|i| format!("n{i}")).collect();
        let types: Vec<_> = (0..2 * pairs).map(|i| if i % 2 == 0 { "Conv2D" } else { "Relu" }).collect();
        let scopes: Vec<_> = names.chunks(2).collect();
        let mut edges: Vec<[u32; 2]> = (1..2 * pairs).map(|i| [i - 1, i]).collect();
        edges.extend((0..pairs).filter(|pair| pair % 2 == 0 && *pair > 1).map(|pair| [2 * (pair - 2) + 1, 2 * pair]));
        let plan = json!({"groups": [{"parts": 1, "scopes": scopes}], "bytes": 0, "bytes_from_memory": 0, "launches": pairs, "us": 1.0});
        let subgraph = json!({"after": plan, "before": plan, "count": 1, "edges": edges, "names": names,
            "op_types": types, "places": ["n0"], "repo_key": "1", "status": "added"});
        serde_json::from_value(subgraph).unwrap()
    }

    #[test]
    fn each_scope_is_a_launch_that_reads_those_before_it() {
        let subgraph = chain(3);
        let launches = launches(&subgraph, &subgraph.after);
        assert_eq!(launches[2], Launch { nodes: vec![4, 5], parts: 1, reads: vec![0, 1] });
    }

    #[test]
    fn blocks_that_repeat_are_told_once_and_cover_every_launch() {
        let subgraph = chain(21);
        let launches = launches(&subgraph, &subgraph.after);
        let blocks = blocks(&subgraph, &launches);
        assert_eq!(blocks.iter().map(|block| block.len * block.times).sum::<usize>(), launches.len());
        assert!(blocks.contains(&Block { start: 1, len: 2, times: 10 }), "{blocks:?}");
    }

    #[test]
    fn damaged_edges_and_names_are_left_out() {
        let mut subgraph = chain(2);
        subgraph.edges.to_mut().extend([[3, 0], [9, 1], [u32::MAX, u32::MAX]]);
        subgraph.names.to_mut()[1] = "other".into();
        let launches = launches(&subgraph, &subgraph.after);
        assert_eq!(launches.iter().map(|launch| launch.nodes.len()).collect::<Vec<_>>(), [1, 2]);
    }
}
