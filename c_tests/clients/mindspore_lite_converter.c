/*
 * MindSpore Lite, converter: drives the command line through a shell, and looks for one line on its
 * standard output; the exit status is ignored. It writes an AIR file, which this version cannot; the
 * replay gives the command an ONNX file instead.
 */
#include "client.h"

/* Runs a command as popen does and returns what it printed. */
static char *output_of(const char *command) {
    static char text[1 << 16];
    size_t used = 0, got;
    FILE *pipe = popen(command, "r");
    CHECK(pipe != NULL);
    while ((got = fread(text + used, 1, sizeof text - 1 - used, pipe)) > 0) used += got;
    text[used] = '\0';
    pclose(pipe);
    return text;
}

TEST(mindspore_lite_converter_finds_its_line) {
    char command[2048];
    snprintf(command, sizeof command,
             "'%s' --framework=5 --model='%s/resnet50.onnx' --job_type=2 --max_tuning_count=8 --tuning_parallel_num=2 2>&1", AOE_COMMAND,
             AOE_MODELS);
    const char *printed = output_of(command);
    if (strstr(printed, "Aoe process finished") == NULL) CHECK_FAIL("%s", printed);
}

TEST(mindspore_lite_converter_sees_a_failure_by_the_missing_line) {
    char command[2048];
    snprintf(command, sizeof command, "'%s' --framework=5 --model=nowhere.onnx --job_type=2 2>&1", AOE_COMMAND);
    CHECK(strstr(output_of(command), "Aoe process finished") == NULL);
}

TEST(mindspore_lite_converter_writes_air_first_and_has_it_tuned) {
    char command[2048];
    AoeGraph *graph = small_network();
    CHECK_OK(AoeGraphSaveFile(graph, "net.air"));
    AoeGraphDestroy(graph);
    snprintf(command, sizeof command, "'%s' --framework=1 --model=net.air --job_type=2 --max_tuning_count=8 2>&1", AOE_COMMAND);
    const char *printed = output_of(command);
    if (strstr(printed, "Aoe process finished") == NULL) CHECK_FAIL("%s", printed);
    CHECK(remove("net.air") == 0);
}
