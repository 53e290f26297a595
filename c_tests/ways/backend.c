/* A backend whose time for a candidate is a number made of its text: no two candidates take the same, whoever asks and when. So
 * records are made of many operators, and where ways to tune ask for other candidates, their records differ. With AOE_WAYS_PLANT
 * set, times also depend on which of the candidates is asked for first: the fault that scripts/ways has to find. */
#include <aoe.h>

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

static AoeStatus describe(void *context, AoeBackendDescription *description) {
    (void)context;
    if (description->struct_size < sizeof *description) return AOE_ERROR_UNSUPPORTED;
    description->name = "ways";
    description->detail = "times that are made of the candidate's text";
    description->soc = "Ascend910B2";
    description->noisy = 0;
    description->parallel = 8;
    /* As if measuring cost nothing, so that no simulation comes first. */
    description->measuring_us = 1.0;
    return AOE_SUCCESS;
}

static AoeStatus measure(void *context, const AoeCandidate *candidate, double *time_us) {
    static atomic_uint asked;
    const char *text;
    uint64_t hash = 1469598103934665603u;
    (void)context;
    for (text = candidate->json; *text != '\0'; text++) hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    if (getenv("AOE_WAYS_PLANT") != NULL) hash += atomic_fetch_add(&asked, 1);
    *time_us = 10.0 + (double)(hash % 100000) / 1000.0;
    return AOE_SUCCESS;
}

static const char *last_error(void *context) {
    (void)context;
    return "";
}

const AoeBackend *AoeGetBackend(void);

const AoeBackend *AoeGetBackend(void) {
    static const AoeBackend backend = {sizeof backend, NULL, describe, measure, last_error};
    return &backend;
}
