//! `QuantBatchMatmulV3`: products of int8 and int4 operands.
//!
//! Three host tilings share the operator; [`default`] says which takes a product and, where its rules are known,
//! what it chooses. A bank record holds the terms of TBE's cached tiling only ([`Tiling`]).

mod basic;
mod cached;
pub mod legality;
mod problem;
mod record;
mod rules;
mod which;

pub use problem::Problem;
pub use record::Tiling;
pub use rules::describe;
pub use which::Which;

use super::{Platform, matmul_v3};
use crate::soc::Arch;

/// CANN's name of the operator.
pub const OP_TYPE: &str = "QuantBatchMatmulV3";

/// What the host tiling chooses for a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// Who tiles it.
    pub which: Which,
    /// The fields of the basic tiling, by the names that `MatMulV3` has for the same; `None` for another tiling.
    pub basic: Option<matmul_v3::Tiling>,
    /// The fields of the cached tiling; `None` for another tiling, and where its search finds none.
    pub cached: Option<Tiling>,
    /// Whether all rules that decided are public. Otherwise the fields are the nearest that is known.
    pub public: bool,
    /// The rules that decided: who tiles, then what chose the block, then those of which not all is known.
    pub rules: [Option<&'static str>; 5],
}

/// The rule of a tiling whose fields are not known.
const UNKNOWN: &str = "qbmm.fields-not-public";

/// The default tiling of a product; `None` for one without elements.
pub fn default(p: &Problem, part: &Platform) -> Option<Choice> {
    if [p.batch, p.m, p.k, p.n].contains(&0) {
        return None;
    }
    let (which, why) = which::which(p, part);
    // The rules are those of 910B and 910_93. That of few rows by a long k names the 910B alone.
    let known = part.arch == Arch::C220 && (part.is_910b || why != which::LONG_K_DECODE);
    let rules = |rule| [Some(why), Some(rule), None, None, None];
    Some(match which {
        Which::Basic | Which::BasicDecode => {
            let found = basic::tile(p, part, which == Which::BasicDecode);
            Choice {
                which,
                basic: Some(found.tiling),
                cached: None,
                public: known && found.open == [None; 3],
                rules: [Some(why), Some(found.rule), found.open[0], found.open[1], found.open[2]],
            }
        }
        Which::Special310P => Choice { which, basic: None, cached: None, public: false, rules: rules(UNKNOWN) },
        Which::Cached => match cached::tile(p, part) {
            Some((tiling, exact)) => {
                let rule = if exact { "qbmm.cached.basic-block" } else { "qbmm.cached.basic-block-of-linear" };
                Choice { which, basic: None, cached: Some(tiling), public: known && exact, rules: rules(rule) }
            }
            None => Choice { which, basic: None, cached: None, public: false, rules: rules(UNKNOWN) },
        },
    })
}
