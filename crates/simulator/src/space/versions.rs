//! A space that comes to hold other tilings gets another version ([`version`]): what a list of workloads had when their
//! versions were written stands in `versions.txt`, as one number a workload and part.
//!
//! `AOE_WRITE_VERSIONS=1 cargo test -p aoe-simulator versions` writes the list anew, once the versions are raised.

use super::drawn::{self, Digest};
use super::{OperatorSpace, version};
use crate::soc::Soc;
use crate::workload::{Conv, ConvKind, Depth, MatMul, MatMulKernel, Operand, Reduce, Schedule, Vector, Workload};
use aoe_graph::{DataType, Format};
use aoe_search::Domain;
use std::fmt::Write as _;

const WRITTEN: &str = include_str!("versions.txt");
/// One part of each architecture.
const PARTS: [&str; 4] = ["Ascend910A", "Ascend310P3", "Ascend910B2", "Ascend950PR_9589"];
/// Configurations that are tried of each space, whatever they are, and that are found legal.
const TRIED: usize = 300;
const WALKED: usize = 40;
/// Drawn products, each on one part; of other kinds there are fewer.
const DRAWN: usize = 320;

/// Products, plain and batched, of both kernels.
fn products() -> Vec<MatMul> {
    let wide = MatMul { trans_b: true, bias: true, ..MatMul::new(384, 4096, 6144) };
    let tbe = MatMul { kernel: MatMulKernel::Tbe, ..MatMul::new(1000, 768, 3072) };
    vec![
        MatMul::new(1024, 1024, 1024),
        MatMul::new(16, 7168, 512),
        MatMul { dtype: DataType::Bfloat16, b_format: Format::FractalNz, ..wide.clone() },
        wide,
        MatMul { dtype: DataType::Float, out_dtype: DataType::Float, trans_a: true, ..MatMul::new(200, 333, 77) },
        MatMul { dtype: DataType::Int8, trans_b: true, b_format: Format::FractalNz, ..MatMul::new(128, 5120, 1536) },
        MatMul { batch: 12, ..MatMul::new(128, 64, 128) },
        MatMul { batch: 3, trans_b: true, ..MatMul::new(512, 2048, 40) },
        // Each turns on a rule of its own: L2 tiles, a split k, operands that stay, batches of one block.
        MatMul::new(8192, 8192, 8192),
        MatMul { trans_a: true, ..MatMul::new(48, 7168, 64) },
        MatMul { trans_b: true, ..MatMul::new(5000, 192, 130) },
        MatMul { out_dtype: DataType::Float, ..MatMul::new(320, 12_288, 320) },
        MatMul { batch: 40, a_shared: true, ..MatMul::new(64, 512, 512) },
        MatMul { batch: 7, b_shared: true, ..MatMul::new(1000, 96, 64) },
        MatMul { batch: 2, trans_a: true, ..MatMul::new(2048, 128, 2048) },
        MatMul { batch: 96, ..tbe.clone() },
        MatMul { a_format: Format::FractalNz, b_format: Format::FractalNz, ..tbe.clone() },
        tbe,
    ]
}

/// Convolutions of all kinds, of groups, and of a volume.
fn convolutions() -> Vec<Conv> {
    let image =
        |kind, channels, side, taps| Conv { format: Format::Nc1hwc0, ..Conv::image(kind, 2, channels, side, taps) };
    let wide = image(ConvKind::Forward, [256, 512], 28, 3);
    let volume = Conv {
        batch: 2 * 8,
        cin: 64 * 3,
        format: Format::Ndc1hwc0,
        depth: Some(Depth { input: 8, output: 8, kernel: 3, stride: 1, pads: [1, 1], dilation: 1 }),
        ..image(ConvKind::Forward, [64, 128], 28, 3)
    };
    vec![
        Conv { bias: true, ..image(ConvKind::Forward, [64, 64], 56, 1) },
        Conv { ho: 14, wo: 14, stride: [2, 2], ..wide.clone() },
        Conv { groups: 32, ..wide.clone() },
        Conv { groups: 64, ..image(ConvKind::Forward, [64, 64], 112, 3) },
        Conv { format: Format::Nchw, ..wide },
        image(ConvKind::BackpropInput, [64, 512], 14, 5),
        image(ConvKind::BackpropFilter, [512, 32], 7, 1),
        Conv { groups: 4, cin: 48 * 3, cout: 96, ..volume.clone() },
        Conv { hi: 9, wi: 60, ho: 9, wo: 60, cin: 512 * 3, cout: 40, ..volume.clone() },
        image(ConvKind::BackpropInput, [128, 256], 28, 3),
        image(ConvKind::BackpropFilter, [128, 256], 28, 3),
        volume,
    ]
}

