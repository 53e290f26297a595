// network.h - graphs as programs build them with GE's classes, and as GE serialises them: nothing is inferred, and what a
// program has not set is at GE's default.
#ifndef GE_NETWORK_H
#define GE_NETWORK_H

#include "ge.h"

#include <map>

namespace ge {

// Type, sizes and format of a tensor. One that nobody touched is float32 in ND, and has no sizes, which does not make it a
// scalar.
struct Description {
    DataType type = DT_FLOAT;
    std::vector<int64_t> dims;
    // Memory format.
    const char *layout = "ND";
    // Whether GE knows the framework's shape, which makes no sizes a scalar; and then that shape and format.
    bool is_inferred = false;
    std::vector<int64_t> origin_dims;
    const char *origin_layout = "ND";
};

// As TensorDesc(shape, format) is: nothing says what the framework's format is.
Description Described(DataType type, const std::vector<int64_t> &dims, const char *layout = "ND");
// As GE's inference leaves it.
Description Inferred(DataType type, const std::vector<int64_t> &dims, const char *layout = "ND");
Description Scalar(DataType type);
// As a tensor lies on the device after compilation, which the framework has as another.
Description OnDevice(const Description &framework, const std::vector<int64_t> &dims, const char *layout);
// A tensor of that description, as clients hand them in.
Tensor TensorOf(const Description &description);

// An attribute's value.
struct Value {
    enum class Kind { kInteger, kTruth, kText, kIntegers, kLists, kType } kind;
    int64_t integer;
    std::string text;
    std::vector<int64_t> integers;
    std::vector<std::vector<int64_t>> lists;

    Value(int value) : kind(Kind::kInteger), integer(value) {}                          // NOLINT: implicit, as GE's
    Value(bool value) : kind(Kind::kTruth), integer(value) {}                           // NOLINT
    Value(const char *value) : kind(Kind::kText), integer(0), text(value) {}            // NOLINT
    Value(const std::vector<int64_t> &value) : kind(Kind::kIntegers), integer(0), integers(value) {} // NOLINT
    Value(const std::vector<std::vector<int64_t>> &value) : kind(Kind::kLists), integer(0), lists(value) {} // NOLINT
    Value(DataType value) : kind(Kind::kType), integer(value) {}                        // NOLINT
};

using Values = std::map<std::string, Value>;

// An input of an operator: its name in the prototype, and the operator that makes it; none for one left out.
struct Source {
    std::string name;
    std::string from;
};

class Network {
  public:
    explicit Network(const std::string &name) : name_(name) {}
    // An input; without a description it has no shape until a run gives it one.
    void Input(const std::string &name, const Description &description = Description());
    // A constant, whose value alone is described.
    void Constant(const std::string &name, const Description &value, const std::string &data);
    // An operator with one output, which nobody describes until somebody does.
    void Operator(const std::string &name, const std::string &type, const std::vector<Source> &inputs, const Values &values = {});
    // Describes the output of the operator that was added last.
    void Describe(const Description &output) { nodes_.back().description = output; }
    // Describes what its input reads.
    void DescribeRead(size_t input, const Description &read) { nodes_.back().reads[input] = read; }
    // Names its outputs, where there are several; `name:1` is the second.
    void Outputs(const std::vector<std::string> &names) { nodes_.back().outputs = names; }
    // Has it wait for another operator.
    void After(const std::string &first) { nodes_.back().after.push_back(first); }
    // Has it call a network.
    void Call(const Network &called) { nodes_.back().called.push_back(called); }
    // Makes an operator's result an output.
    void Output(const std::string &name) { outputs_.push_back(name); }

    const std::string &Name() const { return name_; }
    // What SaveToMem gives: a ModelDef.
    std::string Bytes() const;
    // What DUMP_GE_GRAPH=1 leaves in a folder at a stage, the dump of this number: the text of the ModelDef, and the view of it.
    void Dump(const std::string &folder, int number, const std::string &stage) const;

  private:
    struct Node {
        std::string name, type;
        std::vector<Source> inputs;
        Values values;
        // Of its output; of a constant's value.
        Description description;
        // Of constants alone.
        std::string data;
        bool has_data;
        // Of inputs alone.
        int64_t index;
        // What somebody has described of what it reads.
        std::map<size_t, Description> reads;
        std::vector<std::string> outputs, after;
        std::vector<Network> called;
    };
    class Message Model() const;
    void AddTo(Message &model) const;
    Description ReadBy(const Node &node, size_t input) const;

    std::string name_;
    std::vector<Node> nodes_;
    std::vector<std::string> outputs_;
    int64_t inputs_ = 0;
};

}  // namespace ge

#endif
