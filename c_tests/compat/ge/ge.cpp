#include "network.h"

#include <atomic>
#include <fstream>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <unistd.h>

namespace ge {

struct ShapeImpl {
    std::vector<int64_t> dims;
};
struct TensorDescImpl {
    Shape shape, origin_shape;
    Format format, origin_format;
    DataType type;
};
struct TensorImpl {
    TensorDesc desc;
    const uint8_t *data;
    size_t size;
};
struct GraphBufferImpl {
    std::string bytes;
};
struct GraphImpl {
    AscendString name;
    std::string air;
    Saving saving;
};

namespace {

constexpr graphStatus kSuccess = 0, kFailed = 0xFFFFFFFF;

std::atomic<size_t> saved_graphs{0}, waiting_graphs{0}, living_buffers{0}, older_savings{0};
std::mutex last_path_mutex;
std::string last_path;

std::string content(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("no file " + path);
    return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

graphStatus save(const GraphImpl *graph, std::string &bytes) {
    if (graph == nullptr) return kFailed;
    switch (graph->saving) {
    case Saving::kFails: return kFailed;
    case Saving::kThrows: throw std::length_error("the graph is too long");
    case Saving::kThrowsNoException: throw 42;
    case Saving::kWaits:
        waiting_graphs++;
        for (;;) pause();
    case Saving::kWritesNoAir: bytes = "This is no AIR."; return kSuccess;
    default: bytes = graph->air;
    }
    saved_graphs++;
    return kSuccess;
}

}  // namespace

size_t SavedGraphs() { return saved_graphs; }
size_t WaitingGraphs() { return waiting_graphs; }
size_t LivingBuffers() { return living_buffers; }
size_t OlderSavings() { return older_savings; }

std::string LastPath() {
    const std::lock_guard<std::mutex> lock(last_path_mutex);
    return last_path;
}

AscendString::AscendString(const char *text) : name_(std::make_shared<std::string>(text)) {}
const char *AscendString::GetString() const { return name_ == nullptr ? "" : name_->c_str(); }
bool AscendString::operator<(const AscendString &other) const {
    return std::string(GetString()) < std::string(other.GetString());
}

Shape::Shape(const std::vector<int64_t> &dims) : impl_(new ShapeImpl{dims}) {}
size_t Shape::GetDimNum() const { return impl_->dims.size(); }
int64_t Shape::GetDim(size_t index) const { return impl_->dims.at(index); }

TensorDesc::TensorDesc(const Shape &shape, Format format, DataType type)
    : impl_(new TensorDescImpl{shape, Shape({}), format, FORMAT_ND, type}) {}
void TensorDesc::SetOriginFormat(Format format) { impl_->origin_format = format; }
void TensorDesc::SetOriginShape(const Shape &shape) { impl_->origin_shape = shape; }
Format TensorDesc::GetFormat() const { return impl_->format; }
Format TensorDesc::GetOriginFormat() const { return impl_->origin_format; }
Shape TensorDesc::GetShape() const { return impl_->shape; }
Shape TensorDesc::GetOriginShape() const { return impl_->origin_shape; }
DataType TensorDesc::GetDataType() const { return impl_->type; }

Tensor::Tensor(const TensorDesc &desc, const uint8_t *data, size_t size) : impl_(new TensorImpl{desc, data, size}) {}
TensorDesc Tensor::GetTensorDesc() const { return impl_->desc; }
const uint8_t *Tensor::GetData() const { return impl_->data; }
size_t Tensor::GetSize() const { return impl_->size; }

GraphBuffer::GraphBuffer() : impl_(std::make_shared<GraphBufferImpl>()) { living_buffers++; }
GraphBuffer::~GraphBuffer() { living_buffers--; }
const uint8_t *GraphBuffer::GetData() const { return reinterpret_cast<const uint8_t *>(impl_->bytes.data()); }
size_t GraphBuffer::GetSize() const { return impl_->bytes.size(); }

Graph::Graph(const char *name, const char *air, Saving saving) : impl_(new GraphImpl{name, content(air), saving}) {}

Graph::Graph(const Network &network) : impl_(new GraphImpl{network.Name().c_str(), network.Bytes(), Saving::kWell}) {}

graphStatus Graph::GetName(AscendString &name) const {
    name = impl_->name;
    return kSuccess;
}

#if !defined(GE_SAVES_MEMORY_ONLY)
graphStatus Graph::SaveToFile(const char *path) const {
    std::string bytes;
    const graphStatus status = save(impl_.get(), bytes);
    {
        const std::lock_guard<std::mutex> lock(last_path_mutex);
        last_path = path;
    }
    if (status != kSuccess) return status;
    std::ofstream(path, std::ios::binary) << bytes;
    std::ofstream(std::string(path) + ".weights") << "0123";  // beside it, as large models have them
    return kSuccess;
}

graphStatus Graph::SaveToFile(const std::string &path) const {
    older_savings++;
    return SaveToFile(path.c_str());
}
#endif

#if !defined(GE_SAVES_FILES_ONLY)
graphStatus Graph::SaveToMem(GraphBuffer &buffer) const {
    if (impl_ != nullptr && impl_->saving == Saving::kFailsInMemory) return kFailed;
    return save(impl_.get(), buffer.impl_->bytes);
}
#endif

}  // namespace ge
