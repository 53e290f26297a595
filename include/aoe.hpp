/*
 * aoe.hpp - the C++17 face of libaoe: header-only, over aoe.h, without an ABI of its own.
 *
 *     aoe::Library library = aoe::Library::initialize({{"job_type", "2"}});
 *     aoe::Graph graph = aoe::Graph::create("net");
 *     aoe::Output x = graph.input("x", {AOE_DT_FLOAT16, {1, 512}});
 *     aoe::Output w = graph.constant("w", {AOE_DT_FLOAT16, {512, 1024}});
 *     aoe::Node product = graph.node("fc", "MatMulV2", {x, w}).attr("transpose_x1", false);
 *     graph.output(product);
 *     aoe::Session session = aoe::Session::create();
 *     session.set_graph(graph);
 *     if (session.tune()) std::puts(session.report().c_str());
 *
 * Every call has two forms. `f(...)` throws aoe::Error. `try_f(...)` returns an aoe::Result and throws
 * nothing of its own. Under -fno-exceptions only the second exists.
 *
 * Objects own what they stand for and can be moved, not copied. Rules of threads are those of aoe.h:
 * const member functions may run at the same time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef AOE_HPP
#define AOE_HPP

#include "aoe.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__cpp_exceptions)
#define AOE_HAS_EXCEPTIONS 1
#include <exception>
#include <stdexcept>
#else
#define AOE_HAS_EXCEPTIONS 0
#endif

namespace aoe {

using Status = AoeStatus;

/* ---- Results ------------------------------------------------------------------------------- */

/* A status other than success, with the text that names the culprit. */
struct Failure {
    Status status = AOE_FAILURE;
    std::string message;

    /* The failure of this thread's last call, which returned `status`. */
    static Failure last(Status status) { return {status, AoeGetLastError()}; }
};

#if AOE_HAS_EXCEPTIONS
/* Thrown by the calls that do not begin with try_. */
class Error : public std::runtime_error {
public:
    explicit Error(const Failure &failure)
        : std::runtime_error(std::string(AoeGetStatusName(failure.status)) + ": " + failure.message),
          status_(failure.status) {}

    Status status() const noexcept { return status_; }

private:
    Status status_;
};
#endif

/* A value, or why there is none. */
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : value_(std::move(value)) {}
    Result(Failure failure) : failure_(std::move(failure)) {}

    bool ok() const noexcept { return value_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }
    Status status() const noexcept { return ok() ? static_cast<Status>(AOE_SUCCESS) : failure_.status; }
    const std::string &message() const noexcept { return failure_.message; }
    const Failure &failure() const noexcept { return failure_; }

    /* The value; only when ok(). */
    T &operator*() & { return *value_; }
    T &&operator*() && { return std::move(*value_); }
    T *operator->() { return &*value_; }

#if AOE_HAS_EXCEPTIONS
    T value() && {
        if (!ok()) throw Error(failure_);
        return std::move(*value_);
    }
#endif

private:
    std::optional<T> value_;
    Failure failure_;
};

template <>
class [[nodiscard]] Result<void> {
public:
    Result() = default;
    Result(Failure failure) : failure_(std::move(failure)) {}
    /* From the status of a call that this thread has just made. */
    static Result from(Status status) { return status == AOE_SUCCESS ? Result() : Result(Failure::last(status)); }

    bool ok() const noexcept { return !failure_.has_value(); }
    explicit operator bool() const noexcept { return ok(); }
    Status status() const noexcept { return ok() ? static_cast<Status>(AOE_SUCCESS) : failure_->status; }
    std::string message() const { return ok() ? std::string() : failure_->message; }

#if AOE_HAS_EXCEPTIONS
    void value() && {
        if (!ok()) throw Error(*failure_);
    }
#endif

private:
    std::optional<Failure> failure_;
};

/* ---- Options and tensors ------------------------------------------------------------------- */

/* Options by name; of a key given twice, the later counts. */
class Options {
public:
    Options() = default;
    Options(std::initializer_list<std::pair<std::string, std::string>> entries) : entries_(entries) {}

    Options &set(std::string key, std::string value) {
        entries_.emplace_back(std::move(key), std::move(value));
        return *this;
    }

    /* As the C functions take them; valid as long as this object is not changed. */
    std::vector<AoeOption> view() const {
        std::vector<AoeOption> view;
        view.reserve(entries_.size());
        for (const auto &entry : entries_) view.push_back({entry.first.c_str(), entry.second.c_str()});
        return view;
    }

private:
    std::vector<std::pair<std::string, std::string>> entries_;
};

