//! Convolutions.

use super::CubeShape;
use super::cube::k0;
use crate::rounding::round_up;
use aoe_graph::{DataType, Format};

/// Columns of a block of results.
const FRACTAL: u64 = 16;
/// Channels of a block of `NC1HWC0_C04`, where kernel positions share a block of the cube's.
pub const FEW_CHANNELS: u64 = 4;

/// Which of the three kernels of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConvKind {
    /// y from x and the filter.
    Forward,
    /// dx from dy and the filter (also the transposed convolution).
    BackpropInput,
    /// The filter's gradient from x and dy.
    BackpropFilter,
}

impl ConvKind {
    /// Ascend operator type for images.
    const fn of_images(self) -> &'static str {
        match self {
            ConvKind::Forward => "Conv2D",
            ConvKind::BackpropInput => "Conv2DBackpropInput",
            ConvKind::BackpropFilter => "Conv2DBackpropFilter",
        }
    }

    /// Ascend operator type for volumes.
    const fn of_volumes(self) -> &'static str {
        match self {
            ConvKind::Forward => "Conv3D",
            ConvKind::BackpropInput => "Conv3DBackpropInput",
            ConvKind::BackpropFilter => "Conv3DBackpropFilter",
        }
    }
}

/// The third axis of a convolution of volumes. [`Conv`] counts its planes among the images and its taps among the
/// channels, which is all that the work itself depends on; CANN's key of a volume asks for the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Depth {
    /// Planes of the input.
    pub input: u64,
    /// Planes of the output; [`Conv::batch`] is a multiple of them.
    pub output: u64,
    /// Taps; [`Conv::cin`] is a multiple of them.
    pub kernel: u64,
    /// Stride.
    pub stride: u64,
    /// Padding at head and tail.
    pub pads: [u64; 2],
    /// Dilation.
    pub dilation: u64,
}

/// A convolution of images; sizes are those of the forward pass whatever the kind.
///
/// 1-D convolutions have height 1; 3-D ones fold their depth taps into `cin` and their output depth
/// into `batch`, and say so in `depth`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Conv {
    /// Which kernel.
    pub kind: ConvKind,
    /// Images.
    pub batch: u64,
    /// Input channels, all groups together.
    pub cin: u64,
    /// Input height.
    pub hi: u64,
    /// Input width.
    pub wi: u64,
    /// Output channels, all groups together.
    pub cout: u64,
    /// Output height.
    pub ho: u64,
    /// Output width.
    pub wo: u64,
    /// Kernel height.
    pub kh: u64,
    /// Kernel width.
    pub kw: u64,
    /// Stride along height and width.
    pub stride: [u64; 2],
    /// Padding top, bottom, left, right.
    pub pads: [u64; 4],
    /// Dilation along height and width.
    pub dilation: [u64; 2],
    /// Groups; equal to `cin` for a depthwise convolution.
    pub groups: u64,
    /// Element type of input and filter.
    pub dtype: DataType,
    /// Element type of the output.
    pub out_dtype: DataType,
    /// A bias of `cout` elements is added.
    pub bias: bool,
    /// Layout of the feature map: `NCHW`, `NHWC` or `NC1HWC0`; `NDC1HWC0` of a volume.
    pub format: Format,
    /// fp32 operands may be rounded to HF32.
    pub hf32: bool,
    /// The axis that was folded away; `None` for images.
    pub depth: Option<Depth>,
}

impl Conv {
    /// A convolution of so many square images by square filters at stride 1, which keeps their size: float16, `NCHW`, without
    /// bias. A caller adds what differs: `Conv { bias: true, ..Conv::image(..) }`.
    pub const fn image(kind: ConvKind, batch: u64, [cin, cout]: [u64; 2], side: u64, taps: u64) -> Conv {
        Conv {
            kind,
            batch,
            cin,
            hi: side,
            wi: side,
            cout,
            ho: side,
            wo: side,
            kh: taps,
            kw: taps,
            stride: [1; 2],
            pads: [taps / 2; 4],
            dilation: [1; 2],
            groups: 1,
            dtype: DataType::Float16,
            out_dtype: DataType::Float16,
            bias: false,
            format: Format::Nchw,
            hf32: false,
            depth: None,
        }
    }

