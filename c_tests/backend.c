/* Backends that a program brings: registered as a table, and loaded from a library. */
#include "support/json.h"
#include "support/network.h"

#include <math.h>
#include <stdatomic.h>
#include <time.h>

/* A backend whose time is the number of cores that a schedule leaves idle, so that its best is known. */
typedef struct Toy {
    const char *name, *detail, *soc;
    int32_t noisy;
    uint32_t parallel;
    AoeStatus describes;  /* what describe returns */
    AoeStatus measures;   /* what measure returns */
    double measuring_us;  /* what describe says of measuring; 0: a microsecond, so that no simulation comes first */
    double time_us;       /* what measure writes; 0: the cores' time */
    int few;              /* the fewest cores are best, which no default takes */
    int lasts;            /* calls of measure after which the backend is lost; 0: never */
    double takes_ms;      /* milliseconds that measure takes */
    atomic_int inside, most_inside, calls;
} Toy;

static AoeStatus describe(void *context, AoeBackendDescription *description) {
    Toy *toy = context;
    if (description->struct_size < sizeof *description)
        return AOE_ERROR_UNSUPPORTED;
    description->name = toy->name;
    description->detail = toy->detail;
    description->soc = toy->soc;
    description->noisy = toy->noisy;
    description->parallel = toy->parallel;
    description->measuring_us = toy->measuring_us != 0 ? toy->measuring_us : 1.0;
    return toy->describes;
}

