/* A stand-in for CANN's runtime on a machine without devices: the prototypes of libascendcl.so and its
 * companions, memory of the host, matrix products that are really computed, and kernel times of libaoe's
 * simulator for the tiling in the bank that TUNE_BANK_PATH names, with noise.
 *
 * The environment says what it is:
 *   STAND_IN_LIBAOE     path of libaoe.so, which reads the bank and predicts the times
 *   STAND_IN_STATE      a folder in which processes count their runs, so that each has noise of its own, and leave
 *                       empty files: `device-0` when that device was taken, `kernels-10`
 *                       when so many were timed between two events, `fault` when one was met, `hang` when a function hangs as planted
 *   STAND_IN_SEED       seed of the noise (0)
 *   STAND_IN_NOISE      relative standard deviation of one process's times (0: none)
 *   STAND_IN_SOC        SoC name (Ascend910B2)
 *   STAND_IN_CORES      AI Cores (24)
 *   STAND_IN_DEVICES    devices (2)
 *   STAND_IN_MEMORY_MB  device memory (4096)
 *   STAND_IN_BANK       `ignored`: no bank is read, as where CANN looks for another name
 *   STAND_IN_FAULTS     [SCOPE:]FUNCTION=WHAT, separated by commas. WHAT is the code to return, `null` for a
 *                       function that returns a pointer, `hang`, `orphan` (starts a process that stays, and hangs),
 *                       `daemon` (the same, in a session of its own),
 *                       `crash`, or for the function `kernel` also `wrong`. SCOPE is `all` (default), `candidate`
 *                       (processes whose bank holds a record), `with_record` (one of TBE's), `some` (about half of
 *                       the candidates, by their record), or `afterN` (processes that begin when N have come to their kernel). */
#ifndef STAND_IN_H
#define STAND_IN_H

#include <stddef.h>
#include <stdint.h>

enum { SUCCESS = 0, UNINITIALIZED = 100001, INVALID_PARAM = 100000, OUT_OF_DEVICE_MEMORY = 207018 };
enum { AICORE_EXCEPTION = 507015, INTERNAL_ERROR = 500000, SYNC_TIMEOUT = 507046 };
enum { TYPE_FLOAT = 0, TYPE_FLOAT16 = 1, TYPE_INT32 = 3, TYPE_BF16 = 27 };
enum { FORMAT_NCHW = 0, FORMAT_ND = 2, FORMAT_NC1HWC0 = 3, FORMAT_FRACTAL_Z = 4, FORMAT_NZ = 29, FORMAT_NCDHW = 30, FORMAT_NDC1HWC0 = 32, FORMAT_FRACTAL_Z_3D = 33 };

/* Leaves the calling function as STAND_IN_FAULTS says, if it does. */
#define FAULT(function)                                       \
    do {                                                      \
        int fault_code = planted(function);                   \
        if (fault_code != SUCCESS) {                          \
            return fault_code;                                \
        }                                                     \
    } while (0)
#define FAULT_NULL(function)                                  \
    do {                                                      \
        if (planted(function) != SUCCESS) {                   \
            return NULL;                                      \
        }                                                     \
    } while (0)

/* faults.c: the code that a function is to return; does not return where it is to hang or to crash. */
int planted(const char *function);
/* Whether kernels are to compute wrong results. */
int computes_wrongly(void);
/* Leaves an empty file of this name in STAND_IN_STATE. */
void note(const char *name);
/* The text of an environment variable, or of the default where it is not set. */
const char *setting(const char *name, const char *otherwise);

/* A matrix as an operator sees it, or several of one size. */
struct matrix {
    int type;
    int format;
    int64_t stacks;
    int64_t rows, columns;   /* as stored */
    int transposed;          /* read with its axes exchanged */
    void *data;
};

/* A product that was launched. */
struct product {
    struct matrix a, b, c;
    int has_bias, hf32;
    int bias_type;
    const void *bias;
    int64_t m, k, n;         /* of each of c.stacks products */
    int by_tbe;              /* compiled by TBE, which asks its own bank */
};

/* A convolution of volumes that was launched: `Conv3DV2` on NDC1HWC0 and FRACTAL_Z_3D. */
struct volume {
    int type, out_type, has_bias, bias_type;
    const void *x, *filter, *bias;
    void *y;
    int64_t images, cin, cout;
    int64_t in[3], out[3], kernel[3], stride[3], dilation[3], pads[6];
};

/* A convolution of images of one group, of float16, or the gradient of one. */
struct image {
    enum { FORWARD, OF_INPUT, OF_FILTER } kind;
    int has_bias, is_activated;
    int64_t images, cin, cout;
    int64_t in[2], out[2], kernel[2], strides[2], dilations[2], pads[4];
};

/* unified.c: has TBE compile a kernel with what its bank says, and leave its JSON in a folder. */
extern char kernel_folder[4096];
int has_record_of_tbe(void);
int compile_product(const struct product *product);
int compile_image(const struct image *image);

/* clock.c: what a stream and the host have spent, in microseconds of a virtual clock. */
struct stream {
    double busy_until;
    int fault;               /* of a kernel, told when the stream is waited for */
    unsigned kernels;        /* launched so far */
};
void launch(struct stream *stream, double kernel_us);

/* pricing.c: the time of a product with the tiling that the bank holds; negative where the kernel faults. */
double price(const struct product *product);
double price_volume(const struct volume *volume);
/* The record that the bank of this process holds, "" for none. Read once, as CANN does. */
const char *record(void);
/* A whole number among the record's knowledge. */
int64_t record_field(const char *name, int64_t otherwise);
/* How many processes of the test have come to their kernel so far. */
uint64_t runs_before(void);

/* kernels.c: what the kernels do with the record: whether there is one for its template, whether an element of the
 * result is written at all, and whether other memory gets into the sums. */
int kernel_exists(const struct product *product);
int is_written(const struct product *product, int64_t row, int64_t column);
int adds_rubbish(const struct product *product);

/* product.c: notes that a product was launched, so that its result can be read. */
void compute(const struct product *product);
/* Computes what of the range of memory is the result of a product and was not computed yet. */
void settle(const void *from, size_t bytes);
size_t size_of_type(int type);
float decode(const void *data, int type, int64_t index);
void encode(void *data, int type, int64_t index, float value);

/* volume.c: the same of a convolution, and what its kernel does with the record: whether it can run at all. */
int volume_runs(const struct volume *volume);
void compute_volume(const struct volume *volume);
void settle_volume(const void *from, size_t bytes);

#endif
