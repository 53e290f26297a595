//! TBE's tiling of cube work as the unified bank's `knowledge`.

use super::product::{Reason, wrong};
use super::python::{Dict, Value};
use crate::workload::tbe::{TbeTiling, whole_depth};
use crate::workload::{Buffers, Cores, CubeShape, L0Tile, L1Tile, Panel};

/// Rows and columns of a fractal.
const F: u32 = 16;

/// The `knowledge` that says a tiling. Fields that no part of a tiling stands for are those of `base`,
/// the record that it takes the place of, as are fields that say the same already; without one, those of
/// a kernel with nothing fused. An error names the field that cannot be said.
pub(super) fn knowledge(new: &TbeTiling, w: &CubeShape, base: Option<&Dict>) -> Result<Dict, Reason> {
    let mut out = base.cloned().unwrap_or_else(|| plain(w));
    let old = base.and_then(|base| read(base, w).ok());
    let same = |part: fn(&TbeTiling) -> [u64; 4]| old.as_ref().is_some_and(|old| part(old) == part(new));
    let k0 = k0(w)?;
    if !same(|t| [t.cores.batch, t.cores.n, t.cores.m, t.cores.k].map(u64::from)) {
        let c = new.cores;
        put(&mut out, "block_dim", &[c.batch, c.n, c.m, c.k], &[0]);
    }
    for (name, tile, is_same) in [
        ("AL1_shape", new.l1_a, old.as_ref().is_some_and(|old| old.l1_a == new.l1_a)),
        ("BL1_shape", new.l1_b, old.as_ref().is_some_and(|old| old.l1_b == new.l1_b)),
    ] {
        match tile {
            _ if is_same => {}
            L1Tile::Full(_) => out.set(name, Value::List(Vec::new())),
            L1Tile::Panel(p) => put(&mut out, name, &[p.k, p.tiles, p.batch], &[1, 0]),
        }
    }
    let L0Tile { m, n, k_a, k_b } = new.l0;
    let blocks = |name: &str, extent: u32, block: u32| match extent % block {
        0 => Ok(extent / block),
        _ => Err(format!("`{name}`: {extent} is no multiple of {block}")),
    };
    let (m, n) = (blocks("l0.m", m, F)?, blocks("l0.n", n, F)?);
    let (k_a, k_b) = (blocks("l0.k_a", k_a, k0)?, blocks("l0.k_b", k_b, k0)?);
    if !same(|t| [t.l0.m, t.l0.k_a, 0, 0].map(u64::from)) {
        put(&mut out, "AL0_matrix", &[m, k_a, F, k0], &[1, 1, 0]);
    }
    if !same(|t| [t.l0.k_b, t.l0.n, 0, 0].map(u64::from)) {
        put(&mut out, "BL0_matrix", &[k_b, n, F, k0], &[1, 1, 0]);
    }
    if !same(|t| [t.l0.n, t.l0.m, 0, 0].map(u64::from)) {
        put(&mut out, "CL0_matrix", &[n, m, F, F], &[1, 1, 0]);
    }
    put_buffers(&mut out, new.buffers);
    Ok(out)
}

/// Sets what a convolution brings from L0C at once, which is one tile of it where no vector work is fused.
pub(super) fn copy_out(knowledge: &mut Dict) {
    if let Some(tile) = knowledge.get("CL0_matrix").and_then(Value::as_list).and_then(|items| items.get(..6)) {
        let tile = tile.to_vec();
        knowledge.set("L0C_OUTPUT_matrix", Value::List(tile));
    }
}

/// Fails where a convolution brings anything else from L0C.
pub(super) fn check_copy_out(knowledge: &Dict) -> Result<(), Reason> {
    let head = |name: &str| knowledge.get(name).and_then(Value::as_list).and_then(|items| items.get(..4));
    match (head("L0C_OUTPUT_matrix"), head("CL0_matrix")) {
        (Some(out), Some(tile)) if out == tile => Ok(()),
        _ => Err("`L0C_OUTPUT_matrix` is not `CL0_matrix`: TBE's compilation stops where nothing is fused".into()),
    }
}

