//! The framework's view of tensors that a file describes as they lie on the device.
//!
//! A graph holds the framework's view: what CANN calls `origin_shape` and `origin_format`. Where a
//! file leaves it out, it follows from the device's format, as far as that can tell.

use crate::graph::{Format, Shape};

/// Shape and format in the framework's view, from the device's shape and format and what the file says
/// of the framework's. Formats that do not tell the sizes (fractal filters) stay as they are.
pub fn framework_view(
    shape: Shape,
    format: Format,
    origin_shape: Option<Shape>,
    origin_format: Option<Format>,
) -> (Shape, Format) {
    let origin_format = origin_format.filter(|f| *f != Format::Reserved);
    match origin_shape {
        Some(origin) => (origin, origin_format.unwrap_or(format)),
        None => match shape.dims().and_then(|dims| unfolded(format, dims)) {
            Some((dims, plain)) => (Shape::new(dims), plain),
            None => (shape, if format.hides_sizes() { format } else { origin_format.unwrap_or(format) }),
        },
    }
}

/// Sizes and format that a tensor in blocks of channels or fractals of a matrix has without them.
/// The padding to whole blocks cannot be told apart from content.
fn unfolded(format: Format, dims: &[i64]) -> Option<(Vec<i64>, Format)> {
    match (format, dims) {
        (Format::Nc1hwc0 | Format::Nc1hwc0C04, &[n, c1, h, w, c0]) => {
            Some((vec![n, times(c1, c0)?, h, w], Format::Nchw))
        }
        (Format::Ndc1hwc0, &[n, d, c1, h, w, c0]) => Some((vec![n, times(c1, c0)?, d, h, w], Format::Ncdhw)),
        (Format::FractalNz, &[ref batch @ .., n1, m1, m0, n0]) => {
            Some(([batch, &[times(m1, m0)?, times(n1, n0)?]].concat(), Format::Nd))
        }
        _ => None,
    }
}

/// The product of two sizes, unknown where one is.
fn times(a: i64, b: i64) -> Option<i64> {
    if a < 0 || b < 0 { Some(-1) } else { a.checked_mul(b) }
}

#[cfg(test)]
mod tests {
    use super::framework_view;
    use crate::graph::{Format, Shape};

    fn view(dims: &[i64], format: Format, origin: Option<(&[i64], Format)>) -> (String, Format) {
        let (origin_shape, origin_format) = origin.map(|(d, f)| (Shape::new(d), f)).unzip();
        let (shape, format) = framework_view(Shape::new(dims), format, origin_shape, origin_format);
        (shape.to_string(), format)
    }

    #[test]
    fn what_the_file_says_of_the_framework_counts() {
        let origin = Some((&[1, 3, 8, 8][..], Format::Nchw));
        assert_eq!(view(&[1, 1, 8, 8, 16], Format::Nc1hwc0, origin), ("[1,3,8,8]".into(), Format::Nchw));
        assert_eq!(view(&[2, 3], Format::Nd, Some((&[], Format::Nd))), ("[]".into(), Format::Nd));
    }

    #[test]
    fn blocks_and_fractals_are_unfolded_where_it_says_nothing() {
        assert_eq!(view(&[1, 2, 8, 9, 16], Format::Nc1hwc0, None), ("[1,32,8,9]".into(), Format::Nchw));
        assert_eq!(view(&[1, -1, 8, 9, 16], Format::Nc1hwc0, None), ("[1,?,8,9]".into(), Format::Nchw));
        assert_eq!(view(&[1, 4, 2, 8, 9, 16], Format::Ndc1hwc0, None), ("[1,32,4,8,9]".into(), Format::Ncdhw));
        assert_eq!(view(&[7, 2, 3, 16, 16], Format::FractalNz, None), ("[7,48,32]".into(), Format::Nd));
        assert_eq!(view(&[9, 4, 16, 16], Format::FractalZ, None), ("[9,4,16,16]".into(), Format::FractalZ));
        assert_eq!(view(&[2, 3], Format::Nd, None), ("[2,3]".into(), Format::Nd));
    }
}
