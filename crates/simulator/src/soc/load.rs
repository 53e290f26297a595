//! SoC descriptions from outside: overrides, JSON files, `platform_config` .ini files.

use super::{Arch, Soc};
use aoe_base::ini::{self, Entry};
use aoe_base::input_file::read_text;
use aoe_base::json::Unique;
use aoe_base::status::{Error, Result};
use serde_json::{Map, Value};
use std::path::Path;

/// Rows, depth for 16-bit types, and columns of a cube step: the same on every part so far.
const CUBE_SIZE: u32 = 16;

impl Soc {
    /// Overrides one field, named as in this structure, for example `set("cube_freq_mhz", "1500")`.
    ///
    /// Fails with [`Error::Option`] for an unknown field or a value that the field cannot hold; the
    /// description is unchanged then.
    pub fn set(&mut self, field: &str, value: &str) -> Result<()> {
        let option = || format!("soc_set {field}={value}");
        let mut fields = self.fields();
        let Some(slot) = fields.get_mut(field) else {
            let known: Vec<&str> = fields.keys().map(String::as_str).collect();
            let meant = aoe_base::spelling::meant(field, known.iter().copied());
            return Err(Error::option(option(), format!("no such field; fields are {}{meant}", known.join(", "))));
        };
        *slot = match slot {
            Value::String(_) => Value::String(value.to_owned()),
            _ => serde_json::from_str(value).map_err(|_| Error::option(option(), "a number is expected"))?,
        };
        *self = Soc::from_fields(fields).map_err(|reason| Error::option(option(), reason))?;
        Ok(())
    }

    /// Reads a description from a file: JSON (this structure; with `"base": "<known SoC>"` fields may be
    /// left out), or the `platform_config` .ini of an installed toolkit.
    pub fn load(path: &Path) -> Result<Soc> {
        Soc::described(&read_text(path)?, path)
    }

    /// Reads a description of either kind; `path` names it in errors.
    pub fn described(text: &str, path: &Path) -> Result<Soc> {
        if text.trim_start().starts_with('{') { from_json(text, path) } else { from_ini(text, path) }
    }

    fn fields(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }

    fn from_fields(fields: Map<String, Value>) -> Result<Soc, String> {
        let soc: Soc = serde_json::from_value(Value::Object(fields)).map_err(|e| e.to_string())?;
        soc.validate()?;
        Ok(soc)
    }

    /// Whether every value is one that hardware can have.
    fn validate(&self) -> Result<(), String> {
        let rates = [
            ("cube_freq_mhz", self.cube_freq_mhz),
            ("vec_freq_mhz", self.vec_freq_mhz),
            ("hbm_gb_s", self.hbm_gb_s),
            ("l2_rate", self.l2_rate),
            ("gm_to_l1_rate", self.gm_to_l1_rate),
            ("gm_to_ub_rate", self.gm_to_ub_rate),
            ("l1_to_l0_a_rate", self.l1_to_l0_a_rate),
            ("l1_to_l0_b_rate", self.l1_to_l0_b_rate),
            ("l0_c_out_rate", self.l0_c_out_rate),
            ("ub_to_gm_rate", self.ub_to_gm_rate),
            ("vec_bytes_per_cycle", self.vec_bytes_per_cycle),
        ];
        for (name, value) in rates {
            if !(1e-3..=1e9).contains(&value) {
                return Err(format!("{name} = {value} is not a positive number from 0.001 to 1e9"));
            }
        }
        // The least that buffers can be: two of the smallest tiles, as double buffering needs.
        let counts = [
            ("ai_core_cnt", u64::from(self.ai_core_cnt), 1, 4096),
            ("vector_core_cnt", u64::from(self.vector_core_cnt), 1, 4096),
            ("l1_size", self.l1_size, 8 << 10, 1 << 30),
            ("l0_a_size", self.l0_a_size, 1 << 10, 1 << 30),
            ("l0_b_size", self.l0_b_size, 1 << 10, 1 << 30),
            ("l0_c_size", self.l0_c_size, 2 << 10, 1 << 30),
            ("ub_size", self.ub_size, 8 << 10, 1 << 30),
            ("l2_size", self.l2_size, 0, 1 << 40),
            ("bt_size", self.bt_size, 0, 1 << 30),
            ("memory_size", self.memory_size, 0, 1 << 50),
        ];
        for (name, value, least, most) in counts {
            if !(least..=most).contains(&value) {
                return Err(format!("{name} = {value} is not between {least} and {most}"));
            }
        }
        // Tiles, formats and the model are made of these; another value would be ignored.
        for (name, value) in
            [("cube_m_size", self.cube_m_size), ("cube_k_size", self.cube_k_size), ("cube_n_size", self.cube_n_size)]
        {
            if value != CUBE_SIZE {
                return Err(format!("{name} = {value}: only cubes of {CUBE_SIZE} are modelled"));
            }
        }
        // A bias takes four bytes for each column of a tile.
        let least = u64::from(CUBE_SIZE) * 4;
        if (1..least).contains(&self.bt_size) {
            return Err(format!("bt_size = {} is neither 0 (none) nor {least} or more", self.bt_size));
        }
        Ok(())
    }
}

fn from_json(text: &str, path: &Path) -> Result<Soc> {
    let config = |line, reason: String| Error::Config { path: path.to_owned(), line, reason };
    let Unique(given) = serde_json::from_str(text).map_err(|e| config(Some(e.line()), e.to_string()))?;
    let Value::Object(mut given) = given else { return Err(config(None, "is no JSON object".to_owned())) };
    let mut fields = match given.remove("base") {
        None => Map::new(),
        Some(Value::String(name)) => Soc::find(&name)?.fields(),
        Some(other) => return Err(config(None, format!("base is the name of a known SoC, not {other}"))),
    };
    fields.extend(given);
    Soc::from_fields(fields).map_err(|reason| config(None, reason))
}

