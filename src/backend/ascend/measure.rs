//! What a measuring process does: one job, on one device, in the environment that it was started with.

use super::atc::Build;
use super::device::{Called, Device};
use super::job::{Answer, Described, Job, OnDevice, Task, VERSION, Work};
use super::kernel::{Kernel, Operands, Unready, operator_functions};
use super::libraries::Libraries;
use super::library::Loaded;
use super::operator::Operator;
use super::places::Place;
use super::report::{CallFailure, Origin};
use super::symbols::Functions;
use super::timing::{Times, Timing};
use crate::status;
use std::path::Path;

/// Bytes that the device fills before each sample: long enough for the host to hand over all launches
/// meanwhile, so that none waits for the host.
const LEAD_BYTES: usize = 256 << 20;
/// Part of the free memory that this takes at most.
const LEAD_SHARE: usize = 4;

/// What keeps the turns on a device: called when everything is ready, returns when it is this process's turn.
pub type Turn<'a> = dyn FnMut() -> Result<(), String> + 'a;

/// Does a job and tells what came of it, before the device is given back: what goes wrong then no longer matters.
pub fn work(job: &Job, turn: &mut Turn<'_>, tell: impl FnOnce(&Answer) -> status::Result<()>) -> status::Result<()> {
    let (answer, device) = answer(job, turn);
    tell(&answer)?;
    if let Some(Err(failure)) = device.map(Device::close) {
        log::warn!("the device was not given back: {failure}");
    }
    Ok(())
}

/// What came of a job, and the device where it was opened.
fn answer(job: &Job, turn: &mut Turn<'_>) -> (Answer, Option<Device>) {
    if job.version != VERSION {
        let reason = format!("the measuring program is of version {VERSION}, the library of {}", job.version);
        return (Answer::unusable(reason), None);
    }
    match &job.work {
        Work::Probe(environment) => (Answer::Probed(Box::new(super::probe(environment))), None),
        Work::Build(build) => (built(build), None),
        Work::OnDevice(work) => on_device(work, turn),
    }
}

fn built(build: &Build) -> Answer {
    let failed = |reason| Answer::Failed { blame: super::job::Blame::Candidate, reason };
    build.run().map_or_else(failed, |()| Answer::Compiled)
}

fn on_device(job: &OnDevice, turn: &mut Turn<'_>) -> (Answer, Option<Device>) {
    let place = place_of(&job.runtime);
    let main = match Loaded::open(&job.runtime) {
        Ok(main) => main,
        Err(message) => return (Answer::unusable(format!("{}: {message}", job.runtime.display())), None),
    };
    let mut libraries = Libraries::of(&main, &place);
    let functions = match Functions::resolve(&mut libraries) {
        Ok(functions) => functions,
        Err(missing) => {
            return (Answer::unusable(format!("the Ascend runtime lacks {}", missing.join(", "))), None);
        }
    };
    let device = match Device::open(functions, &mut libraries, job.device, job.device_timeout_ms) {
        Ok(device) => device,
        Err(failure) => return (Answer::failure(&failure, true), None),
    };
    let done = match &job.task {
        Task::Describe => describe(&device, &mut libraries).map_err(|failure| Answer::failure(&failure, true)),
        Task::Compile { operator, folder } => compile(operator, folder, &device).map_err(Failed::answer),
        Task::Measure { operator, timing } => {
            measure(operator, *timing, &device, &mut libraries, turn).map_err(Failed::answer)
        }
    };
    let (Ok(answer) | Err(answer)) = done;
    (answer, Some(device))
}

/// Where the companions of a runtime lie: beside it, or where the system's loader finds it.
fn place_of(runtime: &Path) -> Place {
    let folder = runtime.parent().filter(|folder| !folder.as_os_str().is_empty());
    Place { origin: Origin::Process, folder: folder.map(Path::to_owned) }
}

fn describe(device: &Device, libraries: &mut Libraries<'_>) -> Called<Answer> {
    let (_, memory_bytes) = device.memory()?;
    Ok(Answer::Described(Described {
        soc_name: device.soc_name()?,
        ai_cores: device.ai_cores(),
        memory_bytes: memory_bytes as u64,
        lacking: operator_functions(libraries).err(),
    }))
}

/// Has CANN compile an operator, with all that it says of the kernel.
fn compile(operator: &Operator, folder: &Path, device: &Device) -> Result<Answer, Failed> {
    let operands = Operands::of(operator, device)?;
    Kernel::compile(operator, &operands, device, folder)?;
    Ok(Answer::Compiled)
}

/// Why there is no time.
enum Failed {
    /// A call failed before the operator was met.
    Before(CallFailure),
    /// A call failed.
    Call(CallFailure),
    /// The machine lacks something.
    Lacking(String),
    /// The result or the times are none.
    Wrong(String),
}

impl Failed {
    fn answer(self) -> Answer {
        match self {
            Failed::Before(failure) => Answer::failure(&failure, true),
            Failed::Call(failure) => Answer::failure(&failure, false),
            Failed::Lacking(reason) => Answer::unusable(reason),
            Failed::Wrong(reason) => Answer::Failed { blame: super::job::Blame::Candidate, reason },
        }
    }
}

impl From<CallFailure> for Failed {
    fn from(failure: CallFailure) -> Failed {
        Failed::Call(failure)
    }
}

impl From<Unready> for Failed {
    fn from(unready: Unready) -> Failed {
        match unready {
            Unready::Call(failure) => Failed::Call(failure),
            Unready::Lacking(reason) => Failed::Lacking(reason),
        }
    }
}

fn measure(
    operator: &Operator,
    timing: Timing,
    device: &Device,
    libraries: &mut Libraries<'_>,
    turn: &mut Turn<'_>,
) -> Result<Answer, Failed> {
    let stream = device.stream().map_err(Failed::Before)?;
    let (start, end) = (device.event().map_err(Failed::Before)?, device.event().map_err(Failed::Before)?);
    let operands = Operands::of(operator, device)?;
    let kernel = Kernel::prepare(operator, &operands, device, libraries)?;
    let (free, _) = device.memory()?;
    let lead = device.allocate(LEAD_BYTES.min(free / LEAD_SHARE))?;
    turn().map_err(Failed::Lacking)?;
    kernel.launch(&stream)?;
    stream.wait()?;
    check(operator, &operands)?;
    for _ in 0..timing.warm_up {
        kernel.launch(&stream)?;
    }
    stream.wait()?;
    let mut samples = Vec::new();
    for _ in 0..timing.samples {
        stream.fill(&lead)?;
        stream.record(&start)?;
        for _ in 0..timing.repeats {
            kernel.launch(&stream)?;
        }
        stream.record(&end)?;
        stream.wait()?;
        samples.push(start.until(&end)? / f64::from(timing.repeats.max(1)));
    }
    let times = Times::of(&samples).ok_or_else(|| Failed::Wrong(format!("its times are {samples:?} us")))?;
    Ok(Answer::Timed(times))
}

/// Compares parts of the result with what they must be.
fn check(operator: &Operator, operands: &Operands<'_>) -> Result<(), Failed> {
    let unknown = || Failed::Lacking(format!("what the result of {} must be is not known", operator.op_type));
    let (expected, output) = (operator.expected.as_ref().ok_or_else(unknown)?, &operator.output);
    let size = output.dtype.bytes();
    for run in expected.runs() {
        let content = operands.output.read((run.from * size) as usize, (run.count * size) as usize)?;
        expected.check(run, &output.decode(&content), output.dtype).map_err(Failed::Wrong)?;
    }
    Ok(())
}
