/* Operators: MatMulV3 through aclnnMatmul, and through the entries that take any operator type; TBE's MatMulV2 is
 * compiled only. */
#include "stand_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    tensor->matrix = (struct matrix){type, format, storage[0], storage[1], transposed, data};
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
    return (b->transposed ? b->columns : b->rows) == product->k && c->rows == product->m && c->columns == product->n;
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
    int type, format;
    int rank;
    int64_t dims[8], storage[8];
};

struct attributes {
    int transpose_x1, transpose_x2, enable_hf32;
};

void *aclCreateTensorDesc(int type, int rank, const int64_t *dims, int format)
{
    FAULT_NULL("aclCreateTensorDesc");
    struct description *made = calloc(1, sizeof *made);
    made->type = type;
    made->format = format;
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
    } else if (strcmp(name, "enable_hf32") == 0) {
        attributes->enable_hf32 = value;
    } else {
        return INVALID_PARAM;
    }
    return SUCCESS;
}

/* Where the compiler leaves what it says of kernels; "" where it says nothing. */
static char kernel_folder[4096];

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

/* What TBE's compiler says of a product that it compiled. */
static int tell_of_kernel(const struct product *product)
{
    char path[4352];
    snprintf(path, sizeof path, "%s/kernel_meta", kernel_folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/kernel_meta/te_matmulv2.json", kernel_folder);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return INTERNAL_ERROR;
    }
    fprintf(file, "{\"kernelName\":\"te_matmulv2\",\"KBHit\":%s}\n", unified_bank_has(product) ? "true" : "false");
    return fclose(file) == 0 ? SUCCESS : INTERNAL_ERROR;
}

static struct matrix matrix_of(const struct description *description, int transposed, const void *buffer)
{
    /* A data buffer begins with its address. */
    void *data = buffer != NULL ? *(void *const *)buffer : NULL;
    return (struct matrix){description->type, description->format, description->dims[0], description->dims[1],
                           transposed, data};
}

/* The product that these operands describe; 0 where they describe none. */
static int product_of(const char *type, int inputs, void *const *in, void *const *read, void *const *out,
                      void *const *written, const struct attributes *attributes, struct product *product)
{
    if ((strcmp(type, "MatMulV3") != 0 && strcmp(type, "MatMulV2") != 0) || inputs < 2 || inputs > 3) {
        return 0;
    }
    memset(product, 0, sizeof *product);
    product->a = matrix_of(in[0], attributes->transpose_x1, read != NULL ? read[0] : NULL);
    product->b = matrix_of(in[1], attributes->transpose_x2, read != NULL ? read[1] : NULL);
    product->c = matrix_of(out[0], 0, written != NULL ? written[0] : NULL);
    product->hf32 = attributes->enable_hf32;
    if (inputs == 3) {
        product->has_bias = 1;
        product->bias_type = ((const struct description *)in[2])->type;
        product->bias = read != NULL ? *(void *const *)read[2] : NULL;
    }
    return fits(product);
}

int aclopCompile(const char *type, int inputs, void *const *in, int outputs, void *const *out, const void *attributes,
                 int engine, int compile, const char *path)
{
    struct product product;
    (void)engine;
    (void)compile;
    (void)path;
    FAULT("aclopCompile");
    if (outputs != 1 || !product_of(type, inputs, in, NULL, out, NULL, attributes, &product)) {
        return 100024;
    }
    if (strcmp(type, "MatMulV2") == 0) {
        return *kernel_folder != '\0' ? tell_of_kernel(&product) : SUCCESS;
    }
    record();
    return SUCCESS;
}

int aclopExecuteV2(const char *type, int inputs, void *const *in, void *const *read, int outputs, void *const *out,
                   void *const *written, void *attributes, void *stream)
{
    struct product product;
    FAULT("aclopExecuteV2");
    if (outputs != 1 || !product_of(type, inputs, in, read, out, written, attributes, &product)) {
        return 100024;
    }
    return run(&product, stream);
}
