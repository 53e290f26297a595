/* calls.h - a sequence of calls that an input says, and what must hold after each. */
#ifndef CALLS_H
#define CALLS_H

#include "hostile.h"

#define KEPT 3
static AoeGraph *graphs[KEPT];
static AoeSessionId sessions[KEPT];
static AoeSearch *searches[KEPT];
static AoeBank *banks[KEPT];
static uint64_t trial;

/* Each call is told, where that is asked for; the planted fault. */
static int is_told, is_short_planted, is_leak_planted;
static const char *call_name = "";

#define FAIL(...)                                                                                                     \
    do {                                                                                                              \
        dprintf(2, "%s: ", call_name);                                                                                \
        dprintf(2, __VA_ARGS__);                                                                                      \
        dprintf(2, "\n");                                                                                             \
        _exit(3);                                                                                                     \
    } while (0)

/* What holds after every call that has a status. */
static AoeStatus checked(AoeStatus status) {
    const char *name = AoeGetStatusName(status), *error = AoeGetLastError();
    if (is_told) dprintf(1, "%s: %s %s\n", call_name, name, error);
    if (strcmp(name, "AOE_STATUS_UNKNOWN") == 0) FAIL("answers %d, which is no status", (int)status);
    if (status == AOE_ERROR_INTERNAL || status == AOE_ERROR_FORKED) FAIL("answers %s: %s", name, error);
    if ((status == AOE_SUCCESS) != (*error == '\0')) FAIL("answers %s with the error `%s`", name, error);
    return status;
}
#define CALL(function, ...) (call_name = #function, checked(function(__VA_ARGS__)))

/* What lies where an answer goes; a failed call must leave it as it was. */
static int is_untouched(const void *answer, size_t size) {
    const uint8_t *bytes = answer;
    while (size > 0 && bytes[size - 1] == 0x5a) size--;
    return size == 0;
}

/* An object that a call makes; where it fails, nothing is written. */
#define MAKES(type, kept, function, ...)                                                                              \
    do {                                                                                                              \
        type *made = byte() % 32 == 0 ? NULL : place(sizeof *made);                                                   \
        if (made != NULL) memset(made, 0x5a, sizeof *made);                                                           \
        AoeStatus made_status = CALL(function, __VA_ARGS__, made);                                                    \
        if (made == NULL ? made_status == AOE_SUCCESS : (made_status != AOE_SUCCESS) != is_untouched(made, sizeof *made)) \
            FAIL("status %d, and its answer is %s", (int)made_status, made == NULL ? "nowhere" : "wrong");            \
        if (made != NULL && made_status == AOE_SUCCESS) kept = *made;                                                 \
    } while (0)

/* A text that a call writes: nothing, its size, too little room, and enough. */
#define WRITES(function, ...)                                                                                         \
    do {                                                                                                              \
        size_t *size = byte() % 32 == 0 ? NULL : place(sizeof *size), room = (size_t)byte() * (byte() % 4 == 0 ? 32 : 1); \
        char *buffer = byte() % 4 == 0 ? NULL : memset(place(room), 0x5a, room);                                      \
        if (size != NULL) *size = room + (is_short_planted ? 4 : 0);                                                  \
        check_text(CALL(function, __VA_ARGS__, buffer, size), buffer, room, size);                                    \
    } while (0)

static void check_text(AoeStatus status, const char *buffer, size_t room, const size_t *size) {
    if (size == NULL) {
        if (status == AOE_SUCCESS) FAIL("succeeds without a size");
        return;
    }
    int is_written = status == AOE_SUCCESS && buffer != NULL;
    if (is_written && (*size == 0 || *size > room || strlen(buffer) + 1 != *size)) FAIL("says size %zu of another text", *size);
    if (status == AOE_ERROR_BUFFER_TOO_SMALL && *size <= room) FAIL("needs %zu bytes and does not take %zu", *size, room);
    for (size_t i = is_written ? *size : 0; buffer != NULL && i < room; i++) {
        if (buffer[i] != 0x5a) FAIL("status %d, and byte %zu behind its text is written", (int)status, i);
    }
}

/* Which of those kept: the first mostly. */
static int kept(void) { return byte() % 2 == 0 ? 0 : below(KEPT); }

