//! What a tiling lays into the buffers of a core, worked out by hand: products, and images of which L1 holds the rows that a
//! panel's pixels are made of.

use super::*;

fn bytes_of(w: &Workload, s: CubeSchedule) -> [u64; 4] {
    let found = held(w, &Schedule::Cube(s), &b2());
    assert_eq!(found.iter().map(|held| held.buffer).collect::<Vec<_>>(), ["L1", "L0A", "L0B", "L0C"]);
    std::array::from_fn(|i| found[i].bytes)
}

#[test]
fn tiles_of_a_product_take_all_their_copies() {
    let w = Workload::MatMul(product());
    assert_eq!(bytes_of(&w, full()), [512 << 10, 32 << 10, 64 << 10, 128 << 10]);
    // A second tile of L0C that does not fit is one that the kernel does without.
    assert_eq!(bytes_of(&w, changed(|s| s.buffers.l0_c = 2))[3], 128 << 10);
    let mut half = tile(64, 256, 16);
    half.buffers.l0_c = 2;
    assert_eq!(bytes_of(&w, half), [(64 + 256) * 16 * 4, 64 * 16 * 4, 256 * 16 * 4, 128 << 10]);
    let biased = Workload::MatMul(MatMul { bias: true, ..product() });
    assert_eq!(bytes_of(&biased, full())[0], (512 << 10) + 1024);
    // A that stays: rows to whole tiles, k to whole fractals.
    let stays = changed(|s| (s.l1_a, s.single.m, s.single.k) = (L1Tile::FULL, 130, 1000));
    assert_eq!(bytes_of(&w, stays)[0], 256 * 1008 * 2 + (256 << 10));
}

#[test]
fn whole_products_come_as_they_are() {
    // Two products of 40 x 24 by 24 x 70 a task: rows to fractals, though tiles reach beyond.
    let w = MatMul { batch: 2, ..MatMul::new(40, 24, 70) };
    let s = changed(|s| {
        s.single = Extents { batch: 2, m: 40, n: 70, k: 24 };
        s.l1_a = L1Tile::Panel(Panel { k: 64, tiles: 1, batch: 2 });
        s.l1_b = L1Tile::panel(64, 1);
    });
    assert_eq!(bytes_of(&Workload::MatMul(w.clone()), s.clone())[0], 48 * 32 * 2 * 2 * 2 + 80 * 32 * 2 * 2);
    // TBE brings whole tiles, and so does a task of one product.
    let tbe = Workload::MatMul(MatMul { kernel: MatMulKernel::Tbe, ..w.clone() });
    assert_eq!(bytes_of(&tbe, s.clone())[0], 128 * 64 * 2 * 2 * 2 + 256 * 64 * 2 * 2);
    let one = CubeSchedule { single: Extents { batch: 1, ..s.single }, ..s };
    assert_eq!(bytes_of(&Workload::MatMul(w), one)[0], 128 * 64 * 2 * 2 * 2 + 256 * 64 * 2 * 2);
}

/// 64 to 64 channels of 56 x 56 pixels, 3 x 3 taps.
fn image() -> Conv {
    Conv::image(ConvKind::Forward, 4, [64, 64], 56, 3)
}

/// Two rows of pixels, and a block of channels with its taps.
fn two_rows() -> CubeSchedule {
    changed(|s| {
        s.l0 = L0Tile { m: 112, n: 64, k_a: 48, k_b: 48 };
        (s.l1_a, s.l1_b) = (L1Tile::panel(144, 1), L1Tile::panel(144, 1));
        s.single = Extents { batch: 1, m: 224, n: 64, k: 576 };
    })
}

/// Bytes of the image; of the weights there are always as many.
fn of_image(w: Conv, s: CubeSchedule) -> u64 {
    bytes_of(&Workload::Conv(w), s)[0] - 144 * 64 * 2 * 2
}

#[test]
fn l1_holds_the_rows_of_an_image_that_pixels_are_made_of() {
    // Pixels that begin and end within a row lie in four, made of six; 16 channels, two buffers.
    assert_eq!(of_image(image(), two_rows()), 6 * 56 * 16 * 2 * 2);
    // Every other row, and taps two apart: 3 x 2 + 5 rows.
    let sparse = Conv { hi: 112, stride: [2, 1], dilation: [2, 1], ..image() };
    assert_eq!(of_image(sparse, two_rows()), 11 * 56 * 16 * 2 * 2);
    // Two tiles of rows.
    let twice = CubeSchedule { l1_a: L1Tile::panel(144, 2), ..two_rows() };
    assert_eq!(of_image(image(), twice), 8 * 56 * 16 * 2 * 2);
    // More channels than one block.
    let deep = CubeSchedule { l1_a: L1Tile::panel(288, 1), ..two_rows() };
    assert_eq!(of_image(image(), deep), 6 * 56 * 32 * 2 * 2);
    // All of a task's pixels and channels, once.
    let stays = CubeSchedule { l1_a: L1Tile::FULL, ..two_rows() };
    assert_eq!(of_image(image(), stays), 8 * 56 * 64 * 2);
    // Pixels of three images of 7 x 7, no more rows of each than there are.
    let small = Conv { hi: 7, wi: 7, ho: 7, wo: 7, ..image() };
    assert_eq!(of_image(small, two_rows()), 3 * 7 * 7 * 16 * 2 * 2);
    // Never more than what the panel's pixels would be by themselves.
    let wide = Conv { wi: 560, ..image() };
    assert_eq!(of_image(wide, two_rows()), 112 * 144 * 2 * 2);
    // Of gradients no side is made of images.
    let backward = Conv { kind: ConvKind::BackpropFilter, ..image() };
    assert_eq!(of_image(backward, two_rows()), 112 * 144 * 2 * 2);
}
