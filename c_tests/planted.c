/* A fault planted on purpose: the sanitizer must find it, or its other verdicts mean nothing. */
#include <stdlib.h>

int main(int argc, char **argv) {
    (void)argv;
    char *buffer = malloc(4);
    if (buffer == NULL) return 2;
    volatile int index = 3 + argc;
    buffer[index] = 1;
    int result = buffer[index] == 1 ? 0 : 1;
    free(buffer);
    return result;
}
