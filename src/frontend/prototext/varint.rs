//! Numbers and tags on the wire.

/// Writes a number in as few bytes as it takes.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Bytes of a number on the wire.
pub(super) fn varint_length(value: u64) -> usize {
    (64 - (value | 1).leading_zeros()).div_ceil(7) as usize
}

/// Bytes of the tag of a field.
pub(super) fn tag_length(number: u32) -> usize {
    varint_length(u64::from(number) << 3)
}
