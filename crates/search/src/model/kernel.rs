//! How alike two configurations are, by how far apart they are.

/// A correlation function of a Gaussian process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// Matérn 5/2 of the Euclidean distance: smooth. Good while little is known.
    Matern,
    /// Laplace, the product of one exponential for each feature: continuous, no more, as a forest of random
    /// trees would have it. Follows ragged costs.
    Laplace,
}

impl Kernel {
    /// What a difference of places contributes to the distance.
    pub fn part(self, difference: f32) -> f32 {
        match self {
            Kernel::Matern => difference * difference,
            Kernel::Laplace => difference.abs(),
        }
    }

    /// The correlation at a sum of weighted parts.
    #[inline]
    pub fn correlation(self, distance: f32) -> f32 {
        match self {
            Kernel::Matern => {
                let r = (5.0 * distance).sqrt();
                (1.0 + r + r * r * (1.0 / 3.0)) * exp_negative(-r)
            }
            Kernel::Laplace => exp_negative(-distance),
        }
    }

    /// The derivative of [`Kernel::correlation`].
    pub fn slope(self, distance: f32) -> f32 {
        match self {
            Kernel::Matern => {
                let r = (5.0 * distance).sqrt();
                -(5.0 / 6.0) * (1.0 + r) * exp_negative(-r)
            }
            Kernel::Laplace => -exp_negative(-distance),
        }
    }
}

/// `exp` of a number that is not positive, to seven digits; vectors of them compile to vector code.
#[inline]
fn exp_negative(x: f32) -> f32 {
    /// 1.5 * 2^23: adding it leaves the nearest integer in the low bits.
    const ROUND: f32 = 12_582_912.0;
    /// Taylor coefficients of `2^f`.
    const C: [f32; 5] = [std::f32::consts::LN_2, 0.240_226_5, 0.055_504_1, 0.009_618_13, 0.001_333_36];
    let power = x.max(-80.0) * std::f32::consts::LOG2_E;
    let shifted = power + ROUND;
    let f = power - (shifted - ROUND);
    let fraction = 1.0 + f * (C[0] + f * (C[1] + f * (C[2] + f * (C[3] + f * C[4]))));
    f32::from_bits(shifted.to_bits().wrapping_add(127) << 23) * fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_exponential_is_the_exponential() {
        for i in 0..8000 {
            let x = -f64::from(i) * 0.01;
            let relative = f64::from(exp_negative(x as f32)) / x.exp() - 1.0;
            assert!(relative.abs() < 1e-5, "{x}: {relative}");
        }
        assert!(exp_negative(-1e9) < 1e-30);
    }

    #[test]
    fn slopes_are_derivatives() {
        for kernel in [Kernel::Matern, Kernel::Laplace] {
            assert!((kernel.correlation(0.0) - 1.0).abs() < 1e-6);
            for d in [0.05_f32, 0.3, 1.0, 3.0] {
                let h = 1e-2 * d;
                let estimate = (kernel.correlation(d + h) - kernel.correlation(d - h)) / (2.0 * h);
                assert!((estimate - kernel.slope(d)).abs() < 2e-3, "{kernel:?} {d}");
            }
        }
    }
}
