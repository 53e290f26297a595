//! Where log messages go: to the host's callback, or nowhere. The library itself prints nothing.

use log::{Level, LevelFilter, Log, Metadata, Record};
use std::sync::{Arc, PoisonError, RwLock};

/// Receives one message; may be called from any thread that is inside a call of this library.
pub type Sink = dyn Fn(Level, &str) + Send + Sync;

static SINK: RwLock<Option<Arc<Sink>>> = RwLock::new(None);

struct Relay;

impl Log for Relay {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        // Copied out first: the host's function must not run under our lock.
        let sink = SINK.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(sink) = sink {
            sink(record.level(), &record.args().to_string());
        }
    }

    fn flush(&self) {}
}

/// Sends messages to a sink, or to nobody.
pub fn set_sink(sink: Option<Arc<Sink>>) {
    // A host written in Rust may have its own logger; then our messages go there and this is no error.
    if log::set_logger(&Relay).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
    *SINK.write().unwrap_or_else(PoisonError::into_inner) = sink;
}

/// Sets the level from the option `log`; unset leaves warnings and errors.
pub fn set_level(option: Option<&str>) {
    log::set_max_level(match option {
        Some("debug") => LevelFilter::Debug,
        Some("info") => LevelFilter::Info,
        Some("error") => LevelFilter::Error,
        Some("null") => LevelFilter::Off,
        _ => LevelFilter::Warn,
    });
}
