//! Convolutions as TBE asks for them: the `info_dict` of the three kernels.
//!
//! TBE makes three different dictionaries. Channels are counted in blocks: a map is [images, blocks, rows, columns,
//! 16]. bfloat16 is asked for as float16. What is not public is told with every record, see [`super::Operator::unproven`],
//! and where one field may have two values there is a record for each.

use super::product::{Reason, data_type, sizes, text, whole, wrong};
use super::python::{Dict, Value};
use crate::graph::{DataType, Format};
use crate::workload::{Conv, ConvKind, Operand, Vector, Workload};

/// Channels of a block of 16-bit elements.
const C0: u64 = 16;
/// Largest pad, kernel and dilation, and largest stride that the unit which unfolds images takes; beyond them TBE
/// loads pixel by pixel, a kernel of its own.
const LOAD_3D: [u64; 2] = [255, 63];

/// Every `info_dict` under which TBE may ask for a convolution that has its result activated or not; the likeliest
/// comes first. An error names the field for which TBE's rule is not known.
pub(super) fn info_dicts(w: &Conv, relu: bool) -> Result<Vec<Dict>, Reason> {
    check(w)?;
    Ok(match w.kind {
        ConvKind::Forward => forward(w, relu),
        _ if relu => return Err("`fixpipe_flag`: how TBE numbers what is fused into it is not known".into()),
        ConvKind::BackpropInput => backprop_input(w),
        ConvKind::BackpropFilter => vec![backprop_filter(w)],
    })
}

fn check(w: &Conv) -> Result<(), Reason> {
    if w.is_volume() || w.format == Format::Ndc1hwc0 {
        return Err("`fm_shape`: a convolution of volumes is another operator".into());
    }
    let is_half = |dtype| matches!(dtype, DataType::Float16 | DataType::Bfloat16);
    if !is_half(w.dtype) {
        return Err(format!(
            "`fm_dtype` = {}: how TBE blocks channels of other than 16 bits is not known",
            w.dtype.name()
        ));
    }
    if w.kind != ConvKind::BackpropFilter && !is_half(w.out_dtype) {
        return Err(format!("`result_dtype` = {} is not known of such operands", w.out_dtype.name()));
    }
    check_groups(w)?;
    if w.bias && w.kind != ConvKind::Forward {
        return Err("`bias_dtype`: how TBE chooses the type of a bias is not known".into());
    }
    let sizes = [w.batch, w.cin, w.hi, w.wi, w.cout, w.ho, w.wo, w.kh, w.kw, w.stride[0], w.stride[1]];
    if sizes.contains(&0) || w.dilation.contains(&0) {
        return Err("`fm_shape` or another size is zero".into());
    }
    let [most, most_stride] = LOAD_3D;
    let wide = w.pads.iter().chain(&w.dilation).chain([&w.kh, &w.kw]).any(|&n| n > most);
    if wide || w.stride.iter().any(|&n| n > most_stride) {
        return Err("`special_mode`: kernel, pad or stride exceed what is unfolded in one go".into());
    }
    let values = sizes.iter().chain(&w.pads).try_fold(1u64, |_, &n| u32::try_from(n).ok().map(u64::from));
    values.map(|_| ()).ok_or_else(|| "`fm_shape`: a size exceeds 32 bits".into())
}

/// Groups whose channels are whole blocks stay as they are; how TBE joins smaller ones until they are is not known.
fn check_groups(w: &Conv) -> Result<(), Reason> {
    if w.groups <= 1 {
        return Ok(());
    }
    let whole = |channels: u64| channels.is_multiple_of(w.groups) && (channels / w.groups).is_multiple_of(C0);
    if w.is_depthwise() {
        return Err("`op_type`: what TBE compiles for a depthwise convolution asks no question that is known".into());
    }
    if w.kind == ConvKind::BackpropInput {
        return Err(format!("`B_shape`: whether it counts the channels of all {} groups is not known", w.groups));
    }
    if !whole(w.cin) || !whole(w.cout) {
        return Err(format!("`group`: how TBE joins {} groups of less than whole blocks is not known", w.groups));
    }
    Ok(())
}

