//! How sure a time is: the interval that holds nine of ten measured times.
//!
//! Conformal: of kernels that no constant was fitted to, the ratio of measured to predicted time is sorted by class of
//! kernel, generation of part and what bounds the kernel, and the interval is the narrowest that holds so many of them.
//! `examples/calibrate --intervals` prints the table. What lies farther from those kernels (parts without measurements,
//! operators that are priced as movement) gets a wider one.

mod cells;

use super::{Bound, Prediction, vector};
use crate::soc::{Arch, Soc};
use crate::workload::{DefaultOrigin, MatMulKernel, Workload};
use aoe_graph::DataType;
pub use cells::{CELLS, Cell};

/// Classes of kernels whose errors are alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Matrix products of AscendC's kernels.
    Product,
    /// Those of TBE's, whose tilings come from records.
    TbeProduct,
    /// Convolutions.
    Cube,
    /// Convolutions with a repository's tiling.
    Record,
    /// Several products in one kernel.
    Attention,
    /// A cube kernel with vector work on its results.
    FusedCube,
    /// Vector work on each element.
    Elementwise,
    /// Vector work along an axis.
    Rows,
    /// Data movement.
    Movement,
    /// Rows taken or added by index.
    Indexed,
    /// What the model prices as the movement of its data for want of anything better.
    Approximated,
    /// Exchange between devices.
    Collective,
}

impl Class {
    /// The class of a kernel.
    pub fn of(workload: &Workload) -> Class {
        let parts = workload.parts();
        let cubes = parts.iter().filter(|part| part.is_cube()).count();
        match workload {
            _ if cubes > 1 => Class::Attention,
            _ if cubes == 1 && parts.len() > 1 => Class::FusedCube,
            _ if cubes == 1 => match workload.product_kernel() {
                Some(MatMulKernel::Tbe) => Class::TbeProduct,
                Some(_) => Class::Product,
                None => Class::Cube,
            },
            _ if !parts.iter().all(vector::is_known) => Class::Approximated,
            Workload::Collective(_) => Class::Collective,
            Workload::Move(w) if vector::is_indexed(&w.op_type) => Class::Indexed,
            Workload::Move(_) => Class::Movement,
            Workload::Reduce(_) => Class::Rows,
            _ => Class::Elementwise,
        }
    }

    /// Whether it is one product or convolution, of which times of several tilings were published.
    const fn is_product(self) -> bool {
        matches!(self, Class::Product | Class::TbeProduct | Class::Cube | Class::Record | Class::FusedCube)
    }

    /// As one word.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Product => "product",
            Class::TbeProduct => "TBE product",
            Class::Cube => "cube",
            Class::Record => "record",
            Class::Attention => "attention",
            Class::FusedCube => "fused cube",
            Class::Elementwise => "elementwise",
            Class::Rows => "rows",
            Class::Movement => "movement",
            Class::Indexed => "indexed",
            Class::Approximated => "approximated",
            Class::Collective => "collective",
        }
    }
}

/// Parts whose kernels err alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// The first generation with two cores.
    TwoCores,
    /// The first generation with more.
    ManyCores,
    /// The 310P and 610.
    M200,
    /// The 910B and later parts of separate cores.
    Split,
    /// The 950.
    Registers,
    /// Parts that nobody published measurements of.
    Unmeasured,
}

impl Part {
    /// What a part is.
    pub fn of(soc: &Soc) -> Part {
        match soc.arch {
            Arch::C100 if soc.has_two_cores() => Part::TwoCores,
            Arch::C100 => Part::ManyCores,
            Arch::M200 => Part::M200,
            Arch::C220 => Part::Split,
            Arch::C310 => Part::Registers,
            Arch::M300 => Part::Unmeasured,
        }
    }
}

/// What tells how sure the time of a kernel is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kernel {
    /// Its class.
    pub class: Class,
    /// What bounds it.
    pub bound: Bound,
    /// A product whose extents are multiples of 64, or whose result has a bias or is of fp32: elsewhere the true extents,
    /// which repositories round up to 16, may make each row a transfer of its own.
    pub even: bool,
    /// One pipe works nearly all the time, so that how pipes wait for each other tells little.
    pub one_pipe: bool,
    /// What it is predicted to take.
    pub time_us: f64,
    /// Whether it is known what L2 holds.
    pub alone: bool,
}

