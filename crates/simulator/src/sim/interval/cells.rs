//! The intervals of kernels in networks by class, part and what bounds them, as `examples/calibrate --intervals` prints
//! them.

use super::{Class, Interval, Part, from};
use crate::sim::Bound;

/// Kernels whose errors are alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// Their class.
    pub class: Class,
    /// Their part.
    pub part: Part,
    /// What bounds them; none for those of the class that no other cell has.
    pub bound: Option<Bound>,
    /// Whether their extents are surely the true ones; none where that tells nothing.
    pub even: Option<bool>,
    /// The interval.
    pub interval: Interval,
}

const fn all(class: Class, part: Part, low: f64, high: f64) -> Cell {
    Cell { class, part, bound: None, even: None, interval: from(low, high) }
}

const fn cell(class: Class, part: Part, bound: Bound, even: Option<bool>, low: f64, high: f64) -> Cell {
    Cell { class, part, bound: Some(bound), even, interval: from(low, high) }
}

/// The cells; those with too few measured kernels are left out.
#[rustfmt::skip]
pub const CELLS: &[Cell] = &[
    all(Class::Product, Part::TwoCores, 0.63, 1.83),
    all(Class::Product, Part::Split, 0.87, 1.46),
    all(Class::TbeProduct, Part::TwoCores, 0.72, 1.76),
    all(Class::TbeProduct, Part::M200, 0.57, 4.01),
    all(Class::TbeProduct, Part::Split, 0.72, 2.74),
    all(Class::Record, Part::TwoCores, 0.65, 1.80),
    all(Class::Record, Part::ManyCores, 0.59, 2.29),
    all(Class::Record, Part::M200, 0.66, 2.05),
    all(Class::Attention, Part::Split, 0.85, 1.33),
    all(Class::FusedCube, Part::ManyCores, 0.67, 1.87),
    all(Class::Elementwise, Part::TwoCores, 0.66, 1.71),
    all(Class::Elementwise, Part::ManyCores, 0.73, 1.39),
    all(Class::Elementwise, Part::Split, 0.66, 1.70),
    all(Class::Rows, Part::TwoCores, 0.81, 1.96),
    all(Class::Rows, Part::ManyCores, 0.72, 2.99),
    all(Class::Movement, Part::TwoCores, 0.84, 1.65),
    all(Class::Movement, Part::ManyCores, 0.61, 1.29),
    cell(Class::Product, Part::TwoCores, Bound::Memory, None, 0.71, 2.08),
    cell(Class::Product, Part::TwoCores, Bound::Mte2, None, 0.47, 1.80),
    cell(Class::Product, Part::Split, Bound::Cube, None, 0.78, 1.20),
    cell(Class::TbeProduct, Part::TwoCores, Bound::Memory, Some(false), 0.95, 1.72),
    cell(Class::TbeProduct, Part::TwoCores, Bound::Memory, Some(true), 0.80, 1.72),
    cell(Class::TbeProduct, Part::TwoCores, Bound::Mte2, Some(true), 0.70, 1.74),
    cell(Class::TbeProduct, Part::M200, Bound::Mte1, None, 0.59, 4.01),
    cell(Class::TbeProduct, Part::M200, Bound::Mte3, None, 0.69, 5.78),
    cell(Class::TbeProduct, Part::Split, Bound::Cube, Some(true), 0.77, 1.39),
    cell(Class::TbeProduct, Part::Split, Bound::Latency, Some(false), 0.82, 2.84),
    cell(Class::TbeProduct, Part::Split, Bound::Latency, Some(true), 0.78, 2.36),
    cell(Class::TbeProduct, Part::Split, Bound::Mte1, Some(false), 0.68, 4.67),
    cell(Class::TbeProduct, Part::Split, Bound::Mte1, Some(true), 0.72, 1.47),
    cell(Class::TbeProduct, Part::Split, Bound::Mte2, Some(false), 0.69, 6.00),
    cell(Class::TbeProduct, Part::Split, Bound::Mte2, Some(true), 0.76, 1.52),
    cell(Class::Record, Part::TwoCores, Bound::Memory, None, 0.72, 1.70),
    cell(Class::Record, Part::TwoCores, Bound::Mte1, None, 0.73, 1.79),
    cell(Class::Record, Part::TwoCores, Bound::Mte2, None, 0.65, 1.89),
    cell(Class::Record, Part::TwoCores, Bound::Vector, None, 0.59, 1.79),
    cell(Class::Record, Part::ManyCores, Bound::Cube, None, 0.40, 4.36),
    cell(Class::Record, Part::ManyCores, Bound::Latency, None, 0.69, 1.74),
    cell(Class::Record, Part::ManyCores, Bound::Memory, None, 0.67, 1.76),
    cell(Class::Record, Part::ManyCores, Bound::Mte1, None, 0.63, 2.36),
    cell(Class::Record, Part::ManyCores, Bound::Mte2, None, 0.36, 2.23),
    cell(Class::Record, Part::ManyCores, Bound::Vector, None, 0.73, 2.78),
    cell(Class::Record, Part::M200, Bound::Cube, None, 0.58, 2.16),
    cell(Class::Record, Part::M200, Bound::Latency, None, 0.78, 1.54),
    cell(Class::Record, Part::M200, Bound::Memory, None, 0.89, 2.43),
    cell(Class::Record, Part::M200, Bound::Mte1, None, 0.71, 1.56),
    cell(Class::Attention, Part::Split, Bound::Mte2, None, 0.81, 1.24),
    cell(Class::Attention, Part::Split, Bound::Vector, None, 0.85, 1.25),
    cell(Class::Elementwise, Part::TwoCores, Bound::Latency, None, 0.59, 1.95),
    cell(Class::Elementwise, Part::TwoCores, Bound::Vector, None, 0.66, 1.69),
    cell(Class::Elementwise, Part::ManyCores, Bound::Latency, None, 0.78, 1.31),
    cell(Class::Elementwise, Part::ManyCores, Bound::Mte2, None, 0.60, 1.26),
    cell(Class::Elementwise, Part::ManyCores, Bound::Vector, None, 0.81, 1.54),
    cell(Class::Rows, Part::TwoCores, Bound::Vector, None, 0.81, 1.96),
    cell(Class::Movement, Part::TwoCores, Bound::Latency, None, 0.93, 1.64),
    cell(Class::Movement, Part::TwoCores, Bound::Mte3, None, 0.80, 1.42),
    cell(Class::Movement, Part::ManyCores, Bound::Latency, None, 0.63, 1.28),
];
