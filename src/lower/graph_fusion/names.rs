//! The operator types that a part's compiler gives to products and convolutions, which decide whose kernel and whose
//! bank they have.

use super::rewrite::Fusion;
use crate::graph::{Attr, DataType, NodeId, Port, Shape, TensorDesc};

impl Fusion<'_> {
    /// `MatMulV2`, `BatchMatMulV2` -> version 3, written in AscendC: float types, ranks of 2 and more.
    pub(super) fn third_version(&mut self, id: NodeId) -> Option<bool> {
        let node = self.graph.node(id);
        let operands = [node.input(0)?, node.input(1)?];
        let fits = |port: &Port| {
            let desc = self.graph.desc(*port);
            let float = matches!(desc.dtype, DataType::Float16 | DataType::Bfloat16 | DataType::Float);
            float && desc.shape.rank() >= Some(2)
        };
        if !operands.iter().all(fits) {
            return Some(false);
        }
        let name = if node.op_type.starts_with("Batch") { "BatchMatMulV3" } else { "MatMulV3" };
        self.rename(id, name);
        Some(true)
    }

    /// `Conv2D`, `Conv3D` -> version 2, written in AscendC: float types. In bfloat16 the bias of a volume is float32 there.
    pub(super) fn second_version(&mut self, id: NodeId) -> Option<bool> {
        let node = self.graph.node(id);
        let dtype = |input: usize| Some(self.graph.desc(node.input(input)?).dtype);
        let x = dtype(0)?;
        let float = matches!(x, DataType::Float16 | DataType::Bfloat16 | DataType::Float);
        let is_volume = node.op_type == "Conv3D";
        let wide = dtype(2).is_none_or(|bias| bias == DataType::Float);
        if !float || is_volume && x == DataType::Bfloat16 && !wide {
            return Some(false);
        }
        self.rename(id, if is_volume { "Conv3DV2" } else { "Conv2DV2" });
        Some(true)
    }

    /// A stack of matrices times one matrix -> `Reshape`, `MatMulV2`, `Reshape`, for few rows in many stacks: (batch >
    /// 4096 and M < 64) or M = 1; where elementwise work follows, (batch > 50 and M < 32) or M = 1.
    pub(super) fn stack_of_few_rows(&mut self, id: NodeId) -> Option<bool> {
        let followed = self.is_followed(id);
        let node = self.graph.node(id);
        let (a, b) = (node.input(0)?, node.input(1)?);
        let (&[batch, rows, inner], 2) = (self.dims(a)?, self.dims(b)?.len()) else { return None };
        let turned = |names: [&str; 2]| names.iter().any(|name| node.attrs.bool(name) == Some(true));
        let float = self.graph.desc(a).dtype.is_float();
        let few = if followed { batch > 50 && rows < 32 } else { batch > 4096 && rows < 64 };
        if !(few || rows == 1 && batch > 1) || !float || turned(["adj_x1", "transpose_x1"]) {
            return Some(false);
        }
        let turned = turned(["adj_x2", "transpose_x2"]);
        let name = node.name.clone();
        let dtype = self.graph.desc(a).dtype;
        let made = node.outputs.first()?.clone();
        let &[_, _, columns] = made.shape.known()? else { return Some(false) };
        let all = batch.checked_mul(rows)?;
        let flat = TensorDesc { shape: Shape::new([all, columns]), ..made };
        let seen = self.view(format!("{name}/flat"), a, TensorDesc::new(dtype, Shape::new([all, inner])))?;
        let mut inputs = self.graph.node(id).inputs.clone();
        inputs[0] = Some(seen);
        self.set_inputs(id, inputs);
        self.view_result(id, format!("{name}/stacked"), flat)?;
        let attrs = &mut self.graph.node_mut(id).attrs;
        attrs.remove("adj_x1");
        attrs.remove("adj_x2");
        attrs.set("transpose_x1", Attr::Bool(false));
        attrs.set("transpose_x2", Attr::Bool(turned));
        self.rename(id, "MatMulV2");
        Some(true)
    }
}
