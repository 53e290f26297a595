//! What the keys of one file have in common: it is kept once, and of each key only the words in which it differs from
//! others. A bank holds the products of a few networks, whose 183 bytes differ in a dozen.

/// Bytes of a word.
pub const WORD: usize = 4;
/// Most words that a key has of its own; where more are needed, each key is kept whole.
const MOST_WORDS: usize = 24;
/// Mixes hashes; any odd number whose bits look like chance does.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Where keys that are read one by one differ.
#[derive(Debug, Default)]
pub struct Differences {
    /// Some key; all others are compared with it.
    one: Option<Box<[u8]>>,
    /// For each of its bytes the bits in which another differs.
    bits: Box<[u8]>,
    /// Whether some have other lengths.
    has_lengths: bool,
}

impl Differences {
    /// Compares a key.
    #[inline]
    pub fn add(&mut self, key: &[u8]) {
        let Some(one) = &self.one else {
            self.one = Some(key.into());
            self.bits = vec![0; key.len()].into();
            return;
        };
        self.has_lengths |= one.len() != key.len();
        for ((bits, a), b) in self.bits.iter_mut().zip(one).zip(key) {
            *bits |= a ^ b;
        }
    }

    /// Compares the keys of another part of the file.
    pub fn merge(&mut self, other: &Differences) {
        let Some(one) = &other.one else { return };
        self.add(one);
        self.has_lengths |= other.has_lengths;
        for (bits, others) in self.bits.iter_mut().zip(&other.bits) {
            *bits |= others;
        }
    }
}

/// What keys of one length have in common.
#[derive(Debug)]
pub struct Alike {
    /// What a key is, but for its own words, which are 0 here.
    common: Box<[u8]>,
    /// All bits set where a byte is common, none elsewhere.
    mask: Box<[u8]>,
    /// Where the own words begin, ascending; they may overlap.
    places: Box<[u16]>,
}

impl Alike {
    /// What the keys that these differences are of have in common; `None` where that is not worth it.
    pub fn new(differences: Differences) -> Option<Alike> {
        let Differences { one, bits, has_lengths } = differences;
        let mut common = one.filter(|one| !has_lengths && one.len() >= WORD)?;
        let mut mask = vec![u8::MAX; common.len()];
        let mut places = Vec::new();
        for (at, _) in bits.iter().enumerate().filter(|(_, bits)| **bits != 0) {
            if mask.get(at) == Some(&0) {
                continue;
            }
            let place = at.min(common.len() - WORD);
            places.push(u16::try_from(place).ok()?);
            mask.get_mut(place..place + WORD)?.fill(0);
        }
        if places.len() > MOST_WORDS {
            return None;
        }
        common.iter_mut().zip(&mask).for_each(|(byte, mask)| *byte &= mask);
        Some(Alike { common, mask: mask.into(), places: places.into() })
    }

    /// Bytes of the own words.
    #[inline]
    pub fn own_bytes(&self) -> usize {
        self.places.len() * WORD
    }

    /// Whether a key has the length that all have.
    #[inline]
    pub fn is_long(&self, key: &[u8]) -> bool {
        key.len() == self.common.len()
    }

    /// The own words of a key that is long enough.
    #[inline]
    pub fn own<'k>(&'k self, key: &'k [u8]) -> impl Iterator<Item = &'k [u8; WORD]> {
        self.places.iter().filter_map(|place| key.get(usize::from(*place)..)?.first_chunk())
    }

    /// Whether a key of the right length is, but for its own words, as all are.
    #[inline]
    pub fn is_common(&self, key: &[u8]) -> bool {
        key.iter()
            .zip(&self.mask)
            .zip(&self.common)
            .fold(0, |other, ((byte, mask), common)| other | ((byte & mask) ^ common))
            == 0
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.common.len() + self.mask.len() + 2 * self.places.len()
    }
}

/// A hash of which every bit depends on all words. Keys come from users' banks; whoever makes them collide on purpose
/// slows down their own compiler only.
#[inline]
pub fn hash<'w>(words: impl Iterator<Item = &'w [u8; WORD]>) -> u64 {
    words.fold(FACTOR, |hash, word| {
        let product = u128::from(hash ^ u64::from(u32::from_le_bytes(*word))) * u128::from(FACTOR);
        product as u64 ^ (product >> 64) as u64
    })
}

#[cfg(test)]
mod tests {
    use super::{Alike, Differences, MOST_WORDS, hash};
    use proptest::prelude::*;

    fn alike(of: &[Vec<u8>]) -> Option<Alike> {
        let mut differences = Differences::default();
        for key in of {
            differences.add(key);
        }
        Alike::new(differences)
    }

    fn own(alike: &Alike, key: &[u8]) -> Option<Vec<u8>> {
        (alike.is_long(key) && alike.is_common(key)).then(|| alike.own(key).flatten().copied().collect())
    }

    #[test]
    fn only_words_that_differ_are_a_keys_own() {
        let alike = alike(&[b"abcdefgh-ij".to_vec(), b"axcdefgh-ij".to_vec(), b"abcdefgh-ik".to_vec()]).unwrap();
        assert_eq!(own(&alike, b"abcdefgh-ij").unwrap(), b"bcdeh-ij");
        assert_eq!(own(&alike, b"azzzefgh-ij").unwrap(), b"zzzeh-ij", "no key of the file: its words are none's");
        for other in [&b"zbcdefgh-ij"[..], b"abcdezgh-ij", b"abcdefgh-i", b"abcdefgh-ijk", b""] {
            assert_eq!(own(&alike, other), None);
        }
    }

    #[test]
    fn keys_of_several_lengths_or_with_little_in_common_are_not_alike() {
        let long = |byte| vec![byte; super::WORD * MOST_WORDS + 1];
        for of in [vec![b"abcd".to_vec(), b"abcde".to_vec()], vec![long(1), long(2)], vec![b"abc".to_vec()], vec![]] {
            assert!(alike(&of).is_none(), "{of:?}");
        }
    }

    #[test]
    fn every_bit_of_a_word_changes_both_ends_of_a_hash() {
        let ends = |words: [u32; 2]| {
            let hash = hash(words.map(u32::to_le_bytes).iter());
            (hash >> 48, hash & 0xffff)
        };
        let all: Vec<_> = (0..32).flat_map(|bit| [ends([1 << bit, 5]), ends([5, 1 << bit])]).collect();
        for (index, a) in all.iter().enumerate() {
            assert!(all[..index].iter().all(|b| a.0 != b.0 && a.1 != b.1), "{all:x?}");
        }
    }

    proptest! {
        #[test]
        fn own_words_tell_keys_apart_whatever_part_of_the_file_they_are_in(
            parts in prop::collection::vec(prop::collection::vec(prop::collection::vec(0u8..3, 6), 0..5), 0..5),
        ) {
            let mut all = Differences::default();
            for part in &parts {
                let mut differences = Differences::default();
                for key in part {
                    differences.add(key);
                }
                all.merge(&differences);
            }
            let of: Vec<_> = parts.into_iter().flatten().collect();
            let Some(alike) = Alike::new(all) else {
                prop_assert!(of.is_empty());
                return Ok(());
            };
            for (a, b) in of.iter().flat_map(|a| of.iter().map(move |b| (a, b))) {
                prop_assert_eq!(own(&alike, a).expect("a key of the file") == own(&alike, b).unwrap(), a == b);
            }
        }
    }
}
