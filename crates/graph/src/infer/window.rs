//! Windows that slide over an image: what convolutions and pooling have in common.

use super::dim::{Reason, UNKNOWN};
use super::{Call, Inferred};
use crate::{Attr, Format};

/// Which axes of an image tensor are batch, channels and space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Channels are the last axis rather than the second.
    pub channels_last: bool,
    /// Number of spatial axes.
    pub spatial: usize,
}

impl Layout {
    /// The layout of a tensor of this format and rank that the node works on ([`Call::channels_last`]).
    ///
    /// Fails for a tensor without batch, channels and at least one spatial axis.
    pub fn of(call: &Call<'_>, format: Format, rank: usize) -> Result<Layout, Reason> {
        if !(3..=5).contains(&rank) {
            return Err(format!("an image has 3 to 5 axes, not {rank}"));
        }
        Ok(Layout { channels_last: call.channels_last(format, rank), spatial: rank - 2 })
    }

    /// The layout of an image that windows slide over, whose numbers for each axis are these attributes.
    ///
    /// Attribute `data_format` counts where the image's format says nothing, unless it would have a window reach over
    /// channels and the other layout would not: then it is the default of a prototype that no program set.
    pub fn of_windows(call: &Call<'_>, format: Format, rank: usize, lists: &[&str]) -> Result<Layout, Reason> {
        let told = Layout::of(call, format, rank)?;
        if !told.is_by_default(call, format) {
            return Ok(told);
        }
        let lists = lists.iter().filter_map(|name| call.node.attrs.ints(name)).filter(|list| list.len() == rank);
        let reaches = |layout: Layout, list: &[i64]| list[layout.channel()] != 1;
        let (mut against, mut other) = (false, false);
        for list in lists {
            against |= reaches(told, list);
            other |= reaches(told.turned(), list);
        }
        Ok(if against && !other { told.turned() } else { told })
    }

    /// Whether nothing but attribute `data_format` tells the layout.
    pub fn is_by_default(self, call: &Call<'_>, format: Format) -> bool {
        format.channels_last(self.spatial + 2).is_none() && call.str("data_format").is_some()
    }

    /// The layout with the channels at the other place.
    #[must_use]
    pub fn turned(self) -> Layout {
        Layout { channels_last: !self.channels_last, ..self }
    }

    /// Index of the channel axis.
    pub fn channel(self) -> usize {
        if self.channels_last { self.spatial + 1 } else { 1 }
    }

    /// Index of the first spatial axis.
    pub fn first(self) -> usize {
        if self.channels_last { 1 } else { 2 }
    }

    /// The spatial sizes of a tensor.
    pub fn space(self, dims: &[i64]) -> &[i64] {
        &dims[self.first()..self.first() + self.spatial]
    }

    /// Sizes from batch, channels and space.
    pub fn join(self, batch: i64, channels: i64, space: &[i64]) -> Vec<i64> {
        if self.channels_last { [&[batch], space, &[channels]].concat() } else { [&[batch, channels], space].concat() }
    }

    /// The format with this layout.
    pub fn format(self) -> Format {
        match (self.spatial, self.channels_last) {
            (2, false) => Format::Nchw,
            (2, true) => Format::Nhwc,
            (3, false) => Format::Ncdhw,
            (3, true) => Format::Ndhwc,
            _ => Format::Nd,
        }
    }

    /// The format of the two-dimensional image that the tensor is on the device.
    pub fn image_format(self) -> Format {
        if self.channels_last { Format::Nhwc } else { Format::Nchw }
    }

    /// The layout in whose order such a list is: no window reaches over channels, so that one that does in this layout
    /// and does not in the other is listed in the other. `idle` is what an axis has that is left alone.
    fn ordered_as_listed(self, list: &[i64], idle: i64) -> Layout {
        let other = self.turned();
        let fits = |layout: Layout| list.get(layout.channel()) == Some(&idle);
        if fits(self) || !fits(other) { self } else { other }
    }

