/* TBE's compiler: what it asks its unified bank of a kernel, what it makes of the record that it finds there, and what it
 * says of it. It asks in the words of its own dictionary, all of them, and takes the record of just these words; a record
 * that does not fit together stops it. */
#include "stand_in.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { L1 = 524288, L0 = 65536, L0C = 131072, UNFIT = 500002 };

/* Where the compiler leaves what it says of kernels; "" where it says nothing. */
char kernel_folder[4096];

/* ---- The record ---- */

static void bank_path(char *path, size_t size, const char *operator)
{
    const char *soc = setting("STAND_IN_SOC", "Ascend910B2"), *root = setting("TUNE_BANK_PATH", "");
    snprintf(path, size, "%s/%s/unified_bank/%s_%s_AiCore_%s.json", root, soc, soc, setting("STAND_IN_CORES", "24"), operator);
}

int has_record_of_tbe(void)
{
    static const char *const operators[] = {"matmul", "conv2d", "conv2d_backprop_input", "conv2d_backprop_filter"};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        char path[4096];
        bank_path(path, sizeof path, operators[i]);
        if (access(path, F_OK) == 0) {
            return 1;
        }
    }
    return 0;
}

/* The line of a bank that has a record for a question; NULL for none. */
static const char *line_of(const char *operator, const char *question)
{
    static char text[1 << 17];
    char path[4096], quoted[2304];
    if (strcmp(setting("STAND_IN_BANK", "read"), "ignored") == 0) {
        return NULL;
    }
    bank_path(path, sizeof path, operator);
    int file = open(path, O_RDONLY);
    if (file < 0) {
        return NULL;
    }
    ssize_t bytes = read(file, text, sizeof text - 1);
    close(file);
    text[bytes > 0 ? bytes : 0] = '\0';
    snprintf(quoted, sizeof quoted, "\"info_dict\": %s", question);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strstr(line, quoted) != NULL) {
            return line;
        }
    }
    return NULL;
}

/* The numbers of a list in a record; how many there are. */
static int numbers(const char *line, const char *name, int64_t *values, int most)
{
    char quoted[64];
    int count = 0, length = 0;
    snprintf(quoted, sizeof quoted, "\"%s\": [", name);
    const char *at = strstr(line, quoted);
    for (at = at != NULL ? at + strlen(quoted) : ""; count < most; at += length + strspn(at + length, ", ")) {
        long long value;
        if (sscanf(at, "%lld%n", &value, &length) != 1) {
            break;
        }
        values[count++] = value;
    }
    return count;
}

static int64_t buffers(const char *line, const char *name)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\": ", name);
    const char *at = strstr(line, quoted);
    return at != NULL ? atoll(at + strlen(quoted)) : 1;
}

/* Whether a record fits together, and on the core. `bytes` are those of an element. */
static int fits_together(const char *line, int is_convolution, int64_t bytes)
{
    int64_t a[5], b[5], c[5], out[5], blocks[5] = {1, 1, 1, 1}, l1[2][3];
    int has_b = numbers(line, "BL0_matrix", b, 5) == 5;
    if (numbers(line, "AL0_matrix", a, 5) != 5 || numbers(line, "CL0_matrix", c, 5) != 5 || a[2] != 16) {
        return 0;
    }
    if (a[0] != c[1] || (has_b && (b[1] != c[0] || b[0] != a[1]))) {
        return 0;
    }
    if (is_convolution && (numbers(line, "L0C_OUTPUT_matrix", out, 4) != 4 || memcmp(out, c, 4 * sizeof *c) != 0)) {
        return 0;
    }
    numbers(line, "block_dim", blocks, 4);
    if (blocks[0] * blocks[1] * blocks[2] * blocks[3] > atoll(setting("STAND_IN_CORES", "24"))) {
        return 0;
    }
    int64_t rows = c[1] * 16, columns = c[0] * 16, depth = a[1] * a[3], held = 0;
    const char *const names[] = {"AL1_shape", "BL1_shape"}, *const of[] = {"AL1_pbuffer", "BL1_pbuffer"};
    for (int i = 0; i < 2; i++) {
        if (numbers(line, names[i], l1[i], 3) == 3) {
            held += l1[i][0] * l1[i][1] * (i == 0 ? rows : columns) * bytes * buffers(line, of[i]);
        }
    }
    return rows * depth * bytes * buffers(line, "AL0_pbuffer") <= L0 &&
           (!has_b || columns * depth * bytes * buffers(line, "BL0_pbuffer") <= L0) &&
           rows * columns * 4 * buffers(line, "CL0_pbuffer") <= L0C && held <= L1;
}

