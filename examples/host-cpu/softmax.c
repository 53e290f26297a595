/*
 * Softmax in fp32 along the last axis, in tiles of the schedule's bytes.
 *
 * A tile is copied into memory of its own, which stands for UB. Where rows fit, each is read once (`full_load`);
 * else it is read three times, tile by tile: for its maximum, for its sum, for its result (`recompute`,
 * `split_axis`, which are one on one core).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "host_cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Softmax {
    size_t rows, axis, tile; /* tile in elements */
    int whole_rows;
    float *in, *out, *ub;
} Softmax;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static float largest(const float *values, size_t count, float most)
{
    for (size_t i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

static float exponentials(float *values, size_t count, float most)
{
    float sum = 0.0f;
    for (size_t i = 0; i < count; i++)
        sum += values[i] = expf(values[i] - most);
    return sum;
}

static void scale(float *values, size_t count, float factor)
{
    for (size_t i = 0; i < count; i++)
        values[i] *= factor;
}

static void rows_in_tiles(const Softmax *s)
{
    size_t at_a_time = s->tile / s->axis;
    for (size_t row = 0; row < s->rows; row += at_a_time) {
        size_t rows = least(at_a_time, s->rows - row), offset = row * s->axis;
        memcpy(s->ub, s->in + offset, rows * s->axis * sizeof(float));
        for (size_t i = 0; i < rows; i++) {
            float *values = s->ub + i * s->axis;
            scale(values, s->axis, 1.0f / exponentials(values, s->axis, largest(values, s->axis, -INFINITY)));
        }
        memcpy(s->out + offset, s->ub, rows * s->axis * sizeof(float));
    }
}

static void tiles_of_a_row(const Softmax *s, const float *in, float *out)
{
    float most = -INFINITY, sum = 0.0f;
    for (int pass = 0; pass < 3; pass++) {
        for (size_t at = 0; at < s->axis; at += s->tile) {
            size_t count = least(s->tile, s->axis - at);
            memcpy(s->ub, in + at, count * sizeof(float));
            if (pass == 0) {
                most = largest(s->ub, count, most);
                continue;
            }
            float part = exponentials(s->ub, count, most);
            if (pass == 1) {
                sum += part;
                continue;
            }
            scale(s->ub, count, 1.0f / sum);
            memcpy(out + at, s->ub, count * sizeof(float));
        }
    }
}

static void run(void *argument)
{
    const Softmax *s = argument;
    if (s->whole_rows) {
        rows_in_tiles(s);
        return;
    }
    for (size_t row = 0; row < s->rows; row++)
        tiles_of_a_row(s, s->in + row * s->axis, s->out + row * s->axis);
}

/* Whether the first and the last row add up to 1 and keep the order of their largest. */
static int is_right(const Softmax *s)
{
    for (int i = 0; i < 2; i++) {
        const float *out = s->out + (i ? (s->rows - 1) * s->axis : 0), *in = s->in + (out - s->out);
        double sum = 0.0, expected = 0.0;
        for (size_t k = 0; k < s->axis; k++)
            sum += out[k], expected += exp((double)in[k]);
        if (!(fabs(sum - 1.0) < 1e-3) || !(fabs(out[s->axis / 2] - exp((double)in[s->axis / 2]) / expected) < 1e-4))
            return 0;
    }
    return 1;
}

AoeStatus measure_softmax(Fields workload, Fields schedule, double *time_us)
{
    Softmax s = {.rows = size_of_field(workload, "outer"), .axis = size_of_field(workload, "axis")};
    if (s.rows == 0 || s.axis == 0 || number_or(workload, "inner", 0.0) != 1.0 ||
        !text_is(workload, "inputs.0.1", "float32") || !text_is(workload, "outputs.0.1", "float32"))
        return failed(AOE_ERROR_UNSUPPORTED, "host-cpu has softmax in fp32 along the last axis only");
    s.tile = size_of_field(schedule, "ub_tile_bytes") / sizeof(float);
    s.whole_rows = text_is(schedule, "template", "full_load");
    if (s.tile == 0 || (s.whole_rows && s.tile < s.axis))
        return failed(AOE_ERROR_ILLEGAL_SCHEDULE, "a tile of %zu elements holds no row of %zu", s.tile, s.axis);
    s.in = floats(s.rows * s.axis), s.out = floats(s.rows * s.axis), s.ub = floats(s.tile);
    AoeStatus status = AOE_SUCCESS;
    if (!s.in || !s.out || !s.ub) {
        status = failed(AOE_ERROR_MEMORY_ALLOC, "no memory for %zu rows of %zu", s.rows, s.axis);
    } else {
        fill(s.in, s.rows * s.axis, 3);
        *time_us = best_time_us(run, &s);
        if (!is_right(&s))
            status = failed(AOE_FAILURE, "the softmax is wrong");
    }
    free(s.in), free(s.out), free(s.ub);
    return status;
}
