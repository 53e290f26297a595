//! What the busiest core does under a record: the sizes of the three kernels, and how often what moves.

use crate::workload::{ConvKind, ConvRecord};

/// Rows and columns of a fractal.
const FRACTAL: f64 = 16.0;
/// Bytes of a partial sum.
const SUM_BYTES: f64 = 4.0;
/// Bytes a cycle that loads into L0A and L0B are counted at.
const L0_RATES: [f64; 2] = [512.0, 256.0];
/// Strides between the pixels of a fractal that im2col steps over evenly; at others each pixel is taken by itself.
const EVEN_STRIDES: [u64; 4] = [1, 2, 4, 8];

fn cut(whole: f64, parts: f64) -> f64 {
    (whole / parts).ceil()
}

fn up(x: f64, step: f64) -> f64 {
    cut(x, step) * step
}

/// The product that a kernel is, and the images that its operands are made from.
struct Sizes {
    /// Images, and planes or blocks of channels of each.
    images: f64,
    inner: f64,
    m: f64,
    n: f64,
    k: f64,
    taps: f64,
    depth_taps: f64,
    /// Pixels and width of the image that im2col reads.
    pixels: f64,
    width: f64,
    /// Rows of m (of k in the filter's gradient), and their width.
    rows: f64,
    row: f64,
    channels: f64,
    kh: f64,
    stride: f64,
    /// Distance of neighbouring results in the image.
    step: u64,
    /// Pixels of the spread gradient for each of the stored one.
    spread: f64,
    out_bytes: f64,
    /// Bytes of A, B and C.
    operands: [f64; 3],
    /// Share of depth taps that meet data.
    meeting: f64,
    /// The input's gradient: the gradient is spread by the stride, and every tap of it is read.
    backward: bool,
}

impl Sizes {
    fn of(r: &ConvRecord, element: f64, k0: f64) -> Sizes {
        let c = &r.conv;
        let f = |n: u64| n as f64;
        let depth = c.depth.unwrap_or(crate::workload::Depth {
            input: 1,
            output: 1,
            kernel: 1,
            stride: 1,
            pads: [0; 2],
            dilation: 1,
        });
        let (d_in, d_out, kd) = (f(depth.input), f(depth.output), f(depth.kernel));
        let images = f(c.batch) / d_out;
        let (x_pixels, y_pixels) = (f(c.hi) * f(c.wi), f(c.ho) * f(c.wo));
        let (cin, cout, taps) = (f(c.cin) / kd, f(c.cout), f(c.kh) * f(c.kw));
        let x = images * d_in * cin * x_pixels;
        let y = images * d_out * cout * y_pixels;
        let filter = if r.depthwise { f(c.groups) * k0 * k0 * taps } else { cout * cin * kd * taps };
        let out_bytes = c.out_dtype.bytes() as f64;
        let groups = f(c.groups);
        let [inner, m, n, k] = match (c.kind, r.depthwise) {
            (ConvKind::Forward, false) => [d_out, y_pixels, cout, cin * kd * taps],
            (ConvKind::Forward, true) => [groups, y_pixels, k0, taps * k0],
            (ConvKind::BackpropInput, false) => [d_in, x_pixels, cin, cout * kd * taps],
            (ConvKind::BackpropInput, true) => [groups, x_pixels, FRACTAL, taps * k0],
            (ConvKind::BackpropFilter, false) => [1.0, cout, cin * kd * taps, y_pixels],
            (ConvKind::BackpropFilter, true) => [groups, FRACTAL, FRACTAL * taps, y_pixels],
        };
        let one = |all: f64, block: f64| if r.depthwise { block } else { all };
        match c.kind {
            ConvKind::Forward | ConvKind::BackpropFilter => {
                let is_filter = c.kind == ConvKind::BackpropFilter;
                let x = x * met([d_in, d_out, kd]) * met([f(c.hi), f(c.ho), f(c.kh)]);
                Sizes {
                    images: if is_filter && !r.depthwise { images * d_out } else { images },
                    inner,
                    m,
                    n,
                    k,
                    taps,
                    depth_taps: kd,
                    pixels: x_pixels,
                    width: f(c.wi),
                    rows: f(c.ho),
                    row: f(c.wo),
                    channels: one(cin * kd, if is_filter { FRACTAL } else { k0 }),
                    kh: f(c.kh),
                    stride: f(c.stride[0]),
                    step: c.stride[1],
                    spread: 1.0,
                    out_bytes: if is_filter { SUM_BYTES } else { out_bytes },
                    operands: if is_filter {
                        [y * element, x * element, filter * SUM_BYTES]
                    } else {
                        [x * element, filter * element, y * out_bytes]
                    },
                    meeting: if is_filter { meeting(&depth, depth.output) } else { 1.0 },
                    backward: false,
                }
            }
            ConvKind::BackpropInput => Sizes {
                images,
                inner,
                m,
                n,
                k,
                taps,
                depth_taps: kd,
                pixels: y_pixels,
                width: f(c.wo),
                rows: f(c.hi),
                row: f(c.wi),
                channels: one(cout * kd, k0),
                kh: f(c.kh),
                stride: 1.0,
                step: 1,
                spread: f(c.stride[0]) * f(c.stride[1]),
                out_bytes,
                operands: [y * element, filter * element, x * out_bytes],
                meeting: meeting(&depth, depth.input),
                backward: true,
            },
        }
    }
}

