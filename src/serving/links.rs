//! What exchanges between the devices of a server take.

use super::kernel::{Exchange, Pattern};
use crate::soc::Soc;

/// Microseconds that an exchange takes beyond its transfers: the planning constant of `sim::collective`.
const START_US: f64 = 10.0;
/// Microseconds of each round of transfers beyond its bytes: a flag written to a device and read there.
const ROUND_US: f64 = 2.0;
/// Share of a link's rate that long transfers reach: 102 to 152 of 196 GB/s are published for experts' exchanges on A3.
const EFFICIENCY: f64 = 0.7;

/// Gigabytes per second of a device's port to other servers: 200 Gbit/s Ethernet (product data), and microseconds of a round.
const NETWORK_GB_S: f64 = 25.0;
const NETWORK_ROUND_US: f64 = 10.0;

/// How the devices of a server are linked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Links {
    /// Gigabytes (10^9) per second in one direction between two devices.
    pair_gb_s: f64,
    /// The same of all links of a device together.
    device_gb_s: f64,
    /// Devices of a server that are linked so.
    devices: u64,
}

impl Links {
    /// The links of a part (product data): HCCS as a full mesh of eight on 910B (56 GB/s both ways a link), through
    /// switches on 910C (392 GB/s a package of two dies each way) and 950, a mesh of four on the first 910, `PCIe` on 310P.
    pub fn of(soc: &Soc) -> Links {
        let of = |pair_gb_s, device_gb_s, devices| Links { pair_gb_s, device_gb_s, devices };
        let name = soc.name.as_str();
        match soc.short_name.as_str() {
            _ if name.starts_with("Ascend910_93") => of(196.0, 196.0, 384),
            "Ascend910B" => of(28.0, 196.0, 8),
            short if short.starts_with("Ascend910_95") || short.starts_with("Ascend950") => of(500.0, 1000.0, 64),
            "Ascend910" => of(30.0, 90.0, 8),
            _ => of(16.0, 16.0, 8),
        }
    }

    /// Microseconds of an exchange. In a mesh every device sends its parts to all others at once; what goes to other servers
    /// goes over the network meanwhile.
    pub fn us(&self, exchange: &Exchange) -> f64 {
        let n = exchange.devices.max(1) as f64;
        let near = exchange.devices.clamp(1, self.devices) as f64;
        let rate = (self.pair_gb_s * (near - 1.0)).min(self.device_gb_s) * EFFICIENCY * 1e3;
        let rounds = if exchange.kind == Pattern::AllReduce { 2.0 } else { 1.0 };
        let part = exchange.bytes as f64 / n;
        let within = if near > 1.0 { part * (near - 1.0) / rate } else { 0.0 };
        let beyond = part * (n - near) / (NETWORK_GB_S * EFFICIENCY * 1e3);
        let round = if n > near { NETWORK_ROUND_US } else { ROUND_US };
        START_US + rounds * (round + within.max(beyond))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(soc: &str, kind: Pattern, devices: u64, bytes: u64) -> f64 {
        Links::of(&Soc::find(soc).unwrap()).us(&Exchange { kind, devices, bytes })
    }

    #[test]
    fn more_bytes_and_the_network_take_longer_and_a_sum_takes_two_rounds() {
        let megabytes = |n: u64| n << 20;
        let sum = |devices: u64| us("Ascend910B2", Pattern::AllReduce, devices, megabytes(64));
        assert!(sum(2) > sum(8), "a mesh of two has one link each, of eight seven");
        assert!(sum(16) > 2.0 * sum(8), "beyond a server lies the network");
        let gather = us("Ascend910B2", Pattern::AllGather, 8, megabytes(64));
        assert!((sum(8) - START_US - 2.0 * (gather - START_US)).abs() < 1e-9);
        let small = us("Ascend910B2", Pattern::AllReduce, 8, 1);
        assert!((small - START_US - 2.0 * ROUND_US).abs() < 0.01);
        let within = us("Ascend910_9382", Pattern::AllToAll, 64, megabytes(64));
        assert!(within < us("Ascend910B2", Pattern::AllToAll, 64, megabytes(64)) / 4.0, "910C has switches");
    }
}