/* Compiles a kernel with the record of a question, and leaves the JSON that says whether there was one. */
static int compile(const char *kernel, const char *operator, const char *question, int64_t bytes)
{
    char path[4352];
    FAULT(kernel);
    const char *line = line_of(operator, question);
    if (line != NULL && !fits_together(line, strcmp(operator, "matmul") != 0, bytes)) {
        fprintf(stderr, "stand-in: the record of %s does not fit together\n", operator);
        return UNFIT;
    }
    if (*kernel_folder == '\0') {
        return SUCCESS;
    }
    snprintf(path, sizeof path, "%s/kernel_meta", kernel_folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/kernel_meta/%s.json", kernel_folder, kernel);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return INTERNAL_ERROR;
    }
    fprintf(file, "{\"kernelName\":\"%s\",\"KBHit\":%s}\n", kernel, line != NULL ? "true" : "false");
    return fclose(file) == 0 ? SUCCESS : INTERNAL_ERROR;
}

/* ---- The questions ---- */

struct question {
    char text[2048];
    size_t length;
};

static void add(struct question *q, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int written = vsnprintf(q->text + q->length, sizeof q->text - q->length, format, arguments);
    va_end(arguments);
    q->length += written > 0 ? (size_t)written : 0;
}

static void add_list(struct question *q, const char *name, const int64_t *values, int count)
{
    add(q, "\"%s\": [", name);
    for (int i = 0; i < count; i++) {
        add(q, "%s%lld", i > 0 ? ", " : "", (long long)values[i]);
    }
    add(q, "], ");
}

static void add_number(struct question *q, const char *name, int64_t value)
{
    add(q, "\"%s\": %lld, ", name, (long long)value);
}

static const char *type_name(int type)
{
    return type == TYPE_FLOAT ? "float32" : type == TYPE_BF16 ? "bfloat16" : "float16";
}

/* What all but the forward pass have in common. */
static void add_common(struct question *q, const char *type, const char *result, const int64_t pads[4],
                       const int64_t strides[4], const int64_t dilations[2], const char *bias)
{
    static const char *const sides[] = {"padl", "padr", "padu", "padd"};
    static const char *const steps[] = {"strideH", "strideW", "strideH_expand", "strideW_expand"};
    add(q, "\"A_dtype\": \"%s\", \"B_dtype\": \"%s\", \"C_dtype\": \"%s\", \"mad_dtype\": \"float32\", ", type, type, result);
    for (int i = 0; i < 4; i++) {
        add_number(q, sides[i], pads[i]);
    }
    for (int i = 0; i < 4; i++) {
        add_number(q, steps[i], strides[i]);
    }
    add_number(q, "dilationH", dilations[0]);
    add_number(q, "dilationW", dilations[1]);
    add(q, "\"group\": 1, \"bias_flag\": %s, \"fused_double_operand_num\": 0, ", bias);
}

int compile_product(const struct product *p)
{
    static const int64_t zeros[5], ones[4] = {1, 1, 1, 1};
    struct question q = {.length = 0};
    int64_t bytes = (int64_t)size_of_type(p->a.type), k0 = 32 / bytes;
    const int64_t a[] = {p->c.stacks, p->k / k0, p->m / 16, 16, k0}, b[] = {p->k, p->n / 16, 1, 1, 16};
    const int64_t dilations[] = {1 + !!p->a.transposed + 2 * !!p->b.transposed, 1};
    int is_aligned = p->m % 16 == 0 && p->n % 16 == 0 && p->k % k0 == 0;
    int batch_type = p->c.stacks == 1 ? 0 : p->b.stacks == 1 ? 2 : 3;
    add(&q, "{\"op_type\": \"matmul\", ");
    add_list(&q, "A_shape", a, 5);
    add_list(&q, "B_shape", b, 5);
    add_list(&q, "C_shape", zeros, 5);
    add_common(&q, type_name(p->a.type), type_name(p->c.type), zeros, ones, dilations, p->has_bias ? "true" : "false");
    /* How sizes that are not whole fractals are asked for is not known: in words that no record has. */
    add(&q, "\"shape_a_align\": %s, \"shape_b_align\": 1, \"scalar_size\": 0, ", is_aligned ? "1" : "null");
    add(&q, "\"batch_type\": %d, \"reduce_fusion\": 0", batch_type);
    if (p->has_bias) {
        add(&q, ", \"bias_dtype\": \"%s\", \"fixpipe_flag\": 1", type_name(p->bias_type));
    }
    add(&q, "}");
    return compile("te_matmulv2", "matmul", q.text, bytes);
}

