/* AoeBank: opening, the three kinds of key, buffers, layers, merging, threads, a forked child. */
#include "support/check.h"
#include "support/json.h"

#include <pthread.h>
#include <sys/wait.h>

#define FILE_NAME "Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json"
/* A case whose key is that of a record below with m = 128. */
#define CASE "{\"op\":\"MatMul\",\"m\":128,\"k\":1024,\"n\":4096,\"dtype\":\"float16\"}"

enum { KEY_BYTES = 183, BASE_M = 64 };

/* The info_dict of the product m x 1024 x 4096, float16, ND. */
static const char *info_of(int m) {
    static char text[1200];
    snprintf(text, sizeof text,
             "{\"a_dtype\":1,\"a_format\":2,\"aub_double_num\":1.0,\"b_dtype\":1,\"b_format\":2,\"batch_a1\":1,"
             "\"batch_a2\":1,\"batch_a3\":1,\"batch_a4\":1,\"batch_b1\":1,\"batch_b2\":1,\"batch_b3\":1,\"batch_b4\":1,"
             "\"bias_flag\":false,\"bub_double_num\":1.0,\"fused_double_operand_num\":0.0,\"k\":1024,"
             "\"k_align_flag\":true,\"l1_fused_num\":0.0,\"m\":%d,\"m_align_flag\":true,\"n\":4096,"
             "\"n_align_flag\":true,\"out_dtype\":1,\"out_format\":2,\"reserved_bool\":false,\"reserved_params1\":0,"
             "\"reserved_params2\":0,\"reserved_params3\":0,\"reserved_params4\":0,\"reserved_params5\":0,"
             "\"reserved_params6\":0,\"trans_a_flag\":false,\"trans_b_flag\":false}",
             m);
    return text;
}

static const char *knowledge_of(int base_m) {
    static char text[64];
    snprintf(text, sizeof text, "{\"baseM\":%d,\"usedCoreNum\":24}", base_m);
    return text;
}

/* The structure that CANN packs for the same product. */
static const unsigned char *packed_of(int m) {
    static __thread unsigned char key[KEY_BYTES];
    const int64_t sizes[11] = {m, 1024, 4096, 1, 1, 1, 1, 1, 1, 1, 1};
    const float nums[4] = {0, 1, 1, 0};
    const int32_t types[6] = {1, 1, 1, 2, 2, 2};
    const unsigned char flags[7] = {0, 0, 0, 0, 1, 1, 1};
    memset(key, 0, sizeof key);
    memcpy(key, sizes, sizeof sizes);
    memcpy(key + 88, nums, sizeof nums);
    memcpy(key + 104, types, sizeof types);
    memcpy(key + 128, flags, sizeof flags);
    return key;
}

/* Writes the records of m = 16, 32, .. into a bank file in a new directory. */
static void write_bank(const char *directory, int count, int base_m) {
    char path[256];
    CHECK(mkdir(directory, 0700) == 0);
    snprintf(path, sizeof path, "%s/" FILE_NAME, directory);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    for (int i = 1; i <= count; i++)
        fprintf(file, "{\"id\":0,\"info_dict\":%s,\"knowledge\":%s,\"op\":\"MatMulV3\",\"version\":0}\n", info_of(16 * i),
                knowledge_of(base_m));
    CHECK(fclose(file) == 0);
}

static AoeBank *opened(const char *path) {
    AoeBank *bank = NULL;
    CHECK_OK(AoeBankOpen(&path, 1, NULL, 0, &bank));
    CHECK(bank != NULL);
    return bank;
}

static AoeStatus ask(const AoeBank *bank, int m, char *answer, size_t size) {
    return AoeBankQuery(bank, "MatMulV3", AOE_BANK_KEY_PACKED, packed_of(m), KEY_BYTES, answer, &size);
}

TEST(every_kind_of_key_finds_the_record) {
    write_bank("own", 10, BASE_M);
    AoeBank *bank = opened("own");
    char answer[256];
    size_t size = sizeof answer;
    CHECK_OK(AoeBankQuery(bank, "MatMulV3", AOE_BANK_KEY_PACKED, packed_of(128), KEY_BYTES, answer, &size));
    CHECK(strcmp(answer, knowledge_of(BASE_M)) == 0 && size == strlen(answer) + 1);
    memset(answer, 0, sizeof answer), size = sizeof answer;
    const char *info = info_of(128);
    CHECK_OK(AoeBankQuery(bank, "MatMulV3", AOE_BANK_KEY_INFO_DICT, info, strlen(info), answer, &size));
    CHECK(strcmp(answer, knowledge_of(BASE_M)) == 0);
    memset(answer, 0, sizeof answer), size = sizeof answer;
    CHECK_OK(AoeBankQuery(bank, NULL, AOE_BANK_KEY_CASE, CASE, strlen(CASE), answer, &size));
    CHECK(strcmp(answer, knowledge_of(BASE_M)) == 0);
    AoeBankClose(bank);
    CHECK(AoeGetLastError()[0] == '\0');
    AoeBankClose(NULL);
}

