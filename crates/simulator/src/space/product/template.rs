//! The templates that a bank record can name and a search tries.

use crate::soc::{Arch, Soc};
use crate::workload::MatMul;
use aoe_graph::{DataType, Format};

/// A template, by its `tilingEnable`. The conditions beyond "the kernel exists" are those under which CANN's own
/// rules choose it, so far as they are about what the kernel can do and not about what is fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Template {
    /// One block a task.
    Base = 0,
    /// K in pieces inside a core.
    SingleCore = 2,
    /// Cores share K; sums in a fixed order.
    Deterministic = 3,
    /// Cores share m, n and k, one task each; atomic sums.
    MultiCore = 4,
    /// All of A in L1.
    FullA = 10,
    /// K in pieces inside a core, each piece of A kept while B streams.
    SingleCoreWithA = 12,
    /// All of B in L1.
    FullB = 20,
    /// All of B in L1; vector cores compact the result.
    FullBAligned = 1020,
    /// All of B in L1; the result leaves as fractals.
    FullBNz = 2020,
}

impl Template {
    const ALL: [Template; 9] = [
        Template::Base,
        Template::SingleCore,
        Template::Deterministic,
        Template::MultiCore,
        Template::FullA,
        Template::SingleCoreWithA,
        Template::FullB,
        Template::FullBAligned,
        Template::FullBNz,
    ];

    /// The template of a number.
    pub fn numbered(enable: u64) -> Option<Template> {
        Template::ALL.into_iter().find(|&t| t as u64 == enable)
    }

    /// The templates that a product has on a part.
    pub fn of(w: &MatMul, soc: &Soc) -> Vec<Template> {
        Template::ALL.into_iter().filter(|t| t.suits(w, soc)).collect()
    }

    /// Whether all of B is in L1.
    pub fn is_full_b(self) -> bool {
        matches!(self, Template::FullB | Template::FullBAligned | Template::FullBNz)
    }

    fn suits(self, w: &MatMul, soc: &Soc) -> bool {
        let (fp32, half) = (w.dtype == DataType::Float, w.dtype.bytes() == 2);
        let (a_nz, b_nz) = (w.a_format == Format::FractalNz, w.b_format == Format::FractalNz);
        if self == Template::Base {
            return true;
        }
        // A 310P has the base template alone, and so have operands that are both in fractals.
        if soc.arch == Arch::M200 || (a_nz && b_nz) {
            return false;
        }
        let es = w.dtype.bytes().max(1);
        match self {
            Template::Base | Template::SingleCore | Template::FullB => true,
            // Its narrow results need rows that fractals cut evenly; others have a kernel of their own.
            Template::Deterministic => w.n.is_multiple_of(16) || w.n <= 128 || w.m <= 128,
            Template::MultiCore => fp32 && !w.trans_a && w.trans_b && !w.bias,
            Template::FullA => fp32 && !w.trans_a && w.trans_b,
            Template::SingleCoreWithA => {
                half && !a_nz && !b_nz && !w.trans_a && w.m <= 256 && w.k.is_multiple_of(128) && w.n.is_multiple_of(128)
            }
            Template::FullBAligned => {
                let (bytes, k_bytes) = (w.n * w.out_dtype.bytes().max(1), w.k.saturating_mul(es));
                let in_rows =
                    w.out_dtype.bytes() != 2 || ((k_bytes.is_multiple_of(256) || k_bytes < 256) && !w.trans_a);
                !w.bias && !b_nz && w.n < 256 && !bytes.is_multiple_of(256) && 256 % bytes != 0 && in_rows
            }
            Template::FullBNz => {
                let bytes = w.n * w.out_dtype.bytes().max(1);
                fp32 && !w.bias
                    && !a_nz
                    && !b_nz
                    && !w.trans_a
                    && w.n <= 192
                    && w.k.is_multiple_of(8)
                    && !bytes.is_multiple_of(256)
            }
        }
    }
}
