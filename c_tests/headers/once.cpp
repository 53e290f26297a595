/* As once.c, in C++. */
#include "once.c"
