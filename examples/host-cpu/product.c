/*
 * C = A x B in fp32, blocked as a schedule says.
 *
 *   core tasks    parts of C (and of k), one after the other: there is one core
 *   L1 panels     pieces of A and B, packed into memory of their own, which the core's L2 cache holds
 *   L0 tiles      what one round works on, which its L1 cache holds
 *   innermost     ROWS x COLUMNS sums in registers
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "host_cpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sums that stay in registers: rows of two vectors, half of the registers there are. */
#ifdef __AVX512F__
#define VECTOR 16
#define ROWS 8
#elif defined __AVX__
#define VECTOR 8
#define ROWS 4
#else
#define VECTOR 4
#define ROWS 4
#endif
#define COLUMNS (2 * VECTOR)

typedef float Vector __attribute__((vector_size(VECTOR * sizeof(float))));

/* An operand's panel in L1, packed in strips of `width` rows of A or columns of B. */
typedef struct Panel {
    float *memory;
    size_t width;
    size_t first, k_first, extent, depth; /* what it holds; depth 0: nothing */
} Panel;

/* A product with its operands and its blocking. */
typedef struct Product {
    size_t m, k, n;
    int trans_a, trans_b;
    float *a, *b, *c;
    size_t task_m, task_n, task_k;    /* extents of a core task */
    size_t tile_m, tile_n, tile_k;    /* of an L0 tile */
    size_t panel_m, panel_n;          /* rows of A and columns of B in L1 */
    size_t depth_a, depth_b;          /* k of A's and of B's panel */
    int n_first;                      /* the inner loop walks along n */
    Panel in_a, in_b;
} Product;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static size_t up(size_t a, size_t b) { return (a + b - 1) / b * b; }

/* Packs a piece of an operand: strips of `width`, each k by k; what is beyond the edge is 0. Element (i, k) lies at
   i * step_i + k * step_k. */
static void pack(Panel *panel, const float *from, size_t step_i, size_t step_k, size_t first, size_t extent,
                 size_t k_first, size_t depth)
{
    if (panel->depth == depth && panel->extent == extent && panel->first == first && panel->k_first == k_first)
        return;
    panel->first = first, panel->extent = extent, panel->k_first = k_first, panel->depth = depth;
    float *to = panel->memory;
    for (size_t strip = 0; strip < extent; strip += panel->width) {
        size_t there = least(panel->width, extent - strip);
        const float *source = from + (first + strip) * step_i + k_first * step_k;
        for (size_t k = 0; k < depth; k++, to += panel->width, source += step_k) {
            for (size_t i = 0; i < there; i++)
                to[i] = source[i * step_i];
            for (size_t i = there; i < panel->width; i++)
                to[i] = 0.0f;
        }
    }
}

/* c += a x b for one strip each: a is depth x ROWS, b is depth x COLUMNS. */
static void multiply(const float *a, const float *b, size_t depth, float *c, size_t row)
{
    Vector sums[ROWS][2];
    for (int i = 0; i < ROWS; i++)
        memcpy(sums[i], c + (size_t)i * row, sizeof sums[i]);
    for (size_t k = 0; k < depth; k++, a += ROWS, b += COLUMNS) {
        Vector left, right;
        memcpy(&left, b, sizeof left);
        memcpy(&right, b + VECTOR, sizeof right);
        for (int i = 0; i < ROWS; i++) {
            sums[i][0] += a[i] * left;
            sums[i][1] += a[i] * right;
        }
    }
    for (int i = 0; i < ROWS; i++)
        memcpy(c + (size_t)i * row, sums[i], sizeof sums[i]);
}

/* The same at the edge of C. */
static void multiply_part(const float *a, const float *b, size_t depth, float *c, size_t row, size_t rows, size_t columns)
{
    float whole[ROWS * COLUMNS] = {0};
    for (size_t i = 0; i < rows; i++)
        memcpy(whole + i * COLUMNS, c + i * row, columns * sizeof(float));
    multiply(a, b, depth, whole, COLUMNS);
    for (size_t i = 0; i < rows; i++)
        memcpy(c + i * row, whole + i * COLUMNS, columns * sizeof(float));
}

