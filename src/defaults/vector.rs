//! Vector operators by their operands.

use super::{Knowledge, Tiling, conv, estimate};
use crate::cases::{Case, wrong};
use crate::graph::Format;
use crate::graph::op::{Kind, prototype};
use crate::soc::Soc;
use crate::status::Result;
use crate::tiling::Platform;
use crate::tiling::vector::{self, Choice, Elementwise, Norm, Reduction, axes};
use crate::workload::{Operand, Workload};

/// The tiling of an operator of this kind.
pub(super) fn of_kind(case: &Case, kind: Kind, soc: &Soc) -> Result<Tiling> {
    let part = Platform::of(soc);
    if case.is_exact() {
        return exact(case, kind, soc, &part);
    }
    match (kind, case.op.as_str()) {
        (Kind::Conv(_), _) => conv::conv2d(case, soc),
        (Kind::Elementwise, _) => elementwise(case, soc, &part),
        (_, op) if op.starts_with("Reduce") => reduction(case, soc, &part),
        (_, "RmsNorm") => Ok(tiling_of(case, &vector::rms_norm(&norm(case, soc, 1)?, &part))),
        (_, "AddLayerNorm") => Ok(tiling_of(case, &vector::add_layer_norm(&norm(case, soc, 2)?, &part))),
        (Kind::Transpose, _) => transpose(case, soc, &part),
        _ => estimate::workload(case, soc),
    }
}

/// The tiling of a kernel field by field, as `aoe kernels --cases` has it. Axes that it tells no more are no rule's, and
/// fused kernels have rules of none: an estimate.
fn exact(case: &Case, kind: Kind, soc: &Soc, part: &Platform) -> Result<Tiling> {
    let work = case.workload(soc)?;
    match (&work, kind, case.op.as_str()) {
        (Workload::Vector(_), Kind::Elementwise, _) => elementwise(case, soc, part),
        (Workload::Reduce(w), _, op) if op.starts_with("Reduce") => {
            let Some(x) = w.inputs.first() else { return Err(wrong("`workload`: it reads nothing")) };
            let Some(fused) = axes::reduced(w) else { return estimate::workload(case, soc) };
            Ok(tiling_of(case, &vector::reduction(&Reduction::of(op, fused.axes(), x.dtype), part)))
        }
        (Workload::Reduce(_), _, "RmsNorm") => Ok(tiling_of(case, &vector::rms_norm(&norm(case, soc, 1)?, part))),
        (Workload::Reduce(_), _, "AddLayerNorm") => {
            Ok(tiling_of(case, &vector::add_layer_norm(&norm(case, soc, 2)?, part)))
        }
        _ => estimate::workload(case, soc),
    }
}

/// The operands, which fit the device's memory.
fn operands(case: &Case, soc: &Soc) -> Result<(Vec<Operand>, Vec<Operand>)> {
    let stated = case.operands()?;
    // Reading the work holds sizes to the device's memory.
    let work = case.workload(soc)?;
    let of_work = || work.operands().map(|(inputs, outputs)| (inputs.to_vec(), outputs.to_vec()));
    stated.or_else(of_work).ok_or_else(|| wrong(format!("{} needs `inputs` and `outputs`", case.op)))
}

fn tiling_of(case: &Case, choice: &Choice) -> Tiling {
    let fields = choice.fields().iter().map(|&(name, value)| (name.to_owned(), value.into()));
    Tiling {
        op: case.op.clone(),
        template: choice.template.to_owned(),
        knowledge: Knowledge::Fields(fields.collect()),
        nd2nz: None,
        public: choice.is_exact(),
        rules: choice.rules.iter().map(|rule| (rule.name(), rule.describe())).collect(),
        note: None,
    }
}

/// Elementwise work; where an operand is repeated the rules are those of a similar kernel.
fn elementwise(case: &Case, soc: &Soc, part: &Platform) -> Result<Tiling> {
    let (inputs, outputs) = operands(case, soc)?;
    check_elementwise(case, &inputs, &outputs)?;
    let work = Elementwise::of(&case.op, &inputs, &outputs).ok_or_else(|| wrong("`outputs`: there is none"))?;
    let choice = vector::elementwise(&work, part);
    let is_fused = reads_more(case, inputs.len());
    let is_public = !is_fused && !vector::broadcasts(&inputs, &outputs);
    let tiling = tiling_of(case, &if is_public { choice } else { choice.estimated() });
    let note = is_fused.then_some("it reads more than the operator has inputs: the rules of fused kernels are closed");
    Ok(Tiling { note: note.or(tiling.note), ..tiling })
}

/// Whether a case has more inputs than its operator, as a kernel has into which others are fused.
fn reads_more(case: &Case, inputs: usize) -> bool {
    let fits = |prototype: &prototype::Prototype, count: usize| prototype.input_names(count).is_some();
    let known = prototype::prototype(&case.op);
    known.is_some_and(|it| !fits(it, inputs) && (0..inputs).any(|count| fits(it, count)))
}

