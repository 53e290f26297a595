/* AoeSearch: spaces and options that are wrong, trials that are wrong, the end of a search, handles, threads. */
#include "support/check.h"
#include "support/json.h"

#include <math.h>
#include <pthread.h>

#define SPACE                                                                                                         \
    "{\"parameters\":[{\"name\":\"tile\",\"values\":[64,16,32]},{\"name\":\"order\",\"values\":[\"row\",\"column\"]}],"      \
    "\"constraints\":[\"tile > 16 or order == 'row'\"]}"
/* Legal configurations of SPACE. */
enum { LEGAL = 5 };

static const AoeOption RANDOM[] = {{"algorithm", "random"}, {"seed", "7"}};

static AoeSearch *searching(const char *space, const AoeOption *options, size_t count) {
    AoeSearch *search = NULL;
    CHECK_OK(AoeSearchCreate(space, options, count, &search));
    CHECK(search != NULL);
    return search;
}

static double cost_of(const uint32_t *at) {
    static const double tiles[] = {64, 16, 32};
    return tiles[at[0]] + at[1];
}

static char *report_of_search(const AoeSearch *search) {
    size_t size = 0;
    CHECK_OK(AoeSearchGetReport(search, NULL, &size));
    char *report = malloc(size);
    CHECK(report != NULL);
    CHECK_OK(AoeSearchGetReport(search, report, &size));
    CHECK(strlen(report) + 1 == size && json_value(report, 0) != NULL);
    return report;
}

TEST(every_legal_configuration_is_handed_out_once) {
    static const char *const algorithms[] = {"auto", "random", "genetic", "annealing", "bayesian"};
    for (size_t a = 0; a < sizeof algorithms / sizeof *algorithms; a++) {
        const AoeOption option = {"algorithm", algorithms[a]};
        AoeSearch *search = searching(SPACE, &option, 1);
        uint32_t at[2] = {9, 9};
        uint64_t trial = 99;
        double cost = -1;
        int seen[3][2] = {{0}};
        CHECK_STATUS(AOE_ERROR_NOT_FOUND, AoeSearchBest(search, at, 2, &cost));
        CHECK(cost == -1 && at[0] == 9);
        for (int i = 0; i < LEGAL; i++) {
            CHECK_OK(AoeSearchAsk(search, at, 2, &trial));
            CHECK(trial == (uint64_t)i && at[0] < 3 && at[1] < 2 && !(at[0] == 1 && at[1] == 1));
            CHECK(!seen[at[0]][at[1]]++);
            CHECK_OK(AoeSearchTell(search, trial, AOE_TRIAL_MEASURED, cost_of(at)));
        }
        CHECK_ERROR(AOE_ERROR_EXHAUSTED, "every legal configuration", AoeSearchAsk(search, at, 2, &trial));
        CHECK_OK(AoeSearchBest(search, at, 2, &cost));
        CHECK(at[0] == 1 && at[1] == 0 && cost == 16);
        char *report = report_of_search(search);
        CHECK(strstr(report, "\"stop\":\"exhausted\"") != NULL && strstr(report, "\"legal\":5") != NULL);
        CHECK(strstr(report, "{\"tile\":16,\"order\":\"row\"}") != NULL && strstr(report, algorithms[a]) != NULL);
        free(report);
        AoeSearchDestroy(search);
    }
}

TEST(given_configurations_are_the_legal_set) {
    AoeSearch *search = searching("{\"parameters\":[{\"name\":\"a\",\"values\":[3,2,1]},{\"name\":\"b\",\"values\":[0,1]}],"
                                  "\"configurations\":[[0,1],[2,0]]}",
                                  RANDOM, 2);
    uint32_t at[2];
    uint64_t trial;
    int sum = 0;
    while (AoeSearchAsk(search, at, 2, &trial) == AOE_SUCCESS) {
        CHECK((at[0] == 0 && at[1] == 1) || (at[0] == 2 && at[1] == 0));
        sum += 1 + (int)at[0];
    }
    CHECK(sum == 4);
    AoeSearchDestroy(search);
}

