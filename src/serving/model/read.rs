//! From `config.json` to a model.

use super::families::{self, Defaults, Family};
use super::fields::{Fields, contradiction};
use super::layers::{experts, window};
use super::{Attention, Experts, Model};
use crate::cases::json;
use crate::input_file;
use crate::report::counted;
use crate::spelling::beginning;
use crate::status::{Error, Result};
use serde_json::{Map, Value, json as value};
use std::path::{Path, PathBuf};

/// Largest file that is read; published configurations have less than 100 KiB.
const MOST_BYTES: u64 = 4 << 20;
/// Most layers of a model; the deepest published ones have some 130.
const MOST_LAYERS: u64 = 10_000;

impl Model {
    /// Reads a model's `config.json`, or the one in a folder.
    ///
    /// Fails with [`Error::File`], which names the field that is missing, absurd, or contradicts another.
    pub fn read(path: &Path) -> Result<Model> {
        let path: PathBuf = if path.is_dir() { path.join("config.json") } else { path.to_owned() };
        let failed = |reason: String| Error::file("read", &path, reason);
        let bytes = input_file::read(&path, MOST_BYTES, "has more than 4 MiB, too many for a model's configuration")?;
        let text = std::str::from_utf8(&bytes).map_err(|e| {
            failed(format!("is not UTF-8 text (byte {}); a configuration is JSON in UTF-8", e.valid_up_to() + 1))
        })?;
        Model::parse(text).map_err(failed)
    }

    /// Reads the text of a configuration; what is wrong with it is a sentence.
    pub fn parse(text: &str) -> Result<Model, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let value = json(text).map_err(|e| format!("is no JSON as a configuration has it: {e}"))?;
        let Value::Object(whole) = &value else { return Err("is no configuration: it is no JSON object".to_owned()) };
        let language = language_model(whole)?;
        let fields = Fields(&language);
        let name = fields.text("model_type")?.ok_or_else(|| fields.missing(&["model_type"], "the kind of model"))?;
        model(name, &fields)
    }
}

