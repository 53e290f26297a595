//! Data types with the four numberings that meet in this project.

use serde::{Deserialize, Serialize};

macro_rules! dtype_table {
    ($($variant:ident $name:literal, bits $bits:literal, ge $ge:literal, proto $proto:literal, onnx $onnx:literal, tf $tf:literal;)*) => {
        /// Element type of a tensor.
        ///
        /// Each type has four numbers: `ge::DataType` (the C ABI, banks), `ge.proto.DataType` (.air files),
        /// ONNX and TensorFlow; -1 stands where a framework does not have the type.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum DataType { $(#[doc = concat!("`", $name, "`")] #[serde(rename = $name)] $variant,)* }

        impl DataType {
            /// Every data type, in the order of `ge::DataType`.
            pub const ALL: &'static [DataType] = &[$(DataType::$variant,)*];
            /// CANN's lower-case name, for example `float16`.
            pub const fn name(self) -> &'static str { match self { $(DataType::$variant => $name,)* } }
            /// Size of one element in bits; 0 for strings, handles and the undefined type.
            pub const fn bits(self) -> u32 { match self { $(DataType::$variant => $bits,)* } }
            /// Number in `ge::DataType`.
            pub const fn ge_number(self) -> i32 { match self { $(DataType::$variant => $ge,)* } }
            /// Number in `ge.proto.DataType`.
            pub const fn proto_number(self) -> i32 { match self { $(DataType::$variant => $proto,)* } }
            /// Number in ONNX `TensorProto.DataType`, or -1.
            pub const fn onnx_number(self) -> i32 { match self { $(DataType::$variant => $onnx,)* } }
            /// Number in TensorFlow `DataType`, or -1.
            pub const fn tensorflow_number(self) -> i32 { match self { $(DataType::$variant => $tf,)* } }
        }
    };
}

dtype_table! {
    Float "float32", bits 32, ge 0, proto 1, onnx 1, tf 1;
    Float16 "float16", bits 16, ge 1, proto 2, onnx 10, tf 19;
    Int8 "int8", bits 8, ge 2, proto 3, onnx 3, tf 6;
    Int32 "int32", bits 32, ge 3, proto 7, onnx 6, tf 3;
    Uint8 "uint8", bits 8, ge 4, proto 4, onnx 2, tf 4;
    Int16 "int16", bits 16, ge 6, proto 5, onnx 5, tf 5;
    Uint16 "uint16", bits 16, ge 7, proto 6, onnx 4, tf 17;
    Uint32 "uint32", bits 32, ge 8, proto 9, onnx 12, tf 22;
    Int64 "int64", bits 64, ge 9, proto 8, onnx 7, tf 9;
    Uint64 "uint64", bits 64, ge 10, proto 10, onnx 13, tf 23;
    Double "double", bits 64, ge 11, proto 12, onnx 11, tf 2;
    Bool "bool", bits 8, ge 12, proto 11, onnx 9, tf 10;
    String "string", bits 0, ge 13, proto 13, onnx 8, tf 7;
    DualSubInt8 "dual_sub_int8", bits 8, ge 14, proto 14, onnx -1, tf -1;
    DualSubUint8 "dual_sub_uint8", bits 8, ge 15, proto 15, onnx -1, tf -1;
    Complex64 "complex64", bits 64, ge 16, proto 16, onnx 14, tf 8;
    Complex128 "complex128", bits 128, ge 17, proto 17, onnx 15, tf 18;
    Qint8 "qint8", bits 8, ge 18, proto 18, onnx -1, tf 11;
    Qint16 "qint16", bits 16, ge 19, proto 19, onnx -1, tf 15;
    Qint32 "qint32", bits 32, ge 20, proto 20, onnx -1, tf 13;
    Quint8 "quint8", bits 8, ge 21, proto 21, onnx -1, tf 12;
    Quint16 "quint16", bits 16, ge 22, proto 22, onnx -1, tf 16;
    Resource "resource", bits 0, ge 23, proto 23, onnx -1, tf 20;
    StringRef "string_ref", bits 0, ge 24, proto 24, onnx -1, tf -1;
    Dual "dual", bits 40, ge 25, proto 25, onnx -1, tf -1;
    Variant "variant", bits 0, ge 26, proto 26, onnx -1, tf 21;
    Bfloat16 "bfloat16", bits 16, ge 27, proto 27, onnx 16, tf 14;
    Undefined "undefined", bits 0, ge 28, proto 0, onnx 0, tf 0;
    Int4 "int4", bits 4, ge 29, proto 28, onnx 22, tf -1;
    Uint1 "uint1", bits 1, ge 30, proto 29, onnx -1, tf -1;
    Int2 "int2", bits 2, ge 31, proto 30, onnx -1, tf -1;
    Uint2 "uint2", bits 2, ge 32, proto 31, onnx -1, tf -1;
    Complex32 "complex32", bits 32, ge 33, proto 32, onnx -1, tf -1;
    Hifloat8 "hifloat8", bits 8, ge 34, proto 33, onnx -1, tf -1;
    Float8E5m2 "float8_e5m2", bits 8, ge 35, proto 34, onnx 19, tf -1;
    Float8E4m3fn "float8_e4m3fn", bits 8, ge 36, proto 35, onnx 17, tf -1;
    Float8E8m0 "float8_e8m0", bits 8, ge 37, proto 36, onnx 24, tf -1;
    Float6E3m2 "float6_e3m2", bits 6, ge 38, proto 37, onnx -1, tf -1;
    Float6E2m3 "float6_e2m3", bits 6, ge 39, proto 38, onnx -1, tf -1;
    Float4E2m1 "float4_e2m1", bits 4, ge 40, proto 39, onnx 23, tf -1;
    Float4E1m2 "float4_e1m2", bits 4, ge 41, proto 40, onnx -1, tf -1;
    Hifloat4 "hifloat4", bits 4, ge 42, proto 41, onnx -1, tf -1;
}