impl Kernel {
    /// What is to be known of a kernel of this class, by what the model predicts of it.
    pub fn of(workload: &Workload, class: Class, predicted: &Prediction, alone: bool) -> Kernel {
        let even = match workload {
            Workload::MatMul(w) => {
                let inner = [if w.trans_a { w.m } else { w.k }, if w.trans_b { w.k } else { w.n }, w.n];
                w.bias || w.out_dtype == DataType::Float || inner.iter().all(|extent| extent % EVEN == 0)
            }
            _ => true,
        };
        let one_pipe = predicted.pipes.busiest() >= ONE_PIPE;
        Kernel { class, bound: predicted.bound, even, one_pipe, time_us: predicted.model_us, alone }
    }
}

/// What nine of ten measured times lie between, as multiples of the predicted one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

const fn from(low: f64, high: f64) -> Interval {
    Interval { low, high }
}

/// Extents that are multiples of this are surely the true ones.
const EVEN: u64 = 64;
/// Share of its time that a kernel's busiest pipe works at least which hardly waits for another.
const ONE_PIPE: f64 = 0.9;
/// Kernels shorter than this, in microseconds, are their start for the most part.
const SHORT_US: f64 = 5.0;
/// How much wider, as a power, the interval is on a part whose generation nothing was fitted to of its class.
const UNMEASURED: f64 = 1.5;
/// The same of a part of a generation without any measurement.
const FAR: f64 = 2.0;

/// Class by class: a kernel in a network that is short, one that is not, and one alone whose `cache` is known. Of the
/// intervals that hold so many of the ratios, the narrowest.
const TABLE: &[(Class, [Interval; 3])] = &[
    (Class::Product, [from(0.70, 1.80), from(0.76, 1.60), from(0.60, 2.40)]),
    (Class::TbeProduct, [from(0.76, 2.50), from(0.72, 2.05), from(0.72, 2.05)]),
    (Class::Cube, [from(0.65, 2.20), from(0.56, 1.62), from(0.60, 2.40)]),
    (Class::Record, [from(0.68, 1.70), from(0.61, 1.95), from(0.61, 1.95)]),
    (Class::FusedCube, [from(0.65, 1.90), from(0.67, 1.68), from(0.60, 2.40)]),
    (Class::Attention, [from(0.60, 1.80), from(0.80, 1.40), from(0.80, 1.40)]),
    (Class::Elementwise, [from(0.68, 1.60), from(0.65, 1.45), from(0.75, 1.80)]),
    (Class::Rows, [from(0.70, 2.20), from(0.72, 1.95), from(0.62, 1.60)]),
    (Class::Movement, [from(0.68, 1.66), from(0.66, 1.46), from(0.78, 1.60)]),
    (Class::Indexed, [from(0.60, 2.00), from(0.58, 2.40), from(0.68, 1.75)]),
    (Class::Approximated, [from(0.50, 2.50), from(0.35, 4.00), from(0.35, 4.00)]),
    (Class::Collective, [from(0.50, 2.00), from(0.50, 2.00), from(0.50, 2.00)]),
];

/// Products on parts of the first generation, whose default tilings are guesses.
const GUESSED_PRODUCT: Interval = from(0.58, 1.92);
/// Two tilings of one product on the generation that the model was fitted to. Of the `MatMulV3` records that CANN ships
/// for the 910B, each of which was kept because it beat the operator's default there, nineteen of twenty are predicted to
/// take no more than 1.32 of the default's time; errors in favour of a tiling are taken to be as large.
const TILINGS: Interval = from(1.0 / 1.32, 1.32);
/// Two tilings of one product on generations before it: nine of ten measured ratios of the 310P's lie so near to the
/// predicted one.
const OLD_TILINGS: Interval = from(1.0 / 3.1, 3.1);

impl Interval {
    /// That of what is measured as it is.
    pub const EXACT: Interval = from(1.0, 1.0);

