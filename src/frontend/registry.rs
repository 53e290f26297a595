//! The table of frontends. A new one is a folder and a row.

use super::{ModelOptions, air, caffe, om, onnx, singleop, tensorflow};
use crate::graph::Graph;
use crate::status::Result;
use prost::bytes::Bytes;
use std::path::Path;

/// Framework of a model file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framework {
    /// ONNX.
    Onnx,
    /// GE's serialised IR (`.air`): MindSpore, torchair, GE's own graphs; its dumps, as text.
    Air,
    /// TensorFlow frozen `GraphDef`.
    TensorFlow,
    /// Caffe prototxt.
    Caffe,
    /// Descriptions of single operators (`--singleop`).
    SingleOp,
    /// An om file that holds a tuned graph.
    Om,
}

/// A model as a frontend gets it.
pub struct Source<'a> {
    /// All its bytes.
    pub data: Bytes,
    /// Name of the graph where the model gives none: the file's, without suffix.
    pub name: &'a str,
    /// Directory of the model file, where there is one.
    pub base: Option<&'a Path>,
    /// What the caller says of it: the file of a Caffe net's weights, and sizes on which the graph itself may hang.
    pub options: &'a ModelOptions,
}

/// One row: a framework and its reader.
struct Frontend {
    framework: Framework,
    name: &'static str,
    /// CANN's number (`--framework`).
    number: Option<&'static str>,
    /// Suffixes of its files, lower case; none where only the content tells.
    suffixes: &'static [&'static str],
    /// Whether a file's content is such a model; of several that think so, the first counts.
    recognise: fn(&Bytes) -> bool,
    /// Reads one.
    read: fn(Source<'_>) -> Result<Graph>,
    /// What is left to do once the shapes are known.
    settle: fn(&mut Graph) -> Result<()>,
    /// Whether what a file states of shapes inside the network must agree with what its inputs make of them. Dumps
    /// state tensors as they lie on the device, padding included.
    agrees: bool,
}

/// The frontends. Of those that share a suffix, the first that recognises the content reads the file,
/// else the last.
#[rustfmt::skip] // one row, one line
static FRONTENDS: &[Frontend] = &[
    Frontend { framework: Framework::Onnx, name: "ONNX", number: Some("5"), suffixes: &["onnx", "pb"], recognise: onnx::is_model, read: |s| onnx::read(s.data, s.name, s.base, s.options), settle: settle_onnx, agrees: true },
    Frontend { framework: Framework::TensorFlow, name: "TensorFlow", number: Some("3"), suffixes: &["pb", "pbtxt"], recognise: tensorflow::is_graph, read: |s| tensorflow::read(s.data, s.name), settle: |_| Ok(()), agrees: true },
    Frontend { framework: Framework::Caffe, name: "Caffe", number: Some("0"), suffixes: &["prototxt", "caffemodel"], recognise: caffe::is_net, read: |s| caffe::read(&s.data, s.name, s.options.weights.as_deref()), settle: caffe::settle, agrees: false },
    Frontend { framework: Framework::SingleOp, name: "single-operator JSON", number: None, suffixes: &[], recognise: singleop::is_description, read: |s| singleop::read(&s.data, s.name), settle: |_| Ok(()), agrees: true },
    Frontend { framework: Framework::Om, name: "om", number: None, suffixes: &[], recognise: om::is_om, read: |s| om::read(&s.data, s.name), settle: settle_air, agrees: false },
    Frontend { framework: Framework::Air, name: "AIR", number: Some("1"), suffixes: &["air"], recognise: air::is_model, read: |s| air::read(s.data, s.name), settle: settle_air, agrees: false },
];

fn settle_onnx(graph: &mut Graph) -> Result<()> {
    onnx::settle(graph)
}

/// Nothing in a graph of GE's can turn out to be wrong only here.
#[expect(clippy::unnecessary_wraps, reason = "it stands in the table")]
fn settle_air(graph: &mut Graph) -> Result<()> {
    air::conform::settle(graph);
    Ok(())
}

impl Framework {
    fn row(self) -> &'static Frontend {
        // Every framework has its row; the tests hold it to that.
        FRONTENDS.iter().find(|row| row.framework == self).unwrap_or(&FRONTENDS[0])
    }

    /// The framework's name.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The framework of this number (`--framework`).
    pub fn from_number(number: &str) -> Option<Framework> {
        FRONTENDS.iter().find(|row| row.number == Some(number)).map(|row| row.framework)
    }

    /// Reads a model of this framework, without binding its inputs or inferring its shapes.
    ///
    /// Fails with what the reader says.
    pub fn read(self, source: Source<'_>) -> Result<Graph> {
        (self.row().read)(source)
    }

    /// Whether its files hold graphs of GE.
    pub fn is_ges(self) -> bool {
        matches!(self, Framework::Air | Framework::Om)
    }

    /// Whether what its files state of shapes inside the network must agree with what their inputs make of them.
    pub fn must_agree(self) -> bool {
        self.row().agrees
    }

    /// Finishes a graph whose shapes were inferred; fails where that brings a contradiction to light.
    pub fn settle(self, graph: &mut Graph) -> Result<()> {
        (self.row().settle)(graph)
    }
}

/// Suffixes that tell a model file.
pub fn suffixes() -> impl Iterator<Item = &'static str> {
    FRONTENDS.iter().flat_map(|row| row.suffixes).copied()
}

/// The framework of a file by its suffix (lower case), and by its content where several share one. CANN's dumps
/// are told by their content alone: they have suffixes that say nothing or something else.
pub fn by_suffix(suffix: &str, data: &Bytes) -> Option<Framework> {
    if air::dump::is_dump(data) {
        return Some(Framework::Air);
    }
    let rows = || FRONTENDS.iter().filter(|row| row.suffixes.contains(&suffix));
    match rows().count() {
        0 | 1 => rows().next(),
        _ => rows().find(|row| (row.recognise)(data)).or_else(|| rows().next_back()),
    }
    .map(|row| row.framework)
}

/// The framework whose models have such content.
pub fn by_content(data: &Bytes) -> Option<Framework> {
    // Whoever else reads text would read all of it to see that it is not theirs.
    if air::dump::is_dump(data) {
        return Some(Framework::Air);
    }
    FRONTENDS.iter().find(|row| (row.recognise)(data)).map(|row| row.framework)
}

#[cfg(test)]
mod tests {
    use super::{FRONTENDS, Framework};

    #[test]
    fn every_framework_has_one_row_and_numbers_are_canns() {
        use Framework::{Air, Caffe, Om, Onnx, SingleOp, TensorFlow};
        for framework in [Onnx, Air, TensorFlow, Caffe, SingleOp, Om] {
            assert_eq!(FRONTENDS.iter().filter(|row| row.framework == framework).count(), 1, "{framework:?}");
        }
        let numbered = ["0", "1", "3", "5"].map(|n| Framework::from_number(n).unwrap());
        assert_eq!(numbered, [Caffe, Air, TensorFlow, Onnx]);
        assert_eq!(Framework::from_number("2"), None);
    }
}
