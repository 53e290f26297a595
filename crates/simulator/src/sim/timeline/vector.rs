//! The tile loop of vector work, operation by operation.

use super::core::{Buffers, Core, Done};
use super::cube::Seen;
use super::lane::Pipe;
use crate::sim::Times;

/// Tiles that are gone through one by one.
const MOST_TILES: u64 = 1 << 16;

/// Goes through the loop of `tiles` equal tiles that the closed form's times are for.
pub(super) fn run(closed: &Times, tiles: u64, double_buffer: bool, core: &mut Core) -> Seen {
    let each = |us: f64| us / tiles as f64;
    let busy = &closed.busy;
    let (load, compute, store) = (each(busy.mte2), each(busy.vec), each(busy.mte3));
    // The shared paths' time is dealt to the loads, or to the stores of work that loads nothing: a store that
    // waits for its result must not hold back loads that could run ahead of it.
    core.memory_us_per_byte = each(closed.shared);
    let dealt = if load > 0.0 { [1.0, 0.0] } else { [0.0, 1.0] };
    let buffers = if double_buffer { 2 } else { 1 };
    let (mut inputs, mut outputs) = (Buffers::new(buffers), Buffers::new(buffers));
    let mut seen = Seen { tiles, steps_joined: 1, first_step: f64::INFINITY, ..Seen::default() };
    let mut half = (core.busy(), 0.0);
    for tile in 0..tiles.min(MOST_TILES) {
        if tile == MOST_TILES / 2 {
            half = (core.busy(), core.end());
        }
        // One buffer serves a tile from its load to its store.
        let free = if double_buffer { inputs.free() } else { outputs.free() };
        let loaded = core.transfer(Pipe::Mte2, free.end, load, dealt[0], "load");
        let worked = core.compute(Pipe::Vector, [loaded, outputs.free(), Done::NOTHING], compute, "compute");
        let stored = core.transfer(Pipe::Mte3, worked.end, store, dealt[1], "store");
        let (input, output) = (inputs.take(), outputs.take());
        inputs.read(input, worked);
        outputs.read(output, stored);
        seen.first_step = seen.first_step.min(worked.start);
        seen.last_step = worked.end;
        seen.simulated += 1;
    }
    if seen.simulated < seen.tiles {
        let (busy, from) = half;
        core.repeat(&busy, from, (seen.tiles - seen.simulated) as f64 / (MOST_TILES / 2) as f64);
        seen.last_step = core.end();
    }
    seen
}
