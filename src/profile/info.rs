//! What the profile was taken on: `info.json` of host and device, and a page for people.

use super::run::{Engine, Run};
use crate::soc::{Arch, Soc};
use crate::status::{Error, Result};
use serde_json::{Value, json};

/// `device_0/info.json.0`. What only a machine has is empty: none ran the network.
pub fn device(run: &Run) -> Result<Vec<u8>> {
    let soc = &run.soc;
    let cores: Vec<u32> = (0..soc.ai_core_cnt).collect();
    to_bytes(&json!({
        "version": "1.0",
        "jobInfo": format!("simulated by libaoe {}: {} on {}", env!("CARGO_PKG_VERSION"), run.network, soc.name),
        "OS": "",
        "hostname": "",
        "hwtype": "",
        "devices": "0",
        "platform": "",
        "platform_version": platform_version(soc),
        "pid": "1",
        "pid_name": "aoe",
        "rank_id": 0,
        "DeviceInfo": [{
            "id": 0,
            "env_type": 0,
            "ai_core_num": soc.ai_core_cnt,
            "ai_core_id": joined(&cores),
            // Cores that run what is told as AI_VECTOR_CORE.
            "aiv_num": if Engine::has_vector_cores(soc) { soc.vector_core_cnt } else { 0 },
            "aic_frequency": mhz(soc.cube_freq_mhz),
            "aiv_frequency": mhz(soc.vec_freq_mhz),
        }],
        "CPU": [],
        "netCard": [],
    }))
}

/// `host/info.json`.
pub fn host(run: &Run) -> Result<Vec<u8>> {
    to_bytes(&json!({
        "version": "1.0",
        "jobInfo": format!("simulated by libaoe {}: {} on {}", env!("CARGO_PKG_VERSION"), run.network, run.soc.name),
        "devices": "0",
        "pid": "1",
        "pid_name": "aoe",
    }))
}

/// CANN's number for the generation of a part.
fn platform_version(soc: &Soc) -> &'static str {
    match soc.arch {
        Arch::C100 => "1",
        Arch::M200 => "2",
        Arch::C220 => "5",
        Arch::M300 => "7",
        Arch::C310 => "15",
    }
}

fn mhz(frequency: f64) -> String {
    format!("{frequency:.6}")
}

fn joined(cores: &[u32]) -> String {
    cores.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// `README.txt` beside the tables.
pub const README: &str = "\
Profile of one run of a network, written by libaoe in the layout of CANN's profiler.
Times are microseconds from the begin of the run. N/A stands where a value is not known.

msprof_*.json               timeline: streams, iterations, pipes, what overlaps; https://ui.perfetto.dev opens it
op_summary_*.csv            every task: operator, tensors, cores, time, counters
op_statistic_*.csv          tasks of each operator type together
task_time_*.csv, .json      when each task ran
step_trace_*.csv, .json     iterations
fusion_op_*.csv             what fused kernels are made of
l2_cache_*.csv              tasks whose data L2 serves; what it serves is not known
hccl_*.json, communication_statistic_*.csv   exchanges between devices
ge_*.json, thread_group_*.json               runs of the network's forms
prof_rule_0.json            what bounds the network, and which operators to look at
";

/// JSON as people read it.
pub fn to_bytes(value: &Value) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| Error::Internal { place: "profile".into(), message: error.to_string() })?;
    text.push(b'\n');
    Ok(text)
}
