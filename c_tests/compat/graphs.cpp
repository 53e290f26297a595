// Graphs as programs build them and GE serialises them: nothing is inferred, descriptions are at GE's defaults, shapes come
// late. The stand-in for GE writes them as the real one was seen to (docs/drop-in.md says what ran with which).
#include "built.h"

// Whether a device measures, which can be asked of products only: no other operator has a record in its bank.
static bool on_device() { return strstr(getenv("AOE_TUNING_OPTIONS"), "backend=ascend") != nullptr; }

// Operators that the one result file tells of.
static int tuned_operators() {
    const std::vector<std::string> results = result_files_in(".");
    CHECK(results.size() == 1);
    const size_t at = results[0].find("\"total_num\":");
    CHECK(at != std::string::npos);
    return atoi(results[0].c_str() + at + strlen("\"total_num\":"));
}

// What came of a graph whose one operator to tune is a convolution.
static void check_convolution(int32_t status) {
    if (on_device()) {
        CHECK(status == AOE_ERROR_NON_OPTIMIZE_GRAPH && printed().find("can measure no operator") != std::string::npos);
    } else {
        EXPECT(AOE_SUCCESS, status);
        CHECK(tuned_operators() == 1);
    }
}

// As IRBuild's sample: attribute data_format is the prototype's default beside images in NCHW, and the filter, in HWCN, is
// described by its value alone.
static ge::Network convolution(const ge::Description &image) {
    ge::Network network("convolution");
    network.Input("image", image);
    network.Constant("filter", Described(DT_FLOAT16, {3, 3, 64, 128}, "HWCN"), std::string(3 * 3 * 64 * 128 * 2, '\0'));
    network.Operator("conv", "Conv2D", {{"x", "image"}, {"filter", "filter"}, {"bias", ""}, {"offset_w", ""}},
                     convolution_values());
    network.Operator("relu", "Relu", {{"x", "conv"}});
    network.Output("relu");
    return network;
}

// As torchair has it: inputs are described, nothing else is.
static ge::Network products_with(const char *between, const ge::Values &values = {}) {
    ge::Network network("products");
    network.Input("a", Described(DT_FLOAT16, {256, 512}));
    network.Input("b", Described(DT_FLOAT16, {512, 768}));
    network.Input("c", Described(DT_FLOAT16, {768, 256}));
    network.Operator("first", "MatMulV2", {{"x1", "a"}, {"x2", "b"}}, product_values());
    network.Operator("between", between, {{"x", "first"}}, values);
    network.Operator("second", "MatMulV2", {{"x1", "between"}, {"x2", "c"}}, product_values());
    network.Output("second");
    return network;
}

// libaoe beside the drop-in library, as far as it reads and writes files; its header declares CANN's ten names otherwise.
class Reader {
  public:
    Reader() : library_(dlopen("libaoe.so.0", RTLD_NOW | RTLD_LOCAL)) {
        if (library_ == nullptr) CHECK_FAIL("%s", dlerror());
        find("AoeGraphLoadFile", load_);
        find("AoeGraphSaveFile", save_);
        find("AoeGraphDestroy", destroy_);
    }
    ~Reader() { CHECK(dlclose(library_) == 0); }
    Reader(const Reader &) = delete;
    Reader &operator=(const Reader &) = delete;

