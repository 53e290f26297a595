//! Exchange between devices.
//!
//! Within a network an exchange is priced as a share of what the link between two devices carries ([`Problem`]).
//! Where the devices are described ([`Level`]), [`AllReduce`] gives the time of any number of bytes.

use super::Times;
use crate::soc::Soc;
use crate::workload::{Collective, CollectiveKind};

/// Gigabytes (10^9) per second between two devices of one server, one direction: HCCS of the 910
/// generations, 30 GB/s a link (product data).
const LINK_GB_S: f64 = 30.0;
/// Microseconds that an exchange takes beyond its bytes: planning constant of public models.
const START_US: f64 = 10.0;

/// An exchange reduced to its time.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    us: f64,
}

impl Problem {
    pub(super) fn new(w: &Collective, soc: &Soc) -> Problem {
        // Reducing moves each byte twice (reduce-scatter, then all-gather): [`Algorithm::share`] in a large ring.
        let passes = if w.kind == CollectiveKind::AllReduce { 2.0 } else { 1.0 };
        let link = w.bytes as f64 * passes / (LINK_GB_S * 1e3);
        let memory = w.bytes as f64 * (passes + 1.0) / (soc.hbm_gb_s * 1e3);
        Problem { us: START_US + link.max(memory) }
    }

    pub(super) fn times(&self) -> Times {
        Times { shared: self.us, total: self.us, ..Times::default() }
    }
}

/// How devices that are linked make the sum of their buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// Each device sends to its neighbour only: least bytes, most transfers.
    Ring,
    /// Pairs at twice the distance each time: few transfers; where the devices are no power of two, some first
    /// give what they have to a partner and get the sum from it.
    HalvingDoubling,
}

impl Algorithm {
    /// CANN's name of it.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Ring => "ring",
            Algorithm::HalvingDoubling => "H-D",
        }
    }

    /// Transfers that follow each other, for so many devices.
    pub fn steps(self, devices: u64) -> u64 {
        match self {
            Algorithm::Ring => 2 * devices.saturating_sub(1),
            Algorithm::HalvingDoubling => 2 * u64::from(devices.max(1).next_power_of_two().ilog2()),
        }
    }

    /// Bytes that a device sends on the longest way, as a multiple of those of its buffer.
    pub fn share(self, devices: u64) -> f64 {
        if devices < 2 {
            return 0.0;
        }
        let n = devices as f64;
        match self {
            Algorithm::Ring => 2.0 * (n - 1.0) / n,
            Algorithm::HalvingDoubling => {
                let p = (1u64 << devices.ilog2()) as f64;
                if devices.is_power_of_two() { 2.0 * (p - 1.0) / p } else { (p - 1.0) / p + 1.0 + 2.0 * (p - 1.0) / n }
            }
        }
    }
}

/// Devices that exchange with each other over links of one kind: those of a node, or one of each node.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// How many they are.
    pub devices: u64,
    /// How they exchange.
    pub algorithm: Algorithm,
    /// Gigabytes (10^9) per second that all links of a device carry together in one direction.
    pub gb_s: f64,
    /// Microseconds that each transfer takes beyond its bytes.
    pub step_us: f64,
    /// Microseconds that the exchange takes on this level beyond its transfers.
    pub start_us: f64,
    /// Gigabytes per second that a device adds up, where that does not hide behind the transfers.
    pub reduce_gb_s: Option<f64>,
}

/// The time of an `AllReduce`: so much, and so much for each byte.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AllReduce {
    /// Microseconds whatever is exchanged.
    pub start_us: f64,
    /// Microseconds for each byte of the buffer on one device.
    pub us_per_byte: f64,
}

impl AllReduce {
    /// An exchange over levels, the innermost first: on each, a device exchanges the part of the buffer that the
    /// levels inside have left to it. A level of one device costs nothing.
    pub fn over(levels: &[Level]) -> AllReduce {
        let mut cost = AllReduce { start_us: 0.0, us_per_byte: 0.0 };
        let mut part = 1.0;
        for level in levels.iter().filter(|level| level.devices > 1) {
            let n = level.devices as f64;
            cost.start_us += level.start_us + level.step_us * level.algorithm.steps(level.devices) as f64;
            cost.us_per_byte += part * level.algorithm.share(level.devices) / (level.gb_s * 1e3);
            cost.us_per_byte += level.reduce_gb_s.map_or(0.0, |gb_s| part * (n - 1.0) / n / (gb_s * 1e3));
            part /= n;
        }
        cost
    }

    /// Microseconds for so many bytes.
    pub fn us(&self, bytes: f64) -> f64 {
        self.start_us + self.us_per_byte * bytes
    }
}

#[cfg(test)]
mod tests {
    use super::{Algorithm, AllReduce, Level};

    #[test]
    fn a_ring_moves_least_and_halving_takes_fewest_steps() {
        for n in 2..70 {
            let (ring, halving) = (Algorithm::Ring, Algorithm::HalvingDoubling);
            assert!(ring.share(n) <= halving.share(n) + 1e-12 && halving.steps(n) <= ring.steps(n), "{n}");
        }
        assert_eq!([2, 3, 4, 5, 8, 9].map(|n| Algorithm::HalvingDoubling.steps(n)), [2, 4, 4, 6, 6, 8]);
        assert_eq!([1, 2, 8].map(|n| Algorithm::Ring.steps(n)), [0, 2, 14]);
        // Four of five exchange among themselves, the fifth with a partner before and after.
        assert!((Algorithm::HalvingDoubling.share(5) - (0.75 + 1.0 + 6.0 / 5.0)).abs() < 1e-12);
        assert!((Algorithm::HalvingDoubling.share(8) - Algorithm::Ring.share(8)).abs() < 1e-12);
    }

    #[test]
    fn an_outer_level_exchanges_the_part_that_the_inner_one_leaves_to_a_device() {
        let level = |devices, gb_s| Level {
            devices,
            algorithm: Algorithm::Ring,
            gb_s,
            step_us: 1.0,
            start_us: 5.0,
            reduce_gb_s: None,
        };
        let cost = AllReduce::over(&[level(4, 10.0), level(2, 1.0)]);
        assert!((cost.start_us - (5.0 + 6.0 + 5.0 + 2.0)).abs() < 1e-12);
        // 10 GB/s are 10,000 bytes a microsecond.
        assert!((cost.us(1e6) - cost.start_us - (1.5e6 / 1e4 + 0.25e6 / 1e3)).abs() < 1e-9);
        assert_eq!(AllReduce::over(&[level(1, 1.0)]).us(1e9).to_bits(), 0.0f64.to_bits());
    }
}
