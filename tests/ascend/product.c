/* Matrix products, computed when somebody reads the result, and only the rows that are read. */
#include "stand_in.h"

#include <stdlib.h>
#include <string.h>

static struct product last;
static int pending;
/* The right operand in fp32, decoded once. */
static float *decoded;
static const void *decoded_from;

size_t size_of_type(int type)
{
    return type == TYPE_FLOAT ? 4 : 2;
}

static float from_float16(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023, word;
    float value;
    if (exponent == 0) {
        value = (float)mantissa / 16777216.0f;
        return sign ? -value : value;
    }
    word = sign | (exponent == 31 ? 255 : exponent + 112) << 23 | mantissa << 13;
    memcpy(&value, &word, sizeof value);
    return value;
}

float decode(const void *data, int type, int64_t index)
{
    float value;
    if (type == TYPE_FLOAT) {
        return ((const float *)data)[index];
    }
    uint16_t bits = ((const uint16_t *)data)[index];
    if (type == TYPE_FLOAT16) {
        return from_float16(bits);
    }
    uint32_t word = (uint32_t)bits << 16;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* Stores a sum, rounded to nearest; sums here are positive and far from the ends of the types. */
void encode(void *data, int type, int64_t index, float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    if (type == TYPE_FLOAT) {
        ((float *)data)[index] = value;
    } else if (type == TYPE_BF16) {
        ((uint16_t *)data)[index] = (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
    } else {
        word += 0xfff + (word >> 13 & 1);
        ((uint16_t *)data)[index] = (uint16_t)((word >> 13) - (112u << 10));
    }
}

static float element(const struct matrix *matrix, int64_t stack, int64_t row, int64_t column)
{
    int64_t whole = matrix->rows * matrix->columns;
    int64_t r = matrix->transposed ? column : row, c = matrix->transposed ? row : column;
    int64_t index = r * matrix->columns + c;
    if (matrix->format == FORMAT_NZ) {
        int64_t block = 32 / (int64_t)size_of_type(matrix->type), height = (matrix->rows + 15) / 16 * 16;
        index = (c / block * height + r) * block + c % block;
        whole = (matrix->columns + block - 1) / block * block * height;
    }
    return decode(matrix->data, matrix->type, stack * whole + index);
}

void compute(const struct product *product)
{
    last = *product;
    pending = 1;
}

/* A row of the results, which lie one below the other. */
static void compute_row(int64_t row, float *sums)
{
    const struct product *p = &last;
    int64_t stack = row / p->m;
    for (int64_t j = 0; j < p->n; j++) {
        sums[j] = p->has_bias ? decode(p->bias, p->bias_type, j) : 0.0f;
    }
    for (int64_t l = 0; l < p->k; l++) {
        float left = element(&p->a, stack % p->a.stacks, row % p->m, l);
        const float *right = decoded + (stack % p->b.stacks * p->k + l) * p->n;
        for (int64_t j = 0; j < p->n; j++) {
            sums[j] += left * right[j];
        }
    }
    if (computes_wrongly()) {
        sums[p->n / 2] *= 1.5f;
    }
    float rubbish = adds_rubbish(p) ? 1.5f : 1.0f;
    for (int64_t j = 0; j < p->n; j++) {
        if (!is_written(p, row, j)) {
            continue;
        }
        sums[j] *= rubbish;
        encode(p->c.data, p->c.type, row * p->n + j, sums[j]);
    }
}

void settle(const void *from, size_t bytes)
{
    const struct product *p = &last;
    settle_volume(from, bytes);
    if (!pending) {
        return;
    }
    size_t row_bytes = (size_t)p->n * size_of_type(p->c.type);
    int64_t rows = p->c.stacks * p->m;
    const char *begin = p->c.data, *end = begin + row_bytes * (size_t)rows, *wanted = from;
    if (wanted < begin || wanted >= end) {
        return;
    }
    if (decoded_from != p->b.data) {
        free(decoded);
        decoded = malloc((size_t)p->b.stacks * (size_t)p->k * (size_t)p->n * sizeof *decoded);
        decoded_from = p->b.data;
        for (int64_t l = 0; l < p->b.stacks * p->k; l++) {
            for (int64_t j = 0; j < p->n; j++) {
                decoded[l * p->n + j] = element(&p->b, l / p->k, l % p->k, j);
            }
        }
    }
    float *sums = malloc((size_t)p->n * sizeof *sums);
    int64_t first = (int64_t)((size_t)(wanted - begin) / row_bytes);
    int64_t after = (int64_t)(((size_t)(wanted - begin) + bytes + row_bytes - 1) / row_bytes);
    for (int64_t row = first; row < after && row < rows; row++) {
        compute_row(row, sums);
    }
    free(sums);
}