/* Description of a tensor and, where data is not null, its value, which is not owned. */
struct Tensor {
    AoeDataType type = AOE_DT_FLOAT;
    std::vector<std::int64_t> dims;
    AoeFormat format = AOE_FORMAT_ND;
    const void *data = nullptr;
    std::size_t data_size = 0;

    Tensor() = default;
    Tensor(AoeDataType tensor_type, std::vector<std::int64_t> tensor_dims, AoeFormat tensor_format = AOE_FORMAT_ND)
        : type(tensor_type), dims(std::move(tensor_dims)), format(tensor_format) {}

    /* The same tensor with these elements, which must outlive the call that it is given to. */
    Tensor with(const void *elements, std::size_t bytes) const {
        Tensor tensor = *this;
        tensor.data = elements;
        tensor.data_size = bytes;
        return tensor;
    }

    /* As the C functions take it; valid as long as this object is not changed. */
    AoeTensor view() const { return {dims.data(), dims.size(), type, format, data, data_size, nullptr}; }
};

namespace detail {

inline std::vector<AoeTensor> views(const std::vector<Tensor> &tensors) {
    std::vector<AoeTensor> views;
    views.reserve(tensors.size());
    for (const Tensor &tensor : tensors) views.push_back(tensor.view());
    return views;
}

/* Reads a text by the buffer protocol; it may grow between the two calls. */
template <class Read>
Result<std::string> read_text(Read read) {
    std::string text;
    for (;;) {
        std::size_t size = text.size();
        const Status status = text.empty() ? read(nullptr, &size) : read(text.data(), &size);
        if (status == AOE_SUCCESS && !text.empty()) {
            text.resize(size - 1);
            return text;
        }
        if (status != AOE_SUCCESS && status != AOE_ERROR_BUFFER_TOO_SMALL) return Failure::last(status);
        text.resize(size);
    }
}

} // namespace detail

/* ---- Graphs -------------------------------------------------------------------------------- */

/* One output of a node: where an edge begins. */
struct Output {
    AoeNodeId node = 0;
    std::uint32_t index = 0;
};

/* A data type as the value of an attribute. */
struct DataType {
    AoeDataType value = AOE_DT_UNDEFINED;
};

/* A node of a graph; valid as long as the graph lives. */
class Node {
public:
    Node(AoeGraph *graph, AoeNodeId id) : graph_(graph), id_(id) {}

    AoeNodeId id() const noexcept { return id_; }
    Output operator[](std::uint32_t index) const noexcept { return {id_, index}; }
    operator Output() const noexcept { return {id_, 0}; }

    /*
     * Sets an attribute. The type of the value chooses the kind: bool, other integers, floating-point
     * numbers, strings, aoe::DataType, std::vector<std::int64_t>, std::vector<double>.
     */
    template <class T>
    Result<void> try_attr(const std::string &name, const T &value) const {
        return Result<void>::from(set(name.c_str(), value));
    }

    /* Describes an output whose shape cannot be inferred. */
    Result<void> try_describe(std::uint32_t output, const Tensor &desc) const {
        const AoeTensor view = desc.view();
        return Result<void>::from(AoeGraphSetOutputDesc(graph_, id_, output, &view));
    }

#if AOE_HAS_EXCEPTIONS
    template <class T>
    const Node &attr(const std::string &name, const T &value) const {
        try_attr(name, value).value();
        return *this;
    }
    const Node &describe(std::uint32_t output, const Tensor &desc) const {
        try_describe(output, desc).value();
        return *this;
    }
#endif

private:
    template <class T>
    Status set(const char *name, const T &value) const {
        if constexpr (std::is_same_v<T, bool>) {
            return AoeGraphSetAttrBool(graph_, id_, name, value ? 1 : 0);
        } else if constexpr (std::is_integral_v<T>) {
            return AoeGraphSetAttrInt(graph_, id_, name, static_cast<std::int64_t>(value));
        } else if constexpr (std::is_floating_point_v<T>) {
            return AoeGraphSetAttrFloat(graph_, id_, name, static_cast<double>(value));
        } else if constexpr (std::is_same_v<T, DataType>) {
            return AoeGraphSetAttrDataType(graph_, id_, name, value.value);
        } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
            return AoeGraphSetAttrInts(graph_, id_, name, value.data(), value.size());
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
            return AoeGraphSetAttrFloats(graph_, id_, name, value.data(), value.size());
        } else {
            return AoeGraphSetAttrString(graph_, id_, name, std::string(value).c_str());
        }
    }

    AoeGraph *graph_;
    AoeNodeId id_;
};

