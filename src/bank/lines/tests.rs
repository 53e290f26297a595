//! Properties of files of lines.

use super::*;

fn text(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn damaged() -> Result<Judged<u32>, Unusable> {
    Err(Unusable::Damaged("bad".into()))
}

#[test]
fn a_file_has_as_many_lines_as_ends_and_what_is_behind_the_last() {
    let split = |content: &str| {
        let lines = Lines::<u32>::split(content.as_bytes()).map(|line| String::from_utf8(line.to_vec()).unwrap());
        lines.collect::<Vec<_>>()
    };
    assert_eq!(split(""), [""; 0]);
    assert_eq!(split("\n"), [""; 0], "a line end alone");
    assert_eq!(split("a"), ["a"]);
    assert_eq!(split("a\n"), ["a"]);
    assert_eq!(split("a\n\n b \r\n\u{feff}c\n"), ["a", "", "b", "c"]);
    assert_eq!(split("\n\na"), ["", "", "a"]);
}

#[test]
fn as_many_findings_are_listed_as_are_kept_and_the_others_are_counted() {
    let path = Path::new("bank");
    let told = |count: usize, unlisted| {
        let findings: Vec<_> = (1..=count).map(|line| (line, "bad".to_owned())).collect();
        sentences(path, findings.into_iter(), unlisted)
    };
    assert_eq!(told(0, 0), [""; 0]);
    assert_eq!(told(2, 0).len(), 2);
    assert!(told(2, 0)[1].contains("bank:2: bad"), "{:?}", told(2, 0));
    assert_eq!(told(MOST_LISTED, 0).len(), MOST_LISTED);
    for (count, unlisted, beyond) in [(MOST_LISTED + 1, 0, 1), (MOST_LISTED + 3, 4, 7), (1, 5, 5)] {
        let told = told(count, unlisted);
        assert_eq!(told.len(), count.min(MOST_LISTED) + 1);
        assert!(told.last().unwrap().contains(&format!("{beyond} more lines are as bad")), "{told:?}");
    }
    let mut lines = Lines::<u32>::default();
    for number in 1..=MOST_KEPT + 3 {
        assert_eq!(lines.take(number, text("x"), damaged()), None);
    }
    assert_eq!((lines.findings().len(), lines.unlisted()), (MOST_KEPT, 3));
    assert_eq!(lines.findings()[MOST_KEPT - 1].line, MOST_KEPT);
}

#[test]
fn a_line_stays_unless_it_is_damaged_or_blank() {
    let mut lines = Lines::<u32>::default();
    assert_eq!(lines.take(1, text("a"), Ok(7.into())), Some(0));
    assert_eq!(lines.take(2, text("f"), Err(Unusable::Foreign("of another".into()))), None);
    assert_eq!(lines.take(3, text(""), damaged()), None);
    assert!(!lines.is_damaged(), "a blank line is no loss");
    assert_eq!(lines.take(4, text("b"), damaged()), None);
    assert!(lines.is_damaged());
    let noted = Judged { record: 8, remark: Some((Use::Noted, "stale".into())), mended: None };
    assert_eq!(lines.take(5, text("c"), Ok(noted)), Some(2));
    assert_eq!(lines.render(), b"a\nf\nc\n");
    let told: Vec<_> = lines.findings().iter().map(|f| (f.line, f.in_use, f.record)).collect();
    let expected = [(2, Use::Kept, None), (3, Use::Noted, None), (4, Use::Lost, None), (5, Use::Noted, Some(2))];
    assert_eq!(told, expected);
    let said: Vec<_> = lines.findings().iter().map(ToString::to_string).collect();
    assert_eq!(said[0], "kept but not used: of another");
    assert_eq!(said[2], "damaged record, not used: bad");
    assert_eq!(said[3], "stale");
    assert_eq!(lines.records().copied().collect::<Vec<_>>(), [7, 8]);
    assert_eq!((lines.record(1), lines.record(2), lines.record(3)), (None, Some(&8), None));
    assert_eq!((lines.text(1), lines.text(3)), (Some(&text("f")), None));
}

#[test]
fn a_mended_line_takes_the_place_of_the_damaged_one() {
    let mut lines = Lines::<u32>::default();
    let mended = Judged { record: 1, remark: None, mended: Some(b"whole".to_vec()) };
    assert_eq!(lines.take(1, text("who1e"), Ok(mended)), Some(0));
    assert!(lines.is_damaged(), "the file is not written as it is");
    assert_eq!((lines.render(), lines.findings().len()), (b"whole\n".to_vec(), 0));
}

#[test]
fn a_record_is_put_in_its_place_or_at_the_end() {
    let mut lines = Lines::<u32>::default();
    lines.push_foreign(text("f"));
    assert_eq!(lines.put(None, text("a"), 1), 1);
    assert_eq!(lines.put(Some(1), text("b"), 2), 1);
    assert_eq!(lines.put(Some(9), text("c"), 3), 2, "no such place");
    assert_eq!(lines.render(), b"f\nb\nc\n");
    let records: Vec<_> = lines.iter().map(|(_, record)| record.copied()).collect();
    assert_eq!(records, [None, Some(2), Some(3)]);
}

#[test]
fn what_several_threads_work_on_comes_in_order() {
    for count in [0, 1, LINES_A_THREAD, 2 * LINES_A_THREAD - 1, 2 * LINES_A_THREAD, 5 * LINES_A_THREAD + 3] {
        let lines: Vec<usize> = (0..count).collect();
        let parts = by_parts(&lines, <[usize]>::to_vec);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        assert_eq!(parts.len(), threads.min(count / LINES_A_THREAD).max(1), "{count}");
        assert_eq!(parts.concat(), lines);
    }
}

#[test]
fn lines_of_a_content_are_counted_from_one() {
    let content = "a\nbc\n\nd";
    let at = |offset| LineCounter::new(content.as_bytes()).line_of(offset);
    assert_eq!([0, 1, 2, 4, 5, 6, 7].map(at), [1, 1, 2, 2, 3, 4, 4]);
    let mut on_the_way = LineCounter::new(content.as_bytes());
    assert_eq!([0, 2, 2, 6].map(|offset| on_the_way.line_of(offset)), [1, 2, 2, 4]);
    let mut parts = LineCounter::new(content.as_bytes());
    assert_eq!([&content[2..4], &content[6..]].map(|part| parts.line_of_part(part)), [2, 4]);
}

#[test]
fn a_content_that_is_no_value_is_told_by_the_line() {
    let line =
        |content: &[u8]| one_value::<serde_json::Value>(content).map(|(_, value)| value).map_err(|(line, _)| line);
    assert_eq!(line(b"{\n}"), Ok(serde_json::json!({})));
    assert_eq!(line(b"{\n]"), Err(2));
    assert_eq!(line(b"{\n\n\"\xff\"}"), Err(3));
}
