//! Scales of charts: from values to places on the page.

/// A scale of powers of ten.
#[derive(Debug, Clone, Copy)]
pub struct Log {
    /// Exponents of its ends.
    from: f64,
    to: f64,
    /// Places of its ends.
    start: f64,
    end: f64,
}

impl Log {
    /// A scale over whole powers of ten that holds all positive ones of these values, from `start` to `end`.
    pub fn over(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Log {
        let exponents = values.filter(|value| value.is_finite() && *value > 0.0).map(f64::log10);
        let (low, high) =
            exponents.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), e| (low.min(e), high.max(e)));
        let (from, to) = if low.is_finite() { (low.floor(), high.ceil()) } else { (0.0, 1.0) };
        Log { from, to: if to > from { to } else { from + 1.0 }, start, end }
    }

    /// Where a value stands; one that is off the scale, at the end that it is nearer to.
    pub fn at(&self, value: f64) -> f64 {
        let exponent = if value > 0.0 { value.log10().clamp(self.from, self.to) } else { self.from };
        self.start + (exponent - self.from) / (self.to - self.from) * (self.end - self.start)
    }

    /// The values at its ends.
    pub fn ends(&self) -> [f64; 2] {
        [10_f64.powf(self.from), 10_f64.powf(self.to)]
    }

    /// The powers of ten on it, at most about a dozen.
    pub fn ticks(&self) -> impl Iterator<Item = i32> + use<> {
        let step = ((self.to - self.from) / 12.0).ceil().max(1.0) as usize;
        (self.from as i32..=self.to as i32).step_by(step)
    }
}

/// A place on the page as a short number.
pub fn place(at: f64) -> String {
    let text = format!("{at:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_holds_its_values_between_whole_powers_of_ten() {
        let log = Log::over([3.0, 250.0, 0.0, f64::NAN].into_iter(), 0.0, 300.0);
        assert_eq!(log.ticks().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert!((log.at(10.0) - 100.0).abs() < 1e-9 && (log.at(1e9) - 300.0).abs() < 1e-9 && log.at(-1.0).abs() < 1e-9);
        let none = Log::over(std::iter::empty(), 0.0, 1.0);
        assert_eq!(none.ticks().collect::<Vec<_>>(), [0, 1]);
        assert!(Log::over([1e-300, 1e300].into_iter(), 0.0, 1.0).ticks().count() < 20);
    }
}