class Graph {
public:
    /* Takes over a graph that a C function has handed out. */
    explicit Graph(AoeGraph *graph) : graph_(graph) {}

    static Result<Graph> try_create(const std::string &name) {
        return made([&](AoeGraph **graph) { return AoeGraphCreate(name.c_str(), graph); });
    }
    static Result<Graph> try_load(const std::string &path, const Options &options = {}) {
        const auto view = options.view();
        return made([&](AoeGraph **graph) {
            return AoeGraphLoadFile(path.c_str(), view.data(), view.size(), graph);
        });
    }
    static Result<Graph> try_load(const void *data, std::size_t size, const Options &options = {}) {
        const auto view = options.view();
        return made([&](AoeGraph **graph) {
            return AoeGraphLoadMemory(data, size, view.data(), view.size(), graph);
        });
    }

    /* The C object, still owned by this one. */
    AoeGraph *get() noexcept { return graph_.get(); }
    const AoeGraph *get() const noexcept { return graph_.get(); }

    Result<Output> try_input(const std::string &name, const Tensor &desc) {
        const AoeTensor view = desc.view();
        return added<Output>([&](AoeNodeId *id) { return AoeGraphAddInput(get(), name.c_str(), &view, id); });
    }
    Result<Output> try_constant(const std::string &name, const Tensor &value) {
        const AoeTensor view = value.view();
        return added<Output>([&](AoeNodeId *id) { return AoeGraphAddConst(get(), name.c_str(), &view, id); });
    }
    /* Adds an operator and connects its inputs in order. */
    Result<Node> try_node(const std::string &name, const std::string &op_type, const std::vector<Output> &inputs,
                          std::size_t output_count = 1) {
        auto node = added<Node>([&](AoeNodeId *id) {
            return AoeGraphAddNode(get(), name.c_str(), op_type.c_str(), output_count, id);
        });
        std::uint32_t slot = 0;
        for (const Output &input : inputs) {
            if (!node) break;
            const auto connected = try_connect(input, node->id(), slot++);
            if (!connected) return Failure{connected.status(), connected.message()};
        }
        return node;
    }
    Result<void> try_connect(Output source, AoeNodeId target, std::uint32_t target_input) {
        return Result<void>::from(AoeGraphAddEdge(get(), source.node, source.index, target, target_input));
    }
    Result<void> try_output(Output output) {
        return Result<void>::from(AoeGraphAddOutput(get(), output.node, output.index));
    }
    Result<Node> try_find(const std::string &name) {
        return added<Node>([&](AoeNodeId *id) { return AoeGraphFindNode(get(), name.c_str(), id); });
    }
    Result<std::size_t> try_node_count() const {
        std::size_t count = 0;
        const Status status = AoeGraphGetNodeCount(get(), &count);
        if (status != AOE_SUCCESS) return Failure::last(status);
        return count;
    }
    /* A string attribute, such as `_aoe_tiling` of a tuned node. */
    Result<std::string> try_string_attr(const std::string &node, const std::string &attr) const {
        return detail::read_text([&](char *buffer, std::size_t *size) {
            return AoeGraphGetNodeAttrString(get(), node.c_str(), attr.c_str(), buffer, size);
        });
    }
    Result<void> try_save(const std::string &path) const {
        return Result<void>::from(AoeGraphSaveFile(get(), path.c_str()));
    }

#if AOE_HAS_EXCEPTIONS
    static Graph create(const std::string &name) { return try_create(name).value(); }
    static Graph load(const std::string &path, const Options &options = {}) { return try_load(path, options).value(); }
    static Graph load(const void *data, std::size_t size, const Options &options = {}) {
        return try_load(data, size, options).value();
    }
    Output input(const std::string &name, const Tensor &desc) { return try_input(name, desc).value(); }
    Output constant(const std::string &name, const Tensor &value) { return try_constant(name, value).value(); }
    Node node(const std::string &name, const std::string &op_type, const std::vector<Output> &inputs,
              std::size_t output_count = 1) {
        return try_node(name, op_type, inputs, output_count).value();
    }
    void connect(Output source, AoeNodeId target, std::uint32_t target_input) {
        try_connect(source, target, target_input).value();
    }
    void output(Output output) { try_output(output).value(); }
    Node find(const std::string &name) { return try_find(name).value(); }
    std::size_t node_count() const { return try_node_count().value(); }
    std::string string_attr(const std::string &node, const std::string &attr) const {
        return try_string_attr(node, attr).value();
    }
    void save(const std::string &path) const { try_save(path).value(); }
#endif

private:
    struct Destroy {
        void operator()(AoeGraph *graph) const noexcept { AoeGraphDestroy(graph); }
    };