TEST(what_is_not_recorded_is_not_found) {
    write_bank("own", 10, BASE_M);
    AoeBank *bank = opened("own");
    char answer[256] = "as it was";
    CHECK_ERROR(AOE_ERROR_NOT_FOUND, "MatMulV3", ask(bank, 176, answer, sizeof answer));
    size_t size = sizeof answer;
    CHECK_STATUS(AOE_ERROR_NOT_FOUND,
                 AoeBankQuery(bank, "Conv2DV2", AOE_BANK_KEY_PACKED, packed_of(16), KEY_BYTES, answer, &size));
    CHECK_STATUS(AOE_ERROR_NOT_FOUND,
                 AoeBankQuery(bank, "MatMulV3", AOE_BANK_KEY_PACKED, packed_of(16), KEY_BYTES - 1, answer, &size));
    CHECK_STATUS(AOE_ERROR_NOT_FOUND, AoeBankQuery(bank, "MatMulV3", AOE_BANK_KEY_PACKED, NULL, 0, answer, &size));
    CHECK(strcmp(answer, "as it was") == 0 && size == sizeof answer);
    AoeBankClose(bank);
}

TEST(a_buffer_too_small_is_left_alone) {
    write_bank("own", 1, BASE_M);
    AoeBank *bank = opened("own");
    const size_t needed = strlen(knowledge_of(BASE_M)) + 1;
    size_t size = 0;
    CHECK_OK(AoeBankQuery(bank, "MatMulV3", AOE_BANK_KEY_PACKED, packed_of(16), KEY_BYTES, NULL, &size));
    CHECK(size == needed);
    for (size_t given = 0; given < needed; given++) {
        char *exact = malloc(given + 1);
        CHECK(exact != NULL);
        memset(exact, '#', given + 1);
        size = given;
        CHECK_STATUS(AOE_ERROR_BUFFER_TOO_SMALL,
                     AoeBankQuery(bank, "MatMulV3", AOE_BANK_KEY_PACKED, packed_of(16), KEY_BYTES, exact, &size));
        CHECK(size == needed);
        for (size_t i = 0; i <= given; i++) CHECK(exact[i] == '#');
        free(exact);
    }
    char *exact = malloc(needed);
    CHECK(exact != NULL);
    size = needed;
    CHECK_OK(AoeBankQuery(bank, "MatMulV3", AOE_BANK_KEY_PACKED, packed_of(16), KEY_BYTES, exact, &size));
    CHECK(strcmp(exact, knowledge_of(BASE_M)) == 0);
    free(exact);
    AoeBankClose(bank);
}

TEST(bad_arguments_are_named) {
    write_bank("own", 1, BASE_M);
    const char *paths[] = {"own", NULL}, *absent = "absent", *nameless = "mine.json";
    const AoeOption foreign = {"job_type", "2"}, unknown = {"soc_version", "Ascend0"};
    AoeBank *none = NULL, *bank = opened("own");
    char answer[64];
    size_t size = sizeof answer;
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`bank`", AoeBankOpen(paths, 1, NULL, 0, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`paths`", AoeBankOpen(NULL, 1, NULL, 0, &none));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "entry 1", AoeBankOpen(paths, 2, NULL, 0, &none));
    CHECK_ERROR(AOE_ERROR_IO, "absent", AoeBankOpen(&absent, 1, NULL, 0, &none));
    CHECK(fclose(fopen("mine.json", "w")) == 0);
    CHECK_ERROR(AOE_ERROR_BANK, "mine.json", AoeBankOpen(&nameless, 1, NULL, 0, &none));
    CHECK_ERROR(AOE_ERROR_INVALID_OPTION_ATTR, "job_type", AoeBankOpen(paths, 1, &foreign, 1, &none));
    CHECK_STATUS(AOE_ERROR_INVALID_OPTION_ATTR, AoeBankOpen(paths, 1, &unknown, 1, &none));
    CHECK_ERROR(AOE_ERROR_INVALID_OPTION_ATTR, "soc_version", AoeBankOpen(NULL, 0, NULL, 0, &none));
    CHECK(none == NULL);
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`bank`", AoeBankQuery(NULL, "MatMulV3", 0, "", 0, answer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`op_type`", AoeBankQuery(bank, NULL, 0, "", 0, answer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`kind`", AoeBankQuery(bank, "MatMulV3", 3, "", 0, answer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`key`", AoeBankQuery(bank, "MatMulV3", 0, NULL, 1, answer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`size`", AoeBankQuery(bank, "MatMulV3", 0, "", 0, answer, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "JSON",
                AoeBankQuery(bank, "MatMulV3", AOE_BANK_KEY_INFO_DICT, "{", 1, answer, &size));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`m`",
                AoeBankQuery(bank, "MatMulV3", AOE_BANK_KEY_INFO_DICT, "{}", 2, answer, &size));
    CHECK_STATUS(AOE_ERROR_INVALID_PARAM, AoeBankQuery(bank, NULL, AOE_BANK_KEY_CASE, "\xff", 1, answer, &size));
    CHECK(size == sizeof answer);
    AoeBankClose(bank);
}