static AoeGraph *graph(void) { return graphs[kept()]; }

static AoeSessionId session(void) {
    if (byte() % 16 == 0) return wide();
    AoeSessionId id = sessions[kept()];
    return byte() % 16 == 0 ? id + (1ULL << 32) : id;
}

static AoeSearch *search(void) {
    if (byte() % 16 == 0) return (AoeSearch *)(uintptr_t)wide();
    return searches[kept()];
}

static uint32_t node(void) { return byte() % 16 == 0 ? (uint32_t)wide() : below(8); }

static int32_t stop_soon(const AoeProgress *progress, void *payload) {
    if (progress->struct_size < sizeof *progress || progress->done > progress->total) _exit(4);
    return payload != NULL && progress->done > 1;
}

static void call_graph(void) {
    size_t count;
    const AoeOption *given;
    switch (below(15)) {
    case 0: {
        int at = 1 + below(KEPT - 1);
        if (!is_leak_planted) AoeGraphDestroy(graphs[at]);
        graphs[at] = NULL;
        MAKES(AoeGraph *, graphs[at], AoeGraphCreate, TEXT(names));
        break;
    }
    case 1: MAKES(AoeNodeId, count, AoeGraphAddInput, graph(), TEXT(names), tensors(1)); break;
    case 2: MAKES(AoeNodeId, count, AoeGraphAddConst, graph(), TEXT(names), tensors(1)); break;
    case 3:
    case 4:
        MAKES(AoeNodeId, count, AoeGraphAddNode, graph(), TEXT(names), TEXT(types), byte() % 16 == 0 ? wide() : below(3));
        break;
    case 5:
    case 6: CALL(AoeGraphAddEdge, graph(), node(), below(3), node(), byte() % 16 == 0 ? (uint32_t)wide() : below(3)); break;
    case 7: CALL(AoeGraphAddOutput, graph(), node(), below(2)); break;
    case 8: CALL(AoeGraphSetOutputDesc, graph(), node(), below(2), tensors(1)); break;
    case 9: {
        AoeGraph *of = graph();
        uint32_t at = node();
        const char *name = TEXT(attributes);
        switch (below(5)) {
        case 0: CALL(AoeGraphSetAttrInt, of, at, name, dimension()); break;
        case 1: CALL(AoeGraphSetAttrFloat, of, at, name, (double)dimension() / (double)below(2)); break;
        case 2: CALL(AoeGraphSetAttrBool, of, at, name, byte()); break;
        case 3: CALL(AoeGraphSetAttrString, of, at, name, TEXT(values)); break;
        default: CALL(AoeGraphSetAttrDataType, of, at, name, (AoeDataType)dimension());
        }
        break;
    }
    case 10: {
        AoeGraph *of = graph();
        count = below(5);
        int64_t *numbers = place(count * sizeof *numbers);
        for (size_t i = 0; i < count; i++) numbers[i] = dimension();
        CALL(AoeGraphSetAttrInts, of, node(), TEXT(attributes), byte() % 16 == 0 ? NULL : numbers, count);
        break;
    }
    case 11: MAKES(size_t, count, AoeGraphGetNodeCount, graph()); break;
    case 12: WRITES(AoeGraphGetNodeAttrString, graph(), TEXT(names), TEXT(attributes)); break;
    case 13: CALL(AoeGraphSaveFile, graph(), TEXT(files)); break;
    default: {
        int at = 1 + below(KEPT - 1);
        AoeGraphDestroy(graphs[at]);
        graphs[at] = NULL;
        given = options(&count);
        if (byte() % 2 == 0) {
            MAKES(AoeGraph *, graphs[at], AoeGraphLoadFile, TEXT(files), given, count);
        } else {
            size_t size = byte();
            uint8_t *bytes = place(size);
            for (size_t i = 0; i < size; i++) bytes[i] = byte();
            MAKES(AoeGraph *, graphs[at], AoeGraphLoadMemory, byte() % 16 == 0 ? NULL : bytes, size, given, count);
        }
    }
    }
}

