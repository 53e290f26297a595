#include "network.h"

#include "message.h"

#include <fstream>

namespace ge {

namespace {

// Names and numbers of ge_ir.proto.
struct ProtoType {
    int number;
    const char *name;
};
ProtoType proto_type(DataType type) {
    static const std::map<DataType, ProtoType> types = {
        {DT_FLOAT, {1, "DT_FLOAT"}}, {DT_FLOAT16, {2, "DT_FLOAT16"}}, {DT_INT8, {3, "DT_INT8"}}, {DT_INT32, {7, "DT_INT32"}},
        {DT_INT64, {8, "DT_INT64"}}, {DT_BOOL, {11, "DT_BOOL"}},      {DT_BF16, {27, "DT_BF16"}}, {DT_INT4, {28, "DT_INT4"}}};
    return types.at(type);
}

// A reference to a result: `name` stands for the first one of that operator.
std::string reference(const std::string &from) { return from.empty() || from.find(':') != std::string::npos ? from : from + ":0"; }

Format format_of(const std::string &layout) {
    static const std::map<std::string, Format> formats = {
        {"NCHW", FORMAT_NCHW}, {"NHWC", FORMAT_NHWC}, {"ND", FORMAT_ND}, {"NC1HWC0", FORMAT_NC1HWC0},
        {"FRACTAL_Z", FORMAT_FRACTAL_Z}, {"HWCN", FORMAT_HWCN}, {"FRACTAL_NZ", FORMAT_FRACTAL_NZ}};
    return formats.at(layout);
}

// An entry of a map of attributes; its value is to be filled.
Message &entry(Message &owner, int number, const std::string &key) {
    Message &added = owner.message(number, "attr");
    added.text(1, "key", key);
    return added.message(2, "value");
}

void write_texts(Message &owner, int number, const std::string &key, const std::vector<std::string> &texts) {
    Message &list = entry(owner, number, key).message(1, "list");
    for (const std::string &text : texts) list.text(2, "s", text);
}

void write_integers(Message &owner, int number, const std::string &key, const std::vector<int64_t> &integers, bool typed) {
    Message &list = entry(owner, number, key).message(1, "list");
    list.integers(3, "i", integers);
    if (typed) list.choice(20, "val_type", 2, "VT_LIST_INT");
}

void write_lists(Message &owner, const std::string &key, const std::vector<std::vector<int64_t>> &lists) {
    Message &all = entry(owner, 10, key).message(14, "list_list_int");
    for (const std::vector<int64_t> &list : lists) all.message(1, "list_list_i").integers(1, "list_i", list);
}

void write_value(Message &owner, const std::string &key, const Value &value) {
    switch (value.kind) {
    case Value::Kind::kInteger: return entry(owner, 10, key).integer(3, "i", value.integer);
    case Value::Kind::kTruth: return entry(owner, 10, key).truth(5, "b", value.integer != 0);
    case Value::Kind::kText: return entry(owner, 10, key).text(2, "s", value.text);
    case Value::Kind::kIntegers: return write_integers(owner, 10, key, value.integers, true);
    case Value::Kind::kLists: return write_lists(owner, key, value.lists);
    case Value::Kind::kType: return entry(owner, 10, key).integer(15, "dt", value.integer);
    }
}

void write_description(Message &tensor, const Description &description) {
    const ProtoType type = proto_type(description.type);
    tensor.choice(2, "dtype", type.number, type.name);
    tensor.message(3, "shape").integers(1, "dim", description.dims);
    tensor.text(4, "layout", description.layout);
    entry(tensor, 5, "format_for_int").integer(3, "i", format_of(description.layout));
    entry(tensor, 5, "origin_format").text(2, "s", description.origin_layout);
    entry(tensor, 5, "origin_format_for_int").integer(3, "i", format_of(description.origin_layout));
    if (!description.origin_dims.empty()) write_integers(tensor, 5, "origin_shape", description.origin_dims, true);
    entry(tensor, 5, "origin_shape_initialized").truth(5, "b", description.is_inferred);
    tensor.text(14, "device_type", "NPU");
}

// A node of the view with its attributes, which GE sorts by name.
class ShownNode {
  public:
    void text(const std::string &name, const std::string &value) { write(name, "STRING", 3).text(4, "s", value); }
    void integer(const std::string &name, int64_t value) {
        Message &attribute = write(name, "INT", 2);
        if (value != 0) attribute.integer(3, "i", value);
    }
    void integers(const std::string &name, const std::vector<int64_t> &values) {
        Message &attribute = write(name, "INTS", 7);
        for (const int64_t value : values) attribute.integer(8, "ints", value);
    }
    void texts(const std::string &name, const std::vector<std::string> &values) {
        Message &attribute = write(name, "STRINGS", 8);
        for (const std::string &value : values) attribute.text(9, "strings", value);
    }
    void description(const std::string &side, size_t index, const Description &description) {
        const std::string end = ":" + std::to_string(index);
        text(side + "_desc_dtype" + end, proto_type(description.type).name);
        text(side + "_desc_layout" + end, description.layout);
        text(side + "_desc_origin_dtype" + end, "DT_UNDEFINED");
        text(side + "_desc_origin_layout" + end, description.origin_layout);
        integers(side + "_desc_origin_shape" + end, description.origin_dims);
        integers(side + "_desc_shape" + end, description.dims);
        text(side + "_desc_device_type" + end, "NPU");
    }
    std::string printed(size_t indent) const {
        std::string out;
        for (const auto &attribute : attributes_) out += attribute.second.printed(indent);
        return out;
    }

