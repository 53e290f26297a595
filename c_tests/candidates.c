/* AoeCandidates: configurations of a Triton-style list pruned, the buffer protocol, bad questions and options. */
#include "support/check.h"
#include "support/json.h"

#define PRODUCT "{\"op\":\"MatMul\",\"m\":4096,\"k\":4096,\"n\":4096,\"dtype\":\"bfloat16\"}"
#define QUESTION                                                                                                   \
    "{\"case\":" PRODUCT ",\"configurations\":[{\"BLOCK_M\":128,\"BLOCK_N\":256,\"BLOCK_K\":64},"                       \
    "{\"BLOCK_M\":256,\"BLOCK_N\":256,\"BLOCK_K\":64},{\"BLOCK_M\":16,\"BLOCK_N\":16,\"BLOCK_K\":16}],\"best\":1}"

static const AoeOption B2[] = {{"soc_version", "Ascend910B2"}};

TEST(what_overflows_is_named_and_the_fastest_of_the_rest_comes_first) {
    size_t size = 0;
    CHECK_OK(AoeCandidates(QUESTION, B2, 1, NULL, &size));
    char *answer = malloc(size);
    CHECK(answer != NULL);
    size_t given = size;
    CHECK_OK(AoeCandidates(QUESTION, B2, 1, answer, &given));
    CHECK(given == size && strlen(answer) + 1 == size && json_value(answer, 0) != NULL);
    CHECK(strncmp(answer, "{\"legal\":2,\"best\":[{\"index\":0,\"time_us\":", 40) == 0);
    CHECK(strstr(answer, "\"illegal\":[{\"index\":1,\"reason\":\"L0C needs 262144 bytes, Ascend910B2 has 131072\"}]") != NULL);
    given = size - 1;
    CHECK_ERROR(AOE_ERROR_BUFFER_TOO_SMALL, "needed", AoeCandidates(QUESTION, B2, 1, answer, &given));
    CHECK(given == size);
    free(answer);
}

TEST(bad_arguments_options_and_questions_are_named) {
    size_t size = 99;
    char buffer[99] = "as it was";
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`question_json`", AoeCandidates(NULL, NULL, 0, buffer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`size`", AoeCandidates(QUESTION, NULL, 0, buffer, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`options`", AoeCandidates(QUESTION, NULL, 1, buffer, &size));
    const AoeOption unknown = {"soc_version", "Ascend910B5"};
    CHECK_ERROR(AOE_ERROR_INVALID_OPTION_ATTR, "Ascend910B4", AoeCandidates(QUESTION, &unknown, 1, buffer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "expected", AoeCandidates("nonsense", B2, 1, buffer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "case", AoeCandidates("{}", B2, 1, buffer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "configuration",
                AoeCandidates("{\"case\":" PRODUCT ",\"configuration\":[]}", B2, 1, buffer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`m`", AoeCandidates("{\"case\":{\"op\":\"MatMul\",\"k\":1,\"n\":1}}", B2, 1, buffer, &size));
    CHECK(size == 99 && strcmp(buffer, "as it was") == 0);
}
