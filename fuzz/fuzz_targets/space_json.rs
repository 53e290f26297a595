//! Any text as a space, and as a constraint of one: an error that names a place, or a space whose samples are
//! legal; never a panic.
//!
//! Run with `cargo +nightly fuzz run space_json`.
#![no_main]

use aoe::search::Domain;
use aoe::search::space::{Parameter, Space, Value};
use aoe::status::Error;
use libfuzzer_sys::fuzz_target;

fn check(space: Result<Space, Error>) {
    match space {
        Ok(space) => {
            let sample = space.sample(&mut fastrand::Rng::with_seed(1));
            assert!(sample.is_none_or(|sample| space.is_legal(&sample)));
            if let Some(flat) = space.enumerate(1000) {
                assert!(flat.chunks_exact(space.sizes().len()).all(|row| space.is_legal(row)));
            }
        }
        Err(Error::Space { place, .. }) => assert!(!place.is_empty()),
        Err(other) => panic!("{other}"),
    }
}

fuzz_target!(|text: &str| {
    check(Space::from_json(text));
    let integers = |name: &str| Parameter::new(name, (-2..6).map(Value::Integer).collect());
    let texts = Parameter::new("t", ["x", "y"].map(|text| Value::Text(text.into())).to_vec());
    let parameters = [integers("a"), integers("b"), texts].map(|p| p.expect("these are well-formed"));
    check(Space::new(parameters.to_vec(), &[text]));
});
