//! Where each value of the built-in table comes from.
//!
//! Measured values win over documented ones where both exist.

use super::{Arch, Soc};

/// How a value is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Stated in CANN's `platform_config` files or in product data.
    Documented,
    /// Read off a measurement of hardware.
    Measured,
    /// Concluded from other values.
    Inferred,
}

impl Origin {
    /// As one word.
    pub const fn name(self) -> &'static str {
        match self {
            Origin::Documented => "documented",
            Origin::Measured => "measured",
            Origin::Inferred => "inferred",
        }
    }
}

const PLATFORM: &str = "platform_config";
const MICRO: &str = "single-core micro-benchmark of a 910B";
const MICRO_950: &str = "published table of the 950, too regular to be silicon: a design value";

/// The clock that CANN states, where a measured one stands in the table.
pub(super) fn documented_mhz(name: &str) -> Option<f64> {
    const SLOWER: [&str; 4] = ["Ascend910B4", "Ascend910B4-1", "Ascend910_9363", "Ascend910_9362"];
    SLOWER.contains(&name).then_some(1500.0)
}

impl Soc {
    /// How a field of a built-in SoC is known, and from where. `None` for a field that there is not.
    pub fn source(&self, field: &str) -> Option<(Origin, &'static str)> {
        use Origin::{Documented, Inferred, Measured};
        let split = self.arch == Arch::C220;
        Some(match field {
            "name" | "short_name" | "arch" | "ai_core_cnt" | "l2_size" | "l1_size" | "l0_a_size" | "l0_b_size"
            | "l0_c_size" | "ub_size" | "bt_size" | "cube_m_size" | "cube_k_size" | "cube_n_size" => {
                (Documented, PLATFORM)
            }
            "vector_core_cnt" => match self.arch {
                Arch::C100 => (Documented, "platform_config; each core holds both units"),
                Arch::M200 => (Documented, "platform_config; fused cores and the vector cores besides"),
                _ => (Documented, PLATFORM),
            },
            "cube_freq_mhz" | "vec_freq_mhz" => match documented_mhz(&self.name) {
                Some(_) if self.name == "Ascend910B4" => (Measured, "cycles over time in traces; documented is 1500"),
                Some(_) => (Inferred, "measured on the 910B4, of the same class; documented is 1500"),
                None if self.arch == Arch::M200 && field == "vec_freq_mhz" => {
                    (Documented, "platform_config, of the vector cores besides the fused ones")
                }
                None => (Documented, PLATFORM),
            },
            "memory_size" => match self.arch {
                _ if self.memory_size == 0 => (Documented, "not stated"),
                Arch::C100 => (Documented, "product data"),
                _ if self.name == "Ascend910B2C" => (Inferred, "as 910B2; left blank in platform_config"),
                _ if self.name == "Ascend950DT_9573" => (Inferred, "platform_config without its typing error"),
                _ => (Documented, PLATFORM),
            },
            "hbm_gb_s" => match self.arch {
                _ if self.name == "Ascend310" => (Documented, "product data; kernels that only write reach 48 GB/s"),
                _ if self.name == "Ascend310B4" => (Inferred, "LPDDR4X of 64 bits at 3200 MT/s"),
                _ if self.name == "Ascend610" => (Inferred, "platform_config's ddr_rate as the share of each core"),
                Arch::C100 => (Documented, "product data; platform_config's shares give 1.0 TB/s"),
                Arch::C220 if self.short_name == "Ascend910_93" && documented_mhz(&self.name).is_none() => {
                    (Measured, "decode products of a served network: 1.17 TB/s, where a 910B2 reaches 1.4 of 1.6")
                }
                Arch::C220 => (Measured, "write-only kernels reach 798 GB/s with 32 GiB, 1869 with 64 GiB"),
                Arch::M200 => (Documented, "product data; the cores' shares in platform_config give 207"),
                Arch::M300 | Arch::C310 => (Inferred, "platform_config's ddr_rate as the share of each core"),
            },
            "l2_rate" => match self.arch {
                Arch::C220 => (Documented, "Ascend C guide: 7 TB/s over 24 cores at 1.8 GHz"),
                _ => (Documented, PLATFORM),
            },
            "gm_to_l1_rate" => match self.arch {
                _ if self.name == "Ascend310" => (Documented, "platform_config's ddr_rate"),
                Arch::C100 => (Measured, "fit on kernels of the 30-core part"),
                Arch::C220 => (Measured, "slope above 64 KiB of a single-core micro-benchmark of a 910B"),
                Arch::C310 => (Documented, MICRO_950),
                Arch::M200 | Arch::M300 => (Inferred, "as l2_rate"),
            },
            "gm_to_ub_rate" => match self.arch {
                Arch::C220 => (Measured, MICRO),
                Arch::C310 => (Documented, MICRO_950),
                _ => (Inferred, "as l2_rate"),
            },
            "ub_to_gm_rate" if self.name == "Ascend310" => (Measured, "kernels that only write; documented is 64"),
            "l1_to_l0_a_rate" | "l1_to_l0_b_rate" | "l0_c_out_rate" | "ub_to_gm_rate" if split => (Measured, MICRO),
            "ub_to_gm_rate" if self.arch == Arch::C310 => (Documented, MICRO_950),
            "l1_to_l0_a_rate" | "l1_to_l0_b_rate" | "l0_c_out_rate" | "ub_to_gm_rate" => (Documented, PLATFORM),
            "vec_bytes_per_cycle" => match self.arch {
                Arch::C220 => (Measured, MICRO),
                _ => (Inferred, "as measured on the 910B"),
            },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Soc;
    use serde_json::Value;

    #[test]
    fn every_value_of_every_part_has_a_source() {
        for name in Soc::names() {
            let soc = Soc::find(&name).unwrap();
            let Ok(Value::Object(fields)) = serde_json::to_value(&soc) else { panic!("{name}") };
            for field in fields.keys() {
                let (_, text) = soc.source(field).unwrap_or_else(|| panic!("{name}: {field} has no source"));
                assert!(!text.is_empty());
            }
        }
        assert_eq!(Soc::find("Ascend910A").unwrap().source("colour"), None);
    }
}
