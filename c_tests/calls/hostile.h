/* hostile.h - arguments as a caller that is wrong, or worse, would pass them. They are made of the bytes of an input, and lie right
   before a page that nobody may touch, so that a read or write of one byte too many is a crash. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <aoe.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The input, and how far it is used. Behind its end all is zero. */
static const uint8_t *input;
static size_t input_size, input_used;

static uint8_t byte(void) { return input_used < input_size ? input[input_used++] : 0; }
static uint8_t below(uint8_t limit) { return (uint8_t)(byte() % limit); }
static uint64_t wide(void) {
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value = value << 8 | byte();
    return value;
}

/* A page for each argument of a call, used again by the next call. */
#define PLACES 64
#define PLACE_SIZE 8192
static uint8_t *places[PLACES];
static int places_used;

static void make_places(void) {
    long page = sysconf(_SC_PAGESIZE);
    size_t size = PLACE_SIZE + (size_t)page;
    for (int i = 0; i < PLACES; i++) {
        places[i] = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (places[i] == MAP_FAILED || mprotect(places[i] + PLACE_SIZE, (size_t)page, PROT_NONE) != 0) abort();
    }
}

/* So many bytes before the end of a place. Where a value needs alignment its size gives it. */
static void *place(size_t size) {
    if (places_used == PLACES || size > PLACE_SIZE) abort();
    return places[places_used++] + PLACE_SIZE - size;
}

/* All arguments of the last call become rubbish: what the library kept of them would show. */
static void forget_places(void) {
    while (places_used > 0) memset(places[--places_used], 0xa5, PLACE_SIZE);
}

static void *placed(const void *value, size_t size) { return memcpy(place(size), value, size); }

/* A byte of a text. No path leads away from the current folder. */
static char other_byte(void) {
    char any = (char)(byte() | 1);
    return any == '/' ? '_' : any;
}

/* A text: mostly of those that mean something where it stands. */
static const char *text(const char *const *known, size_t count) {
    if (byte() % 4 != 0) {
        const char *good = known[byte() % count];
        return placed(good, strlen(good) + 1);
    }
    switch (below(6)) {
    case 0: return NULL;
    case 1: return placed("", 1);
    case 2: return placed("\xff\xfe\x80", 4);
    case 3: {
        size_t length = (size_t)byte() * 16;
        char *long_text = place(length + 1);
        memset(long_text, 'a', length);
        long_text[length] = '\0';
        return long_text;
    }
    case 4: {
        size_t length = below(32);
        char *any = place(length + 1);
        for (size_t i = 0; i < length; i++) any[i] = other_byte();
        any[length] = '\0';
        return any;
    }
    default: {
        /* One that means something, with a byte that does not. */
        const char *good = known[byte() % count];
        char *changed = placed(good, strlen(good) + 1);
        if (*changed != '\0') changed[byte() % strlen(good)] = other_byte();
        return changed;
    }
    }
}
#define TEXT(known) text(known, sizeof(known) / sizeof *(known))

static const char *const names[] = {"a", "b", "c", "x", "y", "w"};
static const char *const types[] = {"MatMulV2", "MatMulV3", "Conv2D", "Relu", "SoftmaxV2", "Add", "Reshape", "ReduceSum", "Transpose",
                                    "Const", "Data", "NetOutput", "Unheard", "Gelu", "ConcatD"};
static const char *const attributes[] = {"transpose_x1", "transpose_b", "strides", "pads", "axes", "keep_dims", "data_format", "dtype",
                                         "perm", "_x", "N"};
static const char *const keys[] = {"job_type", "soc_version", "backend", "seed", "max_tuning_count", "log", "aicore_num", "framework",
                                   "input_shape", "dynamic_batch_size", "algorithm", "work_path", "op_bank_path", "ge.x", "unheard",
                                   "tuning_time_limit", "tune_ops_file", "out_nodes", "precision_mode", "parallel", "reload"};
static const char *const values[] = {"1", "2", "4", "", "0", "-1", "Ascend910B2", "Ascend310P3", "Ascend910_9599", "simulator", "ascend",
                                     "./none.so", "genetic", "random", "a:1,2", "99999999999999999999", "bank", ".", "error", "8,16"};
