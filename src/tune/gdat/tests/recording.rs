//! Recordings: the rule for times, and what is none.

use crate::graph::DataType;
use crate::tune::gdat::recording::{Profile, Wrong, combine, parse_summary, summary_text};
use crate::tune::gdat::{Gradient, Training};
use proptest::prelude::*;

const HEADER: &str = "loop,modelName,opName,opType,taskStartTime,taskEndTime\n";

/// Runs of two gradients: when the second starts after the first ended.
fn profile(pauses: &[u64]) -> String {
    let run = |(number, pause): (usize, &u64)| {
        let start = 1000 * number as u64;
        let trace = |name: &str, from: u64| format!("{number},g,{name},TensorRedirect,{from},{}\n", from + 10);
        let other = format!("{number},g,conv,Conv2D,{},{}\n", start + 5, start + 400);
        trace("a_TensorRedirect", start) + &other + &trace("b_TensorRedirect", start + 10 + pause)
    };
    HEADER.to_owned() + &pauses.iter().enumerate().map(run).collect::<String>()
}

fn gradient(name: &str, bytes: u64) -> Gradient {
    Gradient {
        node: format!("{name}_grad"),
        all_reduce: name.to_owned(),
        dtype: DataType::Float,
        bytes,
        group: "hccl_world_group".to_owned(),
    }
}

fn summary() -> String {
    summary_text(b"", &[gradient("b", 4004), gradient("a", 92)], "g").unwrap()
}

fn read(profile: &str, summary: &str) -> Result<Training, Wrong> {
    let measured = Profile::parse(profile.as_bytes())?;
    let rows = parse_summary(summary.as_bytes(), &measured.model)?;
    combine(&rows, measured).map_err(|reason| (None, reason))
}

#[test]
fn times_are_the_mean_of_all_runs_but_the_three_slowest() {
    let training = read(&profile(&[100, 103, 500, 600, 700]), &summary()).unwrap();
    assert_eq!(training.times_ns, [500, 101], "the mean is cut off; the first is when it started");
    assert_eq!(training.gradients, [gradient("a", 92), gradient("b", 4004)], "in the order of the profile");
    let step = training.step();
    assert_eq!((step.ready_us, step.bytes, step.backward_us), (vec![0.0, 0.101], vec![92, 4004], 0.101));
}

#[test]
fn noise_is_told_from_quiet_runs() {
    let noisy = |pauses: &[u64]| Profile::parse(profile(pauses).as_bytes()).unwrap().is_noisy;
    assert!(!noisy(&[100, 101, 102, 103, 900, 900, 900]));
    assert!(noisy(&[100, 110, 120, 130, 900, 900, 900]));
}

#[test]
fn what_is_no_recording_is_named_with_its_line() {
    let good = profile(&[100; 5]);
    let all = |from: &str, to: &str| good.replace(from, to);
    let one = |from: &str, to: &str| good.replacen(from, to, 1);
    for (profile, line, said) in [
        (profile(&[100; 3]), None, "3 loops"),
        (String::new(), Some(1), "no column `loop`"),
        (one("loop,", "loop,loop,"), Some(1), "two columns `loop`"),
        (all("b_TensorRedirect", "a_TensorRedirect"), None, "`a_TensorRedirect` twice"),
        (
            one("0,g,b_TensorRedirect,TensorRedirect,110,120", "0,g,b_TensorRedirect,TensorRedirect,110,1001"),
            None,
            "loop 1 starts at 1000, before loop 0 ends at 1001",
        ),
        (
            HEADER.to_owned() + &["0", "1", "2", "3"].map(|run| format!("{run},g,a,TensorRedirect,7,7\n")).concat(),
            None,
            "no time passes",
        ),
        (HEADER.to_owned(), None, "no task"),
        (one("taskEndTime", "end"), Some(1), "no column `taskEndTime`"),
        (one("0,g,conv,Conv2D,5,400", "0,g,conv,Conv2D,NaN,400"), Some(3), "`NaN` is no time"),
        (one("0,g,conv,Conv2D,5,400", "0,g,conv,Conv2D,-5,400"), Some(3), "`-5` is no time"),
        (one("0,g,conv,Conv2D,5,400", "0,g,conv,Conv2D,5,4"), Some(3), "before it starts"),
        (one("1,g,conv,Conv2D,1005,1400", "1,g,conv,Conv2D,999,1400"), Some(6), "before the one above it"),
        (
            one("0,g,b_TensorRedirect,TensorRedirect,110,120", "0,g,b_TensorRedirect,TensorRedirect,9,20"),
            Some(4),
            "before the last one ends",
        ),
        (one("0,g,conv,Conv2D,5,400", "0,other,conv,Conv2D,5,400"), Some(3), "graph `other`"),
        (all("\n3,", "\n7,"), Some(11), "loop 7 follows loop 2"),
        (all("\n0,", "\nx,"), Some(2), "`x` is no number of a loop"),
        (one("0,g,conv,Conv2D,5,400", "0,g,conv"), Some(3), "fields"),
        (one("4,g,b_TensorRedirect,TensorRedirect", "4,g,b,Identity"), None, "loop 4 has 1 trace tasks"),
        (one("4,g,b_TensorRedirect", "4,g,c_TensorRedirect"), None, "`c_TensorRedirect`"),
        (all("TensorRedirect,TensorRedirect", "x,Identity").replace("_x", ""), None, "no task of type"),
        (all("b_TensorRedirect", "c_TensorRedirect"), None, "`c_TensorRedirect` is not in the summary"),
        (all(",g,", ",h,"), None, "no gradient of graph `h`"),
    ] {
        let (at, reason) = read(&profile, &summary()).unwrap_err();
        assert!(at == line && reason.contains(said), "{said}: {at:?} {reason}");
    }
}

