//! Two processes that record for one workload: which of the two records is left.

use super::*;
use std::path::Path;

/// One that read the bank before another saved there, and saves afterwards; which L0 k is left.
fn left(ours: &Measured, theirs: &Measured, their_soc: &Soc) -> u32 {
    let storage = Arc::new(memory::Memory::default());
    let open = |soc: &Soc| OperatorBank::with_storage(paths(), soc, storage.clone(), "2026-01-02".into());
    let (mut our_bank, mut their_bank) = (open(&soc()), open(their_soc));
    our_bank.record(&product_of(256), &tiling(256, 64), ours).unwrap();
    their_bank.record(&product_of(256), &tiling(256, 32), theirs).unwrap();
    their_bank.save().unwrap();
    our_bank.save().unwrap();
    let entry = open(&soc()).lookup(&product_of(256)).unwrap().unwrap();
    let Schedule::Cube(schedule) = entry.schedule else { panic!("a product has a cube schedule") };
    schedule.l0.k_a
}

#[test]
fn what_was_written_meanwhile_stays_where_it_was_measured_alike_and_is_no_slower() {
    let (ours, theirs) = (64, 32);
    assert_eq!(left(&measured(5.0), &measured(4.0), &soc()), theirs);
    assert_eq!(left(&measured(5.0), &measured(5.0), &soc()), theirs);
    assert_eq!(left(&measured(5.0), &measured(6.0), &soc()), ours);
    // Times of another backend or of a part that is described otherwise do not compare.
    let device = Measured { backend: "ascend".into(), ..measured(4.0) };
    assert_eq!(left(&measured(5.0), &device, &soc()), ours);
    let mut slower = soc();
    slower.hbm_gb_s *= 0.5;
    assert_eq!(left(&measured(5.0), &measured(4.0), &slower), ours);
}

#[test]
fn the_record_of_a_workload_stands_in_the_file_of_its_operator() {
    let bank = bank(&Arc::new(memory::Memory::default()));
    assert_eq!(bank.file_name(&product_of(256)), FILE);
    assert_eq!(bank.file_name(&gelu()), "Ascend910B2_24_AiCore_Gelu_aoe_kb.json");
    let name = bank.record_name(&product_of(256)).unwrap();
    assert!(name.starts_with(FILE) && name.len() == FILE.len() + 17, "{name}");
    // Sizes that are rounded to one share their record, and not with one that needs no rounding.
    let shared = bank.record_name(&product_of(255)).unwrap();
    assert_eq!(bank.record_name(&product_of(241)).unwrap(), shared);
    assert!(shared != name && shared != bank.record_name(&product_of(257)).unwrap());
}

#[test]
fn of_workloads_that_share_a_record_the_one_that_gains_more_keeps_it() {
    let storage = Arc::new(memory::Memory::default());
    let mut bank = bank(&storage);
    let recorded = |bank: &OperatorBank| {
        let entry = bank.lookup(&product_of(255)).unwrap().unwrap();
        assert_eq!(entry.source, Path::new(DIRECTORY).join(FILE));
        entry.measured.unwrap().after_us
    };
    bank.record(&product_of(255), &tiling(256, 64), &measured(5.0)).unwrap();
    bank.record(&product_of(241), &tiling(256, 32), &measured(4.0)).unwrap();
    assert_eq!(recorded(&bank), 5.0, "4 us are less than 5");
    bank.record(&product_of(241), &tiling(256, 32), &measured(6.0)).unwrap();
    assert_eq!(recorded(&bank), 6.0);
    // For one workload the last word counts.
    bank.record(&product_of(241), &tiling(256, 64), &measured(1.0)).unwrap();
    assert_eq!(recorded(&bank), 1.0);
}
