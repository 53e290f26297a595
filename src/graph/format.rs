//! Tensor memory formats, CANN's `ge::Format`.

use serde::{Deserialize, Serialize};

macro_rules! format_table {
    ($($variant:ident $name:literal $number:literal;)*) => {
        /// Memory layout of a tensor; names and numbers are those of `ge::Format`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Format { $(#[doc = concat!("`", $name, "`")] #[serde(rename = $name)] $variant,)* }

        impl Format {
            /// Every format known here.
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
    Nhwc1c0 "NHWC1C0" 6;
    C1hwnc0 "C1HWNC0" 9;
    Nc1hwc0C04 "NC1HWC0_C04" 12;
    FractalZC04 "FRACTAL_Z_C04" 13;
    Chwn "CHWN" 14;
    Hwcn "HWCN" 16;
    C1hwncoc0 "C1HWNCoC0" 25;
    Ndhwc "NDHWC" 27;
    FractalNz "FRACTAL_NZ" 29;
    Ncdhw "NCDHW" 30;
    Dhwcn "DHWCN" 31;
    Ndc1hwc0 "NDC1HWC0" 32;
    FractalZ3d "FRACTAL_Z_3D" 33;
    Cn "CN" 34;
    Nc "NC" 35;
    Dhwnc "DHWNC" 36;
    FractalZnLstm "FRACTAL_ZN_LSTM" 38;
    FractalZG "FRACTAL_Z_G" 39;
    Reserved "RESERVED" 40;
    NdRnnBias "ND_RNN_BIAS" 43;
    FractalZnRnn "FRACTAL_ZN_RNN" 44;
    Ncl "NCL" 47;
}

impl Format {
    /// The format whose primary number is in the low eight bits of `number`.
    pub fn from_ge(number: i32) -> Option<Format> {
        Self::ALL.iter().copied().find(|f| f.ge_number() == number & 0xff)
    }

    /// The format with this name, in any case.
    pub fn from_name(name: &str) -> Option<Format> {
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
        }
    }
}
