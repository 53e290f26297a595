//! What CANN's graph fusion does to a network at inference before any kernel is chosen: one pass after the other, in
//! the order of their priorities, each over the whole graph. What several operator types say alike gets one of them
//! first, so one network has one set of kernels, whichever framework it was written in.
//!
//! | file | holds |
//! |---|---|
//! | `constant` | what is computed when the network is compiled |
//! | `alike` | operator types that frameworks spell differently |
//! | `passes` | the list: CANN's name of each pass, the parts that have it, what it looks at |
//! | `rewrite` | the graph while it is rewritten |
//! | the others | a pass or a family of passes each |
//!
//! A pass asks what the public fusion rules ask: what lies within a pattern is read once, and not by the graph's
//! caller, and sizes are known. What no rule of CANN fuses stays: attention, decomposed RMS norms, rotary embeddings,
//! `Sigmoid` and `Mul` (SiLU), a K^T that moves more than the last two axes.
//!
//! The result is for tuning only: weights of what was fused have the old values and the new shapes, so a model is
//! written from the graph as it was.

mod absorb;
mod alike;
mod arithmetic;
mod attributes;
mod bias;
mod confusion;
mod constant;
mod gelu;
mod group_norm;
mod layer_norm;
mod names;
mod pad;
mod passes;
mod rewrite;
mod rms_norm;
mod special;
#[cfg(test)]
mod tests;
mod transpose;

use super::{Settings, Switches};
use crate::graph::Graph;
use crate::soc::{Arch, Soc};
use crate::status::Result;
use passes::{PASSES, Pass};
use rewrite::Fusion;
use rustc_hash::FxHashMap;

/// Attribute of a node that does the work of others too: their names.
pub const FUSED_NODES: &str = "_aoe_fused_nodes";
/// Attribute of a node that goes by another operator type than the graph had it: that one.
pub const STATED_TYPE: &str = "_aoe_stated_type";

/// How often a pass found what it looks for, as CANN's `fusion_result.json` counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fused {
    /// CANN's name of the pass.
    pub pass: &'static str,
    /// Patterns that it found.
    pub match_times: u64,
    /// Those that it changed.
    pub effect_times: u64,
}

/// The families of parts that fusion rules tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// 910, the first generation.
    P910,
    /// 310P.
    P310P,
    /// 310B.
    P310B,
    /// 910B.
    P910B,
    /// `910_93`.
    A3,
    /// 950.
    P950,
}

impl Part {
    fn of(soc: &Soc) -> Part {
        match soc.arch {
            Arch::C100 => Part::P910,
            Arch::M200 => Part::P310P,
            Arch::M300 => Part::P310B,
            Arch::C220 if soc.short_name.eq_ignore_ascii_case("Ascend910_93") => Part::A3,
            Arch::C220 => Part::P910B,
            Arch::C310 => Part::P950,
        }
    }
}

/// Fuses a graph whose shapes are known, as CANN does for this part with these passes switched on. Nodes that stay keep
/// their names, and what was fused into one is listed in its attribute [`FUSED_NODES`]. Answers how often each pass that
/// found something did, too, in the order in which they ran.
///
/// Fails with [`crate::status::Error::Graph`] for a graph that is none.
pub fn graph_fusion(
    mut graph: Graph,
    soc: &Soc,
    settings: &Settings,
    switches: &Switches,
) -> Result<(Graph, Vec<Fused>)> {
    let order = graph.validated_order()?;
    let part = Part::of(soc);
    constant::fold_constants(&mut graph, &order);
    let mut fusion = Fusion::of(&mut graph, settings.precision);
    for &id in &order {
        if fusion.is_live(id) {
            fusion.call_alike(id);
        }
    }
    let passes: Vec<&Pass> = PASSES.iter().filter(|p| p.parts.contains(&part) && switches.is_on(p.name)).collect();
    let mut looked_at: FxHashMap<&'static str, u64> = FxHashMap::default();
    for (bit, pass) in passes.iter().enumerate() {
        pass.anchors.iter().for_each(|anchor| *looked_at.entry(anchor).or_default() |= 1 << bit);
    }
    fusion.look_out(looked_at);
    let mut report: Vec<Fused> = Vec::new();
    for (bit, pass) in passes.iter().enumerate() {
        let mut fused = Fused { pass: pass.name, match_times: 0, effect_times: 0 };
        for &id in &order {
            if fusion.is_anchor(id, bit) && fusion.is_live(id) {
                fusion.follow(id);
                let found = (pass.apply)(&mut fusion, id);
                fused.match_times += u64::from(found.is_some());
                fused.effect_times += u64::from(found == Some(true));
            }
        }
        match report.iter_mut().find(|earlier| earlier.pass == fused.pass) {
            Some(earlier) => {
                earlier.match_times += fused.match_times;
                earlier.effect_times += fused.effect_times;
            }
            None if fused.match_times > 0 => report.push(fused),
            None => {}
        }
    }
    fusion.finish();
    Ok((graph, report))
}
