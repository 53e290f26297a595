//! An operand of an operator as it lies in memory.

use crate::graph::{DataType, Format};
use serde::{Deserialize, Serialize};

/// Rows of a fractal.
const ROWS: u64 = 16;

/// One operand. A matrix is described as it is stored; what a transposition makes of it is said beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tensor {
    /// Element type: int32 of a `constant`, else one of the floats of [`Tensor::encode`].
    pub dtype: DataType,
    /// Sizes as the operator's framework has them: of matrices, with a stack of them in front where there are several; of
    /// volumes and their filters in NCDHW, of images in NCHW.
    pub shape: Vec<u64>,
    /// Layout in memory: ND or `FRACTAL_NZ` of matrices, `NDC1HWC0` and `FRACTAL_Z_3D` of volumes, `NC1HWC0` and `FRACTAL_Z`
    /// of images.
    pub format: Format,
    /// Whether the operator reads it with its two axes exchanged.
    pub transposed: bool,
    /// The axis of a matrix along which the elements vary, and the least of their exponents; `None` for a result. The
    /// elements of volumes vary from pixel to pixel, those of filters from one to the next.
    pub fill: Option<(usize, i32)>,
    /// Values of an operand that the compiler has to know: the sizes of a result.
    #[serde(default)]
    pub constant: Option<Vec<i32>>,
}

/// Elements are 1 or 2, times a power of two, by their place along one axis: a tile that lands in the wrong
/// place shows.
pub fn pattern(index: u64) -> i32 {
    i32::from(index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 63 == 1)
}

impl Tensor {
    /// The format in which the operator's framework has it.
    pub fn origin_format(&self) -> Format {
        match self.format {
            Format::Ndc1hwc0 | Format::FractalZ3d => Format::Ncdhw,
            Format::Nc1hwc0 | Format::FractalZ => Format::Nchw,
            _ => Format::Nd,
        }
    }

    /// Sizes as they lie in memory.
    pub fn stored_shape(&self) -> Vec<u64> {
        let c0 = self.block();
        match (self.format, self.shape.as_slice()) {
            (Format::FractalNz, [stack @ .., rows, columns]) => {
                [stack, &[columns.div_ceil(c0), rows.div_ceil(ROWS), ROWS, c0]].concat()
            }
            (Format::Ndc1hwc0, &[images, channels, d, h, w]) => vec![images, d, channels.div_ceil(c0), h, w, c0],
            (Format::FractalZ3d, &[filters, channels, d, h, w]) => {
                let taps = [d, channels.div_ceil(c0), h, w].into_iter().fold(1, u64::saturating_mul);
                vec![taps, filters.div_ceil(ROWS), ROWS, c0]
            }
            (Format::Nc1hwc0, &[images, channels, h, w]) => vec![images, channels.div_ceil(c0), h, w, c0],
            (Format::FractalZ, &[filters, channels, h, w]) => {
                let taps = [channels.div_ceil(c0), h, w].into_iter().fold(1, u64::saturating_mul);
                vec![taps, filters.div_ceil(ROWS), ROWS, c0]
            }
            _ => self.shape.clone(),
        }
    }

    /// Size in memory.
    pub fn bytes(&self) -> u64 {
        self.stored_shape().iter().fold(self.dtype.bytes(), |n, &d| n.saturating_mul(d))
    }

    /// Elements of 32 bytes. The gradient of a filter, of float32, lies in blocks as the filter does.
    fn block(&self) -> u64 {
        if self.format == Format::FractalZ { ROWS } else { 32 / self.dtype.bytes().max(1) }
    }

