//! The distinct kernels of a profile with their operands, as cases of the simulator.

use super::devices::Devices;
use super::in_network::in_network;
use super::launches::Launches;
use super::measured::files;
use super::table::{Blocks, Table, Took};
use crate::graph::{DataType, Format};
use crate::report::counted;
use crate::simulate;
use crate::soc::Soc;
use crate::status::{Error, Result};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Most distinct kernels that are told apart; of a profile with more the first ones are.
const MOST: usize = 1 << 16;
/// A kernel of a profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The operator's type.
    pub op: String,
    /// It as a case of the simulator, with its operands where a network has them.
    pub case: Value,
    /// Launches whose times count.
    pub count: u64,
    /// Microseconds of all of them.
    pub us: f64,
    /// Of them, every second launch.
    pub seconds: u64,
    /// Microseconds of those.
    pub second_us: f64,
    /// How far apart they are, as a factor: of two the longer over the shorter, of more that of two standard deviations of the
    /// logarithms of their times.
    pub spread: f64,
}

impl Seen {
    /// Mean microseconds of every second launch and of the launches between; `None` of a kernel that was launched once.
    pub fn halves(&self) -> Option<[f64; 2]> {
        let firsts = self.count - self.seconds;
        (self.seconds > 0 && firsts > 0).then(|| {
            let [second, first] = [self.seconds, firsts].map(|launches| launches as f64);
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
    /// Microseconds of all kernels.
    pub total_us: f64,
    /// Microseconds of those whose operands the profile does not tell.
    pub without_operands_us: f64,
    /// Launches whose times count nowhere.
    pub left_out: LeftOut,
    /// Launches whose operands the profile does not tell, or in types or formats that are not known.
    pub without_operands: u64,
    /// Launches of kernels that are not told apart: those beyond the most distinct ones.
    pub beyond: u64,
}

/// Launches without a time that could be their kernel's.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LeftOut {
    /// How many they are.
    pub launches: u64,
    /// Microseconds that those of them claim which are far from the other launches of their kernel.
    pub us: f64,
    /// Where one of them stands, and what is wrong with it.
    pub example: Option<String>,
}

impl LeftOut {
    fn add(&mut self, launches: u64, us: f64, example: impl FnOnce() -> String) {
        self.launches += launches;
        self.us += us;
        self.example.get_or_insert_with(example);
    }

    /// What is to be said of them; `None` where there are none.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        let example = self.example.as_ref()?;
        let launches = counted(self.launches, "launch is", "launches are");
        Some(format!("{launches} left out for the time that is told of them, such as {example}"))
    }
}

/// What tells kernels apart: the type, and the texts of shapes, types and formats on either side; and the blocks that it ran in.
type KernelKey = ([String; 7], Blocks);

impl Profile {
    /// What is to be said of launches of which nothing is known.
    #[must_use]
    pub fn said(&self) -> Vec<String> {
        let beyond = (self.beyond > 0).then(|| {
            let launches = counted(self.beyond, "launch is of a kernel", "launches are of kernels");
            format!(
                "{launches} beyond the first {MOST} distinct ones, and nothing is learned of them: give fewer steps"
            )
        });
        self.left_out.sentence().into_iter().chain(beyond).collect()
    }

    /// Reads a profile of a network on this part: a file, or a folder that holds one. Launches without a time that could be
    /// their kernel's are left out.
    ///
    /// Fails with [`Error::File`] where there is none or more than one, where a column is missing (also those of operands,
    /// which profilers write at their first level and above), where a value is none, where kernels are of several devices,
    /// and where there is no kernel.
    pub fn read(path: &Path, soc: &Soc) -> Result<Profile> {
        Profile::read_most(path, soc, MOST)
    }

