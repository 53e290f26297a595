//! Chrome traces in the form of CANN's profiler: an array of events, which Perfetto and `MindStudio` Insight open.

use crate::status::{Error, Result};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// Number of the process in a trace: the run is simulated, and no process of the system ran it.
const PROCESS: u64 = 1;
/// The device of a row that is the host's.
const HOST: u64 = 31;

/// A group of rows: a process of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// The graph engine on the host.
    Ge,
    /// Tasks by stream, and the iterations.
    AscendHardware,
    /// Exchanges between devices.
    Communication,
    /// The pipes of the busiest core.
    Pipes,
    /// Computing and communication against each other.
    Overlap,
}

impl Layer {
    /// Name and label of the process, its place among them, and its device.
    const fn about(self) -> (&'static str, &'static str, u64, u64) {
        match self {
            Layer::Ge => ("GE", "CPU", 7, HOST),
            Layer::AscendHardware => ("Ascend Hardware", "NPU 0", 14, 0),
            Layer::Communication => ("Communication", "NPU 0", 16, 0),
            // CANN's profiler numbers its layers up to 29, and 31.
            Layer::Pipes => ("AI Core Pipes (busiest core)", "NPU 0", 30, 0),
            Layer::Overlap => ("Overlap Analysis", "NPU 0", 31, 0),
        }
    }

    /// The number of the process.
    pub const fn pid(self) -> u64 {
        let (_, _, index, device) = self.about();
        PROCESS << 10 | index << 5 | device
    }
}

/// Values that are told of an event, in order.
#[derive(Debug, Clone, Default)]
pub struct Args(Vec<(&'static str, Value)>);

impl Args {
    /// With one more value.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<Value>) -> Args {
        self.0.push((key, value.into()));
        self
    }
}

impl Serialize for Args {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// One event.
struct Event<'a> {
    name: &'a str,
    pid: u64,
    tid: Value,
    /// Begin and end in nanoseconds; a row's name has none.
    span: Option<[i64; 2]>,
    cat: Option<&'static str>,
    args: Args,
}

impl Serialize for Event<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", self.name)?;
        map.serialize_entry("pid", &self.pid)?;
        map.serialize_entry("tid", &self.tid)?;
        if let Some([start, end]) = self.span {
            map.serialize_entry("ts", &format!("{}.{:03}", start / 1000, start % 1000))?;
            map.serialize_entry("dur", &((end - start) as f64 / 1000.0))?;
        }
        map.serialize_entry("ph", if self.span.is_some() { "X" } else { "M" })?;
        if let Some(cat) = self.cat {
            map.serialize_entry("cat", cat)?;
        }
        map.serialize_entry("args", &self.args)?;
        map.end()
    }
}

/// Microseconds as nanoseconds: ends and begins that meet still do.
pub fn ns(us: f64) -> i64 {
    (us * 1e3).round() as i64
}

/// A trace that is being written.
#[derive(Debug, Default)]
pub struct Trace {
    text: Vec<u8>,
}

impl Trace {
    /// Names a group of rows.
    pub fn process(&mut self, layer: Layer) -> Result<()> {
        let (name, label, index, _) = layer.about();
        let args = Args::default();
        self.meta(layer, "process_name", 0.into(), args.clone().with("name", name))?;
        self.meta(layer, "process_labels", 0.into(), args.clone().with("labels", label))?;
        self.meta(layer, "process_sort_index", 0.into(), args.with("sort_index", index))
    }

    /// Names a row.
    pub fn thread(&mut self, layer: Layer, tid: u64, name: &str) -> Result<()> {
        self.meta(layer, "thread_name", tid.into(), Args::default().with("name", name))?;
        self.meta(layer, "thread_sort_index", tid.into(), Args::default().with("sort_index", tid))
    }

    /// Adds a bar of so many nanoseconds to a row.
    pub fn bar(&mut self, layer: Layer, tid: impl Into<Value>, name: &str, span: [i64; 2], args: Args) -> Result<()> {
        self.event(&Event { name, pid: layer.pid(), tid: tid.into(), span: Some(span), cat: None, args })
    }

    /// The same, of a kind.
    pub fn bar_of(
        &mut self,
        layer: Layer,
        tid: u64,
        (name, cat): (&str, &'static str),
        span: [i64; 2],
        args: Args,
    ) -> Result<()> {
        self.event(&Event { name, pid: layer.pid(), tid: tid.into(), span: Some(span), cat: Some(cat), args })
    }

    /// The trace as JSON.
    pub fn json(mut self) -> Vec<u8> {
        if self.text.is_empty() {
            self.text.push(b'[');
        }
        self.text.extend(b"\n]\n");
        self.text
    }

    fn meta(&mut self, layer: Layer, name: &str, tid: Value, args: Args) -> Result<()> {
        self.event(&Event { name, pid: layer.pid(), tid, span: None, cat: None, args })
    }

    fn event(&mut self, event: &Event<'_>) -> Result<()> {
        self.text.extend(if self.text.is_empty() { &b"[\n"[..] } else { b",\n" });
        serde_json::to_writer(&mut self.text, event)
            .map_err(|error| Error::Internal { place: "profile trace".into(), message: error.to_string() })
    }
}
