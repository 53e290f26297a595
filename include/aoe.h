/*
 * aoe.h - the C interface of libaoe.
 *
 * libaoe tunes neural-network graphs for Ascend NPUs as CANN's AOE does, on a device or on its
 * built-in simulator, and keeps what it finds in a knowledge bank that CANN reads.
 *
 *     AoeOption options[] = {{"job_type", "2"}, {"soc_version", "Ascend910B2"}};
 *     AoeGraph *graph = NULL;
 *     AoeSessionId session = 0;
 *     AoeInitialize(options, 2);
 *     AoeGraphLoadFile("resnet50.onnx", NULL, 0, &graph);
 *     AoeCreateSession(&session);
 *     AoeSetTuningGraph(session, graph);
 *     AoeTuningGraph(session, NULL, 0);      // 0: tuned; 8: nothing in it to tune
 *     AoeDestroySession(session);
 *     AoeGraphDestroy(graph);
 *     AoeFinalize();
 *
 * PROMISES
 *   - No call aborts, exits, prints, throws or unwinds, and none changes what belongs to the whole
 *     process (signal handlers, locale, working directory, standard streams). Two exceptions: a bug
 *     in libaoe itself, where Rust's run time writes a line to stderr before the fault is stopped at
 *     this border and returned as AOE_ERROR_INTERNAL; and memory that runs out in the middle of a
 *     small allocation, which Rust's run time answers by aborting the process.
 *   - A NULL where none is allowed, a session id that is stale, foreign or zero, a number that is not
 *     of its enumeration, a string that is not UTF-8: each gives an error code.
 *   - A tuning record for which a call returned success survives kill -9 and power loss.
 *   - A damaged knowledge bank is detected, set aside and named; it is never silently used.
 *   - AoeCancel takes effect within one candidate's measurement.
 *   - Every result names the backend that measured it; the simulator never poses as a device.
 *   - dlclose is safe at any time and does not unload the code: the library stays in the process.
 *
 * STATUS     Every call that can fail returns an AoeStatus. On failure, out-parameters are left as
 *            they were (except *size, see BUFFERS) and AoeGetLastError tells the culprit.
 * ORDER      A call checks, in this order: forked child, arguments and what they point to, initialised,
 *            session, busy; last, what only the session can judge: AoeTuningGraph's options, and whether
 *            AoeSetDependGraphsInputs got as many lists as there are graphs.
 * NULL       No pointer may be NULL unless its description says so. An array may be NULL when its
 *            count is 0. Every Destroy function accepts NULL or has a status for it.
 * STRINGS    are NUL-terminated UTF-8 and are copied: the caller may free them when the call returns.
 * ARRAYS     are read during the call only and copied likewise.
 * BUFFERS    `char *buffer, size_t *size`: *size is the capacity in bytes on entry, and the bytes
 *            needed, terminating NUL included, on return. buffer NULL asks for the size alone and
 *            succeeds. A buffer too small is AOE_ERROR_BUFFER_TOO_SMALL and stays untouched.
 * MEMORY     What an Aoe function creates, only an Aoe function destroys; never free() it. Using a
 *            destroyed AoeGraph or closed AoeBank is undefined, as with free(); using a destroyed session or search is an
 *            error.
 * THREADS    Any thread may call any function. Different sessions are independent. A session that is
 *            in one call answers AOE_ERROR_BUSY to others, except AoeCancel, AoeGetReport,
 *            AoeGetTunedGraph and AoeGetSessionError. An object passed as `const T *` may be used by
 *            several threads at once; passed as `T *`, by one (an AoeSearch: by any).
 * CALLBACKS  run on a thread inside libaoe, without any of its locks held. They may call every Aoe
 *            function, must return normally, and must neither throw nor longjmp.
 * FORK       A child that was forked between AoeInitialize and AoeFinalize, or during a call of any
 *            thread, gets AOE_ERROR_FORKED until it execs. Initialise after forking instead.
 *            AoeBankQuery alone works there.
 * VERSIONS   Numbers and structures only ever grow at their end within one major version, which is
 *            also the number in the library's SONAME.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef AOE_H
#define AOE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Version ------------------------------------------------------------------------------- */

#define AOE_VERSION_MAJOR 0
#define AOE_VERSION_MINOR 1
#define AOE_VERSION_PATCH 0
/* Version of this header in the form that AoeGetVersion answers. */
#define AOE_VERSION ((AOE_VERSION_MAJOR << 16) | (AOE_VERSION_MINOR << 8) | AOE_VERSION_PATCH)

/*
 * The version of the library that is loaded, which may differ from AOE_VERSION.
 *
 * Returns: major << 16 | minor << 8 | patch.
 * Threads: any.
 */
uint32_t AoeGetVersion(void);

/* ---- Status -------------------------------------------------------------------------------- */

/* Result of a call. -1 to 100 are CANN's numbers, those from 1000 are libaoe's; none is ever reused. */
typedef int32_t AoeStatus;

enum {
    AOE_FAILURE = -1,                        /* generic failure */
    AOE_SUCCESS = 0,                         /* the call did what it says */
    AOE_ERROR_MEMORY_ALLOC = 1,              /* an allocation failed */
    AOE_ERROR_INVALID_PARAM = 2,             /* an argument is invalid */
    AOE_ERROR_UNINITIALIZED = 3,             /* AoeInitialize has not been called */
    AOE_ERROR_REPEAT_INITIALIZE = 4,         /* AoeInitialize was called a second time */
    AOE_ERROR_INVALID_SESSION = 5,           /* the session or search is unknown, stale or foreign */
    AOE_ERROR_BUSY = 6,                      /* another call is using the same object */
    AOE_ERROR_INVALID_GRAPH = 7,             /* the graph is malformed */
    AOE_ERROR_NON_OPTIMIZE_GRAPH = 8,        /* nothing in the graph to tune; clients accept it like success */
    AOE_ERROR_DYNAMIC_GRAPH = 9,             /* a shape in the graph is not known */
    AOE_ERROR_DYNAMIC_SHAPE_RANGE = 10,      /* a dynamic shape range cannot be tuned */
    AOE_ERROR_INVALID_OPTION_ATTR = 11,      /* an option is unknown or its value malformed */
    AOE_ERROR_NON_OPTIMIZABLE_OBJECT = 12,   /* older CANN generation's 8; never returned here */
    AOE_ERROR_TUNING_ERROR = 100,            /* any other error while tuning */
    AOE_ERROR_INTERNAL = 1000,               /* a bug in libaoe, stopped at this border */
    AOE_ERROR_FORKED = 1001,                 /* the parent of this process used the library when it forked */
    AOE_ERROR_CANCELLED = 1002,              /* cancelled; what was found so far is saved */
    AOE_ERROR_BUFFER_TOO_SMALL = 1003,       /* the size needed was written to *size */
    AOE_ERROR_IO = 1004,                     /* a file or directory could not be read or written */
    AOE_ERROR_UNSUPPORTED = 1005,            /* not built in this version */
    AOE_ERROR_BACKEND = 1006,                /* the requested backend cannot be used */
    AOE_ERROR_EXHAUSTED = 1007,              /* the search has no further configuration to measure */
    AOE_ERROR_ILLEGAL_SCHEDULE = 1008,       /* the schedule is illegal for the workload on this SoC */
    AOE_ERROR_BANK = 1009,                   /* a knowledge bank is damaged or locked */
    AOE_ERROR_NOT_FOUND = 1010,              /* what was asked for by name does not exist */
    AOE_ERROR_BACKEND_LOST = 1011,           /* the backend can measure no more; what was found so far is saved */
    AOE_ERROR_NO_GRAPH = 1012                /* no graph was set to be tuned */
};

/*
 * Why the calling thread's last call failed: a sentence that names the file, node, tensor, argument or
 * option at fault.
 *
 * Returns: the text, or "" when that call succeeded, as a Destroy function without a status does; never
 *   NULL. This function, AoeGetStatusName, AoeGetVersion and AoeGetApi cannot fail and do not count as
 *   calls here.
 * Ownership: the library's; valid until this thread's next Aoe call other than those four.
 * Threads: each thread has its own text.
 */
const char *AoeGetLastError(void);

/*
 * The name of a status, for example "AOE_ERROR_BUSY".
 *
 * status: a number.
 * Returns: its name, or "AOE_STATUS_UNKNOWN" when no status has this number; never NULL.
 * Ownership: a constant; never freed.
 * Threads: any.
 */
const char *AoeGetStatusName(AoeStatus status);

/* ---- Options ------------------------------------------------------------------------------- */

