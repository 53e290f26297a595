//! What exchanges between the devices of a server take.

use super::kernel::{Exchange, Pattern};
use crate::soc::Soc;
use crate::status::{Error, Result};

/// Microseconds that an exchange takes beyond its transfers: the planning constant of `sim::collective`.
const START_US: f64 = 10.0;
/// Microseconds of each round of transfers beyond its bytes: a flag written to a device and read there.
const ROUND_US: f64 = 2.0;
/// Share of a link's rate that long transfers reach: 102 to 152 of 196 GB/s are published for experts' exchanges on A3.
const EFFICIENCY: f64 = 0.7;

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
    /// switches on 910C (392 GB/s a package of two dies each way) and 950, a mesh of four on the first 910, PCIe on 310P.
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

    /// Fails with [`Error::Option`] for more devices than are linked so: exchanges over the network between servers
    /// are not priced.
    pub fn check(&self, devices: u64, soc: &Soc) -> Result<()> {
        if devices <= self.devices {
            return Ok(());
        }
        let reason =
            format!("{devices} devices are more than the {} that {} links with each other", self.devices, soc.name);
        Err(Error::option("expert_parallel", reason))
    }

    /// Microseconds of an exchange. In a mesh every device sends its parts to all others at once.
    pub fn us(&self, exchange: &Exchange) -> f64 {
        let n = exchange.devices.max(1) as f64;
        let rate = (self.pair_gb_s * (n - 1.0)).min(self.device_gb_s) * EFFICIENCY * 1e3;
        let rounds = if exchange.kind == Pattern::AllReduce { 2.0 } else { 1.0 };
        let sent = exchange.bytes as f64 * (n - 1.0) / n;
        START_US + rounds * (ROUND_US + sent / rate)
    }
}
