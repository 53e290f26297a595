/* The process around the library: streams, locale, limits, directories; and nothing of it is changed. */
#include "support/network.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/resource.h>

static void tune_once(AoeStatus expected, const char *culprit) {
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    if (expected == AOE_SUCCESS)
        CHECK_OK(AoeTuningGraph(session, NULL, 0));
    else
        CHECK_ERROR(expected, culprit, AoeTuningGraph(session, NULL, 0));
    CHECK_OK(AoeFinalize());
}

TEST(closed_standard_streams) {
    close(0);
    close(1);
    close(2);
    tune_once(AOE_SUCCESS, "");
}

TEST(predictions_need_neither_home_nor_bank_path) {
    unsetenv("HOME");
    unsetenv("TUNE_BANK_PATH");
    tune_once(AOE_SUCCESS, "");
}

TEST(an_environment_variable_that_makes_no_sense_is_named) {
    setenv("REPEAT_TUNE", "perhaps", 1);
    tune_once(AOE_ERROR_INVALID_OPTION_ATTR, "REPEAT_TUNE");
}

TEST(a_working_directory_that_is_read_only) {
    be_nobody();
    CHECK(chmod(".", 0500) == 0);
    tune_once(AOE_ERROR_IO, check_directory);
    CHECK(chmod(".", 0700) == 0);
}

TEST(a_full_disk_is_an_error) {
    /* Every write of a byte to a file fails, as on a full disk. */
    const struct rlimit none = {0, 0};
    signal(SIGXFSZ, SIG_IGN);
    CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    AoeStatus status = AoeTuningGraph(session, NULL, 0);
    CHECK(status == AOE_ERROR_IO || status == AOE_ERROR_BANK);
    CHECK(strstr(AoeGetLastError(), check_directory) != NULL);
    CHECK(access("bank/Ascend910B2/unified_bank/Ascend910B2_24_AiCore_MatMulV3_runtime_kb.json", F_OK) != 0);
    CHECK_OK(AoeFinalize());
}

TEST(few_file_descriptors) {
    struct rlimit usual = {0, 0};
    CHECK(getrlimit(RLIMIT_NOFILE, &usual) == 0);
    struct rlimit few = usual;
    few.rlim_cur = 16;
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    tune_once(AOE_SUCCESS, "");
    /* None at all is an error, not a crash. */
    few.rlim_cur = 3;
    CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    AoeStatus status = AoeTuningGraph(session, NULL, 0);
    CHECK(setrlimit(RLIMIT_NOFILE, &usual) == 0);
    CHECK(status == AOE_ERROR_IO || status == AOE_ERROR_BANK);
    CHECK_OK(AoeFinalize());
}

TEST(a_locale_with_a_decimal_comma_changes_no_number) {
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "C"};
    for (size_t i = 0; i < sizeof locales / sizeof *locales; i++)
        if (setlocale(LC_ALL, locales[i]) != NULL) break;
    CHECK_OK(AoeInitialize(QUICK));
    AoeSessionId session = small_session();
    CHECK_OK(AoeTuningGraph(session, NULL, 0));
    char *report = report_of(session);
    CHECK(strstr(report, "\"model_baseline_performance(ms)\": 0.") != NULL);
    free(report);
    CHECK_OK(AoeFinalize());
}

TEST(nothing_of_the_process_is_changed) {
    char before[4096], after[4096];
    struct sigaction actions[32];
    memset(actions, 0, sizeof actions);
    CHECK(getcwd(before, sizeof before) != NULL);
    for (int number = 1; number < 32; number++) sigaction(number, NULL, &actions[number]);
    const mode_t mask = umask(0027);
    const char *locale = setlocale(LC_ALL, NULL);
    char *kept = strdup(locale);
    tune_once(AOE_SUCCESS, "");
    CHECK(getcwd(after, sizeof after) != NULL && strcmp(before, after) == 0);
    for (int number = 1; number < 32; number++) {
        struct sigaction now;
        memset(&now, 0, sizeof now);
        sigaction(number, NULL, &now);
        CHECK(now.sa_handler == actions[number].sa_handler && now.sa_flags == actions[number].sa_flags);
    }
    CHECK(umask(mask) == 0027);
    CHECK(strcmp(setlocale(LC_ALL, NULL), kept) == 0);
    free(kept);
}
