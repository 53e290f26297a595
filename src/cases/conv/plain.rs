//! Convolutions whose operands lie as networks have them: maps in NCHW or NHWC, the filter in NCHW, HWCN or NHWC.

use super::window::{Sizes, Stated};
use super::{ConvKind, Kernel};
use crate::cases::kernel::is_absent;
use crate::graph::Format;
use crate::status::Result;
use crate::workload::{Conv, Operand};
use serde_json::{Map, Value};

/// The operands of a forward pass: x, the filter, y.
pub(super) struct Operands<'a> {
    x: &'a Operand,
    filter: &'a Operand,
    y: &'a Operand,
}

/// A feature map.
struct Image {
    batch: u64,
    channels: u64,
    size: [u64; 2],
}

/// Places of height and width in a plain format; `None` for another format.
fn axes(format: Format) -> Option<[usize; 2]> {
    match format {
        Format::Nchw => Some([2, 3]),
        Format::Nhwc => Some([1, 2]),
        Format::Hwcn => Some([0, 1]),
        _ => None,
    }
}

fn is_plain(o: &Operand) -> bool {
    o.shape.len() == 4 && axes(o.format).is_some()
}

fn image(o: &Operand) -> Option<Image> {
    match (o.format, o.shape.as_slice()) {
        (Format::Nchw, &[batch, channels, height, width]) | (Format::Nhwc, &[batch, height, width, channels]) => {
            Some(Image { batch, channels, size: [height, width] })
        }
        _ => None,
    }
}

/// Whether there is a bias, with a value for each channel of the result. Sizes, which are integers, are none.
fn bias(kernel: &Kernel, kind: ConvKind, [cin, cout]: [u64; 2]) -> Result<bool> {
    let channels = if kind == ConvKind::BackpropInput { cin } else { cout };
    let is_size = |o: &&Operand| kind != ConvKind::Forward && !o.dtype.is_float();
    match kernel.inputs.iter().find(|o| !is_plain(o) && !is_size(o) && !is_absent(o)) {
        None => Ok(false),
        Some(o) if o.elements() == channels => Ok(true),
        Some(o) => Err(kernel.error(format!("a bias {:?} is for no {channels} channels", o.shape))),
    }
}

impl<'a> Operands<'a> {
    /// The operands in the order of CANN's prototypes, without those of sizes; `None` where not all are plain.
    pub fn of(op: &str, kind: ConvKind, kernel: &'a Kernel) -> Option<Operands<'a>> {
        let read: Vec<_> = kernel.inputs.iter().filter(|o| is_plain(o)).collect();
        let result = kernel.outputs.first().filter(|o| is_plain(o))?;
        let [first, second] = [*read.first()?, *read.get(1)?];
        // Of the input's gradient the filter comes first, of a transposed convolution dy, its x.
        let filter_first = op.contains("BackpropInput");
        Some(match kind {
            ConvKind::Forward => Operands { x: first, filter: second, y: result },
            ConvKind::BackpropInput if filter_first => Operands { x: result, filter: first, y: second },
            ConvKind::BackpropInput => Operands { x: result, filter: second, y: first },
            ConvKind::BackpropFilter => Operands { x: first, filter: result, y: second },
        })
    }

    /// The convolution. Fails where the operands do not meet.
    pub fn conv(&self, op: &str, kind: ConvKind, kernel: &Kernel, attrs: Option<&Map<String, Value>>) -> Result<Conv> {
        let map = |o: &Operand| {
            image(o).ok_or_else(|| kernel.error(format!("a map is NCHW or NHWC, not {}", o.format.name())))
        };
        let (x, y) = (map(self.x)?, map(self.y)?);
        if x.batch != y.batch {
            return Err(kernel.error(format!("its feature maps hold {} and {} images", x.batch, y.batch)));
        }
        let stated = Stated::of(kernel, attrs, axes(self.x.format).unwrap_or([2, 3]))?;
        let taps = axes(self.filter.format).unwrap_or([2, 3]).map(|at| self.filter.shape[at]);
        let (window, groups) = (
            stated.window(kernel, &Sizes { from: x.size, to: y.size, taps })?,
            self.groups(op, kernel, [x.channels, y.channels], stated.groups)?,
        );
        let read = if kind == ConvKind::BackpropFilter { [self.x, self.y] } else { [self.factor(kind), self.filter] };
        let dtype = read[0].dtype;
        if read[1].dtype != dtype {
            let [one, other] = [dtype.name(), read[1].dtype.name()];
            return Err(kernel.error(format!("it does not multiply {one} by {other}")));
        }
        let [[hi, wi], [ho, wo], [kh, kw]] = [x.size, y.size, taps];
        Ok(Conv {
            kind,
            batch: x.batch,
            cin: x.channels,
            hi,
            wi,
            cout: y.channels,
            ho,
            wo,
            kh,
            kw,
            stride: window.stride,
            pads: window.pads,
            dilation: window.dilation,
            groups,
            dtype,
            out_dtype: kernel.outputs.first().map_or(dtype, |o| o.dtype),
            bias: bias(kernel, kind, [x.channels, y.channels])?,
            format: self.x.format,
            hf32: false,
            depth: None,
        })
    }

    /// The map that is multiplied with the filter.
    fn factor(&self, kind: ConvKind) -> &'a Operand {
        if kind == ConvKind::Forward { self.x } else { self.y }
    }

    /// Groups of channels, which the filter's own tell; `stated` has to be that.
    fn groups(&self, op: &str, kernel: &Kernel, [cin, cout]: [u64; 2], stated: Option<u64>) -> Result<u64> {
        let (own, results) = match (self.filter.format, self.filter.shape.as_slice()) {
            // A depthwise filter in HWCN has all channels and how many results each gives.
            (Format::Hwcn, &[.., channels, each]) if op.starts_with("Depthwise") && channels == cin => {
                (1, channels.saturating_mul(each))
            }
            (Format::Nchw, &[each, channels, ..]) if op.starts_with("Depthwise") && channels == cin && channels > 1 => {
                (1, channels.saturating_mul(each))
            }
            (Format::Hwcn, &[.., own, results]) | (Format::Nhwc, &[results, .., own]) => (own, results),
            (_, &[results, own, ..]) => (own, results),
            _ => (0, 0),
        };
        let groups = cin.checked_div(own).filter(|&groups| groups > 0 && groups * own == cin);
        let groups = groups.filter(|groups| results == cout && cout.is_multiple_of(*groups));
        let groups = groups.filter(|&groups| !op.starts_with("Depthwise") || groups == cin);
        let shape = &self.filter.shape;
        match groups {
            Some(groups) if stated.is_some_and(|stated| stated != groups) => {
                Err(kernel.error(format!("`attrs.groups`: a filter {shape:?} of {cin} channels has {groups}")))
            }
            Some(groups) => Ok(groups),
            None => Err(kernel.error(format!(
                "a filter {shape:?} in {} does not make {cout} channels of {cin}",
                self.filter.format.name()
            ))),
        }
    }
}
