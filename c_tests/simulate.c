/* AoeSimulate: the buffer protocol, bad cases and options, threads. */
#include "support/check.h"
#include "support/json.h"
#include "support/question.h"

#include <pthread.h>

#define CASE "{\"id\":\"x\",\"op\":\"MatMul\",\"m\":1024,\"k\":512,\"n\":512,\"dtype\":\"float16\"}"

static const AoeOption B4[] = {{"soc_version", "Ascend910B4"}};

static char *simulate(const char *case_json, const AoeOption *options, size_t count) {
    return answer_of(AoeSimulate, case_json, options, count);
}

TEST(answers_without_initialising) {
    char *answer = simulate(CASE, B4, 1);
    CHECK(json_value(answer, 0) != NULL && strchr(answer, '\n') == NULL);
    CHECK(strncmp(answer, "{\"id\":\"x\",\"time_us\":", 20) == 0);
    CHECK(strstr(answer, "\"pipes\":{\"mac\":") != NULL && strstr(answer, "\"bound\":\"") != NULL);
    CHECK(strstr(answer, "\"schedule\":{") != NULL && strstr(answer, "\"note\"") == NULL);
    free(answer);
    answer = simulate(CASE, NULL, 0);
    CHECK(strstr(answer, "\"note\":\"neither soc_version") != NULL);
    free(answer);
}

TEST(options_of_the_call_count) {
    const AoeOption slow[] = {{"soc_version", "Ascend910B4"}, {"soc_set", "cube_freq_mhz=100"}, {"aicore_num", "1"}};
    char *fast_answer = simulate(CASE, B4, 1), *slow_answer = simulate(CASE, slow, 3);
    double fast_us = strtod(fast_answer + strlen("{\"id\":\"x\",\"time_us\":"), NULL);
    double slow_us = strtod(slow_answer + strlen("{\"id\":\"x\",\"time_us\":"), NULL);
    CHECK(fast_us > 0 && slow_us > 10 * fast_us);
    free(fast_answer);
    free(slow_answer);
}

TEST(the_buffer_is_written_whole_or_not_at_all) { check_buffer(AoeSimulate, CASE, B4); }

TEST(bad_arguments_are_named) { check_arguments(AoeSimulate, "`case_json`", CASE, B4); }

TEST(bad_options_are_named) {
    static const struct {
        AoeOption option;
        AoeStatus status;
        const char *culprit;
    } bad[] = {
        {{"soc_version", "Ascend910B5"}, AOE_ERROR_INVALID_OPTION_ATTR, "Ascend910B4"},
        {{"soc_version", "missing.json"}, AOE_ERROR_IO, "missing.json"},
        {{"soc_set", "cube_freq=1"}, AOE_ERROR_INVALID_OPTION_ATTR, "cube_freq_mhz"},
        {{"soc_set", "l2_rate=-1"}, AOE_ERROR_INVALID_OPTION_ATTR, "l2_rate"},
        {{"aicore_num", "99"}, AOE_ERROR_INVALID_OPTION_ATTR, "aicore_num"},
        {{"job_type", "2"}, AOE_ERROR_INVALID_OPTION_ATTR, "job_type"},
        {{"sok_version", "x"}, AOE_ERROR_INVALID_OPTION_ATTR, "soc_version"},
    };
    size_t size = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_ERROR(bad[i].status, bad[i].culprit, AoeSimulate(CASE, &bad[i].option, 1, NULL, &size));
}

TEST(bad_cases_are_named_and_get_no_answer) {
    static const struct {
        const char *text;
        AoeStatus status;
        const char *culprit;
    } bad[] = {
        {"", AOE_ERROR_INVALID_PARAM, "JSON"},
        {"nonsense", AOE_ERROR_INVALID_PARAM, "JSON"},
        {"{\"op\":\"MatMul\",\"m\":0,\"k\":1,\"n\":1}", AOE_ERROR_INVALID_PARAM, "`m`"},
        {"{\"op\":\"MatMul\",\"m\":1,\"m\":2,\"k\":1,\"n\":1}", AOE_ERROR_INVALID_PARAM, "twice"},
        {"{\"op\":\"MatMul\",\"m\":1,\"k\":1,\"n\":1,\"transa\":true}", AOE_ERROR_INVALID_PARAM, "`trans_a`"},
        {"{\"op\":\"MatMul\",\"m\":2000000000,\"k\":2000000000,\"n\":16}", AOE_ERROR_INVALID_GRAPH, "device memory"},
        {"{\"op\":\"MatMul\",\"m\":64,\"k\":64,\"n\":64,\"soc\":\"Ascend\"}", AOE_ERROR_INVALID_OPTION_ATTR, "Ascend"},
        {"{\"op\":\"MatMul\",\"m\":64,\"k\":64,\"n\":64,\"schedule\":{\"cores\":{\"batch\":1,\"m\":1,\"n\":1},"
         "\"l1_a\":\"full\",\"l1_b\":\"full\",\"l0\":{\"m\":1024,\"n\":64,\"k_a\":64,\"k_b\":64},"
         "\"buffers\":{\"l1_a\":1,\"l1_b\":1,\"l0_a\":1,\"l0_b\":1,\"l0_c\":1}}}",
         AOE_ERROR_ILLEGAL_SCHEDULE, "L0A needs 131072 bytes"},
    };
    char buffer[4096] = "as it was";
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t size = sizeof buffer;
        CHECK_ERROR(bad[i].status, bad[i].culprit, AoeSimulate(bad[i].text, NULL, 0, buffer, &size));
        CHECK(size == sizeof buffer && strcmp(buffer, "as it was") == 0);
    }
}

static void *ask_often(void *expected) {
    for (int i = 0; i < 200; i++) {
        char *answer = simulate(CASE, B4, 1);
        CHECK(strcmp(answer, expected) == 0);
        free(answer);
        size_t size = 0;
        CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`op`", AoeSimulate("{}", NULL, 0, NULL, &size));
    }
    return NULL;
}

TEST(threads_get_the_same_bytes) {
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    char *expected = simulate(CASE, B4, 1);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, ask_often, expected) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    free(expected);
}
