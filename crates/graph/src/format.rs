//! Tensor memory formats, CANN's `ge::Format`.

use serde::{Deserialize, Serialize};

macro_rules! format_table {
    ($($variant:ident $name:literal $number:literal;)*) => {
        /// Memory layout of a tensor; names and numbers are those of `ge::Format`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Format { $(#[doc = concat!("`", $name, "`")] #[serde(rename = $name)] $variant,)* }

        impl Format {
            /// Every format, in the order of its numbers.
            pub const ALL: &'static [Format] = &[$(Format::$variant,)*];
            /// CANN's name, for example `NC1HWC0`.
            pub const fn name(self) -> &'static str { match self { $(Format::$variant => $name,)* } }
            /// Number in `ge::Format`.
            pub const fn ge_number(self) -> i32 { match self { $(Format::$variant => $number,)* } }
        }
    };
}

format_table! {
    Nchw "NCHW" 0;
    Nhwc "NHWC" 1;
    Nd "ND" 2;
    Nc1hwc0 "NC1HWC0" 3;
    FractalZ "FRACTAL_Z" 4;
    Nc1c0hwpad "NC1C0HWPAD" 5;
    Nhwc1c0 "NHWC1C0" 6;
    FsrNchw "FSR_NCHW" 7;
    FractalDeconv "FRACTAL_DECONV" 8;
    C1hwnc0 "C1HWNC0" 9;
    FractalDeconvTranspose "FRACTAL_DECONV_TRANSPOSE" 10;
    FractalDeconvSpStrideTrans "FRACTAL_DECONV_SP_STRIDE_TRANS" 11;
    Nc1hwc0C04 "NC1HWC0_C04" 12;
    FractalZC04 "FRACTAL_Z_C04" 13;
    Chwn "CHWN" 14;
    FractalDeconvSpStride8Trans "FRACTAL_DECONV_SP_STRIDE8_TRANS" 15;
    Hwcn "HWCN" 16;
    Nc1khkwhwc0 "NC1KHKWHWC0" 17;
    BnWeight "BN_WEIGHT" 18;
    FilterHwck "FILTER_HWCK" 19;
    HashtableLookupLookups "HASHTABLE_LOOKUP_LOOKUPS" 20;
    HashtableLookupKeys "HASHTABLE_LOOKUP_KEYS" 21;
    HashtableLookupValue "HASHTABLE_LOOKUP_VALUE" 22;
    HashtableLookupOutput "HASHTABLE_LOOKUP_OUTPUT" 23;
    HashtableLookupHits "HASHTABLE_LOOKUP_HITS" 24;
    C1hwncoc0 "C1HWNCoC0" 25;
    Md "MD" 26;
    Ndhwc "NDHWC" 27;
    FractalZz "FRACTAL_ZZ" 28;
    FractalNz "FRACTAL_NZ" 29;
    Ncdhw "NCDHW" 30;
    Dhwcn "DHWCN" 31;
    Ndc1hwc0 "NDC1HWC0" 32;
    FractalZ3d "FRACTAL_Z_3D" 33;
    Cn "CN" 34;
    Nc "NC" 35;
    Dhwnc "DHWNC" 36;
    FractalZ3dTranspose "FRACTAL_Z_3D_TRANSPOSE" 37;
    FractalZnLstm "FRACTAL_ZN_LSTM" 38;
    FractalZG "FRACTAL_Z_G" 39;
    Reserved "RESERVED" 40;
    All "ALL" 41;
    Null "NULL" 42;
    NdRnnBias "ND_RNN_BIAS" 43;
    FractalZnRnn "FRACTAL_ZN_RNN" 44;
    Nyuv "NYUV" 45;
    NyuvA "NYUV_A" 46;
    Ncl "NCL" 47;
    FractalZWino "FRACTAL_Z_WINO" 48;
    C1hwc0 "C1HWC0" 49;
    FractalNzC016 "FRACTAL_NZ_C0_16" 50;
    FractalNzC032 "FRACTAL_NZ_C0_32" 51;
    FractalNzC02 "FRACTAL_NZ_C0_2" 52;
    FractalNzC04 "FRACTAL_NZ_C0_4" 53;
    FractalNzC08 "FRACTAL_NZ_C0_8" 54;
}

/// What profilers write before a format's name.
const PROFILED: &str = "FORMAT_";

impl Format {
    /// The format whose primary number is in the low eight bits of `number`.
    pub fn from_ge(number: i32) -> Option<Format> {
        Self::ALL.iter().copied().find(|f| f.ge_number() == number & 0xff)
    }

    /// Whether frameworks know the format: a plain order of axes. The others are the device's.
    pub const fn is_framework(self) -> bool {
        use Format::{Chwn, Cn, Dhwcn, Dhwnc, Hwcn, Nc, Ncdhw, Nchw, Ncl, Nd, Ndhwc, Nhwc};
        matches!(self, Nd | Nchw | Nhwc | Hwcn | Chwn | Ncdhw | Ndhwc | Dhwcn | Dhwnc | Cn | Nc | Ncl)
    }

    /// Whether an image of this many axes in this format has its channels last; `None` for what is no format of such an
    /// image. A line of pixels may bear the format of the image that it was.
    pub const fn channels_last(self, rank: usize) -> Option<bool> {
        match (self, rank) {
            (Format::Nhwc, 3 | 4) | (Format::Ndhwc, 5) => Some(true),
            (Format::Nchw, 3 | 4) | (Format::Ncl, 3) | (Format::Ncdhw, 5) => Some(false),
            _ => None,
        }
    }

    /// Whether a shape in this format does not tell the sizes of the tensor: filters in fractals.
    pub const fn hides_sizes(self) -> bool {
        use Format::{C1hwncoc0, FractalZ, FractalZ3d, FractalZ3dTranspose, FractalZC04, FractalZG, FractalZWino};
        matches!(self, FractalZ | FractalZC04 | FractalZG | FractalZWino | FractalZ3d | FractalZ3dTranspose | C1hwncoc0)
    }

    /// The format with this name, in any case; as profilers write it, too: `FORMAT_ND`, `NC1HWC0:1`.
    pub fn from_name(name: &str) -> Option<Format> {
        let name = match name.split_at_checked(PROFILED.len()) {
            Some((prefix, rest)) if prefix.eq_ignore_ascii_case(PROFILED) => rest,
            _ => name,
        };
        // Behind a colon stand the number of groups and C0.
        let name = match name.split_once(':') {
            Some((name, numbers)) if numbers.bytes().all(|b| b.is_ascii_digit() || b == b':') => name,
            _ => name,
        };
        Self::ALL.iter().copied().find(|f| f.name().eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn numbers_and_names_map_back_to_their_format() {
        for &f in Format::ALL {
            assert_eq!(Format::from_ge(f.ge_number()), Some(f));
            assert_eq!(Format::from_ge(f.ge_number() | 0x0500_0100), Some(f), "C0 and sub-format bits are ignored");
            assert_eq!(Format::from_name(&f.name().to_lowercase()), Some(f));
            assert_eq!(Format::from_name(&format!("FORMAT_{}", f.name())), Some(f));
            assert_eq!(Format::from_name(&format!("{}:1", f.name())), Some(f), "a profile's number of groups");
        }
    }
}
