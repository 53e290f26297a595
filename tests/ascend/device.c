/* Process, device, memory, streams and events, on a virtual clock. */
#include "stand_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the host spends on handing over one piece of work, and the rate at which the device fills memory. */
#define LAUNCH_US 4.0
#define FILL_BYTES_PER_US 1.0e6

static int initialised, opened;
static double host_us;
static size_t allocated;

static size_t memory_size(void)
{
    return (size_t)atol(setting("STAND_IN_MEMORY_MB", "4096")) << 20;
}

static int is_open(void)
{
    return initialised && opened;
}

void launch(struct stream *stream, double kernel_us)
{
    host_us += LAUNCH_US;
    if (stream->busy_until < host_us) {
        stream->busy_until = host_us;
    }
    if (kernel_us < 0) {
        stream->fault = AICORE_EXCEPTION;
    } else {
        stream->busy_until += kernel_us;
    }
}

int aclInit(const char *config)
{
    (void)config;
    FAULT("aclInit");
    initialised = 1;
    return SUCCESS;
}

int aclFinalize(void)
{
    FAULT("aclFinalize");
    if (!initialised) {
        return UNINITIALIZED;
    }
    initialised = 0;
    return allocated == 0 ? SUCCESS : INTERNAL_ERROR;
}

const char *aclGetRecentErrMsg(void)
{
    return "the stand-in was told to fail";
}

const char *aclrtGetSocName(void)
{
    FAULT_NULL("aclrtGetSocName");
    return setting("STAND_IN_SOC", "Ascend910B2");
}

int aclrtGetVersion(int32_t *major, int32_t *minor, int32_t *patch)
{
    FAULT("aclrtGetVersion");
    *major = 1;
    *minor = 17;
    *patch = 0;
    return SUCCESS;
}

int aclrtGetDeviceCount(uint32_t *count)
{
    FAULT("aclrtGetDeviceCount");
    *count = (uint32_t)atoi(setting("STAND_IN_DEVICES", "2"));
    return SUCCESS;
}

int aclrtGetDeviceInfo(uint32_t device, int attribute, int64_t *value)
{
    (void)device;
    FAULT("aclrtGetDeviceInfo");
    if (attribute != 101) {
        return INVALID_PARAM;
    }
    *value = atoi(setting("STAND_IN_CORES", "24"));
    return SUCCESS;
}

int aclrtSetDevice(int32_t device)
{
    FAULT("aclrtSetDevice");
    if (!initialised) {
        return UNINITIALIZED;
    }
    if (device < 0 || device >= atoi(setting("STAND_IN_DEVICES", "2"))) {
        return 107001;
    }
    opened = 1;
    char name[32];
    snprintf(name, sizeof name, "device-%d", device);
    note(name);
    return SUCCESS;
}

int aclrtResetDevice(int32_t device)
{
    (void)device;
    FAULT("aclrtResetDevice");
    opened = 0;
    return SUCCESS;
}

int aclrtGetMemInfo(int kind, size_t *free_bytes, size_t *total)
{
    FAULT("aclrtGetMemInfo");
    /* Parts with HBM tell nothing of DDR. */
    *total = kind == 1 ? memory_size() : 0;
    *free_bytes = kind == 1 ? memory_size() - allocated : 0;
    return is_open() ? SUCCESS : UNINITIALIZED;
}

int aclrtMalloc(void **memory, size_t bytes, int policy)
{
    (void)policy;
    FAULT("aclrtMalloc");
    if (!is_open() || bytes == 0) {
        return is_open() ? INVALID_PARAM : UNINITIALIZED;
    }
    if (bytes > memory_size() - allocated) {
        return OUT_OF_DEVICE_MEMORY;
    }
    /* The size comes first, so that freeing can count. */
    size_t *block = malloc(bytes + 64);
    if (block == NULL) {
        return OUT_OF_DEVICE_MEMORY;
    }
    *block = bytes;
    allocated += bytes;
    *memory = (char *)block + 64;
    return SUCCESS;
}

