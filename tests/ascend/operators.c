/* Operators: MatMulV3 through aclnnMatmul; products and convolutions of volumes through the entries that take any operator
 * type. TBE compiles MatMulV2, BatchMatMulV2 and convolutions of images, and asks its bank then. */
#include "stand_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tensor {
    struct matrix matrix;
};

struct executor {
    struct product product;
    int repeatable, ran;
};

void *aclCreateTensor(const int64_t *view, uint64_t rank, int type, const int64_t *strides, int64_t offset, int format,
                      const int64_t *storage, uint64_t storage_rank, void *data)
{
    FAULT_NULL("aclCreateTensor");
    if (rank != 2 || storage_rank != 2 || offset != 0) {
        return NULL;
    }
    struct tensor *tensor = calloc(1, sizeof *tensor);
    /* A view of a transposed matrix has its unit stride first; a matrix of one row or column has both. */
    int transposed = strides[0] == 1 && strides[1] == storage[1] && view[0] == storage[1] && view[1] == storage[0];
    if (view[0] == storage[0] && view[1] == storage[1] && strides[0] == storage[1] && strides[1] == 1) {
        transposed = 0;
    }
    tensor->matrix = (struct matrix){type, format, 1, storage[0], storage[1], transposed, data};
    return tensor;
}

int aclDestroyTensor(const void *tensor)
{
    FAULT("aclDestroyTensor");
    free((void *)(uintptr_t)tensor);
    return SUCCESS;
}

/* Fills in the sizes; 0 where the operands do not fit. */
static int fits(struct product *product)
{
    const struct matrix *a = &product->a, *b = &product->b, *c = &product->c;
    product->m = a->transposed ? a->columns : a->rows;
    product->k = a->transposed ? a->rows : a->columns;
    product->n = b->transposed ? b->rows : b->columns;
    return (b->transposed ? b->columns : b->rows) == product->k && c->rows == product->m && c->columns == product->n &&
           (a->stacks == c->stacks || a->stacks == 1) && (b->stacks == c->stacks || b->stacks == 1);
}

int aclnnMatmulGetWorkspaceSize(const void *a, const void *b, void *c, int8_t math, uint64_t *bytes, void **executor)
{
    FAULT("aclnnMatmulGetWorkspaceSize");
    struct executor *made = calloc(1, sizeof *made);
    made->product.a = ((const struct tensor *)a)->matrix;
    made->product.b = ((const struct tensor *)b)->matrix;
    made->product.c = ((const struct tensor *)c)->matrix;
    made->product.hf32 = math == 3;
    if (!fits(&made->product)) {
        free(made);
        return INVALID_PARAM;
    }
    /* The tiling is chosen here. */
    record();
    *bytes = 1 << 20;
    *executor = made;
    return SUCCESS;
}

int aclSetAclOpExecutorRepeatable(void *executor)
{
    FAULT("aclSetAclOpExecutorRepeatable");
    ((struct executor *)executor)->repeatable = 1;
    return SUCCESS;
}

int aclDestroyAclOpExecutor(void *executor)
{
    FAULT("aclDestroyAclOpExecutor");
    free(executor);
    return SUCCESS;
}

static int run(const struct product *product, struct stream *stream)
{
    FAULT("kernel_launch");
    if (!kernel_exists(product)) {
        return INTERNAL_ERROR;
    }
    compute(product);
    stream->kernels++;
    launch(stream, price(product));
    return SUCCESS;
}

static int run_volume(const struct volume *volume, struct stream *stream)
{
    FAULT("kernel_launch");
    if (!volume_runs(volume)) {
        return INTERNAL_ERROR;
    }
    compute_volume(volume);
    stream->kernels++;
    launch(stream, price_volume(volume));
    return SUCCESS;
}

int aclnnMatmul(void *workspace, uint64_t bytes, void *handle, void *stream)
{
    struct executor *executor = handle;
    FAULT("aclnnMatmul");
    if (workspace == NULL || bytes < 1 << 20 || (executor->ran && !executor->repeatable)) {
        return INVALID_PARAM;
    }
    executor->ran = 1;
    return run(&executor->product, stream);
}

/* ---- Any operator type ---- */

struct description {
    int type, origin, format;
    int rank;
    int64_t dims[8], storage[8];
    const void *constant;
    size_t constant_bytes;
};

struct attributes {
    int transpose_x1, transpose_x2, adj_x1, adj_x2, enable_hf32;
    int64_t strides[5], dilations[5], pads[6], groups;
    char data_format[16];
};

