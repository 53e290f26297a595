/* A process that tunes again and again, thousands of times, does not grow: not in memory, not in descriptors, not in threads, and
   neither does the result file that its tunings share. */
#include "support/case.h"
#include "support/network.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/stat.h>

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33) && !defined(CHECK_SANITIZED)
#define CHECK_COUNTS_MEMORY 1
#endif

struct size { size_t memory, files, threads, result; };

static size_t entries_of(const char *folder) {
    size_t count = 0;
    DIR *open = opendir(folder);
    CHECK(open != NULL);
    while (readdir(open) != NULL) count++;
    closedir(open);
    return count;
}

/* The largest result file of this folder. */
static size_t largest_result(void) {
    size_t largest = 0;
    DIR *open = opendir(".");
    CHECK(open != NULL);
    for (struct dirent *file; (file = readdir(open)) != NULL;) {
        struct stat info;
        if (strncmp(file->d_name, "aoe_result", 10) != 0 || stat(file->d_name, &info) != 0) continue;
        if ((size_t)info.st_size > largest) largest = (size_t)info.st_size;
    }
    closedir(open);
    return largest;
}

static struct size size_now(void) {
    struct size size = {0, entries_of("/proc/self/fd"), entries_of("/proc/self/task"), largest_result()};
#if defined(CHECK_COUNTS_MEMORY)
    size.memory = mallinfo2().uordblks;
#endif
    return size;
}

/* Tunes so many models, each in a session of its own, as a training does. */
static void tune(int count, const AoeOption *options, size_t option_count) {
    for (int i = 0; i < count; i++) {
        AoeSessionId session = small_session();
        CHECK_OK(AoeTuningGraph(session, options, option_count));
        CHECK_OK(AoeDestroySession(session));
    }
}

/* What is larger than it was; NULL where nothing is. */
static const char *what_grew(struct size before, struct size after) {
    if (after.files != before.files) return "descriptors";
    if (after.threads != before.threads) return "threads";
    if (after.result > before.result + before.result / 8) return "the result file";
    /* Less than a kilobyte for each tuning: nothing of it is kept. */
    if (after.memory > before.memory + 65536) return "memory";
    return NULL;
}

static void check_no_growth(const char *result_file) {
    AoeOption options[] = {{"job_type", "2"}, {"backend", "simulator"}, {"soc_version", "Ascend910B2"}, {"seed", "1"},
                           {"max_tuning_count", "2"}, {"result_file", result_file}};
    size_t option_count = sizeof options / sizeof *options;
    const char *rounds = getenv("LIBAOE_TEST_TUNINGS");
    int count = rounds == NULL ? 100 : atoi(rounds);
    CHECK_OK(AoeInitialize(NULL, 0));
    /* As many as a result file holds, so that all tables are as large as they get. */
    tune(110, options, option_count);
    struct size before = size_now();
    tune(count, options, option_count);
    struct size after = size_now();
    dprintf(check_report, "%d tunings: memory %zu to %zu, files %zu to %zu, threads %zu to %zu, result file %zu to %zu\n", count,
            before.memory, after.memory, before.files, after.files, before.threads, after.threads, before.result, after.result);
    const char *grew = what_grew(before, after);
    if (grew != NULL) CHECK_FAIL("after %d tunings there is more: %s", count, grew);
    CHECK_OK(AoeFinalize());
}

TEST(tunings_with_a_result_file_each_leave_a_process_as_large_as_it_was) { check_no_growth("tuning"); }

TEST(tunings_that_share_a_result_file_leave_a_process_as_large_as_it_was) { check_no_growth("process"); }

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void *waits(void *nothing) {
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    return nothing;
}

/* The campaign is live: what grows is found out. */
TEST(what_is_left_behind_on_purpose_is_found_out) {
    struct size before = size_now();
    CHECK(what_grew(before, before) == NULL);
    FILE *left = fopen("aoe_result_planted", "w");
    CHECK(left != NULL && strcmp(what_grew(before, size_now()), "descriptors") == 0);
    fputs("more", left);
    fclose(left);
    CHECK(strcmp(what_grew(before, size_now()), "the result file") == 0);
    CHECK(remove("aoe_result_planted") == 0);
    pthread_t thread;
    pthread_mutex_lock(&held);
    CHECK(pthread_create(&thread, NULL, waits, NULL) == 0);
    CHECK(strcmp(what_grew(before, size_now()), "threads") == 0);
    pthread_mutex_unlock(&held);
    CHECK(pthread_join(thread, NULL) == 0);
#if defined(CHECK_COUNTS_MEMORY)
    char *lost[100];
    for (int i = 0; i < 100; i++) CHECK((lost[i] = malloc(1000)) != NULL);
    CHECK(strcmp(what_grew(before, size_now()), "memory") == 0);
    for (int i = 0; i < 100; i++) free(lost[i]);
#endif
}
