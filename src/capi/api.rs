//! All exports in one table, for programs that look up one symbol only.

use super::attributes::{
    AoeGraphSetAttrBool, AoeGraphSetAttrDataType, AoeGraphSetAttrFloat, AoeGraphSetAttrFloats, AoeGraphSetAttrInt,
    AoeGraphSetAttrInts, AoeGraphSetAttrString,
};
use super::backend::{AoeBackend, AoeRegisterBackend};
use super::bank::{AoeBank, AoeBankClose, AoeBankMerge, AoeBankMerged, AoeBankOpen, AoeBankQuery};
use super::callback::{AoeLogCallback, AoeProgressCallback, AoeSetLogCallback, AoeSetProgressCallback};
use super::check_option::AoeCheckOption;
use super::error::{AoeGetLastError, AoeGetStatusName, AoeStatus};
use super::graph::{
    AoeGraph, AoeGraphAddConst, AoeGraphAddEdge, AoeGraphAddInput, AoeGraphAddNode, AoeGraphAddOutput, AoeGraphCreate,
    AoeGraphDestroy, AoeGraphFindNode, AoeGraphGetNodeAttrString, AoeGraphGetNodeCount, AoeGraphLoadFile,
    AoeGraphLoadMemory, AoeGraphSaveFile, AoeGraphSetOutputDesc, AoeNodeId,
};
use super::option::AoeOption;
use super::search::{
    AoeSearch, AoeSearchAsk, AoeSearchBest, AoeSearchCreate, AoeSearchDestroy, AoeSearchGetReport, AoeSearchTell,
};
use super::session::{
    AoeCancel, AoeCreateSession, AoeDestroySession, AoeFinalize, AoeGetReport, AoeGetSessionError, AoeGetTunedGraph,
    AoeInitialize, AoeSetDependGraphs, AoeSetDependGraphsInputs, AoeSetGeSession, AoeSetTuningGraph,
    AoeSetTuningGraphInput, AoeTuningGraph,
};
use super::session_id::AoeSessionId;
use super::simulate::{AoeCandidates, AoeSimulate, AoeTiling};
use super::tensor::{AoeDataType, AoeTensor};
use super::version::AoeGetVersion;
use std::ffi::{c_char, c_void};

/// Version of the table; it changes only if a field had to.
pub const AOE_API_VERSION: u32 = 1;

