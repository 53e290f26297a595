/* calls: the C interface as sequences of calls with hostile arguments, built with the address and undefined-behaviour sanitizers.

     calls [--seeds=N] [--from=SEED] [--plant=short|leak]   N (2000) random sequences; exits 1 where one fails, with the smallest
                                                            part of it that fails still; with a fault planted, where none does
     calls --seed=SEED | --bytes=HEX                        one, told call by call
     calls FILE...                                          inputs of a corpus

   It works in the current folder, and writes below it. */
#include "calls.h"

#include <stdbool.h>
#include <sys/wait.h>

#define MOST 3000
#define A_BATCH 100

/* What a child is at, for its parent to see. */
static volatile uint64_t *at_seed;

static uint64_t mixed(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static size_t of_seed(uint64_t seed, uint8_t *bytes) {
    uint64_t state = seed;
    size_t size = 100 + mixed(&state) % (MOST - 100);
    for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)mixed(&state);
    return size;
}

static void run_seeds(uint64_t from, uint64_t to) {
    uint8_t bytes[MOST];
    for (uint64_t seed = from; seed < to; seed++) {
        *at_seed = seed;
        run_input(bytes, of_seed(seed, bytes));
    }
    /* A failure from here on is of all of them: a leak. */
    *at_seed = UINT64_MAX;
}

/* Runs in a child, for two minutes at most; true when it came to its end. */
static bool ends_well(uint64_t from, uint64_t to, const uint8_t *bytes, size_t size, bool is_quiet) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        if (is_quiet && freopen("/dev/null", "w", stderr) == NULL) _exit(5);
        make_places();
        if (bytes == NULL) run_seeds(from, to);
        else run_input(bytes, size);
        exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) abort();
    if (!is_quiet && WIFSIGNALED(status)) fprintf(stderr, "ended by signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Leaves out what the failure does not need, larger pieces first. */
static size_t shrink(uint8_t *bytes, size_t size) {
    /* What was planted need not be small. */
    int left = is_short_planted || is_leak_planted ? 10 : 300;
    for (size_t piece = size / 2; piece > 0; piece /= 2) {
        for (size_t at = 0; at + piece <= size && left > 0;) {
            uint8_t fewer[MOST];
            memcpy(fewer, bytes, at);
            memcpy(fewer + at, bytes + at + piece, size - at - piece);
            left--;
            if (ends_well(0, 0, fewer, size - piece, true)) {
                at += piece;
            } else {
                size -= piece;
                memcpy(bytes, fewer, size);
            }
        }
    }
    return size;
}

static void tell(uint64_t seed) {
    uint8_t bytes[MOST];
    size_t size = shrink(bytes, of_seed(seed, bytes));
    printf("calls: seed %llu fails; the smallest part that does, and how:\n--bytes=", (unsigned long long)seed);
    for (size_t i = 0; i < size; i++) printf("%02x", bytes[i]);
    printf("\n");
    is_told = 1;
    ends_well(0, 0, bytes, size, false);
}

/* The first seed that fails in a process of its own; UINT64_MAX where none does. */
static uint64_t first_failing(uint64_t from, uint64_t to) {
    while (from < to && ends_well(from, from + 1, NULL, 0, true)) from++;
    return from < to ? from : UINT64_MAX;
}

static bool run(uint64_t from, uint64_t count) {
    for (uint64_t done = 0; done < count; done += A_BATCH) {
        uint64_t first = from + done, last = first + (count - done < A_BATCH ? count - done : A_BATCH);
        if (ends_well(first, last, NULL, 0, true)) continue;
        uint64_t at = *at_seed;
        /* What an earlier sequence left may be what it takes: then all are told. */
        uint64_t alone = at != UINT64_MAX && !ends_well(at, at + 1, NULL, 0, true) ? at : first_failing(first, last);
        if (alone != UINT64_MAX) {
            tell(alone);
        } else {
            printf("calls: seeds %llu to %llu fail together\n", (unsigned long long)first, (unsigned long long)last - 1);
            ends_well(first, last, NULL, 0, false);
        }
        return false;
    }
    printf("calls: %llu sequences from %llu, nothing found\n", (unsigned long long)count, (unsigned long long)from);
    return true;
}

static size_t of_hex(const char *hex, uint8_t *bytes) {
    size_t size = 0;
    for (unsigned value; size < MOST && sscanf(hex + 2 * size, "%2x", &value) == 1; size++) bytes[size] = (uint8_t)value;
    return size;
}

static bool run_file(const char *path) {
    uint8_t bytes[MOST];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return false;
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    bool is_well = ends_well(0, 0, bytes, size, false);
    if (!is_well) printf("calls: %s fails\n", path);
    return is_well;
}

int main(int argc, char **argv) {
    uint64_t count = 2000, from = 0;
    uint8_t bytes[MOST];
    bool has_files = false, is_well = true;
    at_seed = mmap(NULL, sizeof *at_seed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if ((void *)at_seed == MAP_FAILED) abort();
    for (int i = 1; i < argc; i++) {
        const char *value = strchr(argv[i], '=');
        if (strncmp(argv[i], "--seeds=", 8) == 0) count = strtoull(value + 1, NULL, 10);
        else if (strncmp(argv[i], "--from=", 7) == 0) from = strtoull(value + 1, NULL, 10);
        else if (strcmp(argv[i], "--plant=short") == 0) is_short_planted = 1;
        else if (strcmp(argv[i], "--plant=leak") == 0) is_leak_planted = 1;
        else if (strncmp(argv[i], "--seed=", 7) == 0 || strncmp(argv[i], "--bytes=", 8) == 0) {
            bool is_seed = argv[i][2] == 's';
            size_t size = is_seed ? of_seed(strtoull(value + 1, NULL, 10), bytes) : of_hex(value + 1, bytes);
            is_told = 1;
            return ends_well(0, 0, bytes, size, false) ? 0 : 1;
        } else if (argv[i][0] == '-') {
            fprintf(stderr, "`%s` is no option: see the first lines of calls.c\n", argv[i]);
            return 2;
        } else {
            has_files = true;
            is_well = run_file(argv[i]) && is_well;
        }
    }
    if (!has_files) is_well = run(from, count);
    return is_well == (is_short_planted || is_leak_planted) ? 1 : 0;
}
