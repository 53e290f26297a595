//! Whether TBE finds a record of ours when it compiles.

use super::atc::Build;
use super::backend::{Ascend, Refused};
use super::job::{Answer, Task, Work};
use super::kernel_json;
use super::operator::Operator;
use super::process::{End, complaint};
use crate::frontend::save_file;
use crate::graph::Graph;
use crate::status::Error;
use crate::workload::{Schedule, Workload};
use std::path::Path;

/// How a kernel is compiled.
pub enum Compiled<'a> {
    /// As an operator by itself.
    Alone,
    /// As what the graph compiler fuses of a graph, by ATC, which lies there.
    Within(&'a Graph, &'a Path),
}

impl Ascend {
    /// Whether TBE found this tiling in its bank, of each kernel that it compiled for a workload with a bank that holds
    /// nothing else, or nothing: what the JSON beside the kernel says. None where the compiler left no such JSON.
    pub fn bank_hits(
        &self,
        workload: &Workload,
        schedule: Option<&Schedule>,
        compiled: &Compiled<'_>,
    ) -> Result<Vec<bool>, Refused> {
        let ended = |error: Error| Refused::Ended(error.to_string());
        let devices = &self.devices;
        let bench = devices.workshop.bench().map_err(ended)?;
        if let Some(schedule) = schedule {
            self.record(workload, schedule, &bench.bank()).map_err(ended)?;
        }
        let folder = bench.path().join("kernels");
        std::fs::create_dir(&folder).map_err(|e| ended(Error::directory("create", &folder, e)))?;
        let device = devices.assign();
        let work = match compiled {
            Compiled::Alone => {
                let operator = Operator::to_compile(workload, &self.soc).map_err(Refused::Failed)?;
                devices.on_device(device, Task::Compile { operator, folder: folder.clone() })
            }
            Compiled::Within(graph, program) => {
                let model = folder.join("model.air");
                save_file(graph, &model).map_err(ended)?;
                let (program, soc) = (program.to_path_buf(), self.soc.name.clone());
                Work::Build(Box::new(Build { program, model, soc, folder: folder.clone() }))
            }
        };
        match devices.work(device, work, &bench, &[]) {
            End::Answered(Answer::Compiled) => Ok(kernel_json::hits(&folder)),
            End::Answered(Answer::Failed { reason, .. }) => Err(Refused::Failed(complaint(&reason, &bench.output()))),
            End::Lost(reason) | End::Unstarted(reason) => Err(Refused::Failed(reason)),
            End::Answered(_) => Err(Refused::Ended("a wrong answer".to_owned())),
            End::Cancelled => Err(Refused::Cancelled),
        }
    }
}