/// The table; fields are only ever appended, and bear the exports' names without `Aoe`.
#[repr(C)]
#[derive(Debug)]
#[expect(missing_docs, non_snake_case, reason = "each field is the export of its name")]
pub struct AoeApi {
    pub struct_size: usize,
    pub GetVersion: unsafe extern "C" fn() -> u32,
    pub GetLastError: unsafe extern "C" fn() -> *const c_char,
    pub GetStatusName: unsafe extern "C" fn(status: AoeStatus) -> *const c_char,
    pub Initialize: unsafe extern "C" fn(options: *const AoeOption, option_count: usize) -> AoeStatus,
    pub Finalize: unsafe extern "C" fn() -> AoeStatus,
    pub GraphCreate: unsafe extern "C" fn(name: *const c_char, graph: *mut *mut AoeGraph) -> AoeStatus,
    pub GraphLoadFile: unsafe extern "C" fn(
        path: *const c_char,
        options: *const AoeOption,
        option_count: usize,
        graph: *mut *mut AoeGraph,
    ) -> AoeStatus,
    pub GraphLoadMemory: unsafe extern "C" fn(
        data: *const c_void,
        size: usize,
        options: *const AoeOption,
        option_count: usize,
        graph: *mut *mut AoeGraph,
    ) -> AoeStatus,
    pub GraphSaveFile: unsafe extern "C" fn(graph: *const AoeGraph, path: *const c_char) -> AoeStatus,
    pub GraphAddInput: unsafe extern "C" fn(
        graph: *mut AoeGraph,
        name: *const c_char,
        desc: *const AoeTensor,
        node: *mut AoeNodeId,
    ) -> AoeStatus,
    pub GraphAddConst: unsafe extern "C" fn(
        graph: *mut AoeGraph,
        name: *const c_char,
        value: *const AoeTensor,
        node: *mut AoeNodeId,
    ) -> AoeStatus,
    pub GraphAddNode: unsafe extern "C" fn(
        graph: *mut AoeGraph,
        name: *const c_char,
        op_type: *const c_char,
        output_count: usize,
        node: *mut AoeNodeId,
    ) -> AoeStatus,
    pub GraphAddEdge: unsafe extern "C" fn(
        graph: *mut AoeGraph,
        source: AoeNodeId,
        source_output: u32,
        target: AoeNodeId,
        target_input: u32,
    ) -> AoeStatus,
    pub GraphAddOutput: unsafe extern "C" fn(graph: *mut AoeGraph, node: AoeNodeId, output: u32) -> AoeStatus,
    pub GraphSetOutputDesc:
        unsafe extern "C" fn(graph: *mut AoeGraph, node: AoeNodeId, output: u32, desc: *const AoeTensor) -> AoeStatus,
    pub GraphSetAttrInt:
        unsafe extern "C" fn(graph: *mut AoeGraph, node: AoeNodeId, name: *const c_char, value: i64) -> AoeStatus,
    pub GraphSetAttrFloat:
        unsafe extern "C" fn(graph: *mut AoeGraph, node: AoeNodeId, name: *const c_char, value: f64) -> AoeStatus,
    pub GraphSetAttrBool:
        unsafe extern "C" fn(graph: *mut AoeGraph, node: AoeNodeId, name: *const c_char, value: i32) -> AoeStatus,
    pub GraphSetAttrString: unsafe extern "C" fn(
        graph: *mut AoeGraph,
        node: AoeNodeId,
        name: *const c_char,
        value: *const c_char,
    ) -> AoeStatus,
    pub GraphSetAttrDataType: unsafe extern "C" fn(
        graph: *mut AoeGraph,
        node: AoeNodeId,
        name: *const c_char,
        value: AoeDataType,
    ) -> AoeStatus,
    pub GraphSetAttrInts: unsafe extern "C" fn(
        graph: *mut AoeGraph,
        node: AoeNodeId,
        name: *const c_char,
        values: *const i64,
        value_count: usize,
    ) -> AoeStatus,
    pub GraphSetAttrFloats: unsafe extern "C" fn(
        graph: *mut AoeGraph,
        node: AoeNodeId,
        name: *const c_char,
        values: *const f64,
        value_count: usize,
    ) -> AoeStatus,
    pub GraphGetNodeCount: unsafe extern "C" fn(graph: *const AoeGraph, node_count: *mut usize) -> AoeStatus,
    pub GraphFindNode:
        unsafe extern "C" fn(graph: *const AoeGraph, name: *const c_char, node: *mut AoeNodeId) -> AoeStatus,
    pub GraphDestroy: unsafe extern "C" fn(graph: *mut AoeGraph),
    pub CreateSession: unsafe extern "C" fn(session: *mut AoeSessionId) -> AoeStatus,
    pub DestroySession: unsafe extern "C" fn(session: AoeSessionId) -> AoeStatus,
    pub SetGeSession: unsafe extern "C" fn(session: AoeSessionId, ge_session: *mut c_void) -> AoeStatus,
    pub SetDependGraphs:
        unsafe extern "C" fn(session: AoeSessionId, graphs: *const *const AoeGraph, graph_count: usize) -> AoeStatus,
    pub SetDependGraphsInputs: unsafe extern "C" fn(
        session: AoeSessionId,
        inputs: *const *const AoeTensor,
        input_counts: *const usize,
        graph_count: usize,
    ) -> AoeStatus,
    pub SetTuningGraph: unsafe extern "C" fn(session: AoeSessionId, graph: *const AoeGraph) -> AoeStatus,
    pub SetTuningGraphInput:
        unsafe extern "C" fn(session: AoeSessionId, inputs: *const AoeTensor, input_count: usize) -> AoeStatus,
    pub TuningGraph:
        unsafe extern "C" fn(session: AoeSessionId, options: *const AoeOption, option_count: usize) -> AoeStatus,
    pub Cancel: unsafe extern "C" fn(session: AoeSessionId) -> AoeStatus,
    pub GetReport: unsafe extern "C" fn(session: AoeSessionId, buffer: *mut c_char, size: *mut usize) -> AoeStatus,
    pub GetTunedGraph: unsafe extern "C" fn(session: AoeSessionId, graph: *mut *mut AoeGraph) -> AoeStatus,
    pub GetSessionError:
        unsafe extern "C" fn(session: AoeSessionId, buffer: *mut c_char, size: *mut usize) -> AoeStatus,
    pub SetProgressCallback:
        unsafe extern "C" fn(session: AoeSessionId, callback: AoeProgressCallback, payload: *mut c_void) -> AoeStatus,
    pub SetLogCallback: unsafe extern "C" fn(callback: AoeLogCallback, payload: *mut c_void) -> AoeStatus,
    pub GraphGetNodeAttrString: unsafe extern "C" fn(
        graph: *const AoeGraph,
        node_name: *const c_char,
        attr_name: *const c_char,
        buffer: *mut c_char,
        size: *mut usize,
    ) -> AoeStatus,
    pub Simulate: unsafe extern "C" fn(
        case_json: *const c_char,
        options: *const AoeOption,
        option_count: usize,
        buffer: *mut c_char,
        size: *mut usize,
    ) -> AoeStatus,
    pub SearchCreate: unsafe extern "C" fn(
        space_json: *const c_char,
        options: *const AoeOption,
        option_count: usize,
        search: *mut *mut AoeSearch,
    ) -> AoeStatus,
    pub SearchAsk: unsafe extern "C" fn(
        search: *mut AoeSearch,
        value_indices: *mut u32,
        parameter_count: usize,
        trial: *mut u64,
    ) -> AoeStatus,
    pub SearchTell: unsafe extern "C" fn(search: *mut AoeSearch, trial: u64, outcome: i32, cost: f64) -> AoeStatus,
    pub SearchBest: unsafe extern "C" fn(
        search: *const AoeSearch,
        value_indices: *mut u32,
        parameter_count: usize,
        cost: *mut f64,
    ) -> AoeStatus,
    pub SearchGetReport:
        unsafe extern "C" fn(search: *const AoeSearch, buffer: *mut c_char, size: *mut usize) -> AoeStatus,
    pub SearchDestroy: unsafe extern "C" fn(search: *mut AoeSearch),
    pub BankOpen: unsafe extern "C" fn(
        paths: *const *const c_char,
        path_count: usize,
        options: *const AoeOption,
        option_count: usize,
        bank: *mut *mut AoeBank,
    ) -> AoeStatus,
    pub BankQuery: unsafe extern "C" fn(
        bank: *const AoeBank,
        op_type: *const c_char,
        kind: i32,
        key: *const c_void,
        key_size: usize,
        buffer: *mut c_char,
        size: *mut usize,
    ) -> AoeStatus,
    pub BankMerge: unsafe extern "C" fn(
        sources: *const *const c_char,
        source_count: usize,
        into: *const c_char,
        built_in: *const *const c_char,
        built_in_count: usize,
        merged: *mut AoeBankMerged,
    ) -> AoeStatus,
    pub BankClose: unsafe extern "C" fn(bank: *mut AoeBank),
    pub RegisterBackend: unsafe extern "C" fn(backend: *const AoeBackend) -> AoeStatus,
    pub CheckOption: unsafe extern "C" fn(key: *const c_char, value: *const c_char) -> AoeStatus,
    pub Tiling: unsafe extern "C" fn(
        case_json: *const c_char,
        options: *const AoeOption,
        option_count: usize,
        buffer: *mut c_char,
        size: *mut usize,
    ) -> AoeStatus,
    /// `AoeCandidates`.
    pub Candidates: unsafe extern "C" fn(
        question_json: *const c_char,
        options: *const AoeOption,
        option_count: usize,
        buffer: *mut c_char,
        size: *mut usize,
    ) -> AoeStatus,
}

