//! The little linear algebra that a Gaussian process needs.

/// Sum of products, in an order that does not depend on the processor.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a4, b4) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a4.remainder().iter().zip(b4.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a4.zip(b4) {
        for k in 0..4 {
            sums[k] += x[k] * y[k];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// A lower triangular matrix, row by row.
#[derive(Debug, Default)]
pub struct Lower {
    values: Vec<f64>,
    size: usize,
}

impl Lower {
    pub fn size(&self) -> usize {
        self.size
    }

    pub fn row(&self, i: usize) -> &[f64] {
        let start = i * (i + 1) / 2;
        &self.values[start..=start + i]
    }

    /// Adds the next row of the Cholesky factor of a matrix whose next row is `row`, diagonal last. Where
    /// rounding leaves nothing on the diagonal, a little is put there.
    pub fn extend(&mut self, row: &[f64]) {
        const LEAST: f64 = 1e-9;
        let mut new = row.to_vec();
        for j in 0..self.size {
            let known = self.row(j);
            new[j] = (new[j] - dot(&new[..j], &known[..j])) / known[j];
        }
        let n = self.size;
        new[n] = (new[n] - dot(&new[..n], &new[..n])).max(LEAST).sqrt();
        self.values.append(&mut new);
        self.size += 1;
    }

    /// `x` with `self * x = b`.
    pub fn solve(&self, mut b: Vec<f64>) -> Vec<f64> {
        for i in 0..b.len() {
            let row = self.row(i);
            b[i] = (b[i] - dot(&row[..i], &b[..i])) / row[i];
        }
        b
    }

    /// The columns of the inverse from the diagonal down, one after the other: column `j` has `size - j`
    /// entries.
    pub fn inverse_columns(&self) -> Vec<Vec<f64>> {
        let column = |j: usize| {
            let mut column = Vec::with_capacity(self.size - j);
            column.push(1.0 / self.row(j)[j]);
            for i in j + 1..self.size {
                let row = self.row(i);
                let sum = dot(&row[j..i], &column);
                column.push(-sum / row[i]);
            }
            column
        };
        (0..self.size).map(column).collect()
    }
}
