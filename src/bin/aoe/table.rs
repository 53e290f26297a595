//! Columns of text that line up, whatever letters they hold.

use crate::console::printable;
use console::measure_text_width;

/// The lines of a table, its titles first; none where there are no rows. `sides` has a letter for each column: `l` where
/// its cells stand on the left, as words do, `r` where they stand on the right, as numbers do.
pub fn table<const N: usize>(titles: [&str; N], sides: &str, rows: &[[String; N]]) -> Vec<String> {
    debug_assert_eq!(sides.len(), N, "{titles:?}");
    if rows.is_empty() {
        return Vec::new();
    }
    let titles = titles.map(str::to_owned);
    let mut widths = widths(rows);
    for (width, title) in widths.iter_mut().zip(&titles) {
        *width = measure_text_width(title).max(*width);
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(sides.chars()).zip(widths).map(|((cell, side), width)| pad(cell, side, width));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    std::iter::once(&titles).chain(rows).map(line).collect()
}

fn pad(cell: &str, side: char, width: usize) -> String {
    let blanks = " ".repeat(width.saturating_sub(measure_text_width(cell)));
    if side == 'r' { format!("{blanks}{cell}") } else { format!("{cell}{blanks}") }
}

/// A number with so many digits behind the point; what rounds to nothing has no sign.
pub fn fixed(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.bytes().all(|byte| matches!(byte, b'0' | b'.')) => zero.to_owned(),
        _ => text,
    }
}

/// Columns of the widest cell of each column.
pub fn widths<const N: usize>(rows: &[[String; N]]) -> [usize; N] {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = measure_text_width(cell).max(*width);
        }
    }
    widths
}

/// What cells may be as wide as, so that a row with two blanks between columns has room in `whole`: the widest
/// give way first, and none below `least`.
pub fn fitting<const N: usize>(mut widths: [usize; N], whole: usize, least: usize) -> [usize; N] {
    let room = whole.saturating_sub(2 * N.saturating_sub(1));
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max().filter(|width| **width > least) else { break };
        *widest -= 1;
    }
    widths
}

/// A name that takes this many letters at most, its control characters written as escapes. Exporters
/// tell modules apart by how names begin and nodes of one module by how they end, so the middle goes.
pub fn middle_cut(name: &str, most: usize) -> String {
    let letters: Vec<char> = printable(name).chars().collect();
    if letters.len() <= most {
        return letters.into_iter().collect();
    }
    let kept = most.saturating_sub(2);
    let (head, tail) = (&letters[..kept / 2], &letters[letters.len() - kept.div_ceil(2)..]);
    head.iter().chain(&['.', '.']).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_the_letters() {
        let rows = [["conv".to_owned(), "1.5".to_owned()], ["卷积层".to_owned(), "1234.5".to_owned()]];
        let lines = table(["name", "us"], "lr", &rows);
        assert_eq!(lines, ["name        us", "conv       1.5", "卷积层  1234.5"]);
    }

    #[test]
    fn a_long_name_keeps_its_beginning_and_its_end() {
        let long = format!("/encoder/{}/attention/MatMul", "x".repeat(80));
        let cut = middle_cut(&long, 31);
        assert_eq!(cut, "/encoder/xxxxx..ttention/MatMul");
        assert_eq!(middle_cut("conv1", 5), "conv1");
        assert_eq!(middle_cut("a\n", 9), "a\\n");
    }

    #[test]
    fn the_widest_columns_give_way_to_a_narrow_terminal() {
        assert_eq!(fitting([10, 40, 30], 100, 12), [10, 40, 30]);
        assert_eq!(fitting([10, 40, 30], 64, 12), [10, 25, 25]);
        assert_eq!(fitting([10, 40, 30], 20, 12), [10, 12, 12], "no narrower than that");
    }

    #[test]
    fn what_rounds_to_nothing_has_no_sign() {
        assert_eq!([-0.0, -0.3, -0.6].map(|number| fixed(number, 0)), ["0", "0", "-1"]);
        assert_eq!([-0.04, -0.06, 12.34].map(|number| fixed(number, 1)), ["0.0", "-0.1", "12.3"]);
    }

    #[test]
    fn a_table_without_rows_has_no_titles_either() {
        assert!(table(["name"], "l", &[]).is_empty());
    }
}
