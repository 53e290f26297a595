//! Descriptions of clusters, and what CANN's rule makes of bank entries on them.

use crate::bank::gradient::Gradients;
use crate::sim::collective::Algorithm;
use crate::soc::Soc;
use crate::tune::gdat::{Cluster, from_bank};
use proptest::prelude::*;

const TWO_NODES: &str = r#"{
    "devices_per_node": 8, "nodes": 2,
    "node": {"links": 4, "gb_s": 14, "step_us": 10.5, "start_us": 101.2},
    "network": {"links": 1, "gb_s": 10, "algorithm": "halving_doubling", "reduce_gb_s": 200},
    "contention": {"compute_slowdown": 0.1, "exchange_slowdown": 0.2}
}"#;

#[test]
fn a_description_is_read_and_written_again() {
    let cluster = Cluster::parse(TWO_NODES).unwrap();
    assert_eq!(cluster.devices(), 16);
    // The ring of a node is open, the network's algorithm is not.
    let algorithms: Vec<Vec<Algorithm>> =
        cluster.exchanges().iter().map(|way| way.levels.iter().map(|level| level.algorithm).collect()).collect();
    let halving = Algorithm::HalvingDoubling;
    assert_eq!(algorithms, [[Algorithm::Ring, halving], [halving, halving]]);
    let text = serde_json::to_string(&cluster).unwrap();
    assert_eq!(Cluster::parse(&text).unwrap(), cluster);
    assert_eq!(Cluster::parse(&serde_json::to_string(&Cluster::default()).unwrap()).unwrap(), Cluster::default());
}