impl DataType {
    /// The type with this `ge::DataType` number.
    pub fn from_ge(number: i32) -> Option<DataType> {
        Self::ALL.iter().copied().find(|t| t.ge_number() == number)
    }

    /// The type with this `ge.proto.DataType` number.
    pub fn from_proto(number: i32) -> Option<DataType> {
        Self::ALL.iter().copied().find(|t| t.proto_number() == number)
    }

    /// The type with this ONNX number.
    pub fn from_onnx(number: i32) -> Option<DataType> {
        Self::ALL.iter().copied().find(|t| t.onnx_number() == number && number >= 0)
    }

    /// The type with this TensorFlow number; reference types (100 and up) map to their base.
    pub fn from_tensorflow(number: i32) -> Option<DataType> {
        let number = if number > 100 { number - 100 } else { number };
        Self::ALL.iter().copied().find(|t| t.tensorflow_number() == number && number >= 0)
    }

    /// The type with this name; CANN's short spellings (`half`, `fp16`, `float`, `bf16`) and those of profiles
    /// (`DT_BF16`, `INT8`) count too.
    pub fn from_name(name: &str) -> Option<DataType> {
        let lower = name.to_ascii_lowercase();
        match lower.strip_prefix("dt_").unwrap_or(&lower) {
            "half" | "fp16" => Some(DataType::Float16),
            "float" | "fp32" => Some(DataType::Float),
            "bf16" => Some(DataType::Bfloat16),
            name => Self::ALL.iter().copied().find(|t| t.name() == name),
        }
    }

    /// The type of a name of GE's with its prefix, such as `DT_FLOAT16` or `DT_BF16`.
    pub fn from_serial_name(name: &str) -> Option<DataType> {
        Self::from_name(&name.strip_prefix("DT_")?.to_ascii_lowercase())
    }

    /// Size of one element in bytes, rounded up; 0 where there is none.
    pub const fn bytes(self) -> u64 {
        self.bits().div_ceil(8) as u64
    }

    /// Whether the type is a floating-point number.
    pub const fn is_float(self) -> bool {
        use DataType::{Bfloat16, Double, Float, Float8E4m3fn, Float8E5m2, Float8E8m0, Float16, Hifloat8};
        use DataType::{Float4E1m2, Float4E2m1, Float6E2m3, Float6E3m2, Hifloat4};
        matches!(self, Float | Float16 | Bfloat16 | Double | Float8E5m2 | Float8E4m3fn | Float8E8m0 | Hifloat8)
            || matches!(self, Float6E3m2 | Float6E2m3 | Float4E2m1 | Float4E1m2 | Hifloat4)
    }
}

#[cfg(test)]
mod tests {
    use super::DataType;

    #[test]
    fn every_numbering_maps_back_to_its_type() {
        for &t in DataType::ALL {
            assert_eq!(DataType::from_ge(t.ge_number()), Some(t));
            assert_eq!(DataType::from_proto(t.proto_number()), Some(t));
            assert_eq!(DataType::from_name(t.name()), Some(t));
            if t.onnx_number() > 0 {
                assert_eq!(DataType::from_onnx(t.onnx_number()), Some(t));
            }
            if t.tensorflow_number() > 0 {
                assert_eq!(DataType::from_tensorflow(t.tensorflow_number() + 100), Some(t));
            }
        }
    }
}