    /// What nine of ten true ratios of the times of two tilings of one kernel lie between, as multiples of the predicted
    /// one.
    ///
    /// Two tilings of one product share most of what the model errs in. Of other kernels nobody published times of
    /// several tilings: there the errors of the two times are taken to have nothing to do with each other.
    pub fn of_gain(class: Class, soc: &Soc) -> Interval {
        let is_product = class.is_product();
        match soc.arch {
            Arch::C220 if is_product => TILINGS,
            Arch::C310 if is_product => from(TILINGS.low.powf(UNMEASURED), TILINGS.high.powf(UNMEASURED)),
            _ if is_product => OLD_TILINGS,
            _ => {
                let one = Interval::of_class(class, soc, SHORT_US, false);
                let far = one.low.ln().hypot(one.high.ln()).exp();
                from(1.0 / far, far)
            }
        }
    }

    /// The same over CANN's default, which runs a tiling that is known exactly where its rules are public. Where they are
    /// not, the default may be faster or slower than the estimate of it: how far, nobody measured by itself. What measured
    /// kernels with CANN's own tiling took of the time that is predicted with the estimated one bounds it, and the doubt of
    /// two tilings comes on top.
    ///
    /// Only cube kernels need it: of others the interval of two tilings has that of a default time already.
    pub fn of_gain_over(default: DefaultOrigin, class: Class, soc: &Soc) -> Interval {
        let tilings = Interval::of_gain(class, soc);
        let is_closed = default == DefaultOrigin::Estimated;
        if is_closed && class.is_product() { tilings.and(Interval::of_default(class, soc)) } else { tilings }
    }

    /// What nine of ten measured times of kernels with CANN's own tiling lie between, as multiples of what is predicted with
    /// the estimated one.
    pub fn of_default(class: Class, soc: &Soc) -> Interval {
        let of_all = |cell: &&Cell| cell.class == class && cell.part == Part::of(soc) && cell.bound.is_none();
        CELLS.iter().find(of_all).map_or_else(|| Interval::of_class(class, soc, SHORT_US, false), |cell| cell.interval)
    }

    /// That of a product of two ratios whose errors have nothing to do with each other.
    #[must_use]
    pub fn and(self, other: Interval) -> Interval {
        let end = |a: f64, b: f64| a.ln().hypot(b.ln());
        from((-end(self.low, other.low)).exp(), end(self.high, other.high).exp())
    }

    /// What the difference of two measured means leaves open: the same for a time of `after_us` that `before_us` was
    /// measured beside, where the gain is known to within `error_us`. What may be no time at all is infinitely far.
    pub fn of_difference(after_us: f64, error_us: f64) -> Interval {
        let fastest = after_us - error_us;
        let high = if fastest > 0.0 { after_us / fastest } else { f64::INFINITY };
        from(after_us / (after_us + error_us), high)
    }

    /// That of this kernel on a part.
    pub fn of(kernel: &Kernel, soc: &Soc) -> Interval {
        let cells =
            || CELLS.iter().filter(|cell| !kernel.alone && cell.class == kernel.class && cell.part == Part::of(soc));
        let exact = |cell: &&Cell| {
            cell.bound == Some(kernel.bound)
                && cell.even.is_none_or(|even| even == kernel.even)
                && cell.one_pipe.is_none_or(|one_pipe| one_pipe == kernel.one_pipe)
        };
        let cell = cells().find(exact).or_else(|| cells().find(|cell| cell.bound.is_none()));
        cell.map_or_else(|| Interval::of_class(kernel.class, soc, kernel.time_us, kernel.alone), |cell| cell.interval)
    }

    /// That of a class, where nothing of a kernel is known but how long it is predicted to take.
    fn of_class(class: Class, soc: &Soc, time_us: f64, alone: bool) -> Interval {
        let row = TABLE
            .iter()
            .find(|(of, _)| *of == class)
            .map_or(from(0.35, 4.0), |(_, row)| row[if alone { 2 } else { usize::from(time_us >= SHORT_US) }]);
        let row = if class == Class::Product && soc.arch == Arch::C100 { GUESSED_PRODUCT } else { row };
        let measured = class == Class::Record
            || matches!(soc.arch, Arch::C100 | Arch::C220)
            || soc.arch == Arch::C310 && !matches!(class, Class::Cube | Class::Product | Class::TbeProduct);
        let power = if Part::of(soc) == Part::Unmeasured { FAR } else { UNMEASURED };
        if measured { row } else { from(row.low.powf(power), row.high.powf(power)) }
    }

