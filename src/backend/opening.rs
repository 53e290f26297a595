//! Opening devices: what they are asked to be, what they are, and what stands in the way.

use super::ascend::{Ascend, Described, Devices, Probe, Setting};
use super::env::RuntimeEnv;
use super::request::{Opened, Request};
use crate::soc::Soc;
use crate::status::{Error, Result};
use std::path::PathBuf;
use std::sync::Arc;

/// AI Cores that a part may have, as in the description of a SoC; who tells more tells nothing.
const MOST_CORES: u32 = 4096;

/// Opens the devices that were asked for. `simulated` has the simulator price what they cannot measure.
///
/// Fails with [`Error::Backend`] where nothing can be measured, with [`Error::Option`] for an option that asks
/// for another machine than this one, and with [`Error::Cancelled`].
pub fn open_devices(
    request: &Request<'_>,
    devices: &[u32],
    probe: &Probe,
    env: &RuntimeEnv,
    simulated: bool,
) -> Result<Opened> {
    let (backend, note) = open_ascend(request, devices, probe, env, simulated)?;
    Ok(Opened { backend: Box::new(backend), note })
}

/// [`open_devices`], as the devices themselves.
pub fn open_ascend(
    request: &Request<'_>,
    devices: &[u32],
    probe: &Probe,
    env: &RuntimeEnv,
    simulated: bool,
) -> Result<(Ascend, String)> {
    let runtime = probe.runtime.as_ref().filter(|_| probe.has_device());
    let Some(runtime) = runtime.filter(|runtime| runtime.missing.is_empty()) else {
        let reason = match &probe.runtime {
            Some(runtime) => format!("{runtime}; tried: {}", probe.attempts_text()),
            None => format!("no usable Ascend runtime; tried: {}", probe.attempts_text()),
        };
        return Err(Error::Backend { backend: "ascend".to_owned(), reason });
    };
    let setting = Setting {
        runtime,
        devices,
        measuring: &request.measuring,
        temporary: env.temporary(),
        cancel: Arc::clone(&request.cancel),
    };
    let opened = Devices::open(&setting)?;
    let described = opened.describe()?;
    let soc = soc_of(&described, request)?;
    let names: Vec<_> = devices.iter().map(u32::to_string).collect();
    let gib = described.memory_bytes as f64 / f64::from(1 << 30);
    let detail = format!("device {}, {} cores, {gib:.0} GiB, through {runtime}", names.join(", "), soc.ai_core_cnt);
    let rest = match &described.lacking {
        Some(lacking) if simulated => {
            log::warn!("{lacking}; what needs it is simulated");
            format!("; what it cannot measure is simulated, and {lacking}")
        }
        Some(lacking) => return Err(Error::Backend { backend: "ascend".to_owned(), reason: lacking.clone() }),
        None if simulated => "; what it cannot measure is simulated".to_owned(),
        None => String::new(),
    };
    let note = format!("backend ascend ({detail}){rest}, SoC {}", soc.name);
    Ok((Ascend::new(opened, soc, detail, described.lacking, simulated), note))
}

/// The SoC that a device is, with the cores that it has.
fn soc_of(described: &Described, request: &Request<'_>) -> Result<Soc> {
    let name = &described.soc_name;
    let soc = match request.soc_version.map(Soc::named).transpose()? {
        Some(soc) if soc.name.eq_ignore_ascii_case(name) => soc,
        Some(soc) => {
            let reason = format!("the device is an {name}, and {} cannot be measured on it", soc.name);
            return Err(Error::option("soc_version", reason));
        }
        None => Soc::find(name).map_err(|error| Error::Backend {
            backend: "ascend".to_owned(),
            reason: format!(
                "{error} (so the device calls itself); name a file that describes it with soc_version, or simulate \
                 another with backend=simulator"
            ),
        })?,
    };
    if !request.soc_set.is_empty() {
        return Err(Error::option("soc_set", "changes what is simulated; a device is what it is"));
    }
    let told = described.ai_cores.or_else(|| recorded_cores(&request.toolkit.operator_banks(&soc), &soc));
    let soc = with_cores(soc, told);
    match request.aicore_num.filter(|&cores| cores != soc.ai_core_cnt) {
        Some(cores) => {
            let has = soc.ai_core_cnt;
            Err(Error::option(
                "aicore_num",
                format!("the device has {has} AI Cores, and CANN looks for tilings for {has}, not {cores}"),
            ))
        }
        None => Ok(soc),
    }
}

