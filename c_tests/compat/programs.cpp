// Networks as programs may build them with GE's classes, and what becomes of each in every job: it is tuned, or a status and
// the line that is printed tell what is wrong with it.
#include "built.h"

using ge::Network;

static ge::Description matrix(ge::DataType type = DT_FLOAT16, const std::vector<int64_t> &dims = {512, 512}) {
    return Described(type, dims);
}

// A network of square matrices that come from outside.
static Network of_inputs(const std::vector<std::string> &names, const ge::Description &each = matrix()) {
    Network network("program");
    for (const std::string &name : names) network.Input(name, each);
    return network;
}

// Every job finds something in a network, and job 2 as many operators.
static void is_tuned(const Network &network, int operators, const char *told = nullptr) {
    const std::string count = "\"total_num\": " + std::to_string(operators);
    for (const char *job : {"1", "2", "4"}) {
        const std::string folder = network.Name() + job;
        CHECK(mkdir(folder.c_str(), 0700) == 0);
        // Gradients know no such option.
        setenv("AOE_TUNING_OPTIONS", *job == '4' ? "backend=simulator" : "backend=simulator||max_tuning_count=8", 1);
        const size_t said_before = told == nullptr ? 0 : printed().size();
        EXPECT(AOE_SUCCESS, tune(network, job, {}, {}, folder.c_str()));
        if (told != nullptr && printed().find(told, said_before) == std::string::npos) CHECK_FAIL("%s", printed().c_str());
        if (*job != '2') continue;
        const std::vector<std::string> results = result_files_in(folder.c_str());
        CHECK(results.size() == 1);
        if (results[0].find(count) == std::string::npos) CHECK_FAIL("not %d operators: %s", operators, results[0].c_str());
    }
}

// No job finds anything in it: the status says so, and the line names the culprit.
static void is_refused(const Network &network, int32_t status, const char *culprit, const Tensors &inputs = {}) {
    for (const char *job : {"1", "2", "4"}) {
        setenv("AOE_TUNING_OPTIONS", "backend=simulator", 1);
        const size_t said_before = printed().size();
        EXPECT(status, tune(network, job, inputs));
        const std::string said = printed().substr(said_before);
        if (said.find(culprit) == std::string::npos) CHECK_FAIL("job %s: no \"%s\" in: %s", job, culprit, said.c_str());
    }
}

TEST(an_operator_has_as_many_inputs_as_a_program_gives_it) {
    Network network = of_inputs({"a", "b", "c"});
    network.Constant("w", matrix(DT_FLOAT16, {1536, 256}), std::string(1536 * 256 * 2, '\0'));
    network.Operator("row", "ConcatD", {{"x0", "a"}, {"x1", "b"}, {"x2", "c"}}, {{"concat_dim", 1}, {"N", 3}});
    network.Operator("product", "MatMulV2", {{"x1", "row"}, {"x2", "w"}}, product_values());
    is_tuned(ended(network, "product"), 2);
}

TEST(an_operator_has_several_results) {
    Network network = of_inputs({"a"});
    network.Operator("split", "SplitD", {{"x", "a"}}, {{"split_dim", 0}, {"num_split", 2}});
    network.Outputs({"y0", "y1"});
    network.Operator("upper", "MatMulV2", {{"x1", "split:0"}, {"x2", "a"}}, product_values());
    network.Operator("lower", "MatMulV2", {{"x1", "split:1"}, {"x2", "a"}}, product_values());
    network.Operator("both", "ConcatD", {{"x0", "upper"}, {"x1", "lower"}}, {{"concat_dim", 0}, {"N", 2}});
    is_tuned(ended(network, "both"), 2);
    network.Operator("third", "Relu", {{"x", "split:2"}});
    is_refused(ended(network, "third"), AOE_ERROR_INVALID_GRAPH, "`third`, input 0");
}

TEST(an_operator_waits_for_another) {
    Network network = of_inputs({"a"});
    network.Operator("first", "MatMulV2", {{"x1", "a"}, {"x2", "a"}}, product_values());
    network.Operator("second", "Sigmoid", {{"x", "a"}});
    network.After("first");
    network.Output("first");
    is_tuned(ended(network, "second"), 2);
    network.Operator("third", "Tanh", {{"x", "a"}});
    network.After("nobody");
    is_refused(ended(network, "third"), AOE_ERROR_INVALID_GRAPH, "waits for `nobody`");
}

TEST(optional_inputs_are_left_out_and_numbers_have_few_bits) {
    Network halves = of_inputs({"a", "b"}, matrix(ge::DT_BF16));
    halves.Operator("product", "MatMulV3", {{"x1", "a"}, {"x2", "b"}, {"bias", ""}, {"offset_w", ""}}, product_values());
    is_tuned(ended(halves, "product"), 2);

    const auto fours = [](const char *name, size_t bytes) {
        Network network(name);
        network.Input("a", matrix());
        network.Constant("w", matrix(ge::DT_INT4), std::string(bytes, '\0'));
        network.Constant("scale", matrix(DT_FLOAT16, {1, 512}), std::string(1024, '\0'));
        network.Operator("product", "WeightQuantBatchMatmulV2",
                         {{"x", "a"}, {"weight", "w"}, {"antiquant_scale", "scale"}, {"antiquant_offset", ""}},
                         {{"transpose_x", false}, {"transpose_weight", false}, {"antiquant_group_size", 0}});
        return ended(network, "product");
    };
    is_tuned(fours("packed", 512 * 256), 2);
    is_tuned(fours("loose", 512 * 512), 2);
    is_refused(fours("short", 512 * 255), AOE_ERROR_INVALID_GRAPH, "`w` (Const)");
}

