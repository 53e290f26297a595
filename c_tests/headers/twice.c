/* The second of two translation units that include the header; it uses every constant. */
#include <aoe.h>

#ifdef __cplusplus
extern "C"
#endif
uint32_t version_seen_elsewhere(void);

static AoeStatus every_kind_of_constant(AoeDataType type, AoeFormat format, AoeLogLevel level) {
    int64_t dims[AOE_MAX_RANK] = {AOE_DIM_UNKNOWN, AOE_RANK_UNKNOWN};
    if (type == AOE_DT_UNDEFINED || format == AOE_FORMAT_RESERVED || level == AOE_LOG_ERROR) return AOE_FAILURE;
    return dims[0] == -1 && AOE_MAX_OPTIONS > 0 && AOE_MAX_NODE_PORTS > 0 ? AOE_SUCCESS : AOE_ERROR_NOT_FOUND;
}

int main(void) {
    if (version_seen_elsewhere() != AoeGetVersion()) return 1;
    if (AoeGetApi(AOE_API_VERSION) == NULL) return 2;
    return every_kind_of_constant(AOE_DT_FLOAT, AOE_FORMAT_ND, AOE_LOG_INFO) == AOE_SUCCESS ? 0 : 3;
}
