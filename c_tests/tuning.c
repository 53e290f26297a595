/* Tuning: progress, cancelling, log, the report and the buffer it comes in. */
#include "support/json.h"
#include "support/network.h"

TEST(report_of_a_tuned_graph) {
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    char *report = report_of(session);
    CHECK(json_valid(report));
    const char *name = json_after(report, "tuning_name");
    CHECK(name != NULL && strncmp(name, "\"small\"", 7) == 0);
    const char *before = json_after(report, "model_baseline_performance(ms)");
    const char *after = json_after(report, "model_result_performance(ms)");
    CHECK(before != NULL && after != NULL);
    CHECK(strtod(before, NULL) > 0 && strtod(after, NULL) > 0 && strtod(after, NULL) <= strtod(before, NULL));
    const char *result = json_after(report, "opat_tuning_result");
    CHECK(result != NULL && strncmp(result, "\"tuning successful\"", 19) == 0);
    CHECK(strstr(report, "simulator") != NULL);
    free(report);
    CHECK_OK(AoeDestroySession(session));
    CHECK_OK(AoeFinalize());
}

TEST(each_tuned_node_of_the_tuned_graph_has_its_tiling) {
    /* Node, and a field that only its kind of tiling has: cube or vector. */
    static const char *const nodes[][2] = {{"fc1", "used_cores"}, {"relu", "ub_tile_bytes"}, {"fc2", "used_cores"}};
    AoeGraph *tuned = NULL;
    size_t size = 0;
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeGetTunedGraph(session, &tuned));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(AoeGraphGetNodeAttrString(tuned, nodes[i][0], "_aoe_tiling", NULL, &size));
        char *tiling = malloc(size);
        CHECK(tiling != NULL);
        CHECK_OK(AoeGraphGetNodeAttrString(tuned, nodes[i][0], "_aoe_tiling", tiling, &size));
        const char *field = json_after(tiling, nodes[i][1]);
        CHECK(tiling[0] == '{' && json_valid(tiling) && field != NULL && strtod(field, NULL) >= 1);
        free(tiling);
    }
    CHECK_ERROR(AOE_ERROR_NOT_FOUND, "_aoe_tiling", AoeGraphGetNodeAttrString(tuned, "x", "_aoe_tiling", NULL, &size));
    AoeGraphDestroy(tuned);
    CHECK_OK(AoeFinalize());
}

TEST(no_report_before_a_tuning) {
    size_t size = 0;
    AoeGraph *graph = NULL;
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_ERROR(AOE_ERROR_NOT_FOUND, "report", AoeGetReport(session, NULL, &size));
    CHECK_ERROR(AOE_ERROR_NOT_FOUND, "graph", AoeGetTunedGraph(session, &graph));
    CHECK(graph == NULL && size == 0);
    CHECK_OK(AoeFinalize());
}

TEST(report_buffer_protocol) {
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    size_t needed = 12345, size;
    CHECK_OK(AoeGetReport(session, NULL, &needed));
    CHECK(needed > 1 && needed != 12345);
    char *buffer = malloc(needed + 1);
    CHECK(buffer != NULL);

    memset(buffer, 'x', needed + 1);
    size = needed - 1;
    CHECK_ERROR(AOE_ERROR_BUFFER_TOO_SMALL, "needed", AoeGetReport(session, buffer, &size));
    CHECK(size == needed);
    for (size_t i = 0; i <= needed; i++) CHECK(buffer[i] == 'x');

    size = needed + 1;
    CHECK_OK(AoeGetReport(session, buffer, &size));
    CHECK(size == needed && strlen(buffer) == needed - 1 && buffer[needed] == 'x');

    CHECK_STATUS(AOE_ERROR_INVALID_PARAM, AoeGetReport(session, buffer, NULL));
    free(buffer);
    CHECK_OK(AoeDestroySession(session));
    CHECK_OK(AoeFinalize());
}