/// The number of cores in the names of the banks that CANN ships for a SoC, where all have one.
fn recorded_cores(folders: &[PathBuf], soc: &Soc) -> Option<u32> {
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let names = files.filter_map(|file| crate::bank::FileName::of(&file.path()).ok());
    let mut counts: Vec<u32> = names.filter(|name| name.soc == soc.name).map(|name| name.cores).collect();
    counts.dedup();
    if let [count] = counts[..] { Some(count) } else { None }
}

/// A SoC with so many AI Cores, where that can be, and as many vector cores for each as before.
fn with_cores(mut soc: Soc, cores: Option<u32>) -> Soc {
    if let Some(cores) = cores.filter(|cores| (1..=MOST_CORES).contains(cores)) {
        soc.vector_core_cnt = soc.vector_core_cnt * cores / soc.ai_core_cnt.max(1);
        soc.ai_core_cnt = cores;
    }
    soc
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bank::Toolkit;

    fn described(soc: &str, cores: Option<u32>) -> Described {
        Described { soc_name: soc.to_owned(), ai_cores: cores, memory_bytes: 1 << 36, lacking: None }
    }

    #[test]
    fn the_devices_own_count_of_cores_decides_over_the_table() {
        let soc = soc_of(&described("Ascend910B1", Some(25)), &Request::default()).unwrap();
        assert_eq!((soc.ai_core_cnt, soc.vector_core_cnt), (25, 50));
        let soc = soc_of(&described("Ascend910B2", None), &Request::default()).unwrap();
        assert_eq!(soc.ai_core_cnt, 24);
        for nonsense in [0, 4097, 2_000_000_000] {
            let soc = soc_of(&described("Ascend910B2", Some(nonsense)), &Request::default()).unwrap();
            assert_eq!((soc.ai_core_cnt, soc.vector_core_cnt), (24, 48));
        }
    }

    #[test]
    fn where_the_runtime_does_not_tell_the_names_of_the_shipped_banks_do() {
        let opp = tempfile::tempdir().unwrap();
        let toolkit = Toolkit { opp: Some(opp.path().to_owned()), ..Toolkit::default() };
        let folder = opp.path().join("built-in/data/op/Ascend910B2/unified_bank");
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str| std::fs::write(folder.join(name), "").unwrap();
        let soc_now = || {
            let request = Request { toolkit: toolkit.clone(), ..Request::default() };
            soc_of(&described("Ascend910B2", None), &request).unwrap().ai_core_cnt
        };
        write("Ascend910B2_20_AiCore_MatMulV3_runtime_kb.json");
        write("Ascend910B1_25_AiCore_MatMulV3_runtime_kb.json");
        write("readme.txt");
        assert_eq!(soc_now(), 20);
        write("Ascend910B2_24_AiCore_Conv3D_runtime_kb.json");
        assert_eq!(soc_now(), 24, "names that disagree tell nothing");
    }

    #[test]
    fn options_that_ask_for_another_machine_are_refused_by_name() {
        let set = [("cube_freq_mhz".to_owned(), "1".to_owned())];
        let requests = [
            (Request { soc_version: Some("Ascend310P3"), ..Request::default() }, "soc_version"),
            (Request { soc_set: &set, ..Request::default() }, "soc_set"),
            (Request { aicore_num: Some(8), ..Request::default() }, "aicore_num"),
        ];
        for (request, option) in requests {
            let error = soc_of(&described("Ascend910B2", Some(24)), &request).unwrap_err();
            assert!(matches!(&error, Error::Option { option: named, .. } if named == option), "{error}");
        }
        let same = Request { soc_version: Some("ascend910b2"), aicore_num: Some(24), ..Request::default() };
        assert!(soc_of(&described("Ascend910B2", Some(24)), &same).is_ok());
    }
}