    template <class Make>
    static Result<Graph> made(Make make) {
        AoeGraph *graph = nullptr;
        const Status status = make(&graph);
        if (status != AOE_SUCCESS) return Failure::last(status);
        return Graph(graph);
    }

    template <class T, class Add>
    Result<T> added(Add add) {
        AoeNodeId id = 0;
        const Status status = add(&id);
        if (status != AOE_SUCCESS) return Failure::last(status);
        if constexpr (std::is_same_v<T, Node>) {
            return Node(get(), id);
        } else {
            return T{id, 0};
        }
    }

    std::unique_ptr<AoeGraph, Destroy> graph_;
};

/* ---- Library and sessions ------------------------------------------------------------------ */

/* The initialised library; finalised when this object goes. */
class Library {
public:
    static Result<Library> try_initialize(const Options &options = {}) {
        const auto view = options.view();
        const Status status = AoeInitialize(view.data(), view.size());
        if (status != AOE_SUCCESS) return Failure::last(status);
        return Library(true);
    }

#if AOE_HAS_EXCEPTIONS
    static Library initialize(const Options &options = {}) { return try_initialize(options).value(); }
#endif

    Library(Library &&other) noexcept : owner_(std::exchange(other.owner_, false)) {}
    Library &operator=(Library &&other) noexcept {
        std::swap(owner_, other.owner_);
        return *this;
    }
    ~Library() {
        if (owner_) AoeFinalize();
    }

private:
    explicit Library(bool owner) : owner_(owner) {}
    bool owner_;
};

class Session {
public:
    /* Told of progress; returns whether to go on. */
    using Progress = std::function<bool(const AoeProgress &)>;

    static Result<Session> try_create() {
        AoeSessionId id = 0;
        const Status status = AoeCreateSession(&id);
        if (status != AOE_SUCCESS) return Failure::last(status);
        return Session(id);
    }

    Session(Session &&other) noexcept : id_(std::exchange(other.id_, 0)), listener_(std::move(other.listener_)) {}
    Session &operator=(Session &&other) noexcept {
        std::swap(id_, other.id_);
        std::swap(listener_, other.listener_);
        return *this;
    }
    ~Session() {
        if (id_ != 0) AoeDestroySession(id_);
    }

    AoeSessionId id() const noexcept { return id_; }

    Result<void> try_set_graph(const Graph &graph) { return Result<void>::from(AoeSetTuningGraph(id_, graph.get())); }
    Result<void> try_set_inputs(const std::vector<Tensor> &inputs) {
        const auto views = detail::views(inputs);
        return Result<void>::from(AoeSetTuningGraphInput(id_, views.data(), views.size()));
    }
    Result<void> try_set_depend_graphs(const std::vector<const Graph *> &graphs) {
        std::vector<const AoeGraph *> pointers;
        pointers.reserve(graphs.size());
        for (const Graph *graph : graphs) pointers.push_back(graph == nullptr ? nullptr : graph->get());
        return Result<void>::from(AoeSetDependGraphs(id_, pointers.data(), pointers.size()));
    }
    Result<void> try_set_depend_inputs(const std::vector<std::vector<Tensor>> &inputs) {
        std::vector<std::vector<AoeTensor>> views;
        std::vector<const AoeTensor *> pointers;
        std::vector<std::size_t> counts;
        for (const auto &list : inputs) {
            views.push_back(detail::views(list));
            pointers.push_back(views.back().data());
            counts.push_back(views.back().size());
        }
        return Result<void>::from(AoeSetDependGraphsInputs(id_, pointers.data(), counts.data(), counts.size()));
    }
    Result<void> try_set_ge_session(void *ge_session) {
        return Result<void>::from(AoeSetGeSession(id_, ge_session));
    }

