/* Functions that answer a text with a text (AoeSimulate, AoeTiling, AoeCandidates): asking them, and what holds of each. */
#ifndef SUPPORT_QUESTION_H
#define SUPPORT_QUESTION_H

#include "check.h"

#include <stdlib.h>
#include <string.h>

typedef AoeStatus Answers(const char *question, const AoeOption *options, size_t count, char *buffer, size_t *size);

/* The answer, which the caller frees. */
static char *answer_of(Answers *function, const char *question, const AoeOption *options, size_t count) {
    size_t size = 0;
    CHECK_OK(function(question, options, count, NULL, &size));
    char *answer = malloc(size);
    CHECK(answer != NULL);
    size_t given = size;
    CHECK_OK(function(question, options, count, answer, &given));
    CHECK(given == size && strlen(answer) + 1 == size);
    return answer;
}

/* The buffer is written whole or not at all. */
static void check_buffer(Answers *function, const char *question, const AoeOption *option) {
    size_t needed = 0;
    CHECK_OK(function(question, option, 1, NULL, &needed));
    char *buffer = malloc(needed);
    CHECK(buffer != NULL);
    const size_t too_few[] = {0, needed / 4, needed / 2, needed - 1};
    for (size_t at = 0; at < sizeof too_few / sizeof *too_few; at++) {
        memset(buffer, 7, needed);
        size_t size = too_few[at];
        CHECK_ERROR(AOE_ERROR_BUFFER_TOO_SMALL, "needed", function(question, option, 1, buffer, &size));
        CHECK(size == needed);
        for (size_t i = 0; i < needed; i++) CHECK(buffer[i] == 7);
    }
    free(buffer);
}

/* Bad arguments are named, the question by this name, and nothing is written. */
static void check_arguments(Answers *function, const char *name, const char *question, const AoeOption *option) {
    size_t size = 99;
    char buffer[99] = "as it was";
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, name, function(NULL, NULL, 0, buffer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, name, function("\xff", NULL, 0, buffer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`size`", function(question, NULL, 0, buffer, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`options`", function(question, NULL, 1, buffer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`option_count`", function(question, option, (size_t)-1, buffer, &size));
    const AoeOption unknown = {"soc_version", "Ascend910B5"};
    CHECK_ERROR(AOE_ERROR_INVALID_OPTION_ATTR, "Ascend910B4", function(question, &unknown, 1, buffer, &size));
    CHECK(size == 99 && strcmp(buffer, "as it was") == 0);
}

#endif
