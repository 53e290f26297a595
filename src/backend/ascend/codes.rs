//! Return codes of the ACL runtime (`aclError`), as its headers define them.

/// The call did what it says.
pub const SUCCESS: i32 = 0;
/// The process has not called `aclInit`.
pub const UNINITIALIZED: i32 = 100_001;
/// The process has called `aclInit` before; it stays initialised.
pub const REPEAT_INITIALIZE: i32 = 100_002;
/// The library is one of the stubs that toolkits ship for linking, not a runtime.
pub const COMPILING_STUB_MODE: i32 = 100_039;

/// Whether a code says that this machine cannot measure at all, whatever the candidate.
pub fn is_machine(code: i32) -> bool {
    matches!(code, COMPILING_STUB_MODE | 148_049 | 200_002 | 107_001 | 507_008)
}

/// Whether a code says that memory, the host's or the device's, does not suffice.
pub fn is_memory(code: i32) -> bool {
    matches!(code, 200_000 | 207_001 | 207_018)
}

/// The codes that documents of CANN's list, and what they mean.
pub const DOCUMENTED: &[(i32, &str)] = &[
    (100_000, "invalid parameter"),
    (UNINITIALIZED, "not initialised"),
    (REPEAT_INITIALIZE, "initialised twice"),
    (100_003, "invalid configuration file"),
    (100_011, "invalid model"),
    (100_017, "the model does not match its data"),
    (100_018, "the model does not match its data"),
    (100_021, "the operator does not match its description"),
    (100_022, "the operator does not match its description"),
    (100_023, "the operator does not match its description"),
    (100_024, "operator not found"),
    (100_025, "operator not loaded"),
    (100_026, "data type not supported"),
    (100_029, "kernel not found"),
    (100_037, "finalised twice"),
    (COMPILING_STUB_MODE, "a stub library for linking, not a runtime"),
    (107_000, "invalid parameter"),
    (107_001, "invalid device"),
    (107_002, "wrong context"),
    (107_003, "wrong context"),
    (107_019, "waiting took too long"),
    (107_020, "the task took too long"),
    (148_049, "invalid path of the operator package"),
    (148_050, "the operator does not support dynamic shapes"),
    (200_000, "out of memory"),
    (200_001, "not supported here"),
    (200_002, "invalid device"),
    (200_003, "memory is not aligned"),
    (200_006, "not supported here"),
    (207_000, "not supported here"),
    (207_001, "out of memory"),
    (207_005, "out of resources"),
    (207_018, "out of device memory"),
    (300_000, "a limit of storage is reached"),
    (500_000, "internal error of the runtime"),
    (500_001, "failure"),
    (500_002, "error of the graph engine"),
    (500_003, "error of the runtime layer"),
    (500_004, "error of the driver"),
    (500_005, "error of the profiler"),
    (507_000, "internal error of the runtime"),
    (507_008, "the SoC version cannot be told"),
    (507_011, "the model failed"),
    (507_014, "an AI Core took too long"),
    (507_015, "an AI Core met an exception"),
    (507_034, "a vector core took too long"),
    (507_035, "a vector core met an exception"),
    (507_042, "a core read or wrote beyond memory"),
    (507_043, "a core read or wrote beyond memory"),
    (507_044, "a core read or wrote beyond memory"),
    (507_045, "a core read or wrote beyond memory"),
    (507_046, "waiting took too long"),
    (507_047, "waiting took too long"),
];

/// What a code means; `None` for codes that no document of CANN's lists.
pub fn meaning(code: i32) -> Option<&'static str> {
    DOCUMENTED.iter().find(|(documented, _)| *documented == code).map(|(_, meaning)| *meaning)
}