#[test]
fn what_describes_no_cluster_is_named_by_its_field() {
    let with = |from: &str, to: &str| TWO_NODES.replacen(from, to, 1);
    for (text, said) in [
        ("", "EOF"),
        ("[]", "invalid length 0"),
        (&*with("\"nodes\": 2,", ""), "missing field `nodes`"),
        (&*with("\"links\": 4", "\"links\": 0"), "`node.links` is 0: nothing can be exchanged"),
        (&*with("\"links\": 1", "\"links\": 0"), "`network.links` is 0"),
        (&*with("\"links\": 1", "\"links\": -1"), "`network.links`"),
        (&*with("\"gb_s\": 14", "\"gb_s\": 0"), "`node.gb_s` is 0"),
        (&*with("\"gb_s\": 14", "\"gb_s\": NaN"), "`node.gb_s`"),
        (&*with("\"gb_s\": 14", "\"gb_s\": 1e999"), "`node.gb_s`"),
        (&*with("\"step_us\": 10.5", "\"step_us\": -1"), "`node.step_us` is -1"),
        (&*with("\"start_us\": 101.2", "\"start\": 1"), "`node.start`: unknown field"),
        (&*with("halving_doubling", "mesh"), "`network.algorithm`"),
        (&*with("\"nodes\": 2", "\"nodes\": 0"), "`nodes` is 0"),
        (&*with("\"devices_per_node\": 8, \"nodes\": 2", "\"devices_per_node\": 1, \"nodes\": 1"), "one device"),
        (&*with("\"nodes\": 2", "\"nodes\": 1048576"), "more than 1048576"),
        (&*with("0.1", "10"), "longer than one after the other"),
        (&*with("0.1", "-0.1"), "`contention.compute_slowdown` is -0.1"),
        (&*format!("{TWO_NODES} x"), "trailing"),
        (r#"{"devices_per_node": 8, "nodes": 2, "node": {"links": 1, "gb_s": 1}}"#, "no `network`"),
    ] {
        let (_, reason) = Cluster::parse(text).unwrap_err();
        assert!(reason.contains(said), "{said}: {reason}");
    }
    assert_eq!(Cluster::parse(&TWO_NODES.replace("14,", "false,")).unwrap_err().0, Some(3), "the line is told");
}

#[test]
fn an_exchange_that_is_not_said_to_disturb_takes_its_share_of_the_memory() {
    let soc = Soc::find("Ascend910B2").unwrap();
    let described = Cluster::parse(TWO_NODES).unwrap();
    assert_eq!(described.contention_on(&soc), described.contention.unwrap());
    let share = 1.5 * 56.0 / soc.hbm_gb_s;
    let derived = Cluster::default().contention_on(&soc);
    assert!((derived.compute_slowdown - share / (1.0 - share)).abs() < 1e-12);
    assert_eq!(derived.exchange_slowdown.to_bits(), 0.0f64.to_bits());
}

/// A backward pass whose large gradients come first, as deep networks have it.
fn entry(gradients: usize) -> Gradients {
    Gradients {
        time: (0..gradients).map(|i| 40_000 + 500 * (i as u64 % 7)).collect(),
        size: (0..gradients).map(|i| 4 * 1024 * (1 + gradients as u64 - i as u64)).collect(),
    }
}

#[test]
fn cann_cuts_where_what_became_ready_meanwhile_ends() {
    // Two devices: C(x) = 0.1222 + x / 56 ms for x MiB, startup 0.0222 ms. One MiB costs 0.14006 ms, so that after the
    // first gradient those of the next 0.16226 ms go with the second exchange.
    let mib = 1 << 20;
    let entry = Gradients { time: vec![5, 100_000, 60_000, 100_000], size: vec![mib; 4] };
    // Trailing times: one segment 0.1936; {1,3,4} ends 0.1401 + 0.1579 + 0.1401 - 0.26 = 0.1781; from the
    // second on {2,4}: 0.1579 + 0.1 + 0.1579 - 0.26 = 0.1558; from the third {3,4}: 0.1758 + 0.16 + 0.1401 - 0.26 = 0.2159.
    assert_eq!(from_bank(&entry, &Cluster::of_devices(2)), Some(vec![2, 4]));
}

#[test]
fn cann_keeps_its_default_where_nothing_beats_one_segment() {
    let entry = Gradients { time: vec![1, 1, 1], size: vec![100; 3] };
    assert_eq!(from_bank(&entry, &Cluster::default()), None);
    assert_eq!(from_bank(&Gradients { time: vec![1], size: vec![1] }, &Cluster::default()), None);
    assert_eq!(from_bank(&Gradients { time: vec![1, 2], size: vec![1] }, &Cluster::default()), None);
}

#[test]
fn more_devices_in_a_server_need_more_segments_as_in_canns_rule() {
    let segments = |devices| from_bank(&entry(160), &Cluster::of_devices(devices)).map_or(1, |ends| ends.len());
    assert!(segments(2) > 1 && segments(2) <= segments(8) && segments(8) <= 8);
}

proptest! {
    #[test]
    fn any_bytes_are_a_cluster_or_refused(text in ".{0,200}") {
        let _ = Cluster::parse(&text);
    }

    #[test]
    fn a_changed_description_is_read_with_sound_numbers_or_refused(at in 0usize..400, byte in 0x20u8..0x7f) {
        let mut text = TWO_NODES.as_bytes().to_vec();
        let at = at % text.len();
        text[at] = byte;
        if let Ok(cluster) = Cluster::parse(std::str::from_utf8(&text).unwrap()) {
            prop_assert!(cluster.devices() > 1);
            for way in cluster.exchanges() {
                prop_assert!(way.cost.us(1e9).is_finite() && way.cost.us_per_byte >= 0.0 && way.cost.start_us >= 0.0);
            }
        }
    }

    #[test]
    fn what_cann_takes_from_a_bank_is_a_split_of_all_gradients(
        list in prop::collection::vec((0u64..2_000_000, 0u64..40_000_000), 2..60), devices in 2u64..40,
    ) {
        let entry = Gradients { time: list.iter().map(|g| g.0).collect(), size: list.iter().map(|g| g.1).collect() };
        if let Some(ends) = from_bank(&entry, &Cluster::of_devices(devices)) {
            prop_assert!((2..=8).contains(&ends.len()));
            prop_assert!(ends[0] > 0 && ends.windows(2).all(|pair| pair[0] < pair[1]));
            prop_assert_eq!(ends.last(), Some(&list.len()));
        }
    }
}