/*
 * One option. Every long option of the `aoe` command has the same key here, without dashes. An empty
 * value means "not set". Of a key given twice, the later counts. Keys beginning with "ge." that are
 * not known are accepted without effect; any other unknown key is AOE_ERROR_INVALID_OPTION_ATTR.
 *
 * An array holds at most AOE_MAX_OPTIONS entries.
 */
typedef struct AoeOption {
    const char *key;
    const char *value;
} AoeOption;

#define AOE_MAX_OPTIONS 4096

/*
 * Whether an option means something, for callers that pass on options of others, not all of which are for libaoe.
 *
 * key: the option.
 * value: its value; NULL leaves it out.
 * Returns: AOE_SUCCESS, also for any key that begins with "ge."; AOE_ERROR_NOT_FOUND when there is no such option,
 *   or only on the command line; AOE_ERROR_INVALID_OPTION_ATTR when the value is malformed;
 *   AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Threads: any; needs no AoeInitialize.
 */
AoeStatus AoeCheckOption(const char *key, const char *value);

/* ---- Life of the library ------------------------------------------------------------------- */

/*
 * Initialises the library. Must come before any session is created; graphs need no initialisation.
 *
 * options: options for all sessions, at least none; those of AoeTuningGraph win over them.
 * option_count: entries in options.
 * Returns: AOE_SUCCESS; AOE_ERROR_REPEAT_INITIALIZE when it is initialised (nothing changes);
 *   AOE_ERROR_INVALID_OPTION_ATTR; AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Threads: any; of several at once, one succeeds.
 */
AoeStatus AoeInitialize(const AoeOption *options, size_t option_count);

/*
 * Ends what AoeInitialize began: destroys the sessions that are left; their ids become invalid. Graphs
 * live on. AoeInitialize may follow.
 *
 * Returns: AOE_SUCCESS; AOE_ERROR_UNINITIALIZED; AOE_ERROR_BUSY while a session is tuning, and then
 *   nothing changes; AOE_ERROR_FORKED.
 * Threads: any.
 */
AoeStatus AoeFinalize(void);

/* ---- Graphs -------------------------------------------------------------------------------- */

/*
 * A network: nodes, edges between their outputs and inputs, and the outputs of the whole. It is built
 * call by call or read from a model file, and may be incomplete while it is built.
 */
typedef struct AoeGraph AoeGraph;

/* Identifies a node within its graph. Ids count from 0 in the order in which nodes are added. */
typedef uint32_t AoeNodeId;

/* Inputs, and outputs, that one node can have. */
#define AOE_MAX_NODE_PORTS 65536
/* Dimensions that a tensor can have. */
#define AOE_MAX_RANK 64
/* Size of a dimension that is not known. */
#define AOE_DIM_UNKNOWN (-1)
/* As the only dimension: not even the number of dimensions is known. */
#define AOE_RANK_UNKNOWN (-2)

/* Element type of a tensor; numbers and names are those of ge::DataType. */
typedef int32_t AoeDataType;

enum {
    AOE_DT_FLOAT = 0,
    AOE_DT_FLOAT16 = 1,
    AOE_DT_INT8 = 2,
    AOE_DT_INT32 = 3,
    AOE_DT_UINT8 = 4,
    AOE_DT_INT16 = 6,
    AOE_DT_UINT16 = 7,
    AOE_DT_UINT32 = 8,
    AOE_DT_INT64 = 9,
    AOE_DT_UINT64 = 10,
    AOE_DT_DOUBLE = 11,
    AOE_DT_BOOL = 12,
    AOE_DT_STRING = 13,
    AOE_DT_DUAL_SUB_INT8 = 14,
    AOE_DT_DUAL_SUB_UINT8 = 15,
    AOE_DT_COMPLEX64 = 16,
    AOE_DT_COMPLEX128 = 17,
    AOE_DT_QINT8 = 18,
    AOE_DT_QINT16 = 19,
    AOE_DT_QINT32 = 20,
    AOE_DT_QUINT8 = 21,
    AOE_DT_QUINT16 = 22,
    AOE_DT_RESOURCE = 23,
    AOE_DT_STRING_REF = 24,
    AOE_DT_DUAL = 25,
    AOE_DT_VARIANT = 26,
    AOE_DT_BF16 = 27,
    AOE_DT_UNDEFINED = 28,
    AOE_DT_INT4 = 29,
    AOE_DT_UINT1 = 30,
    AOE_DT_INT2 = 31,
    AOE_DT_UINT2 = 32,
    AOE_DT_COMPLEX32 = 33,
    AOE_DT_HIFLOAT8 = 34,
    AOE_DT_FLOAT8_E5M2 = 35,
    AOE_DT_FLOAT8_E4M3FN = 36,
    AOE_DT_FLOAT8_E8M0 = 37,
    AOE_DT_FLOAT6_E3M2 = 38,
    AOE_DT_FLOAT6_E2M3 = 39,
    AOE_DT_FLOAT4_E2M1 = 40,
    AOE_DT_FLOAT4_E1M2 = 41,
    AOE_DT_HIFLOAT4 = 42
};

/* Memory layout of a tensor; numbers and names are those of ge::Format. */
typedef int32_t AoeFormat;

enum {
    AOE_FORMAT_NCHW = 0,
    AOE_FORMAT_NHWC = 1,
    AOE_FORMAT_ND = 2,
    AOE_FORMAT_NC1HWC0 = 3,
    AOE_FORMAT_FRACTAL_Z = 4,
    AOE_FORMAT_NC1C0HWPAD = 5,
    AOE_FORMAT_NHWC1C0 = 6,
    AOE_FORMAT_FSR_NCHW = 7,
    AOE_FORMAT_FRACTAL_DECONV = 8,
    AOE_FORMAT_C1HWNC0 = 9,
    AOE_FORMAT_FRACTAL_DECONV_TRANSPOSE = 10,
    AOE_FORMAT_FRACTAL_DECONV_SP_STRIDE_TRANS = 11,
    AOE_FORMAT_NC1HWC0_C04 = 12,
    AOE_FORMAT_FRACTAL_Z_C04 = 13,
    AOE_FORMAT_CHWN = 14,
    AOE_FORMAT_FRACTAL_DECONV_SP_STRIDE8_TRANS = 15,
    AOE_FORMAT_HWCN = 16,
    AOE_FORMAT_NC1KHKWHWC0 = 17,
    AOE_FORMAT_BN_WEIGHT = 18,
    AOE_FORMAT_FILTER_HWCK = 19,
    AOE_FORMAT_HASHTABLE_LOOKUP_LOOKUPS = 20,
    AOE_FORMAT_HASHTABLE_LOOKUP_KEYS = 21,
    AOE_FORMAT_HASHTABLE_LOOKUP_VALUE = 22,
    AOE_FORMAT_HASHTABLE_LOOKUP_OUTPUT = 23,
    AOE_FORMAT_HASHTABLE_LOOKUP_HITS = 24,
    AOE_FORMAT_C1HWNCoC0 = 25,
    AOE_FORMAT_MD = 26,
    AOE_FORMAT_NDHWC = 27,
    AOE_FORMAT_FRACTAL_ZZ = 28,
    AOE_FORMAT_FRACTAL_NZ = 29,
    AOE_FORMAT_NCDHW = 30,
    AOE_FORMAT_DHWCN = 31,
    AOE_FORMAT_NDC1HWC0 = 32,
    AOE_FORMAT_FRACTAL_Z_3D = 33,
    AOE_FORMAT_CN = 34,
    AOE_FORMAT_NC = 35,
    AOE_FORMAT_DHWNC = 36,
    AOE_FORMAT_FRACTAL_Z_3D_TRANSPOSE = 37,
    AOE_FORMAT_FRACTAL_ZN_LSTM = 38,
    AOE_FORMAT_FRACTAL_Z_G = 39,
    AOE_FORMAT_RESERVED = 40,
    AOE_FORMAT_ALL = 41,
    AOE_FORMAT_NULL = 42,
    AOE_FORMAT_ND_RNN_BIAS = 43,
    AOE_FORMAT_FRACTAL_ZN_RNN = 44,
    AOE_FORMAT_NYUV = 45,
    AOE_FORMAT_NYUV_A = 46,
    AOE_FORMAT_NCL = 47,
    AOE_FORMAT_FRACTAL_Z_WINO = 48,
    AOE_FORMAT_C1HWC0 = 49,
    AOE_FORMAT_FRACTAL_NZ_C0_16 = 50,
    AOE_FORMAT_FRACTAL_NZ_C0_32 = 51,
    AOE_FORMAT_FRACTAL_NZ_C0_2 = 52,
    AOE_FORMAT_FRACTAL_NZ_C0_4 = 53,
    AOE_FORMAT_FRACTAL_NZ_C0_8 = 54
};