int aclrtFree(void *memory)
{
    FAULT("aclrtFree");
    if (memory == NULL) {
        return INVALID_PARAM;
    }
    size_t *block = (size_t *)(void *)((char *)memory - 64);
    allocated -= *block;
    free(block);
    return SUCCESS;
}

int aclrtMemcpy(void *target, size_t size, const void *source, size_t bytes, int kind)
{
    FAULT("aclrtMemcpy");
    if (bytes > size) {
        return INVALID_PARAM;
    }
    if (kind == 2) {
        settle(source, bytes);
    }
    memcpy(target, source, bytes);
    return SUCCESS;
}

int aclrtMemset(void *memory, size_t size, int32_t value, size_t bytes)
{
    FAULT("aclrtMemset");
    if (bytes > size) {
        return INVALID_PARAM;
    }
    /* Large blocks are filled when somebody might look: nobody looks into the lead of a sample. */
    memset(memory, value, bytes < (64u << 20) ? bytes : 4096);
    return SUCCESS;
}

int aclrtMemsetAsync(void *memory, size_t size, int32_t value, size_t bytes, void *stream)
{
    (void)memory;
    (void)value;
    FAULT("aclrtMemsetAsync");
    if (bytes > size) {
        return INVALID_PARAM;
    }
    launch(stream, (double)bytes / FILL_BYTES_PER_US);
    return SUCCESS;
}

struct buffer {
    void *data;
    size_t bytes;
};

void *aclCreateDataBuffer(void *data, size_t bytes)
{
    FAULT_NULL("aclCreateDataBuffer");
    struct buffer *buffer = malloc(sizeof *buffer);
    if (buffer != NULL) {
        buffer->data = data;
        buffer->bytes = bytes;
    }
    return buffer;
}

int aclDestroyDataBuffer(const void *buffer)
{
    FAULT("aclDestroyDataBuffer");
    free((void *)(uintptr_t)buffer);
    return SUCCESS;
}

int aclrtCreateStream(void **stream)
{
    FAULT("aclrtCreateStream");
    *stream = calloc(1, sizeof(struct stream));
    return *stream != NULL && is_open() ? SUCCESS : UNINITIALIZED;
}

int aclrtDestroyStream(void *stream)
{
    FAULT("aclrtDestroyStream");
    free(stream);
    return SUCCESS;
}

int aclrtSynchronizeStreamWithTimeout(void *handle, int32_t timeout_ms)
{
    struct stream *stream = handle;
    FAULT("aclrtSynchronizeStreamWithTimeout");
    if (stream->busy_until - host_us > 1e3 * timeout_ms) {
        return SYNC_TIMEOUT;
    }
    if (host_us < stream->busy_until) {
        host_us = stream->busy_until;
    }
    return stream->fault;
}

struct event {
    double us;
    unsigned kernels;        /* launched before it */
};

int aclrtCreateEventWithFlag(void **event, uint32_t flag)
{
    FAULT("aclrtCreateEventWithFlag");
    /* Only events of the time line can be timed. */
    *event = flag == 8 ? calloc(1, sizeof(struct event)) : NULL;
    return *event != NULL ? SUCCESS : INVALID_PARAM;
}

int aclrtDestroyEvent(void *event)
{
    FAULT("aclrtDestroyEvent");
    free(event);
    return SUCCESS;
}

int aclrtRecordEvent(void *event, void *handle)
{
    struct stream *stream = handle;
    FAULT("aclrtRecordEvent");
    *(struct event *)event =
        (struct event){stream->busy_until > host_us ? stream->busy_until : host_us, stream->kernels};
    return SUCCESS;
}

int aclrtEventElapsedTime(float *milliseconds, void *start, void *end)
{
    struct event *first = start, *last = end;
    char name[32];
    FAULT("aclrtEventElapsedTime");
    snprintf(name, sizeof name, "kernels-%u", last->kernels - first->kernels);
    note(name);
    *milliseconds = (float)((last->us - first->us) / 1e3);
    return SUCCESS;
}
