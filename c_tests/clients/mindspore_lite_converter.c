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
             "'%s' --framework=5 --model='%s/resnet50.onnx' --job_type=2 --max_tuning_count=8 --tuning_parallel_num=2", AOE_COMMAND,
             AOE_MODELS);
    check_noise_allowed = 1;
    const char *printed = output_of(command);
    if (strstr(printed, "Aoe process finished") == NULL) CHECK_FAIL("%s", printed);
}

TEST(mindspore_lite_converter_sees_a_failure_by_the_missing_line) {
    char command[2048];
    snprintf(command, sizeof command, "'%s' --framework=5 --model=nowhere.onnx --job_type=2", AOE_COMMAND);
    check_noise_allowed = 1;
    CHECK(strstr(output_of(command), "Aoe process finished") == NULL);
}

/* As the converter writes the command: a job, sizes of open dimensions and shapes; only its standard output is read. */
static void tune_air(int job, const char *sizes) {
    char command[2048];
    AoeGraph *graph = small_network();
    CHECK_OK(AoeGraphSaveFile(graph, "net.air"));
    AoeGraphDestroy(graph);
    snprintf(command, sizeof command, "'%s' --framework=1 --model=net.air --job_type=%d %s --max_tuning_count=8",
             AOE_COMMAND, job, sizes);
    const char *printed = output_of(command);
    if (strstr(printed, "Aoe process finished") == NULL) CHECK_FAIL("%s: %s", command, printed);
    CHECK(remove("net.air") == 0);
}

TEST(mindspore_lite_converter_writes_air_first_and_has_it_tuned) {
    static const char *const sizes[] = {
        "", "--input_shape=\"x:256,512\"", "--dynamic_batch_size=\"64,256\" --input_shape=\"x:-1,512\"",
        "--dynamic_dims=\"64;256\" --input_format=ND --input_shape=\"x:-1,512\""};
    /* What the command says on standard error is the user's. */
    check_noise_allowed = 1;
    for (int job = 1; job <= 2; job++) {
        for (size_t i = 0; i < COUNT(sizes); i++) tune_air(job, sizes[i]);
    }
}