    /// The same with so many distinct kernels at most.
    fn read_most(path: &Path, soc: &Soc, most: usize) -> Result<Profile> {
        let mut profile = Profile { files: files(path)?, ..Profile::default() };
        let (mut kernels, mut devices) = (FxHashMap::default(), Devices::default());
        for file in profile.files.clone() {
            profile.add(&file, &mut kernels, &mut devices, most)?;
        }
        devices.check(path)?;
        // The map has no order, and what is told of one that is left out has to be the same every time.
        let mut kernels: Vec<(KernelKey, Launches)> = kernels.into_iter().collect();
        kernels.sort_by(|a, b| a.0.cmp(&b.0));
        for (key, launches) in kernels {
            profile.settle(&key, &launches, soc);
        }
        if profile.total_us <= 0.0 {
            let left_out = profile.left_out.sentence().map(|sentence| format!(": {sentence}")).unwrap_or_default();
            return Err(Error::file("read", path, format!("it tells of no kernel that took time{left_out}")));
        }
        let mut kernels = std::mem::take(&mut profile.kernels);
        // Equal times in the order of their texts.
        kernels.sort_by_cached_key(|seen| seen.case.to_string());
        kernels.sort_by(|a, b| b.us.total_cmp(&a.us));
        profile.kernels = kernels;
        Ok(profile)
    }

    /// Takes up a kernel with those of its launches whose times count.
    fn settle(&mut self, key: &KernelKey, launches: &Launches, soc: &Soc) {
        let [kept, far] = launches.split();
        if far.count > 0 {
            let mean = |us: f64, count: u64| us / count as f64;
            self.left_out.add(far.count, far.us, || {
                format!(
                    "line {}: {} of {:.3} us where its other launches take {:.3} us",
                    far.line,
                    key.0[0],
                    mean(far.us, far.count),
                    mean(kept.us, kept.count)
                )
            });
        }
        self.total_us += kept.us;
        if let Some(case) = case_of(&key.0) {
            let (op, case) = (key.0[0].clone(), on_blocks(in_network(case, soc.l2_size), key.1, soc));
            let (count, us, seconds, second_us) = (kept.count, kept.us, kept.seconds, kept.second_us);
            let spread = kept.spread();
            self.kernels.push(Seen { op, case, count, us, seconds, second_us, spread });
        } else {
            self.without_operands_us += kept.us;
            self.without_operands += kept.count;
        }
    }

    fn add(
        &mut self,
        path: &Path,
        kernels: &mut FxHashMap<KernelKey, Launches>,
        devices: &mut Devices,
        most: usize,
    ) -> Result<()> {
        let mut table = Table::open(path)?;
        if !table.has_operands() {
            let reason =
                "it has no columns of shapes, types and formats (`Input Shapes`, ...): profile with level 1 or above";
            return Err(Error::file("read", path, reason));
        }
        while let Some(row) = table.next()? {
            devices.note(row.device());
            let us = match &row.took {
                Took::Us(us) => *us,
                Took::Nothing => {
                    self.left_out.add(1, 0.0, || format!("line {}: {} has none", row.line, row.op_type()));
                    continue;
                }
                Took::Absurd(reason) => {
                    self.left_out.add(1, 0.0, || format!("line {}: {reason}", row.line));
                    continue;
                }
            };
            let [read, written] = row.operands().unwrap_or_default();
            let key = [row.op_type(), read[0], read[1], read[2], written[0], written[1], written[2]];
            let blocks =
                row.blocks().map_err(|reason| Error::file("read", path, format!("line {}: {reason}", row.line)))?;
            let key: KernelKey = (key.map(str::to_owned), blocks);
            if kernels.len() >= most && !kernels.contains_key(&key) {
                self.total_us += us;
                self.without_operands_us += us;
                self.beyond += 1;
                continue;
            }
            kernels.entry(key).or_default().add(us, row.line);
        }
        Ok(())
    }
}

/// A case on the blocks that its launches had: of the cores that do its work.
fn on_blocks(mut case: Value, blocks: Blocks, soc: &Soc) -> Value {
    // What cannot be read is told of where it is priced.
    let is_cube =
        blocks.cube != blocks.vector && simulate::read(&case.to_string(), soc).is_ok_and(|job| job.workload.is_cube());
    if let Some(count) = if is_cube { blocks.cube } else { blocks.vector } {
        case["block_dim"] = count.into();
    }
    case
}

/// The case of a kernel; `None` where its operands are not told, or are of types or formats that are not known.
pub(super) fn case_of(texts: &[String; 7]) -> Option<Value> {
    let [op, in_shapes, in_types, in_formats, out_shapes, out_types, out_formats] = texts;
    let inputs = tensors(in_shapes, in_types, in_formats)?;
    let outputs = tensors(out_shapes, out_types, out_formats)?;
    (!outputs.is_empty()).then(|| json!({"op": op, "inputs": inputs, "outputs": outputs}))
}

/// Operands from three lists with semicolons; those without a shape are single values, and those without a
/// type either are not there.
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
            // Optional operands that are not there keep their place.
            let scalar = data_type(dtype).filter(|dtype| *dtype != DataType::Undefined);
            tensors.push(scalar.map_or(Value::Null, |of| json!({"shape": [], "dtype": of.name(), "format": "ND"})));
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
        Profile::read(&path, &Soc::find("Ascend910B2").unwrap())
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

