//! What a vector kernel works on, as far as its tiling is concerned.

use crate::soc::{Arch, Soc};
use crate::tiling::vector::is_one_instruction;
use crate::workload::{Operand, VectorTemplate, Workload};

/// Smallest unit of a transfer and of UB.
pub(in crate::space) const UB_BLOCK: u64 = 32;
/// Elementwise work and movement are dealt to cores in units of this many bytes.
const GRANULE: u64 = 512;
/// Bytes that row templates keep for scalars and partial results: full load, and recompute.
const RESERVED_FULL: u64 = 1024;
const RESERVED_RECOMPUTE: u64 = 2112;

/// The axes of a vector kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::space) enum Axes {
    /// Elements in any order.
    Flat,
    /// Rows along an axis.
    Rows {
        /// Bytes of the smallest tile that holds the whole axis.
        row: u64,
        /// Partial results over the axis can be combined (sums, maxima, not softmax).
        combines: bool,
    },
}

/// A vector kernel reduced to the numbers that its tiling depends on. All sizes are bytes of the
/// operand that is tiled, the largest one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::space) struct Work {
    pub axes: Axes,
    /// Whole size.
    pub bytes: u64,
    /// Units that cores can share out: granules, or rows.
    pub units: u64,
    /// UB bytes that one byte of tile needs for inputs and outputs.
    live: f64,
    /// UB bytes that one byte of tile needs for temporaries, which are never double buffered.
    temporaries: f64,
    /// UB of one core.
    ub: u64,
    /// Vector cores.
    pub cores: u64,
}

impl Work {
    /// Looks at a workload without cube work. `None` when nothing is moved at all.
    pub fn new(workload: &Workload, soc: &Soc) -> Option<Work> {
        let cores = u64::from(soc.vector_core_cnt.max(soc.ai_core_cnt).max(1));
        match workload {
            Workload::Vector(w) => {
                let tiled = largest([&w.inputs, &w.outputs])?;
                // A direct instruction needs no scratch; anything else keeps fp32 intermediates.
                let scratch = if is_one_instruction(&w.op_type) { 0.0 } else { fp32_copy(tiled) };
                Some(Work::flat(tiled.bytes(), sum([&w.inputs, &w.outputs]), scratch, soc, cores))
            }
            Workload::Move(w) => {
                // What an operator of an unknown type writes may not be known: then what it reads is shared out.
                let read = if w.outputs.is_empty() { w.inputs.as_slice() } else { &[] };
                let bytes = sum([&w.outputs, read]).max(1);
                Some(Work::flat(bytes, bytes.saturating_mul(2), 0.0, soc, cores))
            }
            Workload::Collective(w) => Some(Work::flat(w.bytes.max(1), w.bytes.max(1), 0.0, soc, cores)),
            Workload::Reduce(w) => {
                let tiled = largest([&w.inputs, &w.outputs])?;
                let es = tiled.dtype.bytes().max(1);
                let lane_bytes = w.inner.max(1).saturating_mul(es);
                let (row, units) = if w.inner <= 1 {
                    (w.axis.saturating_mul(es).div_ceil(UB_BLOCK).saturating_mul(UB_BLOCK), w.outer)
                } else {
                    (w.axis.saturating_mul(UB_BLOCK), w.outer.saturating_mul(lane_bytes.div_ceil(UB_BLOCK)))
                };
                // The 950's kernels also combine the places of values; those before give a row to one core.
                let places = w.op_type.starts_with("ArgM") && soc.arch == Arch::C310;
                let combines = w.op_type.starts_with("Reduce") || places;
                let flat = Work::flat(tiled.bytes(), sum([&w.inputs, &w.outputs]), fp32_copy(tiled), soc, cores);
                Some(Work { axes: Axes::Rows { row: row.max(UB_BLOCK), combines }, units: units.max(1), ..flat })
            }
            Workload::Fused(parts) => {
                let works = parts.iter().filter_map(|part| Work::new(part, soc));
                // Rows decide the tiling of the whole kernel; without them the widest part does.
                works.max_by_key(|work| (work.axes != Axes::Flat, work.bytes))
            }
            Workload::MatMul(_) | Workload::Conv(_) => None,
        }
    }

