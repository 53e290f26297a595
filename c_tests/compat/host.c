/* Runs a replay that was built as a module, as Python runs an extension: loaded with RTLD_LOCAL, and GE with it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    int (*run)(int, char **) = NULL;
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *symbol = module == NULL ? NULL : dlsym(module, "main");
    if (symbol == NULL) return fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "no module"), 2;
    memcpy(&run, &symbol, sizeof symbol);
    argv[1] = argv[0];
    return run(argc - 1, argv + 1);
}
