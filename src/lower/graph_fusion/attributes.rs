//! Operators whose constant inputs their kernels have as attributes: the types that end in `D`.

use super::rewrite::Fusion;
use crate::graph::infer::{Params, movement, slice};
use crate::graph::{Attr, NodeId};

impl Fusion<'_> {
    /// An operator whose second input, of this name, is known -> its `D`, which has it as an attribute: the axes of a
    /// reduction, the multiples of a `Tile`. An empty list stays an input: as an attribute it would be all axes.
    pub(super) fn input_to_attribute(&mut self, id: NodeId, name: &str) -> Option<bool> {
        let Params::Known(values) = self.ask(self.graph.node(id), |call| call.params(1, &[name])) else {
            return Some(false);
        };
        if values.is_empty() {
            return Some(false);
        }
        self.becomes_d(id, &[(name, Attr::Ints(values))])
    }

    /// `Split`, `SplitV` -> `SplitD`, `SplitVD`.
    pub(super) fn split_to_attributes(&mut self, id: NodeId) -> Option<bool> {
        let node = self.graph.node(id);
        let (axis, x) = self.ask(node, |call| {
            let plan = movement::SplitPlan::of(call).ok()?;
            Some((plan.axis?, call.connected().position(|(_, desc)| std::ptr::eq(desc, plan.x))?))
        })?;
        let sizes: Option<Vec<i64>> = node
            .outputs
            .iter()
            .map(|part| {
                let dims = part.shape.known()?;
                dims.get(usize::try_from(if axis < 0 { axis + dims.len() as i64 } else { axis }).ok()?).copied()
            })
            .collect();
        let Some(sizes) = sizes else { return Some(false) };
        let mut said = vec![("split_dim", Attr::Int(axis)), ("num_split", Attr::Int(sizes.len() as i64))];
        if node.op_type == "SplitV" {
            said.push(("size_splits", Attr::Ints(sizes)));
        }
        let x = node.inputs.iter().flatten().nth(x).copied()?;
        self.set_inputs(id, vec![Some(x)]);
        self.becomes_d(id, &said)
    }

    /// `StridedSlice`, `StridedSliceV2` -> `StridedSliceD`, where no axis comes or goes.
    pub(super) fn slice_to_attributes(&mut self, id: NodeId) -> Option<bool> {
        let node = self.graph.node(id);
        let dims = self.dims(node.input(0)?)?;
        let strides = self.ask(node, |call| slice::strides_of(call, dims)).ok().flatten();
        let whole = strides.filter(|strides| {
            let plain =
                |stride: &slice::Stride| stride.count >= 0 && stride.step > 0 && !stride.dropped && !stride.inserted;
            strides.len() == dims.len() && strides.iter().all(plain)
        });
        let Some(strides) = whole else { return Some(false) };
        let list = |value: fn(&slice::Stride) -> i64| Attr::Ints(strides.iter().map(value).collect());
        let said = [
            ("begin", list(|stride| stride.start)),
            ("end", list(|stride| stride.start.saturating_add(stride.count.saturating_mul(stride.step)))),
            ("strides", list(|stride| stride.step)),
        ];
        for name in ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask", "axes"] {
            self.graph.node_mut(id).attrs.remove(name);
        }
        self.become_type(id, "StridedSliceD", &said)
    }

    /// `BatchNorm` with statistics that it is given -> `BNInferenceD`.
    pub(super) fn norm_at_inference(&mut self, id: NodeId) -> Option<bool> {
        let node = self.graph.node(id);
        let inputs: Vec<_> = (0..5).map(|input| node.input(input)).collect();
        let &[Some(x), Some(scale), Some(offset), Some(mean), Some(variance)] = inputs.as_slice() else { return None };
        let given = node.attrs.bool("is_training") == Some(false);
        if !given || !self.only_first_output_read(id) {
            return Some(false);
        }
        self.set_inputs(id, [x, mean, variance, scale, offset].map(Some).to_vec());
        self.graph.node_mut(id).outputs.truncate(1);
        self.rename(id, "BNInferenceD");
        Some(true)
    }

    /// Gives a node its type with a `D`, and the attributes that stand for its inputs but the first.
    fn becomes_d(&mut self, id: NodeId, said: &[(&str, Attr)]) -> Option<bool> {
        let name = format!("{}D", self.graph.node(id).op_type);
        self.become_type(id, &name, said)
    }

    fn become_type(&mut self, id: NodeId, op_type: &str, said: &[(&str, Attr)]) -> Option<bool> {
        let x = self.graph.node(id).input(0)?;
        self.set_inputs(id, vec![Some(x)]);
        // They are of inputs at other places.
        self.graph.node_mut(id).formats.clear();
        for (name, value) in said {
            self.graph.node_mut(id).attrs.set(*name, value.clone());
        }
        self.rename(id, op_type);
        Some(true)
    }
}