fn from_ini(text: &str, path: &Path) -> Result<Soc> {
    let config = |line, reason: String| Error::Config { path: path.to_owned(), line, reason };
    let entries = ini::parse(text, path)?;
    let text_of = |key: &str| entries.iter().find(|e| e.section == "version" && e.key == key).map(|e| e.value.as_str());
    let name = text_of("SoC_version")
        .ok_or_else(|| config(None, "neither JSON nor a platform_config file: no SoC_version in [version]".into()))?;
    let aic = text_of("AIC_version").ok_or_else(|| config(None, "no AIC_version in [version]".into()))?;
    let arch = Arch::from_aic_version(aic)
        .ok_or_else(|| config(None, format!("AIC_version {aic} is of a generation that is not modelled")))?;
    let mut fields = super::table::template(arch).fields();
    fields.insert("name".into(), Value::String(name.to_owned()));
    if let Some(short) = text_of("Short_SoC_version") {
        fields.insert("short_name".into(), Value::String(short.to_owned()));
    }
    for entry in &entries {
        let Some(field) = field_of(arch, &entry.section, &entry.key) else { continue };
        if entry.value.is_empty() {
            continue;
        }
        let number: f64 = entry
            .value
            .parse()
            .map_err(|_| config(Some(entry.line), format!("{} = {} is not a number", entry.key, entry.value)))?;
        let whole = number.fract() == 0.0 && (0.0..9e15).contains(&number);
        let is_integer = fields.get(field).is_some_and(Value::is_u64);
        let value = if whole && is_integer { Value::from(number as u64) } else { Value::from(number) };
        fields.insert(field.into(), value);
    }
    fill_dependent(&mut fields, arch, &entries);
    Soc::from_fields(fields).map_err(|reason| config(None, reason))
}

/// The field that a key of a `platform_config` file fills. Rates of the 910B family are left out: its
/// files repeat the first generation's, and measurement contradicts them.
fn field_of(arch: Arch, section: &str, key: &str) -> Option<&'static str> {
    Some(match (section, key) {
        ("SoCInfo", "ai_core_cnt" | "cube_core_cnt") => "ai_core_cnt",
        ("SoCInfo", "memory_size") => "memory_size",
        ("SoCInfo", "l2_size") => "l2_size",
        ("AICoreSpec", "cube_freq") => "cube_freq_mhz",
        ("AICoreSpec", "cube_m_size") => "cube_m_size",
        ("AICoreSpec", "cube_k_size") => "cube_k_size",
        ("AICoreSpec", "cube_n_size") => "cube_n_size",
        ("AICoreSpec", "l0_a_size") => "l0_a_size",
        ("AICoreSpec", "l0_b_size") => "l0_b_size",
        ("AICoreSpec", "l0_c_size") => "l0_c_size",
        ("AICoreSpec", "l1_size") => "l1_size",
        ("AICoreSpec", "ub_size") => "ub_size",
        ("AICoreSpec", "bt_size") => "bt_size",
        ("AICoreMemoryRates", _) if arch == Arch::C220 => return None,
        ("AICoreMemoryRates", "l1_to_l0_a_rate") => "l1_to_l0_a_rate",
        ("AICoreMemoryRates", "l1_to_l0_b_rate") => "l1_to_l0_b_rate",
        ("AICoreMemoryRates", "l0_c_to_ub_rate") => "l0_c_out_rate",
        ("AICoreMemoryRates", "l2_read_rate") => "l2_rate",
        ("AICoreMemoryRates", "ub_to_l2_rate") => "ub_to_gm_rate",
        _ => return None,
    })
}

/// What the file states in other units or leaves to the reader: vector cores and clock, and device
/// memory bandwidth as the sum of the cores' shares.
fn fill_dependent(fields: &mut Map<String, Value>, arch: Arch, entries: &[Entry]) {
    let number = |section: &str, key: &str| {
        entries.iter().find(|e| e.section == section && e.key == key).and_then(|e| e.value.parse::<f64>().ok())
    };
    let of = |fields: &Map<String, Value>, key: &str| fields.get(key).and_then(Value::as_f64).unwrap_or(0.0);
    let (cores, clock) = (of(fields, "ai_core_cnt"), of(fields, "cube_freq_mhz"));
    let extra = number("SoCInfo", "vector_core_cnt").unwrap_or(0.0);
    let vectors = if arch.is_split() && extra > 0.0 { extra } else { cores + extra };
    fields.insert("vector_core_cnt".into(), Value::from(vectors as u64));
    let vec_clock = number("VectorCoreSpec", "vec_freq").filter(|f| *f > 0.0).unwrap_or(clock);
    fields.insert("vec_freq_mhz".into(), Value::from(vec_clock));
    match number("AICoreMemoryRates", "ddr_rate") {
        // The 910B family's files give 32 for parts of 0.8 and of 1.6 TB/s; the memory's size tells.
        _ if arch == Arch::C220 => {
            let wide = of(fields, "memory_size") == 0.0 || of(fields, "memory_size") > 4e10;
            fields.insert("hbm_gb_s".into(), Value::from(if wide { 1600.0 } else { 800.0 }));
        }
        Some(rate) if rate > 0.0 => {
            let vector_share = number("VectorCoreMemoryRates", "ddr_rate").filter(|_| !arch.is_split());
            let share = rate * cores * clock + vector_share.unwrap_or(0.0) * extra * vec_clock;
            fields.insert("hbm_gb_s".into(), Value::from(share / 1e3));
        }
        _ => {}
    }
}
