//! The table of options.

use super::spec::Effect::{self, Accepted, CommandLine, Compiler, NotBuilt, Tuning};
use super::spec::Kind::{
    self, Assignments, Devices, File, Flag, Integer, IntegerList, IntegerLists, OneOf, OutNodes, Path, Shapes, Text,
};
use super::spec::OptionSpec;
use crate::search::Algorithm;

const fn option(name: &'static str, kind: Kind, effect: Effect, help: &'static str) -> OptionSpec {
    OptionSpec { name, short: None, kind, effect, default: "", help, ours: false }
}

impl OptionSpec {
    const fn short(mut self, letter: char) -> Self {
        self.short = Some(letter);
        self
    }

    const fn default(mut self, value: &'static str) -> Self {
        self.default = value;
        self
    }

    const fn ours(mut self) -> Self {
        self.ours = true;
        self
    }
}

const JOB_TYPES: &[&str] = &["1", "2", "1,2", "4", "3", "sgat", "opat", "gdat", "subgraph", "operator", "gradient"];
const PRECISION_MODES: &[&str] = &[
    "force_fp16",
    "force_fp32",
    "cube_fp16in_fp32out",
    "allow_fp32_to_fp16",
    "must_keep_origin_dtype",
    "allow_mix_precision",
    "allow_mix_precision_fp16",
    "allow_mix_precision_bf16",
    "allow_fp32_to_bf16",
];

