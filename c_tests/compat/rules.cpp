// The rules for graphs as GE sends them, each in every job, and with the network's input described in every way there is:
// by the graph, by a tensor that is set, by an option. No text comes through the drop-in library: what GE dumps of the same
// graph is tuned with `aoe`, and has to give the same.
#include "built.h"

#include <functional>

using ge::Inferred;
using ge::OnDevice;

// A network whose input `x` is described so.
using Build = std::function<ge::Network(const ge::Description &x)>;

static const char *const kJobs[] = {"1", "2", "4"};

// How long a job searches; gradients know no such option.
static std::string length_of(const char *job) { return strcmp(job, "4") == 0 ? "" : "max_tuning_count=8"; }

// What a tuning left: its result file, but for times and names of this run, and what was printed.
struct Outcome {
    int32_t status;
    std::string found, said;
};

// Runs a tuning in a folder of its own, with a bank of its own, and gathers what it left.
static Outcome outcome_of(const std::string &folder, const char *job, const std::function<int32_t()> &tuning) {
    static const std::map<std::string, std::string> kinds = {{"1", "sgat"}, {"2", "opat"}, {"4", "gdat"}};
    CHECK(mkdir(folder.c_str(), 0700) == 0 && mkdir((folder + "/bank").c_str(), 0700) == 0);
    setenv("TUNE_BANK_PATH", (std::string(check_directory) + "/" + folder + "/bank").c_str(), 1);
    const std::string length = length_of(job);
    setenv("AOE_TUNING_OPTIONS", ("backend=simulator" + (length.empty() ? length : "||" + length)).c_str(), 1);
    const size_t said_before = printed().size();
    Outcome outcome = {tuning(), "", ""};
    outcome.said = printed().substr(said_before);
    if (outcome.status != AOE_SUCCESS) return outcome;
    const std::vector<std::string> texts = result_files_in(folder.c_str(), "aoe_result_" + kinds.at(job) + "_");
    CHECK(texts.size() == 1 && json_valid(texts[0].c_str()));
    // What comes before is the network's name and how long it took.
    outcome.found = texts[0].substr(texts[0].find("tuning_time"));
    outcome.found = outcome.found.substr(outcome.found.find('}'));
    for (size_t at; (at = outcome.found.find(folder)) != std::string::npos;) outcome.found.erase(at, folder.size());
    return outcome;
}

// Through the drop-in library.
static Outcome dropped_in(const std::string &folder, const char *job, const ge::Network &network, const Tensors &inputs = {},
                          Options options = {}) {
    options.insert({"result_file", "tuning"});
    return outcome_of(folder, job, [&] { return tune(network, job, inputs, options, folder.c_str()); });
}

// Its dumps through `aoe`: as a folder of a process leaves them, of one stage or of two, of which the later one is of
// another network. The messages are in `said`.
static Outcome dumped(const std::string &folder, const char *job, const ge::Network &network, const char *stage,
                      const std::string &more = "") {
    Outcome outcome = outcome_of(folder, job, [&] {
        const std::string process = folder + "/dumps/pid_4711_deviceid_0";
        CHECK(mkdir((folder + "/dumps").c_str(), 0700) == 0 && mkdir(process.c_str(), 0700) == 0);
        network.Dump(process, 0, stage);
        if (strcmp(stage, "PreRunBegin") == 0) {
            ge::Network other("other");
            other.Input("x", Described(DT_FLOAT16, {64, 64}));
            other.Operator("relu", "Relu", {{"x", "x"}});
            other.Output("relu");
            other.Dump(process, 17, "PreRunAfterBuild");
        }
        const std::string length = length_of(job), options = length.empty() ? more : "--" + length + " " + more;
        const std::string command = "cd '" + folder + "' && '" AOE_COMMAND "' --model_path=dumps --backend=simulator" +
                                    " --tuned_model=off --job_type=" + job + " " + options + " >said 2>&1";
        const int status = system(command.c_str());
        CHECK(WIFEXITED(status));
        return WEXITSTATUS(status);
    });
    std::ifstream said(folder + "/said");
    outcome.said.assign(std::istreambuf_iterator<char>(said), std::istreambuf_iterator<char>());
    CHECK(outcome.said.find("stage " + std::string(stage)) != std::string::npos);
    return outcome;
}

