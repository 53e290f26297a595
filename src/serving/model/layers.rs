//! What differs from layer to layer: which have experts, and which look back over a window only.

use super::families::Family;
use super::fields::{Fields, contradiction};
use super::{Experts, Window};
use crate::spelling::beginning;
use serde_json::Value;
use std::collections::BTreeSet;

/// What the number of experts is called.
const EXPERTS: [&str; 3] = ["n_routed_experts", "num_local_experts", "num_experts"];

/// The experts; `None` for a model that has none.
pub(super) fn experts(fields: &Fields<'_>, family: Family, layers: u64) -> Result<Option<Experts>, String> {
    let routed = fields.optional_count(&EXPERTS)?.unwrap_or(0);
    if let Some(other) = fields.other_experts(&EXPERTS) {
        return Err(format!(
            "`{}` tells of experts, and `{}` is missing: their number",
            beginning(other),
            EXPERTS.join("` or `")
        ));
    }
    if family.experts {
        fields.size(&EXPERTS, "the number of experts, which every model of this kind has")?;
    }
    if routed == 0 {
        return Ok(None);
    }
    // `top_k` may be that of the sampling, which configurations keep, too.
    let per_token = match fields.optional_size(&["num_experts_per_tok", "moe_topk"])? {
        Some(count) => count,
        None => fields.size(&["num_experts_per_tok", "top_k"], "the experts that a token goes to")?,
    };
    if per_token > routed {
        return Err(format!("`num_experts_per_tok`: a token cannot go to {per_token} of {routed} experts"));
    }
    // Where some layers are dense, or some experts shared, `intermediate_size` is theirs.
    let own: &[&'static str] = &["moe_intermediate_size", "expert_intermediate_size"];
    let mixed = ["first_k_dense_replace", "moe_layer_freq", "decoder_sparse_step", "n_shared_experts"];
    let width = match fields.optional_size(own)? {
        Some(width) => width,
        None if mixed.into_iter().any(|name| fields.has(name)) => fields.size(own, "the width of an expert")?,
        None => fields.size(&["moe_intermediate_size", "intermediate_size"], "the width of an expert")?,
    };
    let shared = shared(fields, width)?;
    let first_dense = fields.optional_count(&["first_k_dense_replace"])?.unwrap_or(0);
    // Layers count from 0. Qwen's every so-manieth has experts, DeepSeek's every one whose number is a multiple.
    let every = fields.optional_size(&["decoder_sparse_step"])?.unwrap_or(1);
    let multiple = fields.optional_size(&["moe_layer_freq"])?.unwrap_or(1);
    if first_dense > layers {
        return Err(format!("`first_k_dense_replace`: {first_dense} of {layers} layers cannot be dense"));
    }
    let dense: BTreeSet<u64> =
        fields.entries("mlp_only_layers")?.unwrap_or_default().iter().filter_map(Value::as_u64).collect();
    let is_dense = |layer: u64| dense.contains(&layer);
    let groups = fields.optional_size(&["n_group"])?;
    if let Some(groups) = groups.filter(|groups| !routed.is_multiple_of(*groups)) {
        return Err(format!("`n_group`: {routed} experts are not in {groups} groups of one size"));
    }
    let chosen = fields.optional_size(&["topk_group"])?;
    if let (Some(groups), Some(chosen)) = (groups, chosen)
        && chosen > groups
    {
        return Err(format!("`topk_group`: a token cannot choose {chosen} of {groups} groups of experts"));
    }
    let has_experts =
        |layer: &u64| (layer + 1).is_multiple_of(every) && layer.is_multiple_of(multiple) && !is_dense(*layer);
    let sparse = (first_dense..layers).filter(has_experts).count();
    Ok((sparse > 0).then_some(Experts {
        routed,
        per_token,
        width,
        shared,
        layers: sparse as u64,
        grouped: family.grouped || groups.is_some_and(|groups| groups > 1),
    }))
}

/// Width of what every token passes beside its experts of this width: told by itself, or as so many more experts.
fn shared(fields: &Fields<'_>, width: u64) -> Result<u64, String> {
    let [told, of_count] = ["shared_expert_intermediate_size", "n_shared_experts"];
    let whole = fields.optional_count(&[told])?;
    let count = fields.optional_count(&[of_count, "num_shared_experts"])?;
    let counted = count.map(|count| count.saturating_mul(width));
    match (whole, counted) {
        (Some(whole), Some(counted)) if whole != counted => {
            let counted = format!("{} of width {width}", count.unwrap_or_default());
            Err(contradiction(told, &whole.into(), of_count, &Value::String(counted)))
        }
        _ => Ok(whole.or(counted).unwrap_or(0)),
    }
}

/// The layers with a window; `None` where all layers see everything, or none is told to have one.
pub(super) fn window(fields: &Fields<'_>, family: Family, layers: u64) -> Result<Option<Window>, String> {
    let near = kinds(fields, layers)?;
    let Some(tokens) = fields.optional_size(&["sliding_window"])? else {
        return match near {
            Some(1..) => Err(fields.missing(&["sliding_window"], "the tokens that layers of `sliding_attention` see")),
            _ => Ok(None),
        };
    };
    let used = fields.flag("use_sliding_window")?;
    if used == Some(false) {
        return Ok(None);
    }
    let every =
        fields.optional_size(&["sliding_window_pattern", "_sliding_window_pattern"])?.unwrap_or(family.window_every);
    // Qwen's first layers see everything.
    let first_far = fields.optional_count(&["max_window_layers"])?.filter(|_| used == Some(true));
    let counted = match (near, every) {
        (Some(near), _) => near,
        (None, 0) => first_far.map_or(0, |far| layers.saturating_sub(far)),
        (None, 1) => layers,
        (None, every) => layers - layers / every,
    };
    Ok((counted > 0).then_some(Window { tokens, layers: counted }))
}

/// Layers that see the last tokens only, of those whose kinds are told one by one.
fn kinds(fields: &Fields<'_>, layers: u64) -> Result<Option<u64>, String> {
    let Some(kinds) = fields.entries("layer_types")? else { return Ok(None) };
    if kinds.len() as u64 != layers {
        return Err(format!(
            "`layer_types`: there are {} of them, and {layers} layers (`num_hidden_layers`)",
            kinds.len()
        ));
    }
    let mut near = 0;
    for kind in kinds {
        match kind.as_str() {
            Some("full_attention") => {}
            Some("sliding_attention") => near += 1,
            _ => return Err(format!("`layer_types`: layers of {} are not built", beginning(&kind.to_string()))),
        }
    }
    Ok(Some(near))
}
