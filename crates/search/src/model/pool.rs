//! The candidates that a model ranks.

/// Configurations, one after the other.
#[derive(Debug, Default)]
pub struct Pool {
    width: usize,
    flat: Vec<u32>,
}

impl Pool {
    pub fn new(width: usize) -> Pool {
        Pool { width, flat: Vec::new() }
    }

    pub fn push(&mut self, configuration: &[u32]) {
        self.flat.extend_from_slice(configuration);
    }

    pub fn append(&mut self, more: Pool) {
        self.width = more.width;
        self.flat.extend(more.flat);
    }

    pub fn len(&self) -> usize {
        self.flat.len().checked_div(self.width).unwrap_or(0)
    }

    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        self.flat.chunks_exact(self.width.max(1))
    }
}
