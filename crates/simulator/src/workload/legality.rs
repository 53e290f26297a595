//! The one rule book: may this schedule run this workload on this SoC? And what it lays into the buffers of a core.
//!
//! Used by the space, by the simulator's input check and by the readers of banks, so that no two of
//! them can disagree.

use super::{Conv, CubeSchedule, CubeShape, L1Tile, MatMulKernel, Schedule, VectorSchedule, Workload};
use crate::rounding::round_up;
use crate::soc::Soc;
use aoe_base::status::{Error, Result};

/// Bytes of an L0C element: fp32 or int32 accumulators.
const ACCUMULATOR_BYTES: u64 = 4;

/// Checks a schedule against the hardware's limits.
///
/// Fails with [`Error::IllegalSchedule`] that states the broken rule with its numbers, or with
/// [`Error::Workload`] when schedule and workload are of different kinds.
pub fn check(workload: &Workload, schedule: &Schedule, soc: &Soc) -> Result<()> {
    match (workload.cube(), schedule) {
        (Some(shape), Schedule::Cube(s)) => check_cube(workload, &shape, s, soc),
        (None, Schedule::Vector(s)) => check_vector(s, soc),
        _ => Err(Error::Workload {
            workload: workload.to_string(),
            reason: "cube work needs a cube schedule and vector work a vector schedule".into(),
        }),
    }
}

/// What a tiling lays into one of a core's buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The buffer, by CANN's name: `L1`, `L0A`, `L0B`, `L0C`, `UB`.
    pub buffer: &'static str,
    /// Bytes that it takes there, all of its copies.
    pub bytes: u64,
    /// Bytes that the buffer has.
    pub size: u64,
}

/// What a tiling that [`check`] passes lays into the buffers of a core, by the same sums; nothing where the two are of
/// different kinds.
pub fn held(workload: &Workload, schedule: &Schedule, soc: &Soc) -> Vec<Held> {
    let held = |buffer, bytes, size| Held { buffer, bytes, size };
    match (workload.cube(), schedule) {
        (Some(shape), Schedule::Cube(s)) => {
            let [l0_a, l0_b, l0_c] = l0_bytes(&shape, s);
            // A second L0C buffer that does not fit is one that the kernel does without.
            let both = l0_c.saturating_mul(s.buffers.l0_c.into());
            let conv = workload.image_conv();
            let sides = Side::both(s, has_whole_products(workload, s)).map(|side| side.bytes(conv, &shape, s));
            let l1 = sides.iter().fold(bias_bytes(&shape, soc), |sum, bytes| sum.saturating_add(*bytes));
            vec![
                held("L1", l1, soc.l1_size),
                held("L0A", l0_a, soc.l0_a_size),
                held("L0B", l0_b, soc.l0_b_size),
                held("L0C", if both <= soc.l0_c_size { both } else { l0_c }, soc.l0_c_size),
            ]
        }
        (None, Schedule::Vector(s)) => vec![held("UB", ub_bytes(s), soc.ub_size)],
        _ => Vec::new(),
    }
}

/// Bytes of all copies of a core's tiles in L0A and L0B, and of one in L0C.
fn l0_bytes(shape: &CubeShape, s: &CubeSchedule) -> [u64; 3] {
    let es = shape.dtype.bytes().max(1);
    let bytes = |a: u32, b: u32, element: u64, buffers: u8| {
        (u64::from(a) * u64::from(b)).saturating_mul(element).saturating_mul(u64::from(buffers))
    };
    let l0 = s.l0;
    // Some of CANN's own records claim two L0C buffers that cannot both exist; they run with one.
    [
        bytes(l0.m, l0.k_a, es, s.buffers.l0_a),
        bytes(l0.n, l0.k_b, es, s.buffers.l0_b),
        bytes(l0.m, l0.n, ACCUMULATOR_BYTES, 1),
    ]
}

/// Bytes of UB that the tiles of vector work take.
fn ub_bytes(s: &VectorSchedule) -> u64 {
    u64::from(s.ub_tile_bytes) * if s.double_buffer { 2 } else { 1 }
}

/// Bytes of L1 that a bias takes on its way to the table of biases; parts without one add it in UB.
pub(crate) fn bias_bytes(shape: &CubeShape, soc: &Soc) -> u64 {
    if shape.bias && soc.bt_size > 0 { 1024 } else { 0 }
}

