//! The functions that measuring on a device needs, with their prototypes, and where CANN keeps them.
//!
//! Up to CANN 8.1 most are in `libascendcl.so`; later releases split it. Each symbol is looked up in
//! `libascendcl.so` first and then in the libraries of the split.

use super::library::Symbol;
use std::ffi::{c_char, c_int, c_void};

/// The library of every CANN generation.
pub const ASCENDCL: &str = "libascendcl.so";
/// Runtime library of the split generations.
pub const ACL_RT: &str = "libacl_rt.so";

const RT: &[&str] = &[ACL_RT];
const MDL: &[&str] = &["libacl_mdl.so"];
const EXECUTOR: &[&str] = &["libacl_op_executor.so"];
const COMPILER: &[&str] = &["libacl_op_compiler.so"];
const NNOPBASE: &[&str] = &["libnnopbase.so"];
/// One library up to CANN 8.1, then one for each repository of operators.
const OPAPI: &[&str] = &["libopapi.so", "libopapi_nn.so"];

/// Declares a table of symbols and the structure of their resolved functions.
macro_rules! functions {
    (
        $(#[$table_doc:meta])* $table:ident;
        $(#[$doc:meta])* $functions:ident;
        $($libraries:ident { $($name:ident($($parameter:ty),*) -> $result:ty;)* })*
    ) => {
        $(#[$table_doc])*
        pub const $table: &[Symbol] =
            &[$($(Symbol { name: stringify!($name), libraries: $libraries },)*)*];

        $(#[$doc])*
        #[allow(non_snake_case)]
        pub struct $functions {
            $($(pub $name: unsafe extern "C" fn($($parameter),*) -> $result,)*)*
        }

        impl $functions {
            /// Resolves every function; the names of those missing where one is.
            #[allow(non_snake_case)]
            pub fn resolve(libraries: &mut super::libraries::Libraries) -> Result<$functions, Vec<&'static str>> {
                let mut missing = Vec::new();
                $($(
                    let symbol = Symbol { name: stringify!($name), libraries: $libraries };
                    // SAFETY: the table has the prototypes of CANN's documentation.
                    let $name = unsafe {
                        libraries.function::<unsafe extern "C" fn($($parameter),*) -> $result>(&symbol)
                    };
                    if $name.is_none() {
                        missing.push(stringify!($name));
                    }
                )*)*
                $($(let Some($name) = $name else { return Err(missing) };)*)*
                Ok($functions { $($($name,)*)* })
            }
        }
    };
}

functions! {
    /// Every function that measuring calls, whatever the operator.
    MEASURING;
    /// The functions of [`MEASURING`].
    Functions;
    RT {
        // Process and device.
        aclInit(*const c_char) -> c_int;
        aclFinalize() -> c_int;
        aclGetRecentErrMsg() -> *const c_char;
        aclrtGetSocName() -> *const c_char;
        aclrtSetDevice(i32) -> c_int;
        aclrtResetDevice(i32) -> c_int;
        // Memory.
        aclrtMalloc(*mut *mut c_void, usize, c_int) -> c_int;
        aclrtFree(*mut c_void) -> c_int;
        aclrtMemcpy(*mut c_void, usize, *const c_void, usize, c_int) -> c_int;
        aclrtMemset(*mut c_void, usize, i32, usize) -> c_int;
        aclrtMemsetAsync(*mut c_void, usize, i32, usize, *mut c_void) -> c_int;
        aclrtGetMemInfo(c_int, *mut usize, *mut usize) -> c_int;
        aclCreateDataBuffer(*mut c_void, usize) -> *mut c_void;
        aclDestroyDataBuffer(*const c_void) -> c_int;
        // Streams and events.
        aclrtCreateStream(*mut *mut c_void) -> c_int;
        aclrtDestroyStream(*mut c_void) -> c_int;
        aclrtSynchronizeStreamWithTimeout(*mut c_void, i32) -> c_int;
        aclrtCreateEventWithFlag(*mut *mut c_void, u32) -> c_int;
        aclrtDestroyEvent(*mut c_void) -> c_int;
        aclrtRecordEvent(*mut c_void, *mut c_void) -> c_int;
        aclrtEventElapsedTime(*mut f32, *mut c_void, *mut c_void) -> c_int;
    }
    // One operator of any type, compiled and run in the environment that names a candidate's bank.
    MDL {
        aclCreateTensorDesc(c_int, c_int, *const i64, c_int) -> *mut c_void;
        aclDestroyTensorDesc(*const c_void) -> ();
        aclSetTensorFormat(*mut c_void, c_int) -> c_int;
        aclSetTensorShape(*mut c_void, c_int, *const i64) -> c_int;
    }
    EXECUTOR {
        aclopCreateAttr() -> *mut c_void;
        aclopDestroyAttr(*const c_void) -> ();
        aclopSetAttrBool(*mut c_void, *const c_char, u8) -> c_int;
        aclopSetAttrInt(*mut c_void, *const c_char, i64) -> c_int;
        aclopSetAttrListInt(*mut c_void, *const c_char, c_int, *const i64) -> c_int;
        aclopSetAttrString(*mut c_void, *const c_char, *const c_char) -> c_int;
        aclopExecuteV2(
            *const c_char,
            c_int,
            *const *mut c_void,
            *const *mut c_void,
            c_int,
            *const *mut c_void,
            *const *mut c_void,
            *mut c_void,
            *mut c_void
        ) -> c_int;
    }
    COMPILER {
        aclSetCompileopt(c_int, *const c_char) -> c_int;
        aclopCompile(
            *const c_char,
            c_int,
            *const *mut c_void,
            c_int,
            *const *mut c_void,
            *const c_void,
            c_int,
            c_int,
            *const c_char
        ) -> c_int;
    }
}

functions! {
    /// What running an operator through its `aclnn` entry needs besides; looked for in the measuring
    /// process alone, for these libraries are large.
    ACLNN;
    /// The functions of [`ACLNN`].
    AclnnFunctions;
    NNOPBASE {
        aclCreateTensor(
            *const i64,
            u64,
            c_int,
            *const i64,
            i64,
            c_int,
            *const i64,
            u64,
            *mut c_void
        ) -> *mut c_void;
        aclDestroyTensor(*const c_void) -> c_int;
        aclSetAclOpExecutorRepeatable(*mut c_void) -> c_int;
        aclDestroyAclOpExecutor(*mut c_void) -> c_int;
    }
    OPAPI {
        aclnnMatmulGetWorkspaceSize(
            *const c_void,
            *const c_void,
            *mut c_void,
            i8,
            *mut u64,
            *mut *mut c_void
        ) -> c_int;
        aclnnMatmul(*mut c_void, u64, *mut c_void, *mut c_void) -> c_int;
    }
}

/// Tells the number of cores; current releases only.
pub const DEVICE_INFO: Symbol = Symbol { name: "aclrtGetDeviceInfo", libraries: RT };
/// Prototype of [`DEVICE_INFO`].
pub type DeviceInfoFn = unsafe extern "C" fn(u32, c_int, *mut i64) -> c_int;

/// Tells the compiler the values of an operand, of which an operator is made that nobody runs.
pub const SET_CONSTANT: Symbol = Symbol { name: "aclSetTensorConst", libraries: MDL };
/// Prototype of [`SET_CONSTANT`].
pub type SetConstantFn = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> c_int;

#[cfg(test)]
mod tests {
    use super::{ACLNN, MEASURING};
    use std::collections::HashSet;

    #[test]
    fn the_tables_name_each_function_once() {
        let names: HashSet<_> = MEASURING.iter().chain(ACLNN).map(|s| s.name).collect();
        assert_eq!(names.len(), MEASURING.len() + ACLNN.len());
    }
}
