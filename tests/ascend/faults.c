/* What a test has planted. */
#include "stand_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

const char *setting(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value != NULL && *value != '\0' ? value : otherwise;
}

void note(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", setting("STAND_IN_STATE", "/nowhere"), name);
    FILE *file = fopen(path, "w");
    if (file != NULL) {
        fclose(file);
    }
}

/* Whether a fault of this scope concerns this process. */
static int concerns(const char *scope, size_t length)
{
    uint32_t digest = 2166136261u;
    const char *knowledge;
    if (length == 0 || strncmp(scope, "all", length) == 0) {
        return 1;
    }
    if (strncmp(scope, "after", 5) == 0) {
        return runs_before() >= strtoull(scope + 5, NULL, 10);
    }
    if (strncmp(scope, "with_record", length) == 0) {
        return has_record_of_tbe();
    }
    knowledge = record();
    if (strncmp(scope, "candidate", length) == 0) {
        return *knowledge != '\0';
    }
    for (const char *c = knowledge; *c != '\0'; c++) {
        digest = (digest ^ (unsigned char)*c) * 16777619u;
    }
    return *knowledge != '\0' && (digest >> 8) % 2 == 0;
}

/* What is planted for a function, NULL for nothing. */
static const char *what_of(const char *function)
{
    static char found[64];
    const char *entry = setting("STAND_IN_FAULTS", "");
    while (*entry != '\0') {
        size_t length = strcspn(entry, ",");
        const char *colon = memchr(entry, ':', length);
        const char *name = colon != NULL ? colon + 1 : entry;
        const char *equals = memchr(name, '=', length - (size_t)(name - entry));
        if (equals != NULL && (size_t)(equals - name) == strlen(function) &&
            strncmp(name, function, strlen(function)) == 0 &&
            concerns(entry, colon != NULL ? (size_t)(colon - entry) : 0)) {
            size_t rest = length - (size_t)(equals + 1 - entry);
            snprintf(found, sizeof found, "%.*s", (int)rest, equals + 1);
            return found;
        }
        entry += length + (entry[length] == ',');
    }
    return NULL;
}

int planted(const char *function)
{
    const char *what = what_of(function);
    if (what == NULL) {
        return SUCCESS;
    }
    note("fault");
    if (strcmp(what, "hang") == 0) {
        note("hang");
        for (;;) {
            pause();
        }
    }
    if (strcmp(what, "orphan") == 0 || strcmp(what, "daemon") == 0) {
        /* As a compiler's helper would be: a process of its own, for which nobody waits. */
        pid_t helper = fork();
        if (helper == 0) {
            if (strcmp(what, "daemon") == 0) {
                setsid();
            }
            execl("/bin/sleep", "sleep", "3600", (char *)NULL);
            _exit(1);
        }
        for (;;) {
            pause();
        }
    }
    if (strcmp(what, "crash") == 0) {
        fprintf(stderr, "%s crashes as planted\n", function);
        abort();
    }
    return strcmp(what, "null") == 0 ? INTERNAL_ERROR : atoi(what);
}

int computes_wrongly(void)
{
    const char *what = what_of("kernel");
    return what != NULL && strcmp(what, "wrong") == 0;
}
