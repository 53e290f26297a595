//! Convolutions.

use super::CubeShape;
use aoe_graph::{DataType, Format};

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

    /// The kernel as cube work: im2col for the forward pass, its transposes for the other two. Groups
    /// are batches. Saturates for absurd sizes.
    pub fn cube(&self) -> CubeShape {
        let groups = self.groups.max(1);
        let (cin, cout) = (self.cin / groups, self.cout / groups);
        let product = |a: u64, b: u64, c: u64| a.saturating_mul(b).saturating_mul(c);
        let pixels = product(self.batch, self.ho, self.wo);
        let (m, k, n) = match self.kind {
            ConvKind::Forward => (pixels, product(cin, self.kh, self.kw), cout),
            ConvKind::BackpropInput => (product(self.batch, self.hi, self.wi), product(cout, self.kh, self.kw), cin),
            ConvKind::BackpropFilter => (cout, pixels, product(cin, self.kh, self.kw)),
        };
        CubeShape {
            batch: groups,
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