void *aclCreateTensorDesc(int type, int rank, const int64_t *dims, int format)
{
    FAULT_NULL("aclCreateTensorDesc");
    struct description *made = calloc(1, sizeof *made);
    made->type = type;
    made->origin = made->format = format;
    made->rank = rank;
    memcpy(made->dims, dims, (size_t)rank * sizeof *dims);
    return made;
}

void aclDestroyTensorDesc(const void *description)
{
    free((void *)(uintptr_t)description);
}

int aclSetTensorFormat(void *description, int format)
{
    FAULT("aclSetTensorFormat");
    ((struct description *)description)->format = format;
    return SUCCESS;
}

int aclSetTensorShape(void *description, int rank, const int64_t *dims)
{
    FAULT("aclSetTensorShape");
    memcpy(((struct description *)description)->storage, dims, (size_t)rank * sizeof *dims);
    return SUCCESS;
}

int aclSetTensorConst(void *description, void *data, size_t bytes)
{
    FAULT("aclSetTensorConst");
    ((struct description *)description)->constant = data;
    ((struct description *)description)->constant_bytes = bytes;
    return SUCCESS;
}

void *aclopCreateAttr(void)
{
    FAULT_NULL("aclopCreateAttr");
    return calloc(1, sizeof(struct attributes));
}

void aclopDestroyAttr(const void *attributes)
{
    free((void *)(uintptr_t)attributes);
}

int aclopSetAttrBool(void *handle, const char *name, uint8_t value)
{
    struct attributes *attributes = handle;
    FAULT("aclopSetAttrBool");
    if (strcmp(name, "transpose_x1") == 0) {
        attributes->transpose_x1 = value;
    } else if (strcmp(name, "transpose_x2") == 0) {
        attributes->transpose_x2 = value;
    } else if (strcmp(name, "adj_x1") == 0) {
        attributes->adj_x1 = value;
    } else if (strcmp(name, "adj_x2") == 0) {
        attributes->adj_x2 = value;
    } else if (strcmp(name, "enable_hf32") == 0) {
        attributes->enable_hf32 = value;
    } else {
        return INVALID_PARAM;
    }
    return SUCCESS;
}

int aclopSetAttrInt(void *handle, const char *name, int64_t value)
{
    FAULT("aclopSetAttrInt");
    if (strcmp(name, "groups") != 0) {
        return INVALID_PARAM;
    }
    ((struct attributes *)handle)->groups = value;
    return SUCCESS;
}

int aclopSetAttrListInt(void *handle, const char *name, int count, const int64_t *values)
{
    struct attributes *attributes = handle;
    FAULT("aclopSetAttrListInt");
    int is_pads = strcmp(name, "pads") == 0, is_strides = strcmp(name, "strides") == 0;
    if ((!is_pads && !is_strides && strcmp(name, "dilations") != 0) || (count != 4 && count != (is_pads ? 6 : 5))) {
        return INVALID_PARAM;
    }
    memcpy(is_pads ? attributes->pads : is_strides ? attributes->strides : attributes->dilations, values,
           (size_t)count * sizeof *values);
    return SUCCESS;
}

int aclopSetAttrString(void *handle, const char *name, const char *value)
{
    struct attributes *attributes = handle;
    FAULT("aclopSetAttrString");
    if (strcmp(name, "data_format") != 0 || strlen(value) >= sizeof attributes->data_format) {
        return INVALID_PARAM;
    }
    strcpy(attributes->data_format, value);
    return SUCCESS;
}

int aclSetCompileopt(int option, const char *value)
{
    FAULT("aclSetCompileopt");
    if (option == 6 && strlen(value) < sizeof kernel_folder) {
        strcpy(kernel_folder, value);
        return SUCCESS;
    }
    return (option == 7 && strcmp(value, "disable") == 0) || (option == 5 && strcmp(value, "3") == 0) ? SUCCESS
                                                                                                       : INVALID_PARAM;
}

/* Whether a tensor is described in NCHW and stored in the kernel's format, in these sizes. */
static int lies_in_image(const struct description *tensor, int format, const int64_t *stored, size_t rank)
{
    return tensor->rank == 4 && tensor->origin == FORMAT_NCHW && tensor->format == format &&
           memcmp(tensor->storage, stored, rank * sizeof *stored) == 0;
}

/* Whether an operand holds the sizes of a result, as the compiler is told them. */
static int holds_sizes(const struct description *operand, const struct description *result)
{
    const int32_t *sizes = operand->constant;
    for (int i = 0; i < 4; i++) {
        if (operand->type != TYPE_INT32 || operand->constant_bytes != 16 || sizes[i] != result->dims[i]) {
            return 0;
        }
    }
    return 1;
}

