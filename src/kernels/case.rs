//! The case of a kernel, by what CANN's profilers write of its operands.

use super::table::Blocks;
use crate::graph::{DataType, Format};
use crate::simulate;
use crate::soc::Soc;
use serde_json::{Value, json};

/// A case on the blocks that its launches had: of the cores that do its work.
pub(super) fn on_blocks(mut case: Value, blocks: Blocks, soc: &Soc) -> Value {
    // What cannot be read is told of where it is priced.
    let is_cube =
        blocks.cube != blocks.vector && simulate::read(&case.to_string(), soc).is_ok_and(|job| job.workload.is_cube());
    if let Some(count) = if is_cube { blocks.cube } else { blocks.vector } {
        case["block_dim"] = count.into();
    }
    case
}

/// The case of a kernel; `None` where its operands are not told, or are of types or formats that are not known.
pub(super) fn case_of(texts: &[String; 7]) -> Option<Value> {
    let [op, in_shapes, in_types, in_formats, out_shapes, out_types, out_formats] = texts;
    let inputs = tensors(in_shapes, in_types, in_formats)?;
    let outputs = tensors(out_shapes, out_types, out_formats)?;
    (!outputs.is_empty()).then(|| json!({"op": op, "inputs": inputs, "outputs": outputs}))
}

/// Operands from three lists with semicolons; those without a shape are single values, and those without a
/// type either are not there.
fn tensors(shapes: &str, types: &str, formats: &str) -> Option<Vec<Value>> {
    let shapes = shapes.trim_matches('"');
    if shapes.is_empty() || shapes == "N/A" {
        return (shapes.is_empty()).then(Vec::new);
    }
    let (mut types, mut formats) = (types.split(';'), formats.split(';'));
    let mut tensors = Vec::new();
    for shape in shapes.split(';') {
        let (dtype, format) = (types.next()?.trim(), formats.next()?.trim());
        if shape.is_empty() {
            // Optional operands that are not there keep their place.
            let scalar = data_type(dtype).filter(|dtype| *dtype != DataType::Undefined);
            tensors.push(scalar.map_or(Value::Null, |of| json!({"shape": [], "dtype": of.name(), "format": "ND"})));
            continue;
        }
        let dims = shape.split(',').map(|dim| dim.trim().parse::<u64>().ok()).collect::<Option<Vec<_>>>()?;
        let format = format.strip_prefix("FORMAT_").unwrap_or(format);
        let format = Format::from_name(format.split(':').next()?)?;
        tensors.push(json!({"shape": dims, "dtype": data_type(dtype)?.name(), "format": format.name()}));
    }
    Some(tensors)
}

/// A type by the names of CANN's profilers.
fn data_type(name: &str) -> Option<DataType> {
    let small = name.to_ascii_lowercase();
    DataType::from_name(small.strip_prefix("dt_").unwrap_or(&small))
}
