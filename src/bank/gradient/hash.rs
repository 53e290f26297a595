//! The hash that names a network in the gradient bank.

use crate::graph::DataType;

/// Multiplier of `MurmurHash64A`.
const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
/// Its shift.
const SHIFT: u32 = 47;
/// The seed that libstdc++ gives it.
const SEED: u64 = 0xc70f_6907;

/// libstdc++'s `std::hash<std::string>` on 64-bit machines: `MurmurHash64A` with a fixed seed.
pub fn string_hash(bytes: &[u8]) -> u64 {
    let mix = |v: u64| v ^ (v >> SHIFT);
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = mix(u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
        hash = (hash ^ word).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        let word = rest.iter().rev().fold(0, |word, &byte| (word << 8) | u64::from(byte));
        hash = (hash ^ word).wrapping_mul(MULTIPLIER);
    }
    mix(mix(hash).wrapping_mul(MULTIPLIER))
}

/// The `modelhash` of a network: over the data type and the tensor size of every input of every
/// `HcomAllReduce`, in topological order, as CANN sees them when it looks the network up. For static graphs
/// of CANN's current releases the size is not set yet at that moment, and 0.
pub fn model_hash(inputs: impl IntoIterator<Item = (DataType, u64)>) -> u64 {
    let numbers = inputs.into_iter().flat_map(|(dtype, size)| [dtype.ge_number().to_string(), size.to_string()]);
    string_hash(numbers.collect::<String>().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::{model_hash, string_hash};
    use crate::graph::DataType;
    use std::process::Command;

    #[test]
    fn strings_hash_to_the_known_vectors() {
        for (text, hash) in [
            ("", 6_142_509_188_972_423_790),
            ("a", 4_993_892_634_952_068_459),
            ("hello", 2_762_169_579_135_187_400),
            ("12345678", 10_113_836_418_918_046_885),
            ("123456789abcdef", 11_258_708_842_651_572_843),
            ("0400408200192", 10_738_623_597_071_790_697),
        ] {
            assert_eq!(string_hash(text.as_bytes()), hash, "{text}");
        }
    }

    #[test]
    fn networks_hash_as_cann_hashes_them() {
        // 161 gradients of float32 whose size is not set yet.
        assert_eq!(model_hash([(DataType::Float, 0); 161]), 15_294_858_920_613_849_201);
        let inputs = [(DataType::Float, 400), (DataType::Float, 408_200), (DataType::Float16, 92)];
        assert_eq!(model_hash(inputs), string_hash(b"04000408200192"));
    }

    #[test]
    fn strings_hash_as_in_a_program_of_the_machines_own_compiler() {
        // Every length up to three words, and bytes from the whole range.
        let texts: Vec<Vec<u8>> = (0..40).map(|n| (0..n).map(|i| (i * 37 + n * 11 + 1) as u8 | 1).collect()).collect();
        let literal = |text: &Vec<u8>| text.iter().map(|b| format!("\\{b:03o}")).collect::<Vec<_>>().concat();
        let calls = texts.iter().map(|t| format!("show(\"{}\", {});", literal(t), t.len()));
        let calls = calls.collect::<Vec<_>>().concat();
        let source = format!(
            "#include <cstdio>\n#include <functional>\n#include <string>\n\
             static void show(const char *s, unsigned n)\n\
             {{ std::printf(\"%zu\\n\", std::hash<std::string>()(std::string(s, n))); }}\n\
             int main() {{ {calls} return 0; }}\n"
        );
        let directory = tempfile::tempdir().unwrap();
        let (file, program) = (directory.path().join("hash.cpp"), directory.path().join("hash"));
        std::fs::write(&file, source).unwrap();
        let compiled = Command::new("c++").arg("-o").arg(&program).arg(&file).status().expect("a C++ compiler");
        assert!(compiled.success());
        let output = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
        let theirs: Vec<u64> = output.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(theirs, texts.iter().map(|t| string_hash(t)).collect::<Vec<_>>());
    }
}
