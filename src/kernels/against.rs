//! The kernels expected beside those that a profile has.

use super::listing::Listing;
use super::measured::{Blocks, Counted, Measured};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How far a listing and a profile agree.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// The profile's files.
    pub files: Vec<PathBuf>,
    /// Runs of the network in it; counts and times below are of one.
    pub runs: u64,
    /// Kernels expected and found.
    pub kernels: [f64; 2],
    /// Their microseconds, predicted and measured.
    pub us: [f64; 2],
    /// Share of the kernels on either side that the other one has too, by type: 1 where all counts agree.
    pub agreeing_share: f64,
    /// Share of the profile's time that is in kernels which were expected, 0 to 1.
    pub covered_share: f64,
    /// Share of the launches found, of those whose blocks the profile tells, that are expected in as many: where it falls short, the
    /// device cuts kernels otherwise than the default tilings that are priced. None where the profile tells none.
    pub same_blocks_share: Option<f64>,
    /// One row for each type, those with most measured time first.
    pub types: Vec<Row>,
}

/// One operator type on both sides.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The type.
    #[serde(rename = "type")]
    pub op_type: String,
    /// Launches expected and found in one run.
    pub count: [f64; 2],
    /// Microseconds predicted and measured in one run.
    pub us: [f64; 2],
    /// Whether the counts are the same.
    pub agrees: bool,
    /// Share of the launches found that are expected in as many blocks; none where the profile does not tell.
    pub same_blocks_share: Option<f64>,
}

impl Comparison {
    /// Holds a listing beside a profile.
    pub fn of(listing: &Listing, measured: Measured) -> Comparison {
        let mut rows: BTreeMap<String, [Counted; 2]> = BTreeMap::new();
        let mut blocks: BTreeMap<&str, Blocks> = BTreeMap::new();
        for kernel in &listing.kernels {
            *blocks.entry(&kernel.signature.op_type).or_default().entry(kernel.blocks.into()).or_default() += 1.0;
            let expected = &mut rows.entry(kernel.signature.op_type.clone()).or_default()[0];
            expected.count += 1.0;
            expected.us += kernel.us;
        }
        for (op_type, counted) in measured.types {
            rows.entry(op_type).or_default()[1] = counted;
        }
        let sum = |of: fn(&Counted) -> f64, side: usize| rows.values().map(|row| of(&row[side])).sum::<f64>();
        let (kernels, us) = ([0, 1].map(|side| sum(|c| c.count, side)), [0, 1].map(|side| sum(|c| c.us, side)));
        let common = |[a, b]: &[Counted; 2]| a.count.min(b.count);
        let shared: f64 = rows.values().map(common).sum();
        let covered =
            |row: &[Counted; 2]| if row[1].count > 0.0 { row[1].us * common(row) / row[1].count } else { 0.0 };
        let covered: f64 = rows.values().map(covered).sum();
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        // Launches in as many blocks, and all of which blocks are told.
        let alike = |op_type: &str| -> [f64; 2] {
            let (expected, found) = (blocks.get(op_type), measured.blocks.get(op_type));
            let common =
                |(count, found): (&u64, &f64)| expected.and_then(|of| of.get(count)).map_or(0.0, |of| of.min(*found));
            [found.map_or(0.0, |of| of.iter().map(common).sum()), found.map_or(0.0, |of| of.values().sum())]
        };
        let share = |[same, told]: [f64; 2]| (told > 0.0).then(|| same / told);
        let all = measured.blocks.keys().map(|op_type| alike(op_type)).fold([0.0; 2], |[a, b], [c, d]| [a + c, b + d]);
        let row = |(op_type, sides): (String, [Counted; 2])| {
            let same_blocks_share = share(alike(&op_type));
            Row { same_blocks_share, ..Row::of(op_type, sides) }
        };
        let mut types: Vec<Row> = rows.into_iter().map(row).collect();
        types.sort_by(|a, b| b.us[1].total_cmp(&a.us[1]).then_with(|| b.us[0].total_cmp(&a.us[0])));
        Comparison {
            files: measured.files,
            runs: measured.runs,
            agreeing_share: ratio(shared, kernels[0].max(kernels[1])),
            covered_share: ratio(covered, us[1]),
            same_blocks_share: share(all),
            kernels,
            us,
            types,
        }
    }

    /// Whether both sides have the same types, each as often.
    pub fn agrees(&self) -> bool {
        self.types.iter().all(|row| row.agrees)
    }
}

impl Row {
    fn of(op_type: String, [expected, found]: [Counted; 2]) -> Row {
        // Profiles that begin or end within a run have fractions.
        let agrees = (expected.count - found.count).abs() < 1e-9;
        let (count, us) = ([expected.count, found.count], [expected.us, found.us]);
        Row { op_type, count, us, agrees, same_blocks_share: None }
    }
}
