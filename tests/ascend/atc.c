/* A program in place of ATC. It knows one network, the one of the acceptance test: a convolution with a bias, and a Relu
 * that is fused into it. */
#define _GNU_SOURCE
#include "stand_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value of an argument, NULL where it is not given. */
static const char *given(int count, char **arguments, const char *name)
{
    for (int i = 1; i < count; i++) {
        size_t length = strlen(name);
        if (strncmp(arguments[i], name, length) == 0 && arguments[i][length] == '=') {
            return arguments[i] + length + 1;
        }
    }
    return NULL;
}

/* Whether a file holds a word; graphs in GE's IR have the types of their operators as they are. */
static int holds(const char *content, size_t size, const char *word)
{
    return memmem(content, size, word, strlen(word)) != NULL;
}

int main(int count, char **arguments)
{
    static char content[1 << 20];
    static const char *const needed[] = {"--framework", "--model", "--output", "--soc_version", "--op_debug_level",
                                         "--debug_dir", "--op_compiler_cache_mode"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (given(count, arguments, needed[i]) == NULL) {
            fprintf(stderr, "E10007: %s is missing\n", needed[i]);
            return 1;
        }
    }
    FILE *file = fopen(given(count, arguments, "--model"), "rb");
    size_t size = file != NULL ? fread(content, 1, sizeof content, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    if (strcmp(given(count, arguments, "--framework"), "1") != 0 || !holds(content, size, "Conv2D")) {
        fprintf(stderr, "E10016: the model is none of GE's with a convolution\n");
        return 1;
    }
    snprintf(kernel_folder, sizeof kernel_folder, "%s", given(count, arguments, "--debug_dir"));
    struct image image = {.kind = FORWARD, .images = 1, .cin = 64, .cout = 128, .in = {56, 56}, .out = {56, 56},
                          .kernel = {3, 3}, .strides = {1, 1}, .dilations = {1, 1}, .pads = {1, 1, 1, 1},
                          .has_bias = holds(content, size, "bias"), .is_activated = holds(content, size, "Relu")};
    return compile_image(&image) == SUCCESS ? 0 : 1;
}
