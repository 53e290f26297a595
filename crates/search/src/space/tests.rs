//! Spaces against brute force, and what is said about those that are wrong.

mod described;
mod random;
mod walks;

use super::{Neighbourhood, Parameter, Space, Value};

/// All configurations of a product, in lexicographic order.
fn product(sizes: &[u32]) -> Vec<Vec<u32>> {
    let extended = |all: Vec<Vec<u32>>, &size: &u32| {
        all.iter().flat_map(|c| (0..size).map(|value| [&c[..], &[value]].concat())).collect()
    };
    sizes.iter().fold(vec![Vec::new()], extended)
}

fn integers(name: &str, values: &[i64]) -> Parameter {
    Parameter::new(name, values.iter().map(|&v| Value::Integer(v)).collect()).unwrap()
}
