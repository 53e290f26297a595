//! The block loop of cube work, operation by operation.

use super::core::{Buffers, Core, Done};
use super::lane::Pipe;
use crate::sim::cube::{Operand, Reload, Walk};

/// Cube steps that are gone through one by one.
const MOST_STEPS: u64 = 1 << 20;
/// Steps of one L0C tile; longer ones are taken several at a time.
const MOST_STEPS_OF_A_TILE: u64 = 4096;

/// How much of the loop was gone through.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Seen {
    /// L0C tiles in all, and those gone through.
    pub tiles: u64,
    pub simulated: u64,
    /// Cube steps that count as one.
    pub steps_joined: u64,
    /// First and last moment of the cube unit.
    pub first_step: f64,
    pub last_step: f64,
}

/// One operand's panels on their way.
struct Stream<'a> {
    operand: &'a Operand,
    what: [&'static str; 2],
    l1: Buffers,
    l0: Buffers,
    /// The panel in use: its L1 buffer and its load.
    panel: usize,
    loaded: Done,
}

impl<'a> Stream<'a> {
    fn new(operand: &'a Operand, what: [&'static str; 2]) -> Stream<'a> {
        let (l1, l0) = (Buffers::new(operand.l1_buffers), Buffers::new(operand.l0_buffers));
        Stream { operand, what, l1, l0, panel: 0, loaded: Done::NOTHING }
    }

    /// Whether this step needs a panel that is not in L1. `own` and `other` are the tile's places along the
    /// operand's axis and the other one.
    fn reloads(&self, product: u64, [own, other]: [u64; 2], other_in_panel: u64, step: [u64; 2]) -> bool {
        let o = self.operand;
        if o.first_product_only && product > 0 {
            return false;
        }
        let [step, steps] = step;
        let begins = own.is_multiple_of(o.tiles_in_panel);
        match o.reload {
            Reload::Once => own == 0 && other == 0 && step == 0,
            Reload::Group => begins && other == 0 && step == 0,
            Reload::Pair => {
                let piece = |step: u64| step * o.pieces / steps;
                begins && other.is_multiple_of(other_in_panel) && (step == 0 || piece(step) != piece(step - 1))
            }
        }
    }

    fn load(&mut self, core: &mut Core, latency: f64, pieces: u64) {
        let free = self.l1.free();
        // Without a second buffer nothing hides the way of the first byte.
        let waits = if self.l1.single() && free.end > 0.0 { latency } else { 0.0 };
        let ready = (free.end + waits).max(latency);
        for _ in 0..pieces {
            let (us, bytes) = (self.operand.load_us, self.operand.load_bytes);
            self.loaded = core.transfer(Pipe::Mte2, ready, us, bytes, self.what[0]);
        }
        self.panel = self.l1.take();
    }

    /// Brings a step's part to L0.
    fn fill(&mut self, core: &mut Core, steps: f64) -> (usize, Done) {
        let free = self.l0.free();
        let idle = core.free(Pipe::Mte1);
        let ready = self.loaded.end.max(free.end);
        let done = core.run(Pipe::Mte1, ready, self.operand.l0_us * steps, self.what[1]);
        self.l1.read(self.panel, Done { blame: Pipe::Mte1, ..done });
        let late = self.loaded.end > free.end && self.loaded.end > idle;
        (self.l0.take(), Done { blame: if late { self.loaded.blame } else { Pipe::Mte1 }, ..done })
    }
}

