#include "graph.h"

#include "engine.h"
#include "ge.h"
#include "private_file.h"

namespace drop_in {

namespace {

// Member functions of GE in C's form: `this` comes first. graphStatus is unsigned, 0 is success.
using SaveToFile = uint32_t(const ge::Graph *, const char *path);
using SaveToMem = uint32_t(const ge::Graph *, void *buffer);
using BufferCreate = void(void *buffer);
using BufferDestroy = void(void *buffer);
using BufferData = const uint8_t *(const void *buffer);
using BufferSize = size_t(const void *buffer);
using TensorGetDesc = ge::TensorDesc(const ge::Tensor *);
using DescGetShape = ge::Shape(const ge::TensorDesc *);
using DescGetDataType = int32_t(const ge::TensorDesc *);
using DescGetFormat = int32_t(const ge::TensorDesc *);
using ShapeGetDimNum = size_t(const ge::Shape *);
using ShapeGetDim = int64_t(const ge::Shape *, size_t index);

const GeFunction kSaveToFile = {"ge::Graph::SaveToFile(const char *) const", "_ZNK2ge5Graph10SaveToFileEPKc"};
const GeFunction kSaveToMem = {"ge::Graph::SaveToMem(ge::GraphBuffer &) const", "_ZNK2ge5Graph9SaveToMemERNS_11GraphBufferE"};
const GeFunction kBufferCreate = {"ge::GraphBuffer::GraphBuffer()", "_ZN2ge11GraphBufferC1Ev"};
const GeFunction kBufferDestroy = {"ge::GraphBuffer::~GraphBuffer()", "_ZN2ge11GraphBufferD1Ev"};
const GeFunction kBufferData = {"ge::GraphBuffer::GetData() const", "_ZNK2ge11GraphBuffer7GetDataEv"};
const GeFunction kBufferSize = {"ge::GraphBuffer::GetSize() const", "_ZNK2ge11GraphBuffer7GetSizeEv"};
const GeFunction kTensorGetDesc = {"ge::Tensor::GetTensorDesc() const", "_ZNK2ge6Tensor13GetTensorDescEv"};
const GeFunction kDescGetShape = {"ge::TensorDesc::GetShape() const", "_ZNK2ge10TensorDesc8GetShapeEv"};
const GeFunction kDescGetOriginShape = {"ge::TensorDesc::GetOriginShape() const", "_ZNK2ge10TensorDesc14GetOriginShapeEv"};
const GeFunction kDescGetDataType = {"ge::TensorDesc::GetDataType() const", "_ZNK2ge10TensorDesc11GetDataTypeEv"};
const GeFunction kDescGetFormat = {"ge::TensorDesc::GetFormat() const", "_ZNK2ge10TensorDesc9GetFormatEv"};
const GeFunction kDescGetOriginFormat = {"ge::TensorDesc::GetOriginFormat() const", "_ZNK2ge10TensorDesc15GetOriginFormatEv"};
const GeFunction kShapeGetDimNum = {"ge::Shape::GetDimNum() const", "_ZNK2ge5Shape9GetDimNumEv"};
const GeFunction kShapeGetDim = {"ge::Shape::GetDim(size_t) const", "_ZNK2ge5Shape6GetDimEm"};

// A tensor's type, or the one that says nothing: a GE newer than this may have types that libaoe does not know.
AoeDataType data_type_of(int32_t type) {
    return type >= AOE_DT_FLOAT && type <= AOE_DT_HIFLOAT4 ? type : AOE_DT_UNDEFINED;
}

// The order of a tensor's axes by one of GE's functions; ND where GE lacks it, or where it is no order that frameworks
// know: a device's, or one of a newer GE.
AoeFormat format_by(DescGetFormat *get_format, const ge::TensorDesc &desc) {
    if (get_format == nullptr) return AOE_FORMAT_ND;
    // The bytes above the first say how a device lays blocks out.
    switch (const AoeFormat format = get_format(&desc) & 0xff) {
    case AOE_FORMAT_NCHW:
    case AOE_FORMAT_NHWC:
    case AOE_FORMAT_CHWN:
    case AOE_FORMAT_HWCN:
    case AOE_FORMAT_NDHWC:
    case AOE_FORMAT_NCDHW:
    case AOE_FORMAT_DHWCN:
    case AOE_FORMAT_DHWNC: return format;
    default: return AOE_FORMAT_ND;
    }
}

std::vector<int64_t> dims_of(const ge::Shape &shape, ShapeGetDimNum *get_dim_num, ShapeGetDim *get_dim) {
    std::vector<int64_t> dims(get_dim_num(&shape));
    for (size_t i = 0; i < dims.size(); i++) dims[i] = get_dim(&shape, i);
    return dims;
}

GraphPointer parse(const void *data, size_t size) {
    const AoeOption air = {"framework", "1"};
    AoeGraph *graph = nullptr;
    require(engine().GraphLoadMemory(data, size, &air, 1, &graph));
    return GraphPointer(graph);
}

// A ge::GraphBuffer, built and destroyed by GE itself in memory with room to spare.
class GraphBuffer {
  public:
    GraphBuffer(BufferCreate *create, BufferDestroy *destroy) : destroy_(destroy) { create(memory_); }
    ~GraphBuffer() { destroy_(memory_); }
    GraphBuffer(const GraphBuffer &) = delete;
    GraphBuffer &operator=(const GraphBuffer &) = delete;