TEST(a_constant_has_no_elements) {
    Network network = of_inputs({"a"});
    // No axes are none of them, as TensorFlow has it.
    network.Constant("axes", matrix(ge::DT_INT64, {0}), "");
    network.Operator("sum", "ReduceSum", {{"x", "a"}, {"axes", "axes"}}, {{"keep_dims", true}});
    network.Operator("product", "MatMulV2", {{"x1", "sum"}, {"x2", "a"}}, product_values());
    // The sum is a copy.
    is_tuned(ended(network, "product"), 3);
}

TEST(a_network_calls_others) {
    Network body("body");
    body.Input("argument");
    body.Operator("product", "MatMulV2", {{"x1", "argument"}, {"x2", "argument"}}, product_values());
    body.Operator("result", "NetOutput", {{"x", "product"}});
    Network network = of_inputs({"a"});
    network.Operator("call", "PartitionedCall", {{"args0", "a"}});
    network.Call(body);
    is_tuned(ended(network, "call"), 2);

    Network chosen("chosen");
    chosen.Input("condition", ge::Scalar(ge::DT_BOOL));
    chosen.Input("a", matrix());
    chosen.Operator("if", "If", {{"cond", "condition"}, {"input0", "a"}});
    chosen.Call(body);
    chosen.Operator("behind", "Sigmoid", {{"x", "if"}});
    chosen.Output("behind");
    chosen.Operator("beside", "MatMulV2", {{"x1", "a"}, {"x2", "a"}}, product_values());
    is_tuned(ended(chosen, "beside"), 2, "`if` (If): behind");

    Network nothing = of_inputs({"a"});
    nothing.Operator("call", "PartitionedCall", {{"args0", "a"}});
    is_refused(ended(nothing, "call"), AOE_ERROR_INVALID_GRAPH, "`call` (PartitionedCall)");
}

TEST(a_network_has_nothing_in_it) {
    for (const char *job : {"1", "2", "4"}) {
        EXPECT(AOE_ERROR_NON_OPTIMIZE_GRAPH, tune(Network("empty"), job));
        Network through = of_inputs({"a"});
        through.Output("a");
        EXPECT(AOE_ERROR_NON_OPTIMIZE_GRAPH, tune(through, job));
    }
}

TEST(names_of_a_network_hold_anything) {
    Network network = of_inputs({"a/b:c", "\xe5\x90\x8d"});
    network.Operator("scope/mm;1", "MatMulV2", {{"x1", "a/b:c:0"}, {"x2", "\xe5\x90\x8d"}}, product_values());
    is_tuned(ended(network, "scope/mm;1"), 2);
}

TEST(what_is_no_network_is_named) {
    Network twice = of_inputs({"a"});
    twice.Operator("same", "Relu", {{"x", "a"}});
    twice.Operator("same", "Sigmoid", {{"x", "a"}});
    is_refused(ended(twice, "same"), AOE_ERROR_INVALID_GRAPH, "`same`: a second node");

    Network cycle = of_inputs({"a"});
    cycle.Operator("first", "Add", {{"x1", "a"}, {"x2", "second"}});
    cycle.Operator("second", "Relu", {{"x", "first"}});
    is_refused(ended(cycle, "second"), AOE_ERROR_INVALID_GRAPH, "cycle");

    Network nowhere = of_inputs({"a"});
    nowhere.Operator("sum", "Add", {{"x1", "a"}, {"x2", "nobody"}});
    is_refused(ended(nowhere, "sum"), AOE_ERROR_INVALID_GRAPH, "refers to `nobody`");

    Network text = of_inputs({"a"});
    text.Operator("product", "MatMulV2", {{"x1", "a"}, {"x2", "a"}}, {{"transpose_x1", "true"}});
    is_refused(ended(text, "product"), AOE_ERROR_INVALID_GRAPH, "attribute `transpose_x1`");

    Network misspelt = of_inputs({"a"});
    misspelt.Operator("product", "Matmul", {{"x1", "a"}, {"x2", "a"}});
    is_refused(ended(misspelt, "product"), AOE_ERROR_INVALID_GRAPH, "did you mean `MatMul`?");
}

TEST(what_an_operator_lacks_is_told) {
    Network network = of_inputs({"a"});
    network.Operator("sum", "Add", {{"x1", "a"}, {"x2", ""}});
    network.Operator("turned", "TransposeD", {{"x", "sum"}});
    const Network whole = ended(network, "turned");
    is_tuned(whole, 2, "node `sum` (Add) has nothing at input 1 (`x2`): GE does not compile it");
    CHECK(printed().find("node `turned` (TransposeD) has no attribute `perm`") != std::string::npos);
}

TEST(tensors_that_do_not_fit_are_named) {
    Network network = of_inputs({"a", "b"}, ge::Description());
    network.Operator("product", "MatMulV2", {{"x1", "a"}, {"x2", "b"}}, product_values());
    network = ended(network, "product");
    const ge::Tensor square = ge::TensorOf(matrix());
    is_refused(network, AOE_ERROR_DYNAMIC_GRAPH, "`b`", {square});
    is_refused(network, AOE_ERROR_INVALID_PARAM, "3 tensors given", {square, square, square});
    is_refused(network, AOE_ERROR_INVALID_GRAPH, "`product`", {square, tensor(DT_FLOAT16, {7, 8})});
    is_refused(network, AOE_ERROR_DYNAMIC_GRAPH, "`b`", {square, tensor(DT_FLOAT16, {-1, 512})});
    is_refused(network, AOE_ERROR_INVALID_PARAM, "tensor 1 has no elements", {square, tensor(DT_FLOAT16, {512, 0})});
}
