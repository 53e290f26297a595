//! How long subgraph tuning takes, from small to very large networks.
//!
//! Run with `make bench`, or `scripts/bench subgraphs`; DATA names a folder with `torch/llama7b_2layers_s128_b1.onnx`,
//! whose second layer is then repeated to 32; numbers behind the name are sizes to measure instead of the usual ones.
//! Goals: seconds for 32 layers of Llama and for 100,000 nodes; 10 s in all for 1,000,000.

use aoe::bank::BankPaths;
use aoe::bank::subgraph::SubgraphBank;
use aoe::graph::{Constant, DataType, Graph, Node, NodeId, Port, Shape, TensorDesc, infer};
use aoe::lower::{Lowered, Settings, Switches, graph_fusion, with_conversions};
use aoe::profile::{Form, Scene, Timed};
use aoe::soc::Soc;
use aoe::tune::Variant;
use aoe::tune::sgat::{SgatJob, SgatSettings, State, sgat};
use rustc_hash::FxHashMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

fn main() {
    let columns = ["infer s", "lower s", "tune s", "runs s"].map(|name| format!("{name:>9}")).join(" ");
    println!("{:<28} {:>9} {columns}  us/node", "network", "nodes");
    let asked: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if asked.is_empty() { vec![10_000, 100_000, 1_000_000] } else { asked };
    for (name, different) in [("alike blocks", 1), ("1,000 kinds of blocks", 1_000)] {
        for &nodes in &sizes {
            measure(name, blocks(nodes, different));
        }
    }
    if let Some(data) = std::env::var_os("DATA").filter(|data| !data.is_empty()) {
        let model = Path::new(&data).join("torch/llama7b_2layers_s128_b1.onnx");
        let graph = aoe::frontend::load_file(&model, None, &aoe::frontend::ModelOptions::default());
        measure("Llama 7B, 32 layers", repeated(&graph.expect("the model loads"), 32));
    }
}

/// Tunes the subgraphs of a network and prints how long each step took.
fn measure(name: &str, mut graph: Graph) {
    let soc = Soc::find("Ascend310P3").expect("the part is built in");
    let settings = Settings::default();
    let nodes = graph.len();
    let mut begun = Instant::now();
    let mut lap = || std::mem::replace(&mut begun, Instant::now()).elapsed().as_secs_f64();
    infer::infer(&mut graph).expect("the network is sound");
    let inferred = lap();
    let graph = graph_fusion(graph, &soc, &settings, &Switches::default()).expect("the network is sound").0;
    let (graph, lowered) = with_conversions(graph, &soc, &settings).expect("the network can be lowered");
    let lowering = lap();
    // From an empty bank, which is written as well.
    let nowhere = tempfile::tempdir().expect("there is a directory for temporary files");
    let paths = BankPaths { custom: nowhere.path().to_owned(), also_read: Vec::new() };
    let parallel = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let variants = [Variant { label: String::new(), graph, lowered }];
    let mut job = SgatJob {
        name,
        variants: &variants,
        lowering: &settings,
        soc: &soc,
        bank: &mut SubgraphBank::open(&paths, &soc),
        state: &mut State::new(&nowhere.path().join("state"), &soc, &SgatSettings::default()),
        settings: &SgatSettings { parallel, ..SgatSettings::default() },
        cancel: &AtomicBool::new(false),
    };
    let found = sgat(&mut job, &mut ()).expect("every kernel can run");
    let tuned = lap();
    assert!(found.outcome.after_us() <= found.outcome.before_us());
    // What the report tells of both runs.
    let scene = Scene { network: name, soc: &soc, precision: settings.precision };
    let timed = |lowered: &Lowered| {
        let form = Form { lowered, ..Form::from(&variants[0]) };
        Timed::of_subgraphs(vec![form], None, scene).expect("every kernel can run").kinds().len()
    };
    let kinds = [&found.before[0], &found.lowered[0]].map(timed);
    let told = lap();
    assert!(kinds.iter().all(|kinds| *kinds > 0));
    let each = (inferred + lowering + tuned + told) * 1e6 / nodes as f64;
    println!("{name:<28} {nodes:>9} {inferred:>9.3} {lowering:>9.3} {tuned:>9.3} {told:>9.3}  {each:.1}");
}

