//! Tilings in words.

use crate::report::counted;
use crate::report::explain::Layout;
use crate::workload::{CubeSchedule, L1Tile, LoopOrder, OutputPath, Panel, Schedule, SplitK};
use serde::Serialize;
use std::fmt::Write;

/// A tiling as parts that are told apart by dots; what is as it mostly is is not said.
pub fn parts(tiling: &Schedule) -> Vec<String> {
    match tiling {
        Schedule::Cube(cube) => of_cube(cube),
        Schedule::Vector(s) => {
            let copies = if s.double_buffer { " ×2" } else { "" };
            vec![cores(s.cores.into()), format!("UB tile {}{copies}", bytes(s.ub_tile_bytes.into())), word(&s.template)]
        }
    }
}

/// The parts in one line.
pub fn text(tiling: &Schedule) -> String {
    parts(tiling).join(" · ")
}

/// What of a tiling is other than in `known`.
pub fn difference(tiling: &Schedule, known: &Schedule) -> String {
    let known = parts(known);
    let other: Vec<String> = parts(tiling).into_iter().filter(|part| !known.contains(part)).collect();
    if other.is_empty() { "the same but for what is not shown".to_owned() } else { other.join(" · ") }
}

fn of_cube(s: &CubeSchedule) -> Vec<String> {
    let mut parts = vec![cores(s.used_cores.into())];
    let axes = [("batch", s.cores.batch), ("m", s.cores.m), ("n", s.cores.n), ("k", s.cores.k)];
    let cut: Vec<String> =
        axes.iter().filter(|axis| axis.1 != 1).map(|(name, cut)| format!("{cut} along {name}")).collect();
    parts.push(if cut.is_empty() { "one block".to_owned() } else { format!("blocks {}", cut.join(", ")) });
    parts.push(format!("of {}×{}×{}", s.single.m, s.single.n, s.single.k));
    let k = if s.l0.k_a == s.l0.k_b { s.l0.k_a.to_string() } else { format!("{}/{}", s.l0.k_a, s.l0.k_b) };
    parts.push(format!("L0 {}×{}×{k}", s.l0.m, s.l0.n));
    let copies = [s.buffers.l0_a, s.buffers.l0_b, s.buffers.l0_c];
    parts.push(format!("copies {}·{}·{}", copies[0], copies[1], copies[2]));
    for (name, tile, copies) in [("A", &s.l1_a, s.buffers.l1_a), ("B", &s.l1_b, s.buffers.l1_b)] {
        parts.push(match tile {
            L1Tile::Panel(Panel { batch, k, tiles }) => {
                let mut text = format!("L1 {name} {tiles} tile{} × k {k}", if *tiles == 1 { "" } else { "s" });
                if *batch > 1 {
                    let _ = write!(text, " × {batch} products");
                }
                if copies > 1 {
                    let _ = write!(text, " ×{copies}");
                }
                text
            }
            L1Tile::Full(_) => format!("L1 {name} full"),
        });
    }
    let is_grouped = s.l2.m_tiles > 1 || s.l2.n_tiles > 1;
    parts.extend(
        is_grouped.then(|| {
            format!("L2 {}×{} groups of {}×{} blocks", s.l2.m_tiles, s.l2.n_tiles, s.l2.m_block, s.l2.n_block)
        }),
    );
    parts.extend((s.order != LoopOrder::default()).then(|| word(&s.order)));
    parts.extend((s.split_k != SplitK::default()).then(|| format!("k split {}", word(&s.split_k))));
    parts.extend((s.output != OutputPath::default()).then(|| format!("output {}", word(&s.output))));
    parts
}

/// The word for a choice, as JSON has it, with spaces.
fn word(choice: &impl Serialize) -> String {
    serde_json::to_value(choice).ok().and_then(|word| Some(word.as_str()?.replace('_', " "))).unwrap_or_default()
}

fn cores(count: u64) -> String {
    counted(count, "core", "cores")
}

/// What a tiling lays into a core: its blocks, and the bytes of each buffer against its size.
pub fn held(layout: &Layout) -> String {
    let own = layout.blocks_of_busiest;
    let mut text = format!("{} of {own} block{} each", cores(layout.cores), if own == 1 { "" } else { "s" });
    if layout.blocks != own.saturating_mul(layout.cores) {
        text = format!("{} on {} blocks, {own} on the busiest", cores(layout.cores), layout.blocks);
    }
    for (name, buffer) in &layout.buffers {
        let (taken, size) = (bytes(buffer.bytes), bytes(buffer.size));
        // The unit once where it is the same.
        let taken = taken.strip_suffix(" KiB").filter(|_| size.ends_with(" KiB")).unwrap_or(&taken);
        let _ = write!(text, ", {name} {taken} of {size}");
    }
    text
}

/// Bytes in the unit that fits them.
pub fn bytes(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    match bytes {
        0..KIB => format!("{bytes} B"),
        bytes if bytes % KIB == 0 => format!("{} KiB", bytes / KIB),
        bytes => format!("{:.1} KiB", bytes as f64 / KIB as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn cube() -> serde_json::Value {
        json!({"used_cores": 24, "cores": {"batch": 1, "m": 4, "n": 6, "k": 1}, "single": {"batch": 1, "m": 512, "n": 512, "k": 4096},
            "l0": {"m": 128, "n": 256, "k_a": 64, "k_b": 64}, "l1_a": "full", "l1_b": {"k": 256, "tiles": 1, "batch": 1},
            "buffers": {"l1_a": 1, "l1_b": 2, "l0_a": 2, "l0_b": 2, "l0_c": 1}, "order": "n_first", "split_k": "none", "output": "direct"})
    }

    #[test]
    fn a_tiling_says_its_cores_its_tiles_and_what_is_unusual() {
        let tiling: Schedule = serde_json::from_value(cube()).unwrap();
        assert_eq!(
            text(&tiling),
            "24 cores · blocks 4 along m, 6 along n · of 512×512×4096 · L0 128×256×64 · copies 2·2·1 · L1 A full · L1 B 1 tile × k 256 ×2 · n first"
        );
        let mut other = cube();
        other["l0"]["n"] = json!(128);
        let other: Schedule = serde_json::from_value(other).unwrap();
        assert_eq!(difference(&other, &tiling), "L0 128×128×64");
    }

    #[test]
    fn what_a_core_holds_is_told_in_bytes_of_each_buffer() {
        let layout = json!({"blocks": 50, "blocks_of_busiest": 3, "cores": 24, "buffers": {"L0A": {"bytes": 32768, "size": 65536}}});
        let layout: Layout = serde_json::from_value(layout).unwrap();
        assert_eq!(held(&layout), "24 cores on 50 blocks, 3 on the busiest, L0A 32 of 64 KiB");
        assert_eq!([512, 1536].map(bytes), ["512 B", "1.5 KiB"]);
    }
}
