//! The distinct kernels of a profile with their operands, as cases of the simulator.

use super::measured::files;
use super::table::Table;
use crate::graph::{DataType, Format};
use crate::status::{Error, Result};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Most distinct kernels that are told apart; of a profile with more the first ones are.
const MOST: usize = 1 << 16;
/// Most devices that are told apart: more than one is what matters.
const MOST_DEVICES: usize = 16;

/// A kernel of a profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The operator's type.
    pub op: String,
    /// It as a case of the simulator.
    pub case: Value,
    /// Launches.
    pub count: u64,
    /// Microseconds of all of them.
    pub us: f64,
    /// Those of every second launch.
    pub second_us: f64,
}

impl Seen {
    /// Mean microseconds of every second launch and of the launches between; `None` of a kernel that was launched once.
    pub fn halves(&self) -> Option<[f64; 2]> {
        let seconds = self.count / 2;
        (seconds > 0).then(|| {
            let [second, first] = [seconds, self.count - seconds].map(|launches| launches as f64);
            [(self.us - self.second_us) / first, self.second_us / second]
        })
    }
}

/// What a profile shows of its kernels.
#[derive(Debug, Default)]
pub struct Profile {
    /// The files read.
    pub files: Vec<PathBuf>,
    /// Distinct kernels, those that took longest together first.
    pub kernels: Vec<Seen>,
    /// The devices that it names; beyond [`MOST_DEVICES`] no more are told apart.
    pub devices: BTreeSet<String>,
    /// Microseconds of all kernels.
    pub total_us: f64,
    /// Microseconds of those whose operands the profile does not tell.
    pub without_operands_us: f64,
}

/// What tells kernels apart: the type, and the texts of shapes, types and formats on either side.
type Look = [String; 7];

/// Launches of one kernel.
#[derive(Debug, Default)]
struct Sum {
    count: u64,
    us: f64,
    /// Microseconds of every second one.
    second_us: f64,
}

impl Sum {
    fn add(&mut self, us: f64) {
        self.count += 1;
        self.us += us;
        if self.count.is_multiple_of(2) {
            self.second_us += us;
        }
    }
}

impl Profile {
    /// Reads a profile: a file, or a folder that holds one.
    ///
    /// Fails with [`Error::File`] where there is none or more than one, where a column is missing (also those of operands,
    /// which profilers write at their first level and above), where a value is none, and where there is no kernel.
    pub fn read(path: &Path) -> Result<Profile> {
        let mut profile = Profile { files: files(path)?, ..Profile::default() };
        let mut sums: FxHashMap<Look, Sum> = FxHashMap::default();
        for file in profile.files.clone() {
            profile.add(&file, &mut sums)?;
        }
        if profile.total_us <= 0.0 {
            return Err(Error::file("read", path, "it tells of no kernel that took time"));
        }
        let mut kernels = Vec::new();
        for (look, Sum { count, us, second_us }) in sums {
            match case(&look) {
                Some(case) => kernels.push(Seen { op: look[0].clone(), case, count, us, second_us }),
                None => profile.without_operands_us += us,
            }
        }
        // Equal times in the order of their texts: the map has none.
        kernels.sort_by_cached_key(|seen| seen.case.to_string());
        kernels.sort_by(|a, b| b.us.total_cmp(&a.us));
        profile.kernels = kernels;
        Ok(profile)
    }

    fn add(&mut self, path: &Path, sums: &mut FxHashMap<Look, Sum>) -> Result<()> {
        let mut table = Table::open(path)?;
        if !table.has_operands() {
            let reason =
                "it has no columns of shapes, types and formats (`Input Shapes`, ...): profile with level 1 or above";
            return Err(Error::file("read", path, reason));
        }
        while let Some(row) = table.next()? {
            self.total_us += row.us;
            self.note_device(row.device());
            let [read, written] = row.operands().unwrap_or_default();
            let look = [row.op_type(), read[0], read[1], read[2], written[0], written[1], written[2]];
            let look: Look = look.map(str::to_owned);
            if sums.len() >= MOST && !sums.contains_key(&look) {
                self.without_operands_us += row.us;
                continue;
            }
            sums.entry(look).or_default().add(row.us);
        }
        Ok(())
    }
}

impl Profile {
    fn note_device(&mut self, device: &str) {
        let is_named = !device.is_empty() && device != "N/A";
        if is_named && self.devices.len() < MOST_DEVICES && !self.devices.contains(device) {
            self.devices.insert(device.to_owned());
        }
    }
}