/// Why a `knowledge` stands for no tiling, with the field at fault.
#[derive(Debug)]
pub(super) enum Unread {
    /// It lacks something or contradicts itself.
    Wrong(Reason),
    /// It says something whose meaning is not known.
    NotUnderstood(Reason),
}

impl Unread {
    /// The reason.
    pub fn reason(self) -> Reason {
        let (Unread::Wrong(reason) | Unread::NotUnderstood(reason)) = self;
        reason
    }
}

impl From<Reason> for Unread {
    fn from(reason: Reason) -> Unread {
        Unread::Wrong(reason)
    }
}

/// The tiling that a `knowledge` stands for.
pub(super) fn read(knowledge: &Dict, w: &CubeShape) -> Result<TbeTiling, Unread> {
    let k0 = k0(w)?;
    let list = |name: &str| {
        let value = knowledge.get(name);
        value.and_then(Value::as_list).ok_or_else(|| wrong(name, value))
    };
    let blocks = list("block_dim")?;
    let block = |index: usize| number("block_dim", blocks, index);
    let l1 = |name: &str| -> Result<L1Tile, Reason> {
        let items = list(name)?;
        if items.is_empty() {
            return Ok(L1Tile::FULL);
        }
        let (k, tiles, batch) = (number(name, items, 0)?, number(name, items, 1)?, number(name, items, 2)?);
        Ok(L1Tile::Panel(Panel { k, tiles, batch }))
    };
    let matrix = |name: &str, inner: u32| -> Result<[u32; 2], Unread> {
        let items = list(name)?;
        if items.is_empty() {
            return Err(Unread::NotUnderstood(format!("`{name}` = []")));
        }
        for (index, expected) in [(2, F), (3, inner), (4, 1)] {
            let found = number(name, items, index)?;
            if found != expected {
                let reason = format!("`{name}`[{index}] = {found}: only {expected} is understood");
                return Err(Unread::NotUnderstood(reason));
            }
        }
        Ok([number(name, items, 0)?, number(name, items, 1)?])
    };
    let [n, m] = matrix("CL0_matrix", F)?;
    let [a_m, k_a] = matrix("AL0_matrix", k0)?;
    if a_m != m {
        return Err(format!("`AL0_matrix`: m = {a_m}, but {m} in `CL0_matrix`").into());
    }
    let elements = |name: &str, blocks: u32, block: u32| {
        blocks.checked_mul(block).ok_or_else(|| format!("`{name}`: {blocks} blocks of {block} overflow"))
    };
    // L0B holds all of B where the list is empty.
    let k_b = if list("BL0_matrix")?.is_empty() {
        whole_depth(w).map_err(|e| format!("`BL0_matrix`: {e}"))?
    } else {
        let [k_b, b_n] = matrix("BL0_matrix", k0)?;
        if b_n != n {
            return Err(format!("`BL0_matrix`: n = {b_n}, but {n} in `CL0_matrix`").into());
        }
        elements("BL0_matrix", k_b, k0)?
    };
    Ok(TbeTiling {
        cores: Cores { batch: block(0)?, n: block(1)?, m: block(2)?, k: block(3)? },
        l1_a: l1("AL1_shape")?,
        l1_b: l1("BL1_shape")?,
        l0: L0Tile {
            m: elements("CL0_matrix", m, F)?,
            n: elements("CL0_matrix", n, F)?,
            k_a: elements("AL0_matrix", k_a, k0)?,
            k_b,
        },
        buffers: buffers(knowledge)?,
    })
}

/// Where the bank keeps the number of buffers of each kind.
const BUFFERS: &str = "manual_pingpong_buffer";

