//! Gears: sets of values for the dimensions that a model leaves open, under CANN's options.

use super::ModelOptions;
use super::bind::{Inputs, check_dim};
use crate::graph::{Format, UNKNOWN_DIM};
use crate::spelling;
use crate::status::{Error, Result};
use rustc_hash::FxHashMap;
use std::fmt;

/// One set of values for the open dimensions of a model's inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gear {
    /// The size of every first dimension that is open (`dynamic_batch_size`).
    Batch(i64),
    /// Height and width of every image whose space is open (`dynamic_image_size`).
    Image([i64; 2]),
    /// The values of all open dimensions (`dynamic_dims`), in the order of `input_shape` and then of the inputs.
    Dims(Vec<i64>),
}

impl Gear {
    /// The option that gives such gears.
    pub const fn option(&self) -> &'static str {
        match self {
            Gear::Batch(_) => "dynamic_batch_size",
            Gear::Image(_) => "dynamic_image_size",
            Gear::Dims(_) => "dynamic_dims",
        }
    }

    /// Its values in order.
    pub fn values(&self) -> &[i64] {
        match self {
            Gear::Batch(size) => std::slice::from_ref(size),
            Gear::Image(sizes) => sizes,
            Gear::Dims(values) => values,
        }
    }

    /// What is added to the names of files that hold this gear: `_batch_4`, `_image_224_224`, `_dims_1_128`.
    pub fn file_suffix(&self) -> String {
        self.to_string().replace(['@', '=', ','], "_")
    }
}

/// What is added to the names of nodes that are tuned for this gear: `@batch=4`, `@image=224,224`, `@dims=1,128`.
impl fmt::Display for Gear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Gear::Batch(_) => "batch",
            Gear::Image(_) => "image",
            Gear::Dims(_) => "dims",
        };
        let values: Vec<_> = self.values().iter().map(i64::to_string).collect();
        write!(f, "@{kind}={}", values.join(","))
    }
}

/// A dimension of an input, and which value of a gear is for it.
pub(super) struct Slot {
    input: usize,
    axis: usize,
    value: usize,
}

impl Inputs {
    /// The dimensions that a gear gives their sizes. A dimension that was open and has its value by now, because it
    /// was bound when the model was loaded, is one of them where no other is open.
    ///
    /// Fails with [`Error::Option`] where the gear does not go with what is open.
    pub(super) fn slots(&self, gear: &Gear, options: &ModelOptions) -> Result<Vec<Slot>> {
        for &value in gear.values() {
            check_dim(gear.option(), "a gear", value)?;
        }
        let open = self.open(options, false);
        // Whether input_shape leaves something open, whatever size that has by now.
        let stated = open.iter().any(|(_, axes)| !axes.is_empty());
        let open = if stated { open } else { self.open(options, true) };
        match gear {
            Gear::Batch(_) => {
                // Of a batch that is bound by now the others may still be open.
                let all = self.open(options, true);
                let first =
                    |(input, axes): (usize, Vec<usize>)| axes.contains(&0).then_some(Slot { input, axis: 0, value: 0 });
                let slots: Vec<_> = all.into_iter().filter_map(first).filter(|slot| self.takes(slot, gear)).collect();
                if !slots.is_empty() {
                    return Ok(slots);
                }
                let left_open = open.iter().find(|(input, axes)| axes.contains(&0) && self.list[*input].dims.is_some());
                let reason = match left_open.filter(|_| stated) {
                    Some((input, _)) => self.taken(*input, gear),
                    None => self.nothing_open("first dimension", "-1,3,224,224"),
                };
                Err(Error::option(gear.option(), reason))
            }
            Gear::Image(_) => self.image_slots(&open, gear, options.format),
            Gear::Dims(values) => {
                let dims = open.iter().flat_map(|(input, axes)| axes.iter().map(|&axis| (*input, axis)));
                let slots: Vec<_> =
                    dims.enumerate().map(|(value, (input, axis))| Slot { input, axis, value }).collect();
                if slots.len() == values.len() {
                    return Ok(slots);
                }
                if slots.is_empty() {
                    return Err(Error::option(gear.option(), self.nothing_open("dimension", "-1,128")));
                }
                let names: Vec<_> =
                    slots.iter().map(|s| format!("`{}`[{}]", self.list[s.input].name, s.axis)).collect();
                let names: Vec<_> = names.iter().map(String::as_str).collect();
                let listed = spelling::listed(&names);
                let reason = format!("{} values for {} open dimensions: {listed}", values.len(), slots.len());
                Err(Error::option(gear.option(), reason))
            }
        }
    }