    // The AIR that it writes of what it reads.
    std::string rewritten(const std::string &path) const {
        void *graph = nullptr;
        CHECK(load_(path.c_str(), nullptr, 0, &graph) == AOE_SUCCESS);
        CHECK(save_(graph, "rewritten.air") == AOE_SUCCESS);
        destroy_(graph);
        std::ifstream file("rewritten.air", std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }

  private:
    template <typename Function>
    void find(const char *name, Function *&function) const {
        void *const address = dlsym(library_, name);
        if (address == nullptr) CHECK_FAIL("%s", dlerror());
        memcpy(&function, &address, sizeof address);
    }

    void *library_;
    int32_t (*load_)(const char *, const void *, size_t, void **) = nullptr;
    int32_t (*save_)(const void *, const char *) = nullptr;
    void (*destroy_)(void *) = nullptr;
};

TEST(a_constant_is_what_its_value_is_and_an_image_lies_as_its_tensor_says) {
    check_convolution(tune(convolution(Described(DT_FLOAT16, {1, 64, 56, 56}, "NCHW")), "2"));
}

TEST(an_input_gets_its_shape_when_inputs_are_set) {
    const ge::Network open = convolution(Described(DT_FLOAT16, {}, "NCHW"));
    CHECK(tune(open, "2") == AOE_ERROR_DYNAMIC_GRAPH && printed().find("image") != std::string::npos);
    check_convolution(tune(open, "2", {tensor(DT_FLOAT16, {1, 64, 56, 56})}));
}

TEST(an_input_that_nobody_described_lies_as_the_tensor_that_is_set) {
    // 64 channels are the filter's; in the other order there would be 56 of them, and no convolution.
    const ge::Network open = convolution(ge::Description());
    check_convolution(tune(open, "2", {tensor(DT_FLOAT16, {1, 64, 56, 56}, ge::FORMAT_NCHW)}));
}

TEST(what_the_framework_says_of_a_tensor_counts_before_how_it_lies_in_memory) {
    ge::TensorDesc blocks(ge::Shape({1, 56, 56, 64}), ge::FORMAT_NC1HWC0, DT_FLOAT16);
    blocks.SetOriginFormat(ge::FORMAT_NHWC);
    check_convolution(tune(convolution(ge::Description()), "2", {ge::Tensor(blocks, nullptr, 0)}));
}

TEST(products_that_nobody_described_are_tuned) {
    EXPECT(AOE_SUCCESS, tune(products_with("Relu"), "2"));
    CHECK(tuned_operators() == (on_device() ? 2 : 3));
}

TEST(an_unknown_operator_ends_inference_and_not_the_tuning) {
    EXPECT(AOE_SUCCESS, tune(products_with("SomeoneElsesOperator"), "2"));
    // What it takes along is told.
    CHECK(printed().find("`between` (SomeoneElsesOperator): second") != std::string::npos);
    CHECK(tuned_operators() == 1);
}

// A subgraph of three operators.
static ge::Network chain(const ge::Description &x) {
    ge::Network network("chain");
    network.Input("x", x);
    network.Operator("relu", "Relu", {{"x", "x"}});
    network.Operator("sigmoid", "Sigmoid", {{"x", "relu"}});
    network.Operator("tanh", "Tanh", {{"x", "sigmoid"}});
    network.Output("tanh");
    return network;
}

TEST(subgraphs_of_a_graph_that_nobody_described_are_tuned) {
    EXPECT(AOE_SUCCESS, tune(chain(Described(DT_FLOAT16, {4096, 4096})), "1"));
    CHECK(results_in(".", "sgat") == 1);
}

TEST(subgraphs_are_tuned_when_inputs_are_set_and_beside_an_unknown_operator) {
    ge::Network network = chain(ge::Description());
    network.Operator("odd", "SomeoneElsesOperator", {{"x", "relu"}});
    network.Operator("behind", "Relu", {{"x", "odd"}});
    network.Output("behind");
    EXPECT(AOE_ERROR_DYNAMIC_GRAPH, tune(network, "1"));
    EXPECT(AOE_SUCCESS, tune(network, "1", {tensor(DT_FLOAT16, {4096, 4096})}));
    CHECK(results_in(".", "sgat") == 1);
    CHECK(printed().find("`odd` (SomeoneElsesOperator): behind") != std::string::npos);
}

TEST(a_graph_of_which_an_unknown_operator_leaves_nothing_is_invalid) {
    ge::Network network("odd");
    network.Input("x", Described(DT_FLOAT16, {256, 512}));
    network.Operator("odd", "SomeoneElsesOperator", {{"x", "x"}});
    network.Operator("behind", "Relu", {{"x", "odd"}});
    network.Output("behind");
    for (const char *job_type : {"1", "2"}) {
        EXPECT(AOE_ERROR_INVALID_GRAPH, tune(network, job_type));
        CHECK(printed().find("SomeoneElsesOperator") != std::string::npos);
    }
}

TEST(no_sizes_are_a_scalar_only_where_a_shape_was_set) {
    for (const bool is_scalar : {true, false}) {
        ge::Network network("scaled");
        network.Input("x", Described(DT_FLOAT16, {256, 512}));
        network.Input("w", Described(DT_FLOAT16, {512, 256}));
        network.Input("s", is_scalar ? ge::Scalar(DT_FLOAT16) : Described(DT_FLOAT16, {}));
        network.Operator("scaled", "Mul", {{"x1", "x"}, {"x2", "s"}});
        network.Operator("product", "MatMulV2", {{"x1", "scaled"}, {"x2", "w"}}, product_values());
        network.Output("product");
        EXPECT(is_scalar ? AOE_SUCCESS : AOE_ERROR_DYNAMIC_GRAPH, tune(network, "2"));
    }
}

// Eight products, whose results are exchanged.
static ge::Network training(const ge::Description &x) {
    ge::Network network("training");
    network.Input("x", x);
    std::string last = "x";
    for (int i = 0; i < 8; i++) {
        const std::string gradient = "grad" + std::to_string(i), exchanged = "allreduce" + std::to_string(i);
        network.Operator(gradient, "MatMulV2", {{"x1", last}, {"x2", last}}, product_values());
        network.Operator(exchanged, "HcomAllReduce", {{"x", gradient}}, exchange_values());
        network.Output(exchanged);
        last = gradient;
    }
    return network;
}

// Gradients know few options.
static void leave_backend_alone() { setenv("AOE_TUNING_OPTIONS", "backend=simulator", 1); }

TEST(gradients_of_a_graph_that_nobody_described_are_tuned) {
    leave_backend_alone();
    EXPECT(AOE_SUCCESS, tune(training(Described(DT_FLOAT16, {512, 512})), "4"));
    CHECK(results_in(".", "gdat") == 1);
}

TEST(gradients_are_tuned_when_inputs_are_set_and_beside_an_unknown_operator) {
    leave_backend_alone();
    ge::Network network = training(ge::Description());
    network.Operator("odd", "SomeoneElsesOperator", {{"x", "allreduce3"}});
    network.Operator("step", "Relu", {{"x", "odd"}});
    network.Output("step");
    EXPECT(AOE_ERROR_DYNAMIC_GRAPH, tune(network, "4"));
    EXPECT(AOE_SUCCESS, tune(network, "4", {tensor(DT_FLOAT16, {512, 512})}));
    CHECK(results_in(".", "gdat") == 1);
    CHECK(printed().find("`odd` (SomeoneElsesOperator): step") != std::string::npos);
}

TEST(a_gradient_whose_size_an_unknown_operator_hides_is_named) {
    leave_backend_alone();
    ge::Network network = training(Described(DT_FLOAT16, {512, 512}));
    network.Operator("odd", "SomeoneElsesOperator", {{"x", "grad7"}});
    network.Operator("exchanged", "HcomAllReduce", {{"x", "odd"}}, exchange_values());
    network.Output("exchanged");
    EXPECT(AOE_ERROR_INVALID_GRAPH, tune(network, "4"));
    CHECK(printed().find("`odd` (SomeoneElsesOperator)") != std::string::npos);
}

TEST(sizes_that_tensorflow_said_of_an_unknown_operator_count_in_every_job) {
    const ge::Values said = {{"_output_shapes", std::vector<std::vector<int64_t>>{{256, 768}}}};
    EXPECT(AOE_SUCCESS, tune(products_with("SomeoneElsesOperator", said), "2"));
    CHECK(tuned_operators() == 2);
    EXPECT(AOE_SUCCESS, tune(products_with("SomeoneElsesOperator", said), "1"));
    CHECK(printed().find("left out") == std::string::npos);
    leave_backend_alone();
    ge::Network network = training(Described(DT_FLOAT16, {512, 512}));
    network.Operator("odd", "SomeoneElsesOperator", {{"x", "grad7"}},
                     {{"_output_shapes", std::vector<std::vector<int64_t>>{{512, 512}}}});
    network.Operator("exchanged", "HcomAllReduce", {{"x", "odd"}}, exchange_values());
    network.Output("exchanged");
    EXPECT(AOE_SUCCESS, tune(network, "4"));
    CHECK(results_in(".", "gdat") == 1);
}

// A weight that is not in the graph: torchair's frozen one, or one in a file of its own.
static void add_weight(ge::Network &network, const char *op_type, const std::vector<int64_t> &dims) {
    if (strcmp(op_type, "FileConstant") == 0) {
        network.Operator("weight", op_type, {}, {{"file_path", "weight.bin"}, {"file_id", ""}, {"shape", dims}, {"dtype", DT_FLOAT16}});
        return;
    }
    network.Operator("weight", op_type, {},
                     {{"origin_shape", dims},
                      {"origin_format", 2},
                      {"storage_shape", dims},
                      {"storage_format", 2},
                      {"expand_dim_rules", ""},
                      {"dtype", DT_FLOAT16},
                      {"addr", 0},
                      {"size", static_cast<int>(2 * dims[0] * dims[1])},
                      {"placement", 1}});
}

TEST(weights_outside_the_graph_are_the_constants_that_their_attributes_describe_in_every_job) {
    for (const char *op_type : {"ConstPlaceHolder", "FileConstant"}) {
        ge::Network network("frozen");
        network.Input("x", ge::Description());
        add_weight(network, op_type, {512, 512});
        network.Operator("product", "MatMulV2", {{"x1", "x"}, {"x2", "weight"}}, product_values());
        network.Operator("relu", "Relu", {{"x", "product"}});
        network.Operator("exchanged", "HcomAllReduce", {{"x", "relu"}}, exchange_values());
        network.Output("exchanged");
        const Tensors late = {tensor(DT_FLOAT16, {256, 512})};
        EXPECT(AOE_SUCCESS, tune(network, "2", late));
        EXPECT(AOE_SUCCESS, tune(network, "1", late));
        const std::string backend = getenv("AOE_TUNING_OPTIONS");
        leave_backend_alone();
        EXPECT(AOE_SUCCESS, tune(network, "4", late));
        setenv("AOE_TUNING_OPTIONS", backend.c_str(), 1);
        // Nobody opened the file.
        CHECK(printed().find("weight.bin") == std::string::npos);
    }
}

TEST(images_lie_as_their_tensors_say_in_subgraphs_too) {
    EXPECT(AOE_SUCCESS, tune(convolution(Described(DT_FLOAT16, {1, 64, 56, 56}, "NCHW")), "1"));
    CHECK(results_in(".", "sgat") == 1);
    EXPECT(AOE_SUCCESS, tune(convolution(ge::Description()), "1", {tensor(DT_FLOAT16, {1, 64, 56, 56}, ge::FORMAT_NCHW)}));
    CHECK(printed().find("instead of") == std::string::npos);
}

// A chain of convolutions whose results are exchanged.
static ge::Network convolutions(const ge::Description &image) {
    ge::Network chain("convolutions");
    chain.Input("image", image);
    chain.Constant("filter", Described(DT_FLOAT16, {3, 3, 64, 64}, "HWCN"), std::string(3 * 3 * 64 * 64 * 2, '\0'));
    std::string last = "image";
    for (int i = 0; i < 4; i++) {
        const std::string conv = "conv" + std::to_string(i), exchanged = "allreduce" + std::to_string(i);
        chain.Operator(conv, "Conv2D", {{"x", last}, {"filter", "filter"}, {"bias", ""}, {"offset_w", ""}},
                       convolution_values());
        chain.Operator(exchanged, "HcomAllReduce", {{"x", conv}}, exchange_values());
        chain.Output(exchanged);
        last = conv;
    }
    return chain;
}

TEST(images_lie_as_their_tensors_say_in_gradients_too) {
    leave_backend_alone();
    EXPECT(AOE_SUCCESS, tune(convolutions(Described(DT_FLOAT16, {1, 64, 56, 56}, "NCHW")), "4"));
    CHECK(results_in(".", "gdat") == 1);
    EXPECT(AOE_SUCCESS, tune(convolutions(ge::Description()), "4", {tensor(DT_FLOAT16, {1, 64, 56, 56}, ge::FORMAT_NCHW)}));
    CHECK(printed().find("instead of") == std::string::npos);
}

TEST(an_image_that_is_set_without_an_order_lies_as_the_filter_fits) {
    const Tensors plain = {tensor(DT_FLOAT16, {1, 64, 56, 56})};
    check_convolution(tune(convolution(ge::Description()), "2", plain));
    CHECK(printed().find("conv (NCHW instead of NHWC)") != std::string::npos);
    EXPECT(AOE_SUCCESS, tune(convolution(ge::Description()), "1", plain));
    leave_backend_alone();
    EXPECT(AOE_SUCCESS, tune(convolutions(ge::Description()), "4", plain));
}

TEST(what_ge_dumps_reads_as_what_it_saves) {
    const ge::Network network = products_with("Relu");
    network.Dump(".", 0, "PreRunBegin");
    std::ofstream("saved.air", std::ios::binary) << network.Bytes();
    const Reader reader;
    const std::string saved = reader.rewritten("saved.air");
    CHECK(!saved.empty() && reader.rewritten("ge_proto_00000000_graph_0_PreRunBegin.txt") == saved);
    // The view has fewer names in it, and every operator.
    const std::string shown = reader.rewritten("ge_onnx_00000000_graph_0_PreRunBegin.pbtxt");
    for (const char *part : {"MatMulV2", "Relu", "transpose_x1", "between", "second"}) {
        if (shown.find(part) == std::string::npos) CHECK_FAIL("the view has no %s", part);
    }
}
