//! Which types a network runs in: CANN's option `precision_mode`.

use crate::graph::op::{
    self,
    prototype::{Count, prototype},
};
use crate::graph::{DataType, Node};
use crate::soc::{Arch, Soc};

/// Precision mode, under CANN's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Precision {
    /// `force_fp16`: float32 tensors become float16 everywhere. CANN's default for inference.
    #[default]
    ForceFp16,
    /// `allow_fp32_to_fp16`: float32 stays where the hardware computes in it. CANN's default for
    /// training.
    AllowFp32ToFp16,
    /// `must_keep_origin_dtype`: nothing changes its type.
    MustKeepOriginDtype,
    /// `allow_mix_precision`, `allow_mix_precision_fp16`: float16 wherever the operator lists of
    /// CANN's op library permit, which here is everywhere.
    AllowMixPrecision,
    /// `allow_mix_precision_bf16`: the same in bfloat16.
    AllowMixPrecisionBf16,
    /// `allow_fp32_to_bf16`: float32 stays where the hardware computes in it, else bfloat16.
    AllowFp32ToBf16,
    /// `cube_fp16in_fp32out`, `force_fp32`: the cube reads float16 and writes float32, the rest is
    /// float32.
    CubeFp16InFp32Out,
}

impl Precision {
    /// CANN's names of the modes.
    pub const NAMES: &'static [(&'static str, Precision)] = &[
        ("force_fp16", Precision::ForceFp16),
        ("cube_fp16in_fp32out", Precision::CubeFp16InFp32Out),
        ("force_fp32", Precision::CubeFp16InFp32Out),
        ("allow_fp32_to_fp16", Precision::AllowFp32ToFp16),
        ("must_keep_origin_dtype", Precision::MustKeepOriginDtype),
        ("allow_mix_precision", Precision::AllowMixPrecision),
        ("allow_mix_precision_fp16", Precision::AllowMixPrecision),
        ("allow_mix_precision_bf16", Precision::AllowMixPrecisionBf16),
        ("allow_fp32_to_bf16", Precision::AllowFp32ToBf16),
    ];

    /// The mode of this name.
    pub fn from_name(name: &str) -> Option<Precision> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, mode)| *mode)
    }

    /// CANN's name of the mode.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, mode)| *mode == self).map_or("force_fp16", |(name, _)| name)
    }

    /// Type in which a tensor of vector work and of data movement is stored.
    pub fn stored(self, dtype: DataType) -> DataType {
        match (self, dtype) {
            (Precision::ForceFp16 | Precision::AllowMixPrecision, DataType::Float) => DataType::Float16,
            (Precision::AllowMixPrecisionBf16, DataType::Float) => DataType::Bfloat16,
            _ => dtype,
        }
    }

    /// Type of a cube operand; `None` when the mode keeps a type that the cube of this part cannot
    /// multiply.
    pub(super) fn cube_operand(self, dtype: DataType, soc: &Soc) -> Option<DataType> {
        let wide = cube_takes_fp32(soc.arch);
        let chosen = match (self, self.stored(dtype)) {
            (Precision::CubeFp16InFp32Out, DataType::Float) => DataType::Float16,
            (Precision::AllowFp32ToFp16, DataType::Float) if !wide => DataType::Float16,
            (Precision::AllowFp32ToBf16, DataType::Float) if !wide => DataType::Bfloat16,
            (_, other) => other,
        };
        let fits = match chosen {
            DataType::Float => wide,
            DataType::Bfloat16 => cube_takes_bf16(soc.arch),
            _ => true,
        };
        fits.then_some(chosen)
    }

    /// Type of a cube result that the graph describes as `dtype`.
    pub(super) fn cube_result(self, dtype: DataType, operand: DataType) -> DataType {
        match (self, self.stored(dtype)) {
            (Precision::CubeFp16InFp32Out, DataType::Float) => DataType::Float,
            // A result follows its operands where these were narrowed.
            (_, DataType::Float) if operand != DataType::Float => operand,
            (_, other) => other,
        }
    }
}

/// Whether an operator takes or gives a tensor, by its place, in float32 and nothing else that a mode could make of it.
/// Asked of operators whose interface is all that is known of them; kernels of the others are modelled with their types.
pub(super) fn is_float_alone(node: &Node, place: usize, reads: bool) -> bool {
    let known = (node.mapped && op::family(&node.op_type).is_none()).then(|| prototype(&node.op_type)).flatten();
    let slots = known.map(|known| if reads { &known.inputs } else { &known.outputs });
    // Behind a slot for many no place tells which is meant.
    let slot = slots.and_then(|slots| {
        let fixed = slots.iter().position(|slot| slot.count == Count::Dynamic).unwrap_or(slots.len());
        slots[..fixed].get(place)
    });
    slot.is_some_and(|slot| slot.types.iter().eq([DataType::Float]))
}

/// Whether some part's cube multiplies this type at all. Products of other types run on a vector core or
/// on the host's AI CPU; no model of that is built.
pub(super) fn has_cube_arithmetic(dtype: DataType) -> bool {
    use DataType::{Bfloat16, Float, Float8E4m3fn, Float8E5m2, Float16, Hifloat8, Int4, Int8, Qint8, Quint8, Uint8};
    matches!(
        dtype,
        Float | Float16 | Bfloat16 | Int8 | Uint8 | Qint8 | Quint8 | Int4 | Float8E5m2 | Float8E4m3fn | Hifloat8
    )
}

/// Parts whose cube multiplies float32 (facts: A2, A3 and 950).
fn cube_takes_fp32(arch: Arch) -> bool {
    matches!(arch, Arch::C220 | Arch::C310)
}

/// Parts whose cube multiplies bfloat16.
fn cube_takes_bf16(arch: Arch) -> bool {
    matches!(arch, Arch::C220 | Arch::C310 | Arch::M300)
}
