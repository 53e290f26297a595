//! From an `info_dict` back to the workload.

use super::fields::Fields;
use crate::bank::form::Form;
use crate::graph::{DataType, Format};
use crate::workload::{
    Collective, CollectiveKind, Conv, ConvKind, Depth, MatMul, MatMulKernel, Move, Reduce, Vector, Workload,
};
use serde_json::{Map, Value};

/// The workload of an `info_dict`; or which field stands in the way.
pub(super) fn workload(form: Form, op: &str, info: &Map<String, Value>) -> Result<Workload, String> {
    match form {
        Form::Canonical | Form::Unified(_) => canonical(info),
        Form::Runtime(_) | Form::Unknown => match op {
            "Conv2DV2" | "Conv3DV2" | "Conv3D" => forward(Fields(info)).map(Workload::Conv),
            "Conv3DBackpropFilterV2" => filter_gradient(Fields(info)).map(Workload::Conv),
            "Conv3DBackpropInputV2" => input_gradient(Fields(info)).map(Workload::Conv),
            "Conv2DBackpropFilter" => image_filter_gradient(Fields(info)).map(Workload::Conv),
            "Conv2DBackpropInput" | "Conv2DTranspose" | "Conv3DBackpropInput" | "Conv3DTranspose" => {
                Err(format!("what work a key of {op} stands for is not decoded"))
            }
            "MatMulV2" => product(Fields(info)).map(|w| Workload::MatMul(MatMul { kernel: MatMulKernel::Tbe, ..w })),
            "MatMulV3" | "QuantBatchMatmulV3" | "Mc2MatMulV3" | "Mc2QuantBatchMatmulV3" => {
                product(Fields(info)).map(Workload::MatMul)
            }
            // Of an operator without a known layout: it may be a product.
            _ if form == Form::Unknown => product(Fields(info)).map(Workload::MatMul),
            _ => Err(format!("what work a key of {op} stands for is not decoded")),
        },
    }
}

/// The product behind a key of `MatMulV3` or one of its kin.
fn product(f: Fields<'_>) -> Result<MatMul, String> {
    let batch = |operand: &str| {
        let axes = (1..=4).map(|axis| f.extent(&format!("batch_{operand}{axis}")));
        axes.collect::<Result<Vec<u64>, String>>().map(|axes| axes.into_iter().fold(1, u64::saturating_mul))
    };
    let (batch_a, batch_b) = (batch("a")?, batch("b")?);
    let dtype = f.ge_dtype("a_dtype")?;
    Ok(MatMul {
        batch: batch_a.max(batch_b),
        a_shared: batch_a < batch_b,
        b_shared: batch_b < batch_a,
        dtype,
        out_dtype: f.ge_dtype("out_dtype")?,
        trans_a: f.flag("trans_a_flag")?,
        trans_b: f.flag("trans_b_flag")?,
        bias: f.flag("bias_flag")?,
        a_format: f.ge_format("a_format")?,
        b_format: f.ge_format("b_format")?,
        ..MatMul::new(f.extent("m")?, f.extent("k")?, f.extent("n")?)
    })
}

/// The third axis of a volume's key; that of an image has none.
fn depth(f: Fields<'_>) -> Result<Option<Depth>, String> {
    if !f.0.contains_key("cShapeD") {
        return Ok(None);
    }
    Ok(Some(Depth {
        input: f.extent("aShapeD")?,
        output: f.extent("cShapeD")?,
        kernel: f.extent("bShapeD")?,
        stride: f.extent("strideD")?,
        pads: [f.pad("padHead")?, f.pad("padTail")?],
        dilation: f.extent("dilationD")?,
    }))
}

fn canonical_depth(value: &Value) -> Result<Depth, String> {
    let fields = value.as_object().ok_or_else(|| format!("`depth` cannot be {value}"))?;
    let f = Fields(fields);
    Ok(Depth {
        input: f.extent("input")?,
        output: f.extent("output")?,
        kernel: f.extent("kernel")?,
        stride: f.extent("stride")?,
        pads: f.list("pads")?,
        dilation: f.extent("dilation")?,
    })
}

