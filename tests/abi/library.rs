//! Reads the built shared library, which is what ships: not the build log, not the linker's arguments.

use object::elf::{DF_1_NODELETE, DT_FLAGS_1, DT_SONAME, FileHeader64};
use object::read::elf::{Dyn, FileHeader, SectionHeader};
use object::{Endianness, Object, ObjectSymbol};
use std::collections::BTreeSet;

/// What the dynamic linker sees of a shared library.
#[derive(Debug, Clone)]
pub struct Library {
    pub soname: Option<String>,
    pub nodelete: bool,
    pub exports: BTreeSet<String>,
}

/// The library that cargo built beside this test program.
pub fn built() -> Vec<u8> {
    let program = std::env::current_exe().unwrap();
    let path = program.with_file_name("libaoe.so");
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

impl Library {
    /// Reads a 64-bit ELF file.
    pub fn read(bytes: &[u8]) -> Library {
        let header = FileHeader64::<Endianness>::parse(bytes).unwrap();
        let endian = header.endian().unwrap();
        let sections = header.sections(endian, bytes).unwrap();
        let mut library = Library { soname: None, nodelete: false, exports: BTreeSet::new() };
        for section in sections.iter() {
            let Some((entries, link)) = section.dynamic(endian, bytes).unwrap() else { continue };
            let strings = sections.strings(endian, bytes, link).unwrap();
            for entry in entries {
                match entry.d_tag(endian) {
                    DT_SONAME => library.soname = Some(text(strings.get(entry.d_val(endian) as u32).unwrap())),
                    DT_FLAGS_1 => library.nodelete = entry.d_val(endian) & DF_1_NODELETE.0 != 0,
                    _ => {}
                }
            }
        }
        let file = object::File::parse(bytes).unwrap();
        let exported = file.dynamic_symbols().filter(ObjectSymbol::is_definition);
        library.exports = exported.map(|s| s.name().unwrap().to_owned()).collect();
        library
    }

    /// What keeps the library from being what it should be.
    pub fn problems(&self, major: &str, expected: &[String]) -> Vec<String> {
        let mut problems = Vec::new();
        let soname = format!("libaoe.so.{major}");
        if self.soname.as_deref() != Some(&*soname) {
            problems.push(format!("SONAME is {:?}, not {soname}", self.soname));
        }
        if !self.nodelete {
            problems.push("the NODELETE flag is missing".to_owned());
        }
        let expected: BTreeSet<String> = expected.iter().cloned().collect();
        problems.extend(expected.difference(&self.exports).map(|name| format!("{name} is not exported")));
        problems.extend(self.exports.difference(&expected).map(|name| format!("{name} is exported but not declared")));
        problems
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