    /// One number per spatial axis from an attribute that may also list batch and channels, in the
    /// order of the layout. Absent: all `default`.
    pub fn per_axis(self, call: &Call<'_>, attrs: &[&str], default: i64) -> Result<Vec<i64>, Reason> {
        let Some((name, list)) = attrs.iter().find_map(|&name| Some((name, call.node.attrs.ints(name)?))) else {
            return Ok(vec![default; self.spatial]);
        };
        let n = self.spatial;
        Ok(match list.len() {
            0 => vec![default; n],
            1 => vec![list[0]; n],
            len if len == n => list.to_vec(),
            len if len == n + 2 => self.ordered_as_listed(list, i64::from(default != 0)).space(list).to_vec(),
            // A 1-D convolution written as the 2-D one it becomes.
            4 if n == 1 => vec![if self.channels_last { list[2] } else { list[3] }],
            len => return Err(format!("`{name}` has {len} numbers for {n} spatial axes")),
        })
    }
}

/// How the output size follows where a window does not fit evenly, and who chooses the padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Padding {
    /// As given.
    Explicit,
    /// None.
    Valid,
    /// So that the output is the input divided by the stride; the odd one at the end.
    SameUpper,
    /// The same, the odd one at the beginning.
    SameLower,
}

impl Padding {
    /// From attribute `auto_pad` (ONNX), `padding` (TensorFlow) or `padding_mode` (pooling).
    pub fn of(call: &Call<'_>) -> Result<Padding, Reason> {
        let Some(name) = ["auto_pad", "padding", "padding_mode", "pad_mode"].iter().find_map(|a| call.str(a)) else {
            return Ok(Padding::Explicit);
        };
        Ok(match name {
            "SAME_UPPER" | "SAME" => Padding::SameUpper,
            "SAME_LOWER" => Padding::SameLower,
            "VALID" => Padding::Valid,
            "" | "NOTSET" | "EXPLICIT" | "CALCULATED" | "SPECIFIC" => Padding::Explicit,
            other => return Err(format!("unknown padding `{other}`")),
        })
    }

    /// Whether the padding follows from the sizes.
    pub fn is_same(self) -> bool {
        matches!(self, Padding::SameUpper | Padding::SameLower)
    }
}

/// A window along one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    /// Size of the input.
    pub input: i64,
    /// Taps of the window.
    pub kernel: i64,
    /// Step of the window.
    pub stride: i64,
    /// Distance of taps.
    pub dilation: i64,
    /// Padding before and after.
    pub pads: [i64; 2],
    /// Size of the output.
    pub output: i64,
}

impl Axis {
    /// Extent of the dilated window; unknown with the kernel.
    fn extent(&self) -> Result<i64, Reason> {
        if self.kernel < 0 {
            return Ok(UNKNOWN);
        }
        let gaps = (self.kernel - 1).max(0).checked_mul(self.dilation);
        gaps.and_then(|g| g.checked_add(1)).ok_or_else(|| "the window's extent overflows 64 bits".into())
    }

    fn check(&self) -> Result<(), Reason> {
        for (name, value, least) in
            [("kernel", self.kernel, 1), ("stride", self.stride, 1), ("dilation", self.dilation, 1)]
        {
            if value < least && !(name == "kernel" && value == UNKNOWN) {
                return Err(format!("the window's {name} is {value}"));
            }
        }
        Ok(())
    }

    /// Chooses the padding and computes the output size of a forward window.
    pub(crate) fn slide(mut self, padding: Padding, round_up: bool) -> Result<Axis, Reason> {
        self.check()?;
        let extent = self.extent()?;
        self.output = UNKNOWN;
        if padding.is_same() {
            self.pads = [0, 0];
            if self.input >= 0 {
                self.output = ceil_div(self.input, self.stride);
                if extent >= 0 {
                    self.pads = same_pads(padding, self.input, self.output, self.stride, extent)?;
                }
            }
            return Ok(self);
        }
        if padding == Padding::Valid {
            self.pads = [0, 0];
        }
        if self.input < 0 || extent < 0 {
            return Ok(self);
        }
        let padded = self.input.checked_add(self.pads[0]).and_then(|n| n.checked_add(self.pads[1]));
        let padded = padded.ok_or("the padded size overflows 64 bits")?;
        let Some(room) = padded.checked_sub(extent).filter(|&r| r >= 0) else {
            return Err(format!("a window of {extent} does not fit a padded size of {padded}"));
        };
        let mut steps = if round_up { ceil_div(room, self.stride) } else { room / self.stride };
        // A window that would start in the padding at the end is left out.
        if round_up && steps > 0 && steps.saturating_mul(self.stride) >= self.input.saturating_add(self.pads[0]) {
            steps -= 1;
        }
        self.output = steps + 1;
        Ok(self)
    }

