//! The version of the library.

/// Reads one number of the version that cargo hands over; every part is below 256 so that three of them
/// fit into one number.
const fn part(text: &str) -> u32 {
    let mut value = 0;
    let mut index = 0;
    let digits = text.as_bytes();
    while index < digits.len() {
        value = value * 10 + (digits[index] - b'0') as u32;
        index += 1;
    }
    assert!(value < 256, "a part of the version does not fit into a byte");
    value
}

const VERSION: u32 = part(env!("CARGO_PKG_VERSION_MAJOR")) << 16
    | part(env!("CARGO_PKG_VERSION_MINOR")) << 8
    | part(env!("CARGO_PKG_VERSION_PATCH"));

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub extern "C" fn AoeGetVersion() -> u32 {
    VERSION
}
