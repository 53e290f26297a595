//! The simulator against measured kernels: `cargo run --release --example accuracy -- FOLDER`.
//!
//! Prints errors per set, operator class and decade of time, for the rows that fitting saw and for those
//! it did not, and totals of networks; writes scatter plots beside the current folder's `target`.

#[allow(dead_code, reason = "shared with calibrate, which needs other parts")]
mod data;

use aoe::sim::Constants;
use std::io::Write;
use std::path::PathBuf;

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_default());
    let rows = data::load(&folder, &data::Assumed::default()).unwrap();
    let mut out = std::io::BufWriter::new(std::fs::File::create("target/predictions.tsv").unwrap());
    for r in &rows {
        let p = r.predict(&Constants::FITTED);
        let e = match &r.job {
            Ok(_) => String::new(),
            Err(e) => e.clone(),
        };
        writeln!(
            out,
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            r.set,
            r.id,
            r.op,
            r.class.name(),
            r.network.as_deref().unwrap_or("-"),
            r.held_out,
            r.count,
            r.measured_us,
            p.unwrap_or(f64::NAN),
            e
        )
        .unwrap();
    }
}
