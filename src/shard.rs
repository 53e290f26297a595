//! One of several equal parts of a list of work, for machines that share it without talking to each other.

use crate::status::{Error, Result};

/// Most parts; more than the nodes of any cluster.
const MOST: usize = 100_000;

/// The part `index` of `count`, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// Reads `2/4`, the second of four.
    ///
    /// Fails with [`Error::Option`] for anything else.
    pub fn read(text: &str) -> Result<Shard> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((index, count)) if (1..=MOST).contains(&count) && (1..=count).contains(&index) => {
                Ok(Shard { index: index - 1, count })
            }
            _ => Err(Error::option(
                "shard",
                format!("`{text}` is not I/N with I from 1 to N and N to {MOST}, for example 2/4"),
            )),
        }
    }

    /// Which of several pieces of work are in this part, so that all parts take about as long: the longest first, each to the
    /// part with the least so far. The same efforts give the same parts on every machine, and each piece is in exactly one.
    ///
    /// efforts: what each piece is expected to take, in any unit.
    pub fn takes(self, efforts: &[u64]) -> Vec<bool> {
        let mut longest_first: Vec<usize> = (0..efforts.len()).collect();
        longest_first.sort_by_key(|&piece| (std::cmp::Reverse(efforts[piece]), piece));
        let mut loads = vec![0_u64; self.count.min(efforts.len())];
        let mut takes = vec![false; efforts.len()];
        for piece in longest_first {
            let least = (0..loads.len()).min_by_key(|&part| (loads[part], part));
            if let Some(part) = least {
                loads[part] = loads[part].saturating_add(efforts[piece].max(1));
                takes[piece] = part == self.index;
            }
        }
        takes
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_part_is_written_as_it_is_read_and_what_is_none_is_refused() {
        for text in ["1/1", "2/4", "100000/100000"] {
            assert_eq!(Shard::read(text).unwrap().to_string(), text);
        }
        for wrong in ["", "1", "0/4", "5/4", "1/0", "-1/2", "1/2/3", "a/b", "1/100001", " 1/2"] {
            let error = Shard::read(wrong).unwrap_err();
            assert!(error.to_string().contains("shard") && error.id() == Some("EG0003"), "{error}");
        }
    }

    #[test]
    fn the_longest_piece_does_not_share_its_part_when_others_are_short() {
        let parts = [1, 2].map(|i| Shard { index: i - 1, count: 2 }.takes(&[1, 9, 2, 3]));
        assert_eq!(parts, [vec![false, true, false, false], vec![true, false, true, true]]);
    }

    proptest! {
        #[test]
        fn each_piece_is_in_one_part_and_no_part_is_longer_than_another_by_more_than_a_piece(
            efforts in prop::collection::vec(1..1000_u64, 0..60),
            count in 1..20_usize,
        ) {
            let parts: Vec<Vec<bool>> = (0..count).map(|index| Shard { index, count }.takes(&efforts)).collect();
            for piece in 0..efforts.len() {
                prop_assert_eq!(parts.iter().filter(|part| part[piece]).count(), 1);
            }
            let sum = |part: &Vec<bool>| part.iter().zip(&efforts).filter(|(takes, _)| **takes).map(|(_, e)| e).sum::<u64>();
            let sums: Vec<u64> = parts.iter().map(sum).collect();
            let gap = sums.iter().max().unwrap() - sums.iter().min().unwrap();
            prop_assert!(gap <= efforts.iter().copied().max().unwrap_or(0));
        }
    }
}
