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
        let mut sections = Map::new();
        sections.insert("graph_fusion".to_owned(), self.graph.iter().map(counts).collect::<Map<_, _>>().into());
        // A network without kernels that are fused has no such section in CANN's files.
        if !self.ub.is_empty() {
            let mut ub: Map<String, Value> = self.ub.iter().map(counts).collect();
            // These are CANN's default groups: none came out of a bank of subgraphs.
            ub.values_mut().for_each(|pass| pass["repository_hit_times"] = "0".into());
            sections.insert("ub_fusion".to_owned(), ub.into());
        }
        format!("{:#}\n", json!({"session_and_graph_id_0_0": sections}))
    }
}

fn counts(fused: &Fused) -> (String, Value) {
    let [effects, matches] = [fused.effect_times, fused.match_times].map(|times| times.to_string());
    (fused.pass.to_owned(), json!({"effect_times": effects, "match_times": matches}))
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
            "ub_fusion": {"AutomaticUbFusion": {"effect_times": "16", "match_times": "16", "repository_hit_times": "0"}},
        }});
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
        let text = Fusions::default().text();
        assert_eq!(
            serde_json::from_str::<Value>(&text).unwrap(),
            json!({"session_and_graph_id_0_0": {"graph_fusion": {}}})
        );
    }
}
