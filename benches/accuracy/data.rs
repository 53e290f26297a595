//! Measured kernels: reading them, and which of them fitting may see.

use aoe::graph::DataType;
use aoe::sim::{Constants, Prediction};
use aoe::simulate::{Job, read};
use aoe::soc::Soc;
use aoe::status::Error;
use aoe::workload::Workload;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;
use std::path::Path;

/// The set that is split by network; every other one is split by problem.
pub const NETWORKS: &str = "kernels_910_30core";
/// Its networks whose kernels fitting must not see.
pub const HELD_OUT_NETWORKS: &[&str] = &["vit64", "bert_64_32", "resnet50_32_224_224"];

/// The bank of the 910B2 was measured at this clock: its compute-bound rows stop there.
const BANK_CLOCK: &str = "1500";
/// Microseconds after which a repository's measurement was broken off: kernels that take longer have this time there.
const BROKEN_OFF_US: f64 = 1e6;

/// Shortest times that are judged in sets that hold the gap between kernels, in microseconds.
const GAPS: [(&str, f64); 3] = [("mm_bf16_910b_24core", 20.0), ("w8a8_910b_24core", 100.0), ("fia_910b_24core", 100.0)];

/// One measured kernel.
pub struct Row {
    pub id: String,
    /// Which file it comes from, without extension.
    pub set: String,
    pub soc: Soc,
    pub op: String,
    pub class: Class,
    /// What one problem is: rows of one problem are on the same side of the split.
    pub network: Option<String>,
    pub held_out: bool,
    pub count: f64,
    pub measured_us: f64,
    /// Measured busy shares, where the file has them: mac, mte1, mte2, fixpipe, vec, mte3.
    /// `None` for a pipe that the file does not tell of.
    pub pipes: Option<[Option<f64>; 6]>,
    /// A product whose stored extents are surely the true ones; see [`surely_aligned`].
    pub trusted: bool,
    pub case: Value,
    pub job: Result<Job, String>,
    /// A kernel that was measured together with it, before it.
    pub before: Option<Job>,
}

/// Operator classes of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Cube,
    Attention,
    Vector,
    Movement,
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Class::Cube => "cube",
            Class::Attention => "attention",
            Class::Vector => "vector",
            Class::Movement => "movement",
        }
    }
}

impl Row {
    /// What the model says, or why it says nothing. Beside a measurement that was broken off any longer time is right, and
    /// counts as the measured one.
    pub fn price(&self, constants: &Constants) -> Result<Prediction, String> {
        let price = |job: &Job| job.predict(&self.soc, constants).map_err(|e| e.to_string());
        let mut prediction = price(self.job.as_ref().map_err(Clone::clone)?)?;
        if let Some(before) = &self.before {
            prediction.time_us += price(before)?.time_us;
        }
        prediction.time_us = self.judged(prediction.time_us);
        Ok(prediction)
    }

    /// Whether its time is more than the gap between kernels, where its set holds that.
    pub fn is_judged(&self) -> bool {
        GAPS.iter().all(|(set, least)| self.set != *set || self.measured_us >= *least)
    }

    /// A predicted time as it counts beside the measured one.
    pub fn judged(&self, time_us: f64) -> f64 {
        if self.is_broken_off() { time_us.min(self.measured_us) } else { time_us }
    }

    /// Whether its time is only known to be no shorter than this.
    fn is_broken_off(&self) -> bool {
        !self.case["tiling"].is_null() && self.measured_us == BROKEN_OFF_US
    }
}

/// SoC that files without a `soc` field were measured on, and overrides of fields: `field=value` for all
/// SoCs, `soc:field=value` for one.
#[derive(Default)]
pub struct Assumed {
    pub soc: Option<String>,
    pub set: Vec<(Option<String>, String, String)>,
}

