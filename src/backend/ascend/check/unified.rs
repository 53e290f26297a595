//! Whether TBE finds our records in its unified bank: the names and fields of some are inferred.

use super::machine::Machine;
use super::{Step, Verdict};
use crate::backend::ascend::atc;
use crate::backend::ascend::backend::Refused;
use crate::backend::ascend::bank_hits::Compiled;
use crate::graph::{Attr, Constant, DataType, Format, Graph, Node, Port, Shape, TensorDesc};
use crate::soc::Arch;
use crate::status::{Error, Result};
use crate::tiling::tbe;
use crate::workload::tbe::TbeTiling;
use crate::workload::{
    Buffers, Conv, ConvKind, Cores, L0Tile, L1Tile, MatMul, MatMulKernel, Operand, Panel, Schedule, Vector, Workload,
};
use serde_json::json;

/// A kernel that TBE compiles, and a tiling for its record.
pub(super) struct Trial {
    workload: Workload,
    schedule: Schedule,
    /// The graph of which it is fused; none where it is an operator by itself.
    graph: Option<Graph>,
}

/// Makes a trial; why there is none.
pub(super) type Make = fn() -> std::result::Result<Trial, String>;

/// The names of the steps, and what each tries: the operators that ask the bank, and what is fused into one.
pub(super) const TRIALS: [(&str, Make); 6] = [
    ("unified bank", || product(1)),
    ("unified bank of BatchMatMulV2", || product(4)),
    ("unified bank of Conv2D", forward),
    ("unified bank of Conv2D with Relu", activated),
    ("unified bank of Conv2DBackpropInput", || {
        convolution(ConvKind::BackpropInput, &Extent { n: 64, l1_k: 576, l0_k: 144, tiles: 1 })
    }),
    // Pixels are its terms, 49 by 64 of them; three tiles of columns hold whole kernels.
    ("unified bank of Conv2DBackpropFilter", || {
        convolution(ConvKind::BackpropFilter, &Extent { n: 48, l1_k: 448, l0_k: 64, tiles: 3 })
    }),
];

/// What of the right operand a tiling holds.
struct Extent {
    /// Columns in L0.
    n: u32,
    /// Terms in L1, and in L0: whole kernels of a block of channels of a convolution.
    l1_k: u32,
    l0_k: u32,
    /// Tiles of columns in L1.
    tiles: u32,
}

/// A tiling on one core.
fn on_one_core(extent: &Extent) -> TbeTiling {
    let Extent { n, l1_k, l0_k, tiles } = *extent;
    let panel = |tiles| L1Tile::Panel(Panel { k: l1_k, tiles, batch: 1 });
    TbeTiling {
        cores: Cores { batch: 1, m: 1, n: 1, k: 1 },
        l1_a: panel(1),
        l1_b: panel(tiles),
        l0: L0Tile { m: 64, n, k_a: l0_k, k_b: l0_k },
        buffers: Buffers { l1_a: 2, l1_b: 2, l0_a: 2, l0_b: 2, l0_c: 1 },
    }
}

fn product(batch: u64) -> std::result::Result<Trial, String> {
    let product = MatMul { kernel: MatMulKernel::Tbe, batch, ..MatMul::new(512, 1024, 768) };
    let tiling = on_one_core(&Extent { n: 64, l1_k: 256, l0_k: 64, tiles: 1 });
    let schedule = Schedule::Cube(tiling.schedule(&product.cube())?);
    Ok(Trial { workload: Workload::MatMul(product), schedule, graph: None })
}

fn forward() -> std::result::Result<Trial, String> {
    convolution(ConvKind::Forward, &Extent { n: 64, l1_k: 576, l0_k: 144, tiles: 1 })
}

/// A convolution as it stands in ResNet-50, the forward pass with a bias; or a gradient of it.
fn convolution(kind: ConvKind, extent: &Extent) -> std::result::Result<Trial, String> {
    let is_filter = kind == ConvKind::BackpropFilter;
    let convolution = Conv {
        out_dtype: if is_filter { DataType::Float } else { DataType::Float16 },
        bias: kind == ConvKind::Forward,
        format: Format::Nc1hwc0,
        ..Conv::image(kind, 1, [64, 128], 56, 3)
    };
    let schedule = Schedule::Cube(tbe::conv2d::schedule(&on_one_core(extent), &convolution)?);
    Ok(Trial { workload: Workload::Conv(convolution), schedule, graph: None })
}

/// The forward pass with its result activated on the way out, which the graph compiler fuses into it.
fn activated() -> std::result::Result<Trial, String> {
    let Trial { workload, schedule, .. } = forward()?;
    let Workload::Conv(w) = &workload else { return Err(format!("{workload} is no convolution")) };
    let graph = network(w).map_err(|error| error.to_string())?;
    let result = Operand::new([w.batch, w.cout, w.ho, w.wo], w.out_dtype);
    let relu = Vector { op_type: "Relu".into(), inputs: vec![result.clone()], outputs: vec![result] };
    let workload = Workload::Fused(vec![workload, Workload::Vector(relu)]);
    Ok(Trial { workload, schedule, graph: Some(graph) })
}

