/* What MatMulV3's kernels on split parts do with the tiling of a record, right or wrong: which template there is, which
 * elements of the result are written, and when the rest of memory gets into them. CANN does not check a record, and
 * neither does this: a record that breaks a rule runs and computes rubbish. */
#include "stand_in.h"

#include <stdlib.h>
#include <string.h>

enum { L1 = 524288, L0 = 65536, L0C = 131072 };

struct tiling {
    int64_t used, single_m, single_n, single_k, base_m, base_n, base_k, depth_a, depth_b;
    int64_t l2_m, l2_n, l2_m_block, l2_n_block, enable;
    int64_t buffers;
};

static const struct tiling *tiling(void)
{
    static struct tiling read;
    static int was_read;
    if (!was_read) {
        was_read = 1;
        read = (struct tiling){
            record_field("usedCoreNum", 0), record_field("singleCoreM", 0), record_field("singleCoreN", 0), record_field("singleCoreK", 0),
            record_field("baseM", 0), record_field("baseN", 0), record_field("baseK", 0), record_field("depthA1", 0), record_field("depthB1", 0),
            record_field("l2MTileCnt", 0), record_field("l2NTileCnt", 0), record_field("l2MTileBlock", 0), record_field("l2NTileBlock", 0),
            record_field("tilingEnable", 0), record_field("dbL0A", 2)};
    }
    return &read;
}

/* Whether the rules hold here: a record for the kernel of one product, on a part whose kernels these are. The kernels of
 * several products take their tiling from elsewhere. */
static int applies(const struct product *p)
{
    const char *soc = setting("STAND_IN_SOC", "Ascend910B2");
    return *record() != '\0' && p->c.stacks == 1 && !p->by_tbe && (strncmp(soc, "Ascend910B", 10) == 0 || strncmp(soc, "Ascend910_93", 12) == 0);
}

static int64_t blocks(int64_t whole, int64_t part)
{
    return part > 0 ? (whole + part - 1) / part : INT64_MAX / 4;
}

static int64_t split(void)
{
    return tiling()->enable % 10;
}

int kernel_exists(const struct product *p)
{
    if (!applies(p)) {
        return 1;
    }
    int64_t enable = tiling()->enable, full = enable / 10 % 10, out = enable / 1000 % 10, shift = enable / 10000;
    int wide = p->a.type == TYPE_FLOAT, both_nz = p->a.format == FORMAT_NZ && p->b.format == FORMAT_NZ;
    int64_t form = full * 100 + split() * 10 + out;
    if (enable / 100 % 10 != 0 || shift > 1 || (shift == 1 && enable != 10000)) {
        return 0;
    }
    if (both_nz) {
        return form == 0 || form == 2;
    }
    switch (form) {
    case 0: case 200: case 201: case 20: case 30: case 32:
        return 1;
    case 100: case 202:
        return wide;
    case 120:
        return !wide && p->b.format != FORMAT_NZ;
    case 40:
        return wide && !p->a.transposed && p->b.transposed &&
               blocks(p->m, tiling()->single_m) * blocks(p->n, tiling()->single_n) *
                       blocks(p->k, tiling()->single_k) <= atoll(setting("STAND_IN_CORES", "24"));
    default:
        return 0;
    }
}

/* Whether one axis's task of an element lies within the tiles that the kernel walks. */
static int is_walked(int64_t task, int64_t tiles, int64_t block)
{
    return tiles > 0 && (block == 0 || task < tiles * block);
}

int is_written(const struct product *p, int64_t row, int64_t column)
{
    const struct tiling *t = tiling();
    if (!applies(p)) {
        return 1;
    }
    if (t->single_m <= 0 || t->single_n <= 0) {
        return 0;
    }
    int iterates_once = split() == 4 || (split() < 2 && t->enable / 10 % 10 != 2);
    if (iterates_once && (row % t->single_m >= t->base_m || column % t->single_n >= t->base_n)) {
        return 0;
    }
    if (split() == 2 || split() == 3) {
        return 1;
    }
    return is_walked(row / t->single_m, t->l2_m, t->l2_m_block) &&
           is_walked(column / t->single_n, t->l2_n, t->l2_n_block);
}

int adds_rubbish(const struct product *p)
{
    const struct tiling *t = tiling();
    if (!applies(p)) {
        return 0;
    }
    int64_t size = (int64_t)size_of_type(p->a.type), m = (t->base_m + 15) / 16 * 16, n = (t->base_n + 15) / 16 * 16;
    int overflows = (t->depth_a * m + t->depth_b * n) * t->base_k * size > L1 || m * n * 4 > L0C ||
                    t->buffers * m * t->base_k * size > L0 || t->buffers * n * t->base_k * size > L0;
    int idle = split() == 3 && blocks(p->k, t->single_k) < t->used;
    return overflows || idle || t->used < 1 || t->used > atoll(setting("STAND_IN_CORES", "24"));
}
