//! Where a kernel's operands lie when it starts: one word for all of them, or one for each.

use super::wrong;
use crate::sim::{Cache, Places};
use crate::spelling::beginning;
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
pub(crate) enum Location {
    /// All in one place.
    All(Cache),
    /// So many bytes of what is read in device memory, all else in L2.
    Missed(f64),
}

impl Words {
    /// Fails for a word that is neither, and for a list that is longer than that of the operands. Those for which it has
    /// no word lie as its last; one word for each that is the same for all is one word for all.
    pub(super) fn read(&self, inputs: Option<&[Operand]>) -> Result<Location> {
        let words = match self {
            Words::All(one) => return word("cache", one).map(Location::All),
            Words::Each(words) => words,
        };
        // A product by its sizes has A and B.
        let count = inputs.map_or(2, <[_]>::len);
        if words.is_empty() || words.len() > count {
            return Err(wrong(format!("`cache`: {} words for {count} inputs", words.len())));
        }
        let places = places(words)?;
        if (1..count).all(|at| places.of(at) == places.of(0)) {
            return Ok(Location::All(places.of(0)));
        }
        let bytes = |(at, operand): (usize, &Operand)| match places.of(at) {
            Cache::Cold => operand.bytes() as f64,
            Cache::Warm => 0.0,
        };
        Ok(Location::Missed(inputs.unwrap_or_default().iter().enumerate().map(bytes).sum()))
    }

    /// The place of each input; `None` for one word.
    pub(super) fn each(&self) -> Result<Option<Places>> {
        match self {
            Words::All(_) => Ok(None),
            Words::Each(words) => places(words).map(Some),
        }
    }
}

fn places(words: &[String]) -> Result<Places> {
    words.iter().map(|one| word("cache", one)).collect::<Result<Vec<_>>>().map(Places::new)
}

/// One word; what follows a colon is a remark.
pub(super) fn word(field: &str, text: &str) -> Result<Cache> {
    match text.split(':').next().unwrap_or_default().trim() {
        "warm" => Ok(Cache::Warm),
        "cold" => Ok(Cache::Cold),
        other => Err(wrong(format!("`{field}`: {} is neither warm nor cold", beginning(other)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::DataType;

    fn read(json: &str) -> Result<Location> {
        let inputs = [Operand::new([8], DataType::Float16), Operand::new([4], DataType::Float)];
        serde_json::from_str::<Words>(json).unwrap().read(Some(&inputs))
    }

    #[test]
    fn one_word_is_for_all_and_a_list_counts_the_bytes_that_are_cold() {
        assert_eq!(read(r#""warm""#).unwrap(), Location::All(Cache::Warm));
        assert_eq!(read(r#""cold: L2 flushed before each run""#).unwrap(), Location::All(Cache::Cold));
        assert_eq!(read(r#"["cold","warm"]"#).unwrap(), Location::Missed(16.0));
        assert_eq!(read(r#"["warm","cold"]"#).unwrap(), Location::Missed(16.0));
        assert_eq!(read(r#"["cold","cold"]"#).unwrap(), Location::All(Cache::Cold));
        assert_eq!(read(r#"["cold"]"#).unwrap(), Location::All(Cache::Cold));
    }

    #[test]
    fn other_words_and_lists_of_another_length_are_refused_by_name() {
        for (json, named) in
            [(r#""tepid""#, "tepid"), (r#"["cold","cold","cold"]"#, "3 words for 2 inputs"), (r#"["cold","x"]"#, "x")]
        {
            let error = read(json).unwrap_err().to_string();
            assert!(error.contains(named) && error.contains("`cache`"), "{error}");
        }
    }
}
