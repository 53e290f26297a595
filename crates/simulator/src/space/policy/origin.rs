//! Which defaults are CANN's own by public rules.

use super::super::product::is_matmul_v3;
use super::{batch, conv, default_policy, quant, vector};
use crate::soc::Soc;
use crate::tiling::{Platform, matmul_v3};
use crate::workload::{DefaultOrigin, Schedule, Workload};

/// Whether the tiling of [`super::default_policy`] for a workload is what CANN's public rules choose, or an estimate of
/// what closed ones do. A fused operator is as sure as its least sure piece.
pub fn default_origin(workload: &Workload, soc: &Soc) -> DefaultOrigin {
    match workload {
        Workload::MatMul(w) if batch::is_public(w, soc) || quant::is_public(w, soc) => DefaultOrigin::Public,
        Workload::MatMul(w) if is_matmul_v3(w, soc) => {
            let choice = matmul_v3::default(w, &Platform::of(soc));
            let own = choice.tiling.schedule(w).ok().filter(|_| choice.public).map(Schedule::Cube);
            match (own, default_policy(workload, soc)) {
                (Some(own), Ok(taken)) if own == taken => DefaultOrigin::Public,
                _ => DefaultOrigin::Estimated,
            }
        }
        Workload::Conv(w) if w.is_volume() => match (conv::public(w, soc), default_policy(workload, soc)) {
            (Some(own), Ok(taken)) if own == taken => DefaultOrigin::Public,
            _ => DefaultOrigin::Estimated,
        },
        Workload::Vector(_) | Workload::Reduce(_) | Workload::Move(_) if vector::is_exact(workload, soc) => {
            DefaultOrigin::Public
        }
        // The rules of the others are closed, or not followed rule by rule yet; those of vector kernels are not theirs
        // within a fused one.
        Workload::Conv(_)
        | Workload::MatMul(_)
        | Workload::Vector(_)
        | Workload::Reduce(_)
        | Workload::Move(_)
        | Workload::Collective(_) => DefaultOrigin::Estimated,
        Workload::Fused(parts) => {
            let cube = parts
                .iter()
                .map(|part| if part.is_cube() { default_origin(part, soc) } else { DefaultOrigin::Estimated });
            cube.max().unwrap_or(DefaultOrigin::Estimated)
        }
    }
}
