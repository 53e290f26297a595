//! The tables: one line per run of fields of the same type, in the order of the bytes.
//!
//! Source: the tuning key structures of CANN's operator library. Misspelt names are CANN's.

use super::{Field, FieldType, Layout};

/// Declares the placed fields of one structure: `TYPE: name name ..;` repeated.
macro_rules! structure {
    ($(#[$doc:meta])* $table:ident { $($kind:ident: $($name:ident)+;)+ }) => {
        $(#[$doc])*
        static $table: [Field; { [$($(stringify!($name),)+)+].len() }] =
            place([$($((stringify!($name), FieldType::$kind),)+)+]);
    };
}

/// Lays fields one behind the other, without padding.
const fn place<const N: usize>(fields: [(&'static str, FieldType); N]) -> [Field; N] {
    let mut placed = [Field { name: "", kind: FieldType::Bool, offset: 0 }; N];
    let (mut i, mut offset) = (0, 0);
    while i < N {
        let (name, kind) = fields[i];
        placed[i] = Field { name, kind, offset };
        offset += kind.bytes();
        i += 1;
    }
    placed
}

/// Every operator type whose key structure is known.
pub static LAYOUTS: &[Layout] = &[
    Layout { op_type: "MatMulV3", fields: &MATMUL },
    Layout { op_type: "QuantBatchMatmulV3", fields: &MATMUL },
    Layout { op_type: "Mc2MatMulV3", fields: &MATMUL },
    Layout { op_type: "Mc2QuantBatchMatmulV3", fields: &MATMUL },
    Layout { op_type: "Conv2DV2", fields: &CONV2D_V2 },
    Layout { op_type: "Conv3DV2", fields: &CONV3D_V2 },
    Layout { op_type: "Conv3D", fields: &CONV3D },
    Layout { op_type: "Conv3DBackpropFilterV2", fields: &CONV3D_BACKPROP_FILTER_V2 },
    Layout { op_type: "Conv3DBackpropInputV2", fields: &CONV3D_BACKPROP_INPUT_V2 },
    // Those of TBE's operators, of which no public text proves that the shipped library asks.
    Layout { op_type: "MatMulV2", fields: &MATMUL },
    Layout { op_type: "Conv2DBackpropInput", fields: &CONV2D_BACKPROP_INPUT },
    Layout { op_type: "Conv2DTranspose", fields: &CONV2D_BACKPROP_INPUT },
    Layout { op_type: "Conv2DBackpropFilter", fields: &CONV2D_BACKPROP_FILTER },
    Layout { op_type: "Conv3DBackpropInput", fields: &CONV3D_BACKPROP_INPUT },
    Layout { op_type: "Conv3DTranspose", fields: &CONV3D_BACKPROP_INPUT },
];

structure! {
    /// 183 bytes; one structure for every matrix product.
    MATMUL {
        I64: m k n batch_a1 batch_a2 batch_a3 batch_a4 batch_b1 batch_b2 batch_b3 batch_b4;
        F32: l1_fused_num aub_double_num bub_double_num fused_double_operand_num;
        I32: a_dtype b_dtype out_dtype a_format b_format out_format;
        Bool: trans_a_flag trans_b_flag bias_flag reserved_bool m_align_flag k_align_flag n_align_flag;
        U64: reserved_params1 reserved_params2 reserved_params3 reserved_params4 reserved_params5 reserved_params6;
    }
}

structure! {
    /// 210 bytes. `bShapeN` is the output channels, `bShapeC` the input channels of one group.
    CONV2D_V2 {
        I32: aDtype bDtype cDtype biasDtype;
        I64: aShapeN aShapeH aShapeW bShapeN bShapeC bShapeH bShapeW cShapeH cShapeW;
        I32: aFormat bFormat cFormat;
        I64: groups strideH strideW dilationH dilationW padTop padBottom padLeft padRight;
        Bool: biasFlag hf32Flag;
        U64: reserverdParam1 reserverdParam2 reserverdParam3;
        F32: reserverdParam4 reserverdParam5 reserverdParam6;
    }
}

structure! {
    /// 257 bytes. The two depths of feature maps have 4 bytes, all other sizes 8.
    CONV3D_V2 {
        I32: aDtype bDtype cDtype biasDtype;
        U64: aShapeN;
        U32: aShapeD;
        U64: aShapeH aShapeW bShapeN bShapeC bShapeD bShapeH bShapeW;
        U32: cShapeD;
        U64: cShapeH cShapeW;
        I32: aFormat bFormat cFormat;
        U64: groups strideD strideH strideW dilationD dilationH dilationW;
        U64: padHead padTail padTop padBottom padLeft padRight;
        Bool: biasFlag;
        U64: reserverdParam1 reserverdParam2 reserverdParam3;
        F32: reserverdParam4 reserverdParam5 reserverdParam6;
    }
}

structure! {
    /// 229 bytes.
    CONV3D {
        I32: aDtype bDtype cDtype biasDtype;
        U64: aShapeN aShapeD aShapeH aShapeW bShapeN bShapeC bShapeD bShapeH bShapeW cShapeD cShapeH cShapeW;
        I32: aFormat bFormat cFormat;
        U64: groups strideD strideH strideW dilationD dilationH dilationW;
        U64: padHead padTail padTop padBottom padLeft padRight;
        Bool: biasFlag;
    }
}

structure! {
    /// 140 bytes. Only the width of the fields is known; no value has a reason to exceed `int32_t`.
    CONV3D_BACKPROP_FILTER_V2 {
        I32: batch groups co ci dout wo ho wi hi di kw kh kd stride_w stride_h stride_d;
        I32: pad_l pad_r pad_u pad_d pad_f pad_b dilation_w dilation_h dilation_d hf32Flag;
        I32: a_dtype b_dtype c_dtype a_dtype_bytes b_dtype_bytes c_dtype_bytes fmapFormat dedyFormat filterFormat;
    }
}

structure! {
    /// 152 bytes. Only the width of the fields is known; back-propagated pads may be negative.
    CONV3D_BACKPROP_INPUT_V2 {
        I32: batch_n groups dedx_d dedx_cin dedx_h dedx_w dedy_d dedy_cout dedy_h dedy_w;
        I32: pad_h pad_t pad_l pad_r pad_u pad_d kernel_d kernel_h kernel_w stride_d stride_h stride_w;
        I32: dilation_d dilation_h dilation_w;
        I32: backprop_pad_h backprop_pad_t backprop_pad_l backprop_pad_r backprop_pad_u backprop_pad_d;
        I32: hf32_flag a_dtype_bytes b_dtype_bytes c_dtype_bytes filterFormat outBackpropFormat yFormat;
    }
}

structure! {
    /// 222 bytes, of `Conv2DBackpropInput` and `Conv2DTranspose`.
    CONV2D_BACKPROP_INPUT {
        I32: a_dtype b_dtype c_dtype bias_dtype;
        I64: a_shape_n a_shape_h a_shape_w b_shape_n b_shape_c b_shape_h b_shape_w c_shape_h c_shape_w;
        I32: a_format b_format c_format;
        I64: groups stride_expand_h stride_expand_w dilation_h dilation_w pad_u pad_d pad_l pad_r;
        Bool: bias_flag hf32_flag;
        F32: cub_double_num fused_double_operand_num;
        I64: reserved_params1 reserved_params2 reserved_params3 reserved_params4 reserved_params5;
    }
}

structure! {
    /// 204 bytes.
    CONV2D_BACKPROP_FILTER {
        I64: a_shape_n a_shape_h a_shape_w b_shape_h b_shape_w c_shape_n c_shape_c c_shape_h c_shape_w groups;
        I64: stride_h stride_w dilation_h dilation_w pad_u pad_d pad_l pad_r;
        I32: a_dtype b_dtype c_dtype;
        U32: binary_mode;
        I32: hf32_flag;
        I64: reserved_params1 reserved_params2 reserved_params3 reserved_params4 reserved_params5;
    }
}

structure! {
    /// 273 bytes, of `Conv3DBackpropInput` and `Conv3DTranspose`.
    CONV3D_BACKPROP_INPUT {
        I32: a_dtype b_dtype c_dtype;
        I64: a_shape_n a_shape_d a_shape_h a_shape_w b_shape_n b_shape_c b_shape_d b_shape_h b_shape_w;
        I64: c_shape_d c_shape_h c_shape_w;
        I32: a_format b_format c_format;
        I64: groups stride_expand_d stride_expand_h stride_expand_w dilation_d dilation_h dilation_w;
        I64: pad_h pad_t pad_u pad_d pad_l pad_r;
        Bool: hf32_flag;
        F32: cub_double_num fused_double_operand_num;
        I64: reserved_params1 reserved_params2 reserved_params3 reserved_params4 reserved_params5;
    }
}
