//! CANN's default tiling of `MatMulV3`: its rules in their order.

use super::draft::{Draft, L2Grid};
use super::l2_tiles::{self, L2Search};
use super::math::{cd, min};
use super::problem::Problem;
use super::record::Tiling;
use super::rules::{Rule, Rules};
use super::{balance, block, deterministic, full_load, increment, l1, prepass, split_k, split_with_a};
use crate::soc::Arch;
use crate::tiling::Platform;
use crate::workload::MatMul;

/// The tiling that CANN chooses where no bank record says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// CANN's fields.
    pub tiling: Tiling,
    /// Vector cores rewrite A in fractals first.
    pub nd2nz_a: bool,
    /// Vector cores rewrite B in fractals first.
    pub nd2nz_b: bool,
    /// `tilingEnable`.
    pub template: u32,
    /// The rules that took part.
    pub rules: Rules,
    /// Whether CANN's rules for the part are public: on 910B, `910_93` and 310P. On others (310B, 950, the first
    /// 910, which has no `MatMulV3`) the rules of these stand in, and the choice is an estimate.
    pub public: bool,
}

/// Which templates are considered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// All that the part and the operands have.
    All,
    /// The base template with L2 tiles only.
    Base,
}

/// CANN's default tiling of one product; the batch is not looked at. Extents beyond 32 bits count as the largest
/// that CANN knows. Never fails.
pub fn default(w: &MatMul, p: &Platform) -> Choice {
    default_in(w, p, Mode::All)
}

/// CANN's default tiling of one product with the templates of a mode. A part without fixpipe to memory and operands
/// both in `FRACTAL_NZ` have the base template only.
pub fn default_in(w: &MatMul, p: &Platform, mode: Mode) -> Choice {
    let q = Problem::new(w, p);
    let (d, _) = draft(&q, mode);
    choice(&q, &d)
}

/// A finished draft as a choice.
pub(in crate::tiling) fn choice(q: &Problem, d: &Draft) -> Choice {
    let mut rules = d.rules;
    let public = matches!(q.p.arch, Arch::C220 | Arch::M200);
    if !public {
        rules.add(Rule::Estimated);
    }
    if d.nd2nz_a {
        rules.add(Rule::Nd2NzA);
    }
    if d.nd2nz_b {
        rules.add(Rule::Nd2NzB);
    }
    Choice { tiling: d.tiling(), nd2nz_a: d.nd2nz_a, nd2nz_b: d.nd2nz_b, template: d.digits, rules, public }
}

/// All rules in their order, and what came of the search for L2 tiles (nothing where a template came first).
pub(in crate::tiling) fn draft(q: &Problem, mode: Mode) -> (Draft, Option<L2Search>) {
    let mut d = Draft::reset(q);
    [d.nd2nz_a, d.nd2nz_b] = prepass::flags(q);
    block::start(q, &mut d);
    block::small(q, &mut d);
    if q.p.fixpipe {
        l1::halves(q, &mut d);
        increment::apply(q, &mut d);
    } else {
        l1::clip(q, &mut d);
        l1::fixed(q, &mut d);
    }
    balance::last_round(q, &mut d);
    let base_only = mode == Mode::Base || !q.p.fixpipe || (q.a_nz && q.b_nz);
    let l2 = if base_only { base_templates(q, &mut d) } else { all_templates(q, &mut d) };
    bias(q, &mut d);
    balance::halve_steps(q, &mut d);
    (d, l2)
}

fn base_templates(q: &Problem, d: &mut Draft) -> Option<L2Search> {
    d.rule(Rule::BaseOnly);
    if q.p.fixpipe {
        return Some(l2_tiles::search(q, d));
    }
    d.rule(Rule::L2Of310P);
    l2_tiles::grid(q, d, min(q.u / 2, cd(q.m, d.bm)), min(2, cd(q.n, d.bn)));
    None
}

/// The first template that applies; L2 tiles never end the search.
fn all_templates(q: &Problem, d: &mut Draft) -> Option<L2Search> {
    if full_load::b_copy_out(q, d) || full_load::a(q, d) || split_with_a::split_with_a(q, d) || full_load::b(q, d) {
        return None;
    }
    let l2 = l2_tiles::search(q, d);
    if l2 == L2Search::Failed {
        d.rule(Rule::L2Fail);
        l2_tiles::grid(q, d, min(4, cd(q.m, d.bm)), min(q.u / 4, cd(q.n, d.bn)));
    }
    if !split_k::single_core(q, d, l2 == L2Search::Failed) {
        deterministic::deterministic(q, d);
    }
    Some(l2)
}

/// The bias table holds 256 columns. L2 tiles keep their extents: the kernel counts them in the blocks of now.
fn bias(q: &Problem, d: &mut Draft) {
    if !q.bias || d.bn <= 256 {
        return;
    }
    d.rule(Rule::BiasTable);
    let before = std::mem::replace(&mut d.bn, 256);
    if d.digits % 10 < 2 && d.digits / 10 % 10 != 2 {
        d.single_n = 256;
        if d.l2 != L2Grid::ONE && d.l2 != L2Grid::DERIVED {
            l2_tiles::grid(q, d, d.l2.m_block, min(cd(d.l2.n_block * before, 256), cd(q.n, 256)));
        }
    }
}