/// The buffers that a schedule knows, under the bank's names.
const fn named(b: Buffers) -> [(&'static str, u8); 5] {
    [
        ("AL1_pbuffer", b.l1_a),
        ("BL1_pbuffer", b.l1_b),
        ("AL0_pbuffer", b.l0_a),
        ("BL0_pbuffer", b.l0_b),
        ("CL0_pbuffer", b.l0_c),
    ]
}

fn buffers(knowledge: &Dict) -> Result<Buffers, Reason> {
    let value = knowledge.get(BUFFERS);
    let fields = value.and_then(Value::as_dict).ok_or_else(|| wrong(BUFFERS, value))?;
    let names = named(Buffers { l1_a: 0, l1_b: 0, l0_a: 0, l0_b: 0, l0_c: 0 }).map(|(name, _)| name);
    let mut counts = [0; 5];
    for (count, name) in counts.iter_mut().zip(names) {
        let value = fields.get(name);
        let read = value.and_then(Value::as_u64).and_then(|v| u8::try_from(v).ok());
        *count = read.ok_or_else(|| wrong(name, value))?;
    }
    let [l1_a, l1_b, l0_a, l0_b, l0_c] = counts;
    Ok(Buffers { l1_a, l1_b, l0_a, l0_b, l0_c })
}

fn put_buffers(out: &mut Dict, buffers: Buffers) {
    let mut fields = out.get(BUFFERS).and_then(Value::as_dict).cloned().unwrap_or_default();
    for (name, count) in named(buffers) {
        fields.set(name, Value::from(u64::from(count)));
    }
    out.set(BUFFERS, Value::Dict(fields));
}

/// Writes the head of a list; its tail stays where it has one, else is as given.
fn put(out: &mut Dict, name: &str, head: &[u32], tail: &[u64]) {
    let old = out.get(name).and_then(Value::as_list).and_then(|items| items.get(head.len()..)).map(<[_]>::to_vec);
    let tail = old.filter(|items| !items.is_empty()).unwrap_or_else(|| tail.iter().copied().map(Value::from).collect());
    out.set(name, Value::List(head.iter().map(|&n| Value::from(u64::from(n))).chain(tail).collect()));
}

/// What a kernel with nothing fused has in the fields that no part of a schedule stands for, as every such
/// record of CANN's has them; the other fields in their places, still empty.
fn plain(w: &CubeShape) -> Dict {
    let number = |n: u64| Value::from(n);
    let later = || Value::Null;
    let ones = ["AUB", "BUB", "AL1", "BL1", "AL0", "BL0", "CL0", "L0C_OUTPUT", "UBG"].into_iter();
    let ones = ones.chain(["INPUT_L1_FB", "INPUT_L1_eltwise", "INPUT_L1_BT"]).map(|name| format!("{name}_pbuffer"));
    let mut buffers = Dict::default();
    ones.for_each(|name| buffers.set(&name, number(1)));
    // The bias table takes the slice of one tile at a time, which always fits.
    let bias = if w.bias { Value::from("slice") } else { Value::Null };
    [
        ("AUB_shape", Value::Null),
        ("BUB_shape", Value::Null),
        ("AL1_shape", later()),
        ("BL1_shape", later()),
        ("AL0_matrix", later()),
        ("BL0_matrix", later()),
        ("CL0_matrix", later()),
        ("block_dim", later()),
        ("control_reorder_flag", number(0)),
        ("special_optimize_flag", number(0)),
        ("UB_channel_wise_input", Value::List(vec![Value::Null, Value::Null, Value::Bool(false)])),
        (BUFFERS, Value::Dict(buffers)),
        ("INPUT_L1_BT_param", bias),
        ("INPUT_L1_FB_param", Value::Null),
        ("INPUT_L1_eltwise_param", Value::Null),
        ("L0C_OUTPUT_matrix", Value::List([1, 1, 16, 16, 1, 1].map(Value::from).to_vec())),
        ("vector_block_num", number(0)),
    ]
    .into_iter()
    .collect()
}

fn k0(w: &CubeShape) -> Result<u32, Reason> {
    u32::try_from(w.k0()).map_err(|_| format!("`A_dtype` = {} has no fractal", w.dtype.name()))
}

fn number(name: &str, items: &[Value], index: usize) -> Result<u32, Reason> {
    let value = items.get(index).and_then(Value::as_u64).and_then(|v| u32::try_from(v).ok());
    value.ok_or_else(|| wrong(&format!("{name}[{index}]"), items.get(index)))
}