/// The options, grouped as CANN's manual groups them; ours follow.
#[rustfmt::skip]
pub const OPTIONS: &[OptionSpec] = &[
    option("model", File, CommandLine, "Model file to tune.").short('m'),
    option("model_path", Path, CommandLine, "Models to tune: a directory, or a text file with a path a line."),
    option("weight", File, Tuning, "Weights of a Caffe model (.caffemodel), to check their shapes.").short('w'),
    option("job_type", OneOf(JOB_TYPES), Tuning, "What to tune: 1 or sgat (subgraphs), 2 or opat (operators), 1,2 (both; the command line's default), 4 or gdat (gradients).").short('j'),
    option("framework", OneOf(&["0", "1", "3", "5"]), Tuning, "Framework of the model: 0 Caffe, 1 AIR (MindSpore, torchair, GE), 3 TensorFlow, 5 ONNX (default: by suffix and content).").short('f'),
    option("input_format", OneOf(&["NCHW", "NHWC", "ND", "NCDHW", "NDHWC"]), Tuning, "Layout of the inputs, where it decides which dimensions dynamic_image_size means; else without effect."),
    option("input_shape", Shapes, Tuning, "Shapes of the inputs, whatever the model states: \"name:1,3,224,224;name2:1,128\"; -1 opens a dimension."),
    option("dynamic_batch_size", IntegerList, Tuning, "Batch sizes for inputs whose first dimension is open: \"1,2,4\"; each is tuned."),
    option("dynamic_image_size", IntegerLists, Tuning, "Heights and widths for images whose space is open: \"224,224;448,448\"; each is tuned."),
    option("dynamic_dims", IntegerLists, Tuning, "Values of the open dimensions, in the order of input_shape: \"1,128;8,128\"; each set is tuned."),
    option("singleop", File, CommandLine, "Descriptions of single operators to tune (ATC's JSON), in place of a model."),
    option("shard", Text, CommandLine, "Tune only part I of N of the models of model_path: \"2/4\".").ours(),
    option("profile", Path, CommandLine, "Profile whose products to tune (op_summary_*.csv, kernel_details.csv, PROF_*), in place of a model.").ours(),
    option("output", Path, Tuning, "The tuned model, PATH.air and PATH.om; a directory, or a path ending in / (on the command line also one that names no file), takes them and the reports (default: below aoe_workspace)."),
    option("output_type", Text, Compiler, "Type of the network's outputs."),
    option("out_nodes", OutNodes, Tuning, "Outputs of the network, by node and index (\"node:0;node2:1\") or by tensor; what they do not need is cut off."),
    option("device", Devices, Tuning, "Logical device to measure on (default ASCEND_DEVICE_ID, else 0); several, as 0,1, share the operators."),
    option("aicore_num", Integer(1, 1024), Tuning, "Number of AI Cores to tune for (default: all)."),
    option("virtual_type", OneOf(&["0", "1"]), Compiler, "Whether the device is a virtual one.").default("0"),
    option("reload", Kind::Job, Tuning, "Go on with an interrupted subgraph tuning: its directory in aoe_workspace, newest, or newest-if-any."),
    option("tune_ops_file", File, Tuning, "JSON file {\"tune_ops_name\":[..],\"tune_ops_type\":[..]}: tune these operators only."),
    option("tune_optimization_level", OneOf(&["O1", "O2"]), Tuning, "O1 searches longer, O2 is normal.").default("O2"),
    option("Fdeeper_opat", Flag, Tuning, "Search operators much longer (job type 2)."),
    option("Fnonhomo_split", Flag, Tuning, "Let parts of one subgraph be cut into different numbers of slices (job type 1)."),
    option("Fop_format", Flag, Accepted, "Tune formats too (job type 2, SoftmaxV2)."),
    option("precision_mode", OneOf(PRECISION_MODES), Tuning, "How float32 operators run.").default("force_fp16"),
    option("op_precision_mode", Text, Compiler, "Per-operator precision file."),
    option("keep_dtype", Text, Compiler, "File of operators that keep their type."),
    option("modify_mixlist", Text, Compiler, "Mixed-precision list."),
    option("customize_dtypes", Text, Compiler, "Per-operator type file."),
    option("op_select_implmode", Text, Compiler, "Implementation mode of operators."),
    option("optypelist_for_implmode", Text, Compiler, "Operators that op_select_implmode concerns."),
    option("op_debug_level", Integer(0, 4), Compiler, "Debug level of operator compilation."),
    option("insert_op_conf", Text, Compiler, "AIPP configuration."),
    option("input_fp16_nodes", Text, Compiler, "Inputs that are given as fp16."),
    option("op_name_map", Text, Compiler, "Custom operator map."),
    option("is_input_adjust_hw_layout", OneOf(&["true", "false"]), Compiler, "Inputs are fp16 NC1HWC0."),
    option("is_output_adjust_hw_layout", OneOf(&["true", "false"]), Compiler, "Outputs are fp16 NC1HWC0."),
    option("disable_reuse_memory", OneOf(&["0", "1"]), Compiler, "Switch memory reuse off.").default("0"),
    option("enable_small_channel", OneOf(&["0", "1"]), Compiler, "Optimise small channels.").default("0"),
    option("fusion_switch_file", File, Tuning, "Fusion passes to switch on and off: lines Pass:off, or JSON {\"Switch\":{\"GraphFusion\":{\"ALL\":\"off\",\"Pass\":\"on\"},\"UBFusion\":{..}}}."),
    option("oo_level", OneOf(&["O1", "O2", "O3"]), Tuning, "How far GE optimises the graph: O1 closes every fusion that can be closed.").default("O3"),
    option("enable_scope_fusion_passes", Text, Compiler, "Scope fusion passes to switch on."),
    option("buffer_optimize", Text, Compiler, "Data cache optimisation: l1_optimize, l2_optimize, off_optimize."),
    option("enable_single_stream", Text, Compiler, "Use one stream."),
    option("sparsity", Text, Compiler, "Structured sparsity."),
    option("compress_weight_conf", Text, Compiler, "Weight compression."),
    option("compression_optimize_conf", Text, Compiler, "Compression."),
    option("host_env_os", Text, Compiler, "Operating system of the host that runs the model."),
    option("host_env_cpu", Text, Compiler, "Architecture of the host that runs the model."),
    option("init_bypass", Text, Compiler, "Passed unchecked to the initialisation of the model build."),
    option("build_bypass", Text, Compiler, "Passed unchecked to the model build."),
    option("ip", Text, Accepted, "Address of an NCS server (RC form only)."),
    option("port", Integer(0, 65535), Accepted, "Port of an NCS server (RC form only).").default("8000"),
    option("log", OneOf(&["debug", "info", "warning", "error", "null"]), Tuning, "Level of log messages; unset leaves warnings and errors."),
    option("progress_bar", OneOf(&["on", "off"]), CommandLine, "Show a progress bar.").default("on"),
    option("tuning_parallel_num", Integer(1, 64), Tuning, "Operators tuned at a time (default: TUNING_PARALLEL_NUM of aoe.ini, else the processors)."),
    option("work_path", Path, Tuning, "Working directory for results (ASCEND_WORK_PATH wins; default the current directory)."),
    option("aoe_config_file", File, Tuning, "JSON file with tune_ops_name, tune_ops_type, tune_optimization_level, feature."),
    option("ge.aoe_config_file", File, Tuning, "As aoe_config_file; sent by CANN's clients."),
    option("ge.op_bank_path", Path, Tuning, "Operator bank directory; TUNE_BANK_PATH wins."),
    option("ge.mdl_bank_path", Path, Tuning, "Subgraph bank directory; it wins over TUNE_BANK_PATH."),
    option("ge.resourceConfigPath", Text, Accepted, "Sent by CANN's clients."),
    option("ge.recompute", Text, Accepted, "Sent by CANN's clients."),
    option("profiling_mode", Flag, Tuning, "Write profiles before and after tuning, as CANN's profiler lays them out.").ours(),
    option("profiling_options", Kind::Profiling, Tuning, "What profiles hold, as JSON: {\"output\":\"DIR\",\"aic_metrics\":\"PipeUtilization\",..}.").ours(),
    option("tuned_model", OneOf(&["on", "off"]), Tuning, "Write the tuned model (off: only where output says where to).").default("on").ours(),
    option("result_file", OneOf(&["tuning", "process", "none"]), Tuning, "A result file for each tuning, or one for all of the process; none leaves files only in places that options or TUNE_BANK_PATH name.").default("tuning").ours(),
    option("backend", Text, Tuning, "Who measures: auto, simulator, ascend, a registered backend's name, or a plug-in library's path.").default("auto").ours(),
    option("measure_program", File, Tuning, "The program aoe that measures on a device (default: this one, else the one beside the library).").ours(),
    option("measuring_timeout", Integer(1, 86_400), Tuning, "Seconds that a candidate may take to get ready on a device, and then to be measured.").default("300").ours(),
    option("soc_version", Text, Tuning, "SoC to tune for (default: the device's, else Ascend910B2): a name of `aoe soc`, or a JSON or platform_config file.").ours(),
    option("soc_set", Assignments, Tuning, "Change a field of the SoC, for example cube_freq_mhz=1500.").ours(),
    option("seed", Integer(0, u64::MAX), Tuning, "Seed of the search.").default("0").ours(),
    option("algorithm", OneOf(Algorithm::NAMES), Tuning, "Search algorithm.").default("auto").ours(),
    option("search_algorithm", OneOf(Algorithm::NAMES), Tuning, "As algorithm.").ours(),
    option("max_tuning_count", Integer(1, 1_000_000), Tuning, "Most measurements for each distinct operator (default: 2000 on the simulator, 64 on devices; more with `O1` and `Fdeeper_opat`).").ours(),
    option("tuning_time_limit", Integer(1, 604_800), Tuning, "Seconds after which no new measurement is begun.").ours(),
    option("target_metric", OneOf(&["latency", "throughput"]), Tuning, "What to optimise: latency; throughput is an error that says what to do instead.").default("latency").ours(),
    option("loss_name", Text, Accepted, "Name of the loss node of a training graph.").ours(),
    option("aoe_ini", File, Tuning, "An aoe.ini to read instead of the installed toolkit's."),
    option("cluster", File, Tuning, "JSON description of the devices that train together (default: 8 devices of one server as in CANN's cost model).").ours(),
    option("gradient_summary", File, Tuning, "gradient_summary.csv of a training graph; with gradient_profile in place of a model.").ours(),
    option("gradient_profile", File, Tuning, "Tasks of several runs of it as CSV: loop,modelName,opName,opType,taskStartTime,taskEndTime (nanoseconds).").ours(),
    option("max_segments", Integer(1, 256), Tuning, "Segments that gradients are exchanged in at most (hccl takes 8).").default("8").ours(),
    option("binary_bank", Flag, Tuning, "Record MatMulV2 and Conv2DBackpropFilter in their runtime banks too, for TBE's binary kernels (jit_compile off).").ours(),
    option("install", Flag, Tuning, "Put what the simulator found where CANN looks by itself (default: aoe_bank in the work path, unless a bank is named).").ours(),
    option("dry_run", Flag, Tuning, "Tune and tell, and leave no records and no results.").ours(),
    option("base_result", Path, Tuning, "Output directory or bank of an earlier tuning to start from.").ours(),
    option("calibration", File, Tuning, "Calibration of `aoe calibrate` (default: AOE_CALIBRATION, else calibration.json beside the bank).").ours(),
    option("om", File, NotBuilt, "Compiled model to tune.").ours(),
    option("config", File, CommandLine, "JSON file of options: {\"job_type\": .., \"tuning_time_limit\": .., ..}.").ours(),
];
