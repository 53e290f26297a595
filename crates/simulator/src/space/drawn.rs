//! Workloads drawn from sizes at which rules of tilings change, the same on every machine, for lists of what was written.

use crate::soc::Soc;
use crate::workload::{Conv, ConvKind, Depth, MatMul, MatMulKernel, Move, Operand, Reduce, Vector, Workload};
use aoe_graph::{DataType, Format};
use fastrand::Rng;

/// Sizes that rules name, and those next to them.
const SIZES: [u64; 40] = [
    1, 15, 16, 17, 32, 48, 63, 64, 65, 96, 127, 128, 129, 192, 255, 256, 257, 272, 384, 511, 512, 513, 640, 768, 1000,
    1024, 1536, 2048, 3072, 4095, 4096, 4097, 5120, 6143, 6144, 7168, 8192, 12_288, 16_384, 27_392,
];
/// Sizes of what is large in one direction.
const LONG: [u64; 12] =
    [9216, 12_287, 12_288, 16_384, 24_576, 27_391, 27_392, 30_000, 65_536, 100_000, 118_272, 1_000_000];

/// FNV-1a, which is the same on every machine and for ever.
pub struct Digest(pub u64);

impl Digest {
    pub const EMPTY: Digest = Digest(0xcbf2_9ce4_8422_2325);

    pub fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([b'\n']) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Parts of each architecture; of some only a number of cores that rules name, or one.
pub fn parts() -> Vec<Soc> {
    let of = |name: &str, cores: Option<u32>| {
        let mut soc = Soc::find(name).unwrap();
        if let Some(cores) = cores {
            soc.limit_cores(cores).unwrap();
        }
        soc
    };
    vec![
        of("Ascend910A", None),
        of("Ascend310P3", None),
        of("Ascend910B2", None),
        of("Ascend910B4", None),
        of("Ascend910_9391", None),
        of("Ascend950PR_9589", None),
        of("Ascend950PR_9589", Some(24)),
        of("Ascend950PR_9589", Some(1)),
        of("Ascend910B2", Some(2)),
    ]
}

fn one<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.usize(..of.len())]
}

fn product(rng: &mut Rng) -> MatMul {
    use DataType::{Bfloat16, Double, Float, Float16, Int8};
    use MatMulKernel::{AscendC, QuantV4, Tbe, Transposed};
    let size = |rng: &mut Rng| if rng.u8(..8) == 0 { one(rng, &LONG) } else { one(rng, &SIZES) };
    let [m, k, n] = [(); 3].map(|()| size(rng));
    let batch = if rng.u8(..5) == 0 { one(rng, &[2, 3, 12, 40, 96, 480]) } else { 1 };
    let dtype = one(rng, &[Float16, Float16, Float16, Bfloat16, Float, Int8, Double]);
    let nz = |rng: &mut Rng| if rng.u8(..4) == 0 { Format::FractalNz } else { Format::Nd };
    MatMul {
        batch,
        dtype,
        out_dtype: if rng.u8(..4) == 0 { Float } else { dtype },
        trans_a: rng.bool(),
        trans_b: rng.bool(),
        bias: rng.u8(..3) == 0,
        a_shared: batch > 1 && rng.u8(..4) == 0,
        a_format: nz(rng),
        b_format: nz(rng),
        kernel: one(rng, &[AscendC, AscendC, AscendC, AscendC, AscendC, Tbe, QuantV4, Transposed]),
        ..MatMul::new(m, k, n)
    }
}

fn convolution(rng: &mut Rng) -> Conv {
    use ConvKind::{BackpropFilter, BackpropInput, Forward};
    let channels = [3, 16, 32, 40, 64, 96, 128, 256, 512, 1024];
    let groups = one(rng, &[1, 1, 1, 1, 2, 4, 32]);
    let (kind, taps) = (one(rng, &[Forward, Forward, BackpropInput, BackpropFilter]), one(rng, &[1, 1, 3, 3, 5, 7]));
    let (side, stride) = (one(rng, &[7u64, 9, 14, 28, 56, 60, 112]), one(rng, &[1, 1, 2]));
    let [cin, cout] = [(); 2].map(|()| one(rng, &channels) * groups);
    let out = side.div_ceil(stride);
    let dtype = one(rng, &[DataType::Float16, DataType::Float16, DataType::Bfloat16, DataType::Float, DataType::Int8]);
    let image = Conv {
        ho: out,
        wo: out,
        stride: [stride; 2],
        groups,
        dtype,
        out_dtype: dtype,
        bias: rng.bool(),
        format: one(rng, &[Format::Nc1hwc0, Format::Nchw, Format::Nhwc]),
        ..Conv::image(kind, one(rng, &[1, 2, 8, 17, 64]), [cin, cout], side, taps)
    };
    if rng.u8(..3) > 0 {
        return image;
    }
    let (planes, kernel) = (one(rng, &[1, 4, 8, 17]), one(rng, &[1, 3]));
    let depth = Depth { input: planes, output: planes, kernel, stride: 1, pads: [kernel / 2; 2], dilation: 1 };
    let dtype = one(rng, &[DataType::Float16, DataType::Bfloat16]);
    Conv {
        kind: Forward,
        batch: image.batch * planes,
        cin: image.cin * kernel,
        groups: 1,
        dtype,
        out_dtype: dtype,
        format: Format::Ndc1hwc0,
        depth: Some(depth),
        ..image
    }
}

