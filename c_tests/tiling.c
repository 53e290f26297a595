/* AoeTiling: CANN's default tilings, the buffer protocol, bad cases and options. */
#include "support/check.h"
#include "support/json.h"
#include "support/question.h"

#define CASE "{\"id\":\"x\",\"op\":\"MatMulV3\",\"m\":1024,\"k\":512,\"n\":512,\"dtype\":\"float16\"}"

static const AoeOption B4[] = {{"soc_version", "Ascend910B4"}};

static char *tiling(const char *case_json, const AoeOption *options, size_t count) {
    return answer_of(AoeTiling, case_json, options, count);
}

TEST(answers_without_initialising) {
    char *answer = tiling(CASE, B4, 1);
    CHECK(json_value(answer, 0) != NULL && strchr(answer, '\n') == NULL);
    CHECK(strncmp(answer, "{\"id\":\"x\",\"op\":\"MatMulV3\",\"template\":\"", 38) == 0);
    CHECK(strstr(answer, "\"usedCoreNum\":20") != NULL && strstr(answer, "\"tilingEnable\":") != NULL);
    CHECK(strstr(answer, "\"default\":\"public\"") != NULL && strstr(answer, "\"rules\":[\"") != NULL);
    CHECK(strstr(answer, "\"note\"") == NULL);
    free(answer);
    answer = tiling(CASE, NULL, 0);
    CHECK(strstr(answer, "\"note\":\"neither soc_version") != NULL);
    free(answer);
}

TEST(what_is_closed_is_called_an_estimate) {
    char *answer = tiling("{\"op\":\"MatMulV2\",\"m\":64,\"k\":64,\"n\":64}", B4, 1);
    CHECK(strstr(answer, "\"default\":\"estimated\"") != NULL);
    free(answer);
}

TEST(the_buffer_is_written_whole_or_not_at_all) { check_buffer(AoeTiling, CASE, B4); }

TEST(bad_arguments_options_and_cases_are_named) {
    check_arguments(AoeTiling, "`case_json`", CASE, B4);
    size_t size = 99;
    char buffer[99] = "as it was";
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "JSON", AoeTiling("nonsense", B4, 1, buffer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`m`", AoeTiling("{\"op\":\"MatMul\",\"k\":1,\"n\":1}", B4, 1, buffer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "Frobnicate", AoeTiling("{\"op\":\"Frobnicate\"}", B4, 1, buffer, &size));
    CHECK(size == 99 && strcmp(buffer, "as it was") == 0);
}