fn check_cube(workload: &Workload, shape: &CubeShape, s: &CubeSchedule, soc: &Soc) -> Result<()> {
    let k0 = shape.k0();
    let l0 = s.l0;
    let free = is_ascend_c(workload);
    let (row, depth) = if free { (1, 1) } else { (16, k0) };
    for (name, value, step) in [
        ("l0.m", u64::from(l0.m), row),
        ("l0.n", u64::from(l0.n), row),
        ("l0.k_a", u64::from(l0.k_a), depth),
        ("l0.k_b", u64::from(l0.k_b), depth),
    ] {
        rule(value > 0 && value % step == 0, || format!("{name} = {value} is no positive multiple of {step}"))?;
    }
    for (name, count) in [("l1_a", s.buffers.l1_a), ("l1_b", s.buffers.l1_b)] {
        // How many there can be is for the size of L1 to tell; CANN's records have four.
        rule(count > 0, || format!("buffers.{name} = 0"))?;
    }
    for (name, count) in [("l0_a", s.buffers.l0_a), ("l0_b", s.buffers.l0_b), ("l0_c", s.buffers.l0_c)] {
        rule((1..=2).contains(&count), || format!("buffers.{name} = {count} is neither 1 nor 2"))?;
    }
    let [l0_a, l0_b, l0_c] = l0_bytes(shape, s);
    fits("L0A", l0_a, soc.l0_a_size)?;
    fits("L0B", l0_b, soc.l0_b_size)?;
    fits("L0C", l0_c, soc.l0_c_size)?;
    if shape.bias && soc.bt_size > 0 {
        fits("bias table", u64::from(l0.n) * ACCUMULATOR_BYTES, soc.bt_size)?;
    }
    check_l1(workload, shape, s, soc)?;
    check_split(shape, s, soc, free)
}

/// Whether the kernel is one of CANN's `AscendC` products. Their records and defaults have blocks of any number of
/// rows, which L0 pads to fractals, and use every core though there be fewer tasks.
fn is_ascend_c(workload: &Workload) -> bool {
    match workload {
        Workload::MatMul(w) => w.kernel != MatMulKernel::Tbe,
        Workload::Fused(parts) => parts.iter().any(is_ascend_c),
        _ => false,
    }
}

/// One operand on its way through L1.
struct Side {
    name: &'static str,
    tile: L1Tile,
    /// Extent of an L0 tile, and of a core task.
    base: u32,
    extent: u64,
    /// Inner extent of an L0 tile.
    base_k: u32,
    buffers: u8,
    /// The operand comes as a whole, and no more of it than there is, though L0 tiles reach beyond.
    whole: bool,
}

/// Whether a core task has several whole products of a kernel of `AscendC`, whose operands come as they are.
fn has_whole_products(workload: &Workload, s: &CubeSchedule) -> bool {
    s.single.batch > 1 && is_ascend_c(workload)
}

impl Side {
    /// A's and B's.
    fn both(s: &CubeSchedule, whole: bool) -> [Side; 2] {
        let side =
            |name, tile, base, extent, base_k, buffers| Side { name, tile, base, extent, base_k, buffers, whole };
        [
            side("l1_a", s.l1_a, s.l0.m, s.single.m, s.l0.k_a, s.buffers.l1_a),
            side("l1_b", s.l1_b, s.l0.n, s.single.n, s.l0.k_b, s.buffers.l1_b),
        ]
    }

    fn check(&self, shape: &CubeShape) -> Result<()> {
        let Side { name, base_k, .. } = self;
        let L1Tile::Panel(p) = self.tile else { return Ok(()) };
        rule(p.tiles > 0 && p.k > 0 && p.batch > 0, || format!("{name} is empty"))?;
        // What quantised products bring of B to L1 need not be whole L0 tiles.
        let whole = p.k % base_k == 0 || (is_quantised(shape) && *name == "l1_b" && p.k >= *base_k);
        rule(whole, || format!("{name}.k = {} is no multiple of the L0 tile's k = {base_k}", p.k))
    }

    /// Bytes that all its copies take.
    fn bytes(&self, conv: Option<&Conv>, shape: &CubeShape, s: &CubeSchedule) -> u64 {
        // Of a volume's weights L1 holds no more channels than a core has, though L0 tiles reach beyond.
        let own = if self.whole || conv.is_some_and(Conv::is_volume) { round_up(self.extent, 16) } else { u64::MAX };
        let elements = match self.tile {
            L1Tile::Full(_) => {
                round_up(self.extent, self.base.into()).min(own).saturating_mul(round_up(s.single.k, shape.k0()))
            }
            L1Tile::Panel(p) => {
                let width = u64::from(p.tiles).saturating_mul(self.base.into()).min(own);
                let depth = u64::from(p.k).min(if self.whole { round_up(s.single.k, 16) } else { u64::MAX });
                [width, p.batch.into(), self.buffers.into()].into_iter().fold(depth, u64::saturating_mul)
            }
        };
        let window = conv.filter(|_| self.name == "l1_a").map(|conv| window(conv, s, shape.k0()));
        window.map_or(elements, |window| window.min(elements)).saturating_mul(shape.dtype.bytes().max(1))
    }
}

