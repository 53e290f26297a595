//! Operator banks in memory, to be looked up in inside a compiler.
//!
//! An index is a snapshot: it holds what the files held when it was opened, and what is written later is
//! seen by opening another. In return no answer of it ever changes, so that any number of threads look up
//! without a lock, and whoever holds an answer keeps it.

mod fields;
mod load;
mod table;

#[cfg(test)]
mod tests;

use super::disk::DISK;
use super::file::BankFile;
use super::file_name::{FileName, bank_files, refused, unified_files};
use super::form::Form;
use super::key::{Key, Unusable};
use super::lines::sentences;
use super::names::soc_name;
use super::unified;
use crate::soc::Soc;
use crate::status::{Error, Result};
use crate::workload::Workload;
use fields::ByFields;
use serde_json::Value;
use std::path::{Path, PathBuf};
use table::Table;

/// Which of the files in a directory are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// The SoC as file names spell it; any where it is not said.
    pub soc: Option<String>,
    /// AI Cores that were tuned for; any where it is not said.
    pub cores: Option<u32>,
}

impl Part {
    /// The name of a SoC as bank files and directories spell it.
    pub fn soc_name(soc: &Soc) -> String {
        soc_name(soc)
    }
}

/// Operator banks in memory, layer over layer.
#[derive(Debug)]
pub struct Index {
    operators: Vec<Operator>,
    warnings: Vec<String>,
}

/// The records of one operator type.
#[derive(Debug)]
struct Operator {
    name: FileName,
    op_type: String,
    /// The first that has a key counts.
    layers: Vec<Table>,
    /// The keys of a unified bank, of all layers.
    by_fields: ByFields,
}

impl Index {
    /// Reads banks: each layer a bank file or a directory of them, the custom bank before the built-in one. Of a
    /// key that several layers have, the first layer's record counts.
    ///
    /// Lines that cannot be used cost only themselves and are told by [`Index::warnings`]; what an operator's
    /// files say follows the rules of docs/banks.md, "Reading". Fails when a layer does not exist or cannot be
    /// read, and with [`Error::Bank`] where several files would answer for one operator, for other SoCs or
    /// numbers of cores: `part` then has to say which is meant.
    pub fn open(layers: &[PathBuf], part: &Part) -> Result<Index> {
        let mut index = Index { operators: Vec::new(), warnings: Vec::new() };
        for layer in layers {
            for path in bank_files(std::slice::from_ref(layer))?.into_iter().chain(unified_files(layer)?) {
                let name = FileName::of_unified(&path).map_or_else(|| FileName::of(&path), Ok)?;
                let is_meant = part.soc.as_ref().is_none_or(|soc| *soc == name.soc)
                    && part.cores.is_none_or(|cores| cores == name.cores);
                if is_meant {
                    index.add(&path, name)?;
                }
            }
        }
        Ok(index)
    }

    fn add(&mut self, path: &Path, name: FileName) -> Result<()> {
        if let Some(other) = self.operators.iter().find(|o| o.name.soc != name.soc) {
            let reason =
                format!("is one of {}, and another file is one of {}: say which is meant", name.soc, other.name.soc);
            return Err(refused(path, reason));
        }
        let Some(op_type) = name.op_type.clone().filter(|_| name.form != Form::Unknown) else {
            self.warn(path, "not read: how this operator's records are looked up is not known".into());
            return Ok(());
        };
        let is_same = |o: &&mut Operator| o.op_type == op_type && o.name.form == name.form;
        let known = self.operators.iter_mut().find(is_same);
        if let Some(cores) = known.as_ref().map(|o| o.name.cores).filter(|cores| *cores != name.cores) {
            let reason =
                format!("is one of {} cores, and another file is one of {cores}: say which is meant", name.cores);
            return Err(refused(path, reason));
        }
        let failed = |e: std::io::Error| Error::file("read", path, e);
        let content = load::read(path)?;
        let loaded = if let Form::Unified(_) = name.form {
            load::load_unified(&content).map_err(failed)?
        } else {
            let side = BankFile::at(&DISK, path, name.form, &op_type).side()?;
            load::load(&content, name.form, &op_type, &side).map_err(failed)?
        };
        if let Some(operator) = known {
            operator.layers.push(loaded.table);
            operator.by_fields.add(loaded.by_fields);
        } else {
            let (layers, by_fields) = (vec![loaded.table], loaded.by_fields);
            self.operators.push(Operator { name, op_type, layers, by_fields });
        }
        let findings = loaded.findings.iter().cloned();
        self.warnings.extend(sentences(path, findings, loaded.unlisted));
        Ok(())
    }

