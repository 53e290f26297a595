/* A stand-in for libascendcl.so: the prototypes of CANN's runtime, answers set by the test.
 *
 * The test writes the list of plain functions, STUB(name) each, to symbols.inc. The macros OMIT_<name>
 * leave out one of the functions below. */
#include <stddef.h>
#include <stdint.h>

#define SUCCESS 0
#define UNINITIALIZED 100001
#define REPEAT_INITIALIZE 100002

/* What a test sets, and what it reads back. */
struct stub_state {
    int32_t needs_init;   /* queries fail until aclInit */
    int32_t init_code;    /* returned by aclInit instead of initialising, unless 0 */
    int32_t count_code;   /* returned by aclrtGetDeviceCount, unless 0 */
    int32_t final_code;   /* returned by aclFinalize, unless 0 */
    uint32_t devices;
    const char *soc;      /* NULL: none */
    const char *message;  /* of aclGetRecentErrMsg */
    int32_t references;   /* initialisations in force */
    int32_t init_calls;
    int32_t final_calls;
};

struct stub_state stub_state = {0, 0, 0, 0, 2, "Ascend910B3", NULL, 0, 0, 0};

#define STUB(name) int name(void) { return SUCCESS; }
#include "symbols.inc"

#ifndef OMIT_aclInit
int aclInit(const char *config)
{
    (void)config;
    stub_state.init_calls++;
    if (stub_state.init_code != 0) {
        return stub_state.init_code;
    }
    stub_state.references++;
    return stub_state.references > 1 ? REPEAT_INITIALIZE : SUCCESS;
}
#endif

#ifndef OMIT_aclFinalize
int aclFinalize(void)
{
    stub_state.final_calls++;
    stub_state.references = 0;
    return stub_state.final_code;
}
#endif

#ifdef COUNTED
int aclFinalizeReference(uint64_t *count)
{
    stub_state.references--;
    if (count != NULL) {
        *count = (uint64_t)stub_state.references;
    }
    return stub_state.final_code;
}
#endif

#ifndef OMIT_aclrtGetDeviceCount
int aclrtGetDeviceCount(uint32_t *count)
{
    if (stub_state.needs_init && stub_state.references == 0) {
        return UNINITIALIZED;
    }
    if (stub_state.count_code != 0) {
        return stub_state.count_code;
    }
    *count = stub_state.devices;
    return SUCCESS;
}
#endif

#ifndef OMIT_aclrtGetSocName
const char *aclrtGetSocName(void)
{
    return stub_state.needs_init && stub_state.references == 0 ? NULL : stub_state.soc;
}
#endif

#ifndef OMIT_aclrtGetVersion
int aclrtGetVersion(int32_t *major, int32_t *minor, int32_t *patch)
{
    *major = 1;
    *minor = 17;
    *patch = 0;
    return SUCCESS;
}
#endif

#ifndef OMIT_aclGetRecentErrMsg
const char *aclGetRecentErrMsg(void)
{
    return stub_state.message;
}
#endif
