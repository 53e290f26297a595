/*
 * case.h - named test cases, one process each.
 *
 * A case runs in an empty temporary directory with a knowledge bank of its own, with stdout and stderr
 * caught: whatever the library prints there fails the case. The runner is told the case's name; CMake
 * reads the names from the sources.
 */
#ifndef CASE_H
#define CASE_H

#include <errno.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether this program is built with the address sanitizer; gcc and clang say so in their own ways. */
#if defined(__SANITIZE_ADDRESS__)
#define CHECK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHECK_SANITIZED 1
#endif
#endif
#if defined(CHECK_SANITIZED)
#include <sanitizer/common_interface_defs.h>
#endif

/* Exit status that ctest counts as skipped. */
#define CHECK_SKIPPED 77

struct check_case {
    const char *name;
    void (*run)(void);
    struct check_case *next;
};

static struct check_case *check_cases;
/* The stderr that the runner was started with; reports go there. */
static int check_report = 2;
/* Set by a case in which the library is meant to print: a panic does. */
static int check_noise_allowed __attribute__((unused));
static char check_directory[256];

/* Defines a case. It stands at the start of a line, so that CMake finds it. */
#define TEST(case_name)                                                                                               \
    static void case_name(void);                                                                                      \
    static struct check_case case_##case_name = {#case_name, case_name, NULL};                                        \
    __attribute__((constructor)) static void register_##case_name(void) {                                            \
        case_##case_name.next = check_cases;                                                                          \
        check_cases = &case_##case_name;                                                                              \
    }                                                                                                                 \
    static void case_name(void)

#define CHECK_FAIL(...)                                                                                               \
    do {                                                                                                              \
        dprintf(check_report, "%s:%d: ", __FILE__, __LINE__);                                                         \
        dprintf(check_report, __VA_ARGS__);                                                                           \
        dprintf(check_report, "\nleft behind: %s\n", check_directory);                                               \
        _exit(1);                                                                                                     \
    } while (0)

#define CHECK(condition)                                                                                              \
    do {                                                                                                              \
        if (!(condition)) CHECK_FAIL("not so: %s", #condition);                                                       \
    } while (0)

#define SKIP(reason)                                                                                                  \
    do {                                                                                                              \
        dprintf(check_report, "skipped: %s\n", reason);                                                               \
        check_clean_up();                                                                                             \
        _exit(CHECK_SKIPPED);                                                                                         \
    } while (0)

static int check_remove(const char *path, const struct stat *info, int kind, struct FTW *where) {
    (void)info;
    (void)where;
    return kind == FTW_DP ? rmdir(path) : unlink(path);
}

static void check_clean_up(void) {
    if (chdir("/") == 0) nftw(check_directory, check_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* A file's content, NUL-terminated; the caller frees it. NULL when it cannot be read. */
static inline char *check_read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return NULL;
    size_t used = 0, capacity = 4096;
    char *content = (char *)malloc(capacity);
    for (size_t got = 1; content != NULL && got != 0;) {
        got = fread(content + used, 1, capacity - used - 1, file);
        used += got;
        if (capacity - used < 2) content = (char *)realloc(content, capacity *= 2);
    }
    fclose(file);
    if (content != NULL) content[used] = '\0';
    if (size != NULL) *size = used;
    return content;
}

static inline void check_write_file(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        CHECK_FAIL("%s: %s", path, strerror(errno));
}

/* Root may read and write everything, so that it must become somebody else first. */
static inline void be_nobody(void) {
    if (geteuid() != 0) return;
    if (chown(".", 65534, 65534) != 0 || chown("bank", 65534, 65534) != 0 || setgid(65534) != 0 || setuid(65534) != 0)
        SKIP("root cannot become nobody here");
}

static void check_enter_empty_directory(void) {
    const char *root = getenv("TMPDIR");
    snprintf(check_directory, sizeof check_directory, "%s/aoe-test-XXXXXX", root != NULL && *root ? root : "/tmp");
    if (mkdtemp(check_directory) == NULL || chdir(check_directory) != 0 || mkdir("bank", 0700) != 0)
        CHECK_FAIL("%s: %s", check_directory, strerror(errno));
    static const char *const foreign[] = {"ASCEND_CACHE_PATH", "ASCEND_DEVICE_ID",    "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME",
                                          "ASCEND_WORK_PATH",  "TE_PARALLEL_COMPILER", "REPEAT_TUNE",      "AOE_MODE",
                                          "ASCEND_GLOBAL_LOG_LEVEL", "ASCEND_SLOG_PRINT_TO_STDOUT", "AOE_CREATE_SESSION_ARGUMENTS"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) unsetenv(foreign[i]);
    char bank[sizeof check_directory + 8];
    snprintf(bank, sizeof bank, "%s/bank", check_directory);
    setenv("TUNE_BANK_PATH", bank, 1);
    setenv("HOME", check_directory, 1);
}

/* Catches stdout and stderr in two files. */
static void check_catch_output(void) {
    check_report = dup(2);
#if defined(CHECK_SANITIZED)
    __sanitizer_set_report_fd((void *)(intptr_t)check_report);
#endif
    if (freopen("stdout.caught", "w", stdout) == NULL || freopen("stderr.caught", "w", stderr) == NULL)
        CHECK_FAIL("output: %s", strerror(errno));
}

static void check_nothing_was_printed(void) {
    static const char *const files[] = {"stdout.caught", "stderr.caught"};
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        char path[sizeof check_directory + 16];
        snprintf(path, sizeof path, "%s/%s", check_directory, files[i]);
        char *text = check_read_file(path, NULL);
        if (text != NULL && *text != '\0' && !check_noise_allowed) CHECK_FAIL("printed on %.6s: %s", files[i], text);
        free(text);
    }
}

int main(int argc, char **argv) {
    for (struct check_case *c = check_cases; c != NULL; c = c->next) {
        if (argc != 2) {
            puts(c->name);
        } else if (strcmp(c->name, argv[1]) == 0) {
            check_enter_empty_directory();
            check_catch_output();
            c->run();
            check_nothing_was_printed();
            check_clean_up();
            return 0;
        }
    }
    if (argc == 2) fprintf(stderr, "no case %s\n", argv[1]);
    return 2;
}

#endif
