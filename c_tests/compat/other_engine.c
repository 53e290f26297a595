/* An engine of another version: without a table (TABLE_SIZE 0), or with a shorter one. */
#include <stddef.h>
#include <stdint.h>

static const size_t table[] = {TABLE_SIZE};

const void *AoeGetApi(uint32_t version);
const void *AoeGetApi(uint32_t version) { return version == 1 && TABLE_SIZE > 0 ? table : NULL; }
