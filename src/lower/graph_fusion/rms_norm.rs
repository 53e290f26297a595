//! RMS normalisation together with the sum before it, where a graph has the norm as one operator.

use super::rewrite::Fusion;
use crate::graph::{Format, NodeId, Port, Shape, TensorDesc};

impl Fusion<'_> {
    /// `Add -> RmsNorm`, where both summands have the same shape and type: one kernel, which hands out the sum too where
    /// others read it.
    pub(super) fn sum_before_rms_norm(&mut self, id: NodeId) -> Option<bool> {
        let &[Some(sum), Some(gamma)] = self.graph.node(id).inputs.as_slice() else { return None };
        let add = self.maker(sum, &["Add", "AddV2"])?;
        let [a, b] = self.pair(add)?;
        let [x1, x2, whole] = [a, b, sum].map(|port| self.graph.desc(port).clone());
        let alike =
            x1.dtype == x2.dtype && x1.shape == x2.shape && x1.shape == whole.shape && x1.shape.known().is_some();
        let blocked = [&x1, &x2].iter().any(|x| !matches!(x.format, Format::Nd | Format::Nchw | Format::Nhwc));
        if !alike || blocked {
            return Some(false);
        }
        let is_read = self.read(sum) > 1;
        self.set_inputs(id, vec![Some(a), Some(b), Some(gamma)]);
        self.take_out(add, id);
        self.replace(add, Port { node: id, output: 2 });
        self.rename(id, "AddRmsNorm");
        let node = self.graph.node_mut(id);
        let nobody = TensorDesc { shape: Shape::unknown_rank(), ..whole.clone() };
        let deviation = node.outputs.get(1).cloned().unwrap_or_else(|| nobody.clone());
        let result = node.outputs.first().cloned().unwrap_or_else(|| whole.clone());
        node.outputs = vec![result, deviation, if is_read { whole } else { nobody }];
        Some(true)
    }

    /// `AddRmsNorm` whose deviation nobody reads: its results lie where its summands lay.
    #[expect(clippy::unnecessary_wraps, reason = "all passes answer alike; this one's pattern is the node")]
    pub(super) fn rms_norm_in_place(&mut self, id: NodeId) -> Option<bool> {
        let is_free = self.read(Port { node: id, output: 1 }) == 0;
        if is_free {
            self.rename(id, "InplaceAddRmsNorm");
        }
        Some(is_free)
    }
}