/*
 * A tensor: its description and, where it is at hand, its value. Set all fields; zero is a good value
 * for those that do not apply.
 *
 *   dims       dim_count dimensions, each 0 to 2^31 - 1, or AOE_DIM_UNKNOWN; or the one dimension
 *              AOE_RANK_UNKNOWN. NULL with dim_count 0 is a scalar.
 *   format     the order of the axes: image operators go by it (AOE_FORMAT_NCHW, ..; filters also by
 *              AOE_FORMAT_HWCN). Attribute "data_format" counts beside AOE_FORMAT_ND only.
 *   data       the elements in row-major order, little-endian, or NULL. A tuner needs values only
 *              where they decide shapes (the target of a Reshape, the axes of a reduction), and keeps
 *              no others.
 *   data_size  bytes at data: exactly the elements' size, or 0 when data is NULL.
 *   reserved   NULL.
 */
typedef struct AoeTensor {
    const int64_t *dims;
    size_t dim_count;
    AoeDataType data_type;
    AoeFormat format;
    const void *data;
    size_t data_size;
    const void *reserved;
} AoeTensor;

/*
 * Creates an empty graph.
 *
 * name: the network's name; result files bear it.
 * graph: receives the graph.
 * Returns: AOE_SUCCESS; AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Ownership: the caller's, until AoeGraphDestroy.
 * Threads: any.
 */
AoeStatus AoeGraphCreate(const char *name, AoeGraph **graph);

/*
 * Reads a graph from a model file: ONNX; GE's IR (.air), and what CANN and torchair dump of it as text
 * (ge_proto_*.txt, ge_onnx_*.pbtxt); a frozen TensorFlow graph, binary (.pb) or text
 * (.pbtxt); a Caffe net (.prototxt); an om file that AoeGraphSaveFile or a tuning wrote; ATC's
 * description of single operators in JSON. Weights kept in separate files need not be there.
 *
 * path: the file.
 * options: `framework` ("0" Caffe, "1" AIR, "3" TensorFlow, "5" ONNX; else told by suffix and
 *   content), `weight` (a Caffe net's .caffemodel), `out_nodes` ("node:0;node2:1"), `input_shape`,
 *   `input_format`, and one of `dynamic_batch_size`, `dynamic_image_size`, `dynamic_dims` where it has
 *   one set of values; several sets and other options are checked, then left for AoeTuningGraph.
 * option_count: entries in options.
 * graph: receives the graph.
 * Returns: AOE_SUCCESS; AOE_ERROR_IO when the file cannot be read; AOE_ERROR_INVALID_GRAPH when it is
 *   no model; AOE_ERROR_UNSUPPORTED for a framework that is not built; AOE_ERROR_INVALID_OPTION_ATTR;
 *   AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Ownership: the caller's, until AoeGraphDestroy.
 * Threads: any.
 */
AoeStatus AoeGraphLoadFile(const char *path, const AoeOption *options, size_t option_count, AoeGraph **graph);

/*
 * Reads a graph from a model file's bytes.
 *
 * data, size: the bytes.
 * options, option_count, graph: as for AoeGraphLoadFile.
 * Returns, Ownership, Threads: as for AoeGraphLoadFile, without AOE_ERROR_IO.
 */
AoeStatus AoeGraphLoadMemory(const void *data, size_t size, const AoeOption *options, size_t option_count,
                             AoeGraph **graph);

/*
 * Writes a graph to a file: a name that ends in .air gets GE's IR (ge.proto.ModelDef), one that ends in
 * .om the same in an om container. Neither holds compiled kernels. Values of constants that the graph
 * does not keep (weights, where they were not read from AIR) are not in the file.
 *
 * graph: the graph.
 * path: the file, replaced whole when it exists.
 * Returns: AOE_SUCCESS; AOE_ERROR_IO when the file cannot be written or ends otherwise, and what was
 *   there before is untouched; AOE_ERROR_INVALID_GRAPH when the graph has a cycle or an edge to nowhere,
 *   or is larger than protobuf can be; AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Threads: several at once may use the same graph.
 */
AoeStatus AoeGraphSaveFile(const AoeGraph *graph, const char *path);

/*
 * Adds an input of the network (a `Data` node with one output).
 *
 * graph: the graph.
 * name: new within the graph, not empty.
 * desc: type, shape and format; no dimension may be 0; data is ignored. With AOE_RANK_UNKNOWN the shape is
 *   left to AoeSetTuningGraphInput, which then gives type and format, too, or to option input_shape.
 * node: receives the node's id.
 * Returns: AOE_SUCCESS; AOE_ERROR_INVALID_GRAPH when the name is taken or empty;
 *   AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Threads: one at a time for one graph.
 */
AoeStatus AoeGraphAddInput(AoeGraph *graph, const char *name, const AoeTensor *desc, AoeNodeId *node);

/*
 * Adds a constant (a `Const` node with one output), for example a weight.
 *
 * graph: the graph.
 * name: new within the graph, not empty.
 * value: type, shape and format, which must be known. data is copied, once for the graph and all copies of it, and
 *   written with the graph. It may be NULL where no shape depends on it: then the constant has no elements in a
 *   written file, which GE does not compile.
 * node: receives the node's id.
 * Returns, Threads: as for AoeGraphAddInput.
 */
AoeStatus AoeGraphAddConst(AoeGraph *graph, const char *name, const AoeTensor *value, AoeNodeId *node);

/*
 * Adds an operator.
 *
 * graph: the graph.
 * name: new within the graph, not empty.
 * op_type: Ascend operator type, for example "Conv2D", "MatMulV2", "Relu". Other types are allowed;
 *   they count no time and are named in the report.
 * output_count: outputs, at most AOE_MAX_NODE_PORTS; their descriptions are inferred, or set with
 *   AoeGraphSetOutputDesc.
 * node: receives the node's id.
 * Returns, Threads: as for AoeGraphAddInput.
 */
AoeStatus AoeGraphAddNode(AoeGraph *graph, const char *name, const char *op_type, size_t output_count,
                          AoeNodeId *node);

/*
 * Connects an output of one node to an input of another. Inputs left unconnected between connected
 * ones count as optional inputs left out. A cycle is reported by AoeSetTuningGraph.
 *
 * graph: the graph.
 * source, source_output: the producing node and the index of its output.
 * target, target_input: the consuming node and the index of its input, below AOE_MAX_NODE_PORTS.
 * Returns: AOE_SUCCESS; AOE_ERROR_INVALID_GRAPH when the input is connected already;
 *   AOE_ERROR_INVALID_PARAM when a node or output does not exist; AOE_ERROR_FORKED.
 * Threads: one at a time for one graph.
 */
AoeStatus AoeGraphAddEdge(AoeGraph *graph, AoeNodeId source, uint32_t source_output, AoeNodeId target,
                          uint32_t target_input);

/*
 * Marks an output of a node as an output of the network. What a node of type NetOutput reads is one, too. Without any, what
 * no node consumes counts.
 *
 * graph: the graph.
 * node, output: the node and the index of its output.
 * Returns: AOE_SUCCESS; AOE_ERROR_INVALID_PARAM when it does not exist; AOE_ERROR_FORKED.
 * Threads: one at a time for one graph.
 */
AoeStatus AoeGraphAddOutput(AoeGraph *graph, AoeNodeId node, uint32_t output);

/*
 * Describes an output of a node, for operators whose shapes cannot be inferred. Of one that libaoe does not
 * know it is believed, and inference goes on from it; elsewhere what is inferred counts more.
 *
 * graph: the graph.
 * node, output: the node and the index of its output.
 * desc: type, shape and format; data is ignored.
 * Returns: AOE_SUCCESS; AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Threads: one at a time for one graph.
 */
AoeStatus AoeGraphSetOutputDesc(AoeGraph *graph, AoeNodeId node, uint32_t output, const AoeTensor *desc);

/*
 * Set an attribute of a node, replacing what was there. Names are those of the Ascend operator, for
 * example "strides", "pads", "transpose_x1".
 *
 * graph, node: the node.
 * name: the attribute's name, not empty.
 * value: the value; for Bool 0 or 1.
 * values, value_count: the values of a list, which may be empty.
 * Returns: AOE_SUCCESS; AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Threads: one at a time for one graph.
 */
AoeStatus AoeGraphSetAttrInt(AoeGraph *graph, AoeNodeId node, const char *name, int64_t value);
AoeStatus AoeGraphSetAttrFloat(AoeGraph *graph, AoeNodeId node, const char *name, double value);
AoeStatus AoeGraphSetAttrBool(AoeGraph *graph, AoeNodeId node, const char *name, int32_t value);
AoeStatus AoeGraphSetAttrString(AoeGraph *graph, AoeNodeId node, const char *name, const char *value);
AoeStatus AoeGraphSetAttrDataType(AoeGraph *graph, AoeNodeId node, const char *name, AoeDataType value);
AoeStatus AoeGraphSetAttrInts(AoeGraph *graph, AoeNodeId node, const char *name, const int64_t *values,
                              size_t value_count);
