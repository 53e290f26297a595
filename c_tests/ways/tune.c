/* tune MODEL [NAME=VALUE...]: a C host that tunes a model, all its options given to AoeInitialize. The report, as the session
 * has it, goes to stdout. scripts/ways holds what it leaves against the other ways to the same. */
#include <aoe.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OPTIONS 32

static int failed(const char *call, AoeStatus status) {
    fprintf(stderr, "%s: %s: %s\n", call, AoeGetStatusName(status), AoeGetLastError());
    return 1;
}

#define TRY(call)                                                \
    do {                                                         \
        const AoeStatus status = (call);                         \
        if (status != AOE_SUCCESS) return failed(#call, status); \
    } while (0)

int main(int argc, char **argv) {
    AoeOption options[MOST_OPTIONS];
    AoeGraph *graph = NULL;
    AoeSessionId session = 0;
    size_t count = 0, size = 0;
    if (argc < 2 || argc > MOST_OPTIONS + 2) {
        fputs("tune MODEL [NAME=VALUE...]\n", stderr);
        return 2;
    }
    for (; count + 2 < (size_t)argc; count++) {
        char *value = strchr(argv[count + 2], '=');
        if (value == NULL) return fprintf(stderr, "`%s` is no NAME=VALUE\n", argv[count + 2]), 2;
        *value = '\0';
        options[count] = (AoeOption){argv[count + 2], value + 1};
    }
    TRY(AoeInitialize(options, count));
    TRY(AoeGraphLoadFile(argv[1], NULL, 0, &graph));
    TRY(AoeCreateSession(&session));
    TRY(AoeSetTuningGraph(session, graph));
    TRY(AoeTuningGraph(session, NULL, 0));
    TRY(AoeGetReport(session, NULL, &size));
    char *report = malloc(size);
    if (report == NULL) return 1;
    TRY(AoeGetReport(session, report, &size));
    puts(report);
    free(report);
    TRY(AoeDestroySession(session));
    AoeGraphDestroy(graph);
    TRY(AoeFinalize());
    return 0;
}