    /// The cases of rows with these columns beside the product's and the sum's.
    fn on_blocks_of(columns: &str, rows: &[(&str, &str)]) -> Vec<Value> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("op_summary_1.csv");
        let lines = rows.iter().map(|(kernel, blocks)| format!("{kernel},{blocks}"));
        let lines: Vec<String> = std::iter::once(format!("{HEADER},{columns}")).chain(lines).collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        let profile = Profile::read(&path, &Soc::find("Ascend910B2").unwrap()).unwrap();
        profile.kernels.into_iter().map(|seen| seen.case["block_dim"].clone()).collect()
    }

    #[test]
    fn a_kernel_has_the_blocks_of_the_cores_that_do_its_work() {
        const SUM: &str = "c,Add,2,64,FLOAT,ND,64,FLOAT,ND";
        let columns = "Task Type,Block Dim,Mix Block Dim";
        let rows = [(PRODUCT, "MIX_AIC,20,40"), (SUM, "AI_VECTOR_CORE,7,0")];
        assert_eq!(on_blocks_of(columns, &rows), [20, 7]);
        let rows = [(PRODUCT, "MIX_AIV,40,20"), (SUM, "MIX_AIC,3,6")];
        assert_eq!(on_blocks_of(columns, &rows), [20, 6]);
        // As profilers after 8.5 call it, and as other programs write numbers.
        assert_eq!(on_blocks_of("Block Num", &[(PRODUCT, "24.0"), (SUM, "N/A")]), [json!(24), Value::Null]);
        // Equal kernels in other blocks have another tiling.
        assert_eq!(on_blocks_of("Block Dim", &[(PRODUCT, "24"), (PRODUCT, "12"), (PRODUCT, "24")]), [24, 12]);
    }

    #[test]
    fn what_is_no_number_of_blocks_is_an_error_with_its_line() {
        let rows = [format!("{HEADER},Block Dim"), format!("{PRODUCT},-3")];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("op_summary_1.csv");
        std::fs::write(&path, rows.join("\n")).unwrap();
        let error = Profile::read(&path, &Soc::find("Ascend910B2").unwrap()).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("`-3` is no number of blocks"), "{error}");
    }

    #[test]
    fn launches_beyond_the_most_kernels_are_counted_and_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel_details.csv");
        let row = |rows: u64| format!("a,Add,2,{rows},FLOAT,ND,{rows},FLOAT,ND");
        let rows: Vec<String> = std::iter::once(HEADER.to_owned()).chain([1, 2, 3, 1, 4, 3].map(row)).collect();
        std::fs::write(&path, rows.join("\n")).unwrap();
        let soc = Soc::find("Ascend910B2").unwrap();
        let profile = Profile::read_most(&path, &soc, 2).unwrap();
        assert_eq!((profile.kernels.len(), profile.beyond, profile.total_us), (2, 3, 12.0));
        let said = profile.said().join("");
        assert!(said.contains("3 launches are of kernels beyond"), "{said}");
        let all = Profile::read(&path, &soc).unwrap();
        assert_eq!((all.kernels.len(), all.beyond, all.said()), (4, 0, Vec::new()));
    }

    #[test]
    fn times_of_one_kernel_say_how_far_apart_they_are() {
        let add = |us: f64| format!("a,Add,{us},16,FLOAT,ND,16,FLOAT,ND");
        let spread = |times: &[f64]| {
            let rows: Vec<String> = times.iter().map(|us| add(*us)).collect();
            let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
            read(&rows).unwrap().kernels[0].spread
        };
        assert!((spread(&[5.0, 30.0]) - 6.0).abs() < 1e-9);
        assert!((spread(&[7.3; 9]) - 1.0).abs() < 1e-6);
        // One of a hundred that took twice its time is no contradiction.
        assert!(spread(&[[10.0; 99].as_slice(), &[20.0]].concat()) < 1.2);
    }

    #[test]
    fn an_absent_operand_keeps_its_place_and_a_number_has_its_type() {
        let profile = read(&[r#"a,Add,1,"16;;16;",FLOAT;UNDEFINED;FLOAT;INT64,ND;ND;ND;ND,16,FLOAT,ND"#]).unwrap();
        let inputs = &profile.kernels[0].case["inputs"];
        let types = [0, 1, 2, 3].map(|at| inputs[at]["dtype"].as_str());
        assert_eq!(types, [Some("float32"), None, Some("float32"), Some("int64")]);
        assert_eq!((&inputs[1], &inputs[3]["shape"]), (&Value::Null, &json!([])));
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
        let soc = Soc::find("Ascend910B2").unwrap();
        assert!(Profile::read(&path, &soc).unwrap_err().to_string().contains("Input Shapes"));
    }

    #[test]
    fn times_that_are_none_enter_no_mean_and_are_named() {
        let add = |us: &str| format!("a,Add,{us},16,FLOAT,ND,16,FLOAT,ND");
        let clean = read(&[&add("10"), &add("12"), &add("11")]).unwrap();
        assert_eq!((clean.left_out.sentence(), clean.kernels[0].count), (None, 3));
        for (wrong, named) in [
            ("", "Add has none"),
            ("N/A", "Add has none"),
            ("0", "Add has none"),
            ("-5", "`-5`"),
            ("NaN", "`NaN`"),
            ("1e12", "`1e12`"),
        ] {
            let profile = read(&[&add("10"), &add(wrong), &add("12"), &add("11")]).unwrap();
            let said = profile.left_out.sentence().unwrap();
            assert!(said.contains("1 launch is left out") && said.contains("line 3") && said.contains(named), "{said}");
            assert_eq!(profile.kernels, clean.kernels, "{wrong}");
            assert!((profile.total_us - 33.0).abs() < 1e-9);
        }
        // An hour is no time of a kernel whose other launches take microseconds, nor is a nanosecond; of two launches nobody
        // knows which is right.
        for far in ["3e9", "0.001"] {
            let profile = read(&[&add("10"), &add("12"), &add(far), &add("11")]).unwrap();
            let said = profile.left_out.sentence().unwrap();
            assert!(said.contains("line 4") && said.contains("other launches take 11.000 us"), "{said}");
            let kernel = &profile.kernels[0];
            assert_eq!((kernel.count, kernel.us, profile.total_us), (3, 33.0, 33.0));
            assert_eq!(kernel.halves(), Some([10.0, 11.5]));
        }
        assert_eq!(read(&[&add("10"), &add("3e9")]).unwrap().kernels[0].count, 2);
        let none = read(&[&add("-1"), &add("0")]).unwrap_err().to_string();
        assert!(none.contains("no kernel that took time") && none.contains("`-1`"), "{none}");
    }

    #[test]
    fn rows_of_several_devices_are_asked_apart() {
        let header = format!("Device_id,{HEADER}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel_details.csv");
        let row = |device: &str| format!("{device},a,Add,10,16,FLOAT,ND,16,FLOAT,ND");
        let read = |devices: &[&str]| {
            let rows: Vec<String> = devices.iter().map(|device| row(device)).collect();
            std::fs::write(&path, format!("{header}\n{}\n", rows.join("\n"))).unwrap();
            Profile::read(&path, &Soc::find("Ascend910B2").unwrap())
        };
        let error = read(&["0", "3", "0"]).unwrap_err().to_string();
        assert!(error.contains("2 devices (0, 3)") && error.contains("give those of one"), "{error}");
        assert_eq!(read(&["3", "N/A", "3"]).unwrap().kernels[0].count, 3);
    }
}