    /// Ascend operator type.
    pub const fn op_type(&self) -> &'static str {
        if self.is_volume() { self.kind.of_volumes() } else { self.kind.of_images() }
    }

    /// Whether it convolves volumes, which other operators do than those of images.
    pub const fn is_volume(&self) -> bool {
        self.depth.is_some()
    }

    /// Whether every channel has its own filter.
    pub fn is_depthwise(&self) -> bool {
        self.groups > 1 && self.groups == self.cin
    }

    /// Elements of x and of y in memory; `in_blocks` where the part's kernel reads and writes whole blocks of channels.
    pub fn stored(&self, in_blocks: bool) -> [u64; 2] {
        let depth = self.depth_taps();
        let whole = |channels: u64, block: u64| if in_blocks { round_up(channels, block) } else { channels };
        let of =
            |channels: u64, h: u64, w: u64| self.batch.saturating_mul(channels).saturating_mul(h.saturating_mul(w));
        let x = whole(self.cin / depth, self.block()).saturating_mul(depth);
        [of(x, self.hi, self.wi), of(whole(self.cout, FRACTAL), self.ho, self.wo)]
    }

    /// Taps of the axis that was folded into the channels.
    fn depth_taps(&self) -> u64 {
        self.depth.map_or(1, |depth| depth.kernel).max(1)
    }

    /// Channels of a pixel that lie together.
    fn block(&self) -> u64 {
        if self.format == Format::Nc1hwc0C04 { FEW_CHANNELS } else { k0(self.dtype) }
    }

    /// Elements of the result.
    pub fn results(&self) -> u64 {
        let sizes = match self.kind {
            ConvKind::Forward => [self.batch, self.cout, self.ho, self.wo],
            ConvKind::BackpropInput => [self.batch, self.cin, self.hi, self.wi],
            ConvKind::BackpropFilter => [self.cin / self.groups.max(1), self.cout, self.kh, self.kw],
        };
        sizes.iter().fold(1, |all: u64, &size| all.saturating_mul(size))
    }

    /// Multiply-add operations that are asked for, without what fills blocks.
    pub fn macs(&self) -> u64 {
        let groups = self.groups.max(1);
        let product = |sizes: [u64; 3]| sizes.iter().fold(self.results(), |all, &size| all.saturating_mul(size));
        match self.kind {
            ConvKind::Forward => product([self.cin / groups, self.kh, self.kw]),
            ConvKind::BackpropInput => product([self.cout / groups, self.kh, self.kw]),
            ConvKind::BackpropFilter => product([self.batch, self.ho, self.wo]),
        }
    }

    /// The kernel as cube work: im2col for the forward pass, its transposes for the other two. Channels of the axis that
    /// im2col lays out are in whole blocks, for each kernel position takes a pixel's blocks one after the other: three
    /// channels keep the cube as long as sixteen. Groups are batches; those of less than a block are joined, as many as
    /// fill whole blocks, for a block of channels is multiplied as a whole. Saturates for absurd sizes.
    pub fn cube(&self) -> CubeShape {
        let groups = self.groups.max(1);
        let depth = self.depth_taps();
        let (cin, cout) = (self.cin / groups / depth, self.cout / groups);
        let block = self.block();
        let (inner, outer) = if self.kind == ConvKind::BackpropInput { (cout, cin) } else { (cin, cout) };
        let joined = groups.min(parts(inner, block).max(parts(outer, FRACTAL)));
        let whole = |channels: u64| round_up(channels.saturating_mul(joined), block);
        let product = |a: u64, b: u64, c: u64| a.saturating_mul(b).saturating_mul(c);
        let pixels = product(self.batch, self.ho, self.wo);
        let taps = product(self.kh, self.kw, depth);
        let (m, k, n) = match self.kind {
            ConvKind::Forward => (pixels, whole(cin).saturating_mul(taps), joined.saturating_mul(cout)),
            ConvKind::BackpropInput => (
                product(self.batch, self.hi, self.wi),
                product(whole(cout), self.kh, self.kw),
                product(joined, cin, depth),
            ),
            ConvKind::BackpropFilter => (joined.saturating_mul(cout), pixels, whole(cin).saturating_mul(taps)),
        };
        CubeShape {
            batch: groups.div_ceil(joined),
            m,
            k,
            n,
            dtype: self.dtype,
            out_dtype: self.out_dtype,
            bias: self.bias,
            hf32: self.hf32,
        }
    }
}

/// Fewest groups of so many channels that fill whole blocks.
fn parts(channels: u64, block: u64) -> u64 {
    // Blocks are powers of two, so what they share with a count is its lowest bits.
    block / (channels & channels.wrapping_neg()).clamp(1, block)
}

