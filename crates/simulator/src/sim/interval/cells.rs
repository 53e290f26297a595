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
    /// Whether one pipe works nearly all the time; none where too few kernels were measured to tell.
    pub one_pipe: Option<bool>,
    /// The interval.
    pub interval: Interval,
}

const fn all(class: Class, part: Part, low: f64, high: f64) -> Cell {
    Cell { class, part, bound: None, even: None, one_pipe: None, interval: from(low, high) }
}

const fn cell(class: Class, part: Part, bound: Bound, of: [Option<bool>; 2], low: f64, high: f64) -> Cell {
    let [even, one_pipe] = of;
    Cell { class, part, bound: Some(bound), even, one_pipe, interval: from(low, high) }
}

/// The cells; those with too few measured kernels are left out.
#[rustfmt::skip]
pub const CELLS: &[Cell] = &[
    all(Class::Product, Part::TwoCores, 0.70, 2.01),
    all(Class::Product, Part::Split, 0.87, 1.46),
    all(Class::TbeProduct, Part::TwoCores, 0.77, 1.73),
    all(Class::TbeProduct, Part::M200, 0.57, 4.01),
    all(Class::TbeProduct, Part::Split, 0.72, 2.74),
    all(Class::Record, Part::TwoCores, 0.65, 1.80),
    all(Class::Record, Part::ManyCores, 0.59, 2.29),
    all(Class::Record, Part::M200, 0.66, 2.05),
    all(Class::Attention, Part::Split, 0.85, 1.33),
    all(Class::FusedCube, Part::ManyCores, 0.76, 1.58),
    all(Class::Elementwise, Part::TwoCores, 0.66, 1.71),
    all(Class::Elementwise, Part::ManyCores, 0.74, 1.40),
    all(Class::Elementwise, Part::Split, 0.66, 1.70),
    all(Class::Rows, Part::TwoCores, 0.81, 1.96),
    all(Class::Rows, Part::ManyCores, 0.72, 2.99),
    all(Class::Movement, Part::TwoCores, 0.84, 1.65),
    all(Class::Movement, Part::ManyCores, 0.61, 1.29),
    cell(Class::Product, Part::TwoCores, Bound::Memory, [None, None], 0.69, 2.01),
    cell(Class::Product, Part::TwoCores, Bound::Mte2, [None, None], 0.54, 1.98),
    cell(Class::Product, Part::Split, Bound::Cube, [None, None], 0.78, 1.20),
    cell(Class::TbeProduct, Part::TwoCores, Bound::Memory, [Some(false), None], 0.87, 1.59),
    cell(Class::TbeProduct, Part::TwoCores, Bound::Memory, [Some(true), None], 0.89, 1.71),
    cell(Class::TbeProduct, Part::TwoCores, Bound::Mte2, [Some(true), None], 0.75, 2.88),
    cell(Class::TbeProduct, Part::M200, Bound::Mte1, [None, None], 0.59, 4.01),
    cell(Class::TbeProduct, Part::M200, Bound::Mte3, [None, None], 0.69, 5.78),
    cell(Class::TbeProduct, Part::Split, Bound::Cube, [Some(true), None], 0.77, 1.39),
    cell(Class::TbeProduct, Part::Split, Bound::Latency, [Some(false), None], 0.82, 2.84),
    cell(Class::TbeProduct, Part::Split, Bound::Latency, [Some(true), None], 0.78, 2.36),
    cell(Class::TbeProduct, Part::Split, Bound::Mte1, [Some(false), None], 0.68, 4.67),
    cell(Class::TbeProduct, Part::Split, Bound::Mte1, [Some(true), None], 0.72, 1.47),
    cell(Class::TbeProduct, Part::Split, Bound::Mte2, [Some(false), None], 0.69, 6.00),
    cell(Class::TbeProduct, Part::Split, Bound::Mte2, [Some(true), Some(false)], 0.83, 1.52),
    cell(Class::TbeProduct, Part::Split, Bound::Mte2, [Some(true), Some(true)], 0.72, 1.76),
    cell(Class::Record, Part::TwoCores, Bound::Memory, [None, None], 0.72, 1.70),
    cell(Class::Record, Part::TwoCores, Bound::Mte1, [None, None], 0.73, 1.79),
    cell(Class::Record, Part::TwoCores, Bound::Mte2, [None, None], 0.65, 1.89),
    cell(Class::Record, Part::TwoCores, Bound::Vector, [None, None], 0.59, 1.79),
    cell(Class::Record, Part::ManyCores, Bound::Cube, [None, None], 0.40, 4.36),
    cell(Class::Record, Part::ManyCores, Bound::Latency, [None, None], 0.69, 1.74),
    cell(Class::Record, Part::ManyCores, Bound::Memory, [None, None], 0.67, 1.76),
    cell(Class::Record, Part::ManyCores, Bound::Mte1, [None, None], 0.63, 2.36),
    cell(Class::Record, Part::ManyCores, Bound::Mte2, [None, None], 0.36, 2.23),
    cell(Class::Record, Part::ManyCores, Bound::Vector, [None, None], 0.73, 2.78),
    cell(Class::Record, Part::M200, Bound::Cube, [None, None], 0.58, 2.16),
    cell(Class::Record, Part::M200, Bound::Latency, [None, None], 0.78, 1.54),
    cell(Class::Record, Part::M200, Bound::Memory, [None, None], 0.89, 2.43),
    cell(Class::Record, Part::M200, Bound::Mte1, [None, None], 0.71, 1.56),
    cell(Class::Attention, Part::Split, Bound::Mte2, [None, None], 0.81, 1.24),
    cell(Class::Attention, Part::Split, Bound::Vector, [None, None], 0.85, 1.25),
    cell(Class::Elementwise, Part::TwoCores, Bound::Latency, [None, None], 0.59, 1.95),
    cell(Class::Elementwise, Part::TwoCores, Bound::Vector, [None, Some(false)], 0.95, 3.00),
    cell(Class::Elementwise, Part::TwoCores, Bound::Vector, [None, Some(true)], 0.70, 1.32),
    cell(Class::Elementwise, Part::ManyCores, Bound::Latency, [None, None], 0.77, 1.31),
    cell(Class::Elementwise, Part::ManyCores, Bound::Mte2, [None, None], 0.60, 1.22),
    cell(Class::Elementwise, Part::ManyCores, Bound::Vector, [None, None], 0.81, 1.54),
    cell(Class::Rows, Part::TwoCores, Bound::Vector, [None, None], 0.81, 1.96),
    cell(Class::Movement, Part::TwoCores, Bound::Latency, [None, None], 0.93, 1.64),
    cell(Class::Movement, Part::TwoCores, Bound::Mte3, [None, None], 0.80, 1.42),
    cell(Class::Movement, Part::ManyCores, Bound::Latency, [None, None], 0.63, 1.28),
];