TEST(the_same_seed_gives_the_same_times) {
    char *times[2];
    for (int run = 0; run < 2; run++) {
        const AoeOption parallel[] = {{"tuning_parallel_num", run == 0 ? "1" : "4"}, {"work_path", "."}};
        CHECK(mkdir(run == 0 ? "bank0" : "bank1", 0700) == 0);
        setenv("TUNE_BANK_PATH", run == 0 ? "bank0" : "bank1", 1);
        CHECK_OK(AoeInitialize(QUICK));
        AoeSessionId session = small_session();
        CHECK_OK(AoeTuningGraph(session, parallel, 2));
        times[run] = report_of(session);
        CHECK_OK(AoeFinalize());
    }
    const char *const keys[] = {"model_baseline_performance(ms)", "model_result_performance(ms)"};
    for (int i = 0; i < 2; i++) {
        const char *first = json_after(times[0], keys[i]), *second = json_after(times[1], keys[i]);
        CHECK(first != NULL && second != NULL && strtod(first, NULL) == strtod(second, NULL));
    }
    free(times[0]);
    free(times[1]);
}

struct seen {
    uint64_t calls, done, total, cancel_at;
    double network_us, baseline_us;
    uint64_t trials;
    double remaining_s;
};

static int32_t watch(const AoeProgress *progress, void *payload) {
    struct seen *seen = payload;
    CHECK(progress->struct_size == sizeof *progress);
    CHECK(progress->done >= seen->done && progress->done <= progress->total);
    /* Named after each operator; not before the first, nor at the end. */
    CHECK(progress->node != NULL && (progress->node[0] != '\0') == (progress->done > seen->done));
    CHECK(progress->elapsed_s >= 0);
    CHECK(progress->trials >= seen->trials);
    /* The time left is not known before the first operator, and none at the end; a cancel may come before a trial. */
    CHECK(seen->cancel_at > 0 || (progress->trials > 0) == (progress->done > 0));
    CHECK(seen->cancel_at > 0 || (progress->remaining_s < 0) == (progress->done == 0));
    CHECK(progress->done < progress->total || progress->remaining_s == 0);
    seen->calls++;
    seen->done = progress->done;
    seen->total = progress->total;
    seen->network_us = progress->network_us;
    seen->baseline_us = progress->baseline_us;
    seen->trials = progress->trials;
    seen->remaining_s = progress->remaining_s;
    return seen->calls == seen->cancel_at ? -1 : 0;
}

TEST(progress_goes_from_nothing_to_all) {
    struct seen seen = {0, 0, 0, 0, 0, 0, 0, 0};
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_OK(AoeSetProgressCallback(session, watch, &seen));
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    CHECK(seen.total == 3 && seen.done == 3 && seen.calls == 5 && seen.trials > 3 && seen.remaining_s == 0);
    CHECK(seen.baseline_us > 0 && seen.network_us > 0 && seen.network_us <= seen.baseline_us);
    uint64_t calls = seen.calls;
    CHECK_OK(AoeSetProgressCallback(session, NULL, NULL));
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    CHECK(seen.calls == calls);
    CHECK_OK(AoeFinalize());
}

TEST(cancel_from_progress) {
    for (uint64_t at = 1; at <= 3; at++) {
        struct seen seen = {0, 0, 0, at, 0, 0, 0, 0};
        AoeGraph *graph = NULL;
        CHECK_OK(AoeInitialize(QUICK));
        AoeSessionId session = small_session();
        CHECK_OK(AoeSetProgressCallback(session, watch, &seen));
        CHECK_ERROR(AOE_ERROR_CANCELLED, "cancel", AoeTuningGraph(session, NULL, 0));
        CHECK(seen.calls >= at);
        char *report = report_of(session);
        CHECK(json_valid(report) && strstr(report, "\"tuning incomplete\"") != NULL);
        free(report);
        CHECK_OK(AoeGetTunedGraph(session, &graph)); /* as far as it was tuned */
        AoeGraphDestroy(graph);
        CHECK_OK(AoeDestroySession(session));
        CHECK_OK(AoeFinalize());
    }
}