/// Blocks of a product, its activation, a residual and a reduction, in so many different widths.
fn blocks(nodes: usize, different: usize) -> Graph {
    let mut graph = Graph::new("blocks");
    let desc = |dims: [i64; 2]| TensorDesc::new(DataType::Float16, Shape::new(dims));
    let mut x = graph.add_input("x", desc([64, 512])).expect("the name is new");
    let mut number = 0;
    while graph.len() < nodes {
        let width = 256 + 16 * (number % different) as i64;
        let mut add = |kind: &str, name: String, inputs: &[Port]| {
            Port::first(graph.add(Node::new(name, kind).with_inputs(inputs.iter().copied())).expect("the name is new"))
        };
        let sigmoid = add("Sigmoid", format!("b{number}.sigmoid"), &[x]);
        let gated = add("Mul", format!("b{number}.mul"), &[x, sigmoid]);
        let mut weight = |name: &str, dims| graph.add_const(format!("b{number}.{name}"), desc(dims), Constant::Opaque);
        let (down, up) = (weight("down", [512, width]), weight("up", [width, 512]));
        let (down, up) = (down.expect("the name is new"), up.expect("the name is new"));
        let mut add = |kind: &str, name: String, inputs: &[Port]| {
            Port::first(graph.add(Node::new(name, kind).with_inputs(inputs.iter().copied())).expect("the name is new"))
        };
        let narrow = add("MatMulV2", format!("b{number}.narrow"), &[gated, down]);
        let relu = add("Relu", format!("b{number}.relu"), &[narrow]);
        let wide = add("MatMulV2", format!("b{number}.wide"), &[relu, up]);
        let sum = add("Add", format!("b{number}.add"), &[wide, x]);
        x = add("SoftmaxV2", format!("b{number}.softmax"), &[sum]);
        number += 1;
    }
    graph.add_output(x);
    graph
}

/// A network of two layers with its second one repeated until there are `layers`.
fn repeated(two: &Graph, layers: usize) -> Graph {
    let layer_of = |id: NodeId| {
        let name = &two.node(id).name;
        [0, 1]
            .into_iter()
            .find(|layer| name.contains(&format!("layers.{layer}/")) || name.contains(&format!("layers.{layer}.")))
    };
    let mut graph = Graph::new("repeated");
    let mut moved: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    // Where the second layer reads the first, a later one reads the one before it at the same place.
    let mut latest: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    let inner: Vec<NodeId> = two.topological_order().expect("the model has an order");
    let twin = twins(two, &inner, &layer_of);
    let copy = |graph: &mut Graph, id: NodeId, name: String, from: &dyn Fn(NodeId) -> NodeId| {
        let mut node = two.node(id).clone();
        node.name = name;
        for port in node.inputs.iter_mut().flatten() {
            port.node = from(port.node);
        }
        graph.add(node).expect("the name is new")
    };
    let in_layers = |wanted: &[Option<usize>]| {
        inner.iter().copied().filter(|&id| wanted.contains(&layer_of(id))).collect::<Vec<_>>()
    };
    let behind = behind(two, &inner, &layer_of);
    for id in inner.iter().copied().filter(|id| !behind[id.index()] && layer_of(*id) != Some(1)) {
        let new = copy(&mut graph, id, two.node(id).name.clone(), &|id| moved[&id]);
        moved.insert(id, new);
    }
    for layer in 1..layers {
        let mut made: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for id in in_layers(&[Some(1)]) {
            let from = |source: NodeId| match layer_of(source) {
                Some(1) => made[&source],
                Some(0) if layer > 1 => {
                    twin.get(&source).and_then(|twin| latest.get(twin)).copied().unwrap_or(moved[&source])
                }
                _ => moved[&source],
            };
            let new = copy(&mut graph, id, format!("{}#{layer}", two.node(id).name), &from);
            made.insert(id, new);
        }
        latest = made;
    }
    for id in inner.iter().copied().filter(|id| behind[id.index()]) {
        let from = |source: NodeId| latest.get(&source).copied().unwrap_or_else(|| moved[&source]);
        let new = copy(&mut graph, id, two.node(id).name.clone(), &from);
        moved.insert(id, new);
    }
    for &port in two.outputs() {
        let node = latest.get(&port.node).copied().unwrap_or_else(|| moved[&port.node]);
        graph.add_output(Port { node, ..port });
    }
    graph
}

/// For each node of the first layer the one of the second at the same place.
fn twins(graph: &Graph, order: &[NodeId], layer_of: &dyn Fn(NodeId) -> Option<usize>) -> FxHashMap<NodeId, NodeId> {
    let of = |layer| order.iter().copied().filter(move |&id| layer_of(id) == Some(layer));
    let name = |id: NodeId| graph.node(id).name.replace("layers.1", "layers.0");
    let second: FxHashMap<String, NodeId> = of(1).map(|id| (name(id), id)).collect();
    of(0).filter_map(|id| Some((id, *second.get(&name(id))?))).collect()
}

/// Whether each node is outside the layers and reads what the second made, if from afar.
fn behind(graph: &Graph, order: &[NodeId], layer_of: &dyn Fn(NodeId) -> Option<usize>) -> Vec<bool> {
    let mut behind = vec![false; graph.len()];
    for &id in order {
        let reads = graph.node(id).inputs.iter().flatten();
        let far = reads.map(|port| port.node).any(|from| layer_of(from) == Some(1) || behind[from.index()]);
        behind[id.index()] = layer_of(id).is_none() && far;
    }
    behind
}