/* A tuning that ends soon, whatever else is asked for. */
static void tune(AoeSessionId of) {
    AoeOption last[] = {{"job_type", "2"}, {"backend", "simulator"}, {"soc_version", "Ascend910B2"}, {"max_tuning_count", "3"}};
    size_t count, own = sizeof last / sizeof *last;
    if (byte() % 2 == 0) {
        CALL(AoeTuningGraph, of, last, own);
        return;
    }
    const AoeOption *given = options(&count);
    if (given == NULL || count > 4) {
        CALL(AoeTuningGraph, of, given, count);
        return;
    }
    AoeOption *all = place((count + own + 1) * sizeof *all);
    memcpy(all, given, count * sizeof *all);
    all[count].key = "job_type";
    all[count].value = byte() % 2 == 0 ? "2" : "1";
    memcpy(all + count + 1, last, sizeof last);
    CALL(AoeTuningGraph, of, all, count + own + 1);
}

static void call_session(void) {
    size_t count;
    switch (below(12)) {
    case 0: {
        const AoeOption *given = options(&count);
        CALL(AoeInitialize, given, count);
        break;
    }
    case 1: CALL(AoeInitialize, NULL, 0); break;
    case 2:
        if (byte() % 16 == 0) CALL(AoeFinalize);
        break;
    case 3: {
        int at = below(KEPT);
        AoeSessionId *made = memset(place(sizeof *made), 0x5a, sizeof *made);
        if (CALL(AoeCreateSession, made) == AOE_SUCCESS) sessions[at] = *made;
        else if (!is_untouched(made, sizeof *made)) FAIL("fails and writes its answer");
        break;
    }
    case 4:
        if (byte() % 8 == 0) CALL(AoeDestroySession, session());
        break;
    case 5: {
        AoeSessionId of = session();
        const AoeGraph *const *list = byte() % 8 == 0 ? NULL : placed(graphs, sizeof graphs);
        CALL(AoeSetDependGraphs, of, list, below(KEPT + 1));
        break;
    }
    case 6: {
        AoeSessionId of = session();
        count = below(3);
        const AoeTensor **lists = place(count * sizeof *lists);
        size_t *counts = place(count * sizeof *counts);
        for (size_t i = 0; i < count; i++) {
            counts[i] = below(3);
            lists[i] = tensors(counts[i]);
        }
        CALL(AoeSetDependGraphsInputs, of, lists, byte() % 8 == 0 ? NULL : counts, count);
        break;
    }
    case 7: {
        AoeSessionId of = session();
        count = below(3);
        CALL(AoeSetTuningGraphInput, of, tensors(count), count);
        break;
    }
    case 8: {
        AoeSessionId of = session();
        if (byte() % 2 == 0) CALL(AoeSetTuningGraph, of, graph());
        CALL(AoeSetProgressCallback, of, byte() % 4 == 0 ? NULL : stop_soon, byte() % 2 == 0 ? NULL : &trial);
        tune(of);
        break;
    }
    case 9: WRITES(AoeGetReport, session()); break;
    case 10: {
        int at = 1 + below(KEPT - 1);
        AoeSessionId of = session();
        AoeGraphDestroy(graphs[at]);
        graphs[at] = NULL;
        MAKES(AoeGraph *, graphs[at], AoeGetTunedGraph, of);
        break;
    }
    default: CALL(AoeCancel, session()); WRITES(AoeGetSessionError, session());
    }
}