TEST(bad_spaces_are_named) {
    static const struct {
        const char *text;
        const char *culprit;
    } bad[] = {
        {"", "JSON, line 1"},
        {"nonsense", "JSON, line 1"},
        {"{\"parameters\":[]}", "parameters"},
        {"{\"params\":[]}", "`params`"},
        {"{\"parameters\":[{\"name\":\"a\",\"values\":[]}]}", "`a`"},
        {"{\"parameters\":[{\"name\":\"a\",\"values\":[1,1]}]}", "repeats"},
        {"{\"parameters\":[{\"name\":\"a\",\"values\":[1]},{\"name\":\"a\",\"values\":[1]}]}", "same name"},
        {"{\"parameters\":[{\"name\":\"a\",\"values\":[1]}],\"constraints\":[\"a ==\"]}", "`a ==`, column 5"},
        {"{\"parameters\":[{\"name\":\"a\",\"values\":[1]}],\"constraints\":[\"b == 1\"]}", "`b`"},
        {"{\"parameters\":[{\"name\":\"a\",\"values\":[1]}],\"constraints\":[\"a > 1\"]}", "no legal configuration"},
        {"{\"parameters\":[{\"name\":\"a\",\"values\":[1]}],\"configurations\":[[1]]}", "configurations[0]"},
    };
    AoeSearch *search = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_ERROR(AOE_ERROR_INVALID_PARAM, bad[i].culprit, AoeSearchCreate(bad[i].text, NULL, 0, &search));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`space_json`", AoeSearchCreate(NULL, NULL, 0, &search));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`space_json`", AoeSearchCreate("\xff", NULL, 0, &search));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`search`", AoeSearchCreate(SPACE, NULL, 0, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`options`", AoeSearchCreate(SPACE, NULL, 1, &search));
    CHECK(search == NULL);
}

TEST(bad_options_are_named) {
    static const AoeOption bad[] = {{"algorithm", "magic"}, {"seed", "-1"},  {"max_tuning_count", "0"},
                                    {"job_type", "2"},      {"seeed", "1"}, {"tuning_time_limit", "soon"}};
    AoeSearch *search = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_ERROR(AOE_ERROR_INVALID_OPTION_ATTR, bad[i].key, AoeSearchCreate(SPACE, &bad[i], 1, &search));
    CHECK(search == NULL);
}

TEST(bad_trials_and_costs_are_named_and_change_nothing) {
    AoeSearch *search = searching(SPACE, RANDOM, 2);
    uint32_t at[2];
    uint64_t trial;
    double cost;
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "trial", AoeSearchTell(search, 0, AOE_TRIAL_MEASURED, 1));
    CHECK_OK(AoeSearchAsk(search, at, 2, &trial));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "trial", AoeSearchTell(search, UINT64_MAX, AOE_TRIAL_MEASURED, 1));
    const double bad[] = {NAN, INFINITY, -INFINITY, -1};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`cost`", AoeSearchTell(search, trial, AOE_TRIAL_MEASURED, bad[i]));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`outcome`", AoeSearchTell(search, trial, 2, 1));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`outcome`", AoeSearchTell(search, trial, -1, 1));
    CHECK_STATUS(AOE_ERROR_NOT_FOUND, AoeSearchBest(search, at, 2, &cost));
    CHECK_OK(AoeSearchTell(search, trial, AOE_TRIAL_FAILED, NAN));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "already", AoeSearchTell(search, trial, AOE_TRIAL_MEASURED, 1));
    CHECK_STATUS(AOE_ERROR_NOT_FOUND, AoeSearchBest(search, at, 2, &cost));
    AoeSearchDestroy(search);
}

