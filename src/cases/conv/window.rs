//! How a filter slides over an image: by the operator's attributes, or read off the sizes of the maps.

use super::{ATTRIBUTES, Kernel};
use crate::status::{Error, Result};
use serde_json::{Map, Value};

/// Sizes of the forward pass along height and width.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub from: [u64; 2],
    pub to: [u64; 2],
    pub taps: [u64; 2],
}

/// Strides, padding and dilation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub stride: [u64; 2],
    /// Top, bottom, left, right.
    pub pads: [u64; 4],
    pub dilation: [u64; 2],
}

const AXES: [&str; 2] = ["height", "width"];

/// What a case says of a window.
pub(super) struct Stated {
    strides: Option<[u64; 2]>,
    pads: Option<[u64; 4]>,
    dilations: Option<[u64; 2]>,
    pub groups: Option<u64>,
}

impl Stated {
    /// Reads the attributes; `axes` are the places of height and width in lists of four.
    pub fn of(kernel: &Kernel, attrs: Option<&Map<String, Value>>, axes: [usize; 2]) -> Result<Stated> {
        let [strides, pads, dilations, groups] =
            [0, 1, 2, 3].map(|at| attrs.and_then(|attrs| Some((ATTRIBUTES[at], attrs.get(ATTRIBUTES[at])?))));
        let list =
            |given: Option<(&str, &Value)>, least: u64| given.map(|(n, v)| numbers(kernel, n, v, least)).transpose();
        let pair = |given: Option<(&str, &Value)>| match list(given, 1)?.as_deref() {
            None => Ok(None),
            Some(&[both]) => Ok(Some([both; 2])),
            Some(&[height, width]) => Ok(Some([height, width])),
            Some(four) if four.len() == 4 => {
                if (0..4).any(|at| !axes.contains(&at) && four[at] != 1) {
                    return Err(wrong(kernel, given.map_or("", |(name, _)| name), "images and channels have 1"));
                }
                Ok(Some(axes.map(|at| four[at])))
            }
            Some(_) => Err(wrong(kernel, given.map_or("", |(name, _)| name), "it has 1, 2 or 4 numbers")),
        };
        let all = match list(pads, 0)?.as_deref() {
            None => None,
            Some(&[all]) => Some([all; 4]),
            Some(&[height, width]) => Some([height, height, width, width]),
            Some(&[top, bottom, left, right]) => Some([top, bottom, left, right]),
            Some(_) => return Err(wrong(kernel, "pads", "it has 1, 2 or 4 numbers: top, bottom, left, right")),
        };
        let groups = match list(groups, 1)?.as_deref() {
            None => None,
            Some(&[groups]) => Some(groups),
            Some(_) => return Err(wrong(kernel, "groups", "it is one number")),
        };
        Ok(Stated { strides: pair(strides)?, pads: all, dilations: pair(dilations)?, groups })
    }

    /// The window of a convolution of these sizes. Fails where what is stated does not give them.
    pub fn window(&self, kernel: &Kernel, sizes: &Sizes) -> Result<Window> {
        let mut window = Window { stride: [1; 2], pads: [0; 4], dilation: self.dilations.unwrap_or([1; 2]) };
        for (axis, name) in AXES.iter().enumerate() {
            let (from, to) = (sizes.from[axis], sizes.to[axis]);
            let reach = (sizes.taps[axis] - 1).saturating_mul(window.dilation[axis]).saturating_add(1);
            // Padding of all that the filter reaches but one pixel on both sides gives that many.
            let most = from.saturating_add(reach - 1);
            if to > most {
                return Err(kernel.error(format!("{reach} taps on a {name} of {from} give at most {most}, not {to}")));
            }
            let pads = self.pads.map(|pads| [pads[2 * axis], pads[2 * axis + 1]]);
            let stride = self.strides.map_or_else(|| read_off([from, to], reach, pads), |strides| strides[axis]);
            let needed = needed([from, to], reach, stride);
            let [before, after] = pads.unwrap_or([needed / 2, needed - needed / 2]);
            let padded = from.saturating_add(before).saturating_add(after);
            let given = padded.checked_sub(reach).map_or(0, |left| left / stride + 1);
            if given != to && (self.pads.is_some() || self.strides.is_some()) {
                return Err(kernel.error(format!(
                    "a {name} of {from} with padding {before} and {after}, {reach} taps and stride {stride} gives {given}, \
                     not {to}; `attrs` has `strides`, `pads` (top, bottom, left, right) and `dilations`"
                )));
            }
            window.stride[axis] = stride;
            (window.pads[2 * axis], window.pads[2 * axis + 1]) = (before, after);
        }
        Ok(window)
    }
}

/// Padding of both sides together with which so many pixels give so many.
fn needed([from, to]: [u64; 2], reach: u64, stride: u64) -> u64 {
    (to - 1).saturating_mul(stride).saturating_add(reach).saturating_sub(from)
}

/// The stride that sizes leave: with padding known the only one, else the largest that asks for no more padding than the
/// filter reaches over an edge.
fn read_off([from, to]: [u64; 2], reach: u64, pads: Option<[u64; 2]>) -> u64 {
    if let (Some([before, after]), true) = (pads, to > 1) {
        let padded = from.saturating_add(before).saturating_add(after);
        return (padded.saturating_sub(reach) / (to - 1)).max(1);
    }
    let mut stride = (from as f64 / to as f64).round().max(1.0) as u64;
    while stride > 1 && needed([from, to], reach, stride) > reach - 1 {
        stride -= 1;
    }
    stride
}

/// The numbers of an attribute, each at least `least`.
fn numbers(kernel: &Kernel, name: &str, value: &Value, least: u64) -> Result<Vec<u64>> {
    const MOST: u64 = 1 << 20;
    let number = |value: &Value| value.as_u64().filter(|n| (least..=MOST).contains(n));
    let numbers = match value {
        Value::Array(items) if items.len() <= 4 => items.iter().map(number).collect(),
        one => number(one).map(|n| vec![n]),
    };
    numbers.ok_or_else(|| wrong(kernel, name, &format!("it is no list of at most 4 numbers from {least} to {MOST}")))
}

fn wrong(kernel: &Kernel, name: &str, reason: &str) -> Error {
    kernel.error(format!("`attrs.{name}`: {reason}"))
}