static void call_rest(void) {
    size_t count;
    switch (below(11)) {
    case 0: {
        const char *which = TEXT(cases);
        const AoeOption *given = options(&count);
        WRITES(AoeSimulate, which, given, count);
        break;
    }
    case 1: {
        const char *which = TEXT(cases);
        const AoeOption *given = options(&count);
        WRITES(AoeTiling, which, given, count);
        break;
    }
    case 2: {
        const char *which = TEXT(cases);
        const AoeOption *given = options(&count);
        WRITES(AoeCandidates, which, given, count);
        break;
    }
    case 3: {
        int at = 1 + below(KEPT - 1);
        AoeSearchDestroy(searches[at]);
        const char *space = TEXT(spaces);
        const AoeOption *given = options(&count);
        MAKES(AoeSearch *, searches[at], AoeSearchCreate, space, given, count);
        break;
    }
    case 4: {
        AoeSearch *of = search();
        count = byte() % 4 == 0 ? below(4) : 2;
        uint64_t *number = byte() % 16 == 0 ? NULL : place(sizeof *number);
        uint32_t *indices = place(count * sizeof *indices);
        if (CALL(AoeSearchAsk, of, byte() % 16 == 0 ? NULL : indices, count, number) == AOE_SUCCESS) trial = *number;
        break;
    }
    case 5: CALL(AoeSearchTell, search(), byte() % 8 == 0 ? wide() : trial, below(4) - 1, (double)dimension() / (double)below(2)); break;
    case 6: {
        AoeSearch *of = search();
        count = byte() % 4 == 0 ? below(4) : 2;
        double *cost = byte() % 16 == 0 ? NULL : place(sizeof *cost);
        CALL(AoeSearchBest, of, place(count * sizeof(uint32_t)), count, cost);
        break;
    }
    case 7: WRITES(AoeSearchGetReport, search()); break;
    case 8: {
        int at = 1 + below(KEPT - 1);
        AoeBankClose(banks[at]);
        banks[at] = NULL;
        const char **paths = place((count = below(3)) * sizeof *paths);
        for (size_t i = 0; i < count; i++) paths[i] = TEXT(files);
        size_t option_count;
        const AoeOption *given = options(&option_count);
        MAKES(AoeBank *, banks[at], AoeBankOpen, paths, count, given, option_count);
        break;
    }
    case 9: {
        const char *key = TEXT(keys_of_banks);
        WRITES(AoeBankQuery, banks[kept()], TEXT(types), below(5) - 1, key, key == NULL ? below(2) : strlen(key));
        break;
    }
    default: CALL(AoeCheckOption, TEXT(keys), TEXT(values));
    }
}

/* A network, a session that has it, a search and a bank, as a caller makes them that is right. */
static void begin_well(void) {
    static const int64_t dims[] = {64, 64};
    AoeTensor tensor = {dims, 2, AOE_DT_FLOAT16, AOE_FORMAT_ND, NULL, 0, NULL};
    AoeNodeId made;
    size_t size = 0;
    CALL(AoeInitialize, NULL, 0);
    CALL(AoeGraphCreate, "net", &graphs[0]);
    CALL(AoeGraphAddInput, graphs[0], "a", &tensor, &made);
    CALL(AoeGraphAddConst, graphs[0], "b", &tensor, &made);
    CALL(AoeGraphAddNode, graphs[0], "c", "MatMulV2", 1, &made);
    CALL(AoeGraphAddNode, graphs[0], "x", "Relu", 1, &made);
    CALL(AoeGraphAddEdge, graphs[0], 0, 0, 2, 0);
    CALL(AoeGraphAddEdge, graphs[0], 1, 0, 2, 1);
    CALL(AoeGraphAddEdge, graphs[0], 2, 0, 3, 0);
    CALL(AoeGraphAddOutput, graphs[0], 3, 0);
    CALL(AoeCreateSession, &sessions[0]);
    CALL(AoeSetTuningGraph, sessions[0], graphs[0]);
    CALL(AoeSearchCreate, spaces[0], NULL, 0, &searches[0]);
    tune(sessions[0]);
    static const AoeOption soc[] = {{"soc_version", "Ascend910B2"}};
    CALL(AoeBankOpen, NULL, 0, soc, 1, &banks[0]);
    CALL(AoeSimulate, cases[0], NULL, 0, NULL, &size);
}

/* Runs an input from its beginning, in a process that has none of it left afterwards. */
static void run_input(const uint8_t *bytes, size_t size) {
    input = bytes;
    input_size = size;
    input_used = 0;
    if (byte() % 8 != 0) begin_well();
    while (input_used < input_size) {
        switch (below(4)) {
        case 0:
        case 1: call_session(); break;
        case 2: call_rest(); break;
        default: call_graph();
        }
        forget_places();
    }
    for (int i = 0; i < KEPT; i++) {
        AoeGraphDestroy(graphs[i]);
        AoeSearchDestroy(searches[i]);
        AoeBankClose(banks[i]);
        graphs[i] = NULL;
        searches[i] = NULL;
        banks[i] = NULL;
        sessions[i] = 0;
    }
    AoeFinalize();
    trial = 0;
}

#endif
