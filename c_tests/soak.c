/* A process that does a bit of everything for a long time: threads that tune operators and subgraphs, cancel, look up in banks,
   merge them, simulate and search. Memory, descriptors, threads and files stay as they were once all tables are full.

     soak SECONDS REPOSITORY [PLANT]

   The folder that it is started in is where it writes; TUNE_BANK_PATH is the bank, which other processes may share. The first third
   of the time counts as the beginning. PLANT leaves something behind with every job, which has to be found: `memory` (4 KiB),
   `descriptor`, `thread` or `file`. Ends with 0 where nothing grew, and with 1 and a line that says what did. */
#include <aoe.h>

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 3, JOBS = 6, SAMPLE_US = 100000, CANCELS = 30 };

/* Nothing of a job is kept but a result file for it: so many bytes may be new all the same, once and for each job. Tunings that run
   while a sample is taken hold memory, and a shared result file has the texts of up to a hundred of them, so that the least of a
   third's samples are compared; they are many, for the least of a few is by chance. */
enum { SLACK = 262144, EACH = 32 };

static const char *repository, *plant = "";
static struct timespec began;
static double seconds;
static long done[JOBS], cancelled, failures;
static AoeSessionId running[WORKERS];

static double elapsed(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - began.tv_sec) + 1e-9 * (double)(now.tv_nsec - began.tv_nsec);
}

/* What a call must not answer is told, and counted. */
static void check(const char *what, AoeStatus got, AoeStatus also) {
    if (got == AOE_SUCCESS || got == also) return;
    fprintf(stderr, "%s: %s: %s\n", what, AoeGetStatusName(got), AoeGetLastError());
    __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);
}

/* A tuning; while it runs another thread may cancel it. */
static void tune(int worker, unsigned *random, const char *job) {
    const char *names[] = {"python/tests/small.onnx", "examples/models/resnet50.onnx"};
    char path[4096], seed[16];
    snprintf(path, sizeof path, "%s/%s", repository, names[rand_r(random) % 8 == 0]);
    snprintf(seed, sizeof seed, "%u", (unsigned)rand_r(random) % 100);
    AoeOption options[] = {{"job_type", job}, {"backend", "simulator"}, {"soc_version", *job == '1' ? "Ascend310P3" : "Ascend910B2"},
                           {"seed", seed}, {"max_tuning_count", "4"}, {"result_file", "process"}, {"tuning_time_limit", "2"}};
    AoeGraph *graph = NULL;
    AoeSessionId session = 0;
    check("load", AoeGraphLoadFile(path, NULL, 0, &graph), AOE_SUCCESS);
    if (graph == NULL) return;
    check("session", AoeCreateSession(&session), AOE_SUCCESS);
    check("graph", AoeSetTuningGraph(session, graph), AOE_SUCCESS);
    AoeGraphDestroy(graph);
    __atomic_store_n(&running[worker], session, __ATOMIC_RELEASE);
    AoeStatus status = AoeTuningGraph(session, options, sizeof options / sizeof *options);
    __atomic_store_n(&running[worker], 0, __ATOMIC_RELEASE);
    if (status == AOE_ERROR_CANCELLED) __atomic_add_fetch(&cancelled, 1, __ATOMIC_RELAXED);
    check("tuning", status, status == AOE_ERROR_NON_OPTIMIZE_GRAPH ? status : AOE_ERROR_CANCELLED);
    check("end", AoeDestroySession(session), AOE_SUCCESS);
}

static const char product[] = "{\"op\":\"MatMulV3\",\"m\":1024,\"k\":512,\"n\":512,\"dtype\":\"float16\"}";

static void look_up(void) {
    AoeOption options[] = {{"soc_version", "Ascend910B2"}};
    AoeBank *bank = NULL;
    char buffer[4096];
    check("bank", AoeBankOpen(NULL, 0, options, 1, &bank), AOE_SUCCESS);
    for (int i = 0; bank != NULL && i < 20; i++) {
        size_t size = sizeof buffer;
        check("query", AoeBankQuery(bank, NULL, AOE_BANK_KEY_CASE, product, strlen(product), buffer, &size), AOE_ERROR_NOT_FOUND);
    }
    AoeBankClose(bank);
}

static void merge(void) {
    const char *source = getenv("TUNE_BANK_PATH");
    check("merge", AoeBankMerge(&source, 1, "merged", NULL, 0, NULL), AOE_SUCCESS);
}

static void simulate(void) {
    AoeOption options[] = {{"soc_version", "Ascend910B2"}};
    char buffer[8192];
    for (int i = 0; i < 20; i++) {
        size_t size = sizeof buffer;
        check("simulate", AoeSimulate(product, options, 1, buffer, &size), AOE_SUCCESS);
    }
}

