//! The numbers of a tiling by CANN's names.

use crate::tiling::matmul_v3;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// Places of `MatMulV3`'s fields in the order of their names, which is how JSON has them.
static BY_NAME: LazyLock<Vec<usize>> = LazyLock::new(|| {
    let names = matmul_v3::Tiling::NAMES;
    let mut places: Vec<usize> = (0..names.len()).collect();
    places.sort_unstable_by_key(|&place| names[place]);
    places
});

/// What a tiling says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Knowledge {
    /// Of one product: answers come by the million, and a map of each would be a fourth of their time.
    Product(matmul_v3::Tiling),
    /// Of anything else.
    Fields(Map<String, Value>),
}

impl Knowledge {
    /// Name and value of each field, in order.
    pub(super) fn texts(&self) -> Vec<String> {
        let text = |name: &str, value: &dyn std::fmt::Display| format!("{name} {value}");
        match self {
            Knowledge::Product(tiling) => numbers(tiling).map(|(name, value)| text(name, &value)).collect(),
            Knowledge::Fields(fields) => fields.iter().map(|(name, value)| text(name, value)).collect(),
        }
    }
}

impl Default for Knowledge {
    fn default() -> Knowledge {
        Knowledge::Fields(Map::new())
    }
}

fn numbers(tiling: &matmul_v3::Tiling) -> impl Iterator<Item = (&'static str, u32)> {
    let values = tiling.values();
    BY_NAME.iter().map(move |&place| (matmul_v3::Tiling::NAMES[place], values[place]))
}

impl Serialize for Knowledge {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Knowledge::Fields(fields) => fields.serialize(serializer),
            Knowledge::Product(tiling) => {
                let mut map = serializer.serialize_map(Some(BY_NAME.len()))?;
                for (name, value) in numbers(tiling) {
                    map.serialize_entry(name, &value)?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Knowledge, matmul_v3};

    #[test]
    fn a_product_s_numbers_are_written_as_its_record_has_them() {
        let mut values = [0; matmul_v3::Tiling::NAMES.len()];
        for (value, n) in values.iter_mut().zip(1..) {
            *value = n;
        }
        let tiling = matmul_v3::Tiling::from_values(values);
        let (product, record) = (Knowledge::Product(tiling), Knowledge::Fields(tiling.to_knowledge()));
        let text = |knowledge: &Knowledge| serde_json::to_string(knowledge).unwrap();
        assert_eq!(text(&product), text(&record));
        assert_eq!(product.texts(), record.texts());
    }
}
