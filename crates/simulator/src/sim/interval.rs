//! How sure a time is: the interval that holds nine of ten measured times.
//!
//! Conformal: of kernels that no constant was fitted to, the ratio of measured to predicted time is sorted by class of
//! kernel and generation of part, and the interval spans its middle nine tenths. `examples/calibrate` prints the table.
//! What lies farther from those kernels (parts without measurements, operators that are priced as movement) gets a wider
//! one.

use super::cube::two_cores;
use super::vector;
use crate::soc::{Arch, Soc};
use crate::workload::{MatMulKernel, Workload};

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
        let parts = match workload {
            Workload::Fused(parts) => parts.as_slice(),
            single => std::slice::from_ref(single),
        };
        let cubes = parts.iter().filter(|part| part.is_cube()).count();
        match workload {
            _ if cubes > 1 => Class::Attention,
            _ if cubes == 1 && parts.len() > 1 => Class::FusedCube,
            _ if cubes == 1 => match workload.product_kernel() {
                Some(MatMulKernel::AscendC | MatMulKernel::QuantV4 | MatMulKernel::Transposed) => Class::Product,
                Some(MatMulKernel::Tbe) => Class::TbeProduct,
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

/// Kernels shorter than this, in microseconds, are their start for the most part.
const SHORT_US: f64 = 5.0;
/// How much wider, as a power, the interval is on a part whose generation nothing was fitted to.
const UNMEASURED: f64 = 1.5;

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
/// TBE's products on the 310P, whose records do not tell the tile in UB.
const HIDDEN_TILE: Interval = from(0.46, 3.60);
/// The same on two cores, where what passes UB is counted whatever its tile.
const TWO_CORES: Interval = from(0.72, 1.80);
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
        let is_product =
            matches!(class, Class::Product | Class::TbeProduct | Class::Cube | Class::Record | Class::FusedCube);
        match soc.arch {
            Arch::C220 if is_product => TILINGS,
            Arch::C310 if is_product => from(TILINGS.low.powf(UNMEASURED), TILINGS.high.powf(UNMEASURED)),
            _ if is_product => OLD_TILINGS,
            _ => {
                let one = Interval::of(class, soc, SHORT_US, false);
                let far = one.low.ln().hypot(one.high.ln()).exp();
                from(1.0 / far, far)
            }
        }
    }

    /// What the difference of two measured means leaves open: the same for a time of `after_us` that `before_us` was
    /// measured beside, where the gain is known to within `error_us`. What may be no time at all is infinitely far.
    pub fn of_difference(after_us: f64, error_us: f64) -> Interval {
        let fastest = after_us - error_us;
        let high = if fastest > 0.0 { after_us / fastest } else { f64::INFINITY };
        from(after_us / (after_us + error_us), high)
    }

    /// That of a kernel of this class which is predicted to take so long; `alone` where it is known what L2 holds.
    pub fn of(class: Class, soc: &Soc, time_us: f64, alone: bool) -> Interval {
        let row = TABLE
            .iter()
            .find(|(of, _)| *of == class)
            .map_or(from(0.35, 4.0), |(_, row)| row[if alone { 2 } else { usize::from(time_us >= SHORT_US) }]);
        let row = match class {
            Class::Product if soc.arch == Arch::C100 => GUESSED_PRODUCT,
            Class::TbeProduct if two_cores::is_of(soc) => return TWO_CORES,
            Class::TbeProduct if matches!(soc.arch, Arch::C100 | Arch::M200) => return HIDDEN_TILE,
            _ => row,
        };
        let measured = class == Class::Record
            || matches!(soc.arch, Arch::C100 | Arch::C220)
            || soc.arch == Arch::C310 && !matches!(class, Class::Cube | Class::Product | Class::TbeProduct);
        if measured { row } else { from(row.low.powf(UNMEASURED), row.high.powf(UNMEASURED)) }
    }

    /// The ends in microseconds around a predicted time.
    pub fn around(self, time_us: f64) -> [f64; 2] {
        [self.low * time_us, self.high * time_us]
    }

    /// The narrowest interval that holds nine of ten of these ratios of measured to predicted time, and the next one too
    /// with about that chance; `None` for fewer than 19 of them, which cannot tell.
    pub fn conformal(ratios: &mut [f64]) -> Option<Interval> {
        const HELD: f64 = 0.9;
        const FEWEST: usize = 19;
        ratios.sort_by(f64::total_cmp);
        let held = (HELD * (ratios.len() + 1) as f64).ceil() as usize;
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
    use crate::workload::{Move, Operand, Vector};
    use aoe_graph::DataType;

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
                let Interval { low, high } = Interval::of(class, &Soc::find("Ascend910B2").unwrap(), time_us, alone);
                assert!(0.0 < low && low < 1.0 && 1.0 < high && high.is_finite(), "{}", class.name());
            }
        }
    }

    #[test]
    fn what_lies_far_from_measurements_is_less_sure() {
        let width = |class, part: &str| {
            let Interval { low, high } = Interval::of(class, &Soc::find(part).unwrap(), 50.0, false);
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
    fn the_interval_of_a_measured_difference_is_the_difference_s() {
        let Interval { low, high } = Interval::of_difference(80.0, 10.0);
        assert!((80.0 / high - 70.0).abs() < 1e-9 && (80.0 / low - 90.0).abs() < 1e-9);
        assert!(Interval::of_difference(80.0, 80.0).high.is_infinite());
        assert_eq!(Interval::of_difference(80.0, 0.0), Interval::EXACT);
    }

    #[test]
    fn a_conformal_interval_is_the_narrowest_that_holds_nine_of_ten_and_needs_enough_to_tell() {
        // Nine of ten are within a factor of 1.1, one far above.
        let mut ratios: Vec<f64> = (0..180).map(|n| 1.0 + f64::from(n) / 1800.0).chain((0..19).map(|_| 50.0)).collect();
        let Interval { low, high } = Interval::conformal(&mut ratios).unwrap();
        assert!(low == 1.0 && high < 1.1, "{low} {high}");
        assert_eq!(Interval::conformal(&mut [1.0; 18]), None);
        assert!(Interval::conformal(&mut [1.0; 19]).is_some());
    }
}