AoeStatus AoeGraphSetAttrFloats(AoeGraph *graph, AoeNodeId node, const char *name, const double *values,
                                size_t value_count);

/*
 * The number of nodes, inputs and constants included.
 *
 * graph: the graph.
 * node_count: receives the number.
 * Returns: AOE_SUCCESS; AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Threads: several at once may use the same graph.
 */
AoeStatus AoeGraphGetNodeCount(const AoeGraph *graph, size_t *node_count);

/*
 * Finds a node by its name.
 *
 * graph: the graph.
 * name: the node's name.
 * node: receives its id.
 * Returns: AOE_SUCCESS; AOE_ERROR_NOT_FOUND; AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Threads: several at once may use the same graph.
 */
AoeStatus AoeGraphFindNode(const AoeGraph *graph, const char *name, AoeNodeId *node);

/*
 * Reads a string attribute of a node, for example the tiling in a tuned graph (AoeGetTunedGraph).
 *
 * graph: the graph.
 * node_name: the node's name.
 * attr_name: the attribute's name.
 * buffer, size: see BUFFERS.
 * Returns: AOE_SUCCESS; AOE_ERROR_NOT_FOUND when the graph has no such node, or the node no such
 *   attribute; AOE_ERROR_BUFFER_TOO_SMALL; AOE_ERROR_INVALID_PARAM, also when the attribute is no string;
 *   AOE_ERROR_FORKED.
 * Threads: several at once may use the same graph.
 */
AoeStatus AoeGraphGetNodeAttrString(const AoeGraph *graph, const char *node_name, const char *attr_name, char *buffer,
                                    size_t *size);

/*
 * Destroys a graph. Sessions that were given it have their own copy.
 *
 * graph: the graph; NULL is allowed and does nothing.
 * Threads: the last use of the graph; allowed in a forked child too.
 */
void AoeGraphDestroy(AoeGraph *graph);

/* ---- Sessions ------------------------------------------------------------------------------ */

/* Identifies a session. 0 never does, and no id is given out again before two billion others. */
typedef uint64_t AoeSessionId;

/*
 * Creates a session: one graph's tuning and its result.
 *
 * session: receives the id.
 * Returns: AOE_SUCCESS; AOE_ERROR_UNINITIALIZED; AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Ownership: the caller's, until AoeDestroySession or AoeFinalize.
 * Threads: any.
 */
AoeStatus AoeCreateSession(AoeSessionId *session);

/*
 * Destroys a session. Files that it wrote stay.
 *
 * session: the session.
 * Returns: AOE_SUCCESS; AOE_ERROR_INVALID_SESSION, also the second time; AOE_ERROR_BUSY while it is
 *   tuning; AOE_ERROR_UNINITIALIZED; AOE_ERROR_FORKED.
 * Threads: any.
 */
AoeStatus AoeDestroySession(AoeSessionId session);

/*
 * Tells which GE session compiles and runs the graph, as CANN's clients do. Accepted and unused: no backend
 * compiles through GE, each measures operator by operator. The pointer is looked at for NULL and not kept.
 *
 * session: the session.
 * ge_session: a ge::Session*, not owned and never followed.
 * Returns: AOE_SUCCESS; AOE_ERROR_INVALID_PARAM; AOE_ERROR_INVALID_SESSION; AOE_ERROR_BUSY;
 *   AOE_ERROR_UNINITIALIZED; AOE_ERROR_FORKED.
 * Threads: any.
 */
AoeStatus AoeSetGeSession(AoeSessionId session, void *ge_session);

/*
 * Sets the graphs that must run before the tuning graph can, for example variable initialisation.
 * Accepted and unused: they are checked as AoeTuningGraph checks its graph and kept with the session, but no backend
 * runs them and no job reads them. What is tuned does not depend on them, since operators are measured one by one.
 *
 * session: the session.
 * graphs, graph_count: the graphs; copied.
 * Returns: AOE_SUCCESS; AOE_ERROR_INVALID_GRAPH; else as AoeSetGeSession.
 * Threads: any.
 */
AoeStatus AoeSetDependGraphs(AoeSessionId session, const AoeGraph *const *graphs, size_t graph_count);

/*
 * Sets the inputs of the depend graphs. Accepted and unused, as those are; only their number is checked.
 *
 * session: the session.
 * inputs: for each graph, an array of tensors.
 * input_counts: for each graph, the length of its array.
 * graph_count: the number of graphs, as given to AoeSetDependGraphs.
 * Returns: as AoeSetGeSession.
 * Threads: any.
 */
AoeStatus AoeSetDependGraphsInputs(AoeSessionId session, const AoeTensor *const *inputs, const size_t *input_counts,
                                   size_t graph_count);

/*
 * Sets the graph to tune, in place of an earlier one.
 *
 * session: the session.
 * graph: the graph; copied.
 * Returns: AOE_SUCCESS; AOE_ERROR_INVALID_GRAPH when it has a cycle, or a node reads from NetOutput; else as AoeSetGeSession.
 * Threads: any; several sessions may be given the same graph at once.
 */
AoeStatus AoeSetTuningGraph(AoeSessionId session, const AoeGraph *graph);

/*
 * Sets the inputs of the tuning graph in the order of its inputs. Their shapes stand in for those that
 * the graph leaves open; where it does not describe an input at all, type and format are the tensor's, too, and where it
 * has the input in AOE_FORMAT_ND the format is.
 *
 * session: the session.
 * inputs, input_count: the tensors.
 * Returns: as AoeSetGeSession.
 * Threads: any.
 */
AoeStatus AoeSetTuningGraphInput(AoeSessionId session, const AoeTensor *inputs, size_t input_count);

/*
 * Tunes the session's graph and returns when that is done. What is found goes into the knowledge bank
 * and into a result file, aoe_result_opat_<time>_pid<pid>.json, in the working directory (options
 * `work_path`; environment ASCEND_WORK_PATH), both kept up to date while tuning runs. With `result_file=none` nothing is
 * left but where something is named: records in the bank of `ge.op_bank_path`, `ge.mdl_bank_path` or TUNE_BANK_PATH, the
 * tuned model at `output`; a host then has its results from AoeGetReport and AoeGetTunedGraph. Records whose gain only the
 * estimate of a closed default leaves in doubt go to aoe_bank_to_measure there, which nothing reads by itself.
 *
 * session: the session.
 * options, option_count: options for this tuning; those that have a value win over those of AoeInitialize.
 * Returns: AOE_SUCCESS; AOE_ERROR_NO_GRAPH when no graph was set; AOE_ERROR_NON_OPTIMIZE_GRAPH when nothing in
 *   it can be tuned, or measured by the backend that was asked for, which a warning and the result file tell,
 *   too; AOE_ERROR_DYNAMIC_GRAPH when the shape of an input stays unknown;
 *   AOE_ERROR_INVALID_GRAPH, also when operators of unknown types leave nothing to be tuned;
 *   AOE_ERROR_CANCELLED; AOE_ERROR_INVALID_OPTION_ATTR; AOE_ERROR_BACKEND; AOE_ERROR_BACKEND_LOST;
 *   AOE_ERROR_BANK; AOE_ERROR_IO; AOE_ERROR_UNSUPPORTED; AOE_ERROR_TUNING_ERROR when no operator could be
 *   measured, which the result file tells, too; else as AoeSetGeSession.
 * Threads: any; different sessions tune at the same time.
 */
AoeStatus AoeTuningGraph(AoeSessionId session, const AoeOption *options, size_t option_count);

/*
 * Makes the tuning that runs in a session stop after the candidates it is measuring, on a device at once;
 * AoeTuningGraph then returns AOE_ERROR_CANCELLED. Without a running tuning there is nothing to cancel, and a later
 * one is not affected.
 *
 * session: the session.
 * Returns: AOE_SUCCESS; AOE_ERROR_INVALID_SESSION; AOE_ERROR_UNINITIALIZED; AOE_ERROR_FORKED.
 * Threads: any, while AoeTuningGraph runs in another, and from callbacks; not from a signal handler.
 */
AoeStatus AoeCancel(AoeSessionId session);

