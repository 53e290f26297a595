//! `fusion_result.json`: what the fusion passes did, in the form in which CANN tells it.

use crate::lower::Fused;
use serde_json::{Map, Value, json};

/// How often each fusion pass found its pattern in the first of the forms of a network, and changed it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fusions {
    /// Passes over the graph.
    pub graph: Vec<Fused>,
    /// Passes that make kernels one in the unified buffer or through fixpipe.
    pub ub: Vec<Fused>,
}

impl Fusions {
    /// The file's text: for the graph a section each for graph and UB fusion, counts as strings.
    pub fn text(&self) -> String {
        let section = |passes: &[Fused]| -> Map<String, Value> {
            let counts = |fused: &Fused| json!({"effect_times": fused.effect_times.to_string(), "match_times": fused.match_times.to_string()});
            passes.iter().map(|fused| (fused.pass.to_owned(), counts(fused))).collect()
        };
        let graph = json!({"graph_fusion": section(&self.graph), "ub_fusion": section(&self.ub)});
        format!("{:#}\n", json!({"session_and_graph_id_0_0": graph}))
    }
}

#[cfg(test)]
mod tests {
    use super::Fusions;
    use crate::lower::Fused;
    use serde_json::{Value, json};

    #[test]
    fn counts_are_strings_in_a_section_for_each_stage() {
        let graph = vec![Fused { pass: "GeluFusionPass", match_times: 3, effect_times: 2 }];
        let ub = vec![Fused { pass: "AutomaticUbFusion", match_times: 16, effect_times: 16 }];
        let text = Fusions { graph, ub }.text();
        let expected = json!({"session_and_graph_id_0_0": {
            "graph_fusion": {"GeluFusionPass": {"effect_times": "2", "match_times": "3"}},
            "ub_fusion": {"AutomaticUbFusion": {"effect_times": "16", "match_times": "16"}},
        }});
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    }
}
