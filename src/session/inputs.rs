//! What options say about reading a model.

use super::options::{OptionMap, integers};
use super::shapes;
use crate::frontend::{Framework, InputOptions};
use crate::status::{Error, Result};

/// The framework (`framework`) and the shapes of inputs (`input_shape`, and `dynamic_batch_size` where
/// it names one size; several are left to the tuning, which takes them one after the other).
pub fn model_options(options: &OptionMap) -> Result<(Option<Framework>, InputOptions)> {
    let set = |key: &str| options.get(key).map(String::as_str).filter(|value| !value.is_empty());
    let framework = match set("framework") {
        None => None,
        Some(number) => match Framework::from_number(number) {
            Some(framework) => Some(framework),
            None => return Err(Error::option("framework", format!("`{number}` is not one of 0, 1, 3, 5"))),
        },
    };
    let shapes = set("input_shape").map_or(Ok(Vec::new()), |text| shapes::parse("input_shape", text))?;
    let batch = match batch_sizes(options)?.as_slice() {
        [one] => Some(*one),
        _ => None,
    };
    Ok((framework, InputOptions { shapes, batch }))
}

/// The batch sizes (`dynamic_batch_size`) that options name; empty where there are none.
pub fn batch_sizes(options: &OptionMap) -> Result<Vec<i64>> {
    let text = options.get("dynamic_batch_size").map_or("", String::as_str);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    integers(text).map_err(|item| Error::option("dynamic_batch_size", format!("`{item}` is no batch size")))
}

#[cfg(test)]
mod tests {
    use super::{batch_sizes, model_options};
    use crate::frontend::Framework;
    use crate::session::options::gather;

    #[test]
    fn framework_shapes_and_a_single_batch_size_are_read_and_empty_is_unset() {
        let pairs = [("framework", "5"), ("input_shape", "x:1,3"), ("dynamic_batch_size", "4")];
        let (framework, inputs) = model_options(&gather(pairs).unwrap()).unwrap();
        assert_eq!(framework, Some(Framework::Onnx));
        assert_eq!((inputs.shapes, inputs.batch), (vec![("x".to_owned(), vec![1, 3])], Some(4)));
        let several = gather([("dynamic_batch_size", "4,8")]).unwrap();
        assert_eq!((model_options(&several).unwrap().1.batch, batch_sizes(&several).unwrap()), (None, vec![4, 8]));
        let pairs = [("framework", ""), ("input_shape", ""), ("dynamic_batch_size", "")];
        let (framework, inputs) = model_options(&gather(pairs).unwrap()).unwrap();
        assert!(framework.is_none() && inputs.shapes.is_empty() && inputs.batch.is_none());
    }
}