/* One L0 tile: rows i to i_end and columns j to j_end of the panels, k from k to k_end. */
static void tile(const Product *p, size_t i_first, size_t i_end, size_t j_first, size_t j_end, size_t k, size_t k_end)
{
    const Panel *a = &p->in_a, *b = &p->in_b;
    for (size_t j = j_first; j < j_end; j += COLUMNS) {
        const float *of_b = b->memory + j * b->depth + (k - b->k_first) * COLUMNS;
        for (size_t i = i_first; i < i_end; i += ROWS) {
            const float *of_a = a->memory + i * a->depth + (k - a->k_first) * ROWS;
            float *c = p->c + (a->first + i) * p->n + b->first + j;
            size_t rows = least(ROWS, i_end - i), columns = least(COLUMNS, j_end - j);
            if (rows == ROWS && columns == COLUMNS)
                multiply(of_a, of_b, k_end - k, c, p->n);
            else
                multiply_part(of_a, of_b, k_end - k, c, p->n, rows, columns);
        }
    }
}

/* The tiles of the panels that are in L1, along m or n first, for k from `k` to `k_end`. */
static void panels(const Product *p, size_t k, size_t k_end)
{
    size_t rows = p->in_a.extent, columns = p->in_b.extent;
    for (; k < k_end; k += p->tile_k) {
        size_t end = least(k + p->tile_k, k_end);
        if (p->n_first) {
            for (size_t i = 0; i < rows; i += p->tile_m)
                for (size_t j = 0; j < columns; j += p->tile_n)
                    tile(p, i, least(i + p->tile_m, rows), j, least(j + p->tile_n, columns), k, end);
        } else {
            for (size_t j = 0; j < columns; j += p->tile_n)
                for (size_t i = 0; i < rows; i += p->tile_m)
                    tile(p, i, least(i + p->tile_m, rows), j, least(j + p->tile_n, columns), k, end);
        }
    }
}

/* A block of C as large as the panels: k in pieces, each panel loaded when its turn comes. */
static void block(Product *p, size_t i, size_t rows, size_t j, size_t columns, size_t k_first, size_t k_end)
{
    size_t a_step_i = p->trans_a ? 1 : p->k, a_step_k = p->trans_a ? p->m : 1;
    size_t b_step_j = p->trans_b ? p->k : 1, b_step_k = p->trans_b ? 1 : p->n;
    for (size_t k = k_first, next; k < k_end; k = next) {
        size_t a_from = k_first + (k - k_first) / p->depth_a * p->depth_a, a_end = least(a_from + p->depth_a, k_end);
        size_t b_from = k_first + (k - k_first) / p->depth_b * p->depth_b, b_end = least(b_from + p->depth_b, k_end);
        pack(&p->in_a, p->a, a_step_i, a_step_k, i, rows, a_from, a_end - a_from);
        pack(&p->in_b, p->b, b_step_j, b_step_k, j, columns, b_from, b_end - b_from);
        next = least(a_end, b_end);
        panels(p, k, next);
    }
}

static void task(Product *p, size_t m, size_t m_end, size_t n, size_t n_end, size_t k, size_t k_end)
{
    if (p->n_first) {
        for (size_t i = m; i < m_end; i += p->panel_m)
            for (size_t j = n; j < n_end; j += p->panel_n)
                block(p, i, least(p->panel_m, m_end - i), j, least(p->panel_n, n_end - j), k, k_end);
    } else {
        for (size_t j = n; j < n_end; j += p->panel_n)
            for (size_t i = m; i < m_end; i += p->panel_m)
                block(p, i, least(p->panel_m, m_end - i), j, least(p->panel_n, n_end - j), k, k_end);
    }
}

static void run(void *argument)
{
    Product *p = argument;
    memset(p->c, 0, p->m * p->n * sizeof(float));
    p->in_a.depth = p->in_b.depth = 0;
    for (size_t k = 0; k < p->k; k += p->task_k)
        for (size_t m = 0; m < p->m; m += p->task_m)
            for (size_t n = 0; n < p->n; n += p->task_n)
                task(p, m, least(m + p->task_m, p->m), n, least(n + p->task_n, p->n), k, least(k + p->task_k, p->k));
}

/* Whether elements all over C are what they should be. */
static int is_right(const Product *p)
{
    for (size_t s = 0; s < 64; s++) {
        size_t i = s == 63 ? p->m - 1 : s * 7919 % p->m, j = s == 63 ? p->n - 1 : s * 104729 % p->n;
        double sum = 0.0, size = 1e-3;
        for (size_t k = 0; k < p->k; k++) {
            double term = (double)p->a[p->trans_a ? k * p->m + i : i * p->k + k] *
                          p->b[p->trans_b ? j * p->k + k : k * p->n + j];
            sum += term, size += fabs(term);
        }
        if (!(fabs(sum - p->c[i * p->n + j]) <= 1e-5 * size))
            return 0;
    }
    return 1;
}

