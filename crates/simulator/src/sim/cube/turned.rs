//! TBE's products of plain matrices on the 310P, by their tilings from its repository.
//!
//! The constants of `Traits::of_m200` tell which of two tilings is the faster, and were fitted to order alone. The time
//! is a share of what they give, and results on their way to device memory, which nothing hides: a fit that is free to
//! choose that rate has 152 GB/s, and 155 is what other products reach of this part's 204.8. Of operands of 16 bits the
//! share is less, as the price of A goes by bytes, and the kernel turns it element by element.
//!
//! The three numbers are least absolute relative errors on the problems that fitting sees (`docs/simulator.md`), by hand:
//! on those that it does not see they lower the mean error from 47 to 39 %. The order of tilings stays as it is.

/// Microseconds before and after.
const START_US: f64 = 3.4;
/// Share of the pipes' time with operands of 8 bits, and of more.
const SHARES: [f64; 2] = [0.94, 0.55];

/// Microseconds of a product with operands of so many bytes an element whose pipes would take `pipes_us` and whose results
/// device memory takes in `results_us`.
pub(super) fn time_us(pipes_us: f64, operand_bytes: f64, results_us: f64) -> f64 {
    START_US + SHARES[usize::from(operand_bytes > 1.0)] * pipes_us + results_us
}