static const AoeField *field(const AoeField *fields, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

static double now_ms(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static AoeStatus measure(void *context, const AoeCandidate *candidate, double *time_us) {
    Toy *toy = context;
    int inside = atomic_fetch_add(&toy->inside, 1) + 1, most = atomic_load(&toy->most_inside);
    while (inside > most && !atomic_compare_exchange_weak(&toy->most_inside, &most, inside)) {
    }
    atomic_fetch_add(&toy->calls, 1);
    for (double begun = now_ms(); now_ms() - begun < toy->takes_ms;) {
    }
    const AoeField *cores = field(candidate->schedule, candidate->schedule_count, "used_cores");
    if (cores == NULL)
        cores = field(candidate->schedule, candidate->schedule_count, "cores");
    int whole = candidate->struct_size >= sizeof *candidate && json_valid(candidate->json) && cores != NULL &&
                cores->text == NULL && field(candidate->workload, candidate->workload_count, "kind") != NULL;
    *time_us = !whole ? NAN : toy->time_us != 0 ? toy->time_us : toy->few ? cores->number : 100.0 - cores->number;
    atomic_fetch_sub(&toy->inside, 1);
    if (toy->lasts != 0 && atomic_load(&toy->calls) > toy->lasts)
        return AOE_ERROR_BACKEND_LOST;
    return toy->measures;
}

static const char *last_error(void *context) {
    (void)context;
    return "the toy is broken";
}

static Toy toy_of(const char *name) {
    Toy toy;
    memset(&toy, 0, sizeof toy);
    toy.name = name;
    toy.detail = "for tests";
    toy.soc = "Ascend910B2";
    return toy;
}

static AoeBackend table_of(Toy *toy) {
    AoeBackend backend = {sizeof backend, toy, describe, measure, last_error};
    return backend;
}

static AoeStatus registered(Toy *toy) {
    AoeBackend backend = table_of(toy);
    return AoeRegisterBackend(&backend);
}

static void initialize(const char *backend) {
    AoeOption options[] = {{"job_type", "2"}, {"backend", backend}, {"max_tuning_count", "40"}};
    CHECK_OK(AoeInitialize(options, 3));
}

TEST(a_registered_backend_measures_and_is_named_in_the_report) {
    Toy toy = toy_of("toy");
    CHECK_OK(registered(&toy));
    initialize("toy");
    AoeSessionId session = small_session();
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    char *report = report_of(session);
    CHECK(strstr(report, "\"toy\"") != NULL && strstr(report, "for tests") != NULL);
    CHECK(atomic_load(&toy.calls) > 3);
    free(report);
    CHECK_OK(AoeFinalize());
}

/* What a progress callback was told from within the search for the first operator. */
typedef struct Within {
    uint64_t calls, searching, cancel_at;
    double best_us;
} Within;

static int32_t watch_search(const AoeProgress *progress, void *payload) {
    Within *within = payload;
    CHECK(progress->struct_size >= sizeof *progress);
    if (progress->searching == 0 || progress->done > 0)
        return 0;
    CHECK(progress->node[0] != '\0' && progress->remaining_s >= 0);
    CHECK(progress->searching > within->searching && progress->trials >= progress->searching);
    CHECK(progress->network_us > 0 && progress->network_us <= progress->baseline_us);
    CHECK(within->calls == 0 || progress->network_us <= within->best_us);
    within->searching = progress->searching;
    within->best_us = progress->network_us;
    return ++within->calls == within->cancel_at;
}

/* Tunes with 20 ms a measurement, of which 40 take longer than the pause between two calls. */
static void tune_slowly(uint64_t cancel_at, AoeStatus expected) {
    Toy toy = toy_of("toy");
    toy.parallel = 1;
    toy.measuring_us = 20000;
    toy.takes_ms = 20;
    Within within = {0, 0, cancel_at, 0};
    CHECK_OK(registered(&toy));
    initialize("toy");
    AoeSessionId session = small_session();
    CHECK_OK(AoeSetProgressCallback(session, watch_search, &within));
    CHECK_STATUS(expected, AoeTuningGraph(session, NULL, 0));
    CHECK(within.calls >= 1 && within.searching >= 1 && within.best_us > 0);
    CHECK_OK(AoeFinalize());
}

TEST(a_slow_backend_s_search_tells_how_far_it_is) {
    tune_slowly(0, AOE_SUCCESS);
}

TEST(a_slow_backend_s_search_can_be_cancelled) {
    tune_slowly(1, AOE_ERROR_CANCELLED);
}

TEST(a_later_backend_takes_the_place_of_one_with_its_name) {
    Toy first = toy_of("toy"), second = toy_of("toy");
    CHECK_OK(registered(&first));
    CHECK_OK(registered(&second));
    initialize("toy");
    CHECK_OK(AoeTuningGraph(small_session(), NULL, 0));
    CHECK(atomic_load(&first.calls) == 0 && atomic_load(&second.calls) > 0);
    CHECK_OK(AoeFinalize());
}

TEST(no_more_calls_at_a_time_than_a_backend_takes) {
    Toy toy = toy_of("toy");
    toy.parallel = 1;
    CHECK_OK(registered(&toy));
    initialize("toy");
    CHECK_OK(AoeTuningGraph(small_session(), NULL, 0));
    CHECK(atomic_load(&toy.most_inside) == 1);
    CHECK_OK(AoeFinalize());
}

TEST(the_part_is_the_backend_s_unless_the_caller_names_one) {
    Toy toy = toy_of("toy");
    toy.soc = "{\"base\": \"Ascend910B4\", \"name\": \"ToyChip\", \"ai_core_cnt\": 3}";
    CHECK_OK(registered(&toy));
    initialize("toy");
    AoeSessionId session = small_session();
    AoeOption other = {"soc_version", "Ascend310P3"};
    const char *const names[] = {"ToyChip", "Ascend310P3"};
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(AoeTuningGraph(session, &other, i));
        char *report = report_of(session);
        CHECK(strstr(report, names[i]) != NULL);
        free(report);
    }
    CHECK_OK(AoeFinalize());
}

TEST(a_candidate_that_fails_or_has_no_time_is_no_result) {
    static const struct {
        AoeStatus status;
        double time_us;
        const char *said;
    } cases[] = {{AOE_FAILURE, 1.0, "the toy is broken"}, {77, 1.0, "77"}, {AOE_SUCCESS, -1.0, "no time"},
                 {AOE_SUCCESS, INFINITY, "no time"}, {AOE_SUCCESS, 1e308, "no time"}, {AOE_SUCCESS, 5e-324, "no time"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Toy toy = toy_of("toy");
        toy.measures = cases[i].status, toy.time_us = cases[i].time_us;
        CHECK_OK(registered(&toy));
        initialize("toy");
        AoeSessionId session = small_session();
        CHECK_ERROR(AOE_ERROR_TUNING_ERROR, cases[i].said, AoeTuningGraph(session, NULL, 0));
        char *report = report_of(session);
        CHECK(strstr(report, cases[i].said) != NULL && strstr(report, "tuning failed") != NULL);
        free(report);
        CHECK_OK(AoeFinalize());
    }
}

TEST(a_backend_that_is_lost_ends_the_tuning_and_what_was_found_is_kept) {
    Toy toy = toy_of("toy");
    toy.parallel = 1, toy.few = 1;
    CHECK_OK(registered(&toy));
    initialize("toy");
    AoeSessionId session = small_session();
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    int all = atomic_load(&toy.calls);
    CHECK(all > 40);
    /* Another bank, which knows nothing; the second product is under way when it happens. */
    CHECK(mkdir("other", 0700) == 0 && setenv("TUNE_BANK_PATH", "other", 1) == 0);
    CHECK_OK(AoeFinalize());
    toy.lasts = all - 5, atomic_store(&toy.calls, 0);
    initialize("toy");
    session = small_session();
    CHECK_ERROR(AOE_ERROR_BACKEND_LOST, "the toy is broken", AoeTuningGraph(session, NULL, 0));
    CHECK(atomic_load(&toy.calls) == toy.lasts + 1);
    char *report = report_of(session);
    CHECK(strstr(report, "\"finished\": false") != NULL && strstr(report, "\"status\": \"added\"") != NULL);
    free(report);
    /* The next tuning goes on: what was measured of both products is not measured again. */
    toy.lasts = 0, atomic_store(&toy.calls, 0);
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    CHECK(atomic_load(&toy.calls) < all / 2);
    CHECK_OK(AoeFinalize());
}

TEST(a_table_that_cannot_be_used_is_refused_by_what_is_wrong_with_it) {
    Toy toy = toy_of("toy");
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "NULL", AoeRegisterBackend(NULL));
    AoeBackend backend = table_of(&toy);
    backend.struct_size = sizeof backend - 1;
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "struct_size", AoeRegisterBackend(&backend));
    backend = table_of(&toy);
    backend.describe = NULL;
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "describe", AoeRegisterBackend(&backend));
    backend = table_of(&toy);
    backend.measure = NULL;
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "measure", AoeRegisterBackend(&backend));
    backend = table_of(&toy);
    backend.last_error = NULL;
    CHECK_ERROR(AOE_ERROR_INVALID_PARAM, "last_error", AoeRegisterBackend(&backend));
}