fn check_l1(workload: &Workload, shape: &CubeShape, s: &CubeSchedule, soc: &Soc) -> Result<()> {
    let conv = workload.image_conv();
    let mut total = bias_bytes(shape, soc);
    for side in Side::both(s, has_whole_products(workload, s)) {
        side.check(shape)?;
        total = side.bytes(conv, shape, s).saturating_add(total);
    }
    if let (L1Tile::Panel(a), L1Tile::Panel(b)) = (s.l1_a, s.l1_b) {
        let (long, short) = (a.k.max(b.k), a.k.min(b.k));
        rule(long % short == 0 || is_quantised(shape), || {
            format!("l1_a.k = {} and l1_b.k = {}: neither divides the other", a.k, b.k)
        })?;
    }
    fits("L1", total, soc.l1_size)
}

/// Elements of the images that L1 holds for a forward convolution: the rows that a panel's pixels are made of,
/// of the panel's channels. L0A is filled from them, so L1 never sees a pixel once for each kernel position.
fn window(conv: &Conv, s: &CubeSchedule, k0: u64) -> u64 {
    let (pixels, k, buffers) = match s.l1_a {
        L1Tile::Full(_) => (s.single.m, s.single.k, 1),
        L1Tile::Panel(p) => (u64::from(p.tiles) * u64::from(s.l0.m), p.k.into(), s.buffers.l1_a),
    };
    let image = conv.ho.saturating_mul(conv.wo).max(1);
    // A run of pixels may begin and end within a row.
    let rows = (pixels.min(image) / conv.wo.max(1)).saturating_add(2).min(conv.ho).max(1);
    let reach = (conv.kh.max(1) - 1).saturating_mul(conv.dilation[0]).saturating_add(1);
    let read = (rows - 1).saturating_mul(conv.stride[0]).saturating_add(reach).min(conv.hi);
    let channels = round_up(k.div_ceil(conv.kh.saturating_mul(conv.kw).max(1)), k0);
    // Of a volume L1 holds one plane at most, which a panel of whole L0 tiles may reach beyond.
    let images = if conv.is_volume() { 1 } else { pixels.div_ceil(image) };
    [read, conv.wi, channels, buffers.into()].into_iter().fold(images, u64::saturating_mul)
}

fn check_split(shape: &CubeShape, s: &CubeSchedule, soc: &Soc, idle: bool) -> Result<()> {
    let (used, cores) = (s.used_cores, soc.ai_core_cnt);
    // Pieces of k of quantised products may outnumber the cores: they take turns.
    let in_turns = is_quantised(shape) && s.cores.k > 1;
    rule(used >= 1 && (used <= cores || in_turns), || format!("used_cores = {used}, the SoC has {cores}"))?;
    for (name, blocks, extent, whole) in [
        ("batch", s.cores.batch, s.single.batch, shape.batch),
        ("m", s.cores.m, s.single.m, shape.m),
        ("n", s.cores.n, s.single.n, shape.n),
        ("k", s.cores.k, s.single.k, shape.k),
    ] {
        rule(extent > 0 && u64::from(blocks).saturating_mul(extent) >= whole, || {
            format!("{blocks} core tasks of {extent} do not cover {name} = {whole}")
        })?;
        // TBE deals whole L0 tiles, so a measured tiling may leave its last tasks without work.
        rule(blocks > 0, || format!("no core tasks along {name}"))?;
    }
    rule(idle || u64::from(used) <= s.cores.tasks(), || {
        format!("used_cores = {used}, but there are only {} core tasks", s.cores.tasks())
    })
}

/// Whether the operands are integers.
fn is_quantised(shape: &CubeShape) -> bool {
    matches!(shape.dtype, aoe_graph::DataType::Int8 | aoe_graph::DataType::Int4)
}

fn check_vector(s: &VectorSchedule, soc: &Soc) -> Result<()> {
    let cores = soc.vector_core_cnt.max(soc.ai_core_cnt);
    rule((1..=cores).contains(&s.cores), || format!("cores = {}, the SoC has {cores}", s.cores))?;
    let tile = u64::from(s.ub_tile_bytes);
    rule(tile > 0 && tile % 32 == 0, || format!("ub_tile_bytes = {tile} is no positive multiple of 32"))?;
    fits("UB", ub_bytes(s), soc.ub_size)
}

fn rule(holds: bool, broken: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::IllegalSchedule { rule: broken() }) }
}

fn fits(buffer: &str, needed: u64, size: u64) -> Result<()> {
    rule(needed <= size, || format!("{buffer} needs {needed} bytes, the SoC has {size}"))
}