static void check_found(const char *job, const char *way, const Outcome &expected, const Outcome &outcome, const char *told) {
    if (outcome.status != AOE_SUCCESS || outcome.found != expected.found) {
        CHECK_FAIL("job %s, %s: status %d, %s\n%s\nand not %s", job, way, outcome.status, outcome.said.c_str(),
                   outcome.found.c_str(), expected.found.c_str());
    }
    if (told != nullptr && outcome.said.find(told) == std::string::npos) {
        CHECK_FAIL("job %s, %s: \"%s\" is not told: %s", job, way, told, outcome.said.c_str());
    }
}

static std::string sizes_of(const ge::Description &x) {
    std::string text = "x:";
    for (const int64_t dim : x.origin_dims.empty() ? x.dims : x.origin_dims) text += std::to_string(dim) + ",";
    text.pop_back();
    return text;
}

// As it is known but for its sizes, in the framework's view.
static ge::Description open(const ge::Description &x) {
    return Described(x.type, {}, x.origin_dims.empty() ? x.layout : x.origin_layout);
}

// What is found of a network.
struct Expected {
    int operators;
    // What is told; nothing where nothing is.
    const char *told = nullptr;
    // Whether something can be tuned while the input has no shape.
    bool without_shape = false;
    // The stage of its dumps.
    const char *stage = "PreRunBegin";
    // Another network of which the same is found, if any.
    const ge::Network *same = nullptr;
};

// A network is tuned in every job and way, and each finds the same.
static void holds(const Build &build, const ge::Description &x, const Expected &expected) {
    for (const char *job : kJobs) {
        const auto in = [&](const char *way) { return std::string("job") + job + "_" + way; };
        const Outcome described = dropped_in(in("described"), job, build(x));
        check_found(job, "described", described, described, expected.told);
        if (expected.same != nullptr) {
            check_found(job, "the same", dropped_in(in("same"), job, *expected.same), described, nullptr);
        }
        const std::string count = "\"total_num\": " + std::to_string(expected.operators);
        if (strcmp(job, "2") == 0 && described.found.find(count) == std::string::npos) {
            CHECK_FAIL("not %d operators: %s", expected.operators, described.found.c_str());
        }

        const Outcome unset = dropped_in(in("unset"), job, build(ge::Description()));
        const int32_t status = expected.without_shape ? AOE_SUCCESS : AOE_ERROR_DYNAMIC_GRAPH;
        if (unset.status != status || unset.said.find("`x`") == std::string::npos) {
            CHECK_FAIL("job %s: %d without a shape, %s", job, unset.status, unset.said.c_str());
        }
        const Outcome set = dropped_in(in("set"), job, build(ge::Description()), {ge::TensorOf(x)});
        check_found(job, "set late", described, set, expected.told);
        const Outcome option = dropped_in(in("option"), job, build(open(x)), {}, {{"input_shape", sizes_of(x).c_str()}});
        check_found(job, "by option", described, option, expected.told);
        if (expected.told == nullptr && !(described.said + set.said + option.said).empty()) {
            CHECK_FAIL("job %s: printed %s%s%s", job, described.said.c_str(), set.said.c_str(), option.said.c_str());
        }

        check_found(job, "dumped", described, dumped(in("dumped"), job, build(x), expected.stage), expected.told);
        const std::string sizes = "--input_shape=" + sizes_of(x);
        const Outcome dumped_open = dumped(in("dumped_open"), job, build(open(x)), expected.stage, sizes);
        check_found(job, "dumped open", described, dumped_open, expected.told);
    }
}