/* Reads the blocking. Returns 0 where the schedule lacks a size. */
static int read_schedule(Product *p, Fields schedule)
{
    p->task_m = size_of_field(schedule, "single.m"), p->task_n = size_of_field(schedule, "single.n");
    p->task_k = size_of_field(schedule, "single.k");
    p->tile_m = size_of_field(schedule, "l0.m"), p->tile_n = size_of_field(schedule, "l0.n");
    p->tile_k = size_of_field(schedule, "l0.k_a");
    int a_is_full = text_is(schedule, "l1_a", "full"), b_is_full = text_is(schedule, "l1_b", "full");
    p->depth_a = a_is_full ? p->task_k : size_of_field(schedule, "l1_a.k");
    p->depth_b = b_is_full ? p->task_k : size_of_field(schedule, "l1_b.k");
    p->panel_m = a_is_full ? p->task_m : size_of_field(schedule, "l1_a.tiles") * p->tile_m;
    p->panel_n = b_is_full ? p->task_n : size_of_field(schedule, "l1_b.tiles") * p->tile_n;
    p->n_first = text_is(schedule, "order", "n_first");
    p->panel_m = least(p->panel_m, p->task_m), p->panel_n = least(p->panel_n, p->task_n);
    return p->task_m && p->task_n && p->task_k && p->tile_m && p->tile_n && p->tile_k && p->depth_a && p->depth_b &&
           p->panel_m && p->panel_n && p->tile_m % ROWS == 0 && p->tile_n % VECTOR == 0;
}

AoeStatus measure_product(Fields workload, Fields schedule, double *time_us)
{
    Product p = {.m = size_of_field(workload, "m"), .k = size_of_field(workload, "k"), .n = size_of_field(workload, "n")};
    p.trans_a = number_or(workload, "trans_a", 0.0) != 0.0, p.trans_b = number_or(workload, "trans_b", 0.0) != 0.0;
    if (p.m == 0 || p.k == 0 || p.n == 0 || !text_is(workload, "dtype", "float32") ||
        !text_is(workload, "out_dtype", "float32") || number_or(workload, "batch", 1.0) != 1.0 ||
        number_or(workload, "bias", 0.0) != 0.0 || !text_is(workload, "a_format", "ND") || !text_is(workload, "b_format", "ND"))
        return failed(AOE_ERROR_UNSUPPORTED, "host-cpu multiplies one fp32 A by one fp32 B in format ND, without bias");
    if (number_or(schedule, "used_cores", 1.0) != 1.0)
        return failed(AOE_ERROR_ILLEGAL_SCHEDULE, "host-cpu has one core");
    if (!read_schedule(&p, schedule))
        return failed(AOE_ERROR_ILLEGAL_SCHEDULE, "the schedule lacks a block size, or one is no multiple of 16");
    /* A strip is never cut by a tile, so that the panels of C's blocks begin at whole strips. */
    if (p.tile_n % COLUMNS != 0 && p.panel_n > p.tile_n)
        return failed(AOE_ERROR_ILLEGAL_SCHEDULE, "host-cpu cuts panels at multiples of %d columns", COLUMNS);
    p.in_a.width = ROWS, p.in_b.width = COLUMNS;
    p.a = floats(p.m * p.k), p.b = floats(p.k * p.n), p.c = floats(p.m * p.n);
    p.in_a.memory = floats(up(p.panel_m, ROWS) * least(p.depth_a, p.k));
    p.in_b.memory = floats(up(p.panel_n, COLUMNS) * least(p.depth_b, p.k));
    AoeStatus status = AOE_SUCCESS;
    if (!p.a || !p.b || !p.c || !p.in_a.memory || !p.in_b.memory) {
        status = failed(AOE_ERROR_MEMORY_ALLOC, "no memory for a product of %zu x %zu x %zu", p.m, p.k, p.n);
    } else {
        fill(p.a, p.m * p.k, 1), fill(p.b, p.k * p.n, 2);
        *time_us = best_time_us(run, &p);
        if (!is_right(&p))
            status = failed(AOE_FAILURE, "the product is wrong");
    }
    free(p.a), free(p.b), free(p.c), free(p.in_a.memory), free(p.in_b.memory);
    return status;
}
