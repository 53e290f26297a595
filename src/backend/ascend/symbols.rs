//! The functions that measuring on a device needs, and where CANN keeps them.
//!
//! Up to CANN 8.1 most are in `libascendcl.so`; later releases split it, and each symbol is looked up
//! in `libascendcl.so` first and then in the library of the split.

/// The library of every CANN generation.
pub const ASCENDCL: &str = "libascendcl.so";
/// Runtime library of the split generations.
pub const ACL_RT: &str = "libacl_rt.so";
const MDL: &str = "libacl_mdl.so";
const COMPILER: &str = "libacl_op_compiler.so";

/// Without these a library cannot even be asked what it is.
pub const ASKING: [&str; 4] = ["aclInit", "aclFinalize", "aclrtGetDeviceCount", "aclrtGetSocName"];

/// One function of the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symbol {
    /// C name.
    pub name: &'static str,
    /// Library that holds it where `libascendcl.so` does not.
    pub library: &'static str,
}

const fn rt(name: &'static str) -> Symbol {
    Symbol { name, library: ACL_RT }
}

const fn mdl(name: &'static str) -> Symbol {
    Symbol { name, library: MDL }
}

const fn compiler(name: &'static str) -> Symbol {
    Symbol { name, library: COMPILER }
}

/// Every function that measuring calls: a kernel compiled with a candidate's bank is run between two
/// events of one stream; a whole model is loaded and run likewise.
pub const MEASURING: &[Symbol] = &[
    // Process and device.
    rt("aclInit"),
    rt("aclFinalize"),
    rt("aclGetRecentErrMsg"),
    rt("aclrtGetSocName"),
    rt("aclrtGetVersion"),
    rt("aclrtGetDeviceCount"),
    rt("aclrtSetDevice"),
    rt("aclrtResetDevice"),
    rt("aclrtSynchronizeDevice"),
    // Memory.
    rt("aclrtMalloc"),
    rt("aclrtFree"),
    rt("aclrtMemcpy"),
    rt("aclrtMemset"),
    rt("aclrtGetMemInfo"),
    rt("aclCreateDataBuffer"),
    rt("aclDestroyDataBuffer"),
    rt("aclDataTypeSize"),
    // Streams and events.
    rt("aclrtCreateStream"),
    rt("aclrtDestroyStream"),
    rt("aclrtSynchronizeStreamWithTimeout"),
    rt("aclrtCreateEventWithFlag"),
    rt("aclrtDestroyEvent"),
    rt("aclrtRecordEvent"),
    rt("aclrtSynchronizeEvent"),
    rt("aclrtEventElapsedTime"),
    // One operator, compiled with the bank that the environment names.
    mdl("aclCreateTensorDesc"),
    mdl("aclDestroyTensorDesc"),
    mdl("aclSetTensorFormat"),
    mdl("aclSetTensorShape"),
    compiler("aclopCreateAttr"),
    compiler("aclopDestroyAttr"),
    compiler("aclopSetAttrInt"),
    compiler("aclopSetAttrBool"),
    compiler("aclopSetAttrFloat"),
    compiler("aclopSetAttrString"),
    compiler("aclopSetAttrListInt"),
    compiler("aclSetCompileopt"),
    compiler("aclopCompileAndExecute"),
    // A whole model.
    mdl("aclmdlLoadFromFile"),
    mdl("aclmdlUnload"),
    mdl("aclmdlExecuteAsync"),
    mdl("aclmdlCreateDesc"),
    mdl("aclmdlDestroyDesc"),
    mdl("aclmdlGetDesc"),
    mdl("aclmdlGetNumInputs"),
    mdl("aclmdlGetNumOutputs"),
    mdl("aclmdlGetInputSizeByIndex"),
    mdl("aclmdlGetOutputSizeByIndex"),
    mdl("aclmdlCreateDataset"),
    mdl("aclmdlDestroyDataset"),
    mdl("aclmdlAddDatasetBuffer"),
];

#[cfg(test)]
mod tests {
    use super::{ASKING, MEASURING};
    use std::collections::HashSet;

    #[test]
    fn the_table_names_each_function_once_and_all_that_asking_needs() {
        let names: HashSet<_> = MEASURING.iter().map(|s| s.name).collect();
        assert_eq!(names.len(), MEASURING.len());
        assert!(ASKING.iter().all(|name| names.contains(name)));
    }
}
