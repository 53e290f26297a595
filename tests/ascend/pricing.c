/* The time of a kernel: libaoe's simulator, for the tiling that libaoe's bank reader finds where CANN's operator
 * would look, and the noise of a machine. */
#include "stand_in.h"

#include "aoe.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

typedef AoeStatus (*simulate_fn)(const char *, const AoeOption *, size_t, char *, size_t *);
typedef AoeStatus (*bank_open_fn)(const char *const *, size_t, const AoeOption *, size_t, AoeBank **);
typedef AoeStatus (*bank_query_fn)(const AoeBank *, const char *, int32_t, const void *, size_t, char *, size_t *);
typedef const char *(*last_error_fn)(void);

static void *libaoe(const char *name)
{
    static void *library;
    if (library == NULL) {
        library = dlopen(setting("STAND_IN_LIBAOE", ""), RTLD_NOW | RTLD_LOCAL);
    }
    void *function = library != NULL ? dlsym(library, name) : NULL;
    if (function == NULL) {
        fprintf(stderr, "stand-in: no %s in STAND_IN_LIBAOE: %s\n", name, dlerror());
        _exit(99);
    }
    return function;
}

/* ---- The bank, read once ---- */

/* Where CANN's operators look for a custom bank: products under MatMulV3, convolutions of volumes under an older name,
 * TBE for the products that it compiles in a bank of another form.
 * The one that is there; a process measures one operator. */
static void bank_path(char *path, size_t size)
{
    static const char *const operators[] = {"Conv3D_runtime_kb", "matmul", "MatMulV3_runtime_kb"};
    const char *soc = setting("STAND_IN_SOC", "Ascend910B2"), *root = setting("TUNE_BANK_PATH", "");
    for (int i = 0; i < 3; i++) {
        snprintf(path, size, "%s/%s/unified_bank/%s_%s_AiCore_%s.json", root, soc, soc,
                 setting("STAND_IN_CORES", "24"), operators[i]);
        if (access(path, F_OK) == 0) {
            return;
        }
    }
}

const char *record(void)
{
    static char line[1 << 16];
    static int was_read;
    char path[4096];
    if (was_read) {
        return line;
    }
    was_read = 1;
    if (strcmp(setting("STAND_IN_BANK", "read"), "ignored") == 0) {
        return line;
    }
    bank_path(path, sizeof path);
    /* As CANN does: for reading and writing. */
    int file = open(path, O_RDWR);
    if (file < 0) {
        return line;
    }
    ssize_t bytes = read(file, line, sizeof line - 1);
    close(file);
    char *first_end = bytes > 0 ? memchr(line, '\n', (size_t)bytes) : NULL;
    /* Of a convolution there is a record for each type that its key may name; all hold one tiling. */
    int may_be_several = strstr(path, "_MatMulV3_") == NULL;
    if (first_end == NULL || (first_end != line + bytes - 1 && !may_be_several)) {
        fprintf(stderr, "stand-in: %s holds other than one record\n", path);
        _exit(98);
    }
    if (strstr(path, "_runtime_kb") != NULL) {
        first_end[1] = '\0';
    }
    return line;
}

int64_t record_field(const char *name, int64_t otherwise)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", name);
    const char *knowledge = strstr(record(), "\"knowledge\":");
    const char *found = knowledge != NULL ? strstr(knowledge, quoted) : NULL;
    return found != NULL ? atoll(found + strlen(quoted)) : otherwise;
}

static const AoeOption *part(void)
{
    static AoeOption options[2];
    options[0] = (AoeOption){"soc_version", setting("STAND_IN_SOC", "Ascend910B2")};
    options[1] = (AoeOption){"aicore_num", setting("STAND_IN_CORES", "24")};
    return options;
}

/* The knowledge that the bank holds for a case, "" for none. */
static void query(const char *text, char *knowledge, size_t size)
{
    static AoeBank *bank;
    char path[4096];
    const char *layer = path;
    *knowledge = '\0';
    if (*record() == '\0') {
        return;
    }
    bank_path(path, sizeof path);
    bank_open_fn open_bank = (bank_open_fn)libaoe("AoeBankOpen");
    bank_query_fn ask = (bank_query_fn)libaoe("AoeBankQuery");
    if (bank == NULL && open_bank(&layer, 1, part(), 2, &bank) != AOE_SUCCESS) {
        fprintf(stderr, "stand-in: %s\n", ((last_error_fn)libaoe("AoeGetLastError"))());
        _exit(97);
    }
    if (ask(bank, NULL, AOE_BANK_KEY_CASE, text, strlen(text), knowledge, &size) != AOE_SUCCESS) {
        /* CANN runs what a record says, also where libaoe does not take it for a tiling. */
        fprintf(stderr, "stand-in: libaoe has no tiling for the operator in the bank of this process\n");
        *knowledge = '\0';
    }
}

/* ---- Noise: its own of each process, carried on from sample to sample, and sometimes far off ---- */

static uint64_t random_state;

static double uniform(void)
{
    /* splitmix64 */
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2.0 * log(1.0 - uniform())) * cos(6.283185307179586 * uniform());
}

/* Where it is counted how many processes of a test have come to their kernel. */
static void runs_path(char *path, size_t size)
{
    snprintf(path, size, "%s/runs", setting("STAND_IN_STATE", "/nowhere"));
}

uint64_t runs_before(void)
{
    char path[4096], text[32] = "0";
    runs_path(path, sizeof path);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    size_t bytes = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[bytes] = '\0';
    return strtoull(text, NULL, 10);
}