/// Blocks of the input and output channels of a group.
fn blocks_of(w: &Conv) -> [u64; 2] {
    let groups = w.groups.max(1);
    [blocks(w.cin / groups), blocks(w.cout / groups)]
}

fn blocks(channels: u64) -> u64 {
    channels.div_ceil(C0)
}

fn list<const N: usize>(items: [u64; N]) -> Value {
    Value::List(items.map(Value::from).to_vec())
}

/// bfloat16 is asked for as float16.
fn asked(dtype: DataType) -> Value {
    Value::from(if dtype == DataType::Bfloat16 { DataType::Float16 } else { dtype }.name())
}

fn forward(w: &Conv, relu: bool) -> Vec<Dict> {
    // Records of a kernel with fixpipe hold what its units do; without one the list may be empty or of one empty unit.
    let unit = [("pre_act", Value::from("NORMAL_RELU")), ("pre_conv", Value::from("F322F16"))];
    let units = |dict: Dict| Value::List(vec![Value::Dict(dict)]);
    let fixpipes =
        if relu { vec![units(unit.into_iter().collect())] } else { vec![units(Dict::EMPTY), Value::List(Vec::new())] };
    let biases: &[&str] = if w.bias { &["float16", "float32"] } else { &[""] };
    let mut all = Vec::new();
    for bias in biases {
        for fixpipe in &fixpipes {
            for out in [Value::List(Vec::new()), list([0])] {
                all.push(forward_with(w, relu, bias, fixpipe, &out));
            }
        }
    }
    all
}

fn forward_with(w: &Conv, relu: bool, bias_dtype: &str, fixpipe: &Value, out: &Value) -> Dict {
    let number = |n: u64| Value::from(n);
    let minus_one = || Value::Integer("-1".into());
    let [ci1, co1] = blocks_of(w);
    let [top, bottom, left, right] = w.pads;
    let fusion = match (relu, w.bias) {
        (false, false) => "1",
        (false, true) => "1_9_2_2",
        (true, false) => "80_fixpipe_1",
        (true, true) => "80_fixpipe_1_9_2_2",
    };
    let special = [
        ("use_c04_mode", number(0)),
        ("input_nd_flag", Value::Bool(false)),
        ("scalar_num", number(0)),
        ("high_performance_mode", Value::Bool(false)),
        ("high_precision_mode", Value::Bool(true)),
        ("l0a_dma_flag", Value::Bool(false)),
        ("4To2_structured_sparsity", Value::Bool(false)),
    ];
    let fields = [
        ("fm_shape", list([w.batch, ci1, w.hi, w.wi, C0])),
        ("filter_shape", list([co1 * C0, ci1, w.kh, w.kw, C0])),
        ("fm_dtype", asked(w.dtype)),
        ("filter_dtype", asked(w.dtype)),
        ("mad_dtype", Value::from("float32")),
        ("result_shape", list([w.batch, co1, w.ho, w.wo, C0])),
        ("result_dtype", asked(w.out_dtype)),
        ("output_num", number(1)),
        ("pad", list([left, right, top, bottom])),
        ("stride", list(w.stride)),
        ("dilation", list(w.dilation)),
        ("group", number(w.groups.max(1))),
        ("bias_flag", Value::Bool(w.bias)),
        ("bias_dtype", Value::from(bias_dtype)),
        ("pooling_shape", list([0, 0])),
        ("pooling_stride", list([0, 0])),
        ("l1_fusion_type", minus_one()),
        ("fusion_type", Value::from(fusion)),
        ("reserved_ub", number(0)),
        ("fused_channel_wise", list([0, 0, 0])),
        ("in_fm_memory_type", list([0])),
        ("out_fm_memory_type", out.clone()),
        ("out_c_memory_type", Value::List(vec![Value::from("OUT")])),
        ("fixpipe_fused_type", fixpipe.clone()),
        ("fm_l1_valid_size", minus_one()),
        ("fused_coefficient", list([0, 0, 0])),
        ("fixpipe_fused_coefficient", list([0, 0])),
        ("special_mode", Value::Dict(special.into_iter().collect())),
    ];
    fields.into_iter().collect()
}