/// A forward convolution; depth goes into channels and images, as in [`Conv`].
fn forward(f: Fields<'_>) -> Result<Conv, String> {
    let groups = f.extent("groups")?;
    let depth = depth(f)?;
    let [planes, taps] = depth.map_or([1, 1], |depth| [depth.output, depth.kernel]);
    Ok(Conv {
        kind: ConvKind::Forward,
        batch: f.extent("aShapeN")?.saturating_mul(planes),
        cin: f.extent("bShapeC")?.saturating_mul(groups).saturating_mul(taps),
        hi: f.extent("aShapeH")?,
        wi: f.extent("aShapeW")?,
        cout: f.extent("bShapeN")?,
        ho: f.extent("cShapeH")?,
        wo: f.extent("cShapeW")?,
        kh: f.extent("bShapeH")?,
        kw: f.extent("bShapeW")?,
        stride: [f.extent("strideH")?, f.extent("strideW")?],
        pads: [f.pad("padTop")?, f.pad("padBottom")?, f.pad("padLeft")?, f.pad("padRight")?],
        dilation: [f.extent("dilationH")?, f.extent("dilationW")?],
        groups,
        dtype: f.ge_dtype("aDtype")?,
        out_dtype: f.ge_dtype("cDtype")?,
        bias: f.flag("biasFlag")?,
        format: f.ge_format("aFormat")?,
        hf32: if f.0.contains_key("hf32Flag") { f.flag("hf32Flag")? } else { false },
        depth,
    })
}

fn filter_gradient(f: Fields<'_>) -> Result<Conv, String> {
    let (format, hf32) = (f.ge_format("fmapFormat")?, f.flag("hf32Flag")?);
    let gradient = any_filter_gradient(f, ["batch", "ci", "hi", "wi", "co", "ho", "wo", "kh", "kw"], format, hf32)?;
    let (batch, cin) = (f.extent("dout")?.saturating_mul(gradient.batch), f.extent("kd")?.saturating_mul(gradient.cin));
    Ok(Conv { batch, cin, ..gradient })
}

/// The key of TBE's gradient of an image's filter.
fn image_filter_gradient(f: Fields<'_>) -> Result<Conv, String> {
    let extents = [
        "a_shape_n",
        "c_shape_c",
        "b_shape_h",
        "b_shape_w",
        "c_shape_n",
        "a_shape_h",
        "a_shape_w",
        "c_shape_h",
        "c_shape_w",
    ];
    any_filter_gradient(f, extents, Format::Nc1hwc0, f.size("hf32_flag")? > 0)
}

/// What the keys of filters' gradients share; `extents` names batch, input channels, rows and columns, output channels,
/// rows and columns, and the filter's rows and columns.
fn any_filter_gradient(f: Fields<'_>, extents: [&str; 9], format: Format, hf32: bool) -> Result<Conv, String> {
    let [batch, cin, hi, wi, cout, ho, wo, kh, kw] = extents;
    Ok(Conv {
        kind: ConvKind::BackpropFilter,
        batch: f.extent(batch)?,
        cin: f.extent(cin)?,
        hi: f.extent(hi)?,
        wi: f.extent(wi)?,
        cout: f.extent(cout)?,
        ho: f.extent(ho)?,
        wo: f.extent(wo)?,
        kh: f.extent(kh)?,
        kw: f.extent(kw)?,
        stride: [f.extent("stride_h")?, f.extent("stride_w")?],
        pads: [f.pad("pad_u")?, f.pad("pad_d")?, f.pad("pad_l")?, f.pad("pad_r")?],
        dilation: [f.extent("dilation_h")?, f.extent("dilation_w")?],
        groups: f.extent("groups")?,
        dtype: f.ge_dtype("a_dtype")?,
        out_dtype: f.ge_dtype("c_dtype")?,
        bias: false,
        format,
        hf32,
        depth: None,
    })
}

fn input_gradient(f: Fields<'_>) -> Result<Conv, String> {
    // The key holds sizes of elements, not types; of either size there is one that convolutions take most.
    let of_bytes = |name: &str| match f.size(name)? {
        2 => Ok(DataType::Float16),
        4 => Ok(DataType::Float),
        1 => Ok(DataType::Int8),
        bytes => Err(format!("`{name}` cannot be {bytes}")),
    };
    Ok(Conv {
        kind: ConvKind::BackpropInput,
        batch: f.extent("batch_n")?.saturating_mul(f.extent("dedx_d")?),
        cin: f.extent("dedx_cin")?,
        hi: f.extent("dedx_h")?,
        wi: f.extent("dedx_w")?,
        cout: f.extent("dedy_cout")?.saturating_mul(f.extent("kernel_d")?),
        ho: f.extent("dedy_h")?,
        wo: f.extent("dedy_w")?,
        kh: f.extent("kernel_h")?,
        kw: f.extent("kernel_w")?,
        stride: [f.extent("stride_h")?, f.extent("stride_w")?],
        pads: [f.pad("pad_u")?, f.pad("pad_d")?, f.pad("pad_l")?, f.pad("pad_r")?],
        dilation: [f.extent("dilation_h")?, f.extent("dilation_w")?],
        groups: f.extent("groups")?,
        dtype: of_bytes("a_dtype_bytes")?,
        out_dtype: of_bytes("c_dtype_bytes")?,
        bias: false,
        format: f.ge_format("outBackpropFormat")?,
        hf32: f.flag("hf32_flag")?,
        depth: None,
    })
}