    /* Sets the function told of progress; an empty one for none. What it throws leaves through tune. */
    Result<void> try_on_progress(Progress progress) {
        std::unique_ptr<Listener> listener;
        if (progress) {
            listener = std::make_unique<Listener>();
            listener->progress = std::move(progress);
        }
        const Status status = AoeSetProgressCallback(id_, listener ? &Listener::call : nullptr, listener.get());
        if (status == AOE_SUCCESS) listener_ = std::move(listener);
        return Result<void>::from(status);
    }

    /* Tunes. True: tuned. False: there is nothing in the graph to tune. */
    Result<bool> try_tune(const Options &options = {}) {
        const auto view = options.view();
        const Status status = AoeTuningGraph(id_, view.data(), view.size());
        Result<bool> result = status == AOE_SUCCESS                    ? Result<bool>(true)
                              : status == AOE_ERROR_NON_OPTIMIZE_GRAPH ? Result<bool>(false)
                                                                       : Result<bool>(Failure::last(status));
#if AOE_HAS_EXCEPTIONS
        if (listener_ && listener_->thrown) std::rethrow_exception(std::exchange(listener_->thrown, nullptr));
#endif
        return result;
    }

    /* Stops the tuning that runs in another thread. */
    Result<void> try_cancel() const { return Result<void>::from(AoeCancel(id_)); }

    Result<std::string> try_report() const {
        return detail::read_text([this](char *buffer, std::size_t *size) { return AoeGetReport(id_, buffer, size); });
    }
    Result<std::string> try_error() const {
        return detail::read_text(
            [this](char *buffer, std::size_t *size) { return AoeGetSessionError(id_, buffer, size); });
    }
    Result<Graph> try_tuned_graph() const {
        AoeGraph *graph = nullptr;
        const Status status = AoeGetTunedGraph(id_, &graph);
        if (status != AOE_SUCCESS) return Failure::last(status);
        return Graph(graph);
    }

#if AOE_HAS_EXCEPTIONS
    static Session create() { return try_create().value(); }
    void set_graph(const Graph &graph) { try_set_graph(graph).value(); }
    void set_inputs(const std::vector<Tensor> &inputs) { try_set_inputs(inputs).value(); }
    void set_depend_graphs(const std::vector<const Graph *> &graphs) { try_set_depend_graphs(graphs).value(); }
    void set_depend_inputs(const std::vector<std::vector<Tensor>> &inputs) { try_set_depend_inputs(inputs).value(); }
    void set_ge_session(void *ge_session) { try_set_ge_session(ge_session).value(); }
    void on_progress(Progress progress) { try_on_progress(std::move(progress)).value(); }
    bool tune(const Options &options = {}) { return try_tune(options).value(); }
    void cancel() const { try_cancel().value(); }
    std::string report() const { return try_report().value(); }
    std::string error() const { return try_error().value(); }
    Graph tuned_graph() const { return try_tuned_graph().value(); }
#endif

private:
    /* The progress function at an address that stays; no exception may pass through C. */
    struct Listener {
        Progress progress;
#if AOE_HAS_EXCEPTIONS
        std::exception_ptr thrown;
#endif

        static std::int32_t call(const AoeProgress *told, void *payload) noexcept {
            auto *listener = static_cast<Listener *>(payload);
#if AOE_HAS_EXCEPTIONS
            try {
                return listener->progress(*told) ? 0 : 1;
            } catch (...) {
                listener->thrown = std::current_exception();
                return 1;
            }
#else
            return listener->progress(*told) ? 0 : 1;
#endif
        }
    };

    explicit Session(AoeSessionId id) : id_(id) {}

    AoeSessionId id_;
    std::unique_ptr<Listener> listener_;
};

/* ---- Simulator ----------------------------------------------------------------------------- */

namespace detail {

/* Texts as C sees them, which live as long as those. */
inline std::vector<const char *> pointers(const std::vector<std::string> &texts) {
    std::vector<const char *> names;
    for (const std::string &text : texts) names.push_back(text.c_str());
    return names;
}

/* What a function answers to a text. */
inline Result<std::string> answer_of(decltype(&AoeSimulate) function, const std::string &question,
                                     const Options &options) {
    const std::vector<AoeOption> view = options.view();
    return read_text([&](char *buffer, std::size_t *size) {
        return function(question.c_str(), view.data(), view.size(), buffer, size);
    });
}

} // namespace detail

