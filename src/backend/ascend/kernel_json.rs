//! The JSON that TBE's compiler leaves beside a kernel: whether it found the kernel's tiling in its bank.

use serde_json::Value;
use std::path::{Path, PathBuf};

/// The field that says so, somewhere in the JSON.
const FIELD: &str = "KBHit";
/// Folders below the compiler's that are looked through, and the bytes of a file that is read.
const DEPTH: usize = 4;
const MOST_BYTES: u64 = 4 << 20;

/// Whether the bank was hit, for each kernel below a folder whose JSON says so.
pub fn hits(folder: &Path) -> Vec<bool> {
    files(folder, DEPTH).iter().filter_map(|file| hit(file)).collect()
}

fn hit(file: &Path) -> Option<bool> {
    let small = std::fs::metadata(file).is_ok_and(|meta| meta.len() <= MOST_BYTES);
    let text = small.then(|| std::fs::read(file).ok()).flatten()?;
    let value: Value = serde_json::from_slice(&text).ok()?;
    found(&value, DEPTH)
}

/// The field of an object, or of one within. How CANN spells a truth value there is not public.
fn found(value: &Value, depth: usize) -> Option<bool> {
    let fields = value.as_object()?;
    if let Some(said) = fields.get(FIELD) {
        return match said {
            Value::Bool(hit) => Some(*hit),
            Value::Number(number) => Some(number.as_f64().is_some_and(|n| n != 0.0)),
            Value::String(text) => Some(matches!(text.to_ascii_lowercase().as_str(), "true" | "1" | "hit")),
            _ => None,
        };
    }
    if depth == 0 { None } else { fields.values().find_map(|inner| found(inner, depth - 1)) }
}

fn files(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() && depth > 0 {
            files.extend(self::files(&path, depth - 1));
        } else if path.extension().is_some_and(|suffix| suffix == "json") {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hit_is_found_however_deep_and_however_it_is_spelled() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("kernel_meta/1");
        std::fs::create_dir_all(&inside).unwrap();
        for (at, said) in
            [r#"{"KBHit":true}"#, r#"{"build":{"KBHit":"True"}}"#, r#"{"KBHit":0}"#, r#"{"blockDim":1}"#, "not JSON"]
                .iter()
                .enumerate()
        {
            std::fs::write(inside.join(format!("{at}.json")), said).unwrap();
        }
        std::fs::write(inside.join("kernel.o"), r#"{"KBHit":true}"#).unwrap();
        assert_eq!(hits(folder.path()), [true, true, false]);
        assert_eq!(hits(Path::new("/nowhere")), [false; 0]);
    }
}