static const char *const cases[] = {
    "{\"op\":\"MatMul\",\"soc\":\"Ascend910B2\",\"m\":128,\"k\":64,\"n\":256,\"dtype\":\"float16\"}",
    "{\"op\":\"SoftmaxV2\",\"soc\":\"Ascend910B4\",\"inputs\":[{\"shape\":[64,128],\"dtype\":\"float32\"}],"
    "\"outputs\":[{\"shape\":[64,128],\"dtype\":\"float32\"}]}",
    "{\"op\":\"MatMul\",\"m\":-1}", "[]", "{}", "nul", "{\"op\":\"MatMul\",\"soc\":\"Ascend910B2\",\"m\":1e300,\"k\":0,\"n\":1}"};
static const char *const spaces[] = {
    "{\"parameters\":[{\"name\":\"M\",\"values\":[8,16,32]},{\"name\":\"N\",\"values\":[1,2]}],\"constraints\":[\"M * N <= 32\"]}",
    "{\"parameters\":[{\"name\":\"a\",\"values\":[1]}]}", "{\"parameters\":[]}", "{}",
    "{\"parameters\":[{\"name\":\"a\",\"values\":[1,2]}],\"constraints\":[\"a / 0 > 1\"]}"};
static const char *const files[] = {"net.air", "net.om", "none.onnx", ".", "bank", "/dev/null/x", "bank/x_kb.json"};
static const char *const keys_of_banks[] = {
    "{\"a_dtype\":1,\"m\":1}", "{}", "{\"op\":\"MatMul\",\"soc\":\"Ascend910B2\",\"m\":128,\"k\":64,\"n\":256,\"dtype\":\"float16\"}", "x"};

/* An array and its count; NULL with a count, or none at all, are among them. */
static const AoeOption *options(size_t *count) {
    *count = below(3);
    if (byte() % 16 == 0) {
        *count = byte() % 2 == 0 ? SIZE_MAX : 4097;
        return byte() % 2 == 0 ? NULL : placed(names, 0);
    }
    if (byte() % 32 == 0) return NULL;
    AoeOption *array = place(*count * sizeof *array);
    for (size_t i = 0; i < *count; i++) {
        array[i].key = TEXT(keys);
        array[i].value = TEXT(values);
    }
    return array;
}

static int64_t dimension(void) {
    static const int64_t known[] = {16, 64, 128, 256, 16, 64, 128, 4096, 1, 2, 0, -1, -2, -3, INT64_MAX, INT64_MIN, 2147483647, 2147483648};
    return known[byte() % (sizeof known / sizeof *known)];
}

static void fill_tensor(AoeTensor *tensor) {
    memset(tensor, 0, sizeof *tensor);
    tensor->dim_count = 1 + below(4);
    int64_t *dims = place(tensor->dim_count * sizeof *dims);
    for (size_t i = 0; i < tensor->dim_count; i++) dims[i] = dimension();
    tensor->dims = byte() % 32 == 0 ? NULL : dims;
    tensor->data_type = byte() % 16 == 0 ? (AoeDataType)wide() : byte() % 4 == 0 ? below(44) : AOE_DT_FLOAT16;
    tensor->format = byte() % 16 == 0 ? (AoeFormat)wide() : byte() % 4 == 0 ? below(56) : AOE_FORMAT_ND;
    if (byte() % 8 == 0) {
        tensor->data_size = (size_t)below(8) * 4;
        tensor->data = byte() % 8 == 0 ? NULL : memset(place(tensor->data_size), below(4), tensor->data_size);
    }
    if (byte() % 64 == 0) {
        static const size_t counts[] = {64, 65, SIZE_MAX, SIZE_MAX / 8};
        tensor->dim_count = counts[below(4)];
        tensor->dims = tensor->dim_count == 64 ? memset(place(512), 0, 512) : NULL;
    }
    if (byte() % 64 == 0) tensor->reserved = tensor;
}

static const AoeTensor *tensors(size_t count) {
    if (byte() % 32 == 0) return NULL;
    AoeTensor *array = place(count * sizeof *array);
    for (size_t i = 0; i < count; i++) fill_tensor(&array[i]);
    return array;
}

#endif