/// Vector kernels of each template.
fn vectors() -> Vec<Workload> {
    let half = |dims: [u64; 3]| Operand::new(dims, DataType::Float16);
    let whole = || half([64, 512, 48]);
    let vector =
        |op_type: &str, other| Vector { op_type: op_type.into(), inputs: vec![whole(), other], outputs: vec![whole()] };
    let reduce = |op_type: &str, [outer, axis, inner]: [u64; 3], left| Reduce {
        op_type: op_type.into(),
        outer,
        axis,
        inner,
        inputs: vec![whole()],
        outputs: vec![half(left)],
    };
    vec![
        Workload::Vector(vector("Add", whole())),
        Workload::Vector(vector("Mul", half([1, 512, 1]))),
        Workload::Vector(vector("Sub", half([64, 1, 48]))),
        Workload::Reduce(reduce("ReduceSum", [1, 64 * 512 * 48, 1], [1, 1, 1])),
        Workload::Reduce(reduce("ReduceMeanD", [64, 512 * 48, 1], [64, 1, 1])),
        Workload::Reduce(reduce("SoftmaxV2", [64 * 512, 48, 1], [64, 512, 48])),
        Workload::Reduce(reduce("ReduceSum", [64, 512, 48], [64, 1, 48])),
        Workload::Reduce(reduce("ReduceMaxD", [1, 64, 512 * 48], [1, 512, 48])),
        Workload::Reduce(reduce("ReduceMeanD", [512, 64 * 48, 1], [1, 512, 1])),
    ]
}

fn workloads() -> Vec<Workload> {
    let relu = || {
        Workload::Vector(Vector {
            op_type: "Relu".into(),
            inputs: vec![Operand::new([1568, 512], DataType::Float16)],
            outputs: vec![Operand::new([1568, 512], DataType::Float16)],
        })
    };
    let alone = products().into_iter().map(Workload::MatMul).chain(convolutions().into_iter().map(Workload::Conv));
    let fused = convolutions().into_iter().take(1).map(|conv| Workload::Fused(vec![Workload::Conv(conv), relu()]));
    alone.chain(vectors()).chain(fused).collect()
}

/// Everything that can be asked of a space, as one number.
fn digest(workload: &Workload, others: &[Workload], soc: &Soc, tried: usize) -> u64 {
    let mut found = Digest::EMPTY;
    let space = match OperatorSpace::new(workload, soc) {
        Ok(space) => space,
        Err(error) => {
            found.add(&error.to_string());
            return found.0;
        }
    };
    for parameter in space.parameters() {
        found.add(&format!("{} {:?}", parameter.name, parameter.values));
    }
    let mut say = |schedule: Option<Schedule>| found.add(&serde_json::to_string(&schedule).unwrap());
    say(Some(space.default_schedule().clone()));
    let mut rng = fastrand::Rng::with_seed(7);
    let mut walked = Vec::new();
    for _ in 0..WALKED {
        walked.extend(space.sample_within(&mut rng, &mut { 2000 }));
    }
    // Next to what is legal lies what is hardly legal, and hardly not.
    for _ in 0..tried {
        let Some(from) = (!walked.is_empty()).then(|| rng.choice(&walked).unwrap()) else { break };
        let mut near = from.clone();
        let at = rng.usize(..near.len());
        near[at] = rng.u32(..space.sizes()[at]);
        say(space.schedule(&near));
        say(space.may_extend(&near[..=at]).then(|| space.default_schedule().clone()));
    }
    for configuration in &walked {
        say(space.schedule(configuration));
    }
    for other in others {
        let Ok(foreign) = OperatorSpace::new(other, soc) else { continue };
        let near = space.nearest(foreign.default_schedule());
        say(near.and_then(|near| space.schedule(&near)));
        say(super::carried_over(foreign.default_schedule(), workload, soc));
    }
    found.0
}

#[test]
fn a_space_holds_what_its_version_says() {
    let workloads = workloads();
    let mut list = String::new();
    for part in PARTS {
        let soc = Soc::find(part).unwrap();
        for workload in &workloads {
            let of_kind: Vec<Workload> =
                workloads.iter().filter(|other| other.op_type() == workload.op_type()).cloned().collect();
            let digest = digest(workload, &of_kind, &soc, TRIED);
            writeln!(list, "{:016x} version {} of {workload} on {part}", digest, version(workload)).unwrap();
        }
    }
    let parts = drawn::parts();
    let drawn = drawn::workloads(DRAWN, 2);
    for (number, workload) in drawn.iter().enumerate() {
        let soc = &parts[number % parts.len()];
        let alike = drawn[..number].iter().rev().filter(|other| other.op_type() == workload.op_type());
        let others: Vec<Workload> = alike.take(2).cloned().collect();
        let (digest, cores) = (digest(workload, &others, soc, TRIED / 4), soc.ai_core_cnt);
        writeln!(list, "{digest:016x} version {} of {workload} on {} cores of {}", version(workload), cores, soc.name)
            .unwrap();
    }
    if std::env::var_os("AOE_WRITE_VERSIONS").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/space/versions.txt");
        std::fs::write(path, &list).unwrap();
        return;
    }
    let differs: Vec<&str> = list.lines().filter(|line| !WRITTEN.lines().any(|written| written == *line)).collect();
    assert!(
        differs.is_empty() && list.lines().count() == WRITTEN.lines().count(),
        "these spaces hold other tilings than when their version was written; raise it and write the list anew: {differs:#?}"
    );
}