impl Assumed {
    /// Reads `--soc NAME` and `--set [SOC:]FIELD=VALUE`; answers the other arguments.
    pub fn parse(mut args: impl Iterator<Item = String>) -> Result<(Assumed, Vec<String>), String> {
        let (mut assumed, mut rest) = (Assumed::default(), Vec::new());
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--soc" => assumed.soc = Some(value()?),
                "--set" => {
                    let text = value()?;
                    let (field, value) = text.split_once('=').ok_or_else(|| format!("--set {text}: no `=`"))?;
                    let (soc, field) = field.split_once(':').map_or((None, field), |(s, f)| (Some(s.to_owned()), f));
                    assumed.set.push((soc, field.to_owned(), value.to_owned()));
                }
                _ => rest.push(arg),
            }
        }
        Ok((assumed, rest))
    }
}

impl Assumed {
    /// Changes the fields of a part that are to be changed.
    pub fn apply(&self, soc: &mut Soc) -> Result<(), String> {
        for (only, field, value) in &self.set {
            if only.as_ref().is_none_or(|only| *only == soc.name) {
                soc.set(field, value).map_err(|e| e.to_string())?;
            }
        }
        Ok(())
    }
}

/// The lines of the files in a folder with this name, if there is one.
pub fn lines_of(folder: &Path, set: &str) -> Result<Vec<Value>, String> {
    let paths = [format!("{set}.jsonl"), format!("{set}.jsonl.gz")].map(|name| folder.join(name));
    let Some(path) = paths.iter().find(|path| path.is_file()) else { return Ok(Vec::new()) };
    let text = text(path)?;
    let lines = text.lines().filter(|l| !l.trim().is_empty());
    lines.map(|line| aoe::cases::json(line).map_err(|e| format!("{set}: {e}"))).collect()
}

/// Reads every file of measured kernels in a folder, in the order of their names. Rows of parts that the library does
/// not know are counted and named.
pub fn load(folder: &Path, assumed: &Assumed) -> Result<Vec<Row>, String> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .map_err(|e| format!("{}: {e}", folder.display()))?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|p| p.to_string_lossy().ends_with(".jsonl") || p.to_string_lossy().ends_with(".jsonl.gz"))
        .collect();
    paths.sort();
    let mut rows = Vec::new();
    for path in paths {
        let text = text(&path)?;
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let set = name.trim_end_matches(".gz").trim_end_matches(".jsonl").to_owned();
        let mut unknown = BTreeMap::new();
        for line in text.lines().filter(|l| !l.trim().is_empty()) {
            rows.extend(row(line, &set, assumed, &mut unknown)?);
        }
        for (soc, rows) in unknown {
            println!("{set}: {rows} rows left out, there is no SoC `{soc}` here");
        }
    }
    Ok(rows)
}

fn text(path: &Path) -> Result<String, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    let mut text = String::new();
    let mut file = std::fs::File::open(path).map_err(failed)?;
    if path.extension().is_some_and(|e| e == "gz") {
        flate2::read::MultiGzDecoder::new(file).read_to_string(&mut text).map_err(failed)?;
    } else {
        file.read_to_string(&mut text).map_err(failed)?;
    }
    Ok(text)
}

/// One row; `None` for lines that carry no measurement, and for those of unknown parts, which are counted.
fn row(line: &str, set: &str, assumed: &Assumed, unknown: &mut BTreeMap<String, usize>) -> Result<Option<Row>, String> {
    let case: Value = aoe::cases::json(line).map_err(|e| format!("{set}: {e}"))?;
    let measured = &case["measured"];
    // What a profiler calls a task's duration: with the start of its cores, of which their own time knows nothing.
    let duration_us = measured["duration_us"].as_f64();
    let Some(measured_us) = case["measured_us"].as_f64().or(duration_us) else { return Ok(None) };
    if let Some(name) = case["soc"].as_str()
        && matches!(Soc::find(name), Err(Error::UnknownSoc { .. }))
    {
        *unknown.entry(name.to_owned()).or_default() += 1;
        return Ok(None);
    }
    let soc = soc(case["soc"].as_str(), assumed)?;
    let pipes = measured.is_object().then(|| shares(measured, case["core"].as_str().unwrap_or_default()));
    let job = read(line, &soc).map_err(|e| e.to_string());
    let op = case["op"].as_str().unwrap_or_default().to_owned();
    let network = case["network"].as_str().map(str::to_owned);
    let held_out = match &network {
        Some(name) if set == NETWORKS => HELD_OUT_NETWORKS.contains(&name.as_str()),
        _ => fold(&case) >= 6,
    };
    let network_free = network.is_none() && pipes.is_none();
    Ok(Some(Row {
        id: case["id"].as_str().unwrap_or_default().to_owned(),
        set: set.to_owned(),
        class: class(&op, job.as_ref().ok().map(|j| &j.workload)),
        op,
        network,
        held_out,
        count: case["count"].as_f64().unwrap_or(1.0),
        measured_us,
        pipes,
        trusted: network_free && surely_aligned(&job),
        before: quantisation(&case, &soc)?,
        soc,
        case,
        job,
    }))
}

