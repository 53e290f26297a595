/* What a bank costs a C program: AoeBankOpen, then AoeBankQuery with packed keys, on one thread and on two.
 * Usage: client LIBRARY BANK KEYS; prints names, tabs, values and goals. */
#define _GNU_SOURCE
#include <aoe.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { KEY = 183, BATCH = 100 };

static const AoeApi *api;
static AoeBank *bank;
static unsigned char *keys;
static size_t key_count;
static pthread_barrier_t barrier;

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, api ? api->GetLastError() : dlerror());
    exit(1);
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nanoseconds of one query, the median of batches; `from` is where in the keys a thread begins. */
static double query_ns(size_t from) {
    const size_t count = key_count / BATCH;
    double *batches = malloc(count * sizeof *batches), median;
    char knowledge[2048];
    if (batches == NULL) fail("memory");
    for (size_t i = 0; i < count; i++) {
        const double start = now_ns();
        for (size_t j = 0; j < BATCH; j++) {
            const unsigned char *key = keys + (from + i * BATCH + j) % key_count * KEY;
            size_t size = sizeof knowledge;
            if (api->BankQuery(bank, "MatMulV3", AOE_BANK_KEY_PACKED, key, KEY, knowledge, &size) != AOE_SUCCESS)
                fail("AoeBankQuery");
        }
        batches[i] = (now_ns() - start) / BATCH;
    }
    qsort(batches, count, sizeof *batches, ascending);
    median = batches[count / 2];
    free(batches);
    return median;
}

static void *half(void *result) {
    pthread_barrier_wait(&barrier);
    *(double *)result = query_ns(key_count / 2);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 4) return fputs("usage: client LIBRARY BANK KEYS\n", stderr), 2;
    void *library = dlopen(argv[1], RTLD_NOW);
    const AoeApi *(*get)(uint32_t) = NULL;
    if (library != NULL) *(void **)&get = dlsym(library, "AoeGetApi");
    const AoeApi *found = get != NULL ? get(AOE_API_VERSION) : NULL;
    if (found == NULL) fail("dlopen");
    api = found;

    FILE *file = fopen(argv[3], "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) fail("keys");
    key_count = (size_t)ftell(file) / KEY;
    keys = malloc(key_count * KEY);
    rewind(file);
    if (keys == NULL || fread(keys, KEY, key_count, file) != key_count) fail("keys");
    fclose(file);

    const char *layers[] = {argv[2]};
    const double start = now_ns();
    if (api->BankOpen(layers, 1, NULL, 0, &bank) != AOE_SUCCESS) fail("AoeBankOpen");
    printf("AoeBankOpen\t%.2f s\t(goal: 2 s)\n", (now_ns() - start) / 1e9);
    printf("AoeBankQuery, knowledge as JSON\t%.0f ns\t(goal: 200 ns)\n", query_ns(0));
    pthread_t other;
    double ours, theirs;
    pthread_barrier_init(&barrier, NULL, 2);
    if (pthread_create(&other, NULL, half, &theirs) != 0) fail("thread");
    pthread_barrier_wait(&barrier);
    ours = query_ns(0);
    pthread_join(other, NULL);
    printf("AoeBankQuery, each of two threads\t%.0f ns\t(goal: as one)\n", ours > theirs ? ours : theirs);
    api->BankClose(bank);
    return 0;
}