TEST(bad_arguments_hand_nothing_out) {
    AoeSearch *search = searching(SPACE, RANDOM, 2);
    uint32_t at[3] = {9, 9, 9};
    uint64_t trial = 99;
    double cost = 0;
    size_t size = 1;
    char small[1] = {7};
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "parameter_count", AoeSearchAsk(search, at, 1, &trial));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "parameter_count", AoeSearchAsk(search, at, 3, &trial));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`value_indices`", AoeSearchAsk(search, NULL, 2, &trial));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`trial`", AoeSearchAsk(search, at, 2, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`cost`", AoeSearchBest(search, at, 2, NULL));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "parameter_count", AoeSearchBest(search, at, 1, &cost));
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "`size`", AoeSearchGetReport(search, NULL, NULL));
    CHECK_ERROR(AOE_ERROR_BUFFER_TOO_SMALL, "needed", AoeSearchGetReport(search, small, &size));
    CHECK(small[0] == 7 && size > 1 && trial == 99 && at[0] == 9 && at[2] == 9);
    CHECK_OK(AoeSearchAsk(search, at, 2, &trial));
    CHECK(trial == 0 && at[2] == 9);
    AoeSearchDestroy(search);
}

TEST(the_number_of_trials_is_limited) {
    const AoeOption two[] = {{"max_tuning_count", "2"}, {"tuning_time_limit", "3600"}};
    AoeSearch *search = searching(SPACE, two, 2);
    uint32_t at[2];
    uint64_t first, second, third = 99;
    CHECK_OK(AoeSearchAsk(search, at, 2, &first));
    CHECK_OK(AoeSearchAsk(search, at, 2, &second));
    CHECK_ERROR(AOE_ERROR_EXHAUSTED, "max_tuning_count", AoeSearchAsk(search, at, 2, &third));
    CHECK(third == 99);
    /* Trials that are out may be told in any order, also after the end. */
    CHECK_OK(AoeSearchTell(search, second, AOE_TRIAL_MEASURED, 2));
    CHECK_OK(AoeSearchTell(search, first, AOE_TRIAL_MEASURED, 0));
    double cost = -1;
    CHECK_OK(AoeSearchBest(search, at, 2, &cost));
    CHECK(cost == 0);
    AoeSearchDestroy(search);
}

TEST(stale_and_foreign_handles) {
    int local = 0;
    AoeSessionId session = 0;
    AoeSearch *stale = searching(SPACE, NULL, 0);
    AoeSearchDestroy(stale);
    CHECK_OK(AoeInitialize(NULL, 0));
    CHECK_OK(AoeCreateSession(&session));
    AoeSearch *live = searching(SPACE, NULL, 0);
    CHECK(live != stale);
    AoeSearch *const wrong[] = {NULL,
                                stale,
                                (AoeSearch *)(void *)&local,
                                (AoeSearch *)(uintptr_t)session,
                                (AoeSearch *)UINTPTR_MAX,
                                (AoeSearch *)((uintptr_t)live + 1),
                                (AoeSearch *)((uintptr_t)live ^ ((uintptr_t)1 << 32))};
    uint32_t at[2];
    uint64_t trial;
    double cost;
    size_t size = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeSearchAsk(wrong[i], at, 2, &trial));
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeSearchTell(wrong[i], 0, AOE_TRIAL_FAILED, 0));
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeSearchBest(wrong[i], at, 2, &cost));
        CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeSearchGetReport(wrong[i], NULL, &size));
        AoeSearchDestroy(wrong[i]);
        CHECK((strstr(AoeGetLastError(), "does not exist") != NULL) == (wrong[i] != NULL));
    }
    CHECK_STATUS(AOE_ERROR_INVALID_SESSION, AoeSetGeSession((AoeSessionId)(uintptr_t)live, &local));
    /* A search outlives the library's life. */
    CHECK_OK(AoeFinalize());
    CHECK_OK(AoeSearchAsk(live, at, 2, &trial));
    AoeSearchDestroy(live);
    CHECK(AoeGetLastError()[0] == '\0');
}