/* Calls back into the library from where it calls us. */
static int32_t reenter(const AoeProgress *progress, void *payload) {
    AoeSessionId session = *(AoeSessionId *)payload, other = 0;
    size_t size = 0;
    (void)progress;
    CHECK_STATUS(AOE_ERROR_BUSY, AoeTuningGraph(session, NULL, 0));
    CHECK_STATUS(AOE_ERROR_BUSY, AoeDestroySession(session));
    CHECK_STATUS(AOE_ERROR_BUSY, AoeFinalize());
    CHECK_STATUS(AOE_ERROR_REPEAT_INITIALIZE, AoeInitialize(NULL, 0));
    CHECK_OK(AoeGetSessionError(session, NULL, &size));
    AoeStatus status = AoeGetReport(session, NULL, &size);
    CHECK(status == AOE_SUCCESS || status == AOE_ERROR_NOT_FOUND);
    other = small_session();
    CHECK_OK(AoeTuningGraph(other, NULL, 0));
    CHECK_OK(AoeDestroySession(other));
    CHECK_OK(AoeSetLogCallback(NULL, NULL));
    return 0;
}

TEST(a_progress_callback_may_call_everything) {
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_OK(AoeSetProgressCallback(session, reenter, &session));
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeDestroySession(session));
    CHECK_OK(AoeFinalize());
}

static int32_t cancel_by_call(const AoeProgress *progress, void *payload) {
    (void)progress;
    CHECK_OK(AoeCancel(*(AoeSessionId *)payload));
    return 0;
}

TEST(a_progress_callback_may_cancel_by_call) {
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_OK(AoeSetProgressCallback(session, cancel_by_call, &session));
    CHECK_STATUS(AOE_ERROR_CANCELLED, AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeFinalize());
}

struct log {
    int lines, worst, reentered;
};

static void listen(AoeLogLevel level, const char *message, void *payload) {
    struct log *log = payload;
    CHECK(level >= AOE_LOG_DEBUG && level <= AOE_LOG_ERROR);
    CHECK(message != NULL && message[0] != '\0' && strchr(message, '\n') == NULL);
    __atomic_fetch_add(&log->lines, 1, __ATOMIC_RELAXED);
    if (level > log->worst) log->worst = level;
    /* A log callback may call everything too; no lock is held around it. */
    AoeSessionId session = 0;
    if (__atomic_fetch_add(&log->reentered, 1, __ATOMIC_RELAXED) == 0 && AoeCreateSession(&session) == AOE_SUCCESS)
        CHECK_OK(AoeDestroySession(session));
}

TEST(log_messages_reach_the_callback_and_nobody_else) {
    struct log log = {0, AOE_LOG_DEBUG, 0};
    const AoeOption verbose[] = {{"log", "debug"}, {"ge.unknown", "1"}};
    CHECK_OK(AoeSetLogCallback(listen, &log));
    CHECK_OK(AoeInitialize(verbose, 2));
    AoeSessionId session = small_session();
    CHECK_OK(AoeTuningGraph(session, QUICK));
    CHECK(log.lines > 0);
    CHECK_OK(AoeFinalize()); /* reclaims a session, which is worth a warning */
    CHECK(log.worst >= AOE_LOG_WARNING);
    CHECK_OK(AoeSetLogCallback(NULL, NULL));
    int lines = log.lines;
    CHECK_OK(AoeInitialize(verbose, 2));
    CHECK_OK(AoeFinalize());
    CHECK(log.lines == lines);
}

TEST(the_session_reclaimed_by_finalize_is_logged_without_a_lock) {
    struct log log = {0, AOE_LOG_DEBUG, 0};
    CHECK_OK(AoeInitialize(NULL, 0));
    small_session();
    CHECK_OK(AoeSetLogCallback(listen, &log));
    CHECK_OK(AoeFinalize());
    CHECK(log.lines > 0 && log.reentered > 0);
    CHECK_OK(AoeSetLogCallback(NULL, NULL));
}

