//! Properties of what is said of bank files from outside.

mod compare;
mod forms;
mod merged;
mod told;
mod work;

use crate::graph::Format;
use crate::workload::{Conv, ConvKind, Depth};
use std::path::PathBuf;
use tempfile::TempDir;

/// A convolution whose sizes all differ.
fn image() -> Conv {
    Conv {
        wi: 40,
        ho: 28,
        wo: 20,
        kw: 5,
        stride: [2, 4],
        pads: [1, 6, 7, 9],
        dilation: [8, 10],
        ..Conv::image(ConvKind::Forward, 2, [48, 128], 56, 3)
    }
}

/// One of 2 volumes: 11 planes become 6, by 3 taps.
fn volume() -> Conv {
    Conv {
        batch: 2 * 6,
        cin: 16 * 3,
        format: Format::Ndc1hwc0,
        depth: Some(Depth { input: 11, output: 6, kernel: 3, stride: 2, pads: [1, 4], dilation: 5 }),
        ..image()
    }
}

/// A directory with files.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }
}
