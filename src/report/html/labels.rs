//! Short names that are told apart.

use super::text::shortened;
use rustc_hash::FxHashMap;

/// The names at no more than so many characters, their middles left out. Names that this would make equal lose other
/// parts, or end in a number, so that no two of the answers are.
pub fn apart<'a>(names: impl Iterator<Item = &'a str>, most: usize) -> Vec<String> {
    let names: Vec<&str> = names.collect();
    let mut short: Vec<String> = names.iter().map(|name| shortened(name, most)).collect();
    for group in alike(&short) {
        let from = first_difference(group.iter().map(|at| names[*at]));
        for at in group {
            short[at] = around(names[at], from, most);
        }
    }
    let mut taken: FxHashMap<String, usize> = FxHashMap::default();
    for label in &mut short {
        while let Some(times) = taken.get_mut(label.as_str()) {
            *times += 1;
            let number = format!(" #{times}");
            *label = shortened(label, most.saturating_sub(number.chars().count())) + &number;
        }
        taken.insert(label.clone(), 1);
    }
    short
}

/// Places of labels that are equal, where there are several.
fn alike(labels: &[String]) -> Vec<Vec<usize>> {
    let mut groups: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (at, label) in labels.iter().enumerate() {
        groups.entry(label).or_default().push(at);
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_unstable();
    groups
}

/// Characters that all the names begin with.
fn first_difference<'a>(mut names: impl Iterator<Item = &'a str>) -> usize {
    let Some(first) = names.next() else { return 0 };
    let common = |name: &str| first.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
    names.map(common).min().unwrap_or(0)
}

/// The name with what stands at `from` in it: its beginning, that part and its end.
fn around(name: &str, from: usize, most: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= most || most < 12 {
        return shortened(name, most);
    }
    let third = (most - 2) / 3;
    let (head, tail) = (&letters[..third], &letters[letters.len() - third..]);
    let room = most - 2 - 2 * third;
    let begin = from.saturating_sub(2).clamp(third, letters.len() - third - room);
    let middle = &letters[begin..begin + room];
    let text = |part: &[char]| part.iter().collect::<String>();
    format!("{}…{}…{}", text(head), text(middle), text(tail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_differ_in_their_middle_show_it() {
        let name = |layer: usize| {
            format!("model/transformer/encoder/layer_{layer:02}/{}/attention/output/MatMul", "x".repeat(40))
        };
        let names: Vec<String> = (0..12).map(name).collect();
        let short = apart(names.iter().map(String::as_str), 44);
        assert!(short.iter().enumerate().all(|(at, short)| short.contains(&format!("{at:02}"))), "{short:?}");
    }

    proptest! {
        #![proptest_config(aoe_testing::cases(256))]

        #[test]
        fn no_two_short_names_are_equal_and_none_is_too_long(
            names in proptest::collection::vec("[ab]{0,3}(x{0,70}|y)[ab#12 ]{0,4}", 0..40), most in 12usize..50
        ) {
            let short = apart(names.iter().map(String::as_str), most);
            prop_assert!(short.iter().all(|short| short.chars().count() <= most));
            let distinct: std::collections::BTreeSet<_> = short.iter().collect();
            prop_assert_eq!(distinct.len(), names.len());
        }
    }
}