static void search(void) {
    AoeSearch *search = NULL;
    check("search", AoeSearchCreate("{\"parameters\":[{\"name\":\"a\",\"values\":[1,2,4,8,16,32]},{\"name\":\"b\",\"values\":[1,2,4,8,16,32]}]}", NULL, 0, &search), AOE_SUCCESS);
    uint32_t at[2];
    uint64_t trial;
    while (search != NULL && AoeSearchAsk(search, at, 2, &trial) == AOE_SUCCESS) {
        check("tell", AoeSearchTell(search, trial, AOE_TRIAL_MEASURED, at[0] * 3 + at[1]), AOE_SUCCESS);
    }
    AoeSearchDestroy(search);
}

static void *wait_for_ever(void *nothing) {
    for (;;) pause();
    return nothing;
}

static void plant_it(void) {
    static unsigned count;
    pthread_t thread;
    char name[64];
    if (strcmp(plant, "memory") == 0) {
        volatile char *lost = malloc(4096);
        lost[0] = 1;
    }
    if (strcmp(plant, "descriptor") == 0 && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) abort();
    if (strcmp(plant, "thread") == 0 && pthread_create(&thread, NULL, wait_for_ever, NULL) != 0) abort();
    if (strcmp(plant, "file") == 0) {
        snprintf(name, sizeof name, ".left-%u.tmp", __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED));
        close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    }
}

static void *work(void *number) {
    int worker = (int)(intptr_t)number;
    unsigned random = (unsigned)getpid() * 16U + (unsigned)worker;
    while (elapsed() < seconds) {
        int job = rand_r(&random) % JOBS;
        if (job == 0) tune(worker, &random, "2");
        if (job == 1) tune(worker, &random, "1");
        if (job == 2) look_up();
        if (job == 3) merge();
        if (job == 4) simulate();
        if (job == 5) search();
        plant_it();
        __atomic_add_fetch(&done[job], 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

struct size { size_t memory, files, threads, temporary; };

static size_t entries_of(const char *folder, int hidden) {
    size_t count = 0;
    DIR *open = opendir(folder);
    if (open == NULL) abort();
    for (struct dirent *entry; (entry = readdir(open)) != NULL;) {
        count += entry->d_name[0] != '.' ? !hidden : hidden && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(open);
    return count;
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* The least of what there is while this part of the time goes by, and the number of jobs at its end. */
static struct size least_until(double end, long *jobs) {
    struct size least_of = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
    double start = elapsed(), left;
    for (int cancels = 0; (left = end - elapsed()) > 0;) {
        usleep((useconds_t)(left < SAMPLE_US * 1e-6 ? left * 1e6 : SAMPLE_US));
        if (elapsed() >= start + (end - start) * cancels / CANCELS) {
            AoeSessionId session = __atomic_load_n(&running[cancels++ % WORKERS], __ATOMIC_ACQUIRE);
            if (session != 0) check("cancel", AoeCancel(session), AOE_ERROR_INVALID_SESSION);
        }
        least_of.memory = least(least_of.memory, mallinfo2().uordblks);
        least_of.files = least(least_of.files, entries_of("/proc/self/fd", 0));
        least_of.threads = least(least_of.threads, entries_of("/proc/self/task", 0));
        least_of.temporary = least(least_of.temporary, entries_of(".", 1));
    }
    *jobs = 0;
    for (int i = 0; i < JOBS; i++) *jobs += __atomic_load_n(&done[i], __ATOMIC_RELAXED);
    return least_of;
}

int main(int count, char **arguments) {
    if (count < 3) return 2;
    seconds = atof(arguments[1]), repository = arguments[2];
    if (count > 3) plant = arguments[3];
    clock_gettime(CLOCK_MONOTONIC, &began);
    check("begin", AoeInitialize(NULL, 0), AOE_SUCCESS);
    pthread_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        if (pthread_create(&workers[i], NULL, work, (void *)(intptr_t)i) != 0) return 2;
    }
    long jobs_before, jobs_first, jobs_last;
    least_until(seconds / 3, &jobs_before);
    struct size first = least_until(2 * seconds / 3, &jobs_first), last = least_until(0.95 * seconds, &jobs_last);
    for (int i = 0; i < WORKERS; i++) pthread_join(workers[i], NULL);
    check("end", AoeFinalize(), AOE_SUCCESS);
    printf("%ld jobs (tunings %ld and %ld, of which %ld cancelled; banks opened %ld, merged %ld; simulated %ld; searches %ld) in %.0f s, "
           "%ld failures: memory %zu to %zu, descriptors %zu to %zu, threads %zu to %zu, temporary files %zu to %zu\n",
           jobs_last, done[0], done[1], cancelled, done[2], done[3], done[4], done[5], elapsed(), failures, first.memory, last.memory,
           first.files, last.files, first.threads, last.threads, first.temporary, last.temporary);
    int has_grown = last.files > first.files || last.threads > first.threads || last.temporary > first.temporary ||
                    last.memory > first.memory + SLACK + EACH * (size_t)(jobs_last - jobs_first);
    if (has_grown) printf("it grows\n");
    return has_grown || failures > 0;
}