/*
 * The result of the session's last tuning as JSON: the content of its result file (member
 * `aoe_result`), and more than CANN's form has room for, such as the backend, the SoC, every kernel with
 * its tiling before and after, and the options that counted.
 *
 * session: the session.
 * buffer, size: see BUFFERS.
 * Returns: AOE_SUCCESS; AOE_ERROR_NOT_FOUND before a tuning has produced one;
 *   AOE_ERROR_BUFFER_TOO_SMALL; AOE_ERROR_INVALID_SESSION; AOE_ERROR_UNINITIALIZED;
 *   AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Threads: any; while the session is tuning, it is what is known so far.
 */
AoeStatus AoeGetReport(AoeSessionId session, char *buffer, size_t *size);

/*
 * The session's graph as tuned: each node whose operator was tuned has its tiling in the string attribute
 * `_aoe_tiling` (AoeGraphGetNodeAttrString): a JSON object, the canonical schedule that docs/banks.md
 * describes. With several batch sizes, it is the graph of the first.
 *
 * session: the session.
 * graph: receives a copy.
 * Returns: AOE_SUCCESS; AOE_ERROR_NOT_FOUND before a tuning has come to its end or was cancelled;
 *   AOE_ERROR_INVALID_SESSION; AOE_ERROR_UNINITIALIZED; AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Ownership: the caller's, until AoeGraphDestroy.
 * Threads: any.
 */
AoeStatus AoeGetTunedGraph(AoeSessionId session, AoeGraph **graph);

/*
 * Why the session's last call that failed did so, whichever thread made it and whatever failed, its
 * arguments included. Every function with an AoeSessionId counts, except this one.
 *
 * session: the session.
 * buffer, size: see BUFFERS; the text is "" when no call has failed.
 * Returns: AOE_SUCCESS; AOE_ERROR_BUFFER_TOO_SMALL; AOE_ERROR_INVALID_SESSION;
 *   AOE_ERROR_UNINITIALIZED; AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Threads: any, also while the session is tuning.
 */
AoeStatus AoeGetSessionError(AoeSessionId session, char *buffer, size_t *size);

/* ---- Simulator ----------------------------------------------------------------------------- */

/*
 * Predicts one kernel with the built-in performance model; needs no AoeInitialize, no session and no device.
 *
 * case_json: the kernel as one JSON object, a line of `aoe simulate` (docs/simulate.md):
 *   {"op":"MatMul","m":1024,"k":512,"n":512,"dtype":"float16"}.
 * options: `soc_version`, `soc_set`, `aicore_num`, `calibration` (a file of `aoe calibrate`; without it the
 *   variable AOE_CALIBRATION counts, then calibration.json beside the bank) of this call; those of AoeInitialize do not count here.
 *   Without soc_version the case's field `soc` counts, else Ascend910B2, and the answer's `note` says so.
 * option_count: entries in options.
 * buffer: receives the answer, one JSON object without line break:
 *   {"id","time_us","pipes":{"mac","mte1","mte2","fixpipe","vec","mte3"},"bound","schedule"} and, where
 *   there is something to say, "note". time_us is in microseconds, pipes are shares of it. May be NULL to
 *   ask for the size.
 * size: the buffer's size in bytes; receives the bytes needed, terminating NUL included.
 * Returns: AOE_SUCCESS; for a case that cannot be priced never an answer but a status, whose text names
 *   the field: AOE_ERROR_INVALID_PARAM for one that is malformed, AOE_ERROR_INVALID_GRAPH for sizes that
 *   cannot be, AOE_ERROR_ILLEGAL_SCHEDULE for a tiling that the SoC cannot run; AOE_ERROR_INVALID_OPTION_ATTR
 *   for an option or SoC that is not known; AOE_ERROR_IO for a SoC description that cannot be read;
 *   AOE_ERROR_BUFFER_TOO_SMALL; AOE_ERROR_FORKED.
 * Threads: any; the same case and options always give the same bytes.
 */
AoeStatus AoeSimulate(const char *case_json, const AoeOption *options, size_t option_count, char *buffer,
                      size_t *size);

/*
 * The tiling that CANN's own host code chooses for one kernel, what it runs with where no bank has a record; needs
 * no AoeInitialize, no session and no device.
 *
 * case_json: the kernel as one JSON object, a line of `aoe tiling` (docs/tiling.md):
 *   {"op":"MatMulV3","m":1024,"k":512,"n":512,"dtype":"float16"}.
 * options: `soc_version`, `soc_set`, `aicore_num` of this call; those of AoeInitialize do not count here.
 *   Without soc_version the case's field `soc` counts, else Ascend910B2, and the answer's `note` says so.
 * option_count: entries in options.
 * buffer: receives the answer, one JSON object without line break:
 *   {"id","op","template","knowledge","nd2nz","default","rules"} and, where there is something to say, "note".
 *   knowledge holds CANN's own fields, default is "public" where all rules that decided are public, else
 *   "estimated", nd2nz is there for products of floats. May be NULL to ask for the size.
 * size: the buffer's size in bytes; receives the bytes needed, terminating NUL included.
 * Returns: AOE_SUCCESS; for a case that cannot be answered never an answer but a status, whose text names
 *   the field: AOE_ERROR_INVALID_PARAM for one that is malformed or whose operator is not known,
 *   AOE_ERROR_INVALID_GRAPH for sizes that cannot be; AOE_ERROR_INVALID_OPTION_ATTR for an option or SoC that is
 *   not known; AOE_ERROR_IO for a SoC description that cannot be read; AOE_ERROR_BUFFER_TOO_SMALL;
 *   AOE_ERROR_FORKED.
 * Threads: any; the same case and options always give the same bytes.
 */
AoeStatus AoeTiling(const char *case_json, const AoeOption *options, size_t option_count, char *buffer, size_t *size);

/*
 * Which configurations of a tile program (Triton-Ascend, TileLang, CATLASS) fit a part, and the fastest of them by the
 * simulator; needs no AoeInitialize, no session and no device. docs/candidates.md has the rules.
 *
 * question_json: one JSON object:
 *   "case": what is computed, a case of AoeSimulate without schedule;
 *   "configurations": those to choose from, objects as an autotuner lists them: {"BLOCK_M":128,"BLOCK_N":256,"BLOCK_K":64};
 *     left out, the tilings are those of CANN's own kernel;
 *   "buffers": what the program keeps in UB, L1, L0A, L0B or L0C, where its operands do not tell:
 *     [{"space":"UB","shape":["BLOCK",128],"dtype":"float32","count":2}], a text names a parameter;
 *   "best": how many are wanted, 10 where it is left out.
 * options: `soc_version`, `soc_set`, `aicore_num` of this call, as for AoeSimulate.
 * option_count: entries in options.
 * buffer: receives the answer, one JSON object without line break: "legal" (how many fit), "best" (objects with "index"
 *   into configurations, "time_us", "interval_us" where the simulator gives it, "bound", "schedule"; fastest first) and
 *   "illegal" ("index" and "reason", which names the buffer with the bytes it needs and has, or the rule). May be NULL to
 *   ask for the size.
 * size: the buffer's size in bytes; receives the bytes needed, terminating NUL included.
 * Returns: AOE_SUCCESS, also where no configuration fits; AOE_ERROR_INVALID_PARAM for a question or case that is malformed;
 *   AOE_ERROR_INVALID_GRAPH for sizes that cannot be; AOE_ERROR_INVALID_OPTION_ATTR; AOE_ERROR_IO for a SoC description that
 *   cannot be read; AOE_ERROR_BUFFER_TOO_SMALL; AOE_ERROR_FORKED.
 * Threads: any; the same question and options always give the same bytes.
 */
AoeStatus AoeCandidates(const char *question_json, const AoeOption *options, size_t option_count, char *buffer,
                        size_t *size);

/* ---- Search: bring your own space and your own measurement ----------------------------------- */

/*
 * A search for the best of many configurations. It hands out configurations (trials), is told what each has
 * cost, and gets better at choosing; any number of trials may be out at once and be told in any order. It needs
 * no AoeInitialize and no session:
 *
 *     AoeSearch *search = NULL;
 *     uint32_t at[2];
 *     uint64_t trial;
 *     double best;
 *     AoeSearchCreate("{\"parameters\":[{\"name\":\"M\",\"values\":[8,16,32]},{\"name\":\"N\",\"values\":[8,16,32]}],"
 *                     "\"constraints\":[\"M * N <= 512\"]}", NULL, 0, &search);
 *     while (AoeSearchAsk(search, at, 2, &trial) == AOE_SUCCESS)
 *         AoeSearchTell(search, trial, AOE_TRIAL_MEASURED, seconds_with(M[at[0]], N[at[1]]));
 *     AoeSearchBest(search, at, 2, &best);
 *     AoeSearchDestroy(search);
 *
 * A pointer that is no living search (stale, foreign or NULL) is AOE_ERROR_INVALID_SESSION, never undefined:
 * it is an opaque number that the library looks up and does not follow. Any thread may call any of these
 * functions on one search at any time, whether it is passed as `const` or not; calls on it wait for each other,
 * and none waits for a measurement. A process that was forked while searches lived gets AOE_ERROR_FORKED
 * from all of them until it execs.
 */