static API: AoeApi = AoeApi {
    struct_size: size_of::<AoeApi>(),
    GetVersion: AoeGetVersion,
    GetLastError: AoeGetLastError,
    GetStatusName: AoeGetStatusName,
    Initialize: AoeInitialize,
    Finalize: AoeFinalize,
    GraphCreate: AoeGraphCreate,
    GraphLoadFile: AoeGraphLoadFile,
    GraphLoadMemory: AoeGraphLoadMemory,
    GraphSaveFile: AoeGraphSaveFile,
    GraphAddInput: AoeGraphAddInput,
    GraphAddConst: AoeGraphAddConst,
    GraphAddNode: AoeGraphAddNode,
    GraphAddEdge: AoeGraphAddEdge,
    GraphAddOutput: AoeGraphAddOutput,
    GraphSetOutputDesc: AoeGraphSetOutputDesc,
    GraphSetAttrInt: AoeGraphSetAttrInt,
    GraphSetAttrFloat: AoeGraphSetAttrFloat,
    GraphSetAttrBool: AoeGraphSetAttrBool,
    GraphSetAttrString: AoeGraphSetAttrString,
    GraphSetAttrDataType: AoeGraphSetAttrDataType,
    GraphSetAttrInts: AoeGraphSetAttrInts,
    GraphSetAttrFloats: AoeGraphSetAttrFloats,
    GraphGetNodeCount: AoeGraphGetNodeCount,
    GraphFindNode: AoeGraphFindNode,
    GraphDestroy: AoeGraphDestroy,
    CreateSession: AoeCreateSession,
    DestroySession: AoeDestroySession,
    SetGeSession: AoeSetGeSession,
    SetDependGraphs: AoeSetDependGraphs,
    SetDependGraphsInputs: AoeSetDependGraphsInputs,
    SetTuningGraph: AoeSetTuningGraph,
    SetTuningGraphInput: AoeSetTuningGraphInput,
    TuningGraph: AoeTuningGraph,
    Cancel: AoeCancel,
    GetReport: AoeGetReport,
    GetTunedGraph: AoeGetTunedGraph,
    GetSessionError: AoeGetSessionError,
    SetProgressCallback: AoeSetProgressCallback,
    SetLogCallback: AoeSetLogCallback,
    GraphGetNodeAttrString: AoeGraphGetNodeAttrString,
    Simulate: AoeSimulate,
    SearchCreate: AoeSearchCreate,
    SearchAsk: AoeSearchAsk,
    SearchTell: AoeSearchTell,
    SearchBest: AoeSearchBest,
    SearchGetReport: AoeSearchGetReport,
    SearchDestroy: AoeSearchDestroy,
    BankOpen: AoeBankOpen,
    BankQuery: AoeBankQuery,
    BankMerge: AoeBankMerge,
    BankClose: AoeBankClose,
    RegisterBackend: AoeRegisterBackend,
    CheckOption: AoeCheckOption,
    Tiling: AoeTiling,
    Candidates: AoeCandidates,
};

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub extern "C" fn AoeGetApi(version: u32) -> *const AoeApi {
    if version == AOE_API_VERSION { &raw const API } else { std::ptr::null() }
}