int compile_image(const struct image *w)
{
    struct question q = {.length = 0};
    const int64_t x[] = {w->images, (w->cin + 15) / 16, w->in[0], w->in[1], 16};
    const int64_t y[] = {w->images, (w->cout + 15) / 16, w->out[0], w->out[1], 16};
    const int64_t filter[] = {y[1] * 16, x[1], w->kernel[0], w->kernel[1], 16}, zeros[5] = {0};
    const int64_t pads[] = {w->pads[2], w->pads[3], w->pads[0], w->pads[1]};
    const int64_t true_strides[] = {w->strides[0], w->strides[1], 1, 1};
    const int64_t expanded[] = {1, 1, w->strides[0], w->strides[1]};
    /* The schedule of stride 1 asks without result and pads. */
    int is_plain = w->strides[0] == 1 && w->strides[1] == 1;
    if (w->kind == OF_INPUT) {
        add(&q, "{\"op_type\": \"conv2d_backprop_input\", ");
        add_list(&q, "A_shape", y, 5);
        add_list(&q, "B_shape", filter, 5);
        add_list(&q, "C_shape", is_plain ? zeros : x, is_plain ? 4 : 5);
        add_common(&q, "float16", "float16", is_plain ? zeros : pads, expanded, w->dilations, "0");
        add(&q, "\"in_fm_memory_type\": [0], \"out_fm_memory_type\": [0], \"l1_fusion_type\": -1, \"fusion_type\": 1}");
        return compile("te_conv2d_backprop_input", "conv2d_backprop_input", q.text, 2);
    }
    if (w->kind == OF_FILTER) {
        add(&q, "{\"op_type\": \"conv2d_backprop_filter\", ");
        add_list(&q, "A_shape", y, 5);
        add_list(&q, "B_shape", x, 5);
        add_list(&q, "C_shape", filter, 5);
        add_common(&q, "float16", "float32", pads, true_strides, w->dilations, "0");
        add(&q, "\"fusion_type\": 0}");
        return compile("te_conv2d_backprop_filter", "conv2d_backprop_filter", q.text, 2);
    }
    add(&q, "{");
    add_list(&q, "fm_shape", x, 5);
    add_list(&q, "filter_shape", filter, 5);
    add(&q, "\"fm_dtype\": \"float16\", \"filter_dtype\": \"float16\", \"mad_dtype\": \"float32\", ");
    add_list(&q, "result_shape", y, 5);
    add(&q, "\"result_dtype\": \"float16\", \"output_num\": 1, ");
    add_list(&q, "pad", pads, 4);
    add_list(&q, "stride", w->strides, 2);
    add_list(&q, "dilation", w->dilations, 2);
    add(&q, "\"group\": 1, \"bias_flag\": %s, \"bias_dtype\": \"%s\", ", w->has_bias ? "true" : "false",
        w->has_bias ? "float16" : "");
    add(&q, "\"pooling_shape\": [0, 0], \"pooling_stride\": [0, 0], \"l1_fusion_type\": -1, ");
    add(&q, "\"fusion_type\": \"%s%s\", ", w->is_activated ? "80_fixpipe_1" : "1", w->has_bias ? "_9_2_2" : "");
    add(&q, "\"reserved_ub\": 0, \"fused_channel_wise\": [0, 0, 0], \"in_fm_memory_type\": [0], ");
    add(&q, "\"out_fm_memory_type\": [], \"out_c_memory_type\": [\"OUT\"], \"fixpipe_fused_type\": [%s], ",
        w->is_activated ? "{\"pre_act\": \"NORMAL_RELU\", \"pre_conv\": \"F322F16\"}" : "{}");
    add(&q, "\"fm_l1_valid_size\": -1, \"fused_coefficient\": [0, 0, 0], \"fixpipe_fused_coefficient\": [0, 0], ");
    add(&q, "\"special_mode\": {\"use_c04_mode\": 0, \"input_nd_flag\": false, \"scalar_num\": 0, ");
    add(&q, "\"high_performance_mode\": false, \"high_precision_mode\": true, \"l0a_dma_flag\": false, ");
    add(&q, "\"4To2_structured_sparsity\": false}}");
    return compile(w->is_activated ? "te_conv2d_relu" : "te_conv2d", "conv2d", q.text, 2);
}