typedef struct AoeSearch AoeSearch;

/* Outcomes of a trial. */
#define AOE_TRIAL_MEASURED 0
#define AOE_TRIAL_FAILED 1

/*
 * Starts a search.
 *
 * space_json: the parameters with their values, constraints between them as expressions, and, where the
 *   legal configurations are known, their list; docs/spaces.md describes the form.
 * options: `seed`, `algorithm` (auto, random, genetic, annealing, bayesian), `max_tuning_count` (most
 *   trials; default 1000), `tuning_time_limit` (seconds from now, after which nothing is handed out).
 * option_count: entries in options.
 * search: receives the search.
 * Returns: AOE_SUCCESS; AOE_ERROR_INVALID_PARAM for a space that is malformed or has no legal configuration,
 *   with a text that names parameter or constraint and column; AOE_ERROR_INVALID_OPTION_ATTR;
 *   AOE_ERROR_FORKED.
 * Ownership: the caller's, until AoeSearchDestroy; AoeFinalize does not touch it.
 * Threads: any.
 */
AoeStatus AoeSearchCreate(const char *space_json, const AoeOption *options, size_t option_count, AoeSearch **search);

/*
 * Hands out a configuration to measure. With the same space, options and answers it is the same each time,
 * unless there is a time limit. None is handed out twice.
 *
 * search: the search.
 * value_indices: receives, for each parameter in the order of the space, the place of its value in the list
 *   of values, counted from 0.
 * parameter_count: entries at value_indices; must be the number of parameters.
 * trial: receives the number to tell the outcome under.
 * Returns: AOE_SUCCESS; AOE_ERROR_EXHAUSTED when the search is over, with a text that says why: every legal
 *   configuration was handed out, the trials or the time are used up, or no gain is expected;
 *   AOE_ERROR_INVALID_SESSION; AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Threads: any.
 */
AoeStatus AoeSearchAsk(AoeSearch *search, uint32_t *value_indices, size_t parameter_count, uint64_t *trial);

/*
 * Reports how a trial ended, also after the search is over.
 *
 * search: the search.
 * trial: as AoeSearchAsk gave it.
 * outcome: AOE_TRIAL_MEASURED, or AOE_TRIAL_FAILED where there is no cost.
 * cost: what the search makes small: seconds or any other finite number from 0; not read for a failure.
 * Returns: AOE_SUCCESS; AOE_ERROR_INVALID_PARAM for a trial that was not handed out or is told already, and
 *   for a cost that is NaN, infinite or negative; nothing changes then, and the trial can be told again.
 *   AOE_ERROR_INVALID_SESSION; AOE_ERROR_FORKED.
 * Threads: any.
 */
AoeStatus AoeSearchTell(AoeSearch *search, uint64_t trial, int32_t outcome, double cost);

/*
 * The best configuration told so far; the earliest of equals.
 *
 * search: the search.
 * value_indices, parameter_count: as for AoeSearchAsk.
 * cost: receives its cost.
 * Returns: AOE_SUCCESS; AOE_ERROR_NOT_FOUND while no trial was measured; AOE_ERROR_INVALID_SESSION;
 *   AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Threads: any.
 */
AoeStatus AoeSearchBest(const AoeSearch *search, uint32_t *value_indices, size_t parameter_count, double *cost);

/*
 * What a search has come to, as JSON:
 *   {"algorithm","seed","parameters","legal","asked","told","failed","stop","best":{"cost","configuration"}}.
 * legal is the number of legal configurations, null where there are too many to list; stop is null while
 * the search goes on, then "budget", "time_limit", "exhausted" or "converged"; configuration has the values by
 * the parameters' names, and best is null while no trial was measured.
 *
 * search: the search.
 * buffer, size: see BUFFERS.
 * Returns: AOE_SUCCESS; AOE_ERROR_BUFFER_TOO_SMALL; AOE_ERROR_INVALID_SESSION; AOE_ERROR_INVALID_PARAM;
 *   AOE_ERROR_FORKED.
 * Threads: any.
 */
AoeStatus AoeSearchGetReport(const AoeSearch *search, char *buffer, size_t *size);

/*
 * Ends a search. Calls on it under way in other threads end first or find it gone.
 *
 * search: the search, or NULL. One that is gone already is left alone, and AoeGetLastError says so.
 * Threads: any.
 */
void AoeSearchDestroy(AoeSearch *search);

/* ---- Knowledge banks ------------------------------------------------------------------------- */

/*
 * Operator banks in memory, for a compiler that asks for a tiling before it computes one. It needs no
 * AoeInitialize and no session:
 *
 *     const char *layers[] = {"/home/me/bank/Ascend910B2/unified_bank", "/opt/ascend/built-in/unified_bank"};
 *     AoeBank *bank = NULL;
 *     char knowledge[1024];
 *     size_t size = sizeof knowledge;
 *     AoeBankOpen(layers, 2, NULL, 0, &bank);
 *     if (AoeBankQuery(bank, "MatMulV3", AOE_BANK_KEY_PACKED, &key, sizeof key, knowledge, &size) == AOE_SUCCESS)
 *         use(knowledge);
 *     AoeBankClose(bank);
 *
 * A bank is a snapshot of its files at the moment it was opened; it never changes. To see what was written
 * since, open another and close this one. It takes about 550 bytes of memory for a MatMulV3 record.
 */
typedef struct AoeBank AoeBank;

/* What the key of a query is. */
#define AOE_BANK_KEY_PACKED 0    /* the operator's key structure, as CANN packs it (docs/banks.md) */
#define AOE_BANK_KEY_INFO_DICT 1 /* the text of a record's info_dict, a JSON object, its fields in any order; need not end
                                    in NUL */
#define AOE_BANK_KEY_CASE 2      /* the text of a case as AoeSimulate reads it; need not end in NUL */

/*
 * Reads banks into memory.
 *
 * paths: the layers, each a bank file or a directory of bank files (.../<soc>/unified_bank); of a key that
 *   several have, the first one's record counts, so the custom bank comes before the built-in one. Files of
 *   a directory that are neither operator banks nor unified ones are passed over.
 * path_count: entries in paths. 0 opens the bank that tuning would write and read for `soc_version`: where
 *   TUNE_BANK_PATH, `op_bank_path`, ASCEND_CACHE_PATH or HOME say, over the built-in one of the toolkit; it
 *   may be empty.
 * options: `soc_version`, `aicore_num`: which of the files in a directory are meant, needed where those of
 *   several parts lie in it; `op_bank_path`.
 * option_count: entries in options.
 * bank: receives the bank.
 * Returns: AOE_SUCCESS, also where lines are damaged: they cost themselves only and are told to the log
 *   callback; AOE_ERROR_IO for a path that does not exist or cannot be read; AOE_ERROR_BANK for a file whose
 *   name does not say what it holds, and for several that would answer for one operator;
 *   AOE_ERROR_INVALID_OPTION_ATTR; AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Ownership: the caller's, until AoeBankClose; AoeFinalize does not touch it.
 * Threads: any. It uses several of its own, and all have ended when it returns.
 */
AoeStatus AoeBankOpen(const char *const *paths, size_t path_count, const AoeOption *options, size_t option_count,
                      AoeBank **bank);

/*
 * What a bank holds for a key. The whole key is compared, not its hash alone.
 *
 * bank: the bank.
 * op_type: the operator type, as in the bank file's name, for example "MatMulV3" or "conv2d"; not read, and may be NULL, for
 *   AOE_BANK_KEY_CASE.
 * kind: one of AOE_BANK_KEY_...
 * key: the key; any alignment.
 * key_size: its bytes.
 * buffer: receives the record's `knowledge` as it stands in the file: a JSON object. See BUFFERS.
 * size: see BUFFERS.
 * Returns: AOE_SUCCESS; AOE_ERROR_NOT_FOUND where nothing is recorded, which is no failure; AOE_ERROR_BUFFER_TOO_SMALL;
 *   AOE_ERROR_INVALID_PARAM for a text that is no key or no case; for a case also what AoeSimulate returns, and
 *   AOE_ERROR_INVALID_OPTION_ATTR where the bank's SoC is not known.
 * Threads: any number at once; none waits for another. Works in a forked child too.
 */
AoeStatus AoeBankQuery(const AoeBank *bank, const char *op_type, int32_t kind, const void *key, size_t key_size,
                       char *buffer, size_t *size);