/* The convolution of images of one group, of float16, or the gradient of one, that these operands describe; 0 where they
 * describe none. */
static int image_of(const char *type, int inputs, void *const *in, void *const *out,
                    const struct attributes *attributes, struct image *w)
{
    int is_input = strcmp(type, "Conv2DBackpropInput") == 0, is_filter = strcmp(type, "Conv2DBackpropFilter") == 0;
    int is_gradient = is_input || is_filter;
    if ((!is_gradient && strcmp(type, "Conv2D") != 0) || inputs < 2 + is_gradient || inputs > 3 ||
        attributes->groups != 1 || strcmp(attributes->data_format, "NCHW") != 0) {
        return 0;
    }
    const struct description *x = is_input ? out[0] : in[0], *y = is_gradient ? in[2] : out[0];
    const struct description *filter = is_filter ? out[0] : in[1];
    if ((is_input && !holds_sizes(in[0], x)) || (is_filter && !holds_sizes(in[1], filter))) {
        return 0;
    }
    *w = (struct image){.kind = is_input ? OF_INPUT : is_filter ? OF_FILTER : FORWARD, .has_bias = !is_gradient && inputs == 3,
                        .images = x->dims[0], .cin = x->dims[1], .cout = filter->dims[0]};
    memcpy(w->pads, attributes->pads, sizeof w->pads);
    for (int i = 0; i < 2; i++) {
        w->in[i] = x->dims[2 + i];
        w->out[i] = y->dims[2 + i];
        w->kernel[i] = filter->dims[2 + i];
        w->strides[i] = attributes->strides[2 + i];
        w->dilations[i] = attributes->dilations[2 + i];
        int64_t reach = w->in[i] + w->pads[2 * i] + w->pads[2 * i + 1] - (w->kernel[i] - 1) * w->dilations[i] - 1;
        if (w->strides[i] < 1 || reach < 0 || reach / w->strides[i] + 1 != w->out[i]) {
            return 0;
        }
    }
    int64_t ci = (w->cin + 15) / 16, co = (w->cout + 15) / 16;
    const int64_t x_sizes[] = {w->images, ci, w->in[0], w->in[1], 16}, y_sizes[] = {w->images, co, w->out[0], w->out[1], 16};
    const int64_t filter_sizes[] = {ci * w->kernel[0] * w->kernel[1], co, 16, 16};
    return lies_in_image(x, FORMAT_NC1HWC0, x_sizes, 5) && lies_in_image(y, FORMAT_NC1HWC0, y_sizes, 5) &&
           lies_in_image(filter, FORMAT_FRACTAL_Z, filter_sizes, 4) && filter->dims[1] == w->cin &&
           y->dims[0] == w->images && y->dims[1] == w->cout && x->type == TYPE_FLOAT16 && y->type == TYPE_FLOAT16 &&
           filter->type == (is_filter ? TYPE_FLOAT : TYPE_FLOAT16);
}

/* A data buffer begins with its address. */
static void *address(void *const *buffers, int at)
{
    return buffers != NULL ? *(void *const *)buffers[at] : NULL;
}

static struct matrix matrix_of(const struct description *description, int transposed, void *data)
{
    int64_t stacks = description->rank == 3 ? description->dims[0] : 1;
    const int64_t *sizes = description->dims + (description->rank == 3);
    return (struct matrix){description->type, description->format, stacks, sizes[0], sizes[1], transposed, data};
}

/* The product that these operands describe; 0 where they describe none. */
static int product_of(const char *type, int inputs, void *const *in, void *const *read, void *const *out,
                      void *const *written, const struct attributes *attributes, struct product *product)
{
    int is_batched = strncmp(type, "Batch", 5) == 0, by_tbe = strstr(type, "MatMulV2") != NULL;
    if ((strcmp(type + 5 * is_batched, "MatMulV3") != 0 && !by_tbe) || inputs < 2 || inputs > 3) {
        return 0;
    }
    memset(product, 0, sizeof *product);
    int flip_a = is_batched ? attributes->adj_x1 : attributes->transpose_x1;
    int flip_b = is_batched ? attributes->adj_x2 : attributes->transpose_x2;
    product->a = matrix_of(in[0], flip_a, address(read, 0));
    product->b = matrix_of(in[1], flip_b, address(read, 1));
    product->c = matrix_of(out[0], 0, address(written, 0));
    product->hf32 = attributes->enable_hf32;
    product->by_tbe = by_tbe;
    if (inputs == 3) {
        product->has_bias = 1;
        product->bias_type = ((const struct description *)in[2])->type;
        product->bias = address(read, 2);
    }
    return fits(product) && is_batched == (((const struct description *)in[0])->rank == 3);
}

