//! One run of a network, kernel by kernel: what each did, how it was tiled, how long it took and why.

use crate::graph::TensorDesc;
use crate::lower::Stored;
use crate::sim::{Counts, Prediction};
use crate::soc::Soc;
use crate::workload::{Schedule, Workload};
use std::ops::Range;

/// One run of every form of a network on one device, one form after the other.
#[derive(Debug, Clone)]
pub struct Run {
    /// Name of the network.
    pub network: String,
    /// The SoC that it ran on.
    pub soc: Soc,
    /// The forms of the network, in order; with several gears there are several.
    pub models: Vec<Model>,
    /// The distinct launches, in the order in which they first occur.
    pub kernels: Vec<Kernel>,
    /// Every launch, in order of its start.
    pub tasks: Vec<Task>,
    /// Who exchanges with whom, where that is known.
    pub ranks: Option<Ranks>,
}

/// The devices that exchange with each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranks {
    /// How many they are.
    pub devices: u64,
    /// How they make sums, by CANN's names, the innermost level first.
    pub algorithm: String,
}

/// One form of a network.
#[derive(Debug, Clone)]
pub struct Model {
    /// Its number, counted from 1.
    pub id: u32,
    /// The network's name, with the gear where there are several.
    pub name: String,
    /// Its tasks, by place in [`Run::tasks`].
    pub tasks: Range<usize>,
    /// When its backward pass is over, in microseconds from the begin of the run, where that is known.
    pub backward_us: Option<f64>,
}

/// What one kernel of one form does at every launch.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// Which form of the network it belongs to.
    pub model: usize,
    /// Name of its node; where several nodes are fused into it, of the first.
    pub name: String,
    /// Its own name: those of the nodes of its scope one behind the other, as CANN makes it.
    pub launched: String,
    /// The other nodes that it runs, in the order in which they work.
    pub fused: Vec<String>,
    /// Ascend operator type of its node.
    pub op_type: String,
    /// What runs it.
    pub engine: Engine,
    /// Tensors that it reads.
    pub inputs: Vec<Tensor>,
    /// Tensors that it leaves to others.
    pub outputs: Vec<Tensor>,
    /// What it does.
    pub workload: Workload,
    /// Its tiling.
    pub schedule: Schedule,
    /// Time of one launch in microseconds; `None` where it could not be measured.
    pub duration_us: Option<f64>,
    /// Bytes of its data that each launch finds in device memory, where what ran before it decides that.
    pub missed: Option<f64>,
    /// Times that it is launched in one run of its form.
    pub launches: u32,
    /// What the performance model says of it; `None` where the model cannot price it.
    pub prediction: Option<Prediction>,
    /// What it moves and computes, by the same model.
    pub counts: Option<Counts>,
    /// Whether the duration is the performance model's: where a device measured it, nobody counted its pipes.
    pub is_simulated: bool,
}

/// A tensor that a kernel reads or leaves behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor {
    /// Its shape and layout as the graph has them, its type as it is stored on the device.
    pub desc: TensorDesc,
    /// Format and sizes in which it lies on the device.
    pub stored: Stored,
    /// Whether it is a constant of the network.
    pub is_weight: bool,
}

/// One launch of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Task {
    /// Its place in [`Run::kernels`].
    pub kernel: usize,
    /// The queue of the device that it waits in; tasks of one stream run one after the other.
    pub stream: u32,
    /// Begin in microseconds from the begin of the run.
    pub start_us: f64,
}

/// The stream of what computes.
pub const COMPUTING: u32 = 0;
/// The stream of exchanges between devices.
pub const EXCHANGING: u32 = 1;

/// What runs a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Engine {
    /// Cube cores; on parts whose cores do both, and that have no others, every kernel.
    AiCore,
    /// Vector cores; on parts that have some beside cores that do both, all of these together.
    AiVectorCore,
    /// Cube cores that lead, with the vector cores beside them.
    MixAic,
    /// The links between devices.
    Communication,
}

