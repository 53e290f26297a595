/* Stand-in for the C interface of GE's offline compiler, for tests.
 *
 * A "compiled model" is a text: the .air file it came from and the options. Built with
 *   -DOMIT_<name>        without that function,
 *   -DFAIL_<step>=<code> so that a step returns a code: INITIALIZE, LOAD, BUILD, SAVE,
 *   -DHOSTED             as if the host ran GE,
 *   -DFORGETS            so that saving succeeds without a file,
 *   -DHOST='"_linux_x86_64"' to name the file of a model as one with code of the host is named,
 *   -DHANGS              so that building makes the file `building` and never returns.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef HOST
#define HOST ""
#endif
#ifndef FAIL_INITIALIZE
#define FAIL_INITIALIZE 0
#endif
#ifndef FAIL_LOAD
#define FAIL_LOAD 0
#endif
#ifndef FAIL_BUILD
#define FAIL_BUILD 0
#endif
#ifndef FAIL_SAVE
#define FAIL_SAVE 0
#endif

typedef struct {
    char text[4096];
} Text;

/* What is alive now, and how often the environment was made. */
struct ge_state {
    int environments, graphs, models, messages, initialized;
} ge_state;

char ge_initialize_options[2048];

/* Adds to a text what fits of three others. */
void ge_append(char *text, size_t size, const char *key, const char *sign, const char *value)
{
    const char *parts[] = {key, sign, value};
    for (int i = 0; i < 3; i++) {
        strncat(text, parts[i], size - strlen(text) - 1);
    }
}

#ifndef OMIT_CreateGraph
void *GeApiWrapper_Graph_CreateGraph(const char *name)
{
    (void)name;
    ge_state.graphs++;
    return calloc(1, sizeof(Text));
}
#endif

#ifndef OMIT_DestroyGraph
void GeApiWrapper_Graph_DestroyGraph(const void *graph)
{
    ge_state.graphs--;
    free((void *)(uintptr_t)graph);
}
#endif

#ifndef OMIT_LoadFromAir
uint32_t GeApiWrapper_Graph_LoadFromAir(void *graph, const char *file)
{
    FILE *air = fopen(file, "rb");
    if (air == NULL) {
        return 1;
    }
    fclose(air);
    ge_append(((Text *)graph)->text, sizeof(Text), "air=", file, "\n");
    return FAIL_LOAD;
}
#endif

#ifndef OMIT_OfflineCompile
uint32_t GeApiWrapper_OfflineCompile_BuildInitialize(char **keys, char **values, int count)
{
    for (int i = 0; i < count; i++) {
        ge_append(ge_initialize_options, sizeof ge_initialize_options, keys[i], "=", values[i]);
        ge_append(ge_initialize_options, sizeof ge_initialize_options, "\n", "", "");
    }
    if (FAIL_INITIALIZE != 0) {
        return FAIL_INITIALIZE;
    }
    ge_state.initialized++;
    ge_state.environments++;
    return 0;
}

void GeApiWrapper_OfflineCompile_BuildFinalize(void)
{
    ge_state.environments--;
}

uint32_t GeApiWrapper_OfflineCompile_BuildModel(void *graph, char **keys, char **values, int count, void **model)
{
    if (FAIL_BUILD != 0) {
        return FAIL_BUILD;
    }
#ifdef HANGS
    fclose(fopen("building", "wb"));
    for (;;) {
        pause();
    }
#endif
    Text *made = calloc(1, sizeof(Text));
    ge_append(made->text, sizeof made->text, ((Text *)graph)->text, ge_initialize_options, "");
    for (int i = 0; i < count; i++) {
        ge_append(made->text, sizeof made->text, keys[i], "=", values[i]);
        ge_append(made->text, sizeof made->text, "\n", "", "");
    }
    ge_state.models++;
    *model = made;
    return 0;
}

uint32_t GeApiWrapper_OfflineCompile_SaveModel(const char *stem, const void *model)
{
    char path[4096];
    snprintf(path, sizeof path, "%s" HOST ".om", stem);
    if (FAIL_SAVE != 0) {
        return FAIL_SAVE;
    }
#ifndef FORGETS
    FILE *om = fopen(path, "wb");
    if (om == NULL) {
        return 1;
    }
    fputs(((const Text *)model)->text, om);
    fclose(om);
#else
    (void)model;
#endif
    return 0;
}

void GeApiWrapper_ModelBuffer_Destroy(const void *model)
{
    ge_state.models--;
    free((void *)(uintptr_t)model);
}
#endif

#ifdef HOSTED
bool GeApiWrapper_IsGEInitialized(void)
{
    return true;
}
#endif

#ifndef OMIT_Message
char *GeApiWrapper_GEGetErrorMsg(void)
{
    static const char said[] = "E10001: the stand-in was told to fail\n";
    ge_state.messages++;
    return memcpy(malloc(sizeof said), said, sizeof said);
}

void GeApiWrapper_FreeString(char *text)
{
    ge_state.messages--;
    free(text);
}
#endif