/* One kernel's prediction as JSON, from one case as JSON; see AoeSimulate. */
inline Result<std::string> try_simulate(const std::string &case_json, const Options &options = {}) {
    return detail::answer_of(AoeSimulate, case_json, options);
}
#if AOE_HAS_EXCEPTIONS
inline std::string simulate(const std::string &case_json, const Options &options = {}) {
    return try_simulate(case_json, options).value();
}
#endif

/* CANN's default tiling of one kernel as JSON, from one case as JSON; see AoeTiling. */
inline Result<std::string> try_tiling(const std::string &case_json, const Options &options = {}) {
    return detail::answer_of(AoeTiling, case_json, options);
}
#if AOE_HAS_EXCEPTIONS
inline std::string tiling(const std::string &case_json, const Options &options = {}) {
    return try_tiling(case_json, options).value();
}
#endif

/* Which configurations of a tile program fit a part, and the fastest of them, as JSON; see AoeCandidates. */
inline Result<std::string> try_candidates(const std::string &question_json, const Options &options = {}) {
    return detail::answer_of(AoeCandidates, question_json, options);
}
#if AOE_HAS_EXCEPTIONS
inline std::string candidates(const std::string &question_json, const Options &options = {}) {
    return try_candidates(question_json, options).value();
}
#endif

/* ---- Search -------------------------------------------------------------------------------- */

/* A search in a space of your own; see AoeSearch in aoe.h. Ended when this object goes. */
class Search {
public:
    /* A configuration to measure: for each parameter the place of its value in the list of values. */
    struct Trial {
        std::uint64_t id;
        std::vector<std::uint32_t> indices;
    };
    struct Best {
        double cost;
        std::vector<std::uint32_t> indices;
    };

    /* parameter_count: parameters of the space. */
    static Result<Search> try_create(const std::string &space_json, std::size_t parameter_count,
                                     const Options &options = {}) {
        const std::vector<AoeOption> view = options.view();
        AoeSearch *search = nullptr;
        const Status status = AoeSearchCreate(space_json.c_str(), view.data(), view.size(), &search);
        if (status != AOE_SUCCESS) return Failure::last(status);
        return Search(search, parameter_count);
    }

    Search(Search &&other) noexcept
        : search_(std::exchange(other.search_, nullptr)), parameter_count_(other.parameter_count_) {}
    Search &operator=(Search &&other) noexcept {
        std::swap(search_, other.search_);
        std::swap(parameter_count_, other.parameter_count_);
        return *this;
    }
    ~Search() { AoeSearchDestroy(search_); }

    /* The C object, still owned by this one. */
    AoeSearch *get() const noexcept { return search_; }

    /* The next trial; nothing when the search is over, and then the report says why. */
    Result<std::optional<Trial>> try_ask() {
        Trial trial{0, std::vector<std::uint32_t>(parameter_count_)};
        const Status status = AoeSearchAsk(search_, trial.indices.data(), trial.indices.size(), &trial.id);
        if (status == AOE_ERROR_EXHAUSTED) return std::optional<Trial>();
        if (status != AOE_SUCCESS) return Failure::last(status);
        return std::optional<Trial>(std::move(trial));
    }
    Result<void> try_tell(std::uint64_t trial, double cost) {
        return Result<void>::from(AoeSearchTell(search_, trial, AOE_TRIAL_MEASURED, cost));
    }
    Result<void> try_fail(std::uint64_t trial) {
        return Result<void>::from(AoeSearchTell(search_, trial, AOE_TRIAL_FAILED, 0));
    }
    Result<Best> try_best() const {
        Best best{0, std::vector<std::uint32_t>(parameter_count_)};
        const Status status = AoeSearchBest(search_, best.indices.data(), best.indices.size(), &best.cost);
        if (status != AOE_SUCCESS) return Failure::last(status);
        return best;
    }
    Result<std::string> try_report() const {
        return detail::read_text(
            [this](char *buffer, std::size_t *size) { return AoeSearchGetReport(search_, buffer, size); });
    }

#if AOE_HAS_EXCEPTIONS
    static Search create(const std::string &space_json, std::size_t parameter_count, const Options &options = {}) {
        return try_create(space_json, parameter_count, options).value();
    }
    std::optional<Trial> ask() { return try_ask().value(); }
    void tell(std::uint64_t trial, double cost) { try_tell(trial, cost).value(); }
    void fail(std::uint64_t trial) { try_fail(trial).value(); }
    Best best() const { return try_best().value(); }
    std::string report() const { return try_report().value(); }
#endif

private:
    Search(AoeSearch *search, std::size_t parameter_count) : search_(search), parameter_count_(parameter_count) {}
    AoeSearch *search_;
    std::size_t parameter_count_;
};