/* Whether a tensor is described in NCDHW and stored in the kernel's format, in these sizes. */
static int lies(const struct description *tensor, int format, const int64_t *stored, size_t rank)
{
    return tensor->rank == 5 && tensor->origin == FORMAT_NCDHW && tensor->format == format &&
           memcmp(tensor->storage, stored, rank * sizeof *stored) == 0;
}

/* The convolution of volumes that these operands describe; 0 where they describe none. */
static int volume_of(const char *type, int inputs, void *const *in, void *const *read, void *const *out,
                     void *const *written, const struct attributes *attributes, struct volume *v)
{
    if (strcmp(type, "Conv3DV2") != 0 || inputs < 2 || inputs > 3 || attributes->groups != 1 ||
        strcmp(attributes->data_format, "NCDHW") != 0) {
        return 0;
    }
    const struct description *x = in[0], *filter = in[1], *y = out[0];
    *v = (struct volume){.type = x->type, .out_type = y->type, .has_bias = inputs == 3,
                         .bias_type = inputs == 3 ? ((const struct description *)in[2])->type : 0,
                         .x = address(read, 0), .filter = address(read, 1),
                         .bias = inputs == 3 ? address(read, 2) : NULL, .y = address(written, 0),
                         .images = x->dims[0], .cin = x->dims[1], .cout = filter->dims[0]};
    memcpy(v->pads, attributes->pads, sizeof v->pads);
    for (int i = 0; i < 3; i++) {
        v->in[i] = x->dims[2 + i];
        v->out[i] = y->dims[2 + i];
        v->kernel[i] = filter->dims[2 + i];
        v->stride[i] = attributes->strides[2 + i];
        v->dilation[i] = attributes->dilations[2 + i];
        int64_t reach = v->in[i] + v->pads[2 * i] + v->pads[2 * i + 1] - (v->kernel[i] - 1) * v->dilation[i] - 1;
        if (v->stride[i] < 1 || reach < 0 || reach / v->stride[i] + 1 != v->out[i]) {
            return 0;
        }
    }
    int64_t ci = (v->cin + 15) / 16, co = (v->cout + 15) / 16;
    const int64_t x_sizes[] = {v->images, v->in[0], ci, v->in[1], v->in[2], 16};
    const int64_t y_sizes[] = {v->images, v->out[0], co, v->out[1], v->out[2], 16};
    const int64_t filter_sizes[] = {v->kernel[0] * ci * v->kernel[1] * v->kernel[2], co, 16, 16};
    return lies(x, FORMAT_NDC1HWC0, x_sizes, 6) && lies(y, FORMAT_NDC1HWC0, y_sizes, 6) &&
           lies(filter, FORMAT_FRACTAL_Z_3D, filter_sizes, 4) && filter->dims[1] == v->cin &&
           y->dims[0] == v->images && y->dims[1] == v->cout;
}

int aclopCompile(const char *type, int inputs, void *const *in, int outputs, void *const *out, const void *attributes,
                 int engine, int compile, const char *path)
{
    struct product product;
    struct volume volume;
    struct image image;
    (void)engine;
    (void)compile;
    (void)path;
    FAULT("aclopCompile");
    if (outputs == 1 && image_of(type, inputs, in, out, attributes, &image)) {
        return compile_image(&image);
    }
    if (outputs == 1 && volume_of(type, inputs, in, NULL, out, NULL, attributes, &volume)) {
        record();
        return SUCCESS;
    }
    if (outputs != 1 || !product_of(type, inputs, in, NULL, out, NULL, attributes, &product)) {
        return 100024;
    }
    if (product.by_tbe) {
        return compile_product(&product);
    }
    record();
    return SUCCESS;
}

int aclopExecuteV2(const char *type, int inputs, void *const *in, void *const *read, int outputs, void *const *out,
                   void *const *written, void *attributes, void *stream)
{
    struct product product;
    struct volume volume;
    FAULT("aclopExecuteV2");
    if (outputs == 1 && volume_of(type, inputs, in, read, out, written, attributes, &volume)) {
        return run_volume(&volume, stream);
    }
    if (outputs != 1 || !product_of(type, inputs, in, read, out, written, attributes, &product)) {
        return 100024;
    }
    return run(&product, stream);
}
