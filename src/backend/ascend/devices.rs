//! Devices of one kind, reached through measuring processes.

use super::job::{Answer, Described, OnDevice, Task, Work};
use super::process::{self, Circumstances, End};
use super::program;
use super::report::Runtime;
use super::timing::Timing;
use super::workshop::{Bench, Workshop};
use crate::backend::Measuring;
use crate::status::{Error, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Name of the backend.
pub const NAME: &str = "ascend";
/// Runs before the first that counts, and pairs of events.
const WARM_UP: u32 = 3;
const SAMPLES: u32 = 5;
/// What opening devices needs to know.
pub struct Setting<'a> {
    /// The runtime that was found.
    pub runtime: &'a Runtime,
    /// Logical devices to measure on; not empty.
    pub devices: &'a [u32],
    /// How they measure.
    pub measuring: &'a Measuring,
    /// Folder for temporary files.
    pub temporary: &'a Path,
    /// Set from any thread to stop.
    pub cancel: Arc<AtomicBool>,
}

/// Devices of one kind, reached through measuring processes.
pub struct Devices {
    program: PathBuf,
    runtime: PathBuf,
    pub(super) workshop: Workshop,
    all: Vec<Device>,
    next: AtomicUsize,
    pub(super) timing: Timing,
    timeout: Duration,
    parallel_compiler: u32,
    cancel: Arc<AtomicBool>,
}

pub(super) struct Device {
    pub(super) id: u32,
    /// Held by the thread that measures on it.
    turn: Mutex<()>,
}

impl Devices {
    /// Readies the measuring of candidates. Nothing is measured yet.
    ///
    /// Fails with [`Error::Backend`] where there is no program that measures, and with [`Error::Directory`] where
    /// there is no place for what it needs.
    pub fn open(setting: &Setting<'_>) -> Result<Devices> {
        let Measuring { run_loop, parallel_compiler, timeout, .. } = *setting.measuring;
        Ok(Devices {
            program: program::find(setting.measuring.program.as_deref()).map_err(unusable)?,
            runtime: setting.runtime.file.clone(),
            workshop: Workshop::open(setting.temporary)?,
            all: setting.devices.iter().map(|&id| Device { id, turn: Mutex::new(()) }).collect(),
            next: AtomicUsize::new(0),
            timing: Timing { warm_up: WARM_UP, repeats: run_loop, samples: SAMPLES },
            timeout,
            parallel_compiler,
            cancel: Arc::clone(&setting.cancel),
        })
    }

    /// What the devices are; all must be of one kind.
    pub fn describe(&self) -> Result<Described> {
        let mut first: Option<(u32, Described)> = None;
        for device in &self.all {
            let bench = self.workshop.bench()?;
            let described = match self.run(device, Task::Describe, &bench, &[]) {
                End::Answered(Answer::Described(described)) => described,
                End::Cancelled => return Err(Error::Cancelled),
                End::Answered(Answer::Failed { reason, .. }) | End::Lost(reason) | End::Unstarted(reason) => {
                    return Err(unusable(format!("device {}: {reason}", device.id)));
                }
                End::Answered(Answer::Compiled | Answer::Timed(_) | Answer::Probed(_)) => {
                    return Err(unusable(format!("device {}: a wrong answer", device.id)));
                }
            };
            match &first {
                None => first = Some((device.id, described)),
                Some((id, other)) if (&other.soc_name, other.ai_cores) != (&described.soc_name, described.ai_cores) => {
                    return Err(unusable(format!(
                        "devices {id} and {} are not of one kind: {} and {}",
                        device.id, other.soc_name, described.soc_name
                    )));
                }
                Some(_) => {}
            }
        }
        first.map(|(_, described)| described).ok_or_else(|| unusable("no device was named".to_owned()))
    }

    pub(super) fn run(&self, device: &Device, task: Task, bench: &Bench, under: &[OsString]) -> End {
        self.work(device, self.on_device(device, task), bench, under)
    }

    /// What a process is to do on a device.
    pub(super) fn on_device(&self, device: &Device, task: Task) -> Work {
        Work::OnDevice(Box::new(OnDevice {
            runtime: self.runtime.clone(),
            device: device.id,
            device_timeout_ms: i32::try_from(self.timeout.as_millis()).unwrap_or(i32::MAX),
            task,
        }))
    }

    /// Has a process do something; while it measures, nobody else does so on that device.
    pub(super) fn work(&self, device: &Device, work: Work, bench: &Bench, under: &[OsString]) -> End {
        let circumstances = Circumstances {
            program: &self.program,
            under,
            turn: &device.turn,
            cancel: &self.cancel,
            timeout: self.timeout,
            parallel_compiler: self.parallel_compiler,
        };
        process::run(work, bench, &circumstances)
    }

    /// The device for the next operator: all measurements of one are made on one.
    pub(super) fn assign(&self) -> &Device {
        &self.all[self.next.fetch_add(1, Ordering::Relaxed) % self.all.len()]
    }
}

/// The error where devices cannot be used.
fn unusable(reason: String) -> Error {
    Error::Backend { backend: NAME.to_owned(), reason }
}