// A network is refused in every job and way, and the culprit named.
static void refused(const Build &build, const ge::Description &x, int32_t status, const char *culprit) {
    for (const char *job : kJobs) {
        const auto in = [&](const char *way) { return std::string("job") + job + "_refused_" + way; };
        const Outcome outcomes[] = {dropped_in(in("described"), job, build(x)),
                                    dropped_in(in("set"), job, build(ge::Description()), {ge::TensorOf(x)})};
        for (const Outcome &outcome : outcomes) {
            if (outcome.status != status || outcome.said.find(culprit) == std::string::npos) {
                CHECK_FAIL("job %s: %d, %s", job, outcome.status, outcome.said.c_str());
            }
        }
        const Outcome text = dumped(in("dumped"), job, build(x), "PreRunBegin");
        CHECK(text.status == 1 && text.said.find(culprit) != std::string::npos);
    }
}

static const ge::Description kMatrix = Described(DT_FLOAT16, {256, 512});

// x[256,512] * w[512,512]; the weight is described by its value alone.
static ge::Network product_of(const ge::Description &x) {
    ge::Network network("product");
    network.Input("x", x);
    network.Constant("w", Described(DT_FLOAT16, {512, 512}), std::string(512 * 512 * 2, '\0'));
    network.Operator("product", "MatMulV2", {{"x1", "x"}, {"x2", "w"}}, product_values());
    return network;
}

TEST(a_constant_is_what_its_value_says) {
    holds(
        [](const ge::Description &x) {
            ge::Network network = product_of(x);
            network.Constant("s", Described(DT_FLOAT16, {}), "\x01\x02");
            network.Operator("scaled", "Mul", {{"x1", "product"}, {"x2", "s"}});
            return ended(network, "scaled");
        },
        kMatrix, {2});
}

static ge::Network images(const ge::Description &x, const ge::Description &filter) {
    ge::Network network("images");
    network.Input("x", x);
    network.Constant("filter", filter, std::string(3 * 3 * 64 * 128 * 2, '\0'));
    network.Operator("conv", "Conv2D", {{"x", "x"}, {"filter", "filter"}, {"bias", ""}, {"offset_w", ""}}, convolution_values());
    return ended(network, "conv");
}

static const ge::Description kImage = Described(DT_FLOAT16, {1, 64, 56, 56}, "NCHW");
static const ge::Description kFilter = Described(DT_FLOAT16, {3, 3, 64, 128}, "HWCN");

TEST(an_image_lies_as_its_tensor_says_and_not_as_an_attribute_does_by_default) {
    const ge::Description filter = Inferred(DT_FLOAT16, {3, 3, 64, 128}, "HWCN");
    holds([&](const ge::Description &x) { return images(x, filter); }, Inferred(DT_FLOAT16, {1, 64, 56, 56}, "NCHW"), {1});
}

TEST(a_layout_counts_where_no_origin_format_is_set) {
    holds([](const ge::Description &x) { return images(x, kFilter); }, kImage, {1});
}

TEST(tensors_as_they_lie_on_the_device_are_read_by_their_origin) {
    const ge::Description filter = OnDevice(kFilter, {36, 8, 16, 16}, "FRACTAL_Z");
    const ge::Network same = images(kImage, kFilter);
    holds([&](const ge::Description &x) { return images(x, filter); }, OnDevice(kImage, {1, 4, 56, 56, 16}, "NC1HWC0"),
          {1, nullptr, false, "Build", &same});
}

TEST(matrices_in_fractals_are_read_by_their_origin) {
    // Rows that fill no block: the sizes on the device do not tell them.
    const ge::Description rows = Described(DT_FLOAT16, {250, 512});
    const ge::Network same = ended(product_of(rows), "product");
    holds([](const ge::Description &x) { return ended(product_of(x), "product"); },
          OnDevice(rows, {32, 16, 16, 16}, "FRACTAL_NZ"), {2, nullptr, false, "Build", &same});
}