/// Fails where the operands cannot be those of elementwise work: nothing read, or a result that the inputs, repeated along
/// axes of one element, do not make. Flat operands of a kernel from a network tell no axes.
fn check_elementwise(case: &Case, inputs: &[Operand], outputs: &[Operand]) -> Result<()> {
    if inputs.is_empty() {
        return Err(wrong(format!("`inputs`: {} reads nothing", case.op)));
    }
    if case.is_exact() || case.op == "Fill" || case.op == "BroadcastTo" {
        return Ok(());
    }
    let plain = |o: &&Operand| o.elements() > 1 && matches!(o.format, Format::Nd | Format::Nchw | Format::Nhwc);
    for y in outputs.iter().filter(plain) {
        for (place, x) in inputs.iter().enumerate().filter(|(_, x)| plain(x)) {
            let fits = x.elements() == y.elements()
                || (x.shape.len() <= y.shape.len()
                    && x.shape.iter().rev().zip(y.shape.iter().rev()).all(|(x, y)| x == y || *x == 1));
            if !fits {
                let reason =
                    format!("`inputs[{place}].shape`: {:?} does not make {:?}, repeated or not", x.shape, y.shape);
                return Err(wrong(reason));
            }
        }
    }
    Ok(())
}

fn reduction(case: &Case, soc: &Soc, part: &Platform) -> Result<Tiling> {
    let (inputs, outputs) = operands(case, soc)?;
    let x = inputs.first().ok_or_else(|| wrong("`inputs`: there is none"))?;
    let y = outputs.first().ok_or_else(|| wrong("`outputs`: there is none"))?;
    let reduced = match case.integers(&["axes", "axis", "dim", "dimensions"])? {
        Some(axes) => axes_of(&axes, x.shape.len())?,
        None => inferred(&x.shape, &y.shape)?,
    };
    let axes: Vec<(u64, bool)> = x.shape.iter().copied().zip(reduced).collect();
    let kept = axes.iter().filter(|axis| !axis.1).fold(1u64, |n, axis| n.saturating_mul(axis.0));
    if kept != y.elements() {
        return Err(wrong(format!("`outputs[0].shape`: the axes leave {kept} elements, not {}", y.elements())));
    }
    Ok(tiling_of(case, &vector::reduction(&Reduction::of(&case.op, &axes, x.dtype), part)))
}

/// Which axes are named; no axis at all names every one.
fn axes_of(axes: &[i64], rank: usize) -> Result<Vec<bool>> {
    let mut reduced = vec![axes.is_empty(); rank];
    for &axis in axes {
        let at = if axis < 0 { axis.checked_add_unsigned(rank as u64) } else { Some(axis) };
        let place = at.and_then(|at| usize::try_from(at).ok()).and_then(|at| reduced.get_mut(at));
        *place.ok_or_else(|| wrong(format!("`attrs.axes`: {axis} is no axis of {rank}")))? = true;
    }
    Ok(reduced)
}

/// Which axes are reduced, where the shapes leave no doubt.
fn inferred(from: &[u64], to: &[u64]) -> Result<Vec<bool>> {
    let unclear = || wrong(format!("`attrs.axes` is missing: {from:?} to {to:?} does not say which axes are reduced"));
    if to.iter().all(|&d| d == 1) {
        return Ok(vec![true; from.len()]);
    }
    if from.len() == to.len() {
        let fits = from.iter().zip(to).all(|(f, t)| f == t || *t == 1);
        return if fits { Ok(from.iter().zip(to).map(|(f, t)| f != t).collect()) } else { Err(unclear()) };
    }
    // The kept axes are found from either end; where both find the same there is no other way.
    let found = |backwards: bool| {
        let mut reduced = vec![true; from.len()];
        let mut left = to.len();
        for step in 0..from.len() {
            let axis = if backwards { from.len() - 1 - step } else { step };
            let next = if backwards { left.checked_sub(1) } else { (left > 0).then(|| to.len() - left) };
            if next.is_some_and(|next| to.get(next) == from.get(axis)) {
                reduced[axis] = false;
                left -= 1;
            }
        }
        (left == 0).then_some(reduced)
    };
    match (found(false), found(true)) {
        (Some(forwards), Some(backwards)) if forwards == backwards => Ok(forwards),
        _ => Err(unclear()),
    }
}

/// Rows of a norm; the scale is the operand at this place.
fn norm(case: &Case, soc: &Soc, scale: usize) -> Result<Norm> {
    let (inputs, _) = operands(case, soc)?;
    let x = inputs.first().ok_or_else(|| wrong("`inputs`: there is none"))?;
    let Some(scale) = inputs.get(scale) else { return Err(wrong(format!("`inputs`: {} has a scale too", case.op))) };
    let columns = scale.elements().max(1);
    if !x.elements().is_multiple_of(columns) {
        let reason = format!("`inputs`: a scale of {columns} elements does not divide {:?} into rows", x.shape);
        return Err(wrong(reason));
    }
    Ok(Norm::of([x.elements() / columns, columns], x, scale, &inputs))
}

fn transpose(case: &Case, soc: &Soc, part: &Platform) -> Result<Tiling> {
    let (inputs, _) = operands(case, soc)?;
    let x = inputs.first().ok_or_else(|| wrong("`inputs`: there is none"))?;
    let order = match case.integers(&["perm"])? {
        Some(perm) => {
            let rank = x.shape.len();
            let axis = |&a: &i64| usize::try_from(if a < 0 { a.saturating_add_unsigned(rank as u64) } else { a }).ok();
            perm.iter().map(axis).collect::<Option<Vec<usize>>>()
        }
        None => None,
    };
    let order = order.ok_or_else(|| wrong("`attrs.perm` is missing: the order of axes decides the tiling"))?;
    let rules = if case.op == "TransposeV2" { vector::transpose_v2 } else { vector::transpose };
    match rules(&x.shape, &order, x.dtype, part) {
        Some(choice) => Ok(tiling_of(case, &choice)),
        None => estimate::workload(case, soc),
    }
}
