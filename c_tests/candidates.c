/* AoeCandidates: configurations of a Triton-style list pruned, the buffer protocol, bad questions and options. */
#include "support/check.h"
#include "support/json.h"
#include "support/question.h"

#define PRODUCT "{\"op\":\"MatMul\",\"m\":4096,\"k\":4096,\"n\":4096,\"dtype\":\"bfloat16\"}"
#define QUESTION                                                                                                   \
    "{\"case\":" PRODUCT ",\"configurations\":[{\"BLOCK_M\":128,\"BLOCK_N\":256,\"BLOCK_K\":64},"                       \
    "{\"BLOCK_M\":256,\"BLOCK_N\":256,\"BLOCK_K\":64},{\"BLOCK_M\":16,\"BLOCK_N\":16,\"BLOCK_K\":16}],\"best\":1}"

static const AoeOption B2[] = {{"soc_version", "Ascend910B2"}};

TEST(what_overflows_is_named_and_the_fastest_of_the_rest_comes_first) {
    char *answer = answer_of(AoeCandidates, QUESTION, B2, 1);
    CHECK(json_value(answer, 0) != NULL);
    CHECK(strncmp(answer, "{\"legal\":2,\"best\":[{\"index\":0,\"time_us\":", 40) == 0);
    CHECK(strstr(answer, "\"illegal\":[{\"index\":1,\"reason\":\"L0C needs 262144 bytes, Ascend910B2 has 131072: take a smaller block along m or n\"}]") != NULL);
    free(answer);
}

TEST(the_buffer_is_written_whole_or_not_at_all) { check_buffer(AoeCandidates, QUESTION, B2); }

TEST(bad_arguments_options_and_questions_are_named) {
    check_arguments(AoeCandidates, "`question_json`", QUESTION, B2);
    size_t size = 99;
    char buffer[99] = "as it was";
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "expected", AoeCandidates("nonsense", B2, 1, buffer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "case", AoeCandidates("{}", B2, 1, buffer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "configuration",
                AoeCandidates("{\"case\":" PRODUCT ",\"configuration\":[]}", B2, 1, buffer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`m`", AoeCandidates("{\"case\":{\"op\":\"MatMul\",\"k\":1,\"n\":1}}", B2, 1, buffer, &size));
    CHECK(size == 99 && strcmp(buffer, "as it was") == 0);
}
