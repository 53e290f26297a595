/* Tunes again and again in one process, with one system call that fails each time, and looks what is left after each: open
   descriptors, threads, hidden files, and bytes in allocations. Stands on faults.c, which is preloaded.

     leaks MODEL JOB SOC PLACES [PLANT]

   PLACES is at how many places of each kind of fault (0: all). PLANT leaves something behind after each fault, which has to be
   found: `descriptor`, `memory`, `thread` or `file`. It ends with 0 where nothing was left, and with 1 and a line for each kind of
   fault that left something. The folder that it is started in is where it writes. */
#define _GNU_SOURCE
#include <aoe.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern void faults_set(const char *class, const char *does, long number);
extern long faults_counted(const char *class);

/* What each kind of call does when it is its turn, as in faults.rs. */
static const char *const faults[][2] = {
    {"open", "24"},  {"open", "13"},   {"open", "4"},    {"read", "5"},   {"read", "short"}, {"read", "4"},  {"write", "28"},
    {"write", "5"},  {"write", "4"},   {"write", "short"}, {"sync", "5"}, {"sync", "28"},    {"rename", "28"}, {"rename", "5"},
    {"rename", "13"}, {"truncate", "28"}, {"mkdir", "28"}, {"mkdir", "13"}, {"lock", "4"},   {"lock", "37"}, {"lock", "11"},
    {"stat", "5"},   {"stat", "2"},    {"list", "5"},    {"remove", "13"},
};
#define FAULTS (sizeof faults / sizeof *faults)

/* Bytes that the tables of a process may still grow by while it is new, and for each fault ever after. Measured: 24 and 63 KB, and 0. */
enum { SLACK = 98304, EACH = 128 };

static const char *model, *job, *soc, *plant = "";

static size_t entries_of(const char *folder) {
    size_t count = 0;
    DIR *open = opendir(folder);
    if (open == NULL) abort();
    while (readdir(open) != NULL) count++;
    closedir(open);
    return count;
}

/* Files and folders that are only there while something is being written. */
static size_t hidden;
static int look(const char *path, const struct stat *info, int type, struct FTW *at) {
    (void)info;
    const char *name = path + at->base, *end = strrchr(name, '.');
    int is_temporary = name[0] == '.' && at->level > 0 && (strcmp(end, ".tmp") == 0 || strncmp(name, ".aoe-unfinished-", 16) == 0);
    /* An empty folder may be one that another process is about to fill: it is given ten minutes. */
    if (is_temporary && type == FTW_D && entries_of(path) == 2) return 0;
    hidden += (size_t)is_temporary;
    return 0;
}
static int clear(const char *path, const struct stat *info, int type, struct FTW *at) {
    (void)info, (void)type;
    return at->level == 0 ? 0 : remove(path);
}

static size_t temporary_files(void) {
    hidden = 0;
    nftw(".", look, 16, FTW_PHYS);
    return hidden;
}

/* One tuning, from its file to its report; whatever fails ends it. */
static int tune(void) {
    AoeOption load[] = {{"framework", "1"}};
    AoeOption options[] = {{"job_type", job}, {"backend", "simulator"}, {"soc_version", soc}, {"seed", "1"},
                           {"max_tuning_count", "16"}, {"result_file", "tuning"}, {"work_path", "work"}};
    AoeGraph *graph = NULL;
    AoeSessionId session = 0;
    if (AoeGraphLoadFile(model, load, 1, &graph) != AOE_SUCCESS) return 1;
    int failed = AoeCreateSession(&session) != AOE_SUCCESS;
    if (!failed) {
        failed = AoeSetTuningGraph(session, graph) != AOE_SUCCESS ||
                 AoeTuningGraph(session, options, sizeof options / sizeof *options) != AOE_SUCCESS;
        AoeDestroySession(session);
    }
    AoeGraphDestroy(graph);
    return failed;
}

static void *wait_for_ever(void *nothing) {
    for (;;) pause();
    return nothing;
}

static void plant_it(void) {
    pthread_t thread;
    if (strcmp(plant, "descriptor") == 0 && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) abort();
    if (strcmp(plant, "memory") == 0) {
        volatile char *lost = malloc(16384);
        lost[0] = 1;
    }
    if (strcmp(plant, "thread") == 0 && pthread_create(&thread, NULL, wait_for_ever, NULL) != 0) abort();
    if (strcmp(plant, "file") == 0) close(open(".left.tmp", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

struct size { size_t memory, files, threads; };
static struct size size_now(void) {
    return (struct size){mallinfo2().uordblks, entries_of("/proc/self/fd"), entries_of("/proc/self/task")};
}

static void begin(void) {
    faults_set("", "0", 0);
    nftw(".", clear, 16, FTW_PHYS | FTW_DEPTH);
    if (mkdir("bank", 0700) != 0 || mkdir("work", 0700) != 0) abort();
}

int main(int count, char **arguments) {
    if (count < 5) return 2;
    model = arguments[1], job = arguments[2], soc = arguments[3];
    long most = atol(arguments[4]), tried = 0, ended = 0;
    if (count > 5) plant = arguments[5];
    char bank[4096];
    if (getcwd(bank, sizeof bank - 8) == NULL) abort();
    setenv("TUNE_BANK_PATH", strcat(bank, "/bank"), 1);
    if (AoeInitialize(NULL, 0) != AOE_SUCCESS) return 2;
    for (int i = 0; i < 8; i++) {
        begin();
        if (tune() != 0) {
            fprintf(stderr, "without a fault: %s\n", AoeGetLastError());
            return 2;
        }
    }
    int left = 0;
    struct size first = size_now();
    for (size_t i = 0; i < FAULTS; i++) {
        const char *class = faults[i][0], *does = faults[i][1];
        begin();
        faults_set(class, does, 0);
        tune();
        long calls = faults_counted(class), places = most == 0 || most > calls ? calls : most;
        struct size before = size_now();
        size_t files_left = 0;
        for (long place = 0; place < places; place++) {
            begin();
            faults_set(class, does, 1 + calls * (2 * place + 1) / (2 * places));
            ended += tune();
            faults_set("", "0", 0);
            tried++;
            plant_it();
            /* What could not be looked at or removed is removed by the next tuning. */
            if (temporary_files() > 0 && (strcmp(class, "remove") == 0 || strcmp(class, "list") == 0 || strcmp(class, "stat") == 0 ||
                                          strcmp(class, "open") == 0))
                tune();
            files_left += temporary_files();
        }
        struct size after = size_now();
        if (after.files != before.files || after.threads != before.threads || files_left > 0) {
            printf("%s that does %s, %ld times: descriptors %zu to %zu, threads %zu to %zu, %zu temporary files\n", class, does, places,
                   before.files, after.files, before.threads, after.threads, files_left);
            left = 1;
        }
    }
    struct size last = size_now();
    if ((long)last.memory > (long)first.memory + SLACK + EACH * tried) {
        printf("memory that nobody gives back\n");
        left = 1;
    }
    printf("%ld faults, of which %ld ended the tuning: %zu bytes to %zu, descriptors %zu to %zu, threads %zu to %zu\n", tried, ended,
           first.memory, last.memory, first.files, last.files, first.threads, last.threads);
    return left;
}
