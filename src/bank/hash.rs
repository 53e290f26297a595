//! The two hashes of the bank: CANN's 32-bit record id, and our digest of a record's text.

/// Where CANN's hash starts (`e` times 100000).
const SEED: u32 = 271_828;
/// 2^32 divided by the golden ratio.
const GOLDEN: u32 = 0x9E37_79B9;

/// CANN's hash of a packed key: the `id` of a runtime bank record.
///
/// Whole little-endian words are mixed in order; then the remaining bytes are shifted onto the last
/// word. A quirk that must be kept: those bytes are taken from the *start* of the buffer, and the last
/// value is mixed once more even where nothing remains.
pub fn record_id(bytes: &[u8]) -> u32 {
    let mix = |h: u32, v: u32| h ^ v.wrapping_add(GOLDEN).wrapping_add(h << 6).wrapping_add(h >> 2);
    let (words, rest) = bytes.as_chunks::<4>();
    let (mut h, mut t) = (SEED, 0u32);
    for word in words {
        t = u32::from_le_bytes(*word);
        h = mix(h, t);
    }
    for &byte in bytes.iter().take(rest.len()).rev() {
        t = (t << 8) | u32::from(byte);
    }
    h = mix(h, t);
    h ^= bytes.len() as u32;
    h ^ (h >> 16)
}

/// FNV-1a, 64 bits: tells whether a text is still the one seen before. Guards against accidents, not
/// against an adversary.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::{digest, record_id};

    #[test]
    fn ids_match_the_known_vectors() {
        let bytes: Vec<u8> = (0..16).collect();
        let vectors: [(&[u8], u32); 8] = [
            (b"", 2_672_116_415),
            (b"\0", 2_672_116_414),
            (b"a", 2_672_116_255),
            (b"ab", 2_672_222_239),
            (b"abc", 2_678_186_233),
            (b"abcd", 3_896_673_709),
            (b"abcde", 3_913_516_973),
            (&bytes, 1_361_181_396),
        ];
        for (input, id) in vectors {
            assert_eq!(record_id(input), id, "{input:?}");
        }
    }

    #[test]
    fn digest_is_fnv_1a() {
        assert_eq!(digest(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(digest(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
