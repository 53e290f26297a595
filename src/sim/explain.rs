//! One kernel as a timeline of its pipes.

/// Placeholder span.
#[derive(Debug)]
pub struct Span;
/// Placeholder timeline.
#[derive(Debug)]
pub struct Timeline;