TEST(no_sizes_are_not_known_unless_a_shape_was_set) {
    const auto scaled_by = [](const ge::Description &s) {
        return [s](const ge::Description &x) {
            ge::Network network("scaled");
            network.Input("x", x);
            network.Input("s", s);
            network.Operator("scaled", "Mul", {{"x1", "x"}, {"x2", "s"}});
            network.Operator("product", "MatMulV2", {{"x1", "scaled"}, {"x2", "scaled"}}, product_values());
            return ended(network, "product");
        };
    };
    const ge::Description square = Described(DT_FLOAT16, {512, 512});
    holds(scaled_by(ge::Scalar(DT_FLOAT16)), square, {3});
    refused(scaled_by(Described(DT_FLOAT16, {})), square, AOE_ERROR_DYNAMIC_GRAPH, "`s`");
}

TEST(an_unknown_operator_ends_inference_and_not_the_tuning) {
    const Build build = [](const ge::Description &x) {
        ge::Network network = product_of(x);
        network.Operator("odd", "SomeoneElsesOperator", {{"x", "product"}});
        network.Operator("behind", "Sigmoid", {{"x", "odd"}});
        network.Output("behind");
        return ended(network, "product");
    };
    holds(build, kMatrix, {2, "`odd` (SomeoneElsesOperator): behind"});
    // What stands beside the headline counts it.
    const Options options = {{"output", "reports/"}, {"tuned_model", "off"}};
    EXPECT(AOE_SUCCESS, tune(build(ge::Description()), "2", {ge::TensorOf(kMatrix)}, options));
    std::ifstream file("reports/summary.json");
    const std::string summary((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (summary.find("\"left_out_ops\": 1") == std::string::npos) CHECK_FAIL("%s", summary.c_str());
}

TEST(a_graph_of_which_an_unknown_operator_leaves_nothing_is_invalid_in_every_job) {
    const Build build = [](const ge::Description &x) {
        ge::Network network("odd");
        network.Input("x", x);
        network.Operator("odd", "SomeoneElsesOperator", {{"x", "x"}});
        return ended(network, "odd");
    };
    refused(build, kMatrix, AOE_ERROR_INVALID_GRAPH, "SomeoneElsesOperator");
}

// Two products, and between them an operator whose result somebody states.
static ge::Network between(const ge::Description &x, const ge::Description &output, const ge::Description &read,
                           const ge::Values &values) {
    ge::Network network = product_of(x);
    network.Operator("odd", "SomeoneElsesOperator", {{"x", "product"}}, values);
    network.Describe(output);
    network.Operator("second", "MatMulV2", {{"x1", "odd"}, {"x2", "w"}}, product_values());
    network.DescribeRead(0, read);
    return ended(network, "second");
}

TEST(a_stated_result_of_an_unknown_operator_is_believed) {
    const ge::Description stated = Inferred(DT_FLOAT16, {128, 512});
    holds([&](const ge::Description &x) { return between(x, stated, ge::Description(), {}); }, kMatrix, {3, nullptr, true});
}

TEST(a_result_that_is_stated_where_it_is_read_is_believed) {
    const ge::Description stated = Inferred(DT_FLOAT16, {128, 512});
    holds([&](const ge::Description &x) { return between(x, ge::Description(), stated, {}); }, kMatrix, {3, nullptr, true});
}

TEST(a_result_that_tensorflow_stated_is_believed) {
    const ge::Values values = {{"_output_shapes", std::vector<std::vector<int64_t>>{{128, 512}}}};
    holds([&](const ge::Description &x) { return between(x, ge::Description(), ge::Description(), values); }, kMatrix,
          {3, nullptr, true});
}

TEST(a_result_that_ge_inferred_otherwise_is_believed_and_told) {
    const Build build = [](const ge::Description &x) {
        ge::Network network = product_of(x);
        network.Describe(Inferred(DT_FLOAT16, {128, 512}));
        return ended(network, "product");
    };
    holds(build, kMatrix, {2, "product", true});
}