/// Goes through the loop. `epilogue_us` is vector work on each tile.
pub(super) fn run(walk: &Walk, epilogue_us: f64, core: &mut Core) -> Seen {
    let joined = walk.steps.div_ceil(MOST_STEPS_OF_A_TILE).max(1);
    let steps = walk.steps.div_ceil(joined);
    let most_tiles = (MOST_STEPS / steps).max(2);
    let mut seen = Seen { tiles: walk.tiles(), steps_joined: joined, first_step: f64::INFINITY, ..Seen::default() };
    let mut a = Stream::new(&walk.a, ["load A", "A to L0"]);
    let mut b = Stream::new(&walk.b, ["load B", "B to L0"]);
    let mut l0_c = Buffers::new(walk.l0_c_buffers);
    if walk.head_us > 0.0 {
        core.run(Pipe::Vector, 0.0, walk.head_us, "rewrite operands");
        core.meet();
    }
    let mut scalar = 0.0;
    let mut half = (core.busy(), 0.0);
    for (product, i, j) in tiles(walk).take(usize::try_from(most_tiles).unwrap_or(usize::MAX)) {
        if seen.simulated == most_tiles / 2 {
            half = (core.busy(), core.end());
        }
        scalar += walk.scalar_us;
        let issued = Done { end: scalar, ..Done { blame: Pipe::Cube, ..Done::NOTHING } };
        let mut last = Done::NOTHING;
        for step in 0..steps {
            // The last of the joined steps may be fewer.
            let count = (walk.steps - step * joined).min(joined) as f64;
            let at = [step, steps];
            if a.reloads(product, [i, j], walk.b.tiles_in_panel, at) {
                a.load(core, walk.latency_us, pieces_of(&walk.a, at));
            }
            if b.reloads(product, [j, i], walk.a.tiles_in_panel, at) {
                b.load(core, walk.latency_us, pieces_of(&walk.b, at));
            }
            let (a_slot, a_there) = a.fill(core, count);
            let (b_slot, b_there) = b.fill(core, count);
            let mut room = if step == 0 { l0_c.free() } else { Done::NOTHING };
            if walk.by_fractal {
                // It may begin as early as lets it end behind fixpipe.
                room.end -= walk.mac_us * count;
            }
            let operands = if b_there.end > a_there.end { b_there } else { a_there };
            last = core.compute(Pipe::Cube, [operands, room, issued], walk.mac_us * count, "multiply");
            seen.first_step = seen.first_step.min(last.start);
            a.l0.read(a_slot, last);
            b.l0.read(b_slot, last);
        }
        seen.last_step = last.end;
        let tile = l0_c.take();
        l0_c.read(tile, drain(walk, epilogue_us, last, core));
        seen.simulated += 1;
    }
    if seen.simulated < seen.tiles {
        let (busy, from) = half;
        let repeats = (seen.tiles - seen.simulated) as f64 / (seen.simulated - most_tiles / 2) as f64;
        core.repeat(&busy, from, repeats);
        seen.last_step = core.end();
    }
    if walk.tail_us > 0.0 {
        core.run(Pipe::Vector, core.end(), walk.tail_us, "finish results");
    }
    seen
}

/// A tile's way out; returns when its L0C buffer is free.
fn drain(walk: &Walk, epilogue_us: f64, computed: Done, core: &mut Core) -> Done {
    if walk.fixpipe_us > 0.0 {
        let out = core.run(Pipe::Fixpipe, computed.end - walk.wait_us, walk.wait_us + walk.fixpipe_us, "store");
        core.run(Pipe::Vector, out.end, epilogue_us + walk.beside_us, "epilogue");
        return out;
    }
    let out = core.run(Pipe::Vector, computed.end, walk.vec_us, "L0C to UB");
    let worked = core.run(Pipe::Vector, out.end, epilogue_us, "epilogue");
    core.run(Pipe::Mte3, worked.end, walk.mte3_us, "store");
    out
}

/// Pieces along k that one load brings, where steps are joined beyond them.
fn pieces_of(operand: &Operand, [step, steps]: [u64; 2]) -> u64 {
    match operand.reload {
        Reload::Pair => ((step + 1) * operand.pieces / steps).saturating_sub(step * operand.pieces / steps).max(1),
        Reload::Once | Reload::Group => 1,
    }
}

/// The L0C tiles in order: product, place along m, place along n. Groups of tiles whose panels lie in L1
/// together come one after the other.
fn tiles(walk: &Walk) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
    let groups = |o: &Operand| o.tiles.div_ceil(o.tiles_in_panel.max(1));
    let inside = |o: &Operand, group: u64| {
        let begin = group * o.tiles_in_panel;
        begin..(begin + o.tiles_in_panel).min(o.tiles)
    };
    let (outer, inner) = if walk.m_first { (&walk.b, &walk.a) } else { (&walk.a, &walk.b) };
    let pairs = move || (0..groups(outer)).flat_map(move |o| (0..groups(inner)).map(move |i| (o, i)));
    (0..walk.products).flat_map(move |product| {
        pairs().flat_map(move |(o, i)| {
            inside(outer, o).flat_map(move |o| {
                inside(inner, i).map(move |i| if walk.m_first { (product, i, o) } else { (product, o, i) })
            })
        })
    })
}
