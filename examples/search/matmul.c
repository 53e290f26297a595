/*
 * Tunes a program of your own: the block sizes and the loop order of a matrix product, really timed.
 *
 *     cc -O3 -march=native matmul.c $(pkg-config --cflags --libs aoe) -lm -o matmul
 *     ./matmul [SIZE [TRIALS [SEED]]]        512, 80 and 0 unless given
 */
#define _POSIX_C_SOURCE 199309L
#include <aoe.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int BLOCKS[] = {4, 8, 16, 32, 64, 128, 256, 512};
enum { BLOCK_COUNT = sizeof BLOCKS / sizeof *BLOCKS };
static const char *const ORDERS[] = {"mnk", "mkn", "kmn"};
enum { ORDER_COUNT = sizeof ORDERS / sizeof *ORDERS, PARAMETERS = 4 };
/* A configuration is timed so often, and the shortest time counts. */
enum { REPEATS = 3 };

struct config {
    int block_m, block_n, block_k;
    const char *order;
};

static int least(int a, int b) { return a < b ? a : b; }

/* Adds the product of one block of a and one of b to c; all are n by n, in rows. */
static void multiply_block(int n, const float *a, const float *b, float *c, int m0, int m1, int n0, int n1, int k0, int k1) {
    for (int m = m0; m < m1; m++)
        for (int k = k0; k < k1; k++) {
            const float factor = a[m * n + k];
            for (int j = n0; j < n1; j++) c[m * n + j] += factor * b[k * n + j];
        }
}