/// Share of an image's planes or rows that the windows of its results meet. Where the stride is longer than the filter, those
/// between two windows are not read. Columns are: a row comes whole.
fn met([stored, results, taps]: [f64; 3]) -> f64 {
    (results * taps / stored).min(1.0)
}

/// Share of the depth taps of so many planes that do not lie in the padding.
fn meeting(depth: &crate::workload::Depth, planes: u64) -> f64 {
    if depth.kernel <= 1 && depth.pads == [0; 2] && depth.stride <= 1 {
        return 1.0;
    }
    let (kernel, head) = (depth.kernel as f64, depth.pads[0] as f64);
    let met: f64 = (0..depth.output.min(1 << 16))
        .map(|plane| {
            let from = plane as f64 * depth.stride as f64 - head;
            ((from + kernel).min(depth.input as f64) - from.max(0.0)).max(0.0)
        })
        .sum();
    (met / (kernel * planes as f64)).min(1.0)
}

/// What the busiest core computes and moves. Cycles at one fractal step each, bytes, or counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    /// Cube steps.
    pub mac: f64,
    /// MMAD instructions.
    pub steps: f64,
    /// Cycles of loads into L0 that are plain: of A, of B.
    pub l0: [f64; 2],
    /// Cycles of the loads by im2col: at strides that go evenly, and at others.
    pub im2col: [f64; 2],
    /// Bytes brought to L1, in so many transfers.
    pub loaded: f64,
    pub loads: f64,
    /// Bytes of the spread gradient that UB makes on the way.
    pub spread: f64,
    /// Bytes of sums that leave L0C in so many tiles, and of results.
    pub sums: f64,
    pub tiles: f64,
    pub results: f64,
    /// Bytes of all operands, of those that vector work brings, and of results that cores add to one another.
    pub operands: f64,
    pub fused: f64,
    pub added: f64,
    /// Cores that work.
    pub cores: f64,
}

