//! The SoC as the model sees it: rates in cycles, the shared paths, the start of a kernel.

use super::constants::Constants;
use crate::soc::{Arch, Soc};

/// What a kernel's pieces share. Rates are bytes per cycle and core unless a name says otherwise.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    /// Cycles of the cube clock in one microsecond.
    pub mhz: f64,
    pub gm_rate: f64,
    pub l2_rate: f64,
    pub l0_a_rate: f64,
    pub l0_b_rate: f64,
    out_rate: f64,
    pub ub_out_rate: f64,
    /// GM to UB of one vector core.
    pub ub_in_rate: f64,
    /// Cycles of the vector clock in one microsecond, and the bytes of one of its instructions.
    pub vector_mhz: f64,
    pub vector_bytes: f64,
    /// Device memory, bytes per microsecond.
    hbm: f64,
    hbm_peak: f64,
    pub l2_bytes: f64,
    /// Bytes that each byte beyond L2's size has cube kernels find in device memory.
    thrash: f64,
    /// L2's rate for vector kernels, bytes per microsecond and cube core.
    pub l2_vector: f64,
    /// The same for kernels that have L2 to themselves.
    l2_alone: f64,
    /// The first generation, whose kernels TBE generates.
    pub first: bool,
    /// Vector kernels that reduce rows wait for each of them: the 910B's do, those of the 950 go on with the next.
    pub waits_for_rows: bool,
    /// Cores that read one panel at the same time are served one after the other beyond some.
    pub serves_in_turn: bool,
    /// Share of L2 that still holds what was made some kernels before.
    reach: f64,
    /// Vector cores.
    pub cores: f64,
    /// Vector cores that serve one cube core.
    pub vectors_per_cube: f64,
    start: f64,
    core_start: f64,
    /// Microseconds in which code and parameters come from device memory where L2 holds neither.
    pub fetch_us: f64,
    /// Cycles of an MMAD beyond its steps.
    pub mmad_cycles: f64,
    pub transfer_cycles: f64,
    /// Cycles of each plane of a kernel's results whose sums leave one by one.
    pub plane_cycles: f64,
    pub constants: Constants,
}

/// What L2 holds of a vector kernel's data when the kernel starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Held {
    /// Parameters, gradients, optimizer state: nothing used them shortly before.
    Nothing,
    /// What other kernels made some time before.
    Recent,
    /// What the kernel just before made.
    JustMade,
    /// All but so many bytes: who prices the kernel knows what ran before it.
    AllBut(f64),
    /// Nothing but what others wrote last, which has to leave before what the kernel reads can stay.
    Cold,
    /// All that fits, and nothing else is under way.
    Warm,
    /// All but so many bytes, and nothing else is under way.
    Apart(f64),
}

impl Held {
    /// Whether nothing else is under way.
    pub fn is_alone(self) -> bool {
        matches!(self, Held::Cold | Held::Warm | Held::Apart(_))
    }

    /// Whether the kernel's code lies in device memory: with the operands that do, where nothing else is under way.
    pub fn lacks_code(self) -> bool {
        match self {
            Held::Cold => true,
            Held::Apart(missed) => missed > 0.0,
            _ => false,
        }
    }
}

impl Machine {
    pub fn new(soc: &Soc, constants: &Constants) -> Machine {
        let c = constants;
        let is_first = is_first(soc.arch);
        let pick = |later: f64, first: f64| if is_first { first } else { later };
        Machine {
            mhz: soc.cube_freq_mhz,
            gm_rate: soc.gm_to_l1_rate,
            l2_rate: soc.l2_rate,
            l0_a_rate: soc.l1_to_l0_a_rate,
            l0_b_rate: soc.l1_to_l0_b_rate,
            out_rate: soc.l0_c_out_rate,
            ub_out_rate: soc.ub_to_gm_rate,
            ub_in_rate: soc.gm_to_ub_rate,
            vector_mhz: soc.vec_freq_mhz,
            vector_bytes: soc.vec_bytes_per_cycle,
            hbm: soc.hbm_gb_s * 1e3 * c.hbm_efficiency,
            hbm_peak: soc.hbm_gb_s * 1e3,
            l2_bytes: soc.l2_size as f64,
            // The first 910 keeps what fits (its cube kernels leave 1.0 to 1.2 open), as its vector kernels find it.
            thrash: if soc.arch == Arch::C100 { 1.0 } else { c.thrash_factor },
            l2_vector: soc.l2_rate * soc.cube_freq_mhz * c.l2_efficiency,
            l2_alone: soc.l2_rate * soc.cube_freq_mhz * pick(c.l2_efficiency_c220, c.l2_efficiency),
            first: is_first,
            reach: pick(c.reach_c220, c.reach),
            waits_for_rows: !is_first && soc.arch != Arch::C310,
            serves_in_turn: soc.arch == Arch::C220,
            cores: f64::from(soc.vector_core_cnt),
            vectors_per_cube: if soc.arch.is_split() {
                f64::from(soc.vector_core_cnt) / f64::from(soc.ai_core_cnt)
            } else {
                1.0
            },
            start: pick(c.start_us_c220, c.start_us_c100),
            core_start: pick(c.core_start_us_c220, c.core_start_us_c100),
            fetch_us: match soc.arch {
                Arch::C220 => c.fetch_us_c220,
                Arch::C310 => c.fetch_us_c310,
                _ => 0.0,
            },
            mmad_cycles: pick(c.mmad_cycles, c.mmad_cycles_c100),
            transfer_cycles: c.transfer_cycles,
            plane_cycles: if is_first { c.plane_cycles_c100 } else { 0.0 },
            constants: c.clone(),
        }
    }

