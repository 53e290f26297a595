/*
 * A backend for libaoe that really measures: fp32 matrix products and softmax on one core of this machine's
 * CPU, whose block sizes are the schedule's. It shows the closed loop where no NPU is: `make demo-host`.
 *
 * This file is what any plug-in has: the table and its three functions, and a few helpers. The kernels are in
 * product.c and softmax.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "host_cpu.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CACHE_LINE 64
/* Runs of a candidate, and the seconds after which no further run begins. */
#define MAX_RUNS 7
#define MAX_SECONDS 0.6

static __thread char error_text[256];

AoeStatus failed(AoeStatus status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error_text, sizeof error_text, format, arguments);
    va_end(arguments);
    return status;
}

static const AoeField *find(Fields fields, const char *name)
{
    for (size_t i = 0; i < fields.count; i++)
        if (strcmp(fields.fields[i].name, name) == 0)
            return &fields.fields[i];
    return NULL;
}

double number_or(Fields fields, const char *name, double otherwise)
{
    const AoeField *field = find(fields, name);
    return field != NULL && field->text == NULL ? field->number : otherwise;
}

size_t size_of_field(Fields fields, const char *name)
{
    double number = number_or(fields, name, 0.0);
    return number >= 1.0 && number < 4294967296.0 ? (size_t)number : 0;
}

int text_is(Fields fields, const char *name, const char *text)
{
    const AoeField *field = find(fields, name);
    return field != NULL && field->text != NULL && strcmp(field->text, text) == 0;
}

double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

float *floats(size_t count)
{
    size_t bytes = (count * sizeof(float) + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    void *memory = NULL;
    return count < ((size_t)1 << 40) && posix_memalign(&memory, CACHE_LINE, bytes ? bytes : CACHE_LINE) == 0 ? memory : NULL;
}

void fill(float *values, size_t count, unsigned seed)
{
    unsigned state = seed * 2654435761u + 1u;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(state >> 8) / 16777216.0f - 0.5f;
    }
}

double best_time_us(void (*run)(void *), void *argument)
{
    double best = INFINITY, begun = now();
    run(argument); /* pages, caches, clock rate */
    for (int i = 0; i < MAX_RUNS && (i < 2 || now() - begun < MAX_SECONDS); i++) {
        double start = now();
        run(argument);
        double seconds = now() - start;
        if (seconds < best)
            best = seconds;
    }
    return 1e6 * best;
}

/* A size that the system knows, within bounds; the default where it does not say. */
static long known_size(int name, long least, long most, long otherwise)
{
    long size = sysconf(name);
    if (size <= 0)
        size = otherwise;
    return size < least ? least : size > most ? most : size;
}

/* The largest power of two within a size. */
static long power_within(long size)
{
    long power = 1;
    while (power <= size / 2)
        power *= 2;
    return power;
}

/* The CPU as a part with one core: L1 of the NPU stands for the core's own L2, L2 for the last cache. L0A and L0B stand
   for its L1: two tiles lie in half of each, as CANN's default has it for a buffer that is filled while the other half
   is worked on, and together they are within that cache. */
static AoeStatus describe(void *context, AoeBackendDescription *description)
{
    static char soc[512], detail[128];
    (void)context;
    if (description->struct_size < sizeof *description)
        return failed(AOE_ERROR_UNSUPPORTED, "this libaoe is older than the plug-in");
    long l0 = power_within(known_size(_SC_LEVEL1_DCACHE_SIZE, 16 << 10, 256 << 10, 32 << 10));
    long l2 = known_size(_SC_LEVEL2_CACHE_SIZE, 256 << 10, 4 << 20, 1 << 20);
    long l3 = known_size(_SC_LEVEL3_CACHE_SIZE, 1 << 20, 256 << 20, 8 << 20);
    snprintf(soc, sizeof soc,
             "{\"base\": \"Ascend910B2\", \"name\": \"HostCpu\", \"short_name\": \"HostCpu\", \"ai_core_cnt\": 1, "
             "\"vector_core_cnt\": 1, \"l0_a_size\": %ld, \"l0_b_size\": %ld, \"l1_size\": %ld, \"l2_size\": %ld}",
             l0, l0, l2, l3);
    snprintf(detail, sizeof detail, "one core of this machine's CPU, %d floats at a time, the best of up to %d runs",
#ifdef __AVX512F__
             16,
#elif defined __AVX__
             8,
#else
             4,
#endif
             MAX_RUNS);
    description->name = "host-cpu";
    description->detail = detail;
    description->soc = soc;
    description->noisy = 1;
    description->parallel = 1;
    description->measuring_us = 0.0;
    return AOE_SUCCESS;
}

static AoeStatus measure(void *context, const AoeCandidate *candidate, double *time_us)
{
    Fields workload = {candidate->workload, candidate->workload_count};
    Fields schedule = {candidate->schedule, candidate->schedule_count};
    (void)context;
    if (text_is(workload, "kind", "matmul"))
        return measure_product(workload, schedule, time_us);
    if (strncmp(candidate->op_type, "Softmax", 7) == 0)
        return measure_softmax(workload, schedule, time_us);
    return failed(AOE_ERROR_UNSUPPORTED, "host-cpu has no %s, only fp32 products and softmax", candidate->op_type);
}

static const char *last_error(void *context)
{
    (void)context;
    return error_text;
}

const AoeBackend *AoeGetBackend(void);

const AoeBackend *AoeGetBackend(void)
{
    static const AoeBackend backend = {sizeof backend, NULL, describe, measure, last_error};
    return &backend;
}