/*
 * What AoeBankMerge did. Each usable record of each source counts once, as added, updated, kept or refused.
 *
 *   struct_size  set by the caller to sizeof(AoeBankMerged).
 *   added        records that `into` did not have.
 *   updated      records that took the place of another one.
 *   kept         records that `into` has already, or has better.
 *   refused      records that the built-in bank has already, or has better.
 *   foreign      lines taken over without being understood.
 *   files        bank files written.
 *   warnings     what was found wrong in the files, and banks that were not merged; each was told to the log callback.
 */
typedef struct AoeBankMerged {
    size_t struct_size;
    uint64_t added;
    uint64_t updated;
    uint64_t kept;
    uint64_t refused;
    uint64_t foreign;
    uint64_t files;
    uint64_t warnings;
} AoeBankMerged;

/*
 * Merges bank files, directories of them or bank roots (each directory below goes into the one of its name below `into`)
 * into one of the same kind: banks of operators, unified, subgraph and gradient banks. Of two records with one key the
 * better measured one stays, whatever the order of the sources; docs/banks.md, "Merging", has the rules.
 * What lies in a directory is replaced as a whole, or stays as it was. Banks of other forms in a directory are warnings.
 * Banks that are open do not change.
 *
 * sources: files or directories; they are only read. source_count: entries in sources.
 * into: a file or directory; made where it does not exist.
 * built_in: banks that CANN ships; what they have as good or better is not taken. May be NULL when
 *   built_in_count is 0. built_in_count: entries in built_in.
 * merged: receives what was done; may be NULL.
 * Returns: AOE_SUCCESS; AOE_ERROR_BANK for banks of different SoCs, for a file of another number of cores than the
 *   file named by `into`, for a source that is where it would go, for one of another form than the file it would go
 *   into, and for a file that is no bank, that is not merged, or whose name does not say what it holds; AOE_ERROR_IO; AOE_ERROR_INVALID_PARAM; AOE_ERROR_FORKED.
 * Threads: any; several calls, and tuning in any process, may write one bank at the same time and lose nothing.
 */
AoeStatus AoeBankMerge(const char *const *sources, size_t source_count, const char *into,
                       const char *const *built_in, size_t built_in_count, AoeBankMerged *merged);

/*
 * Frees a bank. No query on it may be under way or follow.
 *
 * bank: the bank, or NULL.
 * Threads: any.
 */
void AoeBankClose(AoeBank *bank);

/* ---- Backends of your own ------------------------------------------------------------------ */

/*
 * One value of a workload or of a schedule. Its name is the way to it in the JSON form, joined by points:
 * "m", "dtype", "inputs.0.0.1" (second dimension of the first input), "l0.k_a". A value that JSON calls null
 * has no field.
 *
 *   name    the name.
 *   text    the text; NULL for a number.
 *   number  the number; truth values are 0 and 1. 0 for a text.
 */
typedef struct AoeField {
    const char *name;
    const char *text;
    double number;
} AoeField;

/*
 * A kernel to be measured under one schedule. Valid during the call only. docs/backends.md lists the names.
 *
 *   struct_size   bytes of this structure as the library knows it; read only fields within it.
 *   op_type       operator type, for example "MatMulV3".
 *   workload      what has to be done: sizes in elements, types, layouts. workload_count: how many values.
 *   schedule      how it is to be done: the tiling. schedule_count: how many values.
 *   json          all of it as one JSON object: op, workload, schedule.
 */
typedef struct AoeCandidate {
    size_t struct_size;
    const char *op_type;
    const AoeField *workload;
    size_t workload_count;
    const AoeField *schedule;
    size_t schedule_count;
    const char *json;
} AoeCandidate;

/*
 * What a backend says of itself. The texts are the backend's and must stay as long as it may be used.
 *
 *   struct_size   bytes of this structure as the library knows it; write only fields within it.
 *   name          1 to 64 letters, digits, '-', '_' and '.': its name in reports, in side files of banks, and for
 *                 option `backend` where it is registered. Not auto, simulator or ascend.
 *   detail        version, device and whatever else a reader of the report needs to judge its times.
 *   soc           the part that is measured, which decides what tilings are legal: a name of `aoe soc`, or
 *                 a description of it in JSON, which may name a `base` (docs/simulate.md). Option `soc_version`
 *                 decides over it.
 *   noisy         not 0: repeated measurements differ, and the leaders are measured again.
 *   parallel      calls of `measure` at a time; 0 for any number.
 *   measuring_us  about how long one measurement takes, in microseconds; 0 where that is not known.
 *
 * All but name, detail and soc are 0 on entry. Of a text, the first 64 KiB are read.
 */
typedef struct AoeBackendDescription {
    size_t struct_size;
    const char *name;
    const char *detail;
    const char *soc;
    int32_t noisy;
    uint32_t parallel;
    double measuring_us;
} AoeBackendDescription;

/*
 * A backend: who measures candidates in place of the simulator or a device. Set all fields.
 *
 *   struct_size  sizeof(AoeBackend).
 *   context      handed back with each call; not touched.
 *   describe     says what the backend is; called once, when it is registered or loaded. Returns AOE_SUCCESS, or
 *                any other status when it cannot be used.
 *   measure      runs or prices one candidate and writes the kernel's time in microseconds, from 1e-6 to 1e12.
 *                Returns AOE_SUCCESS; AOE_ERROR_BACKEND_LOST when neither this candidate nor any other can be
 *                measured any more, which ends the tuning with what was found so far saved; or any other status:
 *                that candidate has failed then, and the tuning goes on. An operator whose present tiling fails is
 *                not tuned.
 *   last_error   why the calling thread's last `describe` or `measure` failed: a text that stays until its next
 *                call; NULL or "" for no more than the status.
 *
 * The functions may be called from any thread, `measure` from several at once unless `parallel` says otherwise;
 * they must return normally, and must neither throw nor longjmp.
 *
 * A backend can be a library of its own, which option `backend` names by its path; it exports
 *
 *     const AoeBackend *AoeGetBackend(void);
 *
 * whose answer and what it points to stay valid for good: such a library is never unloaded.
 */
typedef struct AoeBackend {
    size_t struct_size;
    void *context;
    AoeStatus (*describe)(void *context, AoeBackendDescription *description);
    AoeStatus (*measure)(void *context, const AoeCandidate *candidate, double *time_us);
    const char *(*last_error)(void *context);
} AoeBackend;

/*
 * Makes a backend known under the name that it gives itself, for option `backend` of later calls; in place of an
 * earlier one of that name, with which a tuning that is under way goes on.
 *
 * backend: the table; copied. Its functions, its context and its texts must stay valid for the life of the
 *   process.
 * Returns: AOE_SUCCESS; AOE_ERROR_INVALID_PARAM for a table that is too small or has a NULL function;
 *   AOE_ERROR_BACKEND for a description that cannot be; AOE_ERROR_FORKED.
 * Threads: any; may precede AoeInitialize.
 */
AoeStatus AoeRegisterBackend(const AoeBackend *backend);

/* ---- Progress and log ---------------------------------------------------------------------- */

/*
 * How far a tuning is. Valid during the callback only.
 *
 *   struct_size  bytes of this structure as the library knows it; read only fields within it.
 *   done, total  distinct operators finished, and in all.
 *   node         name of the node whose operator was finished last; "" before the first, and in the
 *                last call, when everything is saved. Within a search, that whose operator is searched.
 *   network_us   best time of the operators finished, in microseconds for one run of the network; within a
 *                search, with the best measured so far of those that are being searched.
 *   baseline_us  time of the same operators before tuning.
 *   elapsed_s    seconds since the tuning began.
 *   trials       candidates measured for the same operators; 0 while subgraphs are tuned.
 *   remaining_s  seconds that the job at hand (subgraphs, or operators) will go on at its pace so far, at
 *                most until tuning_time_limit; below 0 until there is a pace. Within a search it counts on
 *                as many trials as are allowed: a search that converges ends sooner.
 *   searching    measurements made for the operator of node in a call from within its search; 0 in all others.
 */
typedef struct AoeProgress {
    size_t struct_size;
    uint64_t done;
    uint64_t total;
    const char *node;
    double network_us;
    double baseline_us;
    double elapsed_s;
    uint64_t trials;
    double remaining_s;
    uint64_t searching;
} AoeProgress;

/*
 * Is told of a tuning's progress; see CALLBACKS.
 *
 * progress: how far it is.
 * payload: as given to AoeSetProgressCallback.
 * Returns: 0 to go on; anything else cancels the tuning, after which it may still be called for what was
 *   under way.
 * Threads: called on the thread that called AoeTuningGraph, before the first operator, after each, and
 *   at the end; and within the search for an operator after a measurement, five times a second at most, where
 *   the backend does not say that it measures in less than a millisecond (the simulator does).
 */