TEST(a_description_that_cannot_be_is_refused_by_what_is_wrong_with_it) {
    static const char *const names[] = {"", "auto", "simulator", "ascend", "a b", "a/b", "x.so", "\xff", NULL};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Toy toy = toy_of(names[i]);
        CHECK_ERROR(AOE_ERROR_BACKEND, "name", registered(&toy));
    }
    static const char *const parts[] = {"Ascend1", "", "{", "{\"name\": 7}", NULL};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        Toy toy = toy_of("toy");
        toy.soc = parts[i];
        CHECK_ERROR(AOE_ERROR_BACKEND, "soc", registered(&toy));
    }
    static const double times[] = {-1.0, NAN, INFINITY, 1e30, 1e-300};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        Toy toy = toy_of("toy");
        toy.measuring_us = times[i];
        CHECK_ERROR(AOE_ERROR_BACKEND, "measuring_us", registered(&toy));
    }
    Toy toy = toy_of("toy");
    toy.detail = NULL;
    CHECK_ERROR(AOE_ERROR_BACKEND, "detail", registered(&toy));
    toy = toy_of("toy");
    toy.describes = AOE_ERROR_UNSUPPORTED;
    CHECK_ERROR(AOE_ERROR_BACKEND, "the toy is broken", registered(&toy));
    initialize("toy");
    CHECK_ERROR(AOE_ERROR_INVALID_OPTION_ATTR, "`toy` is none of auto", AoeTuningGraph(small_session(), NULL, 0));
    CHECK_OK(AoeFinalize());
}

TEST(a_library_that_is_no_backend_is_named_with_what_it_lacks) {
    AoeOption options[] = {{"job_type", "2"}, {"backend", "./none.so"}};
    CHECK_OK(AoeInitialize(options, 2));
    AoeSessionId session = small_session();
    CHECK_ERROR(AOE_ERROR_BACKEND, "./none.so", AoeTuningGraph(session, NULL, 0));
    AoeOption other = {"backend", "libm.so.6"};
    CHECK_ERROR(AOE_ERROR_BACKEND, "AoeGetBackend", AoeTuningGraph(session, &other, 1));
    CHECK_OK(AoeFinalize());
}

TEST(the_host_cpu_measures_products_and_names_what_it_has_not) {
    AoeOption options[] = {{"job_type", "2"}, {"backend", HOST_CPU}, {"precision_mode", "must_keep_origin_dtype"},
                           {"max_tuning_count", "6"}};
    CHECK_OK(AoeInitialize(options, 4));
    static const int64_t x_dims[] = {80, 72}, w_dims[] = {72, 112};
    AoeTensor x = tensor_of(AOE_DT_FLOAT, x_dims, 2), w = tensor_of(AOE_DT_FLOAT, w_dims, 2);
    AoeGraph *graph = NULL;
    AoeNodeId input, weight, product, softmax, relu;
    CHECK_OK(AoeGraphCreate("host", &graph));
    CHECK_OK(AoeGraphAddInput(graph, "x", &x, &input));
    CHECK_OK(AoeGraphAddConst(graph, "w", &w, &weight));
    CHECK_OK(AoeGraphAddNode(graph, "product", "MatMulV2", 1, &product));
    CHECK_OK(AoeGraphAddNode(graph, "softmax", "SoftmaxV2", 1, &softmax));
    CHECK_OK(AoeGraphAddNode(graph, "sigmoid", "Sigmoid", 1, &relu));
    CHECK_OK(AoeGraphAddEdge(graph, input, 0, product, 0));
    CHECK_OK(AoeGraphAddEdge(graph, weight, 0, product, 1));
    CHECK_OK(AoeGraphAddEdge(graph, product, 0, softmax, 0));
    CHECK_OK(AoeGraphAddEdge(graph, softmax, 0, relu, 0));
    CHECK_OK(AoeGraphAddOutput(graph, relu, 0));
    AoeSessionId session = 0;
    CHECK_OK(AoeCreateSession(&session));
    CHECK_OK(AoeSetTuningGraph(session, graph));
    AoeGraphDestroy(graph);
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    char *report = report_of(session);
    CHECK(strstr(report, "host-cpu has no Sigmoid") != NULL && strstr(report, "is wrong") == NULL);
    const char *before = json_after(report, "model_baseline_performance(ms)");
    CHECK(before != NULL && strtod(before, NULL) > 0);
    CHECK(strstr(report, "fp32 A by one") == NULL && strstr(report, "softmax in fp32") == NULL);
    free(report);
    CHECK_OK(AoeFinalize());
}