    /// Computes the output size of a transposed window.
    pub(crate) fn spread(mut self, padding: Padding, extra: i64, wanted: Option<i64>) -> Result<Axis, Reason> {
        self.check()?;
        let extent = self.extent()?;
        self.output = UNKNOWN;
        if self.input < 0 || extent < 0 {
            self.output = wanted.unwrap_or(UNKNOWN);
            return Ok(self);
        }
        let overflow = || Reason::from("the output size overflows 64 bits");
        let steps = (self.input - 1).max(0).checked_mul(self.stride).ok_or_else(overflow)?;
        let full = steps.checked_add(extent).and_then(|n| n.checked_add(extra)).ok_or_else(overflow)?;
        let same = padding.is_same().then(|| self.input.checked_mul(self.stride).ok_or_else(overflow)).transpose()?;
        if let Some(wanted) = wanted.filter(|&w| w > 0).or(same) {
            let given = Axis { input: wanted, ..self }.slide(Padding::Explicit, false);
            // The padding of the forward pass stands where it leads from the wanted size to this one.
            if padding != Padding::Explicit || given.map_or(true, |g| g.output != self.input) {
                self.pads = split_pads(padding, full.saturating_sub(wanted).max(0));
            }
            self.output = wanted;
            return Ok(self);
        }
        if padding == Padding::Valid {
            self.pads = [0, 0];
        }
        let cropped = full.checked_sub(self.pads[0]).and_then(|n| n.checked_sub(self.pads[1]));
        self.output = cropped.filter(|&n| n >= 0).ok_or_else(|| format!("padding exceeds an output size of {full}"))?;
        Ok(self)
    }
}

/// Ceiling division of a size by a positive step.
fn ceil_div(size: i64, step: i64) -> i64 {
    size / step + i64::from(size % step != 0)
}

fn same_pads(padding: Padding, input: i64, output: i64, stride: i64, extent: i64) -> Result<[i64; 2], Reason> {
    let covered = (output - 1).max(0).checked_mul(stride).and_then(|n| n.checked_add(extent));
    let covered = covered.ok_or("the padded size overflows 64 bits")?;
    Ok(split_pads(padding, (covered - input).max(0)))
}

fn split_pads(padding: Padding, total: i64) -> [i64; 2] {
    let half = total / 2;
    if padding == Padding::SameLower { [total - half, half] } else { [half, total - half] }
}

/// The explicit `pads` of a node in Ascend's order: begin and end of each spatial axis in turn.
pub(crate) fn pads(call: &Call<'_>, spatial: usize, attrs: &[&str]) -> Result<Vec<[i64; 2]>, Reason> {
    let Some(list) = attrs.iter().find_map(|name| call.node.attrs.ints(name)) else {
        return Ok(vec![[0, 0]; spatial]);
    };
    let pairs: Vec<[i64; 2]> = match list.len() {
        0 => vec![[0, 0]; spatial],
        1 => vec![[list[0]; 2]; spatial],
        len if len == 2 * spatial => list.chunks_exact(2).map(|p| [p[0], p[1]]).collect(),
        4 if spatial == 1 => vec![[list[2], list[3]]],
        len if len == spatial => list.iter().map(|&p| [p, p]).collect(),
        len => return Err(format!("`pads` has {len} numbers for {spatial} spatial axes")),
    };
    match pairs.iter().flatten().find(|&&p| p < 0) {
        Some(p) => Err(format!("a padding is {p}")),
        None => Ok(pairs),
    }
}

/// Adds attribute `data_format` where the image at an input, whose format says nothing, is found to lie otherwise than it
/// says.
pub(crate) fn note_layout(mut inferred: Inferred, call: &Call<'_>, image: usize, layout: Layout) -> Inferred {
    let said = call.str("data_format").map(|name| name.len() > 2 && name.ends_with('C'));
    let differs = said.is_some_and(|last| last != layout.channels_last);
    if differs && layout.is_by_default(call, call.format(image)) && layout.format() != Format::Nd {
        inferred.attrs.push(("data_format", Attr::Str(layout.format().name().to_owned())));
    }
    inferred
}

/// Notes the padding that was chosen as attribute `pads`, where the node left the choice open.
pub(crate) fn note_pads(mut inferred: Inferred, padding: Padding, axes: &[Axis]) -> Inferred {
    if padding.is_same() || padding == Padding::Valid {
        let pads = axes.iter().flat_map(|a| a.pads).collect();
        inferred.attrs.push(("pads", Attr::Ints(pads)));
    }
    inferred
}