fn vector(rng: &mut Rng) -> Workload {
    let dtype = one(rng, &[DataType::Float16, DataType::Bfloat16, DataType::Float, DataType::Int8, DataType::Bool]);
    let [outer, axis, inner] = [one(rng, &SIZES[..32]), one(rng, &SIZES), one(rng, &[1, 1, 2, 16, 48, 64, 130])];
    let x = || Operand::new([outer, axis, inner], dtype);
    let left = || Operand::new([outer, 1, inner], dtype);
    let scale = || Operand::new([axis], dtype);
    let op_type = |name: &str| name.to_owned();
    let reduce = |name: &str, inner, inputs, outputs| {
        let outer = if inner == 1 { outer * x().shape[2] } else { outer };
        Workload::Reduce(Reduce { op_type: op_type(name), outer, axis, inner, inputs, outputs })
    };
    match rng.u8(..12) {
        0 => Workload::Vector(Vector { op_type: op_type("Add"), inputs: vec![x(), x()], outputs: vec![x()] }),
        1 => Workload::Vector(Vector { op_type: op_type("Gelu"), inputs: vec![x()], outputs: vec![x()] }),
        2 => Workload::Vector(Vector { op_type: op_type("Mul"), inputs: vec![x(), scale()], outputs: vec![x()] }),
        3 => Workload::Vector(Vector { op_type: op_type("Relu"), inputs: vec![x()], outputs: vec![x()] }),
        4 => reduce("ReduceSum", inner, vec![x()], vec![left()]),
        5 => reduce("ReduceMeanD", inner, vec![x()], vec![left()]),
        6 => reduce("ReduceMaxD", inner, vec![x()], vec![left()]),
        7 => reduce("SoftmaxV2", 1, vec![x()], vec![x()]),
        8 => {
            // Another scale, or an axis that is not the last one, makes another kernel.
            let (other, inner) = one(rng, &[(0, 1), (0, 1), (0, 1), (1, 1), (0, 2)]);
            let rows = Operand::new([outer, axis], dtype);
            let (inputs, outputs) = (vec![rows.clone(), Operand::new([axis + other], dtype)], vec![rows]);
            Workload::Reduce(Reduce { op_type: op_type("RmsNorm"), outer, axis, inner, inputs, outputs })
        }
        9 => {
            let rows = Operand::new([outer, axis], dtype);
            let (inputs, outputs) = (vec![rows.clone(), rows.clone(), scale(), scale()], vec![rows]);
            Workload::Reduce(Reduce { op_type: op_type("AddLayerNorm"), outer, axis, inner: 1, inputs, outputs })
        }
        kind => {
            let (inputs, outputs) = (vec![x()], vec![Operand::new([outer, inner, axis], dtype)]);
            let name = if kind == 10 { "Transpose" } else { "TransData" };
            Workload::Move(Move { op_type: op_type(name), run_bytes: 32, inputs, outputs })
        }
    }
}

/// So many products, half as many convolutions and vector kernels each, and some fused ones.
pub fn workloads(count: usize, seed: u64) -> Vec<Workload> {
    let mut rng = Rng::with_seed(seed);
    let mut all: Vec<Workload> = (0..count).map(|_| Workload::MatMul(product(&mut rng))).collect();
    all.extend((0..count / 2).map(|_| Workload::Conv(convolution(&mut rng))));
    all.extend((0..count / 2).map(|_| vector(&mut rng)));
    all.extend((0..count / 16).map(|_| {
        let first =
            if rng.bool() { Workload::MatMul(product(&mut rng)) } else { Workload::Conv(convolution(&mut rng)) };
        Workload::Fused(vec![first, vector(&mut rng)])
    }));
    // Larger than whatever is searched, or listed.
    let huge = MatMul::new(1 << 20, 64, 1 << 20);
    all.extend(
        [huge.clone(), MatMul { m: 1 << 35, ..huge.clone() }, MatMul { batch: 1 << 34, ..huge }].map(Workload::MatMul),
    );
    all
}