    fn warn(&mut self, path: &Path, reason: String) {
        self.warnings.push(refused(path, reason).to_string());
    }

    /// What was found wrong in the files, each with file and line.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Records that can be found.
    pub fn records(&self) -> usize {
        self.tables().map(Table::len).sum()
    }

    /// Bytes of memory that the records take, with everything that is needed to find them.
    pub fn memory(&self) -> usize {
        let keys = self.operators.iter().map(|operator| operator.by_fields.memory());
        self.tables().map(Table::memory).sum::<usize>() + keys.sum::<usize>()
    }

    fn tables(&self) -> impl Iterator<Item = &Table> {
        self.operators.iter().flat_map(|operator| &operator.layers)
    }

    /// The SoC that the files are for, as their names spell it; `None` where there are none.
    pub fn soc(&self) -> Option<&str> {
        self.operators.first().map(|operator| operator.name.soc.as_str())
    }

    /// The text of the `knowledge` that is recorded for a key as CANN packs it; in our own form for the text of an `info_dict` with its
    /// keys sorted and no blanks, in the unified bank for the text that its keys are summed over. All bytes are compared.
    #[inline]
    pub fn find(&self, op_type: &str, key: &[u8]) -> Option<&[u8]> {
        let same = self.operators.iter().filter(|operator| operator.op_type == op_type);
        same.flat_map(|operator| &operator.layers).find_map(|table| table.get(key))
    }

    /// What is recorded for the text of an `info_dict`, whatever blanks it has and in whatever order its fields stand. To TBE,
    /// which asks the unified bank, their order is part of the key: one that stands as it is goes before one with the same
    /// fields. Fails with [`Error::Param`] for what is no JSON, and as [`Index::find_info`] does.
    pub fn find_text(&self, op_type: &str, text: &[u8]) -> Result<Option<&[u8]>> {
        let no_json = |e: String| Error::param("key", format!("is no JSON: {e}"));
        if self.operators.iter().any(|o| o.op_type == op_type && matches!(o.name.form, Form::Unified(_))) {
            let text = std::str::from_utf8(text).map_err(|e| no_json(e.to_string()))?;
            let info = unified::Value::parse(text).map_err(no_json)?;
            let found = self.find(op_type, info.dumps().as_bytes());
            return Ok(found.or_else(|| self.find_fields(op_type, &info.sorted().dumps())));
        }
        let info = serde_json::from_slice(text).map_err(|e| no_json(e.to_string()))?;
        self.find_info(op_type, &info)
    }

    /// What a unified bank has for these fields, sorted.
    fn find_fields(&self, op_type: &str, sorted: &str) -> Option<&[u8]> {
        let mut same = self.operators.iter().filter(|operator| operator.op_type == op_type);
        let key = same.find_map(|operator| operator.by_fields.get(sorted))?;
        self.find(op_type, key.as_bytes())
    }

    /// What is recorded for an `info_dict`. Fails with [`Error::Param`] for one that is no key of the operator.
    pub fn find_info(&self, op_type: &str, info: &Value) -> Result<Option<&[u8]>> {
        let unusable = |why: Unusable| Error::param("key", why.to_string());
        for operator in self.operators.iter().filter(|operator| operator.op_type == op_type) {
            if let Form::Unified(_) = operator.name.form {
                // Values sort their fields.
                return self.find_text(op_type, info.to_string().as_bytes());
            }
            let key: Key = operator.name.form.key(info).map_err(unusable)?;
            if let Some(found) = operator.layers.iter().find_map(|table| table.get(key.bytes())) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// What is recorded for a workload on a SoC. Fails as [`Form::key_of`] does.
    pub fn find_workload(&self, workload: &Workload, soc: &Soc) -> Result<Option<&[u8]>> {
        let form = Form::of(workload, soc);
        let op_type = form.op_type(workload);
        let keys = form.keys_of(workload)?;
        let same = |operator: &&Operator| operator.op_type == op_type && operator.name.form == form;
        let mut tables = self.operators.iter().filter(same).flat_map(|operator| &operator.layers);
        Ok(tables.find_map(|table| keys.iter().find_map(|key| table.get(key.bytes()))))
    }
}
