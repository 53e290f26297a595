//! A listed legal set: rows of value indices, sorted, so that every prefix is one run of rows.

use std::ops::Range;

/// Distinct rows in lexicographic order, stored by columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    columns: Vec<Vec<u32>>,
}

impl Rows {
    /// Rows one after the other; they may come in any order and more than once.
    pub fn new(width: usize, flat: &[u32]) -> Rows {
        let row = |n: &u32| &flat[*n as usize * width..(*n as usize + 1) * width];
        let mut order: Vec<u32> = (0..(flat.len() / width) as u32).collect();
        if !order.is_sorted_by(|a, b| row(a) < row(b)) {
            order.sort_unstable_by(|a, b| row(a).cmp(row(b)));
            order.dedup_by(|a, b| row(a) == row(b));
        }
        let column = |c: usize| order.iter().map(|n| row(n)[c]).collect();
        Rows { columns: (0..width).map(column).collect() }
    }

    /// Distinct rows packed into numbers, most significant value first, of so many bits for each value.
    pub fn from_packed(mut packed: Vec<u128>, bits: &[u32]) -> Rows {
        if !packed.is_sorted() {
            packed.sort_unstable();
        }
        let mut shift = bits.iter().sum::<u32>();
        let column = |&bits: &u32| {
            shift -= bits;
            let mask = (1_u128 << bits) - 1;
            packed.iter().map(|row| ((row >> shift) & mask) as u32).collect()
        };
        Rows { columns: bits.iter().map(column).collect() }
    }

    /// One parameter with these values, ascending.
    pub fn of_values(values: Vec<u32>) -> Rows {
        Rows { columns: vec![values] }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.columns[0].len()
    }

    /// A value of a row.
    pub fn value(&self, row: usize, column: usize) -> u32 {
        self.columns[column][row]
    }

    /// Of a run of rows that are equal before a column, those that have a value in it.
    pub fn narrowed(&self, run: &Range<usize>, column: usize, value: u32) -> Range<usize> {
        let run_of_column = &self.columns[column][run.clone()];
        let begin = run.start + run_of_column.partition_point(|&v| v < value);
        begin..self.end_of(begin, run.end, column, value)
    }

    /// Where the run of a value that begins at a row ends. Runs are short mostly, so this looks near first.
    pub fn end_of(&self, begin: usize, limit: usize, column: usize, value: u32) -> usize {
        let rest = &self.columns[column][begin..limit];
        let mut bound = 1;
        while bound <= rest.len() && rest[bound - 1] == value {
            bound *= 2;
        }
        let (low, high) = (bound / 2, bound.min(rest.len()));
        begin + low + rest[low..high].partition_point(|&v| v == value)
    }

    /// The rows that begin with some values.
    pub fn with_prefix(&self, prefix: impl IntoIterator<Item = u32>) -> Range<usize> {
        let mut run = 0..self.len();
        for (column, value) in prefix.into_iter().enumerate() {
            if run.is_empty() {
                break;
            }
            run = self.narrowed(&run, column, value);
        }
        run
    }
}

#[cfg(test)]
impl Rows {
    /// Bytes that the columns hold on to.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(|column| column.capacity() * size_of::<u32>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_distinct_and_prefixes_are_runs() {
        let rows = Rows::new(2, &[2, 0, 0, 1, 0, 3, 2, 0, 1, 1, 0, 1]);
        assert_eq!(rows.len(), 4);
        let all: Vec<_> = (0..4).map(|r| [rows.value(r, 0), rows.value(r, 1)]).collect();
        assert_eq!(all, [[0, 1], [0, 3], [1, 1], [2, 0]]);
        assert_eq!(rows.with_prefix([0]), 0..2);
        assert_eq!(rows.with_prefix([0, 3]), 1..2);
        assert!(rows.with_prefix([0, 2]).is_empty() && rows.with_prefix([7]).is_empty());
        assert_eq!(rows.with_prefix([]), 0..4);
    }

    #[test]
    fn packed_rows_are_the_same_rows() {
        let packed = vec![0b100, 0b001, 0b011, 0b000];
        assert_eq!(Rows::from_packed(packed, &[2, 1]), Rows::new(2, &[2, 0, 0, 1, 1, 1, 0, 0]));
    }

    #[test]
    fn long_runs_end_where_they_end() {
        for length in 1..40 {
            let mut flat = vec![5; length];
            flat.extend([6, 7]);
            // One column twice over, so that rows differ.
            let rows: Vec<u32> = flat.iter().zip(0..).flat_map(|(&value, n)| [value, n]).collect();
            let rows = Rows::new(2, &rows);
            assert_eq!(rows.with_prefix([5]), 0..length);
            assert_eq!(rows.with_prefix([6]), length..length + 1);
        }
    }
}
