/*
 * check.h - checks of libaoe's functions, for cases as case.h runs them.
 */
#ifndef CHECK_H
#define CHECK_H

#include "case.h"

#include <aoe.h>

/* The call returns exactly this status. */
#define CHECK_STATUS(expected, call)                                                                                  \
    do {                                                                                                              \
        AoeStatus check_got = (call);                                                                                 \
        if (check_got != (expected))                                                                                  \
            CHECK_FAIL("%s is %d (%s: %s), not %s", #call, (int)check_got, AoeGetStatusName(check_got),               \
                       AoeGetLastError(), #expected);                                                                 \
    } while (0)

/* The call succeeds, and leaves no error text. */
#define CHECK_OK(call)                                                                                                \
    do {                                                                                                              \
        CHECK_STATUS(AOE_SUCCESS, call);                                                                              \
        CHECK(AoeGetLastError()[0] == '\0');                                                                          \
    } while (0)

/* The call returns this status, and the last-error text names the culprit. */
#define CHECK_ERROR(expected, culprit, call)                                                                          \
    do {                                                                                                              \
        CHECK_STATUS(expected, call);                                                                                 \
        if (strstr(AoeGetLastError(), culprit) == NULL)                                                               \
            CHECK_FAIL("%s: \"%s\" does not name \"%s\"", #call, AoeGetLastError(), culprit);                         \
    } while (0)

#endif
