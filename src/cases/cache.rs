//! Where a kernel's operands lie when it starts: one word for all of them, or one for each.

use super::wrong;
use crate::sim::Cache;
use crate::status::Result;
use crate::workload::Operand;
use serde::Deserialize;

/// The field as written.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "neither \"warm\" nor \"cold\" nor a list of them")]
pub(super) enum Words {
    All(String),
    Each(Vec<String>),
}

/// Where the operands lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Lies {
    /// All in one place.
    All(Cache),
    /// So many bytes of what is read in device memory, all else in L2.
    Missed(f64),
}

impl Words {
    /// Fails for a word that is neither, and for a list that is not as long as that of the operands.
    pub(super) fn read(&self, inputs: Option<&[Operand]>) -> Result<Lies> {
        let words = match self {
            Words::All(one) => return word(one).map(Lies::All),
            Words::Each(words) => words,
        };
        let inputs = inputs.ok_or_else(|| wrong("`cache`: a list needs `inputs`, one word for each"))?;
        if words.len() != inputs.len() {
            return Err(wrong(format!("`cache`: {} words for {} inputs", words.len(), inputs.len())));
        }
        let mut missed = 0.0;
        for (one, operand) in words.iter().zip(inputs) {
            if word(one)? == Cache::Cold {
                missed += operand.bytes() as f64;
            }
        }
        Ok(Lies::Missed(missed))
    }
}

/// One word; what follows a colon is a remark.
fn word(text: &str) -> Result<Cache> {
    match text.split(':').next().unwrap_or_default().trim() {
        "warm" => Ok(Cache::Warm),
        "cold" => Ok(Cache::Cold),
        other => Err(wrong(format!("`cache`: {} is neither warm nor cold", super::shown(other)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::DataType;

    fn read(json: &str) -> Result<Lies> {
        let inputs = [Operand::new([8], DataType::Float16), Operand::new([4], DataType::Float)];
        serde_json::from_str::<Words>(json).unwrap().read(Some(&inputs))
    }

    #[test]
    fn one_word_is_for_all_and_a_list_counts_the_bytes_that_are_cold() {
        assert_eq!(read(r#""warm""#).unwrap(), Lies::All(Cache::Warm));
        assert_eq!(read(r#""cold: L2 flushed before each run""#).unwrap(), Lies::All(Cache::Cold));
        assert_eq!(read(r#"["cold","warm"]"#).unwrap(), Lies::Missed(16.0));
        assert_eq!(read(r#"["cold","cold"]"#).unwrap(), Lies::Missed(32.0));
    }

    #[test]
    fn other_words_and_lists_of_another_length_are_refused_by_name() {
        for (json, named) in
            [(r#""tepid""#, "tepid"), (r#"["cold"]"#, "1 words for 2 inputs"), (r#"["cold","x"]"#, "x")]
        {
            let error = read(json).unwrap_err().to_string();
            assert!(error.contains(named) && error.contains("`cache`"), "{error}");
        }
    }
}
