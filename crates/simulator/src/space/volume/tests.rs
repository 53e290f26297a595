//! Rules of volumes at their last byte.

use super::*;
use crate::workload::{ConvKind, Depth};
use aoe_graph::Format;

/// One volume of one plane of 16 x 16 pixels; 1008 channels become 2048.
fn conv(bias: bool) -> Conv {
    Conv {
        bias,
        format: Format::Ndc1hwc0,
        depth: Some(Depth { input: 1, output: 1, kernel: 1, stride: 1, pads: [0; 2], dilation: 1 }),
        ..Conv::image(ConvKind::Forward, 1, [1008, 2048], 16, 1)
    }
}

fn space(bias: bool) -> VolumeSpace {
    let (conv, soc) = (conv(bias), Soc::find("Ascend910B2").unwrap());
    VolumeSpace::new(&conv, problem(&conv, &soc).unwrap(), &soc, std::iter::empty())
}

/// Whether these first values are open one after the other; all are in the lists.
fn is_open(space: &VolumeSpace, values: &[u64]) -> bool {
    let index = |(parameter, value): (&Parameter, &u64)| {
        parameter.values.binary_search(value).unwrap_or_else(|_| panic!("{} has no {value}", parameter.name)) as u32
    };
    let prefix: Vec<u32> = space.parameters().iter().zip(values).map(index).collect();
    (1..=prefix.len()).all(|length| space.extends(&prefix[..length]))
}

#[test]
fn a_tile_fits_the_buffers_of_l0_and_the_table_of_biases() {
    for (bias, widest) in [(false, 1024), (true, 256)] {
        let space = space(bias);
        let list = &space.parameters()[P::NL0 as usize].values;
        assert!(list.contains(&widest) && (!bias || list.contains(&1024)));
        for &n in list {
            assert_eq!(is_open(&space, &[1, 1, 1, 1, 16, n]), n <= widest, "{n} columns, bias {bias}");
        }
        for &m in &space.parameters()[P::ML0 as usize].values {
            assert!(is_open(&space, &[1, 1, 1, 1, m]), "{m} rows of 256");
        }
        // L0C has room for 32768 results, once or twice.
        let results = |m, n, buffers| is_open(&space, &[1, 1, 1, 1, m, n, buffers]);
        assert!(results(128, 256, 1) && !results(128, 256, 2) && results(64, 256, 2) && !results(144, 256, 1));
    }
}

#[test]
fn l1_holds_panels_and_the_whole_bias() {
    let (plain, biased) = (space(false), space(true));
    assert_eq!(plain.platform.l1, 512 << 10);
    let tile = [1, 1, 1, 1, 16, 256, 1];
    let open = |space: &VolumeSpace, rest: &[u64]| is_open(space, &[&tile[..], rest].concat());
    // 256 columns of all 1008 are 516096 bytes, 16 rows of 16 are 512; the bias of 2048 channels has 8192.
    assert!(open(&plain, &[16, 1008]) && !open(&biased, &[16, 1008]));
    assert!(open(&plain, &[16, 336]) && open(&biased, &[16, 336]));
    // 16 rows of 336 are 10752 more than L1 has left.
    assert!(!open(&plain, &[336, 1008]));
    // One depth is a multiple of the other.
    assert!(open(&plain, &[336, 336]) && open(&plain, &[16 * 7, 336]) && !open(&plain, &[16 * 9, 336]));
    // Two buffers of 336 are 344064 bytes.
    assert!(open(&plain, &[16, 336, 16, 0, 1, 1, 2]) && !open(&plain, &[16, 336, 16, 0, 1, 2, 2]));
}

#[test]
fn no_more_tasks_are_dealt_than_there_are_cores() {
    let space = space(false);
    let dealt = |values: &[u64]| is_open(&space, values);
    assert!(dealt(&[1, 1, 8, 2]) && dealt(&[1, 1, 1, 16]) && !dealt(&[1, 1, 16, 2]));
    assert!(dealt(&[1, 1, 4, 4]) && !dealt(&[1, 1, 8, 4]));
}

#[test]
fn an_index_beyond_a_list_is_taken_for_its_last() {
    let space = space(true);
    let beyond = vec![u32::MAX; space.parameters().len()];
    let last: Vec<u32> = space.parameters().iter().map(|parameter| parameter.values.len() as u32 - 1).collect();
    assert_eq!(space.values(&beyond), space.values(&last));
    assert_eq!(space.values(&[]), [0; POSITIONS.len()]);
}