    void *get() { return memory_; }

  private:
    BufferDestroy *destroy_;
    alignas(std::max_align_t) unsigned char memory_[64] = {};
};

// Reads a graph through GE's memory; null where GE cannot do that.
GraphPointer read_through_memory(const Ge &ge, const ge::Graph &graph) {
    const auto save = ge.find<SaveToMem>(kSaveToMem);
    if (save == nullptr) return nullptr;
    const auto create = ge.find<BufferCreate>(kBufferCreate);
    const auto destroy = ge.find<BufferDestroy>(kBufferDestroy);
    const auto data = ge.find<BufferData>(kBufferData);
    const auto size = ge.find<BufferSize>(kBufferSize);
    if (create == nullptr || destroy == nullptr || data == nullptr || size == nullptr) return nullptr;
    GraphBuffer buffer(create, destroy);
    const uint32_t status = save(&graph, buffer.get());
    if (status != 0) {
        message(AOE_LOG_WARNING, "%s answers %u; a file must do", kSaveToMem.name, status);
        return nullptr;
    }
    return parse(data(buffer.get()), size(buffer.get()));
}

GraphPointer read_through_file(const Ge &ge, const ge::Graph &graph) {
    const auto save = ge.require<SaveToFile>(kSaveToFile);
    PrivateFile file("graph.air");
    const uint32_t status = save(&graph, file.path());
    if (status != 0) {
        throw Failure{AOE_ERROR_INVALID_GRAPH, std::string(kSaveToFile.name) + " answers " + std::to_string(status) +
                                                   " and has not written the graph to " + file.path()};
    }
    const FileContent content(file.path());
    return parse(content.data(), content.size());
}

}  // namespace

void GraphDeleter::operator()(AoeGraph *graph) const { engine().GraphDestroy(graph); }

GraphPointer read_graph(const ge::Graph &graph) {
    const Ge ge({kSaveToFile, kSaveToMem});
    GraphPointer read = read_through_memory(ge, graph);
    return read != nullptr ? std::move(read) : read_through_file(ge, graph);
}

TensorDescriptions::TensorDescriptions(const std::vector<ge::Tensor> &tensors) {
    if (tensors.empty()) return;
    const Ge ge({kTensorGetDesc});
    const auto get_desc = ge.require<TensorGetDesc>(kTensorGetDesc);
    const auto get_shape = ge.require<DescGetShape>(kDescGetShape);
    const auto get_origin_shape = ge.find<DescGetShape>(kDescGetOriginShape);
    const auto get_data_type = ge.require<DescGetDataType>(kDescGetDataType);
    const auto get_origin_format = ge.find<DescGetFormat>(kDescGetOriginFormat);
    const auto get_format = ge.find<DescGetFormat>(kDescGetFormat);
    const auto get_dim_num = ge.require<ShapeGetDimNum>(kShapeGetDimNum);
    const auto get_dim = ge.require<ShapeGetDim>(kShapeGetDim);
    for (const ge::Tensor &tensor : tensors) {
        const ge::TensorDesc desc = get_desc(&tensor);
        // A client that converted its weights for the device (torchair) has set the framework's shape beside that in memory.
        std::vector<int64_t> dims;
        if (get_origin_shape != nullptr) dims = dims_of(get_origin_shape(&desc), get_dim_num, get_dim);
        if (dims.empty()) dims = dims_of(get_shape(&desc), get_dim_num, get_dim);
        dims_.push_back(std::move(dims));
        AoeTensor description = {};
        description.dims = dims_.back().data();
        description.dim_count = dims_.back().size();
        description.data_type = data_type_of(get_data_type(&desc));
        // TensorDesc(shape, format) leaves the framework's format at ND.
        description.format = format_by(get_origin_format, desc);
        if (description.format == AOE_FORMAT_ND) description.format = format_by(get_format, desc);
        tensors_.push_back(description);
    }
}

}  // namespace drop_in
