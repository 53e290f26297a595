//! The library's life and its sessions: CANN's ten functions, and ours for results.

use super::convert::{TextOut, array, options, out, reference, tensors};
use super::error::AoeStatus;
use super::graph::{AoeGraph, hand_out};
use super::guard::{guard, guard_session};
use super::option::{AoeOption, pairs};
use super::session_id::AoeSessionId;
use super::tensor::AoeTensor;
use crate::frontend;
use crate::graph::Graph;
use crate::session;
use crate::status::{Error, Result};
use std::ffi::{c_char, c_void};

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeInitialize(options: *const AoeOption, option_count: usize) -> AoeStatus {
    guard("AoeInitialize", || {
        // SAFETY: the header's contract.
        let options = unsafe { self::options(options, option_count) }?;
        session::initialize(pairs(&options))
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub extern "C" fn AoeFinalize() -> AoeStatus {
    guard("AoeFinalize", session::finalize)
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeCreateSession(session: *mut AoeSessionId) -> AoeStatus {
    guard("AoeCreateSession", || {
        // SAFETY: the header's contract.
        let session = unsafe { out(session, "session") }?;
        session.write(session::create()?);
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub extern "C" fn AoeDestroySession(session: AoeSessionId) -> AoeStatus {
    guard_session("AoeDestroySession", session, || session::destroy(session))
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub extern "C" fn AoeSetGeSession(session: AoeSessionId, ge_session: *mut c_void) -> AoeStatus {
    guard_session("AoeSetGeSession", session, || {
        if ge_session.is_null() {
            return Err(Error::param("ge_session", "is NULL"));
        }
        session::session(session)?.set_ge_session()
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeSetDependGraphs(
    session: AoeSessionId,
    graphs: *const *const AoeGraph,
    graph_count: usize,
) -> AoeStatus {
    guard_session("AoeSetDependGraphs", session, || {
        // SAFETY: the header's contract.
        let graphs = unsafe { array(graphs, graph_count, "graphs") }?;
        // SAFETY: the header's contract, for each of them.
        let graphs = graphs.iter().map(|&graph| Ok(unsafe { reference(graph, "graphs") }?.0.clone()));
        let graphs = graphs.collect::<Result<Vec<_>>>()?;
        graphs.iter().try_for_each(Graph::validate)?;
        session::session(session)?.set_depend_graphs(graphs)
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeSetDependGraphsInputs(
    session: AoeSessionId,
    inputs: *const *const AoeTensor,
    input_counts: *const usize,
    graph_count: usize,
) -> AoeStatus {
    guard_session("AoeSetDependGraphsInputs", session, || {
        // SAFETY: the header's contract.
        let (inputs, counts) =
            unsafe { (array(inputs, graph_count, "inputs")?, array(input_counts, graph_count, "input_counts")?) };
        let lists = inputs.iter().zip(counts);
        // SAFETY: the header's contract, for each of them.
        let lists = lists.map(|(&inputs, &count)| unsafe { tensors(inputs, count, "inputs") });
        let lists = lists.collect::<Result<Vec<_>>>()?;
        session::session(session)?.set_depend_inputs(lists)
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeSetTuningGraph(session: AoeSessionId, graph: *const AoeGraph) -> AoeStatus {
    guard_session("AoeSetTuningGraph", session, || {
        // SAFETY: the header's contract.
        let graph = unsafe { reference(graph, "graph") }?;
        graph.0.validate()?;
        let mut graph = graph.0.clone();
        frontend::note_ends(&mut graph)?;
        session::session(session)?.set_graph(Some(graph))
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeSetTuningGraphInput(
    session: AoeSessionId,
    inputs: *const AoeTensor,
    input_count: usize,
) -> AoeStatus {
    guard_session("AoeSetTuningGraphInput", session, || {
        // SAFETY: the header's contract.
        let inputs = unsafe { tensors(inputs, input_count, "inputs") }?;
        session::session(session)?.set_graph_inputs(inputs)
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeTuningGraph(
    session: AoeSessionId,
    options: *const AoeOption,
    option_count: usize,
) -> AoeStatus {
    guard_session("AoeTuningGraph", session, || {
        // SAFETY: the header's contract.
        let options = unsafe { self::options(options, option_count) }?;
        session::session(session)?.tune(pairs(&options))
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub extern "C" fn AoeCancel(session: AoeSessionId) -> AoeStatus {
    guard_session("AoeCancel", session, || {
        session::session(session)?.cancel();
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGetReport(session: AoeSessionId, buffer: *mut c_char, size: *mut usize) -> AoeStatus {
    guard_session("AoeGetReport", session, || {
        // SAFETY: the header's contract.
        let text = unsafe { TextOut::new(buffer, size) }?;
        text.write(&session::session(session)?.report()?)
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGetTunedGraph(session: AoeSessionId, graph: *mut *mut AoeGraph) -> AoeStatus {
    guard_session("AoeGetTunedGraph", session, || {
        // SAFETY: the header's contract.
        let graph = unsafe { out(graph, "graph") }?;
        hand_out(graph, session::session(session)?.tuned_graph()?);
        Ok(())
    })
}

/// See `include/aoe.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn AoeGetSessionError(session: AoeSessionId, buffer: *mut c_char, size: *mut usize) -> AoeStatus {
    // Not noted at the session: the text asked for would be lost when the buffer is too small for it.
    guard("AoeGetSessionError", || {
        // SAFETY: the header's contract.
        let text = unsafe { TextOut::new(buffer, size) }?;
        text.write(&session::session(session)?.last_error())
    })
}
