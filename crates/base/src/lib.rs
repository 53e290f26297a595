//! What the crates of `libaoe` share: the [error type](status::Error) with CANN's status codes, [files that are
//! read within limits](input_file), [INI files](ini) as CANN's platform descriptions are, [JSON without repeated
//! fields](json), and [names that are nearly right](spelling).
#![forbid(unsafe_code)]

pub mod ini;
pub mod input_file;
pub mod json;
pub mod spelling;
pub mod status;
