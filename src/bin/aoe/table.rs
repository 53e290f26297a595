//! Columns of text that line up, whatever letters they hold.

use crate::console::printable;
use console::measure_text_width;

/// On which side a column's cells stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// The lines of a table, its titles first; none where there are no rows.
pub fn table<const N: usize>(columns: [(&str, Align); N], rows: &[[String; N]]) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let titles = columns.map(|(title, _)| title.to_owned());
    let mut widths = titles.each_ref().map(|title| measure_text_width(title));
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = measure_text_width(cell).max(*width);
        }
    }
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(columns).zip(widths).map(|((cell, (_, align)), width)| pad(cell, align, width));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    std::iter::once(&titles).chain(rows).map(line).collect()
}

fn pad(cell: &str, align: Align, width: usize) -> String {
    let blanks = " ".repeat(width.saturating_sub(measure_text_width(cell)));
    match align {
        Align::Left => format!("{cell}{blanks}"),
        Align::Right => format!("{blanks}{cell}"),
    }
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
        let lines = table([("name", Align::Left), ("us", Align::Right)], &rows);
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
    fn a_table_without_rows_has_no_titles_either() {
        assert!(table([("name", Align::Left)], &[]).is_empty());
    }
}
