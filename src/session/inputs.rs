//! What options say about reading a model.

use super::options::{OptionMap, integer_lists, integers, out_nodes};
use super::shapes;
use crate::frontend::{Framework, Gear, ModelOptions};
use crate::graph::Format;
use crate::status::{Error, Result};

/// The framework (`framework`) and what else is said of a model. Of gears (`dynamic_batch_size`,
/// `dynamic_image_size`, `dynamic_dims`) a single one counts; several are for the tuning, which takes
/// them one after the other.
pub fn model_options(options: &OptionMap) -> Result<(Option<Framework>, ModelOptions)> {
    let set = |key: &str| options.get(key).map(String::as_str).filter(|value| !value.is_empty());
    let framework = match set("framework") {
        None => None,
        Some(number) => match Framework::from_number(number) {
            Some(framework) => Some(framework),
            None => return Err(Error::option("framework", format!("`{number}` is not one of 0, 1, 3, 5"))),
        },
    };
    let mut gears = gears(options)?;
    let gear = if gears.len() == 1 { gears.pop() } else { None };
    let model = ModelOptions {
        shapes: set("input_shape").map_or(Ok(Vec::new()), |text| shapes::parse("input_shape", text))?,
        gear,
        gears,
        format: set("input_format").and_then(Format::from_name),
        out_nodes: set("out_nodes").map_or(Ok(Vec::new()), out_nodes)?,
        weights: set("weight").map(Into::into),
    };
    Ok((framework, model))
}

/// What to say of `input_format` where nothing asks for it: the model states its own layouts, so that the option only
/// tells which dimensions `dynamic_image_size` means. `ND` tells none: clients send it for all that are no images.
pub fn idle_format(options: &OptionMap) -> Option<String> {
    let set = |key: &str| options.get(key).filter(|value| !value.is_empty());
    let format = set("input_format").filter(|format| *format != "ND" && set("dynamic_image_size").is_none())?;
    Some(format!("input_format={format} has no effect without dynamic_image_size: the model states its layouts"))
}

/// The gears that options name; empty where there are none.
///
/// Fails with [`Error::Option`] where they name gears of two kinds, or one twice.
pub fn gears(options: &OptionMap) -> Result<Vec<Gear>> {
    let set = |key: &str| options.get(key).map(String::as_str).filter(|value| !value.is_empty());
    let kinds = ["dynamic_batch_size", "dynamic_image_size", "dynamic_dims"];
    let mut named = kinds.into_iter().filter_map(|key| Some((key, set(key)?)));
    let Some((key, text)) = named.next() else { return Ok(Vec::new()) };
    if let Some((other, _)) = named.next() {
        return Err(Error::option(other, format!("excludes {key}: a model has gears of one kind")));
    }
    let gears = read_gears(key, text)?;
    match (1..gears.len()).find(|&at| gears[..at].contains(&gears[at])) {
        Some(at) => Err(Error::option(key, format!("gear {} of `{text}` is the same as one before it", at + 1))),
        None => Ok(gears),
    }
}

/// The gears of one kind.
fn read_gears(key: &'static str, text: &str) -> Result<Vec<Gear>> {
    let bad = |item: String| Error::option(key, format!("`{item}` is no size"));
    if key == "dynamic_batch_size" {
        return Ok(integers(text).map_err(bad)?.into_iter().map(Gear::Batch).collect());
    }
    let gear = |values: Vec<i64>| match (key, values.as_slice()) {
        ("dynamic_image_size", &[height, width]) => Ok(Gear::Image([height, width])),
        ("dynamic_image_size", _) => Err(Error::option(key, "each gear is a height and a width: 224,224;448,448")),
        _ => Ok(Gear::Dims(values)),
    };
    integer_lists(text).map_err(bad)?.into_iter().map(gear).collect()
}

#[cfg(test)]
mod tests {
    use super::{gears, idle_format, model_options};
    use crate::frontend::{Framework, Gear};
    use crate::session::options::gather;

    #[test]
    fn framework_shapes_and_a_single_gear_are_read_and_empty_is_unset() {
        let pairs = [("framework", "5"), ("input_shape", "x:1,3"), ("dynamic_batch_size", "4")];
        let (framework, model) = model_options(&gather(pairs).unwrap()).unwrap();
        assert_eq!(framework, Some(Framework::Onnx));
        assert_eq!((model.shapes, model.gear), (vec![("x".to_owned(), vec![1, 3])], Some(Gear::Batch(4))));
        let several = gather([("dynamic_batch_size", "4,8")]).unwrap();
        assert_eq!(model_options(&several).unwrap().1.gear, None);
        assert_eq!(gears(&several).unwrap(), [Gear::Batch(4), Gear::Batch(8)]);
        let pairs = [("framework", ""), ("input_shape", ""), ("dynamic_batch_size", ""), ("out_nodes", "")];
        let (framework, model) = model_options(&gather(pairs).unwrap()).unwrap();
        assert!(framework.is_none() && model.shapes.is_empty() && model.gear.is_none() && model.out_nodes.is_empty());
    }

    #[test]
    fn a_layout_that_nothing_asks_for_is_told() {
        let told = |pairs: &[(&str, &str)]| idle_format(&gather(pairs.iter().copied()).unwrap());
        let message = told(&[("input_format", "NHWC")]).unwrap();
        assert!(message.contains("input_format=NHWC") && message.contains("dynamic_image_size"), "{message}");
        assert_eq!(told(&[("input_format", "NHWC"), ("dynamic_image_size", "8,8")]), None);
        assert_eq!(told(&[("input_format", "")]), None);
        assert_eq!(told(&[("input_format", "ND"), ("dynamic_batch_size", "1,2")]), None);
    }

    #[test]
    fn gears_are_of_one_kind_and_of_its_form() {
        let read = |pairs: &[(&str, &str)]| gears(&gather(pairs.iter().copied()).unwrap());
        assert_eq!(
            read(&[("dynamic_image_size", "224,320; 448,448")]).unwrap(),
            [Gear::Image([224, 320]), Gear::Image([448, 448])]
        );
        assert_eq!(
            read(&[("dynamic_dims", "1,128;8,64")]).unwrap(),
            [Gear::Dims(vec![1, 128]), Gear::Dims(vec![8, 64])]
        );
        assert_eq!(read(&[("dynamic_dims", "1;2;")]).unwrap(), [Gear::Dims(vec![1]), Gear::Dims(vec![2])]);
        for text in ["1;;2", ";1", "1;2;;", "1,,2"] {
            let error = gather([("dynamic_dims", text)]).and_then(|options| gears(&options)).unwrap_err().to_string();
            assert!(error.contains("dynamic_dims"), "{text}: {error}");
        }
        let error = read(&[("dynamic_image_size", "224,224,3")]).unwrap_err().to_string();
        assert!(error.contains("dynamic_image_size") && error.contains("height"), "{error}");
        let error = read(&[("dynamic_batch_size", "1,2,1")]).unwrap_err().to_string();
        assert!(error.contains("dynamic_batch_size") && error.contains("gear 3"), "{error}");
        let error = read(&[("dynamic_batch_size", "1"), ("dynamic_dims", "1")]).unwrap_err().to_string();
        assert!(error.contains("dynamic_dims") && error.contains("dynamic_batch_size"), "{error}");
    }
}
