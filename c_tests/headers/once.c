/* The header alone, included first and twice, in one of two translation units of one program. */
#include <aoe.h>
#include <aoe.h>

#ifdef __cplusplus
extern "C"
#endif
uint32_t version_seen_elsewhere(void);

uint32_t version_seen_elsewhere(void) { return AOE_VERSION + (uint32_t)(sizeof(AoeTensor) - sizeof(AoeTensor)); }

/* Layouts that may never change: programs are compiled against them. */
typedef char option_is_two_pointers[sizeof(AoeOption) == 2 * sizeof(void *) ? 1 : -1];
typedef char tensor_is_48_bytes_where_pointers_are_8[sizeof(void *) != 8 || sizeof(AoeTensor) == 48 ? 1 : -1];
typedef char status_is_32_bits[sizeof(AoeStatus) == 4 ? 1 : -1];
typedef char session_is_64_bits[sizeof(AoeSessionId) == 8 ? 1 : -1];
typedef char size_comes_first[offsetof(AoeApi, struct_size) == 0 && offsetof(AoeProgress, struct_size) == 0 ? 1 : -1];
typedef char table_of_0_1[offsetof(AoeApi, GraphGetNodeAttrString) == 40 * sizeof(void *) ? 1 : -1];
typedef char simulate_comes_next[offsetof(AoeApi, Simulate) == 41 * sizeof(void *) ? 1 : -1];
typedef char searches_come_next[offsetof(AoeApi, SearchDestroy) == 47 * sizeof(void *) ? 1 : -1];
