/* Convolutions of volumes: what Conv3DV2's kernel on split parts does with the tiling of a record, right or wrong, and the
 * elements of the result that somebody reads. CANN tests nothing of a record: one that breaks a rule runs and computes
 * rubbish. */
#include "stand_in.h"

#include <stdlib.h>
#include <string.h>

enum { L1 = 524288, L0 = 65536, L0C = 131072, C0 = 16 };

static struct volume last;
static int pending;
/* The image and the filters in fp32, decoded once. */
static float *image, *filters;

static int64_t blocks(int64_t whole, int64_t part)
{
    return (whole + part - 1) / part;
}

/* Whether the rules hold here: a record, on a part whose kernels these are. */
static int applies(void)
{
    const char *soc = setting("STAND_IN_SOC", "Ascend910B2");
    return *record() != '\0' && (strncmp(soc, "Ascend910B", 10) == 0 || strncmp(soc, "Ascend910_93", 12) == 0);
}

int volume_runs(const struct volume *v)
{
    static const char *const divisors[] = {"batchDim", "doDim", "mDim", "nDim", "groupDim", "singleCoreDo", "singleCoreM",
                                           "singleCoreCo", "mL0", "kL0", "nL0", "mAL1", "kAL1", "nBL1", "kBL1"};
    (void)v;
    for (size_t i = 0; applies() && i < sizeof divisors / sizeof *divisors; i++) {
        if (record_field(divisors[i], 0) <= 0) {
            return 0;
        }
    }
    return 1;
}

/* Whether the record repeats the node's own sizes as they are: the kernel takes the record's. */
static int copies(const struct volume *v)
{
    const struct {
        const char *name;
        int64_t value;
    } own[] = {{"orgDo", v->out[0]}, {"orgHo", v->out[1]}, {"orgWo", v->out[2]}, {"orgDi", v->in[0]},
               {"orgHi", v->in[1]}, {"orgWi", v->in[2]}, {"orgCi", v->cin}, {"orgCo", v->cout}, {"groups", 1},
               {"kernelD", v->kernel[0]}, {"kernelH", v->kernel[1]}, {"kernelW", v->kernel[2]},
               {"strideD", v->stride[0]}, {"strideH", v->stride[1]}, {"strideW", v->stride[2]},
               {"dilationD", v->dilation[0]}, {"dilationH", v->dilation[1]}, {"dilationW", v->dilation[2]},
               {"padHead", v->pads[0]}, {"padTail", v->pads[1]}, {"padTop", v->pads[2]}, {"padBottom", v->pads[3]},
               {"padLeft", v->pads[4]}, {"padRight", v->pads[5]}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (record_field(own[i].name, -1) != own[i].value) {
            return 0;
        }
    }
    return 1;
}

static int64_t twice(int bit)
{
    return 1 + (record_field("pBufferFlag", 0) >> bit & 1);
}

/* Whether what L1 is to hold fits it: an image of as many rows as the pixels of mAL1 touch, and the weights. */
static int fits_l1(const struct volume *v, int64_t size)
{
    int64_t unit = C0 * v->kernel[1] * v->kernel[2];
    int64_t rows_out = record_field("mAL1", 0) / v->out[2] + 2;
    int64_t rows = (rows_out - 1) * v->stride[1] + (v->kernel[1] - 1) * v->dilation[1] + 1;
    int64_t held = (rows < v->in[1] ? rows : v->in[1]) * v->in[2] * (record_field("kAL1", 0) / unit) * C0 * size * twice(3);
    return held + record_field("nBL1", 0) * record_field("kBL1", 0) * size * twice(4) <= L1;
}

/* Whether the kernel computes what it should where it writes. */
static int is_right(const struct volume *v)
{
    int64_t size = (int64_t)size_of_type(v->type), unit = C0 * v->kernel[1] * v->kernel[2];
    int64_t m = record_field("mL0", 0), n = record_field("nL0", 0), k = record_field("kL0", 0);
    int64_t k_a = record_field("kAL1", 0), k_b = record_field("kBL1", 0), all = blocks(v->cin, C0) * v->kernel[0] * unit;
    int64_t tasks = record_field("batchDim", 1) * record_field("doDim", 1) * record_field("mDim", 1) *
                    record_field("nDim", 1) * record_field("groupDim", 1);
    int64_t longer = k_a > k_b ? k_a : k_b, shorter = k_a > k_b ? k_b : k_a;
    int fits = m * k * size * twice(0) <= L0 && n * k * size * twice(1) <= L0 && m * n * 4 * twice(2) <= L0C;
    int nests = k_a % unit == 0 && k_b % unit == 0 && all % k_a == 0 && all % k_b == 0 && k_a % k == 0 && k_b % k == 0 &&
                longer % shorter == 0;
    int a_stays = k_a == all && record_field("mAL1", 0) >= record_field("singleCoreM", 0) && twice(3) == 1;
    int b_stays = k_b == all && record_field("nBL1", 0) >= record_field("singleCoreCo", 0) && twice(4) == 1;
    int bypasses = k_b == k && record_field("nBL1", 0) == n;
    return copies(v) && fits && nests && fits_l1(v, size) && tasks <= atoll(setting("STAND_IN_CORES", "24")) &&
           record_field("al1FullLoad", 0) <= a_stays && record_field("bl1FullLoad", 0) <= b_stays &&
           record_field("bl1BypassFlag", 0) == bypasses;
}

