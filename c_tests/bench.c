/*
 * What the library itself costs, without any tuning:
 *   cc -O2 -Iinclude c_tests/bench.c -o bench -ldl && ./bench target/release/libaoe.so
 * Prints the medians beside their goals; nothing here passes or fails. scripts/bench runs it.
 */
#define _GNU_SOURCE
#include <aoe.h>

#include <dlfcn.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, ascending);
    return values[count / 2];
}

/* Opens the library in a process that has never seen it; the seconds it took, or less than 0. */
static double open_once(const char *path) {
    double seconds = -1;
    int ends[2];
    if (pipe(ends) != 0) return seconds;
    const pid_t child = fork();
    if (child == 0) {
        const double start = now();
        if (dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL) seconds = now() - start;
        _exit(write(ends[1], &seconds, sizeof seconds) == (ssize_t)sizeof seconds ? 0 : 1);
    }
    if (child < 0 || read(ends[0], &seconds, sizeof seconds) != (ssize_t)sizeof seconds) seconds = -1;
    close(ends[0]);
    close(ends[1]);
    waitpid(child, NULL, 0);
    return seconds;
}

/* A network in which there is nothing to tune. */
static AoeGraph *nothing(const AoeApi *aoe) {
    const int64_t dims[] = {4};
    const AoeTensor x = {dims, 1, AOE_DT_FLOAT16, AOE_FORMAT_ND, NULL, 0, NULL};
    AoeGraph *graph = NULL;
    AoeNodeId input;
    if (aoe->GraphCreate("nothing", &graph) != AOE_SUCCESS || aoe->GraphAddInput(graph, "x", &x, &input) != AOE_SUCCESS ||
        aoe->GraphAddOutput(graph, input, 0) != AOE_SUCCESS)
        return NULL;
    return graph;
}

/* Seconds of a tuning call that tunes nothing; less than 0 where it fails. */
static double call(const AoeApi *aoe, const AoeOption *options, size_t count) {
    enum { CALLS = 51 };
    static double calls[CALLS];
    AoeSessionId session = 0;
    AoeGraph *graph = nothing(aoe);
    if (graph == NULL || aoe->CreateSession(&session) != AOE_SUCCESS || aoe->SetTuningGraph(session, graph) != AOE_SUCCESS)
        return -1;
    aoe->GraphDestroy(graph);
    for (int i = 0; i < CALLS; i++) {
        const double start = now();
        if (aoe->TuningGraph(session, options, count) != AOE_ERROR_NON_OPTIMIZE_GRAPH) return -1;
        calls[i] = now() - start;
    }
    aoe->DestroySession(session);
    return median(calls, CALLS);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where) {
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

/* Seconds that it takes to ask what runtime the machine has, which a process of its own does: a tuning call that has to,
 * less one that is told the SoC. Less than 0 where that fails. */
static double ask(const AoeApi *aoe) {
    char folder[] = "/tmp/aoe-bench-XXXXXX";
    if (mkdtemp(folder) == NULL) return -1;
    const AoeOption options[] = {{"job_type", "2"},       {"backend", "simulator"}, {"result_file", "process"},
                                 {"work_path", folder}, {"tuned_model", "off"},   {"soc_version", "Ascend910B2"}};
    const size_t told = sizeof options / sizeof *options;
    const double with = call(aoe, options, told - 1), without = call(aoe, options, told);
    nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    return with < 0 || without < 0 ? -1 : with - without;
}

int main(int argc, char **argv) {
    enum { OPENINGS = 51, BATCHES = 51, SESSIONS = 2000 };
    static double openings[OPENINGS], batches[BATCHES];
    const char *path = argc > 1 ? argv[1] : "libaoe.so";
    for (int i = 0; i < OPENINGS; i++)
        if ((openings[i] = open_once(path)) < 0) return fprintf(stderr, "%s cannot be opened\n", path), 1;

    const AoeApi *(*get)(uint32_t) = NULL;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL), *symbol = handle == NULL ? NULL : dlsym(handle, "AoeGetApi");
    if (symbol == NULL) return fprintf(stderr, "%s\n", dlerror()), 1;
    memcpy(&get, &symbol, sizeof symbol);
    const AoeApi *aoe = get(AOE_API_VERSION);
    if (aoe == NULL || aoe->Initialize(NULL, 0) != AOE_SUCCESS) return fprintf(stderr, "cannot initialise\n"), 1;
    for (int batch = 0; batch < BATCHES; batch++) {
        const double start = now();
        for (int i = 0; i < SESSIONS; i++) {
            AoeSessionId session = 0;
            if (aoe->CreateSession(&session) != AOE_SUCCESS || aoe->DestroySession(session) != AOE_SUCCESS) return 1;
        }
        batches[batch] = (now() - start) / SESSIONS;
    }
    const double asking = ask(aoe);
    if (asking < 0) return fprintf(stderr, "cannot tune: %s\n", aoe->GetLastError()), 1;
    aoe->Finalize();
    printf("open the library             %8.3f ms  (goal: 5 ms)\n", median(openings, OPENINGS) * 1e3);
    printf("create and destroy a session %8.3f us  (goal: 2 us)\n", median(batches, BATCHES) * 1e6);
    printf("ask for a runtime            %8.3f ms\n", asking * 1e3);
    return 0;
}
