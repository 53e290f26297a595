//! What CANN launches for a model: the main job's way up to its first measurement, for `aoe kernels`.

use super::environment::Environment;
use super::inputs::model_options;
use super::material::Material;
use super::options::{OptionMap, OptionSpec, find, restrict};
use super::runs::{forms, scene};
use super::settings::Settings;
use super::simulation;
use super::subgraphs::fuse_by_default;
use crate::frontend;
use crate::kernels::{Listing, Unknown};
use crate::lower::Priced;
use crate::profile::{Run, Timed};
use crate::simulate;
use crate::soc::Soc;
use crate::status::Result;
use crate::tune::{SkippedKernel, Variant, unmapped};
use rustc_hash::FxHashSet;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Names of the options that count: those that decide what is launched.
const OPTIONS: &[&str] = &[
    "soc_version",
    "soc_set",
    "aicore_num",
    "calibration",
    "framework",
    "weight",
    "input_shape",
    "input_format",
    "out_nodes",
    "precision_mode",
    "allow_hf32",
    "fusion_switch_file",
    "oo_level",
];

/// The options that decide what is launched, from the one table.
pub fn options() -> impl Iterator<Item = &'static OptionSpec> {
    OPTIONS.iter().filter_map(|name| find(name))
}

/// A model as the kernels that CANN would launch for it.
#[derive(Debug)]
pub struct Launched {
    soc: Soc,
    settings: Settings,
    variants: Vec<Variant>,
}

impl Launched {
    /// Reads, fuses and lowers a model with these options.
    ///
    /// Fails with [`crate::status::Error::Option`] for an option of tuning, which would have no effect, and as a tuning of
    /// the model does before its first measurement.
    pub fn of(model: &Path, given: &OptionMap) -> Result<Launched> {
        restrict(given, OPTIONS, "aoe kernels")?;
        let environment = Environment::read();
        let mut call = given.clone();
        call.insert("job_type".to_owned(), "2".to_owned());
        let settings = Settings::resolve(&OptionMap::new(), &call, &environment)?;
        let soc = simulation::priced_part(given, &environment)?;
        let (framework, options) = model_options(&call)?;
        let graph = frontend::load_file(model, framework, &options)?;
        let Material { mut variants, .. } = Material::of(&graph, &settings.model, &settings, &soc)?;
        fuse_by_default(&mut variants, &settings, &soc)?;
        Ok(Launched { soc, settings, variants })
    }

    /// One run of it, by the model. Fails as [`Launched::listing`] does.
    pub fn run(&self) -> Result<Run> {
        let scene = scene(&self.variants, &self.soc, &self.settings);
        Ok(Timed::of_subgraphs(forms(&self.variants, &[]), None, scene)?.run())
    }

    /// Every launch with its predicted time. Fails with [`crate::status::Error::Workload`] for a kernel that cannot run on
    /// the part at all.
    pub fn listing(&self) -> Result<Listing> {
        let run = self.run()?;
        let mut passes: BTreeMap<&'static str, u64> = BTreeMap::new();
        for pass in self.variants.iter().flat_map(|v| &v.lowered.kernels).filter_map(|kernel| kernel.pass) {
            *passes.entry(pass).or_default() += 1;
        }
        let untimed = unmapped(&self.variants).into_iter().filter(|node| node.priced == Priced::None);
        let unknown =
            untimed.map(|SkippedKernel { name, origin_type: op_type, reason, .. }| Unknown { name, op_type, reason });
        Ok(Listing::of(&run, passes, unknown.collect()))
    }

    /// The part that it is launched on.
    pub fn soc(&self) -> &Soc {
        &self.soc
    }

    /// How long tuning it is expected to take, in searches of one kernel of the vector unit: those of its distinct kernels,
    /// and one for all that is done once. A search for the cube unit takes ten of them (on the simulator 90 ms against 10 ms,
    /// over networks of 20 to 170 distinct kernels).
    pub fn effort(&self) -> u64 {
        let kernels = self.variants.iter().flat_map(|v| v.lowered.launched().map(|kernel| &kernel.workload));
        let distinct: FxHashSet<_> = kernels.collect();
        1 + distinct.iter().map(|workload| if workload.is_cube() { 10 } else { 1 }).sum::<u64>()
    }

    /// Each distinct kernel as a case of `aoe simulate`, whose answer has the time that the listing has.
    pub fn cases(&self) -> Vec<Value> {
        let mut seen = FxHashSet::default();
        let kernels = self.variants.iter().flat_map(|v| v.lowered.launched().map(move |kernel| (v, kernel)));
        // A product of one batch is one workload under several of CANN's types.
        let op_type = |v: &Variant, k: &crate::lower::Kernel| v.graph.node(k.node).op_type.clone();
        let distinct = kernels.filter(|(v, k)| seen.insert((op_type(v, k), &k.workload, k.missed.map(f64::to_bits))));
        let case = |(variant, kernel): (&Variant, &crate::lower::Kernel)| {
            let mut case = simulate::case(&kernel.name(&variant.graph).into(), &kernel.workload, kernel.missed, None);
            case["soc"] = self.soc.name.clone().into();
            case["op"] = op_type(variant, kernel).into();
            case
        };
        distinct.map(case).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::{OpFilter, distinct};

    /// Types of the nodes for which no kernel of these networks works: they are constants or views.
    const IDLE: [&str; 6] = ["Const", "Data", "Flatten", "GatherV2", "Reshape", "Unsqueeze"];

    #[test]
    fn a_kernel_is_selected_by_the_name_of_each_node_that_went_into_it_and_by_all_of_them_joined() {
        for model in ["resnet50", "bert_base"] {
            let path = format!("{}/examples/models/{model}.onnx", env!("CARGO_MANIFEST_DIR"));
            let stated = frontend::load_file(Path::new(&path), None, &frontend::ModelOptions::default()).unwrap();
            for soc in ["Ascend910B2", "Ascend310P3", "Ascend910A"] {
                let options: OptionMap = [("soc_version".to_owned(), soc.to_owned())].into();
                let launched = Launched::of(Path::new(&path), &options).unwrap();
                let kernels = launched.variants.iter().flat_map(|v| v.lowered.launched().map(|k| k.name(&v.graph)));
                let nodes = stated.iter().filter(|(_, node)| !IDLE.contains(&node.op_type.as_str()));
                let names: Vec<String> = nodes.map(|(_, node)| node.name.clone()).chain(kernels).collect();
                let filter = OpFilter { names: names.clone(), types: Vec::new() };
                let cases = distinct(&launched.variants, &filter);
                let asked: FxHashSet<usize> = cases.iter().flat_map(|case| case.asked.iter().copied()).collect();
                let lost: Vec<_> = (0..names.len()).filter(|at| !asked.contains(at)).map(|at| &names[at]).collect();
                assert!(names.len() > 100 && lost.is_empty(), "{model} on {soc}: {lost:?}");
            }
        }
    }
}
