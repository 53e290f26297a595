//! Records of near workloads.

use super::*;

fn keep(bank: &mut OperatorBank, workload: &Workload, schedule: &Schedule) {
    bank.record(workload, schedule, &measured(1.0)).unwrap();
}

#[test]
fn the_nearest_come_first_and_the_workload_itself_never() {
    let storage = Arc::new(memory::Memory::default());
    let mut writer = bank(&storage);
    for (m, base_k) in [(256, 64), (512, 32), (1024, 16), (128 * 64, 64)] {
        keep(&mut writer, &product_of(m), &tiling(m, base_k));
    }
    assert_eq!(writer.neighbours(&product_of(512), 9).unwrap(), [], "what is not saved is not known yet");
    writer.save().unwrap();
    let bank = bank(&storage);
    let base_k = |m, count| {
        let near = bank.neighbours(&product_of(m), count).unwrap();
        near.iter().map(|s| if let Schedule::Cube(s) = s { s.l0.k_a } else { 0 }).collect::<Vec<_>>()
    };
    assert_eq!(base_k(272, 9), [64, 32, 16], "by distance, without the one 32 times as large");
    assert_eq!(base_k(272, 2), [64, 32]);
    assert_eq!(base_k(512, 1), [64], "half or twice, and one added: the half is a little nearer");
}

#[test]
fn each_neighbour_is_as_it_is_for_its_own_shape() {
    let storage = Arc::new(memory::Memory::default());
    let mut writer = bank(&storage);
    keep(&mut writer, &product_of(384), &tiling(384, 64));
    writer.save().unwrap();
    assert_eq!(bank(&storage).neighbours(&product_of(1000), 3).unwrap(), [tiling(384, 64)]);
}

#[test]
fn our_own_records_have_neighbours_too() {
    let storage = Arc::new(memory::Memory::default());
    let of = |rows: u64, op_type: &str, dtype| {
        let operand = crate::workload::Operand::new([rows, 1024], dtype);
        Workload::Vector(Vector { op_type: op_type.into(), inputs: vec![operand.clone()], outputs: vec![operand] })
    };
    let mut writer = bank(&storage);
    keep(&mut writer, &gelu(), &vector_tiling(4));
    keep(&mut writer, &of(16, "Gelu", DataType::Float), &vector_tiling(5));
    writer.save().unwrap();
    let bank = bank(&storage);
    assert_eq!(bank.neighbours(&of(16, "Gelu", DataType::Float16), 3).unwrap(), [vector_tiling(4)]);
    assert_eq!(bank.neighbours(&of(16, "Erf", DataType::Float16), 3).unwrap(), []);
    assert_eq!(bank.neighbours(&of(80, "Gelu", DataType::Float16), 3).unwrap(), [], "ten times as large");
}

#[test]
fn a_neighbour_among_convolutions_is_as_it_is_for_its_own_images() {
    let soc = Soc::find("Ascend950PR_9579").unwrap();
    let image = |batch| Workload::Conv(conv2d::image(batch));
    let storage = Arc::new(memory::Memory::default());
    let open = || OperatorBank::with_storage(paths(), &soc, storage.clone(), "2026-01-02".into());
    let schedule = Schedule::Cube(conv2d::rows().schedule(&conv2d::image(4)).unwrap());
    let mut writer = open();
    keep(&mut writer, &image(4), &schedule);
    writer.save().unwrap();
    assert_eq!(open().neighbours(&image(3), 3).unwrap(), [schedule]);
}