TEST(two_searches_with_one_seed_are_alike_and_do_not_meet) {
    const char *space = "{\"parameters\":[{\"name\":\"a\",\"values\":[1,2,3,4,5,6,7,8]},"
                        "{\"name\":\"b\",\"values\":[1,2,3,4,5,6,7,8]},{\"name\":\"c\",\"values\":[0,1]}]}";
    const AoeOption same[] = {{"seed", "11"}, {"max_tuning_count", "60"}}, other[] = {{"seed", "12"}};
    AoeSearch *first = searching(space, same, 2), *second = searching(space, same, 2), *third = searching(space, other, 1);
    int different = 0;
    for (int i = 0; i < 60; i++) {
        uint32_t a[3], b[3], c[3];
        uint64_t trial;
        CHECK_OK(AoeSearchAsk(first, a, 3, &trial));
        CHECK_OK(AoeSearchTell(first, trial, AOE_TRIAL_MEASURED, fabs(a[0] - 5.0) + fabs(a[1] - 2.0) + a[2]));
        CHECK_OK(AoeSearchAsk(second, b, 3, &trial));
        CHECK_OK(AoeSearchTell(second, trial, AOE_TRIAL_MEASURED, fabs(b[0] - 5.0) + fabs(b[1] - 2.0) + b[2]));
        CHECK(memcmp(a, b, sizeof a) == 0);
        CHECK_OK(AoeSearchAsk(third, c, 3, &trial));
        different += memcmp(a, c, sizeof a) != 0;
    }
    CHECK(different > 0);
    AoeSearchDestroy(first);
    AoeSearchDestroy(second);
    AoeSearchDestroy(third);
}

enum { WIDTH = 40, THREADS = 8 };
static char seen[WIDTH * WIDTH];

static void *ask_and_tell(void *payload) {
    AoeSearch *search = payload;
    uint32_t at[2];
    uint64_t trial;
    double cost;
    AoeStatus status;
    while ((status = AoeSearchAsk(search, at, 2, &trial)) == AOE_SUCCESS) {
        CHECK(at[0] < WIDTH && at[1] < WIDTH);
        /* Each place is one thread's own, if none is handed out twice. */
        CHECK(seen[at[0] * WIDTH + at[1]]++ == 0);
        CHECK_OK(AoeSearchTell(search, trial, trial % 7 == 0 ? AOE_TRIAL_FAILED : AOE_TRIAL_MEASURED, at[0] + at[1]));
        if (trial % 50 == 49) {
            CHECK_OK(AoeSearchBest(search, at, 2, &cost));
            /* Others tell meanwhile, so that the report may outgrow what was asked for. */
            char report[512];
            size_t size = sizeof report;
            CHECK_OK(AoeSearchGetReport(search, report, &size));
            CHECK(json_value(report, 0) != NULL);
        }
    }
    CHECK(status == AOE_ERROR_EXHAUSTED);
    return NULL;
}

TEST(several_threads_share_a_search) {
    char space[1024] = "{\"parameters\":[{\"name\":\"a\",\"values\":[0";
    for (int i = 1; i < WIDTH; i++) snprintf(space + strlen(space), sizeof space - strlen(space), ",%d", i);
    strcat(space, "]},{\"name\":\"b\",\"values\":[0");
    for (int i = 1; i < WIDTH; i++) snprintf(space + strlen(space), sizeof space - strlen(space), ",%d", i);
    strcat(space, "]}]}");
    const AoeOption options[] = {{"algorithm", "random"}, {"max_tuning_count", "1600"}};
    AoeSearch *search = searching(space, options, 2);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, ask_and_tell, search) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < WIDTH * WIDTH; i++) CHECK(seen[i] == 1);
    AoeSearchDestroy(search);
}

static void *ask_until_gone(void *payload) {
    uint32_t at[2];
    uint64_t trial;
    AoeStatus status;
    while ((status = AoeSearchAsk(payload, at, 2, &trial)) == AOE_SUCCESS) {}
    CHECK(status == AOE_ERROR_INVALID_SESSION || status == AOE_ERROR_EXHAUSTED);
    return NULL;
}

TEST(a_search_may_go_while_others_ask) {
    for (int round = 0; round < 50; round++) {
        AoeSearch *search = searching(SPACE, NULL, 0);
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, ask_until_gone, search) == 0);
        AoeSearchDestroy(search);
        for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    }
}
