//! What a kernel moves and computes on all cores together: the numbers behind its time, for those who profile it.

use super::{Model, Piece};
use crate::workload::Schedule;
use aoe_base::status::Result;

/// Sums over all cores and blocks. Bytes and cycles.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Cycles in which the cube unit multiplies, without the issue of its instructions.
    pub mac_cycles: f64,
    /// GM to L1.
    pub gm_to_l1: f64,
    /// L1 to L0A.
    pub l1_to_l0_a: f64,
    /// L1 to L0B.
    pub l1_to_l0_b: f64,
    /// L0C to GM; through UB on cores where the vector unit drains L0C.
    pub l0_c_to_gm: f64,
    /// GM to UB.
    pub gm_to_ub: f64,
    /// UB to GM, without what comes from L0C.
    pub ub_to_gm: f64,
}

impl Counts {
    /// Bytes that the cores read from GM.
    pub fn read(&self) -> f64 {
        self.gm_to_l1 + self.gm_to_ub
    }

    /// Bytes that they write to GM.
    pub fn written(&self) -> f64 {
        self.l0_c_to_gm + self.ub_to_gm
    }

    fn and(self, other: Counts) -> Counts {
        Counts {
            mac_cycles: self.mac_cycles + other.mac_cycles,
            gm_to_l1: self.gm_to_l1 + other.gm_to_l1,
            l1_to_l0_a: self.l1_to_l0_a + other.l1_to_l0_a,
            l1_to_l0_b: self.l1_to_l0_b + other.l1_to_l0_b,
            l0_c_to_gm: self.l0_c_to_gm + other.l0_c_to_gm,
            gm_to_ub: self.gm_to_ub + other.gm_to_ub,
            ub_to_gm: self.ub_to_gm + other.ub_to_gm,
        }
    }
}

impl Model {
    /// What a kernel moves and computes under a schedule. Fails as [`Model::predict`] does.
    pub fn counts(&self, schedule: &Schedule) -> Result<Counts> {
        crate::workload::check(&self.workload, schedule, &self.soc)?;
        let first = match (&self.first, schedule) {
            (Piece::Cube(p), Schedule::Cube(s)) => p.counts(s),
            (Piece::Vector(p), Schedule::Vector(s)) => p.counts(s),
            // Exchanges pass no core, and the legality check lets no other pair through.
            _ => Counts::default(),
        };
        let rest = self.rest.iter().map(|piece| match (piece, schedule) {
            (Piece::Cube(p), Schedule::Cube(s)) => p.counts(s),
            (Piece::Vector(p), _) => p.counts_as_epilogue(),
            _ => Counts::default(),
        });
        Ok(rest.fold(first, Counts::and))
    }
}