    /// The ends in microseconds around a predicted time.
    pub fn around(self, time_us: f64) -> [f64; 2] {
        [self.low * time_us, self.high * time_us]
    }

    /// The narrowest interval that holds nine of ten of these ratios of measured to predicted time, and the next one too
    /// with about that chance; `None` for fewer than 24 of them, which cannot tell.
    pub fn conformal(ratios: &mut [f64]) -> Option<Interval> {
        const HELD: f64 = 0.9;
        const FEWEST: usize = 24;
        // The narrowest of many that hold nine of ten is narrow by luck, too, the more so the fewer ratios there are: from half
        // of the kernels that no fit saw, so many more hold nine in ten of the other half.
        const LUCK: f64 = 1.0;
        ratios.sort_by(f64::total_cmp);
        let share = HELD + LUCK / ratios.len().max(1) as f64;
        let held = (share * (ratios.len() + 1) as f64).ceil() as usize;
        if ratios.len() < FEWEST || held > ratios.len() {
            return None;
        }
        let widths = ratios.windows(held).map(|window| from(window[0], window[held - 1]));
        widths.min_by(|a, b| (a.high / a.low).total_cmp(&(b.high / b.low)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Pipes;
    use crate::workload::{MatMul, Move, Operand, Vector};

    const CLASSES: [Class; 12] = [
        Class::Product,
        Class::TbeProduct,
        Class::Cube,
        Class::Record,
        Class::Attention,
        Class::FusedCube,
        Class::Elementwise,
        Class::Rows,
        Class::Movement,
        Class::Indexed,
        Class::Approximated,
        Class::Collective,
    ];

    #[test]
    fn every_class_has_a_row_and_every_interval_holds_the_predicted_time() {
        for class in CLASSES {
            assert_eq!(TABLE.iter().filter(|(of, _)| *of == class).count(), 1, "{}", class.name());
            for (time_us, alone) in [(1.0, false), (50.0, false), (50.0, true)] {
                let Interval { low, high } =
                    Interval::of_class(class, &Soc::find("Ascend910B2").unwrap(), time_us, alone);
                assert!(0.0 < low && low < 1.0 && 1.0 < high && high.is_finite(), "{}", class.name());
            }
        }
    }

    fn of(class: Class, part: &str) -> Interval {
        let kernel = Kernel { class, bound: Bound::Latency, even: true, one_pipe: false, time_us: 50.0, alone: false };
        Interval::of(&kernel, &Soc::find(part).unwrap())
    }

    #[test]
    fn every_cell_holds_the_predicted_time_and_is_there_once() {
        for (at, cell) in CELLS.iter().enumerate() {
            let Interval { low, high } = cell.interval;
            assert!(0.0 < low && low < 1.0 && 1.0 < high && high.is_finite(), "{cell:?}");
            let key = |cell: &Cell| (cell.class, cell.part, cell.bound, cell.even, cell.one_pipe);
            let same = |other: &&Cell| key(other) == key(cell);
            assert_eq!(CELLS[at..].iter().filter(same).count(), 1, "{cell:?}");
        }
    }

    #[test]
    fn products_whose_rows_may_be_odd_are_less_sure() {
        let soc = Soc::find("Ascend910B2").unwrap();
        let width = |n: u64| {
            let w = Workload::MatMul(MatMul { kernel: MatMulKernel::Tbe, ..MatMul::new(1024, 1024, n) });
            let predicted = Prediction {
                time_us: 50.0,
                model_us: 50.0,
                pipes: Pipes { mte2: 0.7, ..Pipes::default() },
                bound: Bound::Mte2,
                known: true,
            };
            let kernel = Kernel::of(&w, Class::of(&w), &predicted, false);
            let Interval { low, high } = Interval::of(&kernel, &soc);
            high / low
        };
        assert!(width(1008) > 1.5 * width(1024), "{} {}", width(1008), width(1024));
    }

    #[test]
    fn what_lies_far_from_measurements_is_less_sure() {
        let width = |class, part: &str| {
            let Interval { low, high } = of(class, part);
            high / low
        };
        assert!(width(Class::Elementwise, "Ascend310B1") > width(Class::Elementwise, "Ascend910B2"));
        assert!(width(Class::Approximated, "Ascend910B2") > 2.0 * width(Class::Movement, "Ascend910B2"));
    }

    #[test]
    fn an_unknown_operator_is_approximated_whatever_it_was_lowered_to() {
        let x = || Operand::new([64, 64], DataType::Float);
        let of = |op_type: &str| {
            let (op_type, inputs, outputs) = (op_type.to_owned(), vec![x()], vec![x()]);
            [
                Class::of(&Workload::Vector(Vector {
                    op_type: op_type.clone(),
                    inputs: inputs.clone(),
                    outputs: outputs.clone(),
                })),
                Class::of(&Workload::Move(Move { op_type, run_bytes: 0, inputs, outputs })),
            ]
        };
        assert_eq!(of("Frobnicate"), [Class::Approximated; 2]);
        assert_eq!(of("Relu")[0], Class::Elementwise);
        assert_eq!(of("GatherV2")[1], Class::Indexed);
    }

    #[test]
    fn the_interval_of_a_gain_holds_the_predicted_one_and_widens_where_less_was_measured() {
        let [new, old, later] = ["Ascend910B2", "Ascend310P3", "Ascend950PR_9589"].map(|name| Soc::find(name).unwrap());
        for class in CLASSES {
            for soc in [&new, &old, &later] {
                let Interval { low, high } = Interval::of_gain(class, soc);
                assert!(low < 1.0 && high > 1.0 && (low * high - 1.0).abs() < 1e-9, "{class:?} {low} {high}");
            }
        }
        let of = |soc| Interval::of_gain(Class::Cube, soc).high;
        assert!(of(&new) < of(&later) && of(&later) < of(&old));
    }

    #[test]
    fn a_gain_over_an_estimated_default_is_no_surer_than_the_estimate_and_one_over_a_public_default_is_as_sure_as_its_tilings()
     {
        for part in ["Ascend910B2", "Ascend310P3", "Ascend950PR_9589"].map(|name| Soc::find(name).unwrap()) {
            for class in [Class::Product, Class::TbeProduct, Class::Cube, Class::FusedCube] {
                let tilings = Interval::of_gain(class, &part);
                assert_eq!(Interval::of_gain_over(DefaultOrigin::Public, class, &part), tilings);
                let (gain, default) = (
                    Interval::of_gain_over(DefaultOrigin::Estimated, class, &part),
                    Interval::of_default(class, &part),
                );
                assert!(gain.low < tilings.low.min(default.low), "{class:?} {gain:?}");
                assert!(gain.high > tilings.high.max(default.high), "{class:?} {gain:?}");
            }
            // Both times of a vector kernel are as unsure as a default's already.
            let [open, closed] = DefaultOrigin::ALL.map(|of| Interval::of_gain_over(of, Class::Rows, &part));
            assert_eq!(open, closed);
        }
    }

    #[test]
    fn the_interval_of_a_measured_difference_is_the_difference_s() {
        let Interval { low, high } = Interval::of_difference(80.0, 10.0);
        assert!((80.0 / high - 70.0).abs() < 1e-9 && (80.0 / low - 90.0).abs() < 1e-9);
        assert!(Interval::of_difference(80.0, 80.0).high.is_infinite());
        assert_eq!(Interval::of_difference(80.0, 0.0), Interval::EXACT);
    }

    #[test]
    fn a_conformal_interval_is_the_narrowest_that_holds_nine_of_ten_and_needs_enough_to_tell() {
        // More than nine of ten are within a factor of 1.1, the others far above.
        let mut ratios: Vec<f64> = (0..182).map(|n| 1.0 + f64::from(n) / 1820.0).chain((0..17).map(|_| 50.0)).collect();
        let Interval { low, high } = Interval::conformal(&mut ratios).unwrap();
        assert!(low == 1.0 && high < 1.1, "{low} {high}");
        assert_eq!(Interval::conformal(&mut [1.0; 23]), None);
        assert!(Interval::conformal(&mut [1.0; 24]).is_some());
    }
}