/* The number of this process among all of a test. */
static uint64_t run_number(void)
{
    char path[4096], text[32] = "0";
    runs_path(path, sizeof path);
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0) {
        return 0;
    }
    flock(file, LOCK_EX);
    ssize_t bytes = read(file, text, sizeof text - 1);
    text[bytes > 0 ? bytes : 0] = '\0';
    uint64_t number = strtoull(text, NULL, 10) + 1;
    int length = snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    if (pwrite(file, text, (size_t)length, 0) != length) {
        number = 0;
    }
    close(file);
    return number;
}

static double disturbance(void)
{
    static int begun;
    static double level, drift, carried;
    if (!begun) {
        begun = 1;
        level = atof(setting("STAND_IN_NOISE", "0"));
        random_state = strtoull(setting("STAND_IN_SEED", "0"), NULL, 10) * 1000003u + run_number();
        uniform();
        /* Where the process's clock and memory happened to be. */
        drift = 0.8 * level * normal();
    }
    if (level <= 0) {
        return 1;
    }
    carried = 0.7 * carried + 0.4 * level * normal();
    double outlier = uniform() < 0.02 ? 1 + 0.3 * uniform() : 1;
    return exp(drift + carried) * outlier;
}

/* ---- The price ---- */

static const char *type_name(int type)
{
    return type == TYPE_FLOAT ? "float32" : type == TYPE_BF16 ? "bfloat16" : "float16";
}

static const char *format_name(int format)
{
    return format == FORMAT_NZ ? "FRACTAL_NZ" : "ND";
}

static const char *flag(int set)
{
    return set ? "true" : "false";
}

/* Microseconds that libaoe's simulator gives a case, with the tiling that the bank holds for it where it is asked;
 * negative where it takes it for none. */
static double simulated(char *text, int asks)
{
    char with_tiling[1 << 16], knowledge[1 << 15] = "", answer[1 << 14];
    size_t size = sizeof answer;
    if (asks) {
        query(text, knowledge, sizeof knowledge);
    }
    text[strlen(text) - 1] = '\0';
    snprintf(with_tiling, sizeof with_tiling, "%s%s%s}", text, *knowledge != '\0' ? ",\"schedule\":" : "", knowledge);
    simulate_fn simulate = (simulate_fn)libaoe("AoeSimulate");
    if (simulate(with_tiling, part(), 2, answer, &size) != AOE_SUCCESS) {
        fprintf(stderr, "stand-in: %s\n", ((last_error_fn)libaoe("AoeGetLastError"))());
        return -1;
    }
    const char *time = strstr(answer, "\"time_us\":");
    return time != NULL ? atof(time + strlen("\"time_us\":")) : -1;
}

double price(const struct product *p)
{
    static double known = 0;
    char text[2048];
    if (known == 0) {
        snprintf(text, sizeof text,
                 "{\"op\":\"%sMatMulV%d\",\"workload\":{\"kind\":\"matmul\",\"batch\":%lld,\"a_shared\":%s,"
                 "\"b_shared\":%s,\"m\":%lld,\"k\":%lld,\"n\":%lld,\"dtype\":\"%s\",\"out_dtype\":\"%s\","
                 "\"a_format\":\"%s\",\"b_format\":\"%s\",\"trans_a\":%s,\"trans_b\":%s,\"bias\":%s,"
                 "\"hf32\":%s%s}}",
                 p->c.stacks == 1 ? "" : "Batch", p->by_tbe ? 2 : 3, (long long)p->c.stacks,
                 flag(p->a.stacks < p->c.stacks), flag(p->b.stacks < p->c.stacks), (long long)p->m, (long long)p->k,
                 (long long)p->n, type_name(p->a.type), type_name(p->c.type), format_name(p->a.format),
                 format_name(p->b.format), flag(p->a.transposed), flag(p->b.transposed), flag(p->has_bias),
                 flag(p->hf32), p->by_tbe ? ",\"kernel\":\"tbe\"" : "");
        known = simulated(text, p->c.stacks == 1);
    }
    return known < 0 ? known : known * disturbance();
}

double price_volume(const struct volume *v)
{
    static double known = 0;
    char text[2048];
    if (known == 0) {
        snprintf(text, sizeof text,
                 "{\"op\":\"Conv3DV2\",\"workload\":{\"kind\":\"conv\",\"batch\":%lld,\"cin\":%lld,\"hi\":%lld,"
                 "\"wi\":%lld,\"cout\":%lld,\"ho\":%lld,\"wo\":%lld,\"kh\":%lld,\"kw\":%lld,\"stride\":[%lld,%lld],"
                 "\"pads\":[%lld,%lld,%lld,%lld],\"dilation\":[%lld,%lld],\"groups\":1,\"dtype\":\"%s\","
                 "\"out_dtype\":\"%s\",\"bias\":%s,\"format\":\"NDC1HWC0\",\"hf32\":false,\"depth\":{\"input\":%lld,"
                 "\"output\":%lld,\"kernel\":%lld,\"stride\":%lld,\"pads\":[%lld,%lld],\"dilation\":%lld}}}",
                 (long long)(v->images * v->out[0]), (long long)(v->cin * v->kernel[0]), (long long)v->in[1],
                 (long long)v->in[2], (long long)v->cout, (long long)v->out[1], (long long)v->out[2],
                 (long long)v->kernel[1], (long long)v->kernel[2], (long long)v->stride[1], (long long)v->stride[2],
                 (long long)v->pads[2], (long long)v->pads[3], (long long)v->pads[4], (long long)v->pads[5],
                 (long long)v->dilation[1], (long long)v->dilation[2], type_name(v->type), type_name(v->out_type),
                 flag(v->has_bias), (long long)v->in[0], (long long)v->out[0], (long long)v->kernel[0],
                 (long long)v->stride[0], (long long)v->pads[0], (long long)v->pads[1], (long long)v->dilation[0]);
        known = simulated(text, 1);
    }
    return known < 0 ? known : known * disturbance();
}