/* ---- Banks --------------------------------------------------------------------------------- */

/* Banks held in memory; see AoeBankOpen. Closed when this object goes. Queries may come from any thread. */
class Bank {
public:
    /* paths: files, or directories of them, the one whose records count first; none opens the bank that tuning would
       write and read for the option soc_version. */
    static Result<Bank> try_open(const std::vector<std::string> &paths, const Options &options = {}) {
        const std::vector<const char *> names = detail::pointers(paths);
        const std::vector<AoeOption> view = options.view();
        AoeBank *bank = nullptr;
        const Status status = AoeBankOpen(names.data(), names.size(), view.data(), view.size(), &bank);
        if (status != AOE_SUCCESS) return Failure::last(status);
        return Bank(bank);
    }

    Bank(Bank &&other) noexcept : bank_(std::exchange(other.bank_, nullptr)) {}
    Bank &operator=(Bank &&other) noexcept {
        std::swap(bank_, other.bank_);
        return *this;
    }
    ~Bank() { AoeBankClose(bank_); }

    /* The C object, still owned by this one. */
    AoeBank *get() const noexcept { return bank_; }

    /* The record's knowledge as JSON for the info_dict of a record of an operator type; nothing where none is recorded. */
    Result<std::optional<std::string>> try_find(const std::string &op_type, const std::string &info_dict) const {
        return query(op_type.c_str(), AOE_BANK_KEY_INFO_DICT, info_dict.data(), info_dict.size());
    }
    /* The same for the operator's key as CANN packs it. */
    Result<std::optional<std::string>> try_find_packed(const std::string &op_type, const void *key,
                                                       std::size_t size) const {
        return query(op_type.c_str(), AOE_BANK_KEY_PACKED, key, size);
    }
    /* The same for a case as simulate reads it. */
    Result<std::optional<std::string>> try_find_case(const std::string &case_json) const {
        return query(nullptr, AOE_BANK_KEY_CASE, case_json.data(), case_json.size());
    }

#if AOE_HAS_EXCEPTIONS
    static Bank open(const std::vector<std::string> &paths, const Options &options = {}) {
        return try_open(paths, options).value();
    }
    std::optional<std::string> find(const std::string &op_type, const std::string &info_dict) const {
        return try_find(op_type, info_dict).value();
    }
    std::optional<std::string> find_packed(const std::string &op_type, const void *key, std::size_t size) const {
        return try_find_packed(op_type, key, size).value();
    }
    std::optional<std::string> find_case(const std::string &case_json) const { return try_find_case(case_json).value(); }
#endif

private:
    explicit Bank(AoeBank *bank) : bank_(bank) {}

    Result<std::optional<std::string>> query(const char *op_type, std::int32_t kind, const void *key,
                                             std::size_t key_size) const {
        Result<std::string> found = detail::read_text([&](char *buffer, std::size_t *size) {
            return AoeBankQuery(bank_, op_type, kind, key, key_size, buffer, size);
        });
        if (found) return std::optional<std::string>(*std::move(found));
        if (found.status() == AOE_ERROR_NOT_FOUND) return std::optional<std::string>();
        return found.failure();
    }

    AoeBank *bank_;
};

/* Merges bank files, directories of them or bank roots into one; see AoeBankMerge. */
inline Result<AoeBankMerged> try_merge_banks(const std::vector<std::string> &sources, const std::string &into,
                                             const std::vector<std::string> &built_in = {}) {
    const std::vector<const char *> names = detail::pointers(sources), shipped = detail::pointers(built_in);
    AoeBankMerged merged = {};
    merged.struct_size = sizeof merged;
    const Status status =
        AoeBankMerge(names.data(), names.size(), into.c_str(), shipped.data(), shipped.size(), &merged);
    if (status != AOE_SUCCESS) return Failure::last(status);
    return merged;
}
#if AOE_HAS_EXCEPTIONS
inline AoeBankMerged merge_banks(const std::vector<std::string> &sources, const std::string &into,
                                 const std::vector<std::string> &built_in = {}) {
    return try_merge_banks(sources, into, built_in).value();
}
#endif

} // namespace aoe

#endif /* AOE_HPP */
