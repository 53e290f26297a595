//! What exchanges between the devices of a server take.

use super::kernel::{Exchange, Pattern};
use super::time::Time;
use crate::soc::Soc;

/// What an exchange takes beyond what product data say of links.
#[derive(Debug, Clone, Copy)]
struct Constants {
    /// Microseconds beyond its transfers.
    start_us: f64,
    /// Microseconds of each round of transfers beyond its bytes: a flag written to a device and read there.
    round_us: f64,
    /// The same where the round goes to other servers.
    network_round_us: f64,
    /// Share of a link's rate that long transfers reach.
    efficiency: f64,
}

/// The planning constant of `sim::collective`, estimates, and of the 102 to 152 of 196 GB/s that are published for experts'
/// exchanges within an A3 server (sgl-kernel-npu) the middle.
const PLANNED: Constants = Constants { start_us: 10.0, round_us: 2.0, network_round_us: 10.0, efficiency: 0.7 };
/// No exchange takes less: the start of the shortest kernels, published hops of an A3's links (0.5 us within a server, 5.5
/// between, msmodeling's `comm_config`), links at the rate of product data.
const LEAST: Constants = Constants { start_us: 3.0, round_us: 0.5, network_round_us: 5.5, efficiency: 1.0 };
/// Where the host lays out each exchange, HCCL's default on a 910B (`HCCL_OP_EXPANSION_MODE`), it starts a launch of the host
/// (40 us) later; rounds four times as long; the slowest published transfers, 87 of 196 GB/s between A3 servers, less a tenth.
const MOST: Constants = Constants { start_us: 50.0, round_us: 8.0, network_round_us: 40.0, efficiency: 0.4 };

/// Gigabytes per second of a device's port to other servers: 200 Gbit/s Ethernet (product data).
const NETWORK_GB_S: f64 = 25.0;

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

    /// What an exchange takes; waiting for devices that come later is not in it.
    pub fn time(&self, exchange: &Exchange) -> Time {
        let [us, least, most] = [PLANNED, LEAST, MOST].map(|constants| self.us(exchange, constants));
        Time { us, interval_us: Some([least, most]) }
    }

    /// In a mesh every device sends its parts to all others at once; what goes to other servers goes over the network
    /// meanwhile.
    fn us(&self, exchange: &Exchange, constants: Constants) -> f64 {
        let Constants { start_us, round_us, network_round_us, efficiency } = constants;
        let n = exchange.devices.max(1) as f64;
        let near = exchange.devices.clamp(1, self.devices) as f64;
        let rate = (self.pair_gb_s * (near - 1.0)).min(self.device_gb_s) * efficiency * 1e3;
        let rounds = if exchange.kind == Pattern::AllReduce { 2.0 } else { 1.0 };
        let part = exchange.bytes as f64 / n;
        let within = if near > 1.0 { part * (near - 1.0) / rate } else { 0.0 };
        let beyond = part * (n - near) / (NETWORK_GB_S * efficiency * 1e3);
        let round = if n > near { network_round_us } else { round_us };
        start_us + rounds * (round + within.max(beyond))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(soc: &str, kind: Pattern, devices: u64, bytes: u64) -> Time {
        Links::of(&Soc::find(soc).unwrap()).time(&Exchange { kind, devices, bytes })
    }

    fn us(soc: &str, kind: Pattern, devices: u64, bytes: u64) -> f64 {
        time(soc, kind, devices, bytes).us
    }

    #[test]
    fn more_bytes_and_the_network_take_longer_and_a_sum_takes_two_rounds() {
        let megabytes = |n: u64| n << 20;
        let sum = |devices: u64| us("Ascend910B2", Pattern::AllReduce, devices, megabytes(64));
        assert!(sum(2) > sum(8), "a mesh of two has one link each, of eight seven");
        assert!(sum(16) > 2.0 * sum(8), "beyond a server lies the network");
        let gather = us("Ascend910B2", Pattern::AllGather, 8, megabytes(64));
        let Constants { start_us, round_us, .. } = PLANNED;
        assert!((sum(8) - start_us - 2.0 * (gather - start_us)).abs() < 1e-9);
        let small = us("Ascend910B2", Pattern::AllReduce, 8, 1);
        assert!((small - start_us - 2.0 * round_us).abs() < 0.01);
        let within = us("Ascend910_9382", Pattern::AllToAll, 64, megabytes(64));
        assert!(within < us("Ascend910B2", Pattern::AllToAll, 64, megabytes(64)) / 4.0, "910C has switches");
    }

    #[test]
    fn intervals_hold_the_estimate_and_what_is_published_of_experts() {
        for soc in ["Ascend910B2", "Ascend910_9382", "Ascend310P3", "Ascend910A", "Ascend950PR_9579"] {
            for (devices, bytes) in [(2, 1), (8, 1 << 16), (16, 1 << 26), (64, 1 << 30)] {
                for kind in [Pattern::AllReduce, Pattern::AllGather, Pattern::ReduceScatter, Pattern::AllToAll] {
                    let Time { us, interval_us } = time(soc, kind, devices, bytes);
                    let [least, most] = interval_us.unwrap();
                    assert!(0.0 < least && 1.3 * least < us && 1.3 * us < most, "{soc} {kind:?}: {least} {us} {most}");
                }
            }
        }
        // Exchanges of experts on A3: 102 and 152 GB/s within a server of 16 dies, 87 and 121 between two.
        let bytes = 1_u64 << 30;
        for gb_s in [102.0, 152.0, 87.0, 121.0] {
            let published_us = bytes as f64 * 15.0 / 16.0 / (gb_s * 1e3);
            let [least, most] = time("Ascend910_9382", Pattern::AllToAll, 16, bytes).interval_us.unwrap();
            assert!((least..most).contains(&published_us), "{least} {published_us} {most}");
        }
    }
}