/// What the two backward kernels have in common, up to `fused_double_operand_num`.
struct Backward {
    op_type: &'static str,
    shapes: [Value; 3],
    types: [Value; 2],
    pads: [u64; 4],
    stride: [u64; 2],
    expand: [u64; 2],
    dilation: [u64; 2],
    groups: u64,
}

impl Backward {
    fn info(self) -> Dict {
        let number = |n: u64| Value::from(n);
        let ([a, b, c], [operand, result], [top, bottom, left, right]) = (self.shapes, self.types, self.pads);
        let fields = [
            ("op_type", Value::from(self.op_type)),
            ("A_shape", a),
            ("B_shape", b),
            ("C_shape", c),
            ("A_dtype", operand.clone()),
            ("B_dtype", operand),
            ("C_dtype", result),
            ("mad_dtype", Value::from("float32")),
            ("padl", number(left)),
            ("padr", number(right)),
            ("padu", number(top)),
            ("padd", number(bottom)),
            ("strideH", number(self.stride[0])),
            ("strideW", number(self.stride[1])),
            ("strideH_expand", number(self.expand[0])),
            ("strideW_expand", number(self.expand[1])),
            ("dilationH", number(self.dilation[0])),
            ("dilationW", number(self.dilation[1])),
            ("group", number(self.groups)),
            ("bias_flag", number(0)),
            ("fused_double_operand_num", number(0)),
        ];
        fields.into_iter().collect()
    }
}

fn backprop_input(w: &Conv) -> Vec<Dict> {
    let [ci1, co1] = blocks_of(w);
    let with = |c: Value, pads: [u64; 4]| {
        let backward = Backward {
            op_type: "conv2d_backprop_input",
            shapes: [list([w.batch, co1, w.ho, w.wo, C0]), list([co1 * C0, ci1, w.kh, w.kw, C0]), c],
            types: [asked(w.dtype), asked(w.out_dtype)],
            pads,
            stride: [1, 1],
            expand: w.stride,
            dilation: w.dilation,
            groups: w.groups.max(1),
        };
        let mut info = backward.info();
        for name in ["in_fm_memory_type", "out_fm_memory_type"] {
            info.set(name, list([0]));
        }
        info.set("l1_fusion_type", Value::Integer("-1".into()));
        info.set("fusion_type", Value::from(1));
        info
    };
    let mut all = vec![with(list([w.batch, ci1, w.hi, w.wi, C0]), w.pads)];
    // The schedule of stride 1 asks without result and pads, in the branch that is known.
    if w.stride == [1, 1] {
        all.push(with(list([0; 4]), [0; 4]));
    }
    all
}

fn backprop_filter(w: &Conv) -> Dict {
    let [ci1, co1] = blocks_of(w);
    let backward = Backward {
        op_type: "conv2d_backprop_filter",
        shapes: [
            list([w.batch, co1, w.ho, w.wo, C0]),
            list([w.batch, ci1, w.hi, w.wi, C0]),
            list([co1 * C0, ci1, w.kh, w.kw, C0]),
        ],
        types: [asked(w.dtype), asked(w.out_dtype)],
        pads: w.pads,
        stride: w.stride,
        expand: [1, 1],
        dilation: w.dilation,
        groups: w.groups.max(1),
    };
    let mut info = backward.info();
    info.set("fusion_type", Value::from(0));
    info
}