typedef int32_t (*AoeProgressCallback)(const AoeProgress *progress, void *payload);

/*
 * Sets a session's progress callback, in place of an earlier one.
 *
 * session: the session.
 * callback: the function; NULL for none.
 * payload: passed on to it; not touched, not owned; must live until the session is destroyed or
 *   another callback is set.
 * Returns: as AoeSetGeSession.
 * Threads: any.
 */
AoeStatus AoeSetProgressCallback(AoeSessionId session, AoeProgressCallback callback, void *payload);

/* How serious a log message is; CANN's numbers. */
typedef int32_t AoeLogLevel;

enum {
    AOE_LOG_DEBUG = 0,
    AOE_LOG_INFO = 1,
    AOE_LOG_WARNING = 2,
    AOE_LOG_ERROR = 3
};

/*
 * Receives log messages; see CALLBACKS.
 *
 * level: how serious it is.
 * message: one line without line end; valid during the call only.
 * payload: as given to AoeSetLogCallback.
 * Threads: called from any thread that is inside libaoe, several at once.
 */
typedef void (*AoeLogCallback)(AoeLogLevel level, const char *message, void *payload);

/*
 * Sets where log messages of the whole library go; without it, nowhere.
 *
 * callback: the function; NULL for none.
 * payload: passed on to it; not touched, not owned. After a replacement, calls already under way may
 *   still use the old pair; it must live until they have returned.
 * Returns: AOE_SUCCESS; AOE_ERROR_FORKED.
 * Threads: any; may precede AoeInitialize.
 */
AoeStatus AoeSetLogCallback(AoeLogCallback callback, void *payload);

/* ---- Table of functions -------------------------------------------------------------------- */

/*
 * All functions in one table, for programs that load the library with dlopen and want to look up one
 * symbol only. Fields bear the functions' names without "Aoe" and are only ever appended:
 * struct_size tells how many bytes of it the loaded library has.
 */
typedef struct AoeApi {
    size_t struct_size;
    uint32_t (*GetVersion)(void);
    const char *(*GetLastError)(void);
    const char *(*GetStatusName)(AoeStatus status);
    AoeStatus (*Initialize)(const AoeOption *options, size_t option_count);
    AoeStatus (*Finalize)(void);
    AoeStatus (*GraphCreate)(const char *name, AoeGraph **graph);
    AoeStatus (*GraphLoadFile)(const char *path, const AoeOption *options, size_t option_count, AoeGraph **graph);
    AoeStatus (*GraphLoadMemory)(const void *data, size_t size, const AoeOption *options, size_t option_count,
                                 AoeGraph **graph);
    AoeStatus (*GraphSaveFile)(const AoeGraph *graph, const char *path);
    AoeStatus (*GraphAddInput)(AoeGraph *graph, const char *name, const AoeTensor *desc, AoeNodeId *node);
    AoeStatus (*GraphAddConst)(AoeGraph *graph, const char *name, const AoeTensor *value, AoeNodeId *node);
    AoeStatus (*GraphAddNode)(AoeGraph *graph, const char *name, const char *op_type, size_t output_count,
                              AoeNodeId *node);
    AoeStatus (*GraphAddEdge)(AoeGraph *graph, AoeNodeId source, uint32_t source_output, AoeNodeId target,
                              uint32_t target_input);
    AoeStatus (*GraphAddOutput)(AoeGraph *graph, AoeNodeId node, uint32_t output);
    AoeStatus (*GraphSetOutputDesc)(AoeGraph *graph, AoeNodeId node, uint32_t output, const AoeTensor *desc);
    AoeStatus (*GraphSetAttrInt)(AoeGraph *graph, AoeNodeId node, const char *name, int64_t value);
    AoeStatus (*GraphSetAttrFloat)(AoeGraph *graph, AoeNodeId node, const char *name, double value);
    AoeStatus (*GraphSetAttrBool)(AoeGraph *graph, AoeNodeId node, const char *name, int32_t value);
    AoeStatus (*GraphSetAttrString)(AoeGraph *graph, AoeNodeId node, const char *name, const char *value);
    AoeStatus (*GraphSetAttrDataType)(AoeGraph *graph, AoeNodeId node, const char *name, AoeDataType value);
    AoeStatus (*GraphSetAttrInts)(AoeGraph *graph, AoeNodeId node, const char *name, const int64_t *values,
                                  size_t value_count);
    AoeStatus (*GraphSetAttrFloats)(AoeGraph *graph, AoeNodeId node, const char *name, const double *values,
                                    size_t value_count);
    AoeStatus (*GraphGetNodeCount)(const AoeGraph *graph, size_t *node_count);
    AoeStatus (*GraphFindNode)(const AoeGraph *graph, const char *name, AoeNodeId *node);
    void (*GraphDestroy)(AoeGraph *graph);
    AoeStatus (*CreateSession)(AoeSessionId *session);
    AoeStatus (*DestroySession)(AoeSessionId session);
    AoeStatus (*SetGeSession)(AoeSessionId session, void *ge_session);
    AoeStatus (*SetDependGraphs)(AoeSessionId session, const AoeGraph *const *graphs, size_t graph_count);
    AoeStatus (*SetDependGraphsInputs)(AoeSessionId session, const AoeTensor *const *inputs,
                                       const size_t *input_counts, size_t graph_count);
    AoeStatus (*SetTuningGraph)(AoeSessionId session, const AoeGraph *graph);
    AoeStatus (*SetTuningGraphInput)(AoeSessionId session, const AoeTensor *inputs, size_t input_count);
    AoeStatus (*TuningGraph)(AoeSessionId session, const AoeOption *options, size_t option_count);
    AoeStatus (*Cancel)(AoeSessionId session);
    AoeStatus (*GetReport)(AoeSessionId session, char *buffer, size_t *size);
    AoeStatus (*GetTunedGraph)(AoeSessionId session, AoeGraph **graph);
    AoeStatus (*GetSessionError)(AoeSessionId session, char *buffer, size_t *size);
    AoeStatus (*SetProgressCallback)(AoeSessionId session, AoeProgressCallback callback, void *payload);
    AoeStatus (*SetLogCallback)(AoeLogCallback callback, void *payload);
    AoeStatus (*GraphGetNodeAttrString)(const AoeGraph *graph, const char *node_name, const char *attr_name,
                                        char *buffer, size_t *size);
    AoeStatus (*Simulate)(const char *case_json, const AoeOption *options, size_t option_count, char *buffer,
                          size_t *size);
    AoeStatus (*SearchCreate)(const char *space_json, const AoeOption *options, size_t option_count,
                              AoeSearch **search);
    AoeStatus (*SearchAsk)(AoeSearch *search, uint32_t *value_indices, size_t parameter_count, uint64_t *trial);
    AoeStatus (*SearchTell)(AoeSearch *search, uint64_t trial, int32_t outcome, double cost);
    AoeStatus (*SearchBest)(const AoeSearch *search, uint32_t *value_indices, size_t parameter_count, double *cost);
    AoeStatus (*SearchGetReport)(const AoeSearch *search, char *buffer, size_t *size);
    void (*SearchDestroy)(AoeSearch *search);
    AoeStatus (*BankOpen)(const char *const *paths, size_t path_count, const AoeOption *options, size_t option_count,
                          AoeBank **bank);
    AoeStatus (*BankQuery)(const AoeBank *bank, const char *op_type, int32_t kind, const void *key, size_t key_size,
                           char *buffer, size_t *size);
    AoeStatus (*BankMerge)(const char *const *sources, size_t source_count, const char *into,
                           const char *const *built_in, size_t built_in_count, AoeBankMerged *merged);
    void (*BankClose)(AoeBank *bank);
    AoeStatus (*RegisterBackend)(const AoeBackend *backend);
    AoeStatus (*CheckOption)(const char *key, const char *value);
    AoeStatus (*Tiling)(const char *case_json, const AoeOption *options, size_t option_count, char *buffer,
                        size_t *size);
    AoeStatus (*Candidates)(const char *question_json, const AoeOption *options, size_t option_count, char *buffer,
                            size_t *size);
} AoeApi;

/* Version of the table; it changes only if a field had to. */
#define AOE_API_VERSION 1

/*
 * The table of functions.
 *
 * version: AOE_API_VERSION.
 * Returns: the table, or NULL when the library does not have that version.
 * Ownership: a constant; never freed.
 * Threads: any.
 */
const AoeApi *AoeGetApi(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif /* AOE_H */