  private:
    Message &write(const std::string &name, const char *kind, int number) {
        Message &attribute = attributes_[name].message(5, "attribute");
        attribute.text(1, "name", name);
        attribute.choice(20, "type", number, kind);
        return attribute;
    }
    std::map<std::string, Message> attributes_;
};

}  // namespace

Description Described(DataType type, const std::vector<int64_t> &dims, const char *layout) {
    Description description;
    description.type = type;
    description.dims = dims;
    description.layout = layout;
    return description;
}

Description Inferred(DataType type, const std::vector<int64_t> &dims, const char *layout) {
    return OnDevice(Described(type, dims, layout), dims, layout);
}

Description Scalar(DataType type) { return Inferred(type, {}); }

Description OnDevice(const Description &framework, const std::vector<int64_t> &dims, const char *layout) {
    Description description = Described(framework.type, dims, layout);
    description.is_inferred = true;
    description.origin_dims = framework.dims;
    description.origin_layout = framework.layout;
    return description;
}

Tensor TensorOf(const Description &description) {
    TensorDesc desc(Shape(description.dims), format_of(description.layout), description.type);
    desc.SetOriginShape(Shape(description.origin_dims));
    desc.SetOriginFormat(format_of(description.origin_layout));
    return Tensor(desc, nullptr, 0);
}

void Network::Input(const std::string &name, const Description &description) {
    nodes_.push_back({name, "Data", {{"x", ""}}, {}, description, "", false, inputs_++, {{0, description}}, {"y"}, {}, {}});
}

void Network::Constant(const std::string &name, const Description &value, const std::string &data) {
    nodes_.push_back({name, "Const", {}, {}, value, data, true, 0, {}, {"y"}, {}, {}});
}

void Network::Operator(const std::string &name, const std::string &type, const std::vector<Source> &inputs, const Values &values) {
    nodes_.push_back({name, type, inputs, values, Description(), "", false, 0, {}, {"y"}, {}, {}});
}

// What nobody described is what GE copied when the edge was made: the description of an input of the network.
Description Network::ReadBy(const Node &node, size_t input) const {
    const auto said = node.reads.find(input);
    if (said != node.reads.end()) return said->second;
    for (const Node &source : nodes_) {
        if (source.name == node.inputs[input].from && source.type == "Data") return source.description;
    }
    return Description();
}

Message Network::Model() const {
    Message model;
    AddTo(model);
    return model;
}

void Network::AddTo(Message &model) const {
    Message &graph = model.message(7, "graph");
    graph.text(1, "name", name_);
    for (const Node &node : nodes_) {
        if (node.type == "Data") graph.text(4, "input", node.name + ":0");
    }
    for (const std::string &output : outputs_) graph.text(5, "output", reference(output));
    int64_t id = 0;
    for (const Node &node : nodes_) {
        Message &op = graph.message(6, "op");
        op.text(1, "name", node.name);
        op.text(2, "type", node.type);
        std::vector<std::string> names;
        std::vector<int64_t> places;
        for (const Source &input : node.inputs) {
            op.text(5, "input", reference(input.from));
            places.push_back(static_cast<int64_t>(names.size()));
            names.push_back(input.name);
        }
        write_texts(op, 10, "_input_name_key", names);
        write_integers(op, 10, "_input_name_value", places, false);
        for (const std::string &first : node.after) op.text(5, "input", first + ":-1");
        write_texts(op, 10, "_output_name_key", node.outputs);
        std::vector<int64_t> output_places;
        for (size_t i = 0; i < node.outputs.size(); i++) output_places.push_back(static_cast<int64_t>(i));
        write_integers(op, 10, "_output_name_value", output_places, false);
        if (node.type == "Data") entry(op, 10, "index").integer(3, "i", node.index);
        for (const auto &value : node.values) write_value(op, value.first, value.second);
        if (node.has_data) {
            Message &tensor = entry(op, 10, "value").message(12, "t");
            write_description(tensor.message(1, "desc"), node.description);
            tensor.text(2, "data", node.data);
        }
        op.truth(20, "has_out_attr", true);
        if (id > 0) op.integer(21, "id", id);
        id++;
        for (size_t i = 0; i < node.inputs.size(); i++) write_description(op.message(33, "input_desc"), ReadBy(node, i));
        for (size_t i = 0; i < node.outputs.size(); i++) {
            write_description(op.message(34, "output_desc"), node.has_data ? Description() : node.description);
        }
        for (const Network &called : node.called) op.text(35, "subgraph_name", called.Name());
    }
    for (const Node &node : nodes_) {
        for (const Network &called : node.called) called.AddTo(model);
    }
}

std::string Network::Bytes() const { return Model().bytes(); }

void Network::Dump(const std::string &folder, int number, const std::string &stage) const {
    const std::string digits = std::to_string(number), name = std::string(8 - digits.size(), '0') + digits + "_graph_0_" + stage;
    std::ofstream(folder + "/ge_proto_" + name + ".txt", std::ios::binary) << Model().printed();
    std::ofstream view(folder + "/ge_onnx_" + name + ".pbtxt", std::ios::binary);
    view << "ir_version: 6\nproducer_name: \"GE\"\ngraph {\n";
    int64_t id = 0;
    for (const Node &node : nodes_) {
        Message links;
        ShownNode shown;
        std::vector<std::string> names;
        std::vector<int64_t> places;
        for (const Source &input : node.inputs) {
            links.text(1, "input", reference(input.from));
            places.push_back(static_cast<int64_t>(names.size()));
            names.push_back(input.name);
            shown.description("input", places.size() - 1, ReadBy(node, places.size() - 1));
        }
        links.text(2, "output", node.name + ":0");
        links.text(3, "name", node.name);
        links.text(4, "op_type", "ge:" + node.type);
        shown.texts("_input_name_key", names);
        shown.integers("_input_name_value", places);
        shown.integer("id", id++);
        shown.integer("input_desc_nums", static_cast<int64_t>(names.size()));
        shown.integer("output_desc_nums", 1);
        shown.description("output", 0, node.has_data ? Description() : node.description);
        if (node.type == "Data") shown.integer("index", node.index);
        for (const auto &value : node.values) {
            switch (value.second.kind) {
            case Value::Kind::kInteger:
            case Value::Kind::kType:
            case Value::Kind::kTruth: shown.integer(value.first, value.second.integer); break;
            // The view leaves them out.
            case Value::Kind::kLists: break;
            case Value::Kind::kText: shown.text(value.first, value.second.text); break;
            case Value::Kind::kIntegers: shown.integers(value.first, value.second.integers);
            }
        }
        if (node.has_data) {
            shown.text("value_data", node.data);
            shown.text("value_desc_dtype", proto_type(node.description.type).name);
            shown.text("value_desc_layout", node.description.layout);
            shown.integers("value_desc_shape", node.description.dims);
        }
        view << "  node {\n" << links.printed(4) << shown.printed(4) << "  }\n";
    }
    // The view says nothing of outputs but by a node of their own.
    Message end;
    for (const std::string &output : outputs_) end.text(1, "input", reference(output));
    end.text(3, "name", "Node_Output");
    end.text(4, "op_type", "ge:NetOutput");
    ShownNode shown;
    shown.integer("input_desc_nums", static_cast<int64_t>(outputs_.size()));
    view << "  node {\n" << end.printed(4) << shown.printed(4) << "  }\n  name: \"" << name_ << "\"\n}\n";
}

}  // namespace ge