/// The work that an `info_dict` stands for, channels in whole blocks. An error names the field that says something
/// else.
pub(super) fn workload(info: &Dict) -> Result<Workload, Reason> {
    if info.get("op_type").is_none() {
        return of_forward(info);
    }
    let [a, b, c] = ["A_shape", "B_shape", "C_shape"].map(|name| sizes::<5>(info, name));
    let pads = ["padu", "padd", "padl", "padr"].map(|name| whole(info, name));
    let [top, bottom, left, right] = pads;
    let pads = [top?, bottom?, left?, right?];
    let of = |names: [&str; 2]| -> Result<[u64; 2], Reason> { Ok([whole(info, names[0])?, whole(info, names[1])?]) };
    let dilation = of(["dilationH", "dilationW"])?;
    let groups = whole(info, "group")?.max(1);
    let all = |blocks: u64| wide(blocks)?.checked_mul(groups).ok_or_else(|| format!("{groups} groups overflow"));
    let common = Conv {
        pads,
        dilation,
        groups,
        dtype: data_type(info, "A_dtype")?,
        out_dtype: data_type(info, "C_dtype")?,
        ..of_blocks()
    };
    let [batch, co1, ho, wo, _] = a?;
    let conv = match text(info, "op_type")? {
        "conv2d_backprop_input" => {
            let ([_, ci1, kh, kw, _], [_, _, hi, wi, _]) = (b?, c?);
            let (kind, stride) = (ConvKind::BackpropInput, of(["strideH_expand", "strideW_expand"])?);
            Conv { kind, batch, cin: all(ci1)?, hi, wi, cout: all(co1)?, ho, wo, kh, kw, stride, ..common }
        }
        "conv2d_backprop_filter" => {
            let ([_, ci1, hi, wi, _], [_, _, kh, kw, _]) = (b?, c?);
            let (kind, stride) = (ConvKind::BackpropFilter, of(["strideH", "strideW"])?);
            Conv { kind, batch, cin: all(ci1)?, hi, wi, cout: all(co1)?, ho, wo, kh, kw, stride, ..common }
        }
        other => return Err(format!("`op_type` = {other} is not understood")),
    };
    check(&conv).map(|()| Workload::Conv(conv))
}

fn of_forward(info: &Dict) -> Result<Workload, Reason> {
    let [batch, ci1, hi, wi, _] = sizes(info, "fm_shape")?;
    let [_, _, kh, kw, _] = sizes(info, "filter_shape")?;
    let [_, co1, ho, wo, _] = sizes(info, "result_shape")?;
    let [left, right, top, bottom] = sizes(info, "pad")?;
    let bias = match info.get("bias_flag") {
        Some(Value::Bool(bias)) => *bias,
        other => return Err(wrong("bias_flag", other)),
    };
    let groups = whole(info, "group")?.max(1);
    let all = |blocks: u64| wide(blocks)?.checked_mul(groups).ok_or_else(|| format!("{groups} groups overflow"));
    let conv = Conv {
        batch,
        groups,
        cin: all(ci1)?,
        hi,
        wi,
        cout: all(co1)?,
        ho,
        wo,
        kh,
        kw,
        stride: sizes(info, "stride")?,
        pads: [top, bottom, left, right],
        dilation: sizes(info, "dilation")?,
        dtype: data_type(info, "fm_dtype")?,
        out_dtype: data_type(info, "result_dtype")?,
        bias,
        ..of_blocks()
    };
    check(&conv)?;
    match text(info, "fusion_type")? {
        "1" | "1_9_2_2" => Ok(Workload::Conv(conv)),
        "80_fixpipe_1" | "80_fixpipe_1_9_2_2" if is_relu(info) => Ok(with_relu(conv)),
        other => Err(format!("`fusion_type` = {other}: what is fused is not understood")),
    }
}

fn is_relu(info: &Dict) -> bool {
    let unit = info.get("fixpipe_fused_type").and_then(Value::as_list).and_then(|units| units.first()?.as_dict());
    unit.and_then(|unit| unit.get("pre_act")?.as_str()) == Some("NORMAL_RELU")
}

/// A convolution whose result is activated on its way out, as subgraph tuning has it.
fn with_relu(conv: Conv) -> Workload {
    let sizes = [conv.batch, conv.cout, conv.ho, conv.wo];
    let operand = Operand::new(sizes, conv.out_dtype);
    let relu = Vector { op_type: "Relu".into(), inputs: vec![operand.clone()], outputs: vec![operand] };
    Workload::Fused(vec![Workload::Conv(conv), Workload::Vector(relu)])
}

fn wide(blocks: u64) -> Result<u64, Reason> {
    blocks.checked_mul(C0).ok_or_else(|| format!("{blocks} blocks of channels overflow"))
}

/// What all convolutions that TBE is asked for have alike; the rest is overwritten.
fn of_blocks() -> Conv {
    Conv { format: Format::Nc1hwc0, ..Conv::image(ConvKind::Forward, 1, [1, 1], 1, 1) }
}
