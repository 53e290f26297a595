//! A device as a backend: every candidate in a process of its own, with a bank that holds nothing else.

use super::devices::{Device, Devices, NAME};
use super::job::{Answer, Blame, Task};
use super::operator::{Entry, Operator};
use super::process::End;
use super::timing::Times;
use crate::backend::simulator::Simulator;
use crate::backend::{Backend, Description, Measure, Measurement};
use crate::bank::{BankEnvironment, BankPaths, Measured, OperatorBank};
use crate::sim::interval::Interval;
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::{DefaultOrigin, Schedule, Workload};
use std::ffi::OsString;
use std::path::Path;

/// Candidates of one operator that get ready at a time: the next loads CANN while one is measured.
const TOGETHER: usize = 2;
/// Times that a process is started for one measurement while the device fails before the operator is met.
const ATTEMPTS: usize = 3;

/// The backend.
pub struct Ascend {
    pub(super) devices: Devices,
    pub(super) soc: Soc,
    detail: String,
    /// What keeps operators from running through `aclnn`, where something does.
    lacking: Option<String>,
    /// Who prices what the devices cannot measure; nobody where only they were asked for.
    simulator: Option<Simulator>,
}

impl Ascend {
    /// A backend of devices that are of this SoC; `lacking` says what keeps operators from running through `aclnn`,
    /// `simulated` has the simulator price what they cannot measure.
    pub fn new(devices: Devices, soc: Soc, detail: String, lacking: Option<String>, simulated: bool) -> Ascend {
        let simulator = simulated.then(|| Simulator::new(soc.clone()));
        Ascend { devices, soc, detail, lacking, simulator }
    }

    /// A workload as the devices run it with a tiling of ours; why they do not where they do not.
    fn operator(&self, workload: &Workload) -> Result<Operator, String> {
        let operator = Operator::of(workload, &self.soc)?;
        match &self.lacking {
            Some(lacking) if matches!(operator.entry, Entry::AclnnMatmul(_)) => Err(lacking.clone()),
            _ => Ok(operator),
        }
    }

    /// Who prices a workload that the devices do not measure.
    fn pricing(&self, workload: &Workload) -> Option<&Simulator> {
        self.simulator.as_ref().filter(|_| self.operator(workload).is_err())
    }

    /// A workload as the devices run it with CANN's own tiling and no other.
    fn as_cann_runs_it(&self, workload: &Workload) -> Option<Operator> {
        let operator = Operator::as_cann_runs_it(workload, &self.soc)?;
        let lacks = self.lacking.is_some() && matches!(operator.entry, Entry::AclnnMatmul(_));
        (!lacks).then_some(operator)
    }
}

impl Backend for Ascend {
    fn describe(&self) -> Description {
        Description { name: NAME.to_owned(), detail: self.detail.clone(), noisy: true, is_simulated: false }
    }

    fn describe_for(&self, workload: &Workload) -> Description {
        self.pricing(workload).map_or_else(|| self.describe(), Backend::describe)
    }

    fn soc(&self) -> &Soc {
        &self.soc
    }

    fn doubt(&self, workload: &Workload) -> Interval {
        self.pricing(workload).map_or(Interval::EXACT, |simulator| simulator.doubt(workload))
    }

    fn doubt_over_default(&self, workload: &Workload) -> Interval {
        self.pricing(workload).map_or(Interval::EXACT, |simulator| simulator.doubt_over_default(workload))
    }

    fn prepare<'a>(&'a self, workload: &Workload) -> Result<Box<dyn Measure + 'a>> {
        let prepared =
            |operator| Prepared { backend: self, device: self.devices.assign(), workload: workload.clone(), operator };
        Ok(match (self.operator(workload), &self.simulator) {
            (Ok(operator), _) => Box::new(prepared(operator)),
            (Err(_), Some(simulator)) => simulator.prepare(workload)?,
            (Err(reason), None) => Box::new(Fixed { prepared: self.as_cann_runs_it(workload).map(prepared), reason }),
        })
    }
}

/// An operator that no tiling of ours runs.
struct Fixed<'a> {
    /// How a device runs it with CANN's own; `None` where it cannot at all.
    prepared: Option<Prepared<'a>>,
    reason: String,
}

impl Measure for Fixed<'_> {
    fn unmeasurable(&self) -> Option<&str> {
        self.prepared.is_none().then_some(&self.reason)
    }

    fn fixed(&self) -> Option<&str> {
        self.prepared.is_some().then_some(&self.reason)
    }

    fn measure(&mut self, _: &Schedule) -> Measurement {
        Measurement::Failed { reason: self.reason.clone() }
    }

    fn untuned(&mut self) -> Option<Measurement> {
        self.prepared.as_mut()?.untuned()
    }
}

/// An operator on its device.
struct Prepared<'a> {
    backend: &'a Ascend,
    device: &'a Device,
    workload: Workload,
    operator: Operator,
}