impl Engine {
    /// What runs a workload on a part.
    pub fn of(workload: &Workload, soc: &Soc) -> Engine {
        // What fixpipe does behind cube work takes no vector core.
        let takes_vector_cores = |parts: &[Workload]| {
            soc.arch.is_split() && parts.iter().any(|part| !part.is_cube()) && !workload.leaves_by_fixpipe()
        };
        match workload {
            Workload::Collective(_) => Engine::Communication,
            _ if !Engine::has_vector_cores(soc) => Engine::AiCore,
            Workload::Fused(parts) if workload.is_cube() && takes_vector_cores(parts) => Engine::MixAic,
            _ if workload.is_cube() => Engine::AiCore,
            _ => Engine::AiVectorCore,
        }
    }

    /// Whether vector work runs on more cores than cube work: on cores of its own, as on the 910B, or on all that there
    /// are, as on the 310P, which has vector cores beside those that do both.
    pub const fn has_vector_cores(soc: &Soc) -> bool {
        soc.arch.is_split() || soc.vector_core_cnt > soc.ai_core_cnt
    }

    /// CANN's `Task Type`.
    pub const fn task_type(self) -> &'static str {
        match self {
            Engine::AiCore => "AI_CORE",
            Engine::AiVectorCore => "AI_VECTOR_CORE",
            Engine::MixAic => "MIX_AIC",
            Engine::Communication => "COMMUNICATION",
        }
    }

    /// Whether it computes rather than exchanges.
    pub const fn computes(self) -> bool {
        !matches!(self, Engine::Communication)
    }
}

impl Kernel {
    /// Time of one launch as far as it is known: what was not measured takes no time.
    pub fn us(&self) -> f64 {
        self.duration_us.unwrap_or(0.0)
    }

    /// Names of all nodes that it runs.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name).chain(&self.fused).map(String::as_str)
    }

    /// Cores that get blocks of it, of the kind that leads.
    pub fn blocks(&self) -> u32 {
        if self.engine.computes() { self.schedule.cores() } else { 0 }
    }

    /// Vector cores that work beside leading cube cores; 0 where none does.
    pub fn mix_blocks(&self, soc: &Soc) -> u32 {
        match self.engine {
            Engine::MixAic => self.blocks() * (soc.vector_core_cnt / soc.ai_core_cnt.max(1)),
            _ => 0,
        }
    }
}

impl Run {
    /// The kernel of a task.
    pub fn kernel(&self, task: &Task) -> &Kernel {
        &self.kernels[task.kernel]
    }

    /// Begin and end of a task in microseconds.
    pub fn span(&self, task: &Task) -> [f64; 2] {
        [task.start_us, task.start_us + self.kernel(task).us()]
    }

    /// For each task the time in microseconds from the end of the one before it in its stream to its begin. An
    /// exchange waits for nothing, as CANN's profiler has it.
    pub fn waits_us(&self) -> Vec<f64> {
        let mut end = None;
        let wait = |task| {
            if !self.kernel(task).engine.computes() {
                return 0.0;
            }
            let [start, stop] = self.span(task);
            start - end.replace(stop).unwrap_or(start)
        };
        self.tasks.iter().map(wait).map(|us| us.max(0.0)).collect()
    }

    /// Time of all tasks together in microseconds: the network's time in the reports, where no exchange runs beside
    /// what computes.
    pub fn total_us(&self) -> f64 {
        // A plain sum of none is -0.
        self.tasks.iter().fold(0.0, |sum, task| sum + self.kernel(task).us())
    }

    /// Begin and end of one form's run in microseconds; `None` where it has no task.
    pub fn span_of(&self, model: &Model) -> Option<[f64; 2]> {
        let tasks = self.tasks.get(model.tasks.clone())?;
        let end = tasks.iter().map(|task| self.span(task)[1]).fold(0.0, f64::max);
        Some([tasks.first()?.start_us, end])
    }
}