/* c = a * b, block by block; the order names the loops over blocks, the outermost first. */
static void multiply(int n, const float *a, const float *b, float *c, const struct config *config) {
    int size[3], from[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++)
        size[i] = config->order[i] == 'm' ? config->block_m : config->order[i] == 'n' ? config->block_n : config->block_k;
    memset(c, 0, sizeof *c * (size_t)n * (size_t)n);
    for (from[0] = 0; from[0] < n; from[0] += size[0])
        for (from[1] = 0; from[1] < n; from[1] += size[1])
            for (from[2] = 0; from[2] < n; from[2] += size[2]) {
                int m = 0, j = 0, k = 0;
                for (int i = 0; i < 3; i++) *(config->order[i] == 'm' ? &m : config->order[i] == 'n' ? &j : &k) = from[i];
                multiply_block(n, a, b, c, m, least(m + config->block_m, n), j, least(j + config->block_n, n), k,
                               least(k + config->block_k, n));
            }
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Shortest of a few runs in seconds; negative when the result is wrong, which is how a kernel fails. */
static double measure(int n, const float *a, const float *b, float *c, const float *expected, const struct config *config) {
    double best = INFINITY;
    for (int i = 0; i < REPEATS; i++) {
        const double begin = seconds();
        multiply(n, a, b, c, config);
        best = fmin(best, seconds() - begin);
    }
    for (int i = 0; i < n * n; i++)
        if (fabsf(c[i] - expected[i]) > 1e-3f * (1 + fabsf(expected[i]))) return -1;
    return best;
}

/* The space as JSON; blocks larger than the matrix are the same as blocks of its size, so they are left out. */
static int describe(char *text, size_t size, int n) {
    char blocks[128] = "", orders[64] = "";
    for (int i = 0; i < BLOCK_COUNT; i++)
        snprintf(blocks + strlen(blocks), sizeof blocks - strlen(blocks), "%s%d", i == 0 ? "" : ",", BLOCKS[i]);
    for (int i = 0; i < ORDER_COUNT; i++)
        snprintf(orders + strlen(orders), sizeof orders - strlen(orders), "%s\"%s\"", i == 0 ? "" : ",", ORDERS[i]);
    return snprintf(text, size,
                    "{\"parameters\":[{\"name\":\"block_m\",\"values\":[%s]},{\"name\":\"block_n\",\"values\":[%s]},"
                    "{\"name\":\"block_k\",\"values\":[%s]},{\"name\":\"order\",\"values\":[%s]}],"
                    "\"constraints\":[\"max(block_m, block_n, block_k) <= %d\","
                    "\"block_m * block_n * block_k >= 512\"]}",
                    blocks, blocks, blocks, orders, n);
}

static struct config config_at(const uint32_t *at) {
    const struct config config = {BLOCKS[at[0]], BLOCKS[at[1]], BLOCKS[at[2]], ORDERS[at[3]]};
    return config;
}

/* Asks, measures and tells until the search is over; answers the number of trials, or -1. */
static int tune(AoeSearch *search, int n, const float *a, const float *b, float *c, const float *expected) {
    uint32_t at[PARAMETERS];
    uint64_t trial;
    AoeStatus status;
    double best = INFINITY;
    int trials = 0;
    while ((status = AoeSearchAsk(search, at, PARAMETERS, &trial)) == AOE_SUCCESS) {
        const struct config config = config_at(at);
        const double cost = measure(n, a, b, c, expected, &config);
        status = AoeSearchTell(search, trial, cost < 0 ? AOE_TRIAL_FAILED : AOE_TRIAL_MEASURED, cost);
        if (status != AOE_SUCCESS) break;
        trials++;
        if (cost >= 0 && cost < best) {
            best = cost;
            printf("trial %3d: %8.3f ms  m %3d  n %3d  k %3d  %s\n", (int)trial, best * 1e3, config.block_m,
                   config.block_n, config.block_k, config.order);
        }
    }
    return status == AOE_ERROR_EXHAUSTED ? trials : -1;
}

static int run(int n, const char *trials, const char *seed, float *matrices) {
    const size_t area = (size_t)n * (size_t)n;
    float *a = matrices, *b = a + area, *c = b + area, *expected = c + area;
    for (size_t i = 0; i < area; i++) {
        a[i] = (float)(i % 17) / 17 - 0.5f;
        b[i] = (float)(i % 13) / 13 - 0.5f;
    }
    /* The program before tuning: three loops, no blocks. */
    const struct config plain = {n, n, n, "mnk"};
    multiply(n, a, b, expected, &plain);
    const double before = measure(n, a, b, c, expected, &plain);

    char space[1024];
    AoeSearch *search = NULL;
    const AoeOption options[] = {{"max_tuning_count", trials}, {"seed", seed}};
    if (describe(space, sizeof space, n) >= (int)sizeof space ||
        AoeSearchCreate(space, options, 2, &search) != AOE_SUCCESS) {
        fprintf(stderr, "%s\n", AoeGetLastError());
        return 1;
    }
    const int done = tune(search, n, a, b, c, expected);
    uint32_t at[PARAMETERS];
    double best = 0;
    if (done < 0 || AoeSearchBest(search, at, PARAMETERS, &best) != AOE_SUCCESS) {
        fprintf(stderr, "%s\n", AoeGetLastError());
        AoeSearchDestroy(search);
        return 1;
    }
    const struct config config = config_at(at);
    printf("%d trials, size %d: %.3f ms without blocks, %.3f ms (%.2f times as fast) with m %d, n %d, k %d, %s\n", done,
           n, before * 1e3, best * 1e3, before / best, config.block_m, config.block_n, config.block_k, config.order);
    AoeSearchDestroy(search);
    return 0;
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 512;
    if (n < 8 || n > 4096) {
        fprintf(stderr, "the size must be a number from 8 to 4096\n");
        return 2;
    }
    float *matrices = malloc(4 * sizeof *matrices * (size_t)n * (size_t)n);
    if (matrices == NULL) {
        fprintf(stderr, "no memory for matrices of %d by %d\n", n, n);
        return 1;
    }
    const int status = run(n, argc > 2 ? argv[2] : "80", argc > 3 ? argv[3] : "0", matrices);
    free(matrices);
    return status;
}
