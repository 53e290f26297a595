//! Operator types that say the same of different frameworks: each kind of work gets one.

use super::rewrite::Fusion;
use crate::graph::infer::pool::Pooling;
use crate::graph::infer::window::Layout;
use crate::graph::{Attr, Node, NodeId, Port, Shape, TensorDesc};

/// The type of an average over each whole image, which CANN makes of `GlobalAveragePool` too.
const MEAN: &str = "ReduceMean";

impl Fusion<'_> {
    /// Gives a node the type that its work has from other frameworks, where there is one.
    pub(super) fn call_alike(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        match node.op_type.as_str() {
            "LeakyRelu" if node.attrs.float("negative_slope") == Some(0.0) => self.rename(id, "Relu"),
            "Eltwise" => {
                if let Some(op_type) = elementwise(node) {
                    self.rename(id, op_type);
                }
            }
            "Pooling" | "MaxPool" | "MaxPoolV3" | "AvgPool" | "AvgPoolV2" => self.pool(id),
            "FullyConnection" => self.product(id),
            "TransData" => self.conversion(id),
            _ => {}
        }
    }

    /// A conversion that a compiler has put into its graph makes the same tensor, in the network's view, and goes: those
    /// that this part needs are put in later.
    fn conversion(&mut self, id: NodeId) {
        let &[Some(x)] = self.graph.node(id).inputs.as_slice() else { return };
        let (read, made) = (self.graph.desc(x), self.graph.desc(Port::first(id)));
        if (&read.shape, read.dtype) == (&made.shape, made.dtype) {
            self.replace(id, x);
            self.leave_out(id);
        }
    }

    /// Pooling by the type that ONNX' pools get; the average over all of an image is a mean.
    fn pool(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        let caffe = node.op_type == "Pooling";
        let average = match node.attrs.int("mode").filter(|_| caffe) {
            Some(0) => false,
            Some(1) => true,
            Some(_) => return,
            None => node.op_type.starts_with("Avg"),
        };
        let Ok(Some(pooling)) = self.ask(node, Pooling::of) else { return };
        if average
            && pooling.axes.iter().all(|axis| axis.kernel == axis.input && axis.output == 1 && axis.pads == [0, 0])
        {
            self.mean_of_image(id);
            return;
        }
        if caffe {
            // Caffe counts the other way round: 0 rounds up.
            let round_up = node.attrs.int("ceil_mode").unwrap_or(0) == 0;
            self.graph.node_mut(id).attrs.set("ceil_mode", Attr::Bool(round_up));
        }
        self.rename(id, if average { "AvgPoolV2" } else { "MaxPoolV3" });
    }

    /// An average over all of each image as the mean that it is.
    #[expect(clippy::unnecessary_wraps, reason = "every pass answers so")]
    pub(super) fn mean_of_image(&mut self, id: NodeId) -> Option<bool> {
        let node = self.graph.node(id);
        let layout = self.ask(node, |call| {
            let x = call.need(0)?;
            Layout::of(call, call.format(0), x.shape.rank().unwrap_or(0))
        });
        let Ok(layout) = layout else { return Some(false) };
        let axes = (layout.first()..layout.first() + layout.spatial).map(|axis| axis as i64).collect();
        let node = self.graph.node_mut(id);
        node.attrs.set("axes", Attr::Ints(axes));
        node.attrs.set("keep_dims", Attr::Bool(true));
        node.attrs.set("data_format", Attr::Str(layout.format().name().to_owned()));
        self.rename(id, MEAN);
        Some(true)
    }

    /// `FullyConnection` as the product that it is: of x, flattened, and the transposed weights. GE sees the result of one image
    /// as an image of one point; the kernel writes a matrix.
    fn product(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        let flat = |this: &Self| {
            let read = this.ask(node, crate::graph::infer::matmul::fully_connected).ok().flatten()?;
            let weights = this.graph.desc(node.input(1)?).shape.rank();
            (read.0.len() == 1 && weights == Some(2)).then_some(read.1)
        };
        let Some(product) = flat(self) else { return };
        let Some(x) = node.input(0) else { return };
        let dtype = self.graph.desc(x).dtype;
        let (rows, inner) = (product.m, product.k);
        let made = TensorDesc::new(self.graph.desc(Port::first(id)).dtype, Shape::new([rows, product.n]));
        let is_seen_otherwise = self.graph.desc(Port::first(id)).shape != made.shape;
        let seen = format!("{}/image", node.name);
        let is_matrix = self.graph.desc(x).shape.known() == Some(&[rows, inner]);
        let transposed = node.attrs.bool("transpose") != Some(true);
        let name = format!("{}/flat", node.name);
        if !is_matrix {
            let seen = TensorDesc::new(dtype, Shape::new([rows, inner]));
            let Some(view) = self.view(name, x, seen) else { return };
            let others = self.graph.node(id).inputs[1..].to_vec();
            self.set_inputs(id, [vec![Some(view)], others].concat());
        }
        let attrs = &mut self.graph.node_mut(id).attrs;
        attrs.set("transpose_x1", Attr::Bool(false));
        attrs.set("transpose_x2", Attr::Bool(transposed));
        self.rename(id, "MatMulV2");
        if is_seen_otherwise {
            self.view_result(id, seen, made);
        }
    }
}

/// The type of `Eltwise` on two tensors with these weights.
fn elementwise(node: &Node) -> Option<&'static str> {
    let weighted = match node.attrs.get("coeff") {
        Some(Attr::Floats(list)) => list.iter().any(|c| (c - 1.0).abs() > f64::EPSILON),
        Some(Attr::Ints(list)) => !list.is_empty(),
        _ => false,
    };
    match (node.attrs.int("mode"), node.inputs.len()) {
        (Some(0), 2) => Some("Mul"),
        (Some(1) | None, 2) if !weighted => Some("Add"),
        (Some(1) | None, _) if !weighted => Some("AddN"),
        (Some(2), 2) => Some("Maximum"),
        _ => None,
    }
}