impl std::fmt::Display for Conv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Conv { batch, cin, hi, wi, cout, kh, kw, stride, groups, .. } = self;
        write!(
            f,
            "{} [{batch},{cin},{hi},{wi}]*[{cout},{kh},{kw}] s{}x{} g{groups} {}",
            self.op_type(),
            stride[0],
            stride[1],
            self.dtype.name()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(kind: ConvKind, cin: u64, cout: u64, groups: u64) -> Conv {
        let image = Conv::image(kind, 2, [cin, cout], 28, 3);
        Conv { ho: 14, wo: 14, stride: [2; 2], groups, ..image }
    }

    fn extents(conv: &Conv) -> [u64; 4] {
        let CubeShape { batch, m, k, n, .. } = conv.cube();
        [batch, m, k, n]
    }

    const ALL: [ConvKind; 3] = [ConvKind::Forward, ConvKind::BackpropInput, ConvKind::BackpropFilter];

    #[test]
    fn a_pixel_of_few_channels_keeps_the_cube_as_long_as_a_block() {
        let of = |cin: u64, kind: ConvKind| extents(&image(kind, cin, 32, 1));
        assert_eq!(of(3, ConvKind::Forward), [1, 2 * 14 * 14, 16 * 9, 32]);
        assert_eq!(of(3, ConvKind::BackpropFilter), [1, 32, 2 * 14 * 14, 16 * 9]);
        // The input's gradient has the result's channels under the window, and x's as columns.
        assert_eq!(extents(&image(ConvKind::BackpropInput, 3, 20, 1)), [1, 2 * 28 * 28, 32 * 9, 3]);
        let few = Conv { format: Format::Nc1hwc0C04, ..image(ConvKind::Forward, 3, 32, 1) };
        assert_eq!(extents(&few), [1, 2 * 14 * 14, 4 * 9, 32]);
        let bytes = Conv { dtype: DataType::Int8, ..image(ConvKind::Forward, 3, 32, 1) };
        assert_eq!(extents(&bytes)[2], 32 * 9);
    }

    #[test]
    fn groups_of_part_of_a_block_are_joined_until_blocks_are_full() {
        let of = |cin: u64, cout: u64, groups: u64| extents(&image(ConvKind::Forward, cin, cout, groups));
        // Depthwise: a block of channels at a time.
        assert_eq!(of(64, 64, 64), [4, 392, 16 * 9, 16]);
        assert_eq!(of(72, 72, 72), [5, 392, 16 * 9, 16]);
        // Two groups of 24 fill three blocks.
        assert_eq!(of(96, 96, 4), [2, 392, 48 * 9, 48]);
        // Whole blocks stay as they are, and no more are joined than there are.
        assert_eq!(of(64, 128, 4), [4, 392, 16 * 9, 32]);
        assert_eq!(of(6, 6, 3), [1, 392, 16 * 9, 6]);
        // Two results of 8 channels each share a block, whatever fills that of x.
        assert_eq!(of(64, 32, 4), [2, 392, 32 * 9, 16]);
    }

    #[test]
    fn the_cube_works_on_all_that_is_asked_of_it() {
        for kind in ALL {
            for (cin, cout, groups) in [(3, 64, 1), (16, 16, 1), (24, 40, 1), (72, 72, 72), (96, 48, 12), (7, 14, 7)] {
                let conv = image(kind, cin, cout, groups);
                let pixels = if kind == ConvKind::BackpropInput { 28 * 28 } else { 14 * 14 };
                assert_eq!(conv.macs(), 2 * pixels * 9 * (cin / groups) * cout, "{conv}");
                let CubeShape { batch, m, k, n, .. } = conv.cube();
                assert!(batch * m * k * n >= conv.macs(), "{conv}");
                assert!(conv.cube().results() >= conv.results(), "{conv}");
            }
        }
    }

    #[test]
    fn absurd_sizes_saturate() {
        for kind in ALL {
            for (cin, cout, groups) in [(u64::MAX, u64::MAX, 1), (0, 0, 0), (u64::MAX, 3, u64::MAX), (1, u64::MAX, 7)] {
                let conv = Conv { hi: u64::MAX, ..image(kind, cin, cout, groups) };
                let _ = (conv.cube(), conv.results(), conv.stored(true), conv.stored(false));
            }
        }
    }
}
