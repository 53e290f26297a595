//! The section on runs: alike kernels together, of whatever size the network is.

use super::*;
use crate::graph::{DataType, Graph, Node, Port, Shape, TensorDesc, infer};
use crate::lower::{self, Lowered, lower};
use crate::profile::{Form, Scene, Timed};
use crate::report::html::pages;
use crate::report::runs::Step;

/// A network of elementwise kernels of these sizes, behind each a second one that is alike, and a product.
fn network(lengths: impl Iterator<Item = i64>, soc: &Soc) -> (Graph, Lowered) {
    let mut graph = Graph::new("net");
    let tensor = |dims: &[i64]| TensorDesc::new(DataType::Float16, Shape::new(dims));
    for (at, length) in lengths.enumerate() {
        let mut x = graph.add_input(format!("x{at}"), tensor(&[length])).unwrap();
        for name in ["relu", "again"] {
            x = Port::first(graph.add(Node::new(format!("{name}{at}"), "Relu").with_inputs([x])).unwrap());
        }
        graph.add_output(x);
    }
    let sides = ["a", "b"].map(|name| graph.add_input(name, tensor(&[512, 512])).unwrap());
    let product = graph.add(Node::new("product", "MatMulV3").with_inputs(sides)).unwrap();
    graph.add_output(Port::first(product));
    infer::infer(&mut graph).unwrap();
    let lowered = lower(&graph, soc, &lower::Settings::default()).unwrap();
    (graph, lowered)
}

/// The runs of a network that is as it was.
pub fn of_sizes(sizes: impl Iterator<Item = i64>) -> Runs {
    let soc = Soc::find("Ascend910B2").unwrap();
    let (graph, lowered) = network(sizes, &soc);
    let scene = Scene { network: "net", soc: &soc, precision: lower::Settings::default().precision };
    let form = Form { label: "", graph: &graph, lowered: &lowered };
    let timed = || Timed::of_subgraphs(vec![form], None, scene).unwrap();
    let runs = [timed(), timed()];
    let told = Runs::of(&runs);
    let run = runs[0].run();
    let sum: f64 = told.before.iter().map(|launched| launched.us).sum();
    assert!((sum - run.total_us()).abs() < 1e-9 * sum, "{sum} {}", run.total_us());
    let launches: u64 = told.after.iter().map(|launched| launched.count).sum();
    assert_eq!(launches, run.tasks.len() as u64);
    told
}

fn report_of(runs: Runs) -> String {
    let context = Context { runs: Some(runs), ..context(Path::new(".")) };
    full_report(Tuned::Subgraphs(&sgat::subgraphs(true)), &context).unwrap()
}

#[test]
fn alike_kernels_are_one_with_all_their_launches_the_longest_first() {
    let told = of_sizes([1 << 20, 1 << 24, 1 << 20].into_iter());
    let seen: Vec<_> = told.after.iter().map(|l| (l.name.as_deref().unwrap(), l.count)).collect();
    assert_eq!(seen, [("relu1", 2), ("relu0", 4), ("product", 1)]);
    let product = &told.after[2];
    assert_eq!((product.op_type.as_deref(), &*product.task_type), (Some("MatMulV3"), "AI_CORE"));
    assert!((product.work.unwrap().cube_operations / f64::from(2 * 512 * 512 * 512) - 1.0).abs() < 1e-9);
}

#[test]
fn a_run_is_told_in_its_order_and_where_it_is_long_short_steps_are_joined() {
    let told = of_sizes([1 << 20, 1 << 24, 1 << 20].into_iter());
    let names = |runs: &Runs| {
        let name = |step: &Step| runs.after[step.kernel.unwrap()].name.clone().unwrap();
        runs.sequence_after.iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(names(&told), ["relu0", "relu0", "relu1", "relu1", "relu0", "relu0", "product"]);
    let long = of_sizes((0..6000).map(|at| 4096 + 64 * at));
    assert!((100..=1000).contains(&long.sequence_after.len()), "{}", long.sequence_after.len());
    let sums = |of: fn(&Step) -> f64| long.sequence_after.iter().map(of).sum::<f64>();
    assert!((sums(|step| step.count as f64) - 12_001.0).abs() < 0.5);
    let whole: f64 = long.after.iter().map(|launched| launched.us).sum();
    assert!((sums(|step| step.us) / whole - 1.0).abs() < 1e-9);
}

#[test]
fn thousands_of_unlike_kernels_are_summed_by_what_bounds_them_and_the_page_stays_small() {
    let told = of_sizes((0..6000).map(|at| 4096 + 64 * at));
    let (named, summed): (Vec<_>, Vec<_>) = told.before.iter().partition(|launched| launched.name.is_some());
    assert_eq!(named.len(), 4000);
    assert!((1..=9).contains(&summed.len()), "{summed:?}");
    let shortest = named.iter().map(|launched| launched.us).fold(f64::INFINITY, f64::min);
    let mean = summed[0].us / summed[0].count as f64;
    assert!(mean <= shortest, "the longest have rows of their own");
    let page = pages(&report_of(told), Path::new("report.json")).unwrap().first;
    assert!(page.contains("many short kernels") && page.len() < 4 << 20, "{} bytes", page.len());
}

#[test]
fn where_subgraphs_alone_were_tuned_the_page_has_times_by_type_and_a_roofline() {
    let page = pages(&report_of(of_sizes([1 << 20, 1 << 24].into_iter())), Path::new("report.json")).unwrap().first;
    // A ring and a disc for each of three kinds, which are the same before and after.
    let count = |text: &str| page.matches(text).count();
    assert_eq!(["circle class=\"ring\"", "circle class=\"disc\"", "class=\"way\""].map(count), [3, 3, 3]);
    let time = page.split_once("id=\"time\"").unwrap().1.split_once("</section>").unwrap().0;
    for text in ["MatMulV3", "Relu", "Transfers inside the cores"] {
        assert!(time.contains(text), "{text} is missing in {}", time.split("By what").nth(1).unwrap());
    }
}
