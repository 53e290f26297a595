//! The `input_shape` option.

use crate::status::{Error, Result};

/// Reads `name:1,3,224,224;name2:1,128`. A name may hold colons; the last one counts. -1 opens a
/// dimension.
pub fn parse(option: &str, text: &str) -> Result<Vec<(String, Vec<i64>)>> {
    text.split(';').filter(|part| !part.trim().is_empty()).map(|part| parse_one(option, part.trim())).collect()
}

fn parse_one(option: &str, part: &str) -> Result<(String, Vec<i64>)> {
    let bad = |reason: String| Error::option(option, reason);
    let (name, dims) = part
        .rsplit_once(':')
        .filter(|(name, _)| !name.trim().is_empty())
        .ok_or_else(|| bad(format!("`{part}` is not of the form name:1,3,224,224")))?;
    // No sizes at all make a scalar; one left out among others is a slip.
    let dims = Some(dims).filter(|dims| !dims.trim().is_empty());
    let dims = dims
        .into_iter()
        .flat_map(|dims| dims.split(','))
        .map(str::trim)
        .map(|d| match d.parse::<i64>() {
            Ok(v) if (v > 0 && v <= i64::from(i32::MAX)) || v == -1 => Ok(v),
            _ if d.contains('~') => Err(bad(format!(
                "`{d}` in `{part}` is a range, which is not tuned; give a size, or -1 and gears of dynamic_dims"
            ))),
            _ => Err(bad(format!("`{d}` in `{part}` is not a dimension (1 to {}, or -1)", i32::MAX))),
        })
        .collect::<Result<Vec<_>>>()?;
    Ok((name.trim().to_owned(), dims))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn names_with_colons_and_scalars_are_read() {
        let shapes = parse("input_shape", "gpu_0/data:0:1,3,224,224; step: ").unwrap();
        assert_eq!(shapes, [("gpu_0/data:0".into(), vec![1, 3, 224, 224]), ("step".into(), vec![])]);
    }

    #[test]
    fn zero_and_oversized_dimensions_are_refused() {
        for text in ["x:0", "x:-2", "x:2147483648", ":1", "x", "x:1~10", "x:1,1,,28,28", "x:1,", "x:,1", "x:,"] {
            assert!(parse("input_shape", text).is_err(), "{text}");
        }
    }
}
