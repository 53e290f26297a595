//! Return codes of the ACL runtime (`aclError`), as its headers define them.

/// The call did what it says.
pub const SUCCESS: i32 = 0;
/// The process has not called `aclInit`.
pub const UNINITIALIZED: i32 = 100_001;
/// The process has called `aclInit` before; it stays initialised.
pub const REPEAT_INITIALIZE: i32 = 100_002;
/// The library is one of the stubs that toolkits ship for linking, not a runtime.
pub const COMPILING_STUB_MODE: i32 = 100_039;

/// What a code means, for those that finding and asking a runtime can meet.
pub fn meaning(code: i32) -> Option<&'static str> {
    Some(match code {
        100_000 => "invalid parameter",
        UNINITIALIZED => "not initialised",
        REPEAT_INITIALIZE => "initialised twice",
        100_003 => "invalid configuration file",
        100_037 => "finalised twice",
        COMPILING_STUB_MODE => "a stub library for linking, not a runtime",
        148_049 => "invalid path of the operator package",
        200_000 | 207_001 => "out of memory",
        200_001 | 200_006 | 207_000 => "not supported here",
        200_002 | 107_001 => "invalid device",
        500_000 | 507_000 => "internal error of the runtime",
        500_001 => "failure",
        500_003 => "error of the runtime layer",
        500_004 => "error of the driver",
        507_008 => "the SoC version cannot be told",
        _ => return None,
    })
}