    /// The content that `constant` or `fill` describes.
    pub fn content(&self) -> Vec<u8> {
        if let Some(values) = &self.constant {
            return values.iter().flat_map(|value| value.to_le_bytes()).collect();
        }
        let Some((axis, exponent)) = self.fill else { return Vec::new() };
        if let Some(volume) = self.as_volume() {
            return volume.content();
        }
        let size = self.dtype.bytes() as usize;
        let value = |index: u64| self.encode(exponent + pattern(index))[..size].to_vec();
        match (self.format, self.shape.as_slice()) {
            (Format::Ndc1hwc0, &[images, channels, d, h, w]) => {
                let [blocks, c0] = [channels.div_ceil(self.block()), self.block()];
                let (plane, mut content) = (h * w, Vec::with_capacity(self.bytes() as usize));
                for (place, block) in (0..images * d).flat_map(|place| (0..blocks).map(move |block| (place, block))) {
                    let lanes = (channels - block * c0).min(c0) as usize;
                    for pixel in place * plane..(place + 1) * plane {
                        content.extend(value(pixel).repeat(lanes));
                        content.resize(content.len() + (c0 as usize - lanes) * size, 0);
                    }
                }
                content
            }
            (Format::FractalZ3d, &[filters, channels, d, h, w]) => {
                let (c0, blocks) = (self.block(), channels.div_ceil(self.block()));
                // All taps and depths of one block of channels hold the same.
                let block_of = |block: u64| {
                    let lanes = (channels - block * c0).min(c0) as usize;
                    let mut content = Vec::new();
                    for filter in 0..filters.next_multiple_of(ROWS) {
                        let lanes = if filter < filters { lanes } else { 0 };
                        content.extend(value(filter).repeat(lanes));
                        content.resize(content.len() + (c0 as usize - lanes) * size, 0);
                    }
                    content.repeat((h * w) as usize)
                };
                (0..blocks).map(block_of).collect::<Vec<_>>().concat().repeat(d as usize)
            }
            (_, [stack @ .., rows, columns]) => {
                let varying = if axis == 0 { *rows } else { *columns };
                let matrices = 0..stack.iter().product::<u64>();
                // Copied whole: byte by byte, a large operand takes seconds without optimisation.
                let matrix = |at: u64| self.matrix([*rows, *columns], axis, at * varying, &value);
                matrices.map(matrix).collect::<Vec<_>>().concat()
            }
            (_, shape) => (0..shape.iter().product()).flat_map(value).collect(),
        }
    }

    /// An image or its filter as the volume of one plane that lies alike.
    fn as_volume(&self) -> Option<Tensor> {
        let format = match self.format {
            Format::Nc1hwc0 => Format::Ndc1hwc0,
            Format::FractalZ => Format::FractalZ3d,
            _ => return None,
        };
        let mut shape = self.shape.clone();
        shape.insert(2.min(shape.len()), 1);
        Some(Tensor { shape, format, ..self.clone() })
    }

    /// The content of one matrix whose elements vary along an axis, from some place of the pattern on.
    fn matrix(&self, [rows, columns]: [u64; 2], axis: usize, first: u64, value: &dyn Fn(u64) -> Vec<u8>) -> Vec<u8> {
        let size = self.dtype.bytes() as usize;
        // The values along the axis: all others are the same.
        let line: Vec<u8> = (first..first + if axis == 0 { rows } else { columns }).flat_map(value).collect();
        if self.format != Format::FractalNz {
            return match axis {
                0 => line.chunks_exact(size).map(|value| value.repeat(columns as usize)).collect::<Vec<_>>().concat(),
                _ => line.repeat(rows as usize),
            };
        }
        let (c0, height) = (self.block(), rows.next_multiple_of(ROWS));
        let mut content = vec![0; (columns.next_multiple_of(c0) * height) as usize * size];
        for row in 0..rows {
            for column in 0..columns {
                let place = (column / c0 * height + row) * c0 + column % c0;
                let (at, from) = (place as usize * size, (if axis == 0 { row } else { column }) as usize * size);
                content[at..at + size].copy_from_slice(&line[from..from + size]);
            }
        }
        content
    }

    /// Two to a power, in the first bytes. The types are those of cube work that CANN's bank knows.
    fn encode(&self, exponent: i32) -> [u8; 4] {
        let bits = match self.dtype {
            DataType::Float16 => ((exponent + 15) as u32) << 10,
            DataType::Bfloat16 => ((exponent + 127) as u32) << 7,
            _ => ((exponent + 127) as u32) << 23,
        };
        bits.to_le_bytes()
    }

    /// Elements as numbers.
    pub fn decode(&self, content: &[u8]) -> Vec<f64> {
        let half = |pair: &[u8]| u16::from_le_bytes([pair[0], pair[1]]);
        match self.dtype {
            DataType::Float16 => content.chunks_exact(2).map(|pair| from_float16(half(pair))).collect(),
            DataType::Bfloat16 => {
                content.chunks_exact(2).map(|pair| f64::from(f32::from_bits(u32::from(half(pair)) << 16))).collect()
            }
            _ => content.chunks_exact(4).map(|w| f64::from(f32::from_le_bytes([w[0], w[1], w[2], w[3]]))).collect(),
        }
    }
}

pub(super) fn from_float16(bits: u16) -> f64 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + mantissa / 1024.0) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -size } else { size }
}