impl Measure for Prepared<'_> {
    fn measure(&mut self, schedule: &Schedule) -> Measurement {
        self.measure_with(Some(schedule))
    }

    fn untuned(&mut self) -> Option<Measurement> {
        Some(self.measure_with(None))
    }

    fn together(&self) -> usize {
        TOGETHER
    }

    fn measure_all(&mut self, schedules: &[Schedule]) -> Vec<Measurement> {
        let this = &*self;
        std::thread::scope(|scope| {
            let started: Vec<_> =
                schedules.iter().map(|schedule| scope.spawn(move || this.measure_with(Some(schedule)))).collect();
            let lost = || Measurement::Failed { reason: "the thread that measured it ended".to_owned() };
            started.into_iter().map(|thread| thread.join().unwrap_or_else(|_| lost())).collect()
        })
    }
}

/// Why a measurement gave no times.
#[derive(Debug)]
pub enum Refused {
    /// The candidate could not be run.
    Failed(String),
    /// Nothing more can be measured.
    Ended(String),
    /// The caller cancelled.
    Cancelled,
}

impl Ascend {
    /// Times of a workload with a bank that holds this tiling and nothing else, or nothing.
    pub fn timed(&self, workload: &Workload, schedule: Option<&Schedule>) -> Result<Times, Refused> {
        self.prepared(workload)?.times(schedule, &[])
    }

    /// The same, in a process that another program runs.
    pub fn timed_under(&self, workload: &Workload, schedule: &Schedule, under: &[OsString]) -> Result<Times, Refused> {
        self.prepared(workload)?.times(Some(schedule), under)
    }

    /// Writes the one record where CANN looks for it.
    pub(super) fn record(&self, workload: &Workload, schedule: &Schedule, root: &Path) -> Result<()> {
        let soc = &self.soc;
        let environment = BankEnvironment { tune_bank_path: Some(root.to_owned()), ..BankEnvironment::default() };
        let mut bank = OperatorBank::open(BankPaths::operator(&environment, soc)?, soc);
        // What it will be measured to cost is not known yet, and nobody asks.
        let measured = Measured {
            before_us: 0.0,
            after_us: 0.0,
            backend: NAME.to_owned(),
            space: 0,
            default: DefaultOrigin::Estimated,
        };
        bank.record(workload, schedule, &measured)?;
        bank.save().map(drop)
    }

    fn prepared(&self, workload: &Workload) -> Result<Prepared<'_>, Refused> {
        let operator = self.operator(workload).or_else(|reason| self.as_cann_runs_it(workload).ok_or(reason));
        let operator = operator.map_err(Refused::Failed)?;
        Ok(Prepared { backend: self, device: self.devices.assign(), workload: workload.clone(), operator })
    }
}

impl Prepared<'_> {
    /// Measures with a bank that holds this tiling and nothing else, or nothing.
    fn measure_with(&self, schedule: Option<&Schedule>) -> Measurement {
        match self.times(schedule, &[]) {
            Ok(times) => Measurement::Time { us: times.median },
            Err(Refused::Failed(reason)) => Measurement::Failed { reason },
            Err(Refused::Ended(reason)) => Measurement::Ended { reason },
            Err(Refused::Cancelled) => Measurement::Ended { reason: format!("device {}: cancelled", self.device.id) },
        }
    }

    fn times(&self, schedule: Option<&Schedule>, under: &[OsString]) -> Result<Times, Refused> {
        let devices = &self.backend.devices;
        let ended = |reason: String| Err(Refused::Ended(format!("device {}: {reason}", self.device.id)));
        let mut attempts = 1..=ATTEMPTS;
        loop {
            let is_last = attempts.next() == Some(ATTEMPTS);
            let bench = match devices.workshop.bench() {
                Ok(bench) => bench,
                Err(error) => return ended(error.to_string()),
            };
            match schedule.map_or(Ok(()), |schedule| self.backend.record(&self.workload, schedule, &bench.bank())) {
                Ok(()) => {}
                Err(Error::IllegalSchedule { rule }) => return Err(Refused::Failed(rule)),
                Err(error) => return ended(error.to_string()),
            }
            let task = Task::Measure { operator: self.operator.clone(), timing: devices.timing };
            match devices.run(self.device, task, &bench, under) {
                End::Answered(Answer::Timed(times)) => return Ok(times),
                End::Answered(Answer::Failed { blame: Blame::Candidate, reason }) | End::Lost(reason) => {
                    return Err(Refused::Failed(reason));
                }
                End::Answered(Answer::Failed { blame: Blame::Device, reason }) if !is_last => {
                    log::warn!("device {}: {reason}; trying again", self.device.id);
                }
                End::Answered(Answer::Failed { reason, .. }) | End::Unstarted(reason) => return ended(reason),
                End::Answered(Answer::Compiled | Answer::Described(_) | Answer::Probed(_)) => {
                    return ended("a wrong answer".to_owned());
                }
                End::Cancelled => return Err(Refused::Cancelled),
            }
        }
    }
}
