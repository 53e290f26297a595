//! Configurations as the model sees them: short codes, and a place on an axis for each.

use super::kernel::Kernel;
use crate::tunable::tunable;
use crate::{Domain, Scale};

/// Codes of a feature at most; larger parameters share codes between neighbouring values.
const CODES: usize = 256;
/// Longest list of values that is looked at for powers of two.
const LISTED: usize = 4096;
tunable! {
    /// For how many of the kernels powers of two are told from other values, the ragged one first.
    POWERS: usize = 1;
}
/// Fewest values of which the powers of two are told apart.
const POWERS_FROM: usize = 3;
/// Fewest values for which it matters how often two divides them.
const DIVISIBLE_FROM: usize = 5;
/// Highest power of two that is told from the next.
const HIGHEST_POWER: u32 = 8;

/// One axis of the model.
#[derive(Debug)]
struct Feature {
    parameter: usize,
    /// Number of values of the parameter.
    size: u32,
    /// The code of each value; empty where it follows from the index.
    codes: Vec<u8>,
    /// Where each code lies, from 0 to 1.
    places: Vec<f32>,
    /// Different codes are all equally far apart.
    categorical: bool,
}

/// The axes of a space: one for each parameter with more than one value, and two more where its values are
/// whole numbers and not all powers of two: how often two divides each, which is what hardware likes, and whether
/// nothing else does, which makes blocks divide the usual extents without a rest. No order of the values
/// shows either.
#[derive(Debug)]
pub struct Features {
    features: Vec<Feature>,
}

impl Features {
    pub fn new(domain: &impl Domain, kernel: Kernel) -> Features {
        let powers_from = if *POWERS > usize::from(kernel == Kernel::Matern) { POWERS_FROM } else { usize::MAX };
        let mut features = Vec::new();
        for (parameter, &size) in domain.sizes().iter().enumerate().filter(|(_, size)| **size > 1) {
            let scale = domain.scale(parameter);
            let values = match scale {
                Scale::Ordinal(values) if values.len() == size as usize => Some(values),
                _ => None,
            };
            let count = (size as usize).min(CODES);
            let places = (0..count).map(|code| {
                let rank = code as f64 / (count - 1) as f64;
                let first = (code * size as usize).div_ceil(count);
                // Between even steps and even ratios: whatever the list looks like, neither end is squeezed.
                values.and_then(|values| logarithmic(values, first)).map_or(rank, |log| f64::midpoint(rank, log)) as f32
            });
            let categorical = scale == Scale::Categorical;
            let places = places.collect();
            features.push(Feature { parameter, size, codes: Vec::new(), places, categorical });
            let whole = values.and_then(other_than_powers).unwrap_or_default();
            if whole.len() >= powers_from && whole.iter().any(|value| value.is_power_of_two()) {
                let codes = whole.iter().map(|value| u8::from(!value.is_power_of_two())).collect();
                features.push(Feature { parameter, size, codes, places: vec![0.0, 1.0], categorical: false });
            }
            let powers = whole.iter().map(|value| value.trailing_zeros().min(HIGHEST_POWER) as u8);
            if whole.len() >= DIVISIBLE_FROM && powers.clone().any(|power| Some(power) != powers.clone().next()) {
                let places = (0..=HIGHEST_POWER).map(|power| power as f32 / HIGHEST_POWER as f32).collect();
                features.push(Feature { parameter, size, codes: powers.collect(), places, categorical: false });
            }
        }
        Features { features }
    }

    pub fn len(&self) -> usize {
        self.features.len()
    }

    /// Appends the codes of a configuration.
    pub fn encode(&self, configuration: &[u32], codes: &mut Vec<u8>) {
        codes.extend(self.features.iter().map(|feature| {
            let value = configuration[feature.parameter] as usize;
            match feature.codes.get(value) {
                Some(&code) => code,
                None => (value * feature.places.len() / feature.size as usize) as u8,
            }
        }));
    }

    /// What one feature contributes to a distance between codes, before weighting.
    pub fn part(&self, kernel: Kernel, feature: usize, a: u8, b: u8) -> f32 {
        let feature = &self.features[feature];
        if feature.categorical {
            f32::from(u8::from(a != b))
        } else {
            kernel.part(feature.places[usize::from(a)] - feature.places[usize::from(b)])
        }
    }

    /// Weighted parts of one feature from `code` to every code.
    pub fn table(&self, kernel: Kernel, feature: usize, code: u8, weight: f32) -> [f32; CODES] {
        let mut table = [0.0; CODES];
        for (other, slot) in table.iter_mut().enumerate().take(self.features[feature].places.len()) {
            *slot = weight * self.part(kernel, feature, other as u8, code);
        }
        table
    }

