//! The files of one profile.

use super::options::{Level, Options};
use super::run::Run;
use super::table::Table;
use super::{info, memory, op_statistic, op_summary, rules, step_trace, task_time, timeline};
use crate::status::Result;
use std::path::PathBuf;

/// Directory of what people and tools read.
const OUTPUT: &str = "mindstudio_profiler_output";

/// A file or directory of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Where it lies in the profile.
    pub path: PathBuf,
    /// What the file holds; `None` for an empty directory.
    pub content: Option<Vec<u8>>,
}

/// A profile under way: whoever takes its files has each before the next is made.
struct Files<'a> {
    stamp: String,
    take: &'a mut dyn FnMut(File) -> Result<()>,
}

/// The files that the options ask for, in CANN's layout since 7.0; `stamp` is the 14 digits in their names.
pub fn files(run: &Run, options: &Options, stamp: &str) -> Result<Vec<File>> {
    let mut files = Vec::new();
    each_file(run, options, stamp, &mut |file| {
        files.push(file);
        Ok(())
    })?;
    Ok(files)
}

/// The same files one by one, so that not all of them are in memory at once. Fails with what `take` fails with.
pub fn each_file(run: &Run, options: &Options, stamp: &str, take: &mut dyn FnMut(File) -> Result<()>) -> Result<()> {
    let mut files = Files { stamp: stamp.to_owned(), take };
    // What msprof-analyze puts its analysis of several devices into.
    (files.take)(File { path: "analyze".into(), content: None })?;
    files.add("host/info.json", info::host(run)?)?;
    files.add("device_0/info.json.0", info::device(run)?)?;
    files.add(&format!("{OUTPUT}/README.txt"), info::README.into())?;
    files.json("msprof", timeline::msprof(run, options)?)?;
    files.json("ge", timeline::ge(run)?)?;
    if options.tasks >= Level::Times {
        files.table("task_time", &task_time::table(run))?;
        files.json("task_time", timeline::task_time(run)?)?;
    }
    if options.tasks == Level::Operators {
        files.table("op_summary", &op_summary::table(run, options.metrics))?;
        files.table("op_statistic", &op_statistic::table(run))?;
        files.some("fusion_op", memory::fusion_op(run).as_ref())?;
        files.add(&format!("{OUTPUT}/prof_rule_0.json"), rules::json(run)?)?;
    }
    if options.training_trace {
        let iterations = step_trace::iterations(run, options);
        files.table("step_trace", &step_trace::table(&iterations))?;
        files.json("step_trace", step_trace::json(&iterations)?)?;
    }
    if options.hccl
        && let Some(exchanges) = timeline::hccl(run)?
    {
        files.json("hccl", exchanges)?;
        files.some("communication_statistic", op_statistic::communication(run).as_ref())?;
    }
    if options.l2 {
        files.table("l2_cache", &memory::l2_cache(run))?;
    }
    if options.runtime_api {
        files.json("thread_group", timeline::thread_group(run)?)?;
    }
    Ok(())
}

impl Files<'_> {
    fn add(&mut self, path: &str, content: Vec<u8>) -> Result<()> {
        (self.take)(File { path: path.into(), content: Some(content) })
    }

    fn json(&mut self, name: &str, content: Vec<u8>) -> Result<()> {
        self.add(&format!("{OUTPUT}/{name}_{}.json", self.stamp), content)
    }

    fn table(&mut self, name: &str, table: &Table) -> Result<()> {
        self.add(&format!("{OUTPUT}/{name}_{}.csv", self.stamp), table.csv()?)
    }

    fn some(&mut self, name: &str, table: Option<&Table>) -> Result<()> {
        table.map_or(Ok(()), |table| self.table(name, table))
    }
}