    fn flat(bytes: u64, moved: u64, temporaries: f64, soc: &Soc, cores: u64) -> Work {
        let bytes = bytes.max(1);
        Work {
            axes: Axes::Flat,
            bytes,
            units: bytes.div_ceil(GRANULE),
            live: (moved as f64 / bytes as f64).max(1.0),
            temporaries,
            ub: soc.ub_size,
            cores,
        }
    }

    /// Bytes that the busiest of so many cores gets.
    pub fn share(&self, cores: u64, template: VectorTemplate) -> u64 {
        if template == VectorTemplate::SplitAxis {
            return self.bytes.div_ceil(cores);
        }
        let units = self.units.div_ceil(cores);
        let exact = u128::from(self.bytes) * u128::from(units) / u128::from(self.units);
        u64::try_from(exact).unwrap_or(u64::MAX).max(1)
    }

    /// Whether the last of so many cores still gets work that the others would have to do without it.
    pub fn uses_all(&self, cores: u64, template: VectorTemplate) -> bool {
        let units = match template {
            VectorTemplate::SplitAxis => self.bytes.div_ceil(GRANULE),
            _ => self.units,
        };
        units.div_ceil(units.div_ceil(cores).max(1)) == cores
    }

    /// Fewest cores that finish in the same number of rounds as this many.
    pub fn even_cores(&self, cores: u64, template: VectorTemplate) -> u64 {
        (1..=cores).rev().find(|&c| self.uses_all(c, template)).unwrap_or(1)
    }

    /// Largest tile that UB holds, in whole blocks; 0 when none does.
    pub fn largest_tile(&self, double_buffer: bool, template: VectorTemplate) -> u64 {
        let buffers = if double_buffer { 2.0 } else { 1.0 };
        let (reserved, extra) = match template {
            VectorTemplate::Flat => (0, 0.0),
            VectorTemplate::FullLoad => (RESERVED_FULL, 0.0),
            // The running maximum or sum keeps another copy of the tile.
            VectorTemplate::Recompute | VectorTemplate::SplitAxis => (RESERVED_RECOMPUTE, 1.0),
        };
        let room = self.ub.saturating_sub(reserved) as f64;
        let tile = (room / (buffers * self.live + self.temporaries + extra)) as u64;
        tile / UB_BLOCK * UB_BLOCK
    }

    /// Templates that this kernel has, CANN's preference first.
    pub fn templates(&self) -> &'static [VectorTemplate] {
        use VectorTemplate::{Flat, FullLoad, Recompute, SplitAxis};
        match self.axes {
            Axes::Flat => &[Flat],
            Axes::Rows { combines: true, .. } => &[FullLoad, Recompute, SplitAxis],
            Axes::Rows { combines: false, .. } => &[FullLoad, Recompute],
        }
    }

    /// Smallest tile of a template.
    pub fn smallest_tile(&self, template: VectorTemplate) -> u64 {
        match (self.axes, template) {
            (Axes::Rows { row, .. }, VectorTemplate::FullLoad) => row,
            _ => UB_BLOCK,
        }
    }
}

fn largest(sides: [&[Operand]; 2]) -> Option<&Operand> {
    sides.into_iter().flatten().max_by_key(|operand| operand.bytes())
}

fn sum(sides: [&[Operand]; 2]) -> u64 {
    sides.into_iter().flatten().fold(0u64, |n, operand| n.saturating_add(operand.bytes()))
}

/// UB bytes of an fp32 copy of a tile, for each byte of the tile.
fn fp32_copy(tiled: &Operand) -> f64 {
    4.0 / tiled.dtype.bytes().max(1) as f64
}
