//! A program that hosts the library: what an unchanged client of CANN is.

use aoe::frontend::{self, Framework, ModelOptions};
use aoe::session;
use aoe::status::{Result, Status};
use std::path::Path;

/// The variable that makes a process of this test the host: the options, one a line.
pub const OPTIONS: &str = "AOE_TEST_OPTIONS";
/// The variable that names a model to tune in place of the operators.
pub const MODEL: &str = "AOE_TEST_MODEL";
/// Where the host leaves its report.
pub const REPORT: &str = "report.json";

/// In a process of its own: tunes a model, or the operators in `ops.json` of the current folder.
#[test]
fn host() {
    let Ok(options) = std::env::var(OPTIONS) else { return };
    let options: Vec<_> = options.lines().filter_map(|line| line.split_once('=')).collect();
    session::logging::set_sink(Some(std::sync::Arc::new(|level, text: &str| eprintln!("[{level}] {text}"))));
    let status = match tuned(&options) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{} {error}", error.id().unwrap_or_default());
            if error.status() == Status::InvalidOptionAttr { 2 } else { 1 }
        }
    };
    std::process::exit(status);
}

fn tuned(options: &[(&str, &str)]) -> Result<()> {
    session::initialize(options.iter().copied())?;
    let (file, framework) = match std::env::var(MODEL) {
        Ok(model) => (model, None),
        Err(_) => ("ops.json".to_owned(), Some(Framework::SingleOp)),
    };
    let graph = frontend::load_file(Path::new(&file), framework, &ModelOptions::default())?;
    let session = session::session(session::create()?)?;
    session.set_graph(Some(graph))?;
    let outcome = session.tune([]);
    // Without a backend there is none.
    if let Ok(report) = session.report() {
        println!("{report}");
        std::fs::write(REPORT, report).unwrap();
    }
    outcome
}