/* Whether some core has an element among what it was given. */
static int reaches(int64_t plane, int64_t pixel, int64_t channel)
{
    return plane < record_field("doDim", 0) * record_field("singleCoreDo", 0) &&
           pixel < record_field("mDim", 0) * record_field("singleCoreM", 0) &&
           channel < record_field("nDim", 0) * record_field("singleCoreCo", 0);
}

static float *decoded(const void *data, int type, int64_t count)
{
    float *values = malloc((size_t)count * sizeof *values);
    for (int64_t i = 0; i < count; i++) {
        values[i] = decode(data, type, i);
    }
    return values;
}

void compute_volume(const struct volume *v)
{
    last = *v;
    pending = 1;
    free(image);
    free(filters);
    int64_t c1 = blocks(v->cin, C0);
    image = decoded(v->x, v->type, v->images * v->in[0] * c1 * v->in[1] * v->in[2] * C0);
    filters = decoded(v->filter, v->type,
                      v->kernel[0] * c1 * v->kernel[1] * v->kernel[2] * blocks(v->cout, 16) * 16 * C0);
}

/* The place that a tap reads along an axis, negative for one outside. */
static int64_t place(int axis, int64_t at, int64_t tap)
{
    int64_t found = at * last.stride[axis] + tap * last.dilation[axis] - last.pads[2 * axis];
    return found < last.in[axis] ? found : -1;
}

static float sum_of(int64_t n, int64_t z, int64_t y, int64_t x, int64_t channel)
{
    const struct volume *v = &last;
    int64_t c1 = blocks(v->cin, C0), co16 = blocks(v->cout, 16) * 16;
    float sum = v->has_bias ? decode(v->bias, v->bias_type, channel) : 0.0f;
    for (int64_t dz = 0; dz < v->kernel[0]; dz++) {
        for (int64_t dy = 0; dy < v->kernel[1]; dy++) {
            for (int64_t dx = 0; dx < v->kernel[2]; dx++) {
                int64_t iz = place(0, z, dz), iy = place(1, y, dy), ix = place(2, x, dx);
                for (int64_t c = 0; iz >= 0 && iy >= 0 && ix >= 0 && c < c1; c++) {
                    const float *pixel = image + ((((n * v->in[0] + iz) * c1 + c) * v->in[1] + iy) * v->in[2] + ix) * C0;
                    int64_t tap = ((dz * c1 + c) * v->kernel[1] + dy) * v->kernel[2] + dx;
                    const float *filter = filters + (tap * co16 + channel) * C0;
                    for (int lane = 0; lane < C0; lane++) {
                        sum += pixel[lane] * filter[lane];
                    }
                }
            }
        }
    }
    return sum;
}

static void compute_element(int64_t index)
{
    const struct volume *v = &last;
    int64_t co1 = blocks(v->cout, C0), left = index;
    int64_t sizes[] = {C0, v->out[2], v->out[1], co1, v->out[0]}, at[5];
    for (int i = 0; i < 5; i++) {
        at[i] = left % sizes[i];
        left /= sizes[i];
    }
    int64_t channel = at[3] * C0 + at[0];
    if (channel >= v->cout || (applies() && !reaches(at[4], at[2] * v->out[2] + at[1], channel))) {
        return;
    }
    float sum = sum_of(left, at[4], at[2], at[1], channel);
    int is_wrong = computes_wrongly() || (applies() && !is_right(v));
    encode(v->y, v->out_type, index, is_wrong ? sum * 1.5f : sum);
}

void settle_volume(const void *from, size_t bytes)
{
    const struct volume *v = &last;
    if (!pending) {
        return;
    }
    size_t size = size_of_type(v->out_type);
    int64_t count = v->images * v->out[0] * blocks(v->cout, C0) * v->out[1] * v->out[2] * C0;
    const char *begin = v->y, *wanted = from;
    if (wanted < begin || wanted >= begin + (size_t)count * size) {
        return;
    }
    int64_t first = (int64_t)((size_t)(wanted - begin) / size);
    for (int64_t index = first; index < first + (int64_t)(bytes / size) && index < count; index++) {
        compute_element(index);
    }
}