#[test]
fn what_is_no_summary_is_named_with_its_line() {
    let profile = profile(&[100; 5]);
    let one = |from: &str, to: &str| summary().replacen(from, to, 1);
    for (summary, line, said) in [
        (one("4004", "x"), Some(2), "`x` is no number of bytes"),
        (one("4004", "0"), Some(2), "`0` is no number of bytes"),
        (one("4004", "18446744073709551615"), Some(2), "more than 1125899906842624 bytes"),
        (one("92", "1125899906842624"), Some(3), "more than 1125899906842624 bytes"),
        (one("float32", "float"), Some(2), "`float` is no type"),
        (one("b_TensorRedirect", "a_TensorRedirect"), Some(3), "has a row already, on line 2"),
        (one("graph_id", "graph"), Some(1), "no column `graph_id`"),
        (one("92,float32,g,", "92,float32,h,"), None, "a run has 2 trace tasks, the summary 1"),
    ] {
        let (at, reason) = read(&profile, &summary).unwrap_err();
        assert!(at == line && reason.contains(said), "{said}: {at:?} {reason}");
    }
    assert!(read(&profile, &format!("\u{feff}{}", summary().replace('\n', "\r\n"))).is_ok());
}

#[test]
fn gradients_of_two_types_or_groups_are_two_sets() {
    for (from, to) in [("float32", "float16"), ("hccl_world_group", "other")] {
        let training = read(&profile(&[100; 5]), &summary().replacen(from, to, 1)).unwrap();
        let members: Vec<_> = training.sets().into_iter().map(|set| set.members).collect();
        assert_eq!(members, [[0], [1]], "{to}");
    }
}

#[test]
fn the_summary_has_canns_columns() {
    let lines: Vec<_> = summary().lines().map(str::to_owned).collect();
    let header =
        "No,gradient_size(byte),data_type,graph_id,group_name,gradient_node_name,trace_node_name,allreduce_node_name";
    assert_eq!(
        lines,
        [
            header,
            "1,4004,float32,g,hccl_world_group,b_grad,b_TensorRedirect,b",
            "2,92,float32,g,hccl_world_group,a_grad,a_TensorRedirect,a",
        ]
    );
}

#[test]
fn a_summary_keeps_what_it_has_of_other_graphs_and_nothing_else() {
    let text = |before: &str, gradient: Gradient, graph| summary_text(before.as_bytes(), &[gradient], graph).unwrap();
    let two = text(&summary(), gradient("c", 8), "h");
    let again = text(&two, gradient("d", 16), "g");
    let rows: Vec<_> = again.lines().skip(1).collect();
    assert_eq!(
        rows,
        [
            "1,8,float32,h,hccl_world_group,c_grad,c_TensorRedirect,c",
            "2,16,float32,g,hccl_world_group,d_grad,d_TensorRedirect,d"
        ]
    );
    let (line, reason) = summary_text(b"my,table\n1,2\n", &[], "g").unwrap_err();
    assert!(line == Some(1) && reason.contains("no column"), "{reason}");
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(content in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Profile::parse(&content);
        let _ = parse_summary(&content, "g");
    }

    #[test]
    fn a_changed_recording_is_read_or_refused(at in 0usize..400, byte in any::<u8>(), pauses in prop::collection::vec(0u64..1000, 4..8)) {
        let mut text = profile(&pauses).into_bytes();
        let at = at % text.len();
        text[at] = byte;
        if let Ok(read) = Profile::parse(&text) {
            prop_assert_eq!(read.times_ns.len(), read.traces.len());
            prop_assert!(!read.traces.is_empty());
        }
    }

    #[test]
    fn a_summary_that_is_written_is_read_again(sizes in prop::collection::vec(1u64..1 << 45, 1..20)) {
        let gradients: Vec<_> = (0..).zip(&sizes).map(|(i, &bytes)| gradient(&format!("g,\"{i}"), bytes)).collect();
        let rows = parse_summary(summary_text(b"", &gradients, "net").unwrap().as_bytes(), "net").unwrap();
        prop_assert_eq!(rows.into_iter().map(|row| row.gradient).collect::<Vec<_>>(), gradients);
    }
}
