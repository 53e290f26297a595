//! Damage of every kind at once: bytes changed, put in, taken out, and pieces moved.

use proptest::prelude::*;

/// One piece of damage; places count modulo the length of what is damaged.
#[derive(Debug, Clone)]
pub enum Damage {
    Change(usize, u8),
    Insert(usize, u8),
    Cut(usize, usize),
    Move(usize, usize, usize),
}

/// A few pieces of damage.
pub fn damage() -> impl Strategy<Value = Vec<Damage>> {
    let place = 0usize..100_000;
    // What means something in JSON lines more often than not.
    let byte = prop_oneof![any::<u8>(), proptest::sample::select(b"{}[]\",:\n01 \\".to_vec())];
    let one = prop_oneof![
        (place.clone(), byte.clone()).prop_map(|(at, byte)| Damage::Change(at, byte)),
        (place.clone(), byte).prop_map(|(at, byte)| Damage::Insert(at, byte)),
        (place.clone(), 1usize..200).prop_map(|(at, length)| Damage::Cut(at, length)),
        (place.clone(), 1usize..200, place).prop_map(|(at, length, to)| Damage::Move(at, length, to)),
    ];
    proptest::collection::vec(one, 1..4)
}

/// The content with the damage done to it.
pub fn damaged(content: &[u8], damage: &[Damage]) -> Vec<u8> {
    let mut content = content.to_vec();
    for piece in damage {
        let length = content.len();
        if length == 0 {
            break;
        }
        let range = |at: usize, size: usize| at % length..(at % length + size).min(length);
        match *piece {
            Damage::Change(at, byte) => content[at % length] = byte,
            Damage::Insert(at, byte) => content.insert(at % length, byte),
            Damage::Cut(at, size) => drop(content.drain(range(at, size))),
            Damage::Move(at, size, to) => {
                let moved: Vec<u8> = content.drain(range(at, size)).collect();
                let to = to % (content.len() + 1);
                content.splice(to..to, moved);
            }
        }
    }
    content
}