    /// Distance for spreading trials out: steps along all axes.
    pub fn spread(&self, a: &[u8], b: &[u8]) -> f32 {
        (0..self.len()).map(|feature| self.part(Kernel::Laplace, feature, a[feature], b[feature])).sum()
    }
}

/// Where a value lies between the least and the largest, by ratios; `None` where they are no such numbers.
fn logarithmic(values: &[f64], at: usize) -> Option<f64> {
    let (least, largest) = (*values.first()?, *values.last()?);
    // Lists that begin at zero or below are moved up to one.
    let shift = if least > 0.0 { 0.0 } else { 1.0 - least };
    let place = ((values[at] + shift) / (least + shift)).ln() / ((largest + shift) / (least + shift)).ln();
    place.is_finite().then(|| place.clamp(0.0, 1.0))
}

/// The values as whole numbers, where they are that and not all powers of two.
fn other_than_powers(values: &[f64]) -> Option<Vec<u64>> {
    let whole = |v: &f64| *v >= 1.0 && *v < 9e15 && v.fract() == 0.0;
    if values.len() > LISTED || !values.iter().all(whole) {
        return None;
    }
    let numbers: Vec<u64> = values.iter().map(|&v| v as u64).collect();
    (!numbers.iter().all(|number| number.is_power_of_two())).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Blocks(Vec<f64>);

    impl Domain for Blocks {
        fn sizes(&self) -> &[u32] {
            &[6]
        }

        fn scale(&self, _: usize) -> Scale<'_> {
            Scale::Ordinal(&self.0)
        }

        fn is_legal(&self, _: &[u32]) -> bool {
            true
        }
    }

    #[test]
    fn powers_of_two_are_told_from_their_multiples() {
        let features = Features::new(&Blocks(vec![16.0, 32.0, 48.0, 64.0, 80.0, 96.0]), Kernel::Laplace);
        let codes = |value: u32| {
            let mut codes = Vec::new();
            features.encode(&[value], &mut codes);
            codes
        };
        // Rank, whether another factor is in it, and how often two is.
        assert_eq!([codes(0), codes(1), codes(5)], [vec![0, 0, 4], vec![1, 0, 5], vec![5, 1, 5]]);
    }

    #[test]
    fn values_of_one_kind_need_no_further_axes() {
        let axes = |values: [f64; 6]| Features::new(&Blocks(values.to_vec()), Kernel::Laplace).len();
        assert_eq!(axes([1.0, 2.0, 4.0, 8.0, 16.0, 32.0]), 1);
        assert_eq!(axes([0.5, 1.0, 1.5, 2.0, 2.5, 3.0]), 1);
        // One of these is a power of two, and two divides none more often than another.
        assert_eq!(axes([1.0, 3.0, 5.0, 7.0, 9.0, 11.0]), 2);
    }

    #[test]
    fn long_lists_and_what_is_no_usual_number_have_no_powers() {
        let of = |count: usize| (1..=count).map(|i| i as f64).collect::<Vec<_>>();
        assert_eq!(other_than_powers(&of(LISTED)).map(|numbers| numbers.len()), Some(LISTED));
        assert_eq!(other_than_powers(&of(LISTED + 1)), None);
        assert_eq!(other_than_powers(&[1.0, 2.0, 3.0]), Some(vec![1, 2, 3]));
        for values in [[0.0, 1.0, 3.0], [1.0, 2.5, 3.0], [1.0, 3.0, 9e15], [1.0, 2.0, 4.0], [-3.0, 1.0, 3.0]] {
            assert_eq!(other_than_powers(&values), None, "{values:?}");
        }
    }

    #[test]
    fn places_lie_between_even_steps_and_even_ratios() {
        assert_eq!([0, 1, 2].map(|at| logarithmic(&[1.0, 4.0, 16.0], at)), [Some(0.0), Some(0.5), Some(1.0)]);
        // Lists from zero or below begin at one.
        assert_eq!([0, 1, 2].map(|at| logarithmic(&[0.0, 1.0, 3.0], at)), [Some(0.0), Some(0.5), Some(1.0)]);
        assert_eq!([0, 1, 2].map(|at| logarithmic(&[-2.0, -1.0, 1.0], at)), [Some(0.0), Some(0.5), Some(1.0)]);
        assert_eq!(logarithmic(&[2.0, 2.0], 1), None, "no ratio tells one from the other");
        assert_eq!(logarithmic(&[], 0), None);
    }
}