    /// Cycles of fixpipe, vector unit and MTE3 to bring `accumulated` bytes of L0C out as `written`.
    pub fn drain(&self, accumulated: f64, written: f64) -> [f64; 3] {
        if self.first {
            // The vector unit drains L0C: there is no fixpipe.
            [0.0, accumulated / self.out_rate, written / self.ub_out_rate]
        } else {
            [written / self.out_rate, 0.0, 0.0]
        }
    }

    /// Share of `footprint` bytes that a cube kernel finds in device memory, not in L2.
    pub fn missed_share(&self, footprint: f64) -> f64 {
        if footprint > 0.0 { self.missed(footprint) / footprint } else { 0.0 }
    }

    /// Bytes of `footprint` ones, used before and to be used again, that L2 does not hold.
    pub fn missed(&self, footprint: f64) -> f64 {
        let beyond = (footprint - self.l2_bytes).max(0.0);
        footprint.min(beyond * self.thrash)
    }

    /// Microseconds in which device memory delivers so many bytes.
    pub fn missed_us(&self, bytes: f64) -> f64 {
        bytes / self.hbm
    }

    /// Microseconds in which device memory could at most deliver so many bytes.
    pub fn least_us(&self, bytes: f64) -> f64 {
        bytes / self.hbm_peak
    }

    /// Microseconds in which device memory delivers so many bytes that are read for the first time.
    pub fn cold_us(&self, bytes: f64) -> f64 {
        bytes / (self.hbm_peak * self.constants.cold_read_efficiency)
    }

    /// Bytes of a vector kernel's that L2 does not hold.
    pub fn vector_missed(&self, read: f64, written: f64, held: Held) -> f64 {
        let distinct = read + written;
        let missed = match held {
            Held::Nothing => distinct * self.constants.cold_share,
            Held::Recent if self.first => (distinct - self.reach * self.l2_bytes).max(0.0),
            Held::Recent => self.constants.thrash_factor * (distinct - self.reach * self.l2_bytes).max(0.0),
            Held::JustMade | Held::Warm => (distinct - self.l2_bytes).max(0.0),
            Held::AllBut(missed) | Held::Apart(missed) => missed,
            Held::Cold => read + (written - self.constants.write_share * self.l2_bytes).max(0.0),
        };
        missed.min(distinct)
    }

    /// Microseconds that a vector kernel's traffic keeps the shared paths of `cores` vector cores: all of
    /// it passes L2, and what L2 does not hold comes from device memory.
    pub fn vector_memory_us(&self, moved: f64, read: f64, written: f64, held: Held, cores: f64) -> f64 {
        let c = &self.constants;
        let distinct = read + written;
        let missed = self.vector_missed(read, written, held);
        let hbm = if held == Held::Cold {
            // Lines that others wrote leave as new ones come, whichever way the kernel's own data go.
            self.hbm
        } else {
            // The bus loses time whenever it turns from reading to writing.
            let mixed = if distinct > 0.0 { 2.0 * read.min(written) / distinct } else { 0.0 };
            self.hbm_peak * (1.0 - mixed * (1.0 - c.hbm_copy_efficiency))
        };
        // What is read again comes from L2 as far as the first reading stays there.
        let again = (moved - distinct).max(0.0);
        let lost = if held == Held::Cold && read > c.write_share * self.l2_bytes { again } else { 0.0 };
        // In a network others share L2.
        let rate = if held.is_alone() { self.l2_alone } else { self.l2_vector };
        let l2 = moved / (rate * cores / self.vectors_per_cube);
        norm([l2, (missed + lost) / hbm])
    }

    /// Microseconds in which so many cube cores and their vector cores meet: a flag to memory and one back, and they
    /// come as they started, one after the other.
    pub fn barrier_us(&self, cores: f64) -> f64 {
        2.0 * self.constants.gm_latency / self.mhz + self.core_start * cores
    }

    /// Microseconds before the last of `cores` cores works.
    pub fn start_us(&self, cores: f64) -> f64 {
        self.start + self.core_start * cores
    }
}

/// Whether a part is of the generation whose kernels TBE generates: fused cores without fixpipe.
pub(super) const fn is_first(arch: Arch) -> bool {
    matches!(arch, Arch::C100 | Arch::M200)
}

/// The third-power norm of two times that overlap loosely: what comes from device memory for the first time arrives
/// unevenly, and two buffers do not smooth that.
pub(super) fn overlap(a: f64, b: f64) -> f64 {
    let longest = a.max(b);
    if longest <= 0.0 {
        return 0.0;
    }
    let (a, b) = (a / longest, b / longest);
    longest * (a * a * a + b * b * b).cbrt()
}

/// The norm of a power: [`norm`] where that is the eighth.
pub(super) fn norm_of<const N: usize>(power: f64, times: [f64; N]) -> f64 {
    let longest = times.into_iter().fold(0.0, f64::max);
    if power == 8.0 || longest <= 0.0 {
        return norm(times);
    }
    longest * times.into_iter().map(|t| (t.max(0.0) / longest).powf(power)).sum::<f64>().powf(1.0 / power)
}

/// The eighth-power norm: the longest time, a little more where others come close. Times are scaled by
/// the longest first so that the powers stay in range.
pub(super) fn norm<const N: usize>(times: [f64; N]) -> f64 {
    let longest = times.into_iter().fold(0.0, f64::max);
    if longest <= 0.0 {
        return 0.0;
    }
    let eighth = |x: f64| {
        let square = x * x;
        let fourth = square * square;
        fourth * fourth
    };
    let sum: f64 = times.into_iter().map(|t| eighth(t / longest)).sum();
    longest * sum.sqrt().sqrt().sqrt()
}