TEST(the_first_layer_that_has_a_key_counts) {
    write_bank("custom", 1, 128);
    write_bank("builtin", 2, BASE_M);
    const char *layers[] = {"custom", "builtin"};
    AoeBank *bank = NULL;
    char answer[256];
    CHECK_OK(AoeBankOpen(layers, 2, NULL, 0, &bank));
    CHECK_OK(ask(bank, 16, answer, sizeof answer));
    CHECK(strcmp(answer, knowledge_of(128)) == 0);
    CHECK_OK(ask(bank, 32, answer, sizeof answer));
    CHECK(strcmp(answer, knowledge_of(BASE_M)) == 0);
    AoeBankClose(bank);
}

TEST(without_paths_the_bank_of_the_environment_is_opened) {
    const AoeOption soc = {"soc_version", "Ascend910B2"};
    AoeBank *bank = NULL;
    char answer[256];
    CHECK(mkdir("tune", 0700) == 0 && mkdir("tune/Ascend910B2", 0700) == 0);
    CHECK(setenv("TUNE_BANK_PATH", "tune", 1) == 0);
    CHECK_OK(AoeBankOpen(NULL, 0, &soc, 1, &bank));
    CHECK_STATUS(AOE_ERROR_NOT_FOUND, ask(bank, 16, answer, sizeof answer));
    write_bank("tune/Ascend910B2/unified_bank", 1, BASE_M);
    /* A snapshot: what is written later is another one's. */
    CHECK_STATUS(AOE_ERROR_NOT_FOUND, ask(bank, 16, answer, sizeof answer));
    AoeBankClose(bank);
    CHECK_OK(AoeBankOpen(NULL, 0, &soc, 1, &bank));
    CHECK_OK(ask(bank, 16, answer, sizeof answer));
    AoeBankClose(bank);
}

TEST(a_merge_is_seen_by_the_next_bank_opened) {
    write_bank("into", 2, BASE_M);
    /* Of two tilings that nobody measured the one whose text sorts last stays. */
    write_bank("source", 3, 96);
    const char *source = "source", *absent = "absent";
    AoeBankMerged merged = {.struct_size = sizeof merged}, old = {.struct_size = 8};
    AoeBank *before = opened("into");
    char answer[256];
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "struct_size", AoeBankMerge(&source, 1, "into", NULL, 0, &old));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`into`", AoeBankMerge(&source, 1, NULL, NULL, 0, &merged));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`sources`", AoeBankMerge(NULL, 1, "into", NULL, 0, &merged));
    CHECK_ERROR(AOE_ERROR_IO, "absent", AoeBankMerge(&absent, 1, "into", NULL, 0, &merged));
    CHECK(merged.added == 0 && merged.files == 0);
    CHECK_OK(AoeBankMerge(&source, 1, "into", NULL, 0, &merged));
    CHECK(merged.added == 1 && merged.updated == 2 && merged.kept == 0 && merged.refused == 0);
    CHECK(merged.files == 1 && merged.foreign == 0 && merged.warnings == 0);
    CHECK_STATUS(AOE_ERROR_NOT_FOUND, ask(before, 48, answer, sizeof answer));
    AoeBankClose(before);
    AoeBank *after = opened("into");
    CHECK_OK(ask(after, 32, answer, sizeof answer));
    CHECK(strcmp(answer, knowledge_of(96)) == 0);
    AoeBankClose(after);
    CHECK_OK(AoeBankMerge(&source, 1, "into", NULL, 0, NULL));
    CHECK_OK(AoeBankMerge(&source, 1, "fresh", &source, 1, &merged));
    CHECK(merged.added == 0 && merged.refused == 3);
}

enum { RECORDS = 500, THREADS = 8, ROUNDS = 4000 };

static void *ask_often(void *payload) {
    char answer[256];
    for (int i = 0; i < ROUNDS; i++) {
        const int m = 16 * (1 + i % (2 * RECORDS));
        const AoeStatus status = ask(payload, m, answer, sizeof answer);
        CHECK(status == (m <= 16 * RECORDS ? AOE_SUCCESS : AOE_ERROR_NOT_FOUND));
    }
    return NULL;
}

TEST(several_threads_ask_one_bank) {
    write_bank("own", RECORDS, BASE_M);
    AoeBank *bank = opened("own");
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, ask_often, bank) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    AoeBankClose(bank);
}

TEST(a_forked_child_may_ask) {
    write_bank("own", 1, BASE_M);
    AoeBank *bank = opened("own"), *none = NULL;
    const char *path = "own";
    char answer[256];
    CHECK_OK(AoeInitialize(NULL, 0));
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_OK(ask(bank, 16, answer, sizeof answer));
        CHECK_STATUS(AOE_ERROR_FORKED, AoeBankOpen(&path, 1, NULL, 0, &none));
        CHECK_STATUS(AOE_ERROR_FORKED, AoeBankMerge(&path, 1, "into", NULL, 0, NULL));
        AoeBankClose(bank);
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_OK(AoeFinalize());
    AoeBankClose(bank);
}