/// The case of a kernel; `None` where its operands are not told, or are of types or formats that are not known.
fn case([op, in_shapes, in_types, in_formats, out_shapes, out_types, out_formats]: &Look) -> Option<Value> {
    let inputs = tensors(in_shapes, in_types, in_formats)?;
    let outputs = tensors(out_shapes, out_types, out_formats)?;
    (!outputs.is_empty()).then(|| json!({"op": op, "inputs": inputs, "outputs": outputs}))
}

/// Operands from three lists with semicolons; those without a shape are absent, or single values.
fn tensors(shapes: &str, types: &str, formats: &str) -> Option<Vec<Value>> {
    let shapes = shapes.trim_matches('"');
    if shapes.is_empty() || shapes == "N/A" {
        return (shapes.is_empty()).then(Vec::new);
    }
    let (mut types, mut formats) = (types.split(';'), formats.split(';'));
    let mut tensors = Vec::new();
    for shape in shapes.split(';') {
        let (dtype, format) = (types.next()?.trim(), formats.next()?.trim());
        if shape.is_empty() {
            continue;
        }
        let dims = shape.split(',').map(|dim| dim.trim().parse::<u64>().ok()).collect::<Option<Vec<_>>>()?;
        let format = format.strip_prefix("FORMAT_").unwrap_or(format);
        let format = Format::from_name(format.split(':').next()?)?;
        tensors.push(json!({"shape": dims, "dtype": data_type(dtype)?.name(), "format": format.name()}));
    }
    Some(tensors)
}

/// A type by the names of CANN's profilers.
fn data_type(name: &str) -> Option<DataType> {
    let small = name.to_ascii_lowercase();
    DataType::from_name(small.strip_prefix("dt_").unwrap_or(&small))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "Name,Type,Duration(us),Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats";

    fn read(rows: &[&str]) -> Result<Profile> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel_details.csv");
        std::fs::write(&path, [HEADER].iter().chain(rows).copied().collect::<Vec<_>>().join("\n")).unwrap();
        Profile::read(&path)
    }

    const PRODUCT: &str =
        r#"a,MatMulV2,30.5,"""16,5120;320,200,16,16""",DT_BF16;DT_BF16,FORMAT_ND;FRACTAL_NZ,"""16,3200""",DT_BF16,ND"#;

    #[test]
    fn equal_kernels_are_one_and_the_longest_comes_first() {
        let gate = r#"b,SwiGlu,5.0,"16,3200",BF16,ND,"16,1600",BF16,ND"#;
        let other = "c,hcom_allReduce_,9,N/A,N/A,N/A,N/A,N/A,N/A";
        let profile = read(&[PRODUCT, gate, PRODUCT, other]).unwrap();
        assert_eq!(profile.kernels.len(), 2);
        let product = &profile.kernels[0];
        assert_eq!((product.op.as_str(), product.count, product.us), ("MatMulV2", 2, 61.0));
        assert_eq!((product.halves(), profile.kernels[1].halves()), (Some([30.5, 30.5]), None));
        assert_eq!(
            product.case["inputs"][1],
            json!({"shape": [320, 200, 16, 16], "dtype": "bfloat16", "format": "FRACTAL_NZ"})
        );
        assert!((profile.total_us - 75.0).abs() < 1e-9 && (profile.without_operands_us - 9.0).abs() < 1e-9);
    }

    #[test]
    fn an_absent_operand_has_no_shape() {
        let profile = read(&[r#"a,Add,1,"16;;16",FLOAT;UNDEFINED;FLOAT,ND;ND;ND,16,FLOAT,ND"#]).unwrap();
        assert_eq!(profile.kernels[0].case["inputs"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn what_cannot_be_read_is_named_and_what_is_not_told_is_counted() {
        assert!(read(&["a,Add,fast,,,,,,"]).unwrap_err().to_string().contains("fast"));
        assert!(read(&["a,Add,0,16,FLOAT,ND,16,FLOAT,ND"]).unwrap_err().to_string().contains("no kernel"));
        let odd = [
            "a,Add,1,16x,FLOAT,ND,16,FLOAT,ND",
            "a,Add,1,16,FLOAT99,ND,16,FLOAT,ND",
            "a,Add,1,16,FLOAT,ODD,16,FLOAT,ND",
        ];
        let profile = read(&odd).unwrap();
        assert!(profile.kernels.is_empty() && (profile.without_operands_us - 3.0).abs() < 1e-9);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("op_summary_1.csv");
        std::fs::write(&path, "Op Name,OP Type,Task Duration(us)\na,Add,1\n").unwrap();
        assert!(Profile::read(&path).unwrap_err().to_string().contains("Input Shapes"));
    }
}