/// The fields of the language model: models that see pictures keep them apart, and some facts about it outside of them.
fn language_model(whole: &Map<String, Value>) -> Result<Map<String, Value>, String> {
    const APART: [&str; 3] = ["text_config", "language_config", "llm_config"];
    const OUTSIDE: [&str; 3] = ["model_type", "tie_word_embeddings", "quantization_config"];
    /// Two names of one type: that of the language model counts, whatever it is called.
    const TYPES: [&str; 2] = ["torch_dtype", "dtype"];
    let outer = Fields(whole);
    let mut within: Option<(&str, Fields<'_>)> = None;
    for name in APART {
        match (outer.below(name)?, &within) {
            (Some(Fields(other)), Some((first, Fields(known)))) if *other != **known => {
                return Err(format!("`{first}` and `{name}` differ: which of them is the language model is not clear"));
            }
            (Some(other), None) => within = Some((name, other)),
            _ => {}
        }
    }
    let Some((_, Fields(within))) = within else { return Ok(whole.clone()) };
    let mut fields = within.clone();
    let lacks = |name: &str| within.get(name).is_none_or(Value::is_null);
    let types = TYPES.into_iter().filter(|_| TYPES.iter().all(|name| lacks(name)));
    for name in OUTSIDE.into_iter().filter(|name| lacks(name)).chain(types) {
        fields.extend(whole.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    Ok(fields)
}

fn model(name: &str, fields: &Fields<'_>) -> Result<Model, String> {
    let known = families::find(name);
    let family = known.unwrap_or(families::unknown());
    let mut notes = Vec::new();
    refuse_foreign(name, fields)?;
    notes.extend(published_type(fields)?);
    if known.is_none() {
        let known: Vec<_> = families::names().collect();
        notes.push(format!(
            "`{}` is none of the known kinds ({}): it is built as its fields say, without norms of heads, bias and shared weights of embedding and head unless they say so",
            beginning(name),
            known.join(", ")
        ));
    }
    if let Some(published) = fields.below("quantization_config")? {
        let method = published
            .text("quant_method")?
            .map_or_else(|| "a type of their own".to_owned(), |m| format!("`{}`", beginning(m)));
        notes.push(format!("the weights are published in {method}; they are priced as `quantization` has them"));
    }
    if let Some(drafts) = fields.optional_count(&["num_nextn_predict_layers"])?.filter(|drafts| *drafts > 0) {
        let drafts = counted(drafts, "layer", "layers");
        notes.push(format!("{drafts} for drafts of tokens (`num_nextn_predict_layers`): neither counted nor priced"));
    }
    let layers = fields.size(&["num_hidden_layers", "num_layers", "n_layer"], "the number of layers")?;
    if layers > MOST_LAYERS {
        return Err(format!("`num_hidden_layers`: {layers} layers are more than {MOST_LAYERS}"));
    }
    let hidden = fields.size(&["hidden_size", "n_embd"], "the width of the residual stream")?;
    let vocabulary = vocabulary(fields, family)?;
    let experts = experts(fields, family, layers)?;
    let intermediate = match (fields.optional_size(&["intermediate_size", "ffn_hidden_size"])?, experts) {
        (Some(width), _) => width,
        (None, Some(experts)) if experts.layers == layers => experts.width,
        _ => return Err(fields.missing(&["intermediate_size"], "the width of the feed-forward layers")),
    };
    let model_attention = attention(fields, family, hidden)?;
    sane(model_attention, experts)?;
    notes.extend(odd_heads(model_attention)?);
    if fields.has("attn_logit_softcapping") {
        notes.push("the cap of attention's scores (`attn_logit_softcapping`) is not priced".to_owned());
    }
    let windows = window(fields, family, layers)?;
    if windows.is_none() && fields.has("sliding_window") && fields.flag("use_sliding_window")? != Some(false) {
        notes.push(
            "which layers have the window (`sliding_window`) is not told: all are priced as seeing every token"
                .to_owned(),
        );
    }
    let told_bias = fields.any_flag(&["attention_bias", "add_qkv_bias", "qkv_bias"])?;
    let positions = match fields.optional_count(&["max_position_embeddings"])? {
        // Tokens of a training sequence, where nothing else is told.
        None => fields.optional_count(&["seq_length"])?,
        told => told,
    };
    Ok(Model {
        family: beginning(name),
        layers,
        hidden,
        vocabulary,
        attention: model_attention,
        intermediate,
        experts,
        qkv_bias: told_bias.unwrap_or(family.qkv_bias),
        qk_norm: fields.flag("use_qk_norm")?.unwrap_or(family.qk_norm),
        gelu: is_gelu(fields)?,
        shared_gate: family.shared_gate,
        rotated: rotated(fields, family, model_attention)?,
        logits_cap: fields.has("final_logit_softcapping"),
        post_norms: family.post_norms,
        tied: fields.flag("tie_word_embeddings")?.unwrap_or(family.tied),
        positions: positions.unwrap_or(0),
        window: windows,
        notes,
    })
}

/// Entries of the vocabulary, with what fills it up where that is told.
fn vocabulary(fields: &Fields<'_>, family: Family) -> Result<u64, String> {
    let default = family.defaults.map(|default| default.vocabulary);
    let Some(padded) = fields.optional_size(&["padded_vocab_size"])? else {
        return fields.size_or(&["vocab_size"], "the number of entries of the vocabulary", default);
    };
    match fields.optional_size(&["vocab_size"])? {
        Some(entries) if entries > padded => {
            Err(format!("`padded_vocab_size`: {padded} are fewer than the {entries} of `vocab_size` that it holds"))
        }
        _ => Ok(padded),
    }
}

/// What is to be said of the type in which the weights are published. Fails for what is no type of Torch.
fn published_type(fields: &Fields<'_>) -> Result<Option<String>, String> {
    const SERVED: [&str; 3] = ["bfloat16", "float16", "float32"];
    const OTHERS: [&str; 6] = ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float64", "int8", "uint8"];
    let Some((field, told)) = fields.any_text(&["torch_dtype", "dtype"])? else { return Ok(None) };
    match told.strip_prefix("torch.").unwrap_or(told) {
        "auto" => Ok(None),
        name if SERVED.contains(&name) => Ok(None),
        name if OTHERS.contains(&name) => Ok(Some(format!(
            "the weights are published in `{name}`; they are priced as `dtype` and `quantization` have them"
        ))),
        name => {
            let known: Vec<&str> = SERVED.into_iter().chain(OTHERS).collect();
            Err(format!("`{field}`: `{}` is no type of Torch, as {} are", beginning(name), known.join(", ")))
        }
    }
}

/// What is to be said of heads that kernels of attention are not made for. Fails for those that cannot be rotated in pairs.
fn odd_heads(attention: Attention) -> Result<Option<String>, String> {
    /// Bytes of a block are 32.
    const BLOCK: u64 = 16;
    let sizes = match attention {
        Attention::Grouped { width, .. } => vec![("head_dim", width)],
        Attention::Latent { rope, nope, value, .. } => {
            vec![("qk_rope_head_dim", rope), ("qk_nope_head_dim", nope), ("v_head_dim", value)]
        }
    };
    if let Some((name, odd)) = sizes.iter().find(|(_, size)| !size.is_multiple_of(2)) {
        return Err(format!("`{name}`: heads of {odd} elements cannot be rotated, which takes pairs"));
    }
    let uneven = sizes.iter().find(|(_, size)| !size.is_multiple_of(BLOCK));
    Ok(uneven.map(|(name, size)| {
        format!("heads of {size} elements (`{name}`) are no multiple of {BLOCK}, which kernels of attention ask for: they are priced as if these took them")
    }))
}

/// Refuses sizes whose products no device could hold: heads, and what experts are made of.
fn sane(attention: Attention, experts: Option<Experts>) -> Result<(), String> {
    const MOST_HEADS: u64 = 4096;
    const WIDEST_HEAD: u64 = 4096;
    const MOST_EXPERTS: u64 = 4096;
    let widths = match attention {
        Attention::Grouped { width, .. } => vec![("head_dim", width)],
        Attention::Latent { nope, rope, value, kv_rank, .. } => vec![
            ("qk_nope_head_dim", nope),
            ("qk_rope_head_dim", rope),
            ("v_head_dim", value),
            ("kv_lora_rank", kv_rank),
        ],
    };
    let mut sizes: Vec<_> = widths.into_iter().map(|(name, width)| (name, width, WIDEST_HEAD)).collect();
    sizes.push(("num_attention_heads", attention.heads(), MOST_HEADS));
    if let Some(experts) = experts {
        sizes.push(("n_routed_experts", experts.routed, MOST_EXPERTS));
        sizes.push(("n_shared_experts", experts.shared, 1 << 24));
    }
    match sizes.into_iter().find(|(_, size, most)| size > most) {
        Some((name, size, most)) => Err(format!("`{name}`: {size} is more than {most}, too much for a model")),
        None => Ok(()),
    }
}

/// Whether the gate is a `Gelu`; it is a `SiLU` where the configuration does not say.
fn is_gelu(fields: &Fields<'_>) -> Result<bool, String> {
    // Gemma's say `gelu` under one name, and which kind of it under the other.
    let gate = |field: &'static str| match fields.text(field)? {
        None => Ok(None),
        Some("silu" | "swish" | "swiglu") => Ok(Some(false)),
        Some(name) if name.contains("gelu") || name == "geglu" => Ok(Some(true)),
        Some(name) => {
            Err(format!("`{field}`: gates of `{}` are not built; `silu` and those of `gelu` are", beginning(name)))
        }
    };
    let [field, other] = ["hidden_activation", "hidden_act"];
    match (gate(field)?, gate(other)?) {
        (Some(one), Some(two)) if one != two => {
            let [one, two] = [field, other].map(|name| Value::from(fields.text(name).ok().flatten()));
            Err(contradiction(field, &one, other, &two))
        }
        (one, two) => Ok(one.or(two).unwrap_or(false)),
    }
}

/// Kinds that read, and make no output token by token: parts of their names.
const ENCODERS: [&str; 5] = ["bert", "electra", "xlnet", "bart", "whisper"];
/// The same, too short to be looked for in other words.
const T5: [&str; 5] = ["t5", "mt5", "umt5", "byt5", "longt5"];

/// Fields of models that are built in ways which are not known here.
const FOREIGN: &[(&str, &str)] = &[
    ("linear_num_key_heads", "linear attention"),
    ("layers_block_type", "layers of several kinds"),
    ("ssm_state_size", "state-space layers"),
    ("mamba_d_state", "state-space layers"),
    ("index_topk", "sparse attention"),
    ("num_decoder_layers", "an encoder and a decoder"),
    ("is_encoder_decoder", "an encoder and a decoder"),
    ("type_vocab_size", "an encoder without a decoder"),
    ("interleave_moe_layer_step", "Llama 4's layers, experts in every so-manieth,"),
    ("altup_num_inputs", "several residual streams"),
];

fn refuse_foreign(name: &str, fields: &Fields<'_>) -> Result<(), String> {
    if let Some(kinds) = fields.entries("attn_type_list")?.filter(|kinds| kinds.iter().any(|kind| kind != 1)) {
        return Err(format!(
            "`attn_type_list`: {} tells of linear attention, which is not built",
            beginning(&value!(kinds).to_string())
        ));
    }
    let is_set = |field: &'static str| fields.has(field) && !matches!(fields.flag(field), Ok(Some(false)));
    let masked = fields.entries("architectures")?.unwrap_or_default().iter().filter_map(Value::as_str);
    if let Some(masked) = masked.into_iter().find(|name| name.contains("MaskedLM")) {
        return Err(format!("`architectures`: `{}` is an encoder, which is not built", beginning(masked)));
    }
    if ENCODERS.iter().any(|part| name.contains(part)) || name.split(['-', '_']).any(|part| T5.contains(&part)) {
        return Err(format!("`model_type`: `{}` is or has an encoder, which is not built", beginning(name)));
    }
    match FOREIGN.iter().find(|(field, _)| is_set(field)) {
        None => Ok(()),
        Some((field, what)) => {
            Err(format!("`model_type` `{}`: `{field}` tells of {what}, which is not built", beginning(name)))
        }
    }
}

fn attention(fields: &Fields<'_>, family: Family, hidden: u64) -> Result<Attention, String> {
    let defaults: Option<Defaults> = family.defaults;
    let heads = fields.size_or(
        &["num_attention_heads", "n_head"],
        "the number of query heads",
        defaults.map(|default| default.heads),
    )?;
    if family.latent || fields.has("kv_lora_rank") {
        let size = |name: &'static str, what: &str| fields.size(&[name], what);
        let nope = size("qk_nope_head_dim", "the elements of a head without position")?;
        let rope = size("qk_rope_head_dim", "the elements of a head with position")?;
        if let Some(both) = fields.optional_size(&["qk_head_dim"])?.filter(|both| *both != nope + rope) {
            return Err(format!(
                "`qk_head_dim`: {both} is not {nope} (`qk_nope_head_dim`) and {rope} (`qk_rope_head_dim`)"
            ));
        }
        return Ok(Attention::Latent {
            heads,
            q_rank: fields.optional_count(&["q_lora_rank"])?.unwrap_or(0),
            kv_rank: size("kv_lora_rank", "the width of the latent vector of keys and values")?,
            nope,
            rope,
            value: size("v_head_dim", "the elements of a value head")?,
        });
    }
    let kv_heads = fields
        .optional_size(&["num_key_value_heads", "multi_query_group_num", "num_kv_heads"])?
        .unwrap_or(defaults.map_or(heads, |default| default.kv_heads));
    if !heads.is_multiple_of(kv_heads) {
        return Err(format!(
            "`num_attention_heads`: {heads} query heads cannot share {kv_heads} heads of keys (`num_key_value_heads`) evenly"
        ));
    }
    let told_width = fields.optional_size(&["head_dim", "kv_channels"])?;
    let width = match told_width.or(defaults.map(|default| default.width)) {
        Some(width) => width,
        None if hidden.is_multiple_of(heads) => hidden / heads,
        None => {
            return Err(format!(
                "`hidden_size`: {hidden} is no multiple of {heads} heads (`num_attention_heads`), and `head_dim` is missing"
            ));
        }
    };
    Ok(Attention::Grouped { heads, kv_heads, width })
}

/// Elements of a head that are rotated.
fn rotated(fields: &Fields<'_>, family: Family, attention: Attention) -> Result<u64, String> {
    let width = match attention {
        Attention::Latent { rope, .. } => return Ok(rope),
        Attention::Grouped { width, .. } => width,
    };
    // Later configurations keep it among the other facts about positions.
    let below = fields.below("rope_parameters")?;
    let told = match fields.share("partial_rotary_factor")? {
        None => below.map(|below| below.share("partial_rotary_factor")).transpose()?.flatten(),
        told => told,
    };
    Ok((width as f64 * told.unwrap_or(family.rotated_share)).round() as u64)
}