/// Reads our own form, see [`canonical_json`](crate::workload::canonical_json). Fails with the field at fault.
pub fn canonical(info: &Map<String, Value>) -> Result<Workload, String> {
    let f = Fields(info);
    let op_type = || f.text("op_type").map(str::to_owned);
    Ok(match f.text("kind")? {
        "matmul" => Workload::MatMul(MatMul {
            batch: f.extent("batch")?,
            a_shared: f.flag("a_shared")?,
            b_shared: f.flag("b_shared")?,
            m: f.extent("m")?,
            k: f.extent("k")?,
            n: f.extent("n")?,
            dtype: f.dtype("dtype")?,
            b_dtype: f.0.contains_key("b_dtype").then(|| f.dtype("b_dtype")).transpose()?,
            out_dtype: f.dtype("out_dtype")?,
            trans_a: f.flag("trans_a")?,
            trans_b: f.flag("trans_b")?,
            bias: f.flag("bias")?,
            a_format: f.format("a_format")?,
            b_format: f.format("b_format")?,
            hf32: f.flag("hf32")?,
            kernel: match f.0.get("kernel").map(|name| name.as_str()) {
                None => MatMulKernel::AscendC,
                Some(Some("tbe")) => MatMulKernel::Tbe,
                Some(Some("quant_v4")) => MatMulKernel::QuantV4,
                Some(Some("transposed")) => MatMulKernel::Transposed,
                Some(Some("grouped")) => MatMulKernel::Grouped,
                Some(Some("fused")) => MatMulKernel::Fused,
                Some(_) => {
                    return Err(
                        "`kernel` is none of \"tbe\", \"quant_v4\", \"transposed\", \"grouped\", \"fused\"".into()
                    );
                }
            },
        }),
        "conv" => canonical_conv(f, ConvKind::Forward)?,
        "conv_backprop_input" => canonical_conv(f, ConvKind::BackpropInput)?,
        "conv_backprop_filter" => canonical_conv(f, ConvKind::BackpropFilter)?,
        "vector" => Workload::Vector(Vector {
            op_type: op_type()?,
            inputs: f.operands("inputs")?,
            outputs: f.operands("outputs")?,
        }),
        "reduce" => Workload::Reduce(Reduce {
            op_type: op_type()?,
            outer: f.size("outer")?,
            axis: f.size("axis")?,
            inner: f.size("inner")?,
            inputs: f.operands("inputs")?,
            outputs: f.operands("outputs")?,
        }),
        "move" => Workload::Move(Move {
            op_type: op_type()?,
            run_bytes: f.size("run_bytes")?,
            inputs: f.operands("inputs")?,
            outputs: f.operands("outputs")?,
        }),
        "collective" => Workload::Collective(Collective {
            kind: match f.text("exchange")? {
                "all_reduce" => CollectiveKind::AllReduce,
                "all_gather" => CollectiveKind::AllGather,
                "reduce_scatter" => CollectiveKind::ReduceScatter,
                "all_to_all" => CollectiveKind::AllToAll,
                "broadcast" => CollectiveKind::Broadcast,
                other => return Err(format!("`exchange` cannot be {other:?}")),
            },
            bytes: f.size("bytes")?,
        }),
        "fused" => Workload::Fused(f.objects("parts")?.into_iter().map(canonical).collect::<Result<_, _>>()?),
        other => return Err(format!("`kind` cannot be {other:?}")),
    })
}

fn canonical_conv(f: Fields<'_>, kind: ConvKind) -> Result<Workload, String> {
    Ok(Workload::Conv(Conv {
        kind,
        batch: f.extent("batch")?,
        cin: f.extent("cin")?,
        hi: f.extent("hi")?,
        wi: f.extent("wi")?,
        cout: f.extent("cout")?,
        ho: f.extent("ho")?,
        wo: f.extent("wo")?,
        kh: f.extent("kh")?,
        kw: f.extent("kw")?,
        stride: f.list("stride")?,
        pads: f.list("pads")?,
        dilation: f.list("dilation")?,
        groups: f.extent("groups")?,
        dtype: f.dtype("dtype")?,
        out_dtype: f.dtype("out_dtype")?,
        bias: f.flag("bias")?,
        format: f.format("format")?,
        hf32: f.flag("hf32")?,
        depth: f.0.get("depth").map(canonical_depth).transpose()?,
    }))
}