/// A network of a convolution with bias and a Relu.
fn network(w: &Conv) -> Result<Graph> {
    let sizes = |shape: [u64; 4]| shape.map(|size| size as i64).to_vec();
    let described = |shape: Vec<i64>, format| TensorDesc { format, ..TensorDesc::new(w.dtype, Shape::new(shape)) };
    let image = |channels, height, width| described(sizes([w.batch, channels, height, width]), Format::Nchw);
    let zeros = |count: u64| Constant::Floats(vec![0.0; count as usize]);
    let mut graph = Graph::new("activated");
    let x = graph.add_input("x", image(w.cin, w.hi, w.wi))?;
    let filter = described(sizes([w.cout, w.cin, w.kh, w.kw]), Format::Nchw);
    let filter = graph.add_const("filter", filter, zeros(w.cout * w.cin * w.kh * w.kw))?;
    let bias = graph.add_const("bias", described(vec![w.cout as i64], Format::Nd), zeros(w.cout))?;
    let mut node = Node::new("convolution", w.op_type()).with_inputs([x, filter, bias]);
    for (name, value) in [
        ("strides", sizes([1, 1, w.stride[0], w.stride[1]])),
        ("pads", sizes(w.pads)),
        ("dilations", sizes([1, 1, w.dilation[0], w.dilation[1]])),
    ] {
        node.attrs.set(name, Attr::Ints(value));
    }
    node.attrs.set("groups", Attr::Int(1));
    node.attrs.set("data_format", Attr::Str(Format::Nchw.name().to_owned()));
    let y = image(w.cout, w.ho, w.wo);
    let y_of_convolution = Port::first(graph.add(node.with_outputs(vec![y.clone()]))?);
    let relu = graph.add(Node::new("relu", "Relu").with_inputs([y_of_convolution]).with_outputs(vec![y]))?;
    graph.add_output(Port::first(relu));
    Ok(graph)
}

/// Has a kernel compiled with a bank that holds a record for it.
pub(super) fn step(machine: &Machine<'_>, name: &str, make: Make) -> Result<Step> {
    let not_possible = |reason: String, advice: &str| Ok(Step::new(name, Verdict::NotPossible, reason, advice));
    if !matches!(machine.soc.arch, Arch::C220 | Arch::M300) {
        return not_possible(format!("on {} TBE asks no unified bank", machine.soc.name), "");
    }
    let Trial { workload, schedule, graph } = match make() {
        Ok(trial) => trial,
        Err(reason) => return not_possible(reason, ""),
    };
    let op_type = workload.op_type();
    let by_hand = format!("compile a {op_type} with op_debug_level 3 and look for KBHit in kernel_meta/*.json by hand");
    let atc = graph.as_ref().map(|graph| (graph, atc::find(machine.env)));
    let compiled = match &atc {
        None => Compiled::Alone,
        Some((graph, Some(program))) => Compiled::Within(graph, program),
        Some((_, None)) => return not_possible("no atc below the installed CANN".to_owned(), &by_hand),
    };
    let advice = format!(
        "TBE compiles {op_type} without our records: send the report, with a kernel_meta folder of a build (op_debug_level 3)"
    );
    let ascend = machine.ascend;
    let hits = match ascend.bank_hits(&workload, Some(&schedule), &compiled) {
        Ok(hits) => hits,
        Err(Refused::Cancelled) => return Err(Error::Cancelled),
        Err(Refused::Ended(reason)) => return not_possible(format!("{workload}: {reason}"), &by_hand),
        // Is it the record, or does it compile in no case?
        Err(Refused::Failed(reason)) => match ascend.bank_hits(&workload, None, &compiled) {
            Ok(_) => {
                let said = format!("{workload} is compiled without our record, and not with it: {reason}");
                return Ok(Step::new(name, Verdict::Failed, said, &advice));
            }
            Err(Refused::Cancelled) => return Err(Error::Cancelled),
            Err(_) => return not_possible(format!("{workload}: {reason}"), &by_hand),
        },
    };
    let (verdict, said, advice) = if hits.contains(&true) {
        (Verdict::Passed, "was compiled with our record (KBHit)", "")
    } else if hits.is_empty() {
        (Verdict::NotPossible, "was compiled, and no JSON beside the kernel has KBHit", by_hand.as_str())
    } else {
        (Verdict::Failed, "was compiled without our record", advice.as_str())
    };
    Ok(Step::new(name, verdict, format!("{workload} {said}"), advice).with(&json!({ "kb_hit": hits })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soc::Soc;

    #[test]
    fn the_record_of_each_trial_can_be_written_wherever_tbe_asks() {
        for soc in ["Ascend910B2", "Ascend910_9391", "Ascend310B1"] {
            let soc = Soc::find(soc).unwrap();
            for (name, make) in TRIALS {
                let Trial { workload, schedule, .. } = make().unwrap_or_else(|e| panic!("{name}: {e}"));
                let writable = crate::bank::Writable::of(&workload, &soc);
                assert!(writable.is_read_when_compiled(), "{name} on {}", soc.name);
                writable.check(&schedule).unwrap_or_else(|e| panic!("{name} on {}: {e}", soc.name));
            }
        }
    }

    #[test]
    fn the_network_has_the_work_of_its_record_in_it() {
        let Trial { workload, graph, .. } = activated().unwrap();
        let soc = Soc::find("Ascend910B2").unwrap();
        let (_, lowered) =
            crate::lower::with_conversions(graph.unwrap(), &soc, &crate::lower::Settings::default()).unwrap();
        let work: Vec<_> = lowered.launched().map(|kernel| kernel.workload.clone()).collect();
        let convolution = work.iter().position(|work| *work == workload.parts()[0]);
        assert_eq!(work[convolution.unwrap_or_else(|| panic!("{work:?}")) + 1].op_type(), "Relu");
    }
}