impl Counts {
    pub fn of(r: &ConvRecord, cores: f64) -> Counts {
        let element = r.conv.dtype.bytes().max(1) as f64;
        let k0 = 32.0 / element;
        let (s, t) = (Sizes::of(r, element, k0), &r.tiling);
        let is_filter = r.conv.kind == ConvKind::BackpropFilter;
        let [by_batch, by_m, by_inner, by_n] = t.blocks();
        let by_k = if is_filter { t.k_blocks() } else { 1.0 };
        let blocks = by_batch * by_m * by_inner * by_n * by_k;
        let (m, n, k) = (up(s.m, FRACTAL), up(s.n, FRACTAL), up(s.k, if is_filter { FRACTAL } else { k0 }));
        let [l0_m, l0_n, l0_k] = t.l0();
        // A core's own part.
        let products = cut(s.images, by_batch) * cut(s.inner, by_inner);
        let (along_m, along_n) = (cut(cut(m / FRACTAL, l0_m), by_m), cut(cut(n / FRACTAL, l0_n), by_n));
        let own_m = (along_m * l0_m * FRACTAL).min(up(cut(m, by_m), FRACTAL));
        let own_n = (along_n * l0_n * FRACTAL).min(up(cut(n, by_n), FRACTAL));
        let own_k = match is_filter {
            true if s.rows >= by_k => k.min(up(cut(s.rows, by_k) * s.row, FRACTAL)),
            true => k.min(up(cut(k, by_k), FRACTAL)),
            false => k,
        };
        let whole = |along: f64, tile: f64, own: f64| if along > 1.0 { along * (tile * FRACTAL).min(own) } else { own };
        let fractals = whole(along_m, l0_m, own_m) / FRACTAL * (whole(along_n, l0_n, own_n) / FRACTAL);
        let tiles = products * along_m * along_n;
        let panels = t.l1().map(|panel| {
            panel.map_or([own_k, f64::INFINITY], |[depth, tiles, taps]| {
                let taps = if is_filter || s.depth_taps <= 1.0 { 1.0 } else { taps };
                [(depth.min(own_k) * taps).min(own_k), tiles]
            })
        });
        let [[k_a, tiles_a], [k_b, tiles_b]] = panels;
        let [is_full_a, is_full_b] = t.l1().map(|panel| panel.is_none());
        let (groups_m, groups_n) = (cut(along_m, tiles_a.min(along_m)), cut(along_n, tiles_b.min(along_n)));
        let again_a = if is_full_a || k_a >= own_k { 1.0 } else { groups_n };
        let again_b = if is_full_b || k_b >= own_k { 1.0 } else { groups_m };
        let weights = if is_full_b && !r.depthwise { 1.0 } else { products };
        let l1 = L1 { s: &s, products, own_k, whole_k: k, l0: [l0_m * FRACTAL, l0_n * FRACTAL], element };
        let [a, b] = if is_filter {
            [products * own_m * own_k * element * again_a, l1.of_window(groups_n, tiles_b.min(along_n), k_b) * again_b]
        } else {
            let image = l1.of_image(groups_m * again_a, tiles_a.min(along_m));
            [image, weights * own_n * own_k * element * again_b]
        };
        let b_products = if is_filter { products } else { weights };
        let mut l0 = [
            products * own_m * own_k * element * along_n / L0_RATES[0],
            products * own_n * own_k * element * (if t.l0_b_is_full() { 1.0 } else { along_m }) / L0_RATES[1],
        ];
        let windows = std::mem::take(&mut l0[usize::from(is_filter)]);
        let is_even = EVEN_STRIDES.contains(&s.step);
        let drains = match (is_filter, r.depthwise) {
            (false, _) => products,
            (true, true) => cut(s.inner, by_inner),
            (true, false) => 1.0,
        };
        let results = drains * own_m * own_n;
        let rounds = cut(blocks, cores);
        let work = rounds * s.meeting;
        Counts {
            mac: work * products * fractals * cut(own_k, if is_filter { FRACTAL } else { k0 }),
            steps: work * tiles * cut(own_k, l0_k * if is_filter { FRACTAL } else { k0 }),
            l0: l0.map(|cycles| cycles * work),
            im2col: [
                if is_even { windows * s.step as f64 * work } else { 0.0 },
                if is_even { 0.0 } else { windows * FRACTAL * work },
            ],
            loaded: (a + b) * work,
            loads: (products * groups_m * cut(own_k, k_a) * again_a
                + b_products * groups_n * cut(own_k, k_b) * if is_filter { again_b } else { 1.0 })
                * work,
            spread: if s.spread > 1.0 { a * s.spread * work } else { 0.0 },
            sums: results * SUM_BYTES * rounds,
            tiles: if is_filter { drains * along_m * along_n * rounds } else { tiles * rounds },
            results: results * s.out_bytes * rounds,
            operands: s.operands.iter().sum(),
            fused: s.operands[2] * r.fused_operands.max(0.0),
            added: if is_filter { s.operands[2] * by_batch * by_k } else { 0.0 },
            cores: blocks.min(cores),
        }
    }
}

/// What a core brings to L1.
struct L1<'a> {
    s: &'a Sizes,
    products: f64,
    own_k: f64,
    whole_k: f64,
    /// Elements of an L0 tile along m and n.
    l0: [f64; 2],
    element: f64,
}

impl L1<'_> {
    /// Bytes of the image under `times` panels of so many L0 tiles of pixels: rows overlap by the filter's reach.
    fn of_image(&self, times: f64, tiles: f64) -> f64 {
        let s = self.s;
        let pixels = tiles * self.l0[0];
        let height = s.pixels / s.width;
        let made = (pixels / s.row).max(1.0).min(s.rows);
        let read = if s.backward {
            height.min((made + s.kh - 1.0) / s.spread.sqrt() + 1.0)
        } else {
            let broken = if pixels % s.row == 0.0 { 0.0 } else { 1.0 };
            height.min(made * s.stride + (s.kh - s.stride).max(0.0) + broken)
        };
        self.products * times * read * s.width * s.channels * self.element
    }

    /// Bytes of the image under the filter's gradient: `panels` along n, each of so many L0 tiles of taps and channels,
    /// in pieces of `k_b` results.
    fn of_window(&self, panels: f64, tiles: f64, k_b: f64) -> f64 {
        let s = self.s;
        let made = (k_b / s.row).max(1.0);
        let mut overlap = (made * s.stride + (s.kh - s.stride).max(0.0)) / (made * s.stride);
        if s.stride > s.kh {
            overlap *= s.kh / s.stride;
        }
        let channels = panels * cut(tiles * self.l0[1], s.taps * FRACTAL) * FRACTAL;
        self.products * channels * s.pixels * (self.own_k / self.whole_k).min(1.0) * self.element * overlap
    }
}