TEST(inputs_give_open_dimensions_their_size) {
    const int64_t open[] = {-1, 64}, weight[] = {64, 32}, real[] = {8, 64};
    AoeTensor x = tensor_of(AOE_DT_FLOAT16, open, 2), w = tensor_of(AOE_DT_FLOAT16, weight, 2);
    AoeTensor given = tensor_of(AOE_DT_FLOAT16, real, 2);
    AoeGraph *graph = NULL;
    AoeNodeId input, constant, product;
    AoeSessionId session = 0;
    CHECK_OK(AoeGraphCreate("open", &graph));
    CHECK_OK(AoeGraphAddInput(graph, "x", &x, &input));
    CHECK_OK(AoeGraphAddConst(graph, "w", &w, &constant));
    CHECK_OK(AoeGraphAddNode(graph, "fc", "MatMulV2", 1, &product));
    CHECK_OK(AoeGraphAddEdge(graph, input, 0, product, 0));
    CHECK_OK(AoeGraphAddEdge(graph, constant, 0, product, 1));
    CHECK_OK(AoeInitialize(QUICK));
    CHECK_OK(AoeCreateSession(&session));
    CHECK_OK(AoeSetTuningGraph(session, graph));
    CHECK_ERROR(AOE_ERROR_DYNAMIC_GRAPH, "x", AoeTuningGraph(session, NULL, 0));
    const AoeOption shape[] = {{"input_shape", "x:4,64"}};
    CHECK_OK(AoeTuningGraph(session, shape, 1));
    CHECK_OK(AoeSetTuningGraphInput(session, &given, 1));
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    AoeGraphDestroy(graph);
    CHECK_OK(AoeFinalize());
}

TEST(what_the_end_of_a_network_reads_is_its_output_and_nobody_reads_from_it) {
    const int64_t rows[] = {64, 64}, columns[] = {64, 32};
    AoeTensor x = tensor_of(AOE_DT_FLOAT16, rows, 2), w = tensor_of(AOE_DT_FLOAT16, columns, 2);
    AoeGraph *graph = NULL, *tuned = NULL;
    AoeNodeId input, constant, product, end, late, found;
    AoeSessionId session = 0;
    CHECK_OK(AoeGraphCreate("ended", &graph));
    CHECK_OK(AoeGraphAddInput(graph, "x", &x, &input));
    CHECK_OK(AoeGraphAddConst(graph, "w", &w, &constant));
    CHECK_OK(AoeGraphAddNode(graph, "fc", "MatMulV2", 1, &product));
    CHECK_OK(AoeGraphAddNode(graph, "end", "NetOutput", 1, &end));
    CHECK_OK(AoeGraphAddEdge(graph, input, 0, product, 0));
    CHECK_OK(AoeGraphAddEdge(graph, constant, 0, product, 1));
    CHECK_OK(AoeGraphAddEdge(graph, product, 0, end, 0));
    CHECK_OK(AoeInitialize(QUICK));
    CHECK_OK(AoeCreateSession(&session));
    CHECK_OK(AoeSetTuningGraph(session, graph));
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeGetTunedGraph(session, &tuned));
    CHECK_OK(AoeGraphFindNode(tuned, "fc", &found));
    AoeGraphDestroy(tuned);
    CHECK_OK(AoeGraphAddNode(graph, "late", "Relu", 1, &late));
    CHECK_OK(AoeGraphAddEdge(graph, end, 0, late, 0));
    CHECK_ERROR(AOE_ERROR_INVALID_GRAPH, "`late` (Relu), input 0", AoeSetTuningGraph(session, graph));
    CHECK_ERROR(AOE_ERROR_INVALID_GRAPH, "`end`", AoeGraphSaveFile(graph, "ended.air"));
    AoeGraphDestroy(graph);
    CHECK_OK(AoeFinalize());
}
