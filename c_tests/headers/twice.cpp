/* As twice.c, in C++. */
#include "twice.c"
