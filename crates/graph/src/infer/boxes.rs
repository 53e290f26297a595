//! Boxes that stay where others hide them: how many follows from values, which a model may have as constants.

use super::dim::{Reason, UNKNOWN};
use super::value::Value;
use super::{Call, Inference, Inferred};
use crate::DataType;

/// `NonMaxSuppression`: three numbers per box that stays; how many depends on values.
pub(crate) fn non_max_suppression(call: &Call<'_>) -> Inference {
    call.need(0)?;
    let three = call.node.op_type != "NonMaxSuppressionV3" && call.node.op_type != "NonMaxSuppressionV3D";
    let count = if three { staying(call)?.unwrap_or(UNKNOWN) } else { UNKNOWN };
    Inferred::dims(DataType::Int32, if three { vec![count, 3] } else { vec![count] })
}

/// How many boxes stay of (boxes, scores, how many at most, overlap, score), where all of these are known.
fn staying(call: &Call<'_>) -> Result<Option<i64>, Reason> {
    let number = |input: usize, default: f64| match call.get(input) {
        None => Some(default),
        Some(_) => call.value(input)?.partial_floats().first().copied().flatten(),
    };
    let (Some(boxes), Some(scores)) = (call.value(0), call.value(1)) else { return Ok(None) };
    let (Some(most), Some(overlap)) = (number(2, 0.0), number(3, 0.0)) else { return Ok(None) };
    let Some(least) = number(4, f64::NEG_INFINITY) else { return Ok(None) };
    let (&[batches, count, 4], &[batches_too, classes, count_too]) = (boxes.dims.as_slice(), scores.dims.as_slice())
    else {
        return Err("boxes are [batch,boxes,4], and scores [batch,classes,boxes]".to_owned());
    };
    if (batches, count) != (batches_too, count_too) {
        return Err(format!("{count} boxes of {batches} images, and scores for {count_too} of {batches_too}"));
    }
    let (Some(corners), Some(scores)) = (all(&boxes), all(&scores)) else { return Ok(None) };
    let by_center = call.int(&["center_point_box"]) == Some(1);
    let count = count as usize;
    let areas: Vec<Area> = corners.chunks_exact(4).map(|corners| Area::of(corners, by_center)).collect();
    let mut stay = 0;
    for (index, scores) in scores.chunks_exact(count.max(1)).enumerate() {
        let batch = index / usize::try_from(classes).unwrap_or(1).max(1);
        let Some(areas) = areas.get(batch * count..(batch + 1) * count) else { return Ok(None) };
        stay += stay_of(areas, scores, most.max(0.0) as usize, overlap, least) as i64;
    }
    Ok(Some(stay))
}

fn all(value: &Value) -> Option<Vec<f64>> {
    value.partial_floats().into_iter().collect()
}

/// How many boxes of one class stay: the best first, none that overlaps one before it too much.
fn stay_of(areas: &[Area], scores: &[f64], most: usize, overlap: f64, least: f64) -> usize {
    let mut order: Vec<usize> = (0..areas.len()).filter(|&at| scores[at] > least).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let mut taken: Vec<usize> = Vec::new();
    for at in order {
        if taken.len() >= most {
            break;
        }
        if taken.iter().all(|&other| areas[at].shared(&areas[other]) <= overlap) {
            taken.push(at);
        }
    }
    taken.len()
}

/// A box from its lower to its higher corner.
struct Area {
    low: [f64; 2],
    high: [f64; 2],
}

impl Area {
    fn of(corners: &[f64], by_center: bool) -> Area {
        let &[a, b, c, d] = corners else { return Area { low: [0.0; 2], high: [0.0; 2] } };
        if by_center {
            return Area { low: [a - c / 2.0, b - d / 2.0], high: [a + c / 2.0, b + d / 2.0] };
        }
        Area { low: [a.min(c), b.min(d)], high: [a.max(c), b.max(d)] }
    }

    fn size(&self) -> f64 {
        (self.high[0] - self.low[0]) * (self.high[1] - self.low[1])
    }

    /// The part of two boxes together that both cover.
    fn shared(&self, other: &Area) -> f64 {
        let along =
            |axis: usize| (self.high[axis].min(other.high[axis]) - self.low[axis].max(other.low[axis])).max(0.0);
        let both = along(0) * along(1);
        let either = self.size() + other.size() - both;
        if either > 0.0 { both / either } else { 0.0 }
    }
}