/// The kernel that quantises the rows of A, where a file measured both together.
fn quantisation(case: &Value, soc: &Soc) -> Result<Option<Job>, String> {
    if !case["composite"].as_str().is_some_and(|text| text.starts_with("DynamicQuant")) {
        return Ok(None);
    }
    let (rows, a) = (&case["inputs"][0]["shape"][0], &case["inputs"][0]["shape"]);
    let tensor = |shape: Value, dtype: &str| json!({"shape": shape, "dtype": dtype, "format": "ND"});
    let quantise = json!({
        "op": "DynamicQuant", "cache": "warm", "inputs": [tensor(a.clone(), "bfloat16")],
        "outputs": [tensor(a.clone(), "int8"), tensor(json!([rows]), "float32")],
    });
    read(&quantise.to_string(), soc).map(Some).map_err(|e| e.to_string())
}

/// Measured busy shares of the pipes that a core has: mac, mte1, mte2, fixpipe, vec, mte3. A mixed kernel's
/// MTE2 is that of its cube cores.
fn shares(measured: &Value, core: &str) -> [Option<f64>; 6] {
    let share = |name: &str| measured[name].as_f64();
    let (cube, vector) = (core != "AI_VECTOR_CORE" && core != "MIX_AIV", core != "AI_CORE");
    let on = |has: bool, name: &str| if has { share(name) } else { None };
    let mte2 = if cube { share("mte2") } else { share("aiv_mte2") };
    [on(cube, "mac"), on(cube, "mte1"), mte2, on(cube, "fixpipe"), on(vector, "vec"), on(vector, "aiv_mte3")]
}

/// Whether a product's stored extents are surely the true ones. The bank rounds extents up to 16; where the
/// true ones were odd and the operands plain matrices, transfers were slower in a way that the row does not
/// tell. Rows that are multiples of 128 elements, biased, or written in fp32 do not show it.
fn surely_aligned(job: &Result<Job, String>) -> bool {
    let Ok(Job { workload: Workload::MatMul(w), .. }) = job else { return false };
    let inner = [if w.trans_a { w.m } else { w.k }, if w.trans_b { w.k } else { w.n }];
    w.bias || w.out_dtype == DataType::Float || inner.iter().all(|extent| extent % 128 == 0)
}

/// One of ten folds, by problem: sizes of a product, or operator and operands.
pub fn fold(case: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    for name in ["op", "batch", "m", "k", "n", "inputs"] {
        case[name].to_string().hash(&mut hasher);
    }
    // Convolutions with a repository's tiling have operands of other names.
    if !case["tiling"].is_null() {
        for name in ["a", "b", "c", "attrs"] {
            case[name].to_string().hash(&mut hasher);
        }
    }
    hasher.finish() % 10
}

fn soc(named: Option<&str>, assumed: &Assumed) -> Result<Soc, String> {
    let name = named.or(assumed.soc.as_deref()).unwrap_or("Ascend910B2");
    let mut soc = Soc::find(name).map_err(|e| e.to_string())?;
    if named.is_none() && assumed.soc.is_none() {
        soc.set("cube_freq_mhz", BANK_CLOCK).map_err(|e| e.to_string())?;
    }
    assumed.apply(&mut soc)?;
    Ok(soc)
}

fn class(op: &str, workload: Option<&Workload>) -> Class {
    match workload {
        _ if op.contains("Attention") => Class::Attention,
        Some(w) if w.is_cube() => Class::Cube,
        Some(Workload::Move(_)) => Class::Movement,
        None if op.contains("MatMul") || op.contains("Conv2D") => Class::Cube,
        _ => Class::Vector,
    }
}