    /// What to do where the gear finds nothing to give its values to.
    fn nothing_open(&self, what: &str, form: &str) -> String {
        let name = self.list.first().map_or("x", |input| &input.name);
        format!("no input has an open {what}; open it with input_shape, as in \"{name}:{form}\"")
    }

    /// Why a first dimension that is left open cannot have the gear's size.
    fn taken(&self, input: usize, gear: &Gear) -> String {
        let (name, size) = (&self.list[input].name, gear.values()[0]);
        format!("input `{name}`, dimension 0 cannot be {size}{}", self.by_symbol(input, 0))
    }

    /// Whether a dimension is open, or has the gear's value.
    fn takes(&self, slot: &Slot, gear: &Gear) -> bool {
        let dim = self.list[slot.input].dims.as_ref().and_then(|dims| dims.get(slot.axis));
        dim.is_some_and(|&dim| dim == UNKNOWN_DIM || gear.values().get(slot.value) == Some(&dim))
    }

    /// The open dimensions of each input, those of `input_shape` first and in its order. What is bound by now counts
    /// where `input_shape` leaves it open, or with `bound` where it says nothing of it.
    fn open(&self, options: &ModelOptions, bound: bool) -> Vec<(usize, Vec<usize>)> {
        let places: FxHashMap<&str, usize> =
            options.shapes.iter().enumerate().map(|(at, (name, _))| (name.as_str(), at)).collect();
        let given = |name: &str| places.get(name).copied();
        let mut order: Vec<usize> = (0..self.list.len()).collect();
        order.sort_by_key(|&input| given(&self.list[input].name).unwrap_or(usize::MAX));
        let open = |input: usize| {
            let input = &self.list[input];
            let dims = input.dims.as_deref().unwrap_or_default();
            let left_open = |axis: usize| match given(&input.name) {
                Some(at) => options.shapes[at].1.get(axis) == Some(&UNKNOWN_DIM),
                None => bound || dims.get(axis) == Some(&UNKNOWN_DIM),
            };
            input.open.iter().copied().filter(|&axis| left_open(axis)).collect()
        };
        order.into_iter().map(|input| (input, open(input))).collect()
    }

    /// Height and width of each image that has them open.
    fn image_slots(&self, open: &[(usize, Vec<usize>)], gear: &Gear, format: Option<Format>) -> Result<Vec<Slot>> {
        let wrong = |reason: String| Error::option(gear.option(), reason);
        let mut slots = Vec::new();
        for (input, axes) in open.iter().filter(|(_, axes)| !axes.is_empty()) {
            let (name, rank) = (&self.list[*input].name, self.list[*input].dims.as_ref().map_or(0, Vec::len));
            let is_image = match format {
                Some(Format::Nchw) => axes == &[2, 3],
                Some(Format::Nhwc) => axes == &[1, 2],
                _ => axes == &[2, 3] || axes == &[1, 2],
            };
            if rank != 4 || !is_image {
                let axes: Vec<_> = axes.iter().map(usize::to_string).collect();
                let reason = format!(
                    "input `{name}` of {rank} dimensions leaves {} open, which are not the height and width of an image; \
                     give the others with input_shape",
                    axes.join(", ")
                );
                return Err(wrong(reason));
            }
            slots.extend(axes.iter().zip(0..).map(|(&axis, value)| Slot { input: *input, axis, value }));
        }
        if slots.is_empty() { Err(wrong(self.nothing_open("height and width", "1,3,-1,-1"))) } else { Ok(slots) }
    }

    /// Gives the dimensions the values of the gear.
    pub(super) fn bind_gear(&mut self, gear: &Gear, slots: &[Slot]) -> Result<()> {
        for slot in slots {
            self.bind_open(slot.input, slot.axis, gear.values()[slot.value], gear.option())?;
        }
        Ok(())
    }
}
