//! Training graphs of ResNet-50 and BERT-base with gradients and their exchange, as GE's IR.
//!
//! Run with `cargo run --release --example training -- DIR`: writes `resnet50.air` and `bert_base.air` there. They are
//! bundled in this directory; `aoe --job_type=4` tunes them (docs/gradients.md).

mod bert_base;
mod net;
mod resnet50;

use aoe::frontend::save_file;
use aoe::status::{Error, Result};
use std::path::Path;

fn main() -> Result<()> {
    let Some(directory) = std::env::args_os().nth(1) else {
        return Err(Error::CommandLine { reason: "training DIR: no directory to write to".into() });
    };
    for graph in [resnet50::graph(32)?, bert_base::graph(32, 128)?] {
        save_file(&graph, &Path::new(&directory).join(format!("{}.air", graph.name)))?;
    }
    Ok(())
}
