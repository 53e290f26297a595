//! Spans of time on one line: what is covered, and by what not.

/// Begin and end in nanoseconds.
pub type Span = [i64; 2];

/// The spans joined where they touch or overlap, in order.
pub fn union(mut spans: Vec<Span>) -> Vec<Span> {
    spans.retain(|[start, end]| start < end);
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::new();
    for [start, end] in spans {
        match joined.last_mut() {
            Some(last) if start <= last[1] => last[1] = last[1].max(end),
            _ => joined.push([start, end]),
        }
    }
    joined
}

/// What of `spans` is not covered by `others`; both are unions.
pub fn minus(spans: &[Span], others: &[Span]) -> Vec<Span> {
    let mut left = Vec::new();
    let mut next = 0;
    for &[mut start, end] in spans {
        while others.get(next).is_some_and(|other| other[1] <= start) {
            next += 1;
        }
        for &[from, to] in others[next..].iter().take_while(|other| other[0] < end) {
            if start < from {
                left.push([start, from]);
            }
            start = start.max(to);
        }
        if start < end {
            left.push([start, end]);
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::{Span, minus, union};
    use proptest::prelude::*;

    fn covers(spans: &[Span], at: i64) -> bool {
        spans.iter().any(|[start, end]| (*start..*end).contains(&at))
    }

    proptest! {
        #[test]
        fn a_moment_is_covered_when_it_should_be(
            a in prop::collection::vec((0i64..40, 0i64..12), 0..12),
            b in prop::collection::vec((0i64..40, 0i64..12), 0..12),
        ) {
            let spans = |list: &[(i64, i64)]| -> Vec<Span> { list.iter().map(|&(from, len)| [from, from + len]).collect() };
            let (a, b) = (spans(&a), spans(&b));
            let (all_a, all_b) = (union(a.clone()), union(b.clone()));
            let left = minus(&all_a, &all_b);
            for at in 0..60 {
                prop_assert_eq!(covers(&all_a, at), covers(&a, at));
                prop_assert_eq!(covers(&left, at), covers(&a, at) && !covers(&b, at));
            }
            for list in [&all_a, &all_b] {
                prop_assert!(list.windows(2).all(|pair| pair[0][1] < pair[1][0]));
            }
            prop_assert!(left.iter().all(|[start, end]| start < end));
        }
    }
}
